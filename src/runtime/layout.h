#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rondel::runtime {

/// The number of a value in a frame. -1: none.
using Slot = std::int32_t;

/// The temporaries of a plan that can share one arena: the lifetime of each, and its size as a
/// product of extents, some of which are read from the plan's parameters and captures.
struct Layout {
  /// An extent that is not known before a run: an axis of a parameter or of a capture.
  struct Symbol {
    Slot slot;
    std::size_t axis;
  };
  struct Piece {
    Slot slot;
    std::size_t first, last;           ///< steps: the one that makes it, the last one that reads it
    std::int64_t bytes;                ///< of its element and its known extents, multiplied
    std::vector<std::size_t> symbols;  ///< its other extents
  };
  std::vector<Symbol> symbols;
  std::vector<Piece> pieces;
};

/// Where the pieces are in the arena, for given extents.
struct ArenaOffsets {
  struct Range {
    std::int64_t offset = -1, bytes = 0;  ///< -1: not in the arena
  };
  /// A piece that has been assigned its range.
  struct Assigned {
    std::size_t first, last;
    std::int64_t offset, bytes;
  };
  std::vector<Range> by_slot;
  std::vector<Assigned> living;  ///< when the last piece is made; by offset
  std::int64_t total = 0;
};

/// Assigns offsets by first fit, in the order of the pieces; where that is the order in which they
/// are made, the time for a piece is the number of those that live then. No two pieces that live at
/// the same step overlap. Offsets are multiples of 64 bytes. A piece that is too large for any
/// memory is not in the arena.
ArenaOffsets assign_offsets(const Layout&, std::span<const std::int64_t> extents,
                            std::size_t slot_count);
/// The same in memory that is there already.
void assign_offsets(const Layout&, std::span<const std::int64_t> extents, std::size_t slot_count,
                    ArenaOffsets&);

}  // namespace rondel::runtime
