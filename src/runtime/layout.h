#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rondel::runtime {

/// A place in a frame that holds one value. -1: none.
using Slot = std::int32_t;

/// What of a plan's temporaries can share one arena: the lifetime of each, and its size as an
/// product of extents, of which some are read from the values that the plan starts from.
struct Layout {
  /// An extent that is not known before a run: an axis of a parameter or of a capture.
  struct Symbol {
    Slot slot;
    std::size_t axis;
  };
  struct Piece {
    Slot slot;
    std::size_t first, last;           ///< steps: the one that makes it, the last that reads it
    std::int64_t bytes;                ///< of its element and its known extents, multiplied
    std::vector<std::size_t> symbols;  ///< its other extents
  };
  std::vector<Symbol> symbols;
  std::vector<Piece> pieces;
};

/// Offsets of the pieces for given extents.
struct Places {
  struct Place {
    std::int64_t offset = -1, bytes = 0;  ///< -1: not in the arena
  };
  std::vector<Place> by_slot;
  std::int64_t total = 0;
};

/// Places by first fit: no two pieces that live at the same step overlap. Multiples of 64 bytes. A
/// piece whose size no memory holds has no place.
Places place(const Layout&, std::span<const std::int64_t> extents, std::size_t slot_count);

}  // namespace rondel::runtime
