#include "passes/expressions.h"

#include "base/text.h"
#include "ir/value_text.h"

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

/// Bounds of the time that a comparison takes.
constexpr int most_levels = 8;
constexpr std::size_t most_operands = 3;

constexpr std::int64_t most_elements = 16;

bool are_equal(const Graph& g, ValueId a, ValueId b, int levels) {
  if (operand_key(g, a) == operand_key(g, b)) return true;
  if (a == ValueId::none || b == ValueId::none || levels == 0) return false;
  const NodeId m = g.value(a).producer, n = g.value(b).producer;
  if (m == NodeId::none || n == NodeId::none || g.value(a).position != g.value(b).position)
    return false;
  const Node &x = g.node(m), &y = g.node(n);
  if (!is_expression(x) || !is_expression(y) || x.inputs.size() != y.inputs.size() ||
      x.inputs.size() > most_operands || expression_key(g, x, {}) != expression_key(g, y, {}))
    return false;
  for (std::size_t k = 0; k < x.inputs.size(); ++k)
    if (!are_equal(g, x.inputs[k], y.inputs[k], levels - 1)) return false;
  return true;
}

}  // namespace

bool is_expression(const Node& n) {
  return n.op->name != "constant" && !n.op->random && n.regions.empty() && !n.outputs.empty() &&
         ir::text_identifies(n.attributes);
}

std::string operand_key(const Graph& g, ValueId v) {
  const Tensor* t = v == ValueId::none ? nullptr : g.constant(v);
  if (t == nullptr || t->dtype() == DType::string || t->size() > most_elements)
    return std::to_string(static_cast<std::int32_t>(v));
  const Tensor packed = t->packed();
  return to_text(ir::Type::of(packed)) +
         std::string(packed.data_as<char>(),
                     static_cast<std::size_t>(packed.size()) * byte_size(packed.dtype()));
}

std::string expression_key(const Graph& g, const Node& n, const std::vector<ValueId>& inputs) {
  std::string text = fmt::format("{} {}", n.op->name, n.outputs.size());
  for (const auto& [name, value] : n.attributes)
    text += fmt::format(" {}={}", name, ir::to_text(value));
  for (const ValueId v : inputs) text += " " + operand_key(g, v);
  return text;
}

bool are_equal(const Graph& g, ValueId a, ValueId b) { return are_equal(g, a, b, most_levels); }

}  // namespace rondel::passes
