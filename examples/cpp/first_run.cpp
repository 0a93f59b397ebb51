// A first run in C++: loads a model from a file, feeds it and runs it.
//
//   first_run model.onnx
//
// Feeds every input that the model declares with ones (an unknown extent counts as 1) and prints
// the types of the outputs.
#include <rondel/session.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

// A tensor of ones of an input's type; this example supports float and int64.
rondel::Tensor ones(const rondel::PortInfo& input) {
  rondel::Shape shape;
  for (const std::string& extent : input.shape.value_or(std::vector<std::string>{})) {
    const long long known = std::atoll(extent.c_str());
    shape.push_back(known > 0 ? known : 1);
  }
  const auto count = static_cast<std::size_t>(rondel::element_count(shape));
  if (input.type == "tensor(float)") {
    return rondel::Tensor::from<float>(shape, std::vector<float>(count, 1.0F));
  }
  if (input.type == "tensor(int64)") {
    return rondel::Tensor::from<std::int64_t>(shape, std::vector<std::int64_t>(count, 1));
  }
  throw std::invalid_argument(input.name + ": this example feeds float and int64, not " +
                              input.type);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: first_run MODEL.onnx\n";
    return 2;
  }
  try {
    const rondel::Session session(argv[1]);
    std::map<std::string, rondel::Value> feeds;
    for (const rondel::PortInfo& input : session.inputs()) {
      feeds.emplace(input.name, ones(input));
    }
    for (const auto& [name, value] : session.run(feeds)) {
      std::cout << name << ": " << rondel::to_text(value) << '\n';
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
