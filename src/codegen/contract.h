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
  Value* depth;  ///< extent of k
  DType sum;     ///< what products are summed in
  bool fused;
  bool checks_stop = false;   ///< each tile checks the stop flag
  bool transposed = false;    ///< columns are contiguous along k and transposed in registers
  unsigned lanes = 1;         ///< columns in a vector
  unsigned tile_rows = 1;     ///< rows of a full tile
  unsigned tile_vectors = 1;  ///< vectors of a full tile
};

/// A tile of the result: where it begins, and which lanes exist (`mask` null: all).
struct Tile {
  Value *row, *column;
  unsigned rows, vectors;
  Value* mask = nullptr;
};

/// Writes the sums of a tile and stores them.
void emit_tile(FunctionBuilder&, const Product&, const Tile&);

/// `count` rounded down to a multiple of `step`.
Value* whole(FunctionBuilder&, Value* count, std::int64_t step);

}  // namespace rondel::codegen
