#pragma once
#include "codegen/contract_form.h"
#include "codegen/function_builder.h"

/// Matrix products: their two factors, and the tiles of the result.
namespace rondel::codegen {

/// A factor of a product. Either its rows are read (one scalar per step of k, broadcast to a
/// vector) or its columns (one vector of columns per step of k).
struct Factor {
  const BoundBuffer* buffer;
  Value* base;
  Value* stride;    ///< from one row to the next, or from one column to the next
  Value* k_stride;  ///< from k to k + 1
  Value* count;     ///< number of rows or columns
};

struct Product {
  Factor rows, columns;
  const BoundBuffer* out;
  Value* out_base;
  Value *out_row_stride, *out_column_stride;
  Value* depth;                 ///< extent of k
  unsigned unrolled_depth = 0;  ///< the depth, if the loop over k is fully unrolled; else 0
  DType sum;                    ///< dtype of the accumulators
  bool fused;                   ///< accumulate with fma
  bool checks_stop = false;     ///< each tile checks the stop flag
  bool transposed = false;      ///< columns are contiguous along k and transposed in registers
  unsigned lanes = 1;           ///< columns in a vector
  unsigned tile_rows = 1;       ///< rows of a full tile
  unsigned tile_vectors = 1;    ///< vectors of a full tile
  Value* continues = nullptr;   ///< i1: sums begin with the values in the result; null: with zeros

  Tiling tiling() const { return {transposed, lanes, tile_rows, tile_vectors}; }
  void take(const Tiling& t) {
    transposed = t.transposed, lanes = t.lanes, tile_rows = t.rows, tile_vectors = t.vectors;
  }
};

/// A tile of the result: its first row and column, its size, and a mask of its lanes (null: all).
struct Tile {
  Value *row, *column;
  unsigned rows, vectors;
  Value* mask = nullptr;
};

/// Emits code that computes a tile and stores it.
void emit_tile(FunctionBuilder&, const Product&, const Tile&);

/// Emits the product with packing: blocks of k of some columns are copied into a panel, side by
/// side. Each block is copied once for all rows. The result must have the dtype of the
/// accumulators.
void emit_in_panels(FunctionBuilder&, const Product&);

/// Emits the product whose elements are dot products (`scalar::DotProducts`). The row is `rows`,
/// what it is multiplied with is `columns`. Several dot products are summed at once, so that each
/// vector of the row is loaded once for all of them.
void emit_dot_products(FunctionBuilder&, const Product&);

/// Emits some steps of k, from `k` on: takes the sums before them, returns the sums after them.
using Sums = std::vector<Value*>;
using AddProducts = llvm::function_ref<Sums(Value* k, const Sums&)>;
/// Emits the loop `for (k = lo; k < hi; k += depth) sums = add(k, sums)`. Returns the sums.
Sums sum_up(FunctionBuilder&, Value* lo, Value* hi, std::int64_t depth, const Sums& start,
            AddProducts add);
/// The same from 0 on. If the product checks the stop flag, the loop runs in blocks with a check
/// before each block.
Sums sum_in_blocks(FunctionBuilder&, const Product&, Value* hi, std::int64_t depth,
                   const Sums& start, AddProducts add);

/// Loads one step of k for one vector of columns that are contiguous in memory. `mask`: the lanes
/// to load, null: all.
Value* load_direct(FunctionBuilder&, const Product&, Value* column, Value* k, Value* mask);
/// Loads as many steps of k as there are lanes, for one vector of columns that are contiguous along
/// k. Element i of the result is step k + i.
std::vector<Value*> load_transposed(FunctionBuilder&, const Product&, Value* column, Value* k);
/// Loads one step of k for one vector of columns with any strides, lane by lane.
Value* load_strided(FunctionBuilder&, const Product&, Value* column, Value* k);

/// Emits all rows of `vectors` vectors of columns from `column` on: full tiles, then the remainder.
void emit_rows(FunctionBuilder&, const Product&, Value* column, unsigned vectors, Value* mask);
/// The mask of the lanes of the vector at `column` that are columns of the result; null if a vector
/// has one lane.
Value* lane_mask(FunctionBuilder&, const Product&, Value* column);
/// Emits the columns from `first` on, one vector at a time; the last vector is masked.
void emit_last_columns(FunctionBuilder&, const Product&, Value* first);

/// The address base + sum of index * stride. `terms`: (index, stride) pairs, in elements of the
/// buffer.
Value* element_at(FunctionBuilder&, const BoundBuffer&, Value* base,
                  std::initializer_list<std::pair<Value*, Value*>> terms);
/// Whether a stride, or an extent, is certainly 1.
bool is_one(Value*);
/// Emits the loop `for (i = lo; i < hi; i += step) body(i)`. The insertion point is then behind it.
void count_up(FunctionBuilder&, Value* lo, Value* hi, std::int64_t step,
              llvm::function_ref<void(Value*)> body);
/// `count` rounded down to a multiple of `step`.
Value* round_down(FunctionBuilder&, Value* count, std::int64_t step);

}  // namespace rondel::codegen
