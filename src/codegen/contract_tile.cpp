#include "codegen/contract.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>

namespace rondel::codegen {
namespace {

llvm::Type* vector_of(llvm::Type* element, unsigned lanes) {
  return lanes == 1 ? element
                    : static_cast<llvm::Type*>(llvm::FixedVectorType::get(element, lanes));
}

llvm::Align element_align(const BoundBuffer& b) { return llvm::Align(byte_size(b.buffer->dtype)); }

Value* load_columns(FunctionBuilder& fb, const Product& p, Value* at, Value* mask) {
  const BoundBuffer& b = *p.columns.buffer;
  llvm::Type* type = vector_of(memory_type(fb.llvm, b.buffer->dtype), p.lanes);
  llvm::Instruction* loaded = mask ? static_cast<llvm::Instruction*>(fb.build.CreateMaskedLoad(
                                         type, at, element_align(b), mask,
                                         llvm::Constant::getNullValue(type)))
                                   : fb.build.CreateAlignedLoad(type, at, element_align(b));
  annotate(fb, loaded, b);
  return convert(fb, loaded, b.buffer->dtype, p.sum);
}

void store_columns(FunctionBuilder& fb, const Product& p, Value* at, Value* sum, Value* mask) {
  const BoundBuffer& b = *p.out;
  Value* value = convert(fb, sum, p.sum, b.buffer->dtype);
  llvm::Instruction* stored = mask ? static_cast<llvm::Instruction*>(fb.build.CreateMaskedStore(
                                         value, at, element_align(b), mask))
                                   : fb.build.CreateAlignedStore(value, at, element_align(b));
  annotate(fb, stored, b);
}

Value* load_row(FunctionBuilder& fb, const Product& p, Value* at) {
  Value* x = load_element(fb, *p.rows.buffer, at);
  x = convert(fb, x, p.rows.buffer->buffer->dtype, p.sum);
  return p.lanes == 1 ? x : fb.build.CreateVectorSplat(p.lanes, x);
}

/// sum + x * y, fused if the contract says so.
Value* step(FunctionBuilder& fb, const Product& p, Value* x, Value* y, Value* sum) {
  llvm::IRBuilder<>& build = fb.build;
  if (!native_float(p.sum)) return build.CreateAdd(sum, build.CreateMul(x, y));
  if (!p.fused) return build.CreateFAdd(sum, build.CreateFMul(x, y));
  return build.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {x, y, sum});
}

/// The first column of vector `v` of a tile.
Value* column_of(FunctionBuilder& fb, const Product& p, const Tile& t, unsigned v) {
  return fb.build.CreateNSWAdd(t.column, fb.i64(static_cast<std::int64_t>(v) * p.lanes));
}
Value* row_of(FunctionBuilder& fb, const Tile& t, unsigned r) {
  return fb.build.CreateNSWAdd(t.row, fb.i64(r));
}

Value* column_address(FunctionBuilder& fb, const Product& p, Value* column, Value* k) {
  return element_at(fb, *p.columns.buffer, p.columns.base,
                    {{column, p.columns.stride}, {k, p.columns.k_stride}});
}

Value* row_value(FunctionBuilder& fb, const Product& p, const Tile& t, unsigned r, Value* k) {
  return load_row(fb, p,
                  element_at(fb, *p.rows.buffer, p.rows.base,
                             {{row_of(fb, t, r), p.rows.stride}, {k, p.rows.k_stride}}));
}

/// Adds x times `columns` to the sums of row r. `columns` has one element per vector of the tile.
void add_row(FunctionBuilder& fb, const Product& p, const Tile& t, unsigned r, Value* x,
             const std::vector<Value*>& columns, Sums& sums) {
  for (unsigned v = 0; v < t.vectors; ++v) {
    Value*& sum = sums[r * t.vectors + v];
    sum = step(fb, p, x, columns[v], sum);
  }
}

/// The sums over k of a tile whose columns are contiguous in memory.
Sums sum_direct(FunctionBuilder& fb, const Product& p, const Tile& t, const Sums& first) {
  const auto add = [&](Value* k, Sums sums) {
    std::vector<Value*> columns;
    for (unsigned v = 0; v < t.vectors; ++v)
      columns.push_back(load_direct(fb, p, column_of(fb, p, t, v), k, t.mask));
    for (unsigned r = 0; r < t.rows; ++r)
      add_row(fb, p, t, r, row_value(fb, p, t, r, k), columns, sums);
    return sums;
  };
  if (p.unrolled_depth == 0) return sum_in_blocks(fb, p, p.depth, 1, first, add);
  Sums sums = first;
  for (unsigned k = 0; k < p.unrolled_depth; ++k) sums = add(fb.i64(k), sums);
  return sums;
}

/// Transposes a square matrix: lane j of vector i becomes lane i of vector j. The number of vectors
/// and of lanes is a power of two.
void transpose(FunctionBuilder& fb, std::vector<Value*>& vectors) {
  const auto lanes = static_cast<unsigned>(vectors.size());
  for (unsigned s = 1; s < lanes; s *= 2) {
    llvm::SmallVector<int> low, high;
    for (unsigned j = 0; j < lanes; ++j) {
      low.push_back(static_cast<int>(j & s ? lanes + j - s : j));
      high.push_back(static_cast<int>(j & s ? lanes + j : j + s));
    }
    for (unsigned i = 0; i < lanes; ++i) {
      if (i & s) continue;
      Value *a = vectors[i], *b = vectors[i + s];
      vectors[i] = fb.build.CreateShuffleVector(a, b, low);
      vectors[i + s] = fb.build.CreateShuffleVector(a, b, high);
    }
  }
}

/// Adds `depth` steps of k, a multiple of the lanes, for columns that are contiguous along k. Each
/// vector of columns takes all steps before the next vector begins, so that a loaded cache line is
/// used completely.
Sums add_transposed(FunctionBuilder& fb, const Product& p, const Tile& t, Value* k, unsigned depth,
                    Sums sums) {
  for (unsigned v = 0; v < t.vectors; ++v) {
    Value* column = column_of(fb, p, t, v);
    for (unsigned from = 0; from < depth; from += p.lanes) {
      Value* block = fb.build.CreateNSWAdd(k, fb.i64(from));
      const std::vector<Value*> columns = load_transposed(fb, p, column, block);
      for (unsigned i = 0; i < p.lanes; ++i) {
        Value* at = fb.build.CreateNSWAdd(block, fb.i64(i));
        for (unsigned r = 0; r < t.rows; ++r) {
          Value*& sum = sums[r * t.vectors + v];
          sum = step(fb, p, row_value(fb, p, t, r, at), columns[i], sum);
        }
      }
    }
  }
  return sums;
}

/// The sums over k of a tile whose columns are contiguous along k. Blocks are transposed in
/// registers: first blocks as deep as a cache line, then as deep as a vector; the remaining steps
/// are taken one by one.
Sums sum_transposed(FunctionBuilder& fb, const Product& p, const Tile& t, const Sums& first) {
  constexpr unsigned line = 64;
  const auto bytes = static_cast<unsigned>(byte_size(p.columns.buffer->buffer->dtype));
  const unsigned whole_line = std::clamp(line / bytes, p.lanes, 2 * p.lanes);
  Sums sums = first;
  Value* done = fb.i64(0);
  for (unsigned depth = whole_line; depth >= p.lanes; depth /= 2) {
    Value* left = fb.build.CreateNSWSub(p.depth, done);
    Value* hi = fb.build.CreateNSWAdd(done, round_down(fb, left, depth));
    const auto add = [&](Value* k, const Sums& before) {
      return add_transposed(fb, p, t, k, depth, before);
    };
    sums = depth == whole_line ? sum_in_blocks(fb, p, hi, depth, sums, add)
                               : sum_up(fb, done, hi, depth, sums, add);
    done = hi;
  }
  return sum_up(fb, done, p.depth, 1, sums, [&](Value* k, Sums rest) {
    std::vector<Value*> columns;
    for (unsigned v = 0; v < t.vectors; ++v)
      columns.push_back(load_strided(fb, p, column_of(fb, p, t, v), k));
    for (unsigned r = 0; r < t.rows; ++r)
      add_row(fb, p, t, r, row_value(fb, p, t, r, k), columns, rest);
    return rest;
  });
}

/// The address of row r of vector v of a tile of the result.
Value* result_at(FunctionBuilder& fb, const Product& p, const Tile& t, unsigned r, unsigned v) {
  return element_at(
      fb, *p.out, p.out_base,
      {{row_of(fb, t, r), p.out_row_stride}, {column_of(fb, p, t, v), p.out_column_stride}});
}

/// The initial values of the sums of a tile.
Sums first_sums(FunctionBuilder& fb, const Product& p, const Tile& t) {
  llvm::Type* type = vector_of(register_type(fb.llvm, p.sum), p.lanes);
  Sums sums(std::size_t{t.rows} * t.vectors, llvm::Constant::getNullValue(type));
  if (p.continues == nullptr) return sums;
  Value* mask = fb.build.CreateVectorSplat(p.lanes, p.continues);
  if (t.mask != nullptr) mask = fb.build.CreateAnd(mask, t.mask);
  for (unsigned r = 0; r < t.rows; ++r)
    for (unsigned v = 0; v < t.vectors; ++v) {
      llvm::Instruction* loaded = fb.build.CreateMaskedLoad(type, result_at(fb, p, t, r, v),
                                                            element_align(*p.out), mask,
                                                            llvm::Constant::getNullValue(type));
      annotate(fb, loaded, *p.out);
      sums[r * t.vectors + v] = loaded;
    }
  return sums;
}

}  // namespace

Sums sum_up(FunctionBuilder& fb, Value* lo, Value* hi, std::int64_t depth, const Sums& start,
            AddProducts add) {
  llvm::BasicBlock* before = fb.build.GetInsertBlock();
  llvm::BasicBlock* loop = fb.block("depth");
  llvm::BasicBlock* after = fb.block("summed");
  fb.build.CreateCondBr(fb.build.CreateICmpSLT(lo, hi), loop, after);
  fb.build.SetInsertPoint(loop);
  llvm::PHINode* k = fb.build.CreatePHI(fb.build.getInt64Ty(), 2);
  k->addIncoming(lo, before);
  std::vector<llvm::PHINode*> carried;
  for (Value* s : start) {
    carried.push_back(fb.build.CreatePHI(s->getType(), 2));
    carried.back()->addIncoming(s, before);
  }
  const Sums next = add(k, Sums(carried.begin(), carried.end()));
  Value* next_k = fb.build.CreateNSWAdd(k, fb.i64(depth));
  hint_loop(fb.build.CreateCondBr(fb.build.CreateICmpSLT(next_k, hi), loop, after), loop, nullptr,
            true);
  k->addIncoming(next_k, loop);
  for (std::size_t i = 0; i < carried.size(); ++i) carried[i]->addIncoming(next[i], loop);
  fb.build.SetInsertPoint(after);
  Sums finals;
  for (std::size_t i = 0; i < start.size(); ++i) {
    llvm::PHINode* final = fb.build.CreatePHI(start[i]->getType(), 2);
    final->addIncoming(start[i], before);
    final->addIncoming(next[i], loop);
    finals.push_back(final);
  }
  return finals;
}

/// Steps of k between two checks of the stop flag; a multiple of every `depth`.
constexpr std::int64_t k_block = 4096;

Sums sum_in_blocks(FunctionBuilder& fb, const Product& p, Value* hi, std::int64_t depth,
                   const Sums& start, AddProducts add) {
  if (!p.checks_stop) return sum_up(fb, fb.i64(0), hi, depth, start, add);
  llvm::BasicBlock* before = fb.build.GetInsertBlock();
  llvm::BasicBlock* block = fb.block("k_block");
  llvm::BasicBlock* after = fb.block("k_done");
  fb.build.CreateBr(block);
  fb.build.SetInsertPoint(block);
  llvm::PHINode* k = fb.build.CreatePHI(fb.build.getInt64Ty(), 2);
  k->addIncoming(fb.i64(0), before);
  std::vector<llvm::PHINode*> carried;
  for (Value* s : start) {
    carried.push_back(fb.build.CreatePHI(s->getType(), 2));
    carried.back()->addIncoming(s, before);
  }
  emit_stop_check(fb);
  Value* end = end_of_block(fb, k, hi, k_block);
  const Sums next = sum_up(fb, k, end, depth, Sums(carried.begin(), carried.end()), add);
  llvm::BasicBlock* back = fb.build.GetInsertBlock();
  k->addIncoming(end, back);
  for (std::size_t i = 0; i < carried.size(); ++i) carried[i]->addIncoming(next[i], back);
  fb.build.CreateCondBr(fb.build.CreateICmpSLT(end, hi), block, after);
  fb.build.SetInsertPoint(after);
  return next;
}

Value* element_at(FunctionBuilder& fb, const BoundBuffer& b, Value* base,
                  std::initializer_list<std::pair<Value*, Value*>> terms) {
  Value* offset = fb.i64(0);
  for (const auto& [index, stride] : terms)
    offset = fb.build.CreateNSWAdd(offset, fb.build.CreateNSWMul(index, stride));
  return fb.build.CreateInBoundsGEP(memory_type(fb.llvm, b.buffer->dtype), base, offset);
}

Value* load_direct(FunctionBuilder& fb, const Product& p, Value* column, Value* k, Value* mask) {
  return load_columns(fb, p, column_address(fb, p, column, k), mask);
}

std::vector<Value*> load_transposed(FunctionBuilder& fb, const Product& p, Value* column,
                                    Value* k) {
  std::vector<Value*> vectors;
  for (unsigned lane = 0; lane < p.lanes; ++lane) {
    Value* at = fb.build.CreateNSWAdd(column, fb.i64(lane));
    vectors.push_back(load_columns(fb, p, column_address(fb, p, at, k), nullptr));
  }
  transpose(fb, vectors);
  return vectors;
}

Value* load_strided(FunctionBuilder& fb, const Product& p, Value* column, Value* k) {
  Value* vector = llvm::PoisonValue::get(vector_of(register_type(fb.llvm, p.sum), p.lanes));
  for (unsigned lane = 0; lane < p.lanes; ++lane) {
    Value* at = fb.build.CreateNSWAdd(column, fb.i64(lane));
    Value* x = load_element(fb, *p.columns.buffer, column_address(fb, p, at, k));
    x = convert(fb, x, p.columns.buffer->buffer->dtype, p.sum);
    if (p.lanes == 1) return x;
    vector = fb.build.CreateInsertElement(vector, x, lane);
  }
  return vector;
}

Value* round_down(FunctionBuilder& fb, Value* count, std::int64_t step) {
  return fb.build.CreateNSWSub(count, fb.build.CreateSRem(count, fb.i64(step)));
}

void emit_tile(FunctionBuilder& fb, const Product& p, const Tile& t) {
  const Sums first = first_sums(fb, p, t);
  const Sums sums = p.transposed ? sum_transposed(fb, p, t, first) : sum_direct(fb, p, t, first);
  for (unsigned r = 0; r < t.rows; ++r)
    for (unsigned v = 0; v < t.vectors; ++v)
      store_columns(fb, p, result_at(fb, p, t, r, v), sums[r * t.vectors + v], t.mask);
}

}  // namespace rondel::codegen
