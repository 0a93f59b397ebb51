#include "codegen/code.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>

/// Products as tiles held in registers: `rows` x `vectors` accumulators, k innermost and ascending,
/// one accumulator an element, so that the bits are those of the plain triple loop.
namespace rondel::codegen {
namespace {

/// One factor: the rows (one scalar a step, spread over a vector) or the columns (vectors).
struct Factor {
  const BoundBuffer* buffer;
  Value* base;
  Value* stride;    ///< from row to row, or column to column
  Value* k_stride;  ///< from k to k + 1
  Value* count;     ///< how many rows or columns
};

struct Product {
  Factor rows, columns;
  const BoundBuffer* out;
  Value* out_base;
  Value *out_row_stride, *out_column_stride;
  Value* depth;  ///< extent of k
  DType sum;     ///< what products are summed in
  bool fused;
  unsigned lanes = 1;           ///< columns in a vector
  unsigned tile_rows = 1;       ///< rows of a full tile
  unsigned tile_vectors = 1;    ///< vectors of a full tile
};

bool is_one(Value* v) {
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(v);
  return known && known->isOne();
}

/// A known count, or `otherwise`.
std::int64_t known_or(Value* v, std::int64_t otherwise) {
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(v);
  return known ? known->getSExtValue() : otherwise;
}

/// base + sum of index * stride, in elements of the buffer.
Value* element_at(Code& code, const BoundBuffer& b, Value* base,
                  std::initializer_list<std::pair<Value*, Value*>> terms) {
  Value* offset = code.i64(0);
  for (const auto& [index, stride] : terms)
    offset = code.build.CreateNSWAdd(offset, code.build.CreateNSWMul(index, stride));
  return code.build.CreateInBoundsGEP(memory_type(code.llvm, b.buffer->dtype), base, offset);
}

/// for i = lo; i < hi; i += step. Returns hi's side: the insertion point is after the loop.
void count_up(Code& code, Value* lo, Value* hi, std::int64_t step,
              llvm::function_ref<void(Value*)> body) {
  llvm::BasicBlock* before = code.build.GetInsertBlock();
  llvm::BasicBlock* loop = code.block("tiles");
  llvm::BasicBlock* after = code.block("tiled");
  code.build.CreateCondBr(code.build.CreateICmpSLT(lo, hi), loop, after);
  code.build.SetInsertPoint(loop);
  llvm::PHINode* i = code.build.CreatePHI(code.build.getInt64Ty(), 2);
  i->addIncoming(lo, before);
  body(i);
  Value* next = code.build.CreateNSWAdd(i, code.i64(step));
  i->addIncoming(next, code.build.GetInsertBlock());
  code.build.CreateCondBr(code.build.CreateICmpSLT(next, hi), loop, after);
  code.build.SetInsertPoint(after);
}

llvm::Type* vector_of(llvm::Type* element, unsigned lanes) {
  return lanes == 1 ? element : static_cast<llvm::Type*>(llvm::FixedVectorType::get(element, lanes));
}

llvm::Align element_align(const BoundBuffer& b) {
  return llvm::Align(byte_size(b.buffer->dtype));
}

/// A tile of the result: where it begins, and which lanes exist (`mask` null: all).
struct Tile {
  Value *row, *column;
  unsigned rows, vectors;
  Value* mask = nullptr;
};

Value* load_columns(Code& code, const Product& p, Value* at, Value* mask) {
  const BoundBuffer& b = *p.columns.buffer;
  llvm::Type* type = vector_of(memory_type(code.llvm, b.buffer->dtype), p.lanes);
  llvm::Instruction* loaded =
      mask ? static_cast<llvm::Instruction*>(code.build.CreateMaskedLoad(
                 type, at, element_align(b), mask, llvm::Constant::getNullValue(type)))
           : code.build.CreateAlignedLoad(type, at, element_align(b));
  annotate(code, loaded, b);
  return convert(code, loaded, b.buffer->dtype, p.sum);
}

void store_columns(Code& code, const Product& p, Value* at, Value* sum, Value* mask) {
  const BoundBuffer& b = *p.out;
  Value* value = convert(code, sum, p.sum, b.buffer->dtype);
  llvm::Instruction* stored =
      mask ? static_cast<llvm::Instruction*>(
                 code.build.CreateMaskedStore(value, at, element_align(b), mask))
           : code.build.CreateAlignedStore(value, at, element_align(b));
  annotate(code, stored, b);
}

Value* load_row(Code& code, const Product& p, Value* at) {
  Value* x = load_element(code, *p.rows.buffer, at);
  x = convert(code, x, p.rows.buffer->buffer->dtype, p.sum);
  return p.lanes == 1 ? x : code.build.CreateVectorSplat(p.lanes, x);
}

/// sum + x * y as the contract says.
Value* step(Code& code, const Product& p, Value* x, Value* y, Value* sum) {
  llvm::IRBuilder<>& build = code.build;
  if (!native_float(p.sum)) return build.CreateAdd(sum, build.CreateMul(x, y));
  if (!p.fused) return build.CreateFAdd(sum, build.CreateFMul(x, y));
  return build.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {x, y, sum});
}

/// The index of vector `v` of a tile.
Value* column_of(Code& code, const Product& p, const Tile& t, unsigned v) {
  return code.build.CreateNSWAdd(t.column, code.i64(static_cast<std::int64_t>(v) * p.lanes));
}
Value* row_of(Code& code, const Tile& t, unsigned r) {
  return code.build.CreateNSWAdd(t.row, code.i64(r));
}

std::vector<Value*> add_products(Code& code, const Product& p, const Tile& t, Value* k,
                                 const std::vector<llvm::PHINode*>& sums) {
  std::vector<Value*> columns, next;
  for (unsigned v = 0; v < t.vectors; ++v)
    columns.push_back(load_columns(
        code, p,
        element_at(code, *p.columns.buffer, p.columns.base,
                   {{column_of(code, p, t, v), p.columns.stride}, {k, p.columns.k_stride}}),
        t.mask));
  for (unsigned r = 0; r < t.rows; ++r) {
    Value* x = load_row(code, p,
                        element_at(code, *p.rows.buffer, p.rows.base,
                                   {{row_of(code, t, r), p.rows.stride}, {k, p.rows.k_stride}}));
    for (unsigned v = 0; v < t.vectors; ++v)
      next.push_back(step(code, p, x, columns[v], sums[r * t.vectors + v]));
  }
  return next;
}

/// The sums over k of a tile.
std::vector<Value*> sum_tile(Code& code, const Product& p, const Tile& t) {
  llvm::Type* type = vector_of(register_type(code.llvm, p.sum), p.lanes);
  Value* zero = llvm::Constant::getNullValue(type);
  llvm::BasicBlock* before = code.build.GetInsertBlock();
  llvm::BasicBlock* loop = code.block("depth");
  llvm::BasicBlock* after = code.block("summed");
  Value* any = code.build.CreateICmpSLT(code.i64(0), p.depth);
  code.build.CreateCondBr(any, loop, after);
  code.build.SetInsertPoint(loop);
  llvm::PHINode* k = code.build.CreatePHI(code.build.getInt64Ty(), 2);
  k->addIncoming(code.i64(0), before);
  std::vector<llvm::PHINode*> sums;
  for (unsigned i = 0; i < t.rows * t.vectors; ++i) {
    sums.push_back(code.build.CreatePHI(type, 2));
    sums.back()->addIncoming(zero, before);
  }
  const std::vector<Value*> next = add_products(code, p, t, k, sums);
  Value* next_k = code.build.CreateNSWAdd(k, code.i64(1));
  code.build.CreateCondBr(code.build.CreateICmpSLT(next_k, p.depth), loop, after);
  k->addIncoming(next_k, loop);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i]->addIncoming(next[i], loop);
  code.build.SetInsertPoint(after);
  std::vector<Value*> finals;
  for (Value* n : next) {
    llvm::PHINode* final = code.build.CreatePHI(type, 2);
    final->addIncoming(zero, before);
    final->addIncoming(n, loop);
    finals.push_back(final);
  }
  return finals;
}

void emit_tile(Code& code, const Product& p, const Tile& t) {
  const std::vector<Value*> sums = sum_tile(code, p, t);
  for (unsigned r = 0; r < t.rows; ++r)
    for (unsigned v = 0; v < t.vectors; ++v) {
      Value* at = element_at(code, *p.out, p.out_base,
                             {{row_of(code, t, r), p.out_row_stride},
                              {column_of(code, p, t, v), p.out_column_stride}});
      store_columns(code, p, at, sums[r * t.vectors + v], t.mask);
    }
}

/// Which lanes of the vector at `column` are columns of the result.
Value* lane_mask(Code& code, const Product& p, Value* column) {
  if (p.lanes == 1) return nullptr;
  std::vector<llvm::Constant*> numbers;
  for (unsigned lane = 0; lane < p.lanes; ++lane) numbers.push_back(code.build.getInt64(lane));
  Value* left = code.build.CreateNSWSub(p.columns.count, column);
  return code.build.CreateICmpSLT(llvm::ConstantVector::get(numbers),
                                  code.build.CreateVectorSplat(p.lanes, left));
}

/// `count` rounded down to a multiple of `step`.
Value* whole(Code& code, Value* count, std::int64_t step) {
  return code.build.CreateNSWSub(count, code.build.CreateSRem(count, code.i64(step)));
}

/// All rows of the columns from `column` on: full tiles, then what is left.
void emit_rows(Code& code, const Product& p, Value* column, unsigned vectors, Value* mask) {
  Value* full = whole(code, p.rows.count, p.tile_rows);
  count_up(code, code.i64(0), full, p.tile_rows, [&](Value* row) {
    emit_tile(code, p, {row, column, p.tile_rows, vectors, mask});
  });
  const std::int64_t known = known_or(p.rows.count, -1);
  const auto left = known < 0 ? 1u : static_cast<unsigned>(known % p.tile_rows);
  if (p.tile_rows == 1 || left == 0) return;
  count_up(code, full, p.rows.count, left, [&](Value* row) {
    emit_tile(code, p, {row, column, left, vectors, mask});
  });
}

void emit_product(Code& code, const Product& p) {
  const std::int64_t width = std::int64_t{p.lanes} * p.tile_vectors;
  Value* full = whole(code, p.columns.count, width);
  count_up(code, code.i64(0), full, width,
           [&](Value* column) { emit_rows(code, p, column, p.tile_vectors, nullptr); });
  if (width == 1) return;
  count_up(code, full, p.columns.count, p.lanes, [&](Value* column) {
    emit_rows(code, p, column, 1, lane_mask(code, p, column));
  });
}

/// The least number of equal parts of at most `most` that make `count`, and how large they are.
unsigned balanced(std::int64_t count, std::int64_t most) {
  if (count < 0 || count > 64 * most) return static_cast<unsigned>(most);
  if (count == 0) return 1;
  const std::int64_t parts = (count + most - 1) / most;
  return static_cast<unsigned>((count + parts - 1) / parts);
}

/// Tile sizes: as many sums as registers hold beside the factors, so that additions overlap.
void choose_tile(Code& code, Product& p) {
  const bool columns_in_a_row = is_one(p.columns.stride) && is_one(p.out_column_stride);
  const auto sum_bytes = static_cast<unsigned>(byte_size(p.sum));
  const std::int64_t columns = known_or(p.columns.count, -1), rows = known_or(p.rows.count, -1);
  if (columns_in_a_row && columns != 1) p.lanes = code.host.vector_bytes / sum_bytes;
  const unsigned sums = code.host.vector_registers * 3 / 4;
  const std::int64_t most_vectors = rows == 1 ? 8 : code.host.vector_registers / 8;
  p.tile_vectors = columns == 1 ? 1 : balanced(columns < 0 ? -1 : columns / p.lanes, most_vectors);
  p.tile_rows = balanced(rows, std::clamp(sums / p.tile_vectors, 1u, 8u));
}

/// The operands of an instruction that fix the leading axes of a buffer.
struct Leading {
  Code& code;
  const Inst& inst;
  std::size_t next = 0;
  Value* base(const BoundBuffer& b, std::int32_t count) {
    std::vector<Value*> indices;
    for (std::int32_t i = 0; i < count; ++i) indices.push_back(code.operand(inst, next++));
    return address(code, b, indices);
  }
};

/// `outer`: the axis of rows or columns, counted from the end; `k`: the axis of k. 0: no such axis.
Factor factor(Code& code, const BoundBuffer& b, Value* base, std::size_t outer, std::size_t k) {
  const std::size_t rank = b.extents.size();
  return {&b, base, outer ? b.strides[rank - outer] : code.i64(1), b.strides[rank - k],
          outer ? b.extents[rank - outer] : code.i64(1)};
}

Product describe(Code& code, const Inst& inst, const scalar::Contract& c) {
  Leading leading{code, inst};
  const BoundBuffer &a = code.bound(c.a), &b = code.bound(c.b), &out = code.bound(c.c);
  Value* a_base = leading.base(a, c.a_leading);
  Value* b_base = leading.base(b, c.b_leading);
  Product p;
  p.rows = c.a_vector ? factor(code, a, a_base, 0, 1)
                      : factor(code, a, a_base, c.a_transposed ? 1 : 2, c.a_transposed ? 2 : 1);
  p.columns = c.b_vector ? factor(code, b, b_base, 0, 1)
                         : factor(code, b, b_base, c.b_transposed ? 2 : 1, c.b_transposed ? 1 : 2);
  p.out = &out;
  p.out_base = leading.base(out, c.c_leading);
  const std::size_t rank = out.extents.size(), matrix_axes = c.b_vector ? 1 : 2;
  p.out_row_stride = c.a_vector ? code.i64(1) : out.strides[rank - matrix_axes];
  p.out_column_stride = c.b_vector ? code.i64(1) : out.strides[rank - 1];
  p.depth = a.extents[a.extents.size() - (c.a_transposed ? 2 : 1)];
  const DType t = out.buffer->dtype;
  p.sum = t == DType::f16 || t == DType::bf16 ? DType::f32 : t;
  p.fused = c.fused;
  return p;
}

/// c = a b is also c' = b' a': the factor with consecutive elements is best read as columns.
void orient(Product& p) {
  const bool columns_fit = is_one(p.columns.stride) && is_one(p.out_column_stride) &&
                           !is_one(p.columns.count);
  const bool rows_fit = is_one(p.rows.stride) && is_one(p.out_row_stride) && !is_one(p.rows.count);
  if (columns_fit || !rows_fit) return;
  std::swap(p.rows, p.columns);
  std::swap(p.out_row_stride, p.out_column_stride);
}

}  // namespace

void emit_contract(Code& code, const Inst& inst) {
  const scalar::Contract& c = code.program.contracts[static_cast<std::size_t>(inst.id)];
  Product p = describe(code, inst, c);
  orient(p);
  choose_tile(code, p);
  emit_product(code, p);
}

}  // namespace rondel::codegen
