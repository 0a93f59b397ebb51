// What is fed and what comes back: tensors, views of own memory, sequences, optionals.
#include <rondel/operators.h>
#include <rondel/session.h>

#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

// sum = x + the parts, one below the other; given: whether there is an `extra`.
std::vector<std::byte> model() {
  rondel::GraphWriter writer("values", 21);
  writer.input({.name = "x", .type = "tensor(float)", .shape = {{"rows", "2"}}});
  writer.input({.name = "parts", .type = "seq(tensor(float))"});
  writer.input({.name = "extra", .type = "optional(tensor(float))"});
  writer.node("ConcatFromSequence", "", {"parts"}, {"joined"}, {{"axis", 0}});
  writer.node("Add", "", {"x", "joined"}, {"sum"}, {});
  writer.node("OptionalHasElement", "", {"extra"}, {"given"}, {});
  writer.output("sum");
  writer.output("given");
  return writer.model_bytes();
}

}  // namespace

int main() {
  try {
    const rondel::Session session(model(), {.intra_op_num_threads = 1});

    // A view: nothing is copied, so the memory must stay until the run has ended. A run only reads.
    const std::vector<float> mine = {1, 2, 3, 4};
    const rondel::Tensor view(rondel::DType::f32, {2, 2}, {2, 1}, const_cast<float*>(mine.data()),
                              nullptr);

    // A sequence.
    const auto row = rondel::Tensor::from<float>({1, 2}, {10, 20});
    auto rows = std::make_shared<std::vector<rondel::Tensor>>(2, row);
    const rondel::Sequence parts{rondel::DType::f32, rows};

    // All outputs by name. The optional `extra` is left out.
    const std::map<std::string, rondel::Value> outputs = session.run(
        {{"x", view}, {"parts", parts}});
    const rondel::Tensor sum = outputs.at("sum").tensor();
    for (std::int64_t i = 0; i < sum.size(); ++i) std::cout << sum.data_as<float>()[i] << ' ';

    // Some outputs, in the order asked for. An optional takes what it holds, or an Optional.
    const rondel::Optional extra{std::make_shared<rondel::Value>(row)};
    const std::vector<std::string> wanted = {"given"};
    const std::vector<rondel::Value> some = session.run(
        wanted, {{"x", view}, {"parts", parts}, {"extra", extra}}, {.deadline = 10});
    std::cout << (*some[0].tensor().data_as<bool>() ? "given" : "left out") << '\n';
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
