// Tiles of rows, transposed in registers.
#include "codegen/function_builder.h"

#include <llvm/Analysis/VectorUtils.h>

#include <bit>

namespace rondel::codegen {
namespace {

using Vectors = std::vector<Value*>;
using Mask = llvm::SmallVector<int, 32>;

/// Processors shuffle within 16 bytes, or these as a whole.
constexpr unsigned chunk_bytes = 16;

/// Elements of the vectors a and b, one after the other, in groups of `group`: the groups with even
/// numbers, or those with odd ones.
Value* every_other(FunctionBuilder& fb, Value* a, Value* b, unsigned group, bool odd) {
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(a->getType())->getNumElements();
  Mask mask;
  for (unsigned from = odd ? group : 0; from < 2 * lanes; from += 2 * group)
    for (unsigned k = 0; k < group; ++k) mask.push_back(static_cast<int>(from + k));
  return fb.build.CreateShuffleVector(a, b, mask);
}

/// Within each chunk of the vectors a and b: the elements of its lower half, or of its upper half,
/// from a and b in turn.
Value* interleaved(FunctionBuilder& fb, Value* a, Value* b, unsigned chunk, bool upper) {
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(a->getType())->getNumElements();
  Mask mask;
  for (unsigned from = upper ? chunk / 2 : 0; from < lanes; from += chunk)
    for (unsigned k = from; k < from + chunk / 2; ++k)
      for (const unsigned vector : {0U, lanes}) mask.push_back(static_cast<int>(vector + k));
  return fb.build.CreateShuffleVector(a, b, mask);
}

/// The chunks of the vectors a and b in turn: those of the lower halves, or of the upper ones.
Value* in_turn(FunctionBuilder& fb, Value* a, Value* b, unsigned chunk, bool upper) {
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(a->getType())->getNumElements();
  Mask mask;
  for (unsigned from = upper ? lanes / 2 : 0; from < (upper ? lanes : lanes / 2); from += chunk)
    for (const unsigned vector : {0U, lanes})
      for (unsigned k = 0; k < chunk; ++k) mask.push_back(static_cast<int>(vector + from + k));
  return fb.build.CreateShuffleVector(a, b, mask);
}

/// The chunks of n vectors as a matrix, row-major: its n columns.
Vectors columns_of_chunks(FunctionBuilder& fb, const Vectors& vectors, unsigned chunk) {
  if (vectors.size() == 1) return vectors;
  Vectors halves[2], columns;
  for (std::size_t i = 0; i < vectors.size(); i += 2)
    for (const bool odd : {false, true})
      halves[odd ? 1 : 0].push_back(every_other(fb, vectors[i], vectors[i + 1], chunk, odd));
  const Vectors even = columns_of_chunks(fb, halves[0], chunk);
  const Vectors odd = columns_of_chunks(fb, halves[1], chunk);
  for (std::size_t i = 0; i < even.size(); ++i) {
    columns.push_back(even[i]);
    columns.push_back(odd[i]);
  }
  return columns;
}

/// The inverse.
Vectors chunks_of_columns(FunctionBuilder& fb, const Vectors& columns, unsigned chunk) {
  if (columns.size() == 1) return columns;
  Vectors halves[2], vectors;
  for (std::size_t i = 0; i < columns.size(); ++i) halves[i % 2].push_back(columns[i]);
  const Vectors even = chunks_of_columns(fb, halves[0], chunk);
  const Vectors odd = chunks_of_columns(fb, halves[1], chunk);
  for (std::size_t i = 0; i < even.size(); ++i)
    for (const bool upper : {false, true})
      vectors.push_back(in_turn(fb, even[i], odd[i], chunk, upper));
  return vectors;
}

/// n vectors whose chunks have n elements: in each chunk the matrix of the vectors' elements is
/// transposed, by as many perfect shuffles as n has bits.
Vectors transposed_in_chunks(FunctionBuilder& fb, Vectors vectors) {
  const std::size_t n = vectors.size();
  for (std::size_t shuffles = 1; shuffles < n; shuffles *= 2) {
    Vectors next;
    for (std::size_t i = 0; i < n / 2; ++i)
      for (const bool upper : {false, true})
        next.push_back(
            interleaved(fb, vectors[i], vectors[i + n / 2], static_cast<unsigned>(n), upper));
    vectors = std::move(next);
  }
  return vectors;
}

/// `count` elements of a vector.
Value* part_of(FunctionBuilder& fb, Value* vector, unsigned first, unsigned count) {
  if (llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements() == count)
    return vector;
  Mask mask;
  for (unsigned k = first; k < first + count; ++k) mask.push_back(static_cast<int>(k));
  return fb.build.CreateShuffleVector(vector, mask);
}

/// Reads or writes the rows of one tile.
class TileAccess {
 public:
  /// `first`: an access of the first column.
  TileAccess(FunctionBuilder& fb, const Inst& first, std::int64_t columns)
      : fb_(fb), buffer_(&fb.bound(first.id)), accessed_(static_cast<std::size_t>(columns), true) {
    const auto indices = fb.program.operands(first).first(index_count(first));
    at_ = address(fb, *buffer_, indices);
    for (std::size_t axis = 0; axis + 1 < indices.size(); ++axis)
      if (fb.decisions.lanes.variation[static_cast<std::size_t>(indices[axis])] == Variation::steps)
        stride_ = buffer_->strides[axis];
    const DType t = buffer_->buffer->dtype;
    element_ = memory_type(fb.llvm, t);
    rows_ = static_cast<unsigned>(most_columns(fb.host, t, fb.lanes->width));
    chunk_ = std::min(rows_, chunk_bytes / static_cast<unsigned>(byte_size(t)));
    width_ = std::max(std::bit_ceil(static_cast<unsigned>(columns)), chunk_);
  }
  TileAccess(FunctionBuilder& fb, const RowTile& tile)
      : TileAccess(fb, fb.program.code[access_of_first(tile).at], tile.columns) {}

  /// Only the columns up to this one are accessed.
  void access_up_to(Value* last) {
    used_ = fb_.build.CreateICmpSLE(numbers_up_to(fb_, width_),
                                    fb_.build.CreateVectorSplat(width_, last));
  }

  /// The columns, each with the elements of all lanes.
  Vectors load() {
    std::vector<Vectors> parts(width_);  // by column
    for (unsigned row = 0; row < fb_.lane_count(); row += rows_) {
      const Vectors some = columns_from(row);
      for (std::size_t c = 0; c < parts.size(); ++c) parts[c].push_back(some[c]);
    }
    Vectors all;
    for (const Vectors& column : parts) all.push_back(llvm::concatenateVectors(fb_.build, column));
    return all;
  }

  /// `columns`: null where nothing is written.
  void store(Vectors columns) {
    for (std::size_t c = 0; c < accessed_.size(); ++c) accessed_[c] = columns[c] != nullptr;
    columns.resize(width_, nullptr);
    auto* type = llvm::FixedVectorType::get(element_, fb_.lane_count());
    for (Value*& column : columns)
      if (column == nullptr) column = llvm::PoisonValue::get(type);
    for (unsigned row = 0; row < fb_.lane_count(); row += rows_) {
      Vectors some;
      for (Value* column : columns) some.push_back(part_of(fb_, column, row, rows_));
      store_from(row, some);
    }
  }

 private:
  static const RowAccess& access_of_first(const RowTile& tile) {
    return *std::ranges::find(tile.accesses, tile.first, &RowAccess::column);
  }

  /// The columns of as many rows as there are elements in a vector, from lane `first` on.
  Vectors columns_from(unsigned first) {
    std::vector<Vectors> in_chunks;  // by row within the chunk; its vectors by chunk of columns
    for (unsigned i = 0; i < chunk_; ++i) {
      Vectors vectors;
      for (unsigned row = i; row < rows_;) {
        Vectors pieces;
        for (; pieces.size() < rows_ / width_; row += chunk_) pieces.push_back(piece(first + row));
        vectors.push_back(llvm::concatenateVectors(fb_.build, pieces));
      }
      in_chunks.push_back(columns_of_chunks(fb_, vectors, chunk_));
    }
    Vectors columns;
    for (unsigned c = 0; c < width_ / chunk_; ++c) {
      Vectors rows;
      for (const Vectors& chunks : in_chunks) rows.push_back(chunks[c]);
      for (Value* column : transposed_in_chunks(fb_, rows)) columns.push_back(column);
    }
    return columns;
  }

  /// Writes them.
  void store_from(unsigned first, const Vectors& columns) {
    std::vector<Vectors> in_chunks(chunk_);
    for (unsigned c = 0; c < width_; c += chunk_) {
      const Vectors some = transposed_in_chunks(
          fb_, Vectors(columns.begin() + c, columns.begin() + c + chunk_));
      for (unsigned i = 0; i < chunk_; ++i) in_chunks[i].push_back(some[i]);
    }
    for (unsigned i = 0; i < chunk_; ++i) {
      unsigned row = first + i;
      for (Value* vector : chunks_of_columns(fb_, in_chunks[i], chunk_))
        for (unsigned at = 0; at < rows_; at += width_, row += chunk_)
          store_piece(row, part_of(fb_, vector, at, width_));
    }
  }

  /// The tile's part of the row of a lane. A lane that is no trip reads the row of the first lane.
  Value* piece(unsigned lane) {
    llvm::IRBuilder<>& build = fb_.build;
    Value* offset = build.CreateNSWMul(stride_, fb_.i64(lane));
    if (fb_.mask)
      offset = build.CreateSelect(build.CreateExtractElement(fb_.mask, lane), offset, fb_.i64(0));
    Value* at = build.CreateInBoundsGEP(element_, at_, offset);
    auto* type = llvm::FixedVectorType::get(element_, width_);
    llvm::Instruction* loaded = nullptr;
    if (is_whole()) loaded = build.CreateAlignedLoad(type, at, alignment());
    else
      loaded = build.CreateMaskedLoad(type, at, alignment(), accessed(),
                                      llvm::Constant::getNullValue(type));
    annotate(fb_, loaded, *buffer_);
    return loaded;
  }

  void store_piece(unsigned lane, Value* piece) {
    llvm::IRBuilder<>& build = fb_.build;
    // A lane that is no trip has an address beyond the buffer, which is not used.
    Value* offset = build.CreateMul(stride_, fb_.i64(lane));
    Value* at = fb_.mask ? build.CreateGEP(element_, at_, offset)
                         : build.CreateInBoundsGEP(element_, at_, offset);
    llvm::Instruction* stored = nullptr;
    if (is_whole() && !fb_.mask) {
      stored = build.CreateAlignedStore(piece, at, alignment());
    } else {
      Value* mask = accessed();
      if (fb_.mask)
        mask = build.CreateAnd(
            mask, build.CreateVectorSplat(width_, build.CreateExtractElement(fb_.mask, lane)));
      stored = build.CreateMaskedStore(piece, at, alignment(), mask);
    }
    annotate(fb_, stored, *buffer_);
  }

  llvm::Align alignment() const { return llvm::Align(byte_size(buffer_->buffer->dtype)); }
  bool is_whole() const {
    return used_ == nullptr && accessed_.size() == width_ &&
           std::ranges::count(accessed_, true) == width_;
  }
  Value* accessed() const {
    if (used_ != nullptr) return used_;
    llvm::SmallVector<llvm::Constant*, 16> used;
    for (unsigned c = 0; c < width_; ++c)
      used.push_back(fb_.build.getInt1(c < accessed_.size() && accessed_[c]));
    return llvm::ConstantVector::get(used);
  }

  FunctionBuilder& fb_;
  const BoundBuffer* buffer_;
  Value* at_ = nullptr;      ///< address of the first column in the row of lane 0
  Value* stride_ = nullptr;  ///< from row to row, in elements
  llvm::Type* element_ = nullptr;
  std::vector<bool> accessed_;  ///< by column; in a load also those between
  Value* used_ = nullptr;       ///< which columns are accessed, if only the run knows
  unsigned width_ = 0;          ///< columns of a tile; a power of two, at least a chunk
  unsigned rows_ = 0;           ///< of a tile
  unsigned chunk_ = 0;          ///< elements of a chunk
};

/// One turn of a column loop: its next trips, each for all lanes.
class ColumnTurn {
 public:
  /// `last`: the loop's last trip; null: there are as many trips as columns.
  ColumnTurn(FunctionBuilder& fb, std::size_t at, const ColumnLoop& loop, Value* last)
      : fb_(fb), at_(at), loop_(loop), first_(fb.reg(index())), last_(last) {}

  void emit() {
    for (std::int64_t column = 0; column < loop_.columns; ++column) {
      // Beyond the last trip its column is computed again, and not stored.
      Value* trip = fb_.build.CreateNSWAdd(first_, fb_.i64(column));
      if (last_ != nullptr)
        trip = fb_.build.CreateBinaryIntrinsic(llvm::Intrinsic::smin, trip, last_);
      fb_.regs[static_cast<std::size_t>(index())] = trip;
      emit_trip(static_cast<std::size_t>(column));
    }
    for (auto& [at, tile] : stored_) tile.access.store(std::move(tile.columns));
  }

 private:
  struct Tile {
    TileAccess access;
    Vectors columns;
  };

  Reg index() const { return fb_.program.results(fb_.program.code[at_])[0]; }

  void emit_trip(std::size_t column) {
    const auto end = static_cast<std::size_t>(fb_.program.code[at_].jump);
    for (std::size_t at = at_ + 1; at < end; ++at) {
      const Inst& inst = fb_.program.code[at];
      if (loop_.loaded.contains(at)) load(at, inst, column);
      else if (loop_.stored.contains(at)) store(at, inst, column);
      else emit_instruction(fb_, inst);
    }
  }
  void load(std::size_t at, const Inst& inst, std::size_t column) {
    if (column == 0) loaded_[at] = tile(inst).load();
    fb_.define(inst, 0, loaded_[at][column]);
  }
  void store(std::size_t at, const Inst& inst, std::size_t column) {
    if (column == 0) stored_.emplace(at, Tile{tile(inst), {}});
    stored_.at(at).columns.push_back(all_lanes(fb_, fb_.program.operands(inst).back()));
  }
  TileAccess tile(const Inst& first) const {
    TileAccess access(fb_, first, loop_.columns);
    if (last_ != nullptr) access.access_up_to(fb_.build.CreateSub(last_, first_));
    return access;
  }

  FunctionBuilder& fb_;
  const std::size_t at_;
  const ColumnLoop& loop_;
  Value* const first_;
  Value* const last_;
  std::map<std::size_t, Vectors> loaded_;  ///< by the index of the instruction
  std::map<std::size_t, Tile> stored_;
};

}  // namespace

void emit_column_loop(FunctionBuilder& fb, std::size_t at, const ColumnLoop& loop) {
  const Inst& begin = fb.program.code[at];
  const auto turns = [&](Value* lo, Value* hi, Value* last) {
    if (lo == hi) return;
    begin_for(fb, begin, lo, hi, loop.columns);
    ColumnTurn(fb, at, loop, last).emit();
    end_for(fb, fb.program.code[static_cast<std::size_t>(begin.jump)]);
  };
  const auto [lo, hi] = fb.trips(begin);
  Value* middle = end_of_whole(fb, lo, hi, loop.columns);
  turns(lo, middle, nullptr);
  turns(middle, hi, fb.build.CreateSub(hi, fb.i64(1)));
}

void load_tile(FunctionBuilder& fb, const RowTile& tile) {
  const Vectors columns = TileAccess(fb, tile).load();
  for (const RowAccess& load : tile.accesses)
    fb.define(fb.program.code[load.at], 0,
              columns[static_cast<std::size_t>(load.column - tile.first)]);
}

void store_tile(FunctionBuilder& fb, const RowTile& tile) {
  Vectors columns(static_cast<std::size_t>(tile.columns));
  for (const RowAccess& store : tile.accesses)  // of two stores to one place, the last one counts
    columns[static_cast<std::size_t>(store.column - tile.first)] = all_lanes(
        fb, fb.program.operands(fb.program.code[store.at]).back());
  TileAccess(fb, tile).store(std::move(columns));
}

}  // namespace rondel::codegen
