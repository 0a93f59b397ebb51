// Reductions, matrix products, and data movement.
#include "frontends/deepx/rows.h"

#include "base/text.h"

#include <limits>

namespace rondel::deepx {
namespace {

using ir::ValueId;

/// Reduces the dims in input 1, or all dims if it is empty. If input 2 is true, reduced dims stay
/// as extent 1.
Instruction reduction(std::string_view name, std::string_view op, std::string_view doc,
                      std::vector<std::string_view> spellings = {}) {
  return {.name = name,
          .doc = doc,
          .inputs = {tensor("a"), vector("dims"), optional(argument("keepdims", Takes::boolean))},
          .outputs = {tensor("c")},
          .dtypes = numbers,
          .spellings = std::move(spellings),
          .two_way = true,
          .value = [op](Call& c) {
            ir::Ints dims = axes_from(c.integers(1), c.shape(0).size(), c.at(1));
            if (dims.empty())
              for (std::size_t d = 0; d < c.shape(0).size(); ++d)
                dims.push_back(static_cast<std::int64_t>(d));
            if (dims.empty()) return c.tensor(0);
            return c(op, {c.tensor(0), c.b.integers(dims)}, {{"keepdims", c.integer(2, 0)}});
          }};
}

ValueId product(Call& c) { return c("mat_mul", {c.tensor(0), c.tensor(1)}); }

ValueId joined(Call& c) {
  const ir::Ints axis = axes_from({c.integer(1)}, c.shape(0).size(), c.at(1));
  return c("concat", c.tensors(0), {{"axis", axis[0]}});
}

ValueId with_shape(Call& c) {
  const Shape shape = shape_from(c.integers(1), c.dtype(), c.at(1));
  if (element_count(shape) != element_count(c.shape(0)))
    fail_at_position(c.at(1), "a has {} elements, and [{}] {}", element_count(c.shape(0)),
                     join(shape), element_count(shape));
  return c.reshaped(c.tensor(0), shape);
}

ValueId with_order(Call& c) {
  const ir::Ints order = axes_from(c.integers(1), c.shape(0).size(), c.at(1));
  if (order.size() != c.shape(0).size())
    fail_at_position(c.at(1), "an order of {} dims; a has {}", order.size(), c.shape(0).size());
  return c("transpose", {c.tensor(0)}, {{"perm", order}});
}

/// Checks more than ONNX's Expand, which lets the operand be larger than the shape.
ValueId expanded(Call& c) {
  const Shape shape = shape_from(c.integers(1), c.dtype(), c.at(1)), own = c.shape(0);
  bool fits = own.size() <= shape.size();
  for (std::size_t k = 0; fits && k < own.size(); ++k)
    fits = own[own.size() - 1 - k] == 1 || own[own.size() - 1 - k] == shape[shape.size() - 1 - k];
  if (!fits)
    fail_at_position(c.at(1),
                     "[{}] cannot be expanded to [{}]: each extent, counted from the last, "
                     "must be 1 or that of the shape",
                     join(own), join(shape));
  return c("expand", {c.tensor(0), c.b.integers(shape)});
}

ValueId repeated(Call& c) {
  const ir::Ints repeats = c.integers(1);
  if (repeats.size() != c.shape(0).size())
    fail_at_position(c.at(1), "{} repeats; a has {} dims", repeats.size(), c.shape(0).size());
  // An extent that overflows int64 saturates; `shape_from` rejects it below.
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  ir::Ints shape;
  for (std::size_t d = 0; d < repeats.size(); ++d) {
    if (repeats[d] < 0) fail_at_position(c.at(1), "{} repeats are negative", repeats[d]);
    const std::int64_t own = c.shape(0)[d];
    shape.push_back(own > 0 && repeats[d] > most / own ? most : own * repeats[d]);
  }
  shape_from(shape, c.dtype(), c.at(1));
  return c("tile", {c.tensor(0), c.b.integers(repeats)});
}

ValueId selected(Call& c) {
  const ir::Ints axis = axes_from({c.integer(2, 0)}, c.shape(0).size(), c.at(c.has(2) ? 2 : 0));
  return c("gather", {c.tensor(0), c.cast(c.tensor(1), DType::i64)}, {{"axis", axis[0]}});
}

const InstructionRows shapes{{
    reduction("sum", "reduce_sum", "c = the sum over dims"),
    reduction("prod", "reduce_prod", "c = the product over dims"),
    reduction("reducemax", "reduce_max", "c = the greatest over dims; ties share the gradient",
              {"reduce_max"}),
    reduction("reducemin", "reduce_min", "c = the least over dims; ties share the gradient",
              {"reduce_min"}),
    {.name = "matmul",
     .doc =
         "c = the matrix product over the last two dims; those before are batches, and broadcast",
     .inputs = {tensor("a"), tensor("b")},
     .outputs = {tensor("c")},
     .dtypes = numbers,
     .two_way = true,
     .value = product},
    {.name = "concat",
     .doc = "c = the tensors joined along dim",
     .inputs = {tensors("a"), argument("dim", Takes::integer)},
     .outputs = {tensor("c")},
     .two_way = true,
     .value = joined},
    {.name = "reshape",
     .doc = "c = the elements of a, in row-major order, under another shape",
     .inputs = {tensor("a"), vector("shape")},
     .outputs = {tensor("c")},
     .two_way = true,
     .value = with_shape},
    {.name = "transpose",
     .doc = "c = a with its dims in another order: dim k of c is dim order[k] of a",
     .inputs = {tensor("a"), vector("order")},
     .outputs = {tensor("c")},
     .two_way = true,
     .value = with_order},
    {.name = "expand",
     .doc = "c = a, repeated along dims of extent 1 and new first dims until it has the shape",
     .inputs = {tensor("a"), vector("shape")},
     .outputs = {tensor("c")},
     .spellings = {"broadcastTo", "broadcast_to"},
     .two_way = true,
     .value = expanded},
    {.name = "repeat",
     .doc = "c = a, one after another repeats[d] times along each dim d",
     .inputs = {tensor("a"), vector("repeats")},
     .outputs = {tensor("c")},
     .two_way = true,
     .value = repeated},
    {.name = "indexselect",
     .doc = "c = the slices of a along dim (0) that the indices number; negative ones count from "
            "the end",
     .inputs = {tensor("a"), tensor("indices", Takes::integer),
                optional(argument("dim", Takes::integer))},
     .outputs = {tensor("c")},
     .spellings = {"index_select"},
     .two_way = true,
     .value = selected},
}};

}  // namespace
}  // namespace rondel::deepx
