#include "ops/batch_sweep.h"

#include "base/error.h"
#include "ops/batching.h"
#include "ops/op_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace rondel::test {
namespace {

constexpr std::size_t height = 3;  // the number of elements of a stack

/// The elements of x in row-major order, rotated by `by` positions.
Tensor rotated(const Tensor& x, std::size_t by) {
  const Tensor from = x.packed();
  Tensor y(x.dtype(), x.shape());
  const std::size_t n = static_cast<std::size_t>(x.size()), size = byte_size(x.dtype());
  for (std::size_t i = 0; i < n; ++i)
    std::memcpy(y.data_as<char>() + (i + by) % n * size, from.data_as<char>() + i * size, size);
  return y;
}

Tensor stacked(const std::vector<Tensor>& elements) {
  Shape shape = elements[0].shape();
  shape.insert(shape.begin(), std::ssize(elements));
  Tensor y(elements[0].dtype(), shape);
  char* to = y.data_as<char>();
  for (const Tensor& x : elements) {
    const std::size_t bytes = static_cast<std::size_t>(x.size()) * byte_size(x.dtype());
    if (bytes > 0) std::memcpy(to, x.packed().data(), bytes);
    to += bytes;
  }
  return y;
}

using Chosen = std::vector<bool>;  // for each input: whether it is stacked

/// The stacked results of one call for each element of the stacks; nothing if a call fails.
std::optional<std::vector<Tensor>> one_by_one(const OpCase& c, const Chosen& chosen,
                                              std::size_t outputs) try {
  std::vector<std::vector<Tensor>> results(outputs);
  for (std::size_t i = 0; i < height; ++i) {
    OpCase one = c;
    for (std::size_t k = 0; k < chosen.size(); ++k)
      if (chosen[k]) one.inputs[k] = rotated(c.inputs[k].tensor(), i);
    const std::vector<Value> y = run_op(one, outputs);
    for (std::size_t j = 0; j < outputs; ++j) results[j].push_back(y[j].tensor());
  }
  std::vector<Tensor> all;
  for (const auto& r : results) all.push_back(stacked(r));
  return all;
} catch (const Error&) { return std::nullopt; }

/// The results of one call on the stacks; nothing if the batch rule does not apply.
std::optional<std::vector<Value>> at_once(const OpCase& c, const Chosen& chosen,
                                          std::size_t outputs) {
  OpGraph one = op_graph(c, outputs, KnownTypes::all);
  ir::Graph& g = one.graph;
  const ir::Node& node = g.node(g.root().nodes.back());
  std::vector<ir::Batch> inputs;
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    inputs.push_back({node.inputs[k], chosen[k]});
    if (!chosen[k]) continue;
    std::vector<Tensor> elements;
    for (std::size_t i = 0; i < height; ++i) elements.push_back(rotated(c.inputs[k].tensor(), i));
    const Value stack = stacked(elements);
    g.input_names.push_back(fmt::format("s{}", k));
    inputs.back().value = g.add_param(ir::RegionId::root, ir::Type::of(stack),
                                      g.input_names.back());
    one.feeds.push_back(stack);
  }
  ir::Builder b(g, ir::RegionId::root);
  const std::vector<ir::ValueId> y = ops::batched(b, node, inputs);
  if (y.empty()) return std::nullopt;
  EXPECT_EQ(y.size(), outputs) << c.op;
  g.set_results(ir::RegionId::root, y);
  return run_graph(std::move(one.graph), one.feeds, compile::Execution::interpreter);
}

bool is_batchable(const ir::OpDef& op) { return op.batch || ops::is_elementwise(op); }

std::set<std::string>& ops_batched() {
  static std::set<std::string> seen;
  return seen;
}

void check_batch(const OpCase& c, const Chosen& chosen, std::size_t outputs,
                 const std::string& line) {
  const auto want = one_by_one(c, chosen, outputs);
  if (!want) return;
  std::string which;
  for (const bool s : chosen) which += s ? "s" : "-";
  try {
    const auto got = at_once(c, chosen, outputs);
    if (!got) return;
    ops_batched().insert(c.op);
    for (std::size_t j = 0; j < outputs; ++j)
      EXPECT_TRUE(same_bits(got->at(j).tensor().packed(), want->at(j)))
          << line << "\n  stacked " << which << ": " << to_text(got->at(j).tensor().packed())
          << " instead of " << to_text(want->at(j));
  } catch (const std::exception& e) {
    ADD_FAILURE() << line << "\n  stacked " << which << ": " << e.what();
  }
}

/// Checks after all tests that each op with a batch rule has been batched in some line.
class EveryBatch : public ::testing::Environment {
  void TearDown() override {
    if (GTEST_FLAG_GET(filter) != "*") return;
    for (const ir::OpDef* op : ir::all_ops())
      EXPECT_TRUE(!is_batchable(*op) || ops_batched().contains(std::string(op->name)))
          << op->name << " is batchable in no line of tests/ops";
  }
};
const auto* const every_batch = ::testing::AddGlobalTestEnvironment(new EveryBatch);

}  // namespace

void check_batches(const OpCase& c, std::size_t outputs, const std::string& line) {
  const ir::OpDef& op = ir::op(c.op);
  const auto of_text = [](const Value& v) {
    return v.is_tensor() && v.tensor().dtype() == DType::string;  // not a block of bytes
  };
  if (!is_batchable(op) || std::ranges::any_of(c.inputs, of_text)) return;
  const auto may_be = [&](std::size_t k) {
    return c.inputs[k].is_tensor() && std::ranges::count(op.value_inputs, k) == 0;
  };
  Chosen all(c.inputs.size());
  for (std::size_t k = 0; k < all.size(); ++k) {
    all[k] = may_be(k);
    if (!all[k]) continue;
    Chosen one(c.inputs.size());
    one[k] = true;
    check_batch(c, one, outputs, line);
  }
  if (std::ranges::count(all, true) > 1) check_batch(c, all, outputs, line);
}

}  // namespace rondel::test
