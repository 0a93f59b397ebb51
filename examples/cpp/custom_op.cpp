// Ops of your own, as a kernel and as a graph.
//
//   custom_op model.onnx
//
// The model may use, beside ONNX's ops, Cube and Mish2 of the domain my.ops. Feeds every input with
// ones and prints the outputs.
#include <rondel/custom_op.h>

#include <exception>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace {

// y = x * x * x for float. The type rule: the output has the type of the input, also as far as that
// is not known yet.
void register_cube() {
  rondel::register_op({
      .domain = "my.ops",
      .name = "Cube",
      .types = [](const rondel::CustomNode& node) -> std::vector<rondel::PartialType> {
        if (node.inputs.size() != 1 || !node.inputs[0]) {
          throw rondel::Error(rondel::Blame::caller, "Cube takes one input");
        }
        if (node.inputs[0]->dtype != rondel::DType::f32) {
          throw rondel::Error(rondel::Blame::unsupported, "Cube takes float only");
        }
        return {*node.inputs[0]};
      },
      .run =
          [](rondel::CustomCall& call) {
            const rondel::Tensor x = call.inputs()[0].packed();
            const rondel::Tensor y = call.output(0, x.dtype(), x.shape());
            for (std::int64_t i = 0; i < x.size(); ++i) {
              const float v = x.data_as<float>()[i];
              y.data_as<float>()[i] = v * v * v;
            }
          },
      .pure = true,
      // Inputs: x, y, dy. Outputs: dx.
      .gradient =
          [](rondel::CustomCall& call) {
            const rondel::Tensor x = call.inputs()[0].packed(), dy = call.inputs()[2].packed();
            const rondel::Tensor dx = call.output(0, x.dtype(), x.shape());
            for (std::int64_t i = 0; i < x.size(); ++i) {
              const float v = x.data_as<float>()[i];
              dx.data_as<float>()[i] = 3 * v * v * dy.data_as<float>()[i];
            }
          },
  });
}

// An op that is a graph of ONNX's ops: it is compiled, differentiated and exported as its nodes.
void register_mish2() {
  rondel::register_op({
      .domain = "my.ops",
      .name = "Mish2",
      .body = R"(<domain: "my.ops", opset_import: ["" : 21]>
                 mish2 (x) => (y) { a = Softplus (x) b = Tanh (a) c = Mul (x, b) y = Add (c, c) })",
  });
}

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
    std::cerr << "usage: custom_op MODEL.onnx\n";
    return 2;
  }
  try {
    register_cube();
    register_mish2();
    const rondel::Session session(argv[1]);
    std::map<std::string, rondel::Value> feeds;
    for (const rondel::PortInfo& input : session.inputs()) {
      feeds.emplace(input.name, ones(input));
    }
    for (const auto& [name, value] : session.run(feeds)) {
      const rondel::Tensor t = value.tensor().packed();
      std::cout << name << ':';
      for (std::int64_t i = 0; i < t.size(); ++i) { std::cout << ' ' << t.data_as<float>()[i]; }
      std::cout << '\n';
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
