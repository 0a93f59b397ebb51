#include "codegen/contract.h"
#include "scalar/contract.h"

#include <algorithm>

/// Matrix products by tiles in registers: `rows` x `vectors` accumulators, with k innermost and
/// ascending. Each element has one accumulator, so the bits are those of the plain triple loop. Dot
/// products are in contract_dots.cpp.
namespace rondel::codegen {
namespace {

/// The value of a constant; `otherwise` if it is not known at compile time.
std::int64_t known_or(Value* v, std::int64_t otherwise) {
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(v);
  return known ? known->getSExtValue() : otherwise;
}

/// Emits all rows of the columns from `lo` on, in steps of `vectors` vectors. Returns the first
/// column of the remainder.
Value* emit_columns(FunctionBuilder& fb, const Product& p, Value* lo, unsigned vectors) {
  const std::int64_t width = std::int64_t{p.lanes} * vectors;
  Value* left = fb.build.CreateNSWSub(p.columns.count, lo);
  Value* hi = fb.build.CreateNSWAdd(lo, round_down(fb, left, width));
  count_up(fb, lo, hi, width, [&](Value* column) { emit_rows(fb, p, column, vectors, nullptr); });
  return hi;
}

void emit_product(FunctionBuilder& fb, const Product& p) {
  Value* done = emit_columns(fb, p, fb.i64(0), p.tile_vectors);
  // Of one row, few vectors at a time would leave most of the processor's adders idle.
  if (is_one(p.rows.count) && !p.transposed && known_or(p.columns.count, -1) < 0)
    for (unsigned vectors = p.tile_vectors / 2; vectors > 1; vectors /= 2)
      done = emit_columns(fb, p, done, vectors);
  if (p.transposed) {
    done = emit_columns(fb, p, done, 1);
    Product strided = p;
    strided.transposed = false;
    strided.lanes = 1;
    emit_columns(fb, strided, done, 1);
  } else if (p.lanes > 1 || p.tile_vectors > 1) {
    emit_last_columns(fb, p, done);
  }
}

FactorShape shape_of(const Factor& f, Value* out_stride) {
  return {known_or(f.count, -1), is_one(f.stride), is_one(f.k_stride), is_one(out_stride)};
}

/// What is known of the product at compile time.
ProductShape shape_of(const Product& p) {
  return {shape_of(p.rows, p.out_row_stride), shape_of(p.columns, p.out_column_stride),
          known_or(p.depth, -1), static_cast<std::int64_t>(byte_size(p.sum)),
          p.sum == p.out->buffer->dtype};
}

/// Emits passes over all columns, each with a few steps of k. The columns are thus read in memory
/// order; tiles would read a small part of each of their rows, page after page. Between the passes,
/// the sums are kept in the result.
void emit_along_columns(FunctionBuilder& fb, const Product& of) {
  const auto take_steps = [&](Value* k, std::int64_t count, Value* continues) {
    Product p = of;
    p.rows.base = element_at(fb, *p.rows.buffer, p.rows.base, {{k, p.rows.k_stride}});
    p.columns.base = element_at(fb, *p.columns.buffer, p.columns.base, {{k, p.columns.k_stride}});
    p.depth = fb.i64(count);
    p.unrolled_depth = static_cast<unsigned>(count);
    p.continues = continues;
    p.checks_stop = false;
    p.tile_rows = static_cast<unsigned>(known_or(p.rows.count, 1));
    p.tile_vectors = std::max(1U, fb.host.vector_registers / 4 / p.tile_rows);
    if (of.checks_stop) emit_stop_check(fb);
    emit_product(fb, p);
  };
  const std::int64_t full = known_or(of.depth, 0) / steps_together * steps_together;
  take_steps(fb.i64(0), steps_together, nullptr);
  count_up(fb, fb.i64(steps_together), fb.i64(full), steps_together,
           [&](Value* k) { take_steps(k, steps_together, fb.build.getTrue()); });
  count_up(fb, fb.i64(full), of.depth, 1, [&](Value* k) { take_steps(k, 1, fb.build.getTrue()); });
}

/// Emits two versions of a product, and a branch that takes the first if the condition is true.
void emit_either(FunctionBuilder& fb, Value* condition, llvm::function_ref<void()> first,
                 llvm::function_ref<void()> second) {
  llvm::BasicBlock* one = fb.block("one_way");
  llvm::BasicBlock* other = fb.block("other_way");
  llvm::BasicBlock* after = fb.block("multiplied");
  fb.build.CreateCondBr(condition, one, other);
  fb.build.SetInsertPoint(one);
  first();
  fb.build.CreateBr(after);
  fb.build.SetInsertPoint(other);
  second();
  fb.build.CreateBr(after);
  fb.build.SetInsertPoint(after);
}

/// Emits both versions, and a branch that uses panels if the run-time extents are large enough.
void emit_in_panels_or_directly(FunctionBuilder& fb, const Product& p) {
  const auto at_least = [&](Value* n, std::int64_t least) {
    return fb.build.CreateICmpSGE(n, fb.i64(least));
  };
  Value* worth = fb.build.CreateAnd(at_least(p.rows.count, rows_worth_panels),
                                    at_least(p.columns.count, columns_worth_panels));
  worth = fb.build.CreateAnd(worth, at_least(p.depth, depth_worth_panels(p.tiling())));
  emit_either(
      fb, worth, [&] { emit_in_panels(fb, p); }, [&] { emit_product(fb, p); });
}

/// c' = b' a' instead of c = a b.
void transpose(Product& p) {
  std::swap(p.rows, p.columns);
  std::swap(p.out_row_stride, p.out_column_stride);
}

/// The product, transposed if this makes the columns cheaper to load into vectors.
Product oriented(Product p) {
  if (is_better_transposed(shape_of(p))) transpose(p);
  return p;
}

/// Reads the operands of an instruction that are indices on the leading axes of its buffers.
struct Leading {
  FunctionBuilder& fb;
  const Inst& inst;
  std::size_t next = 0;
  Value* base(const BoundBuffer& b, std::int32_t count) {
    const auto fixed = static_cast<std::size_t>(count);
    next += fixed;
    return address(fb, b, fb.program.operands(inst).subspan(next - fixed, fixed));
  }
};

/// A factor whose axes from `first` on are a matrix or a vector. `k_first`: k is the first axis of
/// the matrix; else it is the last one.
Factor factor(FunctionBuilder& fb, const BoundBuffer& b, Value* base, std::int32_t first,
              bool vector, bool k_first) {
  const std::size_t last = b.extents.size() - 1;
  if (vector) return {&b, base, fb.i64(1), b.strides[last], fb.i64(1)};
  const auto outer = k_first ? last : static_cast<std::size_t>(first);
  const auto k = k_first ? static_cast<std::size_t>(first) : last;
  return {&b, base, b.strides[outer], b.strides[k], b.extents[outer]};
}

Product describe(FunctionBuilder& fb, const Inst& inst, const scalar::Contract& c) {
  Leading leading{fb, inst};
  const BoundBuffer &a = fb.bound(c.a), &b = fb.bound(c.b), &out = fb.bound(c.c);
  Value* a_base = leading.base(a, c.a_leading);
  Value* b_base = leading.base(b, c.b_leading);
  Product p;
  p.rows = factor(fb, a, a_base, c.a_leading, c.a_vector, c.a_transposed);
  p.columns = factor(fb, b, b_base, c.b_leading, c.b_vector, !c.b_transposed);
  p.out = &out;
  p.out_base = leading.base(out, c.c_leading);
  p.out_row_stride = c.a_vector ? fb.i64(1) : out.strides[static_cast<std::size_t>(c.c_leading)];
  p.out_column_stride = c.b_vector ? fb.i64(1) : out.strides.back();
  p.depth = a.extents[scalar::depth_axis(c, a.extents.size())];
  if (c.sized) {
    const auto sizes = fb.program.operands(inst).last(3);
    if (!c.a_vector) p.rows.count = fb.reg(sizes[0]);
    if (!c.b_vector) p.columns.count = fb.reg(sizes[1]);
    p.depth = fb.reg(sizes[2]);
  }
  const DType t = out.buffer->dtype;
  p.sum = t == DType::f16 || t == DType::bf16 ? DType::f32 : t;
  p.fused = c.fused;
  return p;
}

// Products that threads share. What is chosen by the extents is chosen before the product is
// divided, so that each part computes its elements as the whole product would.

/// Columns and rows that stay together in a part: a panel is packed by one thread.
constexpr std::int64_t columns_together = 64, rows_together = 24;
/// Of a product with so few rows or columns, the others are divided.
constexpr std::int64_t few = 8;
/// With so many columns, these are divided even if there are more rows: each part of the rows packs
/// all panels.
constexpr std::int64_t many_columns = 16 * columns_together;

/// Which of the columns or the rows are divided: a constant, or an i1.
Value* divides_columns(FunctionBuilder& fb, const Product& p) {
  const std::int64_t rows = known_or(p.rows.count, -1), columns = known_or(p.columns.count, -1);
  if (rows >= 0 && rows <= few) return fb.build.getTrue();
  if (columns >= 0 && columns <= few) return fb.build.getFalse();
  return fb.build.CreateOr(fb.build.CreateICmpSGE(p.columns.count, p.rows.count),
                           fb.build.CreateICmpSGE(p.columns.count, fb.i64(many_columns)));
}

Value* groups(FunctionBuilder& fb, Value* count, std::int64_t together) {
  return fb.build.CreateSDiv(fb.build.CreateNSWAdd(count, fb.i64(together - 1)), fb.i64(together));
}

/// The number of groups of columns or rows that stay together.
Value* groups(FunctionBuilder& fb, const Product& p) {
  return fb.build.CreateSelect(divides_columns(fb, p),
                               groups(fb, p.columns.count, columns_together),
                               groups(fb, p.rows.count, rows_together));
}

/// Leaves the rows or columns [from, to) of those that stay together, or all if not `divided`.
void restrict_to(FunctionBuilder& fb, Product& p, Factor& f, Value* out_stride, Value* divided,
                 std::int64_t together) {
  const auto bound = [&](Value* group) {
    Value* at = fb.build.CreateNSWMul(group, fb.i64(together));
    return fb.build.CreateSelect(fb.build.CreateICmpSLT(at, f.count), at, f.count);
  };
  Value *first = bound(fb.part_from), *end = bound(fb.part_to);
  first = fb.build.CreateSelect(divided, first, fb.i64(0));
  end = fb.build.CreateSelect(divided, end, f.count);
  f.base = element_at(fb, *f.buffer, f.base, {{first, f.stride}});
  p.out_base = element_at(fb, *p.out, p.out_base, {{first, out_stride}});
  f.count = fb.build.CreateNSWSub(end, first);
}

/// Leaves what this function is to compute of the product: all, or its part.
void restrict_to_part(FunctionBuilder& fb, Product& p) {
  if (fb.part == nullptr || fb.part->op != Op::contract) return;
  Value* columns = divides_columns(fb, p);
  restrict_to(fb, p, p.columns, p.out_column_stride, columns, columns_together);
  restrict_to(fb, p, p.rows, p.out_row_stride, fb.build.CreateNot(columns), rows_together);
}

/// Emits all but dot products.
void emit_matrix_product(FunctionBuilder& fb, Product p) {
  const ProductShape shape = shape_of(p);
  p.take(tiling_of(shape, fb.host));
  const bool along_columns = runs_along_columns(shape, p.tiling());
  const bool panels = takes_panels(shape, p.tiling());
  restrict_to_part(fb, p);
  if (along_columns) emit_along_columns(fb, p);
  else if (panels) emit_in_panels_or_directly(fb, p);
  else emit_product(fb, p);
}

/// A product, and how its elements are summed.
struct Summed {
  Product product;
  scalar::DotProducts dots;  ///< `if_one_row` if only the run knows whether there is one row
};

void emit_summed(FunctionBuilder& fb, const Summed& s) {
  const auto dot_products = [&] {
    Product p = s.product;
    restrict_to_part(fb, p);
    emit_dot_products(fb, p);
  };
  const auto others = [&] { emit_matrix_product(fb, oriented(s.product)); };
  if (s.dots == scalar::DotProducts::always) return dot_products();
  if (s.dots == scalar::DotProducts::never) return others();
  emit_either(fb, fb.build.CreateICmpEQ(s.product.rows.count, fb.i64(1)), dot_products, others);
}

/// The number of parts that a product can be divided into.
Value* most_parts(FunctionBuilder& fb, const Summed& s) {
  Value* all = groups(fb, s.product);
  if (s.dots != scalar::DotProducts::if_one_row) return all;
  Value* of_others = groups(fb, oriented(s.product));
  return fb.build.CreateSelect(fb.build.CreateICmpSGT(all, of_others), all, of_others);
}

Summed summed(FunctionBuilder& fb, const Inst& inst) {
  const scalar::Contract& c = fb.program.contracts[static_cast<std::size_t>(inst.id)];
  Summed s{describe(fb, inst, c), scalar::dot_products(fb.program, c)};
  Product& p = s.product;
  p.checks_stop = fb.safepoint(inst).kind == Safepoint::Kind::tiles;
  if (s.dots == scalar::DotProducts::always && !c.a_vector) transpose(p);
  const std::int64_t rows = known_or(p.rows.count, -1);
  if (s.dots == scalar::DotProducts::if_one_row && rows >= 0)
    s.dots = rows == 1 ? scalar::DotProducts::always : scalar::DotProducts::never;
  if (s.dots == scalar::DotProducts::never) p = oriented(p);
  return s;
}

}  // namespace

bool is_one(Value* v) {
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(v);
  return known && known->isOne();
}

void count_up(FunctionBuilder& fb, Value* lo, Value* hi, std::int64_t step,
              llvm::function_ref<void(Value*)> body) {
  const auto* first = llvm::dyn_cast<llvm::ConstantInt>(lo);
  const auto* end = llvm::dyn_cast<llvm::ConstantInt>(hi);
  if (first != nullptr && end != nullptr) {
    const std::int64_t left = end->getSExtValue() - first->getSExtValue();
    if (left <= 0) return;
    if (left <= step) return body(lo);
  }
  llvm::BasicBlock* before = fb.build.GetInsertBlock();
  llvm::BasicBlock* loop = fb.block("tiles");
  llvm::BasicBlock* after = fb.block("tiled");
  fb.build.CreateCondBr(fb.build.CreateICmpSLT(lo, hi), loop, after);
  fb.build.SetInsertPoint(loop);
  llvm::PHINode* i = fb.build.CreatePHI(fb.build.getInt64Ty(), 2);
  i->addIncoming(lo, before);
  body(i);
  Value* next = fb.build.CreateNSWAdd(i, fb.i64(step));
  i->addIncoming(next, fb.build.GetInsertBlock());
  hint_loop(fb.build.CreateCondBr(fb.build.CreateICmpSLT(next, hi), loop, after), loop);
  fb.build.SetInsertPoint(after);
}

Value* lane_mask(FunctionBuilder& fb, const Product& p, Value* column) {
  if (p.lanes == 1) return nullptr;
  std::vector<llvm::Constant*> numbers;
  for (unsigned lane = 0; lane < p.lanes; ++lane) numbers.push_back(fb.build.getInt64(lane));
  Value* left = fb.build.CreateNSWSub(p.columns.count, column);
  return fb.build.CreateICmpSLT(llvm::ConstantVector::get(numbers),
                                fb.build.CreateVectorSplat(p.lanes, left));
}

void emit_rows(FunctionBuilder& fb, const Product& p, Value* column, unsigned vectors,
               Value* mask) {
  Value* full = round_down(fb, p.rows.count, p.tile_rows);
  count_up(fb, fb.i64(0), full, p.tile_rows, [&](Value* row) {
    emit_tile(fb, p, {row, column, p.tile_rows, vectors, mask});
  });
  const std::int64_t known = known_or(p.rows.count, -1);
  const auto left = known < 0 ? 1u : static_cast<unsigned>(known % p.tile_rows);
  if (p.tile_rows == 1 || left == 0) return;
  count_up(fb, full, p.rows.count, left, [&](Value* row) {
    emit_tile(fb, p, {row, column, left, vectors, mask});
  });
}

void emit_last_columns(FunctionBuilder& fb, const Product& p, Value* first) {
  count_up(fb, first, p.columns.count, p.lanes,
           [&](Value* column) { emit_rows(fb, p, column, 1, lane_mask(fb, p, column)); });
}

void emit_contract(FunctionBuilder& fb, const Inst& inst) {
  if (fb.safepoint(inst).before) emit_stop_check(fb);
  const auto at = static_cast<std::size_t>(&inst - fb.program.code.data());
  const Summed s = summed(fb, inst);
  const Part* const part = part_at(fb, at);
  if (part == nullptr) return emit_summed(fb, s);
  emit_divided(fb, at, *part, most_parts(fb, s),
               [&](FunctionBuilder& in) { emit_summed(in, &in == &fb ? s : summed(in, inst)); });
}

}  // namespace rondel::codegen
