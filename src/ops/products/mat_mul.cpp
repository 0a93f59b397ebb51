#include "base/error.h"
#include "ops/batching.h"
#include "ops/gradients.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

using ir::Extent;
using ir::Extents;
using ir::Type;

/// The layout of an operand.
struct Operand {
  bool vector, transposed;
  std::int64_t batch;  // number of axes before the matrix or vector

  Operand(const Type& t, const ir::Attributes& a, const char* flag)
      : vector(t.rank() == 1), transposed(!vector && a.flag(flag)),
        batch(t.rank() - (vector ? 1 : 2)) {}
};

Extent row(const Type& t, const Operand& o) { return t.extent(o.batch + (o.transposed ? 1 : 0)); }
Extent column(const Type& t, const Operand& o) {
  return t.extent(o.batch + (o.vector || o.transposed ? 0 : 1));
}

/// States that the rule holds while the inner extents are equal and the batch axes, which are those
/// of `out`, can be broadcast.
void state_conditions(ir::TypeContext& c, const Operand& left, const Extent& inner_a,
                      const Operand& right, const Extent& inner_b, const Extents& out) {
  const auto batch = [](const Type& t, const Operand& o) {
    return Type::tensor(t.dtype(), Extents(t.extents().begin(), t.extents().begin() + o.batch));
  };
  const Type x = batch(c.input(0), left), y = batch(c.input(1), right);
  const Type* both[] = {&x, &y};
  Conditions conditions;
  conditions.equal(inner_a, inner_b);
  conditions.broadcasts(both, out);
  conditions.state(c);
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
  state_conditions(c, left, inner_a, right, inner_b, out);
  if (!left.vector) out.push_back(row(a, left));
  if (!right.vector) out.push_back(column(b, right));
  c.output(0, Type::tensor(a.dtype(), std::move(out)));
}

/// Appends to `to` the indices along the `count` batch axes of operand k, for the batch indices
/// `out` of the result. Trailing batch axes are aligned, and the index along an axis of extent 1 is
/// 0.
void append_batch(Emitter& e, std::size_t k, std::int64_t count, const Indices& out, Indices& to) {
  const auto skip = static_cast<std::int64_t>(out.size()) - count;
  for (std::int64_t axis = 0; axis < count; ++axis) {
    const Ex at = out[static_cast<std::size_t>(axis + skip)];
    to.push_back(e.broadcast(k, axis, e.output(0).extent(axis + skip), at));
  }
}

/// Appends the indices along all axes of the operand's buffer but those of the matrix.
void append_place(Emitter& e, std::size_t k, std::int64_t count, const Indices& out, Indices& to) {
  const BufferPart part = e.input_buffer(k);
  Indices batch;
  append_batch(e, k, count, out, batch);
  if (part.matrix) batch = part.matrix(batch);
  to.insert(to.end(), part.leading.begin(), part.leading.end());
  to.insert(to.end(), batch.begin(), batch.end());
}

/// Whether `a` is a stack of one-row matrices and b is one matrix, if the matrices have one row.
/// The stack is then multiplied as one matrix.
bool may_multiply_rows(const Operand& left, const Operand& right) {
  return !left.vector && !left.transposed && left.batch > 0 && !right.vector && right.batch == 0;
}

/// The rows and columns of each matrix of the result, and the depth of the product.
std::vector<Ex> sizes_of_product(Emitter& e, const Operand& left, const Operand& right) {
  const auto one = [&] { return e.builder().index(1); };
  const std::int64_t depth = left.transposed ? left.batch : e.rank(0) - 1;
  return {left.vector ? one() : e.extent(0, left.transposed ? e.rank(0) - 1 : left.batch),
          right.vector ? one() : e.extent(1, right.batch + (right.transposed ? 0 : 1)),
          e.extent(0, depth)};
}

void write_products(Emitter& e, const Operand& left, const Operand& right) {
  const std::int64_t batch = std::max(left.batch, right.batch);
  const BufferPart a = e.input_buffer(0), b = e.input_buffer(1), c = e.output_buffer(0);
  const auto leading_of = [&](const BufferPart& part, std::int64_t more) {
    if (part.matrix) more = e.builder().buffer(part.buffer).rank() - 2;
    else more += std::ssize(part.leading);
    return static_cast<std::int32_t>(more);
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
  product.sized = !a.whole || !b.whole || !c.whole;
  std::vector<Ex> extents, sizes;
  if (product.sized) sizes = sizes_of_product(e, left, right);
  for (std::int64_t axis = 0; axis < batch; ++axis) extents.push_back(e.output_extent(0, axis));
  e.builder().for_all(extents, [&](const Indices& out) {
    Indices leading;
    append_place(e, 0, left.batch, out, leading);
    append_place(e, 1, right.batch, out, leading);
    leading.insert(leading.end(), c.leading.begin(), c.leading.end());
    leading.insert(leading.end(), out.begin(), out.end());
    leading.insert(leading.end(), sizes.begin(), sizes.end());
    e.builder().contract(product, leading);
  });
}

void write_product(Emitter& e) {
  const Operand left(e.input(0), e.attributes(), "transpose_a");
  const Operand right(e.input(1), e.attributes(), "transpose_b");
  if (!may_multiply_rows(left, right) || !e.may_be_one(0, left.batch))
    return write_products(e, left, right);
  Operand merged = left;
  --merged.batch;
  const Extent rows = row(e.input(0), left);
  if (rows.known()) return write_products(e, merged, right);
  // The order of a sum depends on the number of rows only if the columns are dot products.
  if (!right.transposed) return write_products(e, left, right);
  e.builder().if_(
      e.extent(0, left.batch) == 1,
      [&] {
        write_products(e, merged, right);
        return std::vector<Ex>{};
      },
      [&] {
        write_products(e, left, right);
        return std::vector<Ex>{};
      });
}

/// x with all axes except the last merged into one.
ir::ValueId with_rows_merged(ir::Builder& b, ir::ValueId x) {
  return b("flatten", {x}, {{"axis", -1}});
}

/// A stack of matrices x times a matrix y, computed as one product with the rows of all matrices.
std::vector<ir::ValueId> product_of_rows(ir::Builder& b, const ir::Node& node, ir::ValueId x,
                                         ir::ValueId y) {
  const ir::ValueId rows = with_rows_merged(b, x);
  const ir::ValueId product = same_call(b, node, {rows, y}, node.attributes)[0];
  const Type& made = b.graph().value(product).type;
  Extents extents = b.graph().value(x).type.extents();
  extents.back() = made.extent(1);
  return {reshaped_to(b, product, Type::tensor(made.dtype(), std::move(extents)), [&] {
    const ir::ValueId leading = b("shape", {x}, {{"end", -1}});
    const ir::ValueId columns = b("shape", {product}, {{"start", -1}});
    return b("concat", {leading, columns}, {{"axis", 0}});
  })};
}

/// The batch rule. A matrix times a stack of vectors is one product of two matrices, and so is a
/// stack of matrices times a matrix. Otherwise each operand becomes a stack of matrices (a vector
/// becomes a matrix with one row or column), and the batch axes are aligned.
std::vector<ir::ValueId> batched_product(ir::Builder& b, const ir::Node& node,
                                         std::span<const ir::Batch> inputs) {
  static constexpr const char* flags[] = {"transpose_a", "transpose_b"};
  const auto left = element_rank(b, inputs[0]), right = element_rank(b, inputs[1]);
  if (!left || !right) return {};
  std::vector<ir::ValueId> operands = values_of(inputs);
  ir::Attributes attributes = node.attributes;
  if (!inputs[0].stacked && *left == 2 && *right == 1) {
    attributes.set(flags[1], attributes.flag(flags[0]) ? 0 : 1);
    attributes.set(flags[0], 0);
    return same_call(b, node, {operands[1], operands[0]}, std::move(attributes));
  }
  if (!inputs[1].stacked && *left > 1 && *right == 2 && !node.attributes.flag(flags[0]))
    return product_of_rows(b, node, operands[0], operands[1]);
  const bool rows = !inputs[1].stacked && *left == 1 && *right == 2;
  const std::int64_t batch = std::max({*left, *right, std::int64_t{2}}) - 2;
  ir::Ints removed;
  for (const std::size_t k : {0U, 1U}) {
    const std::int64_t rank = k == 0 ? *left : *right, first = inputs[k].stacked ? 1 : 0;
    if (rank == 1) attributes.set(flags[k], 0);
    if (rows) continue;
    if (rank == 1) {
      operands[k] = with_unit_axes(b, operands[k], first + static_cast<std::int64_t>(k), 1);
      removed.push_back(k == 0 ? -2 : -1);
    }
    if (inputs[k].stacked)
      operands[k] = with_unit_axes(b, operands[k], 1, batch + 2 - std::max<std::int64_t>(rank, 2));
  }
  std::vector<ir::ValueId> y = same_call(b, node, std::move(operands), std::move(attributes));
  return removed.empty() ? y : std::vector{b("squeeze", {y[0], b.integers(removed)})};
}

/// A stack of matrices as one matrix, for a product that also sums over the stack: the stack axis
/// is merged with the summed axis. `summed_first` says whether the summed axis is the first axis of
/// each matrix.
ir::ValueId with_summed_merged(ir::Builder& b, ir::ValueId stack, bool summed_first) {
  if (summed_first) return b("flatten", {stack}, {{"axis", 2}});
  return b("flatten", {b("transpose", {stack}, {{"perm", ir::Ints{1, 0, 2}}})}, {{"axis", 1}});
}

/// The `batched_sum` rule: a sum of matrix products is one product.
std::vector<ir::ValueId> summed_product(ir::Builder& b, const ir::Node& node,
                                        std::span<const ir::Batch> inputs) {
  if (!inputs[0].stacked || !inputs[1].stacked) return {};
  if (element_rank(b, inputs[0]) != 2 || element_rank(b, inputs[1]) != 2) return {};
  const bool first_in_a = node.attributes.flag("transpose_a");
  const bool first_in_b = !node.attributes.flag("transpose_b");
  return same_call(b, node,
                   {with_summed_merged(b, inputs[0].value, first_in_a),
                    with_summed_merged(b, inputs[1].value, first_in_b)},
                   node.attributes);
}

ir::ValueId product(ir::Builder& b, ir::ValueId left, bool transpose_left, ir::ValueId right,
                    bool transpose_right) {
  return b("mat_mul", {left, right},
           {{"transpose_a", transpose_left ? 1 : 0}, {"transpose_b", transpose_right ? 1 : 0}});
}

/// Whether matrices of x may be repeated, because the batch axes of x are broadcast to those of y.
bool may_be_repeated(const Type& x, const Operand& of_x, const Type& y, const Operand& of_y) {
  if (of_y.batch > of_x.batch) return true;
  for (std::int64_t axis = 1; axis <= of_y.batch; ++axis) {
    const Extent& other = y.extent(of_y.batch - axis);
    if (!(other == x.extent(of_x.batch - axis)) && !(other == Extent(1))) return true;
  }
  return false;
}

/// The values from which the adjoints of a product c = a b are computed, as stacks of matrices. A
/// vector becomes a matrix with one row or column.
struct ProductOperands {
  ir::ValueId a, b, dc;
};
ProductOperands as_matrices(ir::Builder& b, const ir::Node& node, ir::ValueId dc, bool row,
                            bool column) {
  ProductOperands p{node.inputs[0], node.inputs[1], dc};
  if (column) {
    p.b = b("unsqueeze", {p.b, b.integers({1})});
    p.dc = b("unsqueeze", {p.dc, b.integers({-1})});
  }
  if (row) {
    p.a = b("unsqueeze", {p.a, b.integers({0})});
    p.dc = b("unsqueeze", {p.dc, b.integers({-2})});
  }
  return p;
}

/// x as a matrix or a stack of matrices, if it is only known at run time whether x is a vector.
ir::ValueId as_matrix(ir::Builder& b, ir::ValueId x, bool column) {
  const ir::ValueId shape = b("shape", {x});
  const ir::ValueId missing = b(
      "max", {b("sub", {b.integers({2}), b("shape", {shape})}), b.integers({0})});
  const ir::ValueId ones = b("constant_of_shape", {missing},
                             {{"value", Tensor::from<std::int64_t>({1}, {1})}});
  const ir::ValueId whole = b(
      "concat", column ? std::vector{shape, ones} : std::vector{ones, shape}, {{"axis", 0}});
  return b("reshape", {x, whole}, {{"allowzero", 1}});
}

/// The batch part of the shape of dc. dc has a row axis unless a is a vector, and a column axis
/// unless b is a vector.
ir::ValueId batch_of_product(ir::Builder& b, const ir::Node& node, ir::ValueId dc) {
  const ir::ValueId shape = b("shape", {dc}), one = b.integers({1});
  ir::ValueId end = b("shape", {shape});
  for (const ir::ValueId x : node.inputs) {
    const ir::ValueId rank = b("shape", {b("shape", {x})});
    end = b("sub", {end, b("sub", {b("min", {rank, b.integers({2})}), one})});
  }
  return b("slice", {shape, b.integers({0}), end, b.integers({0})});
}

/// The gradient if a rank is only known at run time.
std::vector<ir::ValueId> gradient_of_any_rank(ir::Builder& b, const ir::Node& node,
                                              ir::ValueId adjoint) {
  const bool ta = node.attributes.flag("transpose_a"), tb = node.attributes.flag("transpose_b");
  const ir::ValueId x = as_matrix(b, node.inputs[0], ta), y = as_matrix(b, node.inputs[1], !tb);
  const ir::ValueId shape = b("concat",
                              {batch_of_product(b, node, adjoint), extent_of(b, x, ta ? -1 : -2),
                               extent_of(b, y, tb ? -2 : -1)},
                              {{"axis", 0}});
  const ir::ValueId dc = b("reshape", {adjoint, shape}, {{"allowzero", 1}});
  const ir::ValueId da = ta ? product(b, y, tb, dc, true) : product(b, dc, false, y, !tb);
  const ir::ValueId db = tb ? product(b, dc, true, x, ta) : product(b, x, !ta, dc, false);
  return {with_shape_of(b, summed_to(b, da, x), node.inputs[0]),
          with_shape_of(b, summed_to(b, db, y), node.inputs[1])};
}

std::vector<ir::ValueId> mat_mul_gradient(ir::Builder& b, const ir::Node& node,
                                          std::span<const ir::ValueId> adjoints) {
  const Type x = b.graph().value(node.inputs[0]).type, y = b.graph().value(node.inputs[1]).type;
  if (!x.has_rank() || !y.has_rank()) return gradient_of_any_rank(b, node, adjoints[0]);
  const Operand left(x, node.attributes, "transpose_a"), right(y, node.attributes, "transpose_b");
  ProductOperands p = as_matrices(b, node, adjoints[0], left.vector, right.vector);
  ir::ValueId da = left.transposed ? product(b, p.b, right.transposed, p.dc, true)
                                   : product(b, p.dc, false, p.b, !right.transposed);
  if (may_be_repeated(x, left, y, right)) da = summed_to(b, da, p.a);
  // If b is one matrix, the sum over the batch is part of one product.
  const bool merged = left.batch > 0 && right.batch == 0 && !left.transposed;
  if (merged) p = {with_rows_merged(b, p.a), p.b, with_rows_merged(b, p.dc)};
  ir::ValueId db = right.transposed ? product(b, p.dc, true, p.a, left.transposed)
                                    : product(b, p.a, !left.transposed, p.dc, false);
  if (!merged && may_be_repeated(y, right, x, left)) db = summed_to(b, db, p.b);
  if (left.vector) da = b("squeeze", {da, b.integers({0})});
  if (right.vector) db = b("squeeze", {db, b.integers({1})});
  return {da, db};
}

const ir::OpEntry mat_mul{{
    .name = "mat_mul",
    .doc = "c = the matrix product of the last two axes of a and b, the axes before them broadcast",
    .inputs = {{"a"}, {"b"}},
    .outputs = {"c"},
    .attributes = {{"transpose_a", 0}, {"transpose_b", 0}},
    .type = mat_mul_rule,
    .meaning = nest_on_buffers(write_product),
    .batch = batched_product,
    .batched_sum = summed_product,
    .gradient = mat_mul_gradient,
}};

}  // namespace
}  // namespace rondel::ops
