#pragma once
#include "codegen/function_builder.h"

/// A product taken apart: two factors, and the tiles of the result they are summed in.
namespace rondel::codegen {

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
  Value* depth;                 ///< extent of k
  unsigned unrolled_depth = 0;  ///< depth, where all of its steps are written one after another
  DType sum;                    ///< what products are summed in
  bool fused;
  bool checks_stop = false;    ///< each tile checks the stop flag
  bool transposed = false;     ///< columns are contiguous along k and transposed in registers
  unsigned lanes = 1;          ///< columns in a vector
  unsigned tile_rows = 1;      ///< rows of a full tile
  unsigned tile_vectors = 1;   ///< vectors of a full tile
  Value* continues = nullptr;  ///< i1: sums begin with what the result holds; null: with zeros
};

/// A tile of the result: where it begins, and which lanes exist (`mask` null: all).
struct Tile {
  Value *row, *column;
  unsigned rows, vectors;
  Value* mask = nullptr;
};

/// Writes the sums of a tile and stores them.
void emit_tile(FunctionBuilder&, const Product&, const Tile&);

/// Writes the product with its columns copied into panels that hold a block of k of some of them,
/// side by side: each is copied once for all rows. The result must be of the type of the sums.
void emit_in_panels(FunctionBuilder&, const Product&);

/// One step of k for one vector of columns that lie side by side; `mask`: which there are, null:
/// all.
Value* load_direct(FunctionBuilder&, const Product&, Value* column, Value* k, Value* mask);
/// As many steps of k as there are lanes, for one vector of columns that are contiguous along k:
/// element i is step k + i.
std::vector<Value*> load_transposed(FunctionBuilder&, const Product&, Value* column, Value* k);
/// One step of k for one vector of columns that lie apart.
Value* load_strided(FunctionBuilder&, const Product&, Value* column, Value* k);

/// All rows of the columns from `column` on: full tiles, then what is left.
void emit_rows(FunctionBuilder&, const Product&, Value* column, unsigned vectors, Value* mask);
/// Which lanes of the vector at `column` are columns of the result; null: of one lane.
Value* lane_mask(FunctionBuilder&, const Product&, Value* column);
/// The columns from `first` on, a vector at a time; of the last vector the lanes that there are.
void emit_last_columns(FunctionBuilder&, const Product&, Value* first);

/// Tile sizes: as many sums as registers hold beside the factors, so that additions overlap.
void choose_tile(FunctionBuilder&, Product&);

/// base + sum of index * stride, in elements of the buffer.
Value* element_at(FunctionBuilder&, const BoundBuffer&, Value* base,
                  std::initializer_list<std::pair<Value*, Value*>> terms);
/// for i = lo; i < hi; i += step. What is emitted next stands behind the loop.
void count_up(FunctionBuilder&, Value* lo, Value* hi, std::int64_t step,
              llvm::function_ref<void(Value*)> body);
/// `count` rounded down to a multiple of `step`.
Value* whole(FunctionBuilder&, Value* count, std::int64_t step);

}  // namespace rondel::codegen
