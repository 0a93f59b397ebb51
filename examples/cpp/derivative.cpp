// The derivative of a model: a second model, which is made in memory and opened from its bytes.
//
//   derivative model.onnx
//
// Feeds every input of the model with ones and prints, for each input of floats, the gradient of
// the sum of the model's scalar outputs.
#include <rondel/gradient.h>
#include <rondel/session.h>

#include <exception>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace {

// Ones of an input's type; this example supports float. An unknown extent counts as 1.
rondel::Tensor ones(const rondel::PortInfo& input) {
  rondel::Shape shape;
  for (const std::string& extent : input.shape.value_or(std::vector<std::string>{})) {
    const bool known = extent.find_first_not_of("0123456789") == std::string::npos;
    shape.push_back(known && !extent.empty() ? std::stoll(extent) : 1);
  }
  const auto count = static_cast<std::size_t>(rondel::element_count(shape));
  return rondel::Tensor::from<float>(shape, std::vector<float>(count, 1.0F));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: derivative MODEL.onnx\n";
    return 2;
  }
  try {
    const rondel::Session model(argv[1]);
    rondel::GradientOptions options;
    std::map<std::string, rondel::Value> feeds;
    for (const rondel::PortInfo& input : model.inputs()) {
      options.wrt.push_back(input.name);
      feeds.emplace(input.name, ones(input));
    }
    const rondel::Session gradient(rondel::grad(model, options).bytes);
    const auto results = gradient.run(feeds);
    for (const std::string& name : options.wrt) {
      const rondel::Tensor slope = results.at("grad_" + name).tensor().packed();
      std::cout << "d/d" << name << ':';
      for (std::int64_t i = 0; i < slope.size(); ++i) {
        std::cout << ' ' << slope.data_as<float>()[i];
      }
      std::cout << '\n';
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
