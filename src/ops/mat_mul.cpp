#include "base/error.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

using ir::Extent;
using ir::Extents;
using ir::Type;

/// How an operand lies: its axes before the last two (or the last one, of a vector).
struct Operand {
  bool vector, transposed;
  std::int64_t batch;  // how many leading axes

  Operand(const Type& t, const ir::Attributes& a, const char* flag)
      : vector(t.rank() == 1), transposed(!vector && a.flag(flag)),
        batch(t.rank() - (vector ? 1 : 2)) {}
};

Extent row(const Type& t, const Operand& o) { return t.extent(o.batch + (o.transposed ? 1 : 0)); }
Extent column(const Type& t, const Operand& o) {
  return t.extent(o.batch + (o.vector || o.transposed ? 0 : 1));
}

void hold_batches(ir::TypeContext& c, const Type& a, const Operand& left, const Type& b,
                  const Operand& right, const Extents& out) {
  const auto batch = [](const Type& t, const Operand& o) {
    return Type::tensor(t.dtype(), Extents(t.extents().begin(), t.extents().begin() + o.batch));
  };
  const Type x = batch(a, left), y = batch(b, right);
  const Type* both[] = {&x, &y};
  holds_if_certain(c, both, out);
}

void mat_mul_rule(ir::TypeContext& c) {
  require_same_dtype(c, 0, 1);
  require_dtypes(c, 0, number_dtypes());
  const Type &a = c.input(0), &b = c.input(1);
  for (const Type* t : {&a, &b})
    require(!t->has_rank() || t->rank() > 0, "a product needs operands of rank 1 or more");
  if (!a.has_rank() || !b.has_rank()) return c.output(0, Type::unranked(a.dtype()));
  const Operand left(a, c.attributes(), "transpose_a"), right(b, c.attributes(), "transpose_b");
  const Extent inner_a = column(a, left);
  const Extent inner_b = right.vector ? b.extent(0) : row(b, right);
  require(!inner_a.known() || !inner_b.known() || inner_a.value == inner_b.value,
          "inner extents {} and {} differ; transpose one of them?", inner_a.value, inner_b.value);
  Extents out = *broadcast_extents(Extents(a.extents().begin(), a.extents().begin() + left.batch),
                                   Extents(b.extents().begin(), b.extents().begin() + right.batch));
  if (inner_a == inner_b) hold_batches(c, a, left, b, right, out);
  if (!left.vector) out.push_back(row(a, left));
  if (!right.vector) out.push_back(column(b, right));
  c.output(0, Type::tensor(a.dtype(), std::move(out)));
}

/// The leading indices of an operand for the result's: trailing ones aligned, extents of 1 at 0.
void append_batch(Emitter& e, std::size_t k, std::int64_t count, const Indices& out, Indices& to) {
  const auto skip = static_cast<std::int64_t>(out.size()) - count;
  for (std::int64_t axis = 0; axis < count; ++axis) {
    const Ex at = out[static_cast<std::size_t>(axis + skip)];
    to.push_back(e.broadcast(k, axis, e.output(0).extent(axis + skip), at));
  }
}

void write_product(Emitter& e) {
  const Operand left(e.input(0), e.attributes(), "transpose_a");
  const Operand right(e.input(1), e.attributes(), "transpose_b");
  const std::int64_t batch = std::max(left.batch, right.batch);
  const BufferPart a = e.input_buffer(0), b = e.input_buffer(1), c = e.output_buffer(0);
  const auto leading_of = [](const BufferPart& part, std::int64_t more) {
    return static_cast<std::int32_t>(part.leading.size()) + static_cast<std::int32_t>(more);
  };
  scalar::Contract product;
  product.a = a.buffer;
  product.b = b.buffer;
  product.c = c.buffer;
  product.a_leading = leading_of(a, left.batch);
  product.b_leading = leading_of(b, right.batch);
  product.c_leading = leading_of(c, batch);
  product.a_transposed = left.transposed;
  product.b_transposed = right.transposed;
  product.a_vector = left.vector;
  product.b_vector = right.vector;
  std::vector<Ex> extents;
  for (std::int64_t axis = 0; axis < batch; ++axis) extents.push_back(e.output_extent(0, axis));
  e.builder().for_all(extents, [&](const Indices& out) {
    Indices leading = a.leading;
    append_batch(e, 0, left.batch, out, leading);
    leading.insert(leading.end(), b.leading.begin(), b.leading.end());
    append_batch(e, 1, right.batch, out, leading);
    leading.insert(leading.end(), c.leading.begin(), c.leading.end());
    leading.insert(leading.end(), out.begin(), out.end());
    e.builder().contract(product, leading);
  });
}

const ir::OpEntry mat_mul{{
    .name = "mat_mul",
    .doc = "c = the matrix product of the last two axes of a and b, the axes before them broadcast",
    .inputs = {{"a"}, {"b"}},
    .outputs = {"c"},
    .attributes = {{"transpose_a", 0}, {"transpose_b", 0}},
    .type = mat_mul_rule,
    .meaning = nest_on_buffers(write_product),
}};

}  // namespace
}  // namespace rondel::ops
