#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rondel::runtime {

/// The index of a value in a frame. -1: none.
using Slot = std::int32_t;

/// The temporaries of a plan that can share one arena. Each has a lifetime, and a size that is a
/// product of extents. Some extents are known only at run time: they are read from the plan's
/// parameters and captures.
struct Layout {
  /// An extent that is known only at run time: an axis of a parameter or of a capture.
  struct Symbol {
    Slot slot;
    std::size_t axis;
  };
  struct Piece {
    Slot slot;
    std::size_t first, last;           ///< lifetime: the writing step, the last reading step
    std::int64_t bytes;                ///< bytes of one element times the known extents
    std::vector<std::size_t> symbols;  ///< indices of the other extents in `Layout::symbols`
  };
  std::vector<Symbol> symbols;
  std::vector<Piece> pieces;
};

/// The offsets of the pieces in the arena, for given extents.
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
  std::vector<Assigned> living;  ///< the pieces alive when the last one is written, by offset
  std::int64_t total = 0;
};

/// Assigns offsets by first fit, in the order of the pieces. If the pieces are sorted by `first`, a
/// piece costs time proportional to the number of pieces alive at that step. Pieces that are alive
/// at the same step do not overlap, and `behind` bytes lie behind each. Offsets are multiples of 64
/// bytes. A piece that is too large for any memory is not placed in the arena.
ArenaOffsets assign_offsets(const Layout&, std::span<const std::int64_t> extents,
                            std::size_t slot_count, std::size_t behind = 0);
/// The same, reusing the memory of an existing result.
void assign_offsets(const Layout&, std::span<const std::int64_t> extents, std::size_t slot_count,
                    std::size_t behind, ArenaOffsets&);
/// Throws Error(internal) unless each piece is within the arena and overlaps no other piece that is
/// alive at the same step. Shares no code with `assign_offsets`.
void verify_offsets(const Layout&, std::span<const std::int64_t> extents, const ArenaOffsets&);

}  // namespace rondel::runtime
