#include "runtime/layout.h"

#include "base/error.h"

#include <algorithm>

namespace rondel::runtime {
namespace {

constexpr std::int64_t alignment = 64;
/// Keeps offsets far from overflow. A larger block is refused when it is allocated.
constexpr std::int64_t most_bytes = std::int64_t{1} << 48;

/// The aligned size of a piece; -1 if it is more than `most_bytes`.
std::int64_t size_of(const Layout::Piece& piece, std::span<const std::int64_t> extents) {
  std::int64_t bytes = piece.bytes;
  for (const std::size_t s : piece.symbols)
    if (__builtin_mul_overflow(bytes, extents[s], &bytes)) return -1;
  if (bytes > most_bytes) return -1;
  return std::max((bytes + alignment - 1) / alignment * alignment, alignment);
}

}  // namespace

ArenaOffsets assign_offsets(const Layout& layout, std::span<const std::int64_t> extents,
                            std::size_t slot_count, std::size_t behind) {
  ArenaOffsets offsets;
  assign_offsets(layout, extents, slot_count, behind, offsets);
  return offsets;
}

void assign_offsets(const Layout& layout, std::span<const std::int64_t> extents,
                    std::size_t slot_count, std::size_t behind, ArenaOffsets& offsets) {
  using Assigned = ArenaOffsets::Assigned;
  offsets.by_slot.assign(slot_count, {});
  offsets.total = 0;
  auto& living = offsets.living;
  living.clear();
  const bool in_order = std::ranges::is_sorted(layout.pieces, {}, &Layout::Piece::first);
  for (const Layout::Piece& piece : layout.pieces) {
    const std::int64_t own = size_of(piece, extents);
    if (own < 0) continue;
    const std::int64_t bytes = own + static_cast<std::int64_t>(behind);
    if (in_order) std::erase_if(living, [&](const Assigned& p) { return p.last < piece.first; });
    Assigned here{piece.first, piece.last, 0, bytes};
    for (const Assigned& p : living)
      if (p.first <= here.last && here.first <= p.last && here.offset < p.offset + p.bytes &&
          p.offset < here.offset + bytes)
        here.offset = p.offset + p.bytes;
    if (here.offset > most_bytes) continue;
    living.insert(std::ranges::upper_bound(living, here.offset, {}, &Assigned::offset), here);
    offsets.by_slot[static_cast<std::size_t>(piece.slot)] = {here.offset, own};
    offsets.total = std::max(offsets.total, here.offset + bytes);
  }
}

void verify_offsets(const Layout& layout, std::span<const std::int64_t> extents,
                    const ArenaOffsets& offsets) {
  struct Placed {
    std::int64_t begin, end;
    const Layout::Piece* piece;
  };
  std::vector<Placed> placed;
  for (const Layout::Piece& piece : layout.pieces) {
    const std::int64_t begin = offsets.by_slot[static_cast<std::size_t>(piece.slot)].offset;
    std::int64_t bytes = piece.bytes;
    if (begin < 0) continue;
    for (const std::size_t s : piece.symbols) bytes *= extents[s];
    if (bytes == 0) continue;
    invariant(begin + bytes <= offsets.total, "slot {} ends at byte {} of an arena of {}",
              piece.slot, begin + bytes, offsets.total);
    placed.push_back({begin, begin + bytes, &piece});
  }
  std::ranges::sort(placed, {}, &Placed::begin);
  for (std::size_t x = 0; x < placed.size(); ++x)
    for (std::size_t y = x + 1; y < placed.size() && placed[y].begin < placed[x].end; ++y) {
      const Layout::Piece &a = *placed[x].piece, &b = *placed[y].piece;
      invariant(a.last < b.first || b.last < a.first,
                "slots {} and {} are alive at the same step and overlap in the arena", a.slot,
                b.slot);
    }
}

}  // namespace rondel::runtime
