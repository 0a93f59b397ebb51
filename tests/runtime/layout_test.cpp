#include "runtime/layout.h"

#include "base/error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace rondel::runtime {
namespace {

Layout::Piece piece(Slot slot, std::size_t first, std::size_t last, std::int64_t bytes,
                    std::vector<std::size_t> symbols = {}) {
  return {slot, first, last, bytes, std::move(symbols)};
}

TEST(Layout, ValuesThatNeverLiveTogetherShareAPlace) {
  const Layout chain{{}, {piece(0, 0, 1, 256), piece(1, 1, 2, 256), piece(2, 2, 3, 256)}};
  const ArenaOffsets offsets = assign_offsets(chain, {}, 3);
  EXPECT_EQ(offsets.by_slot[0].offset, 0);
  EXPECT_EQ(offsets.by_slot[1].offset, 256);
  EXPECT_EQ(offsets.by_slot[2].offset, 0);
  EXPECT_EQ(offsets.total, 512);
}

TEST(Layout, SizesFollowExtents) {
  const Layout layout{{{0, 0}, {0, 1}}, {piece(1, 0, 1, 4, {0, 1}), piece(2, 1, 2, 8, {0})}};
  const std::vector<std::int64_t> small{2, 3}, large{1000, 64};
  EXPECT_EQ(assign_offsets(layout, small, 3).total, 128) << "each rounded up to 64 bytes";
  const ArenaOffsets offsets = assign_offsets(layout, large, 3);
  EXPECT_EQ(offsets.by_slot[1].bytes, 256000);
  EXPECT_EQ(offsets.by_slot[2].bytes, 8000);
  EXPECT_EQ(offsets.by_slot[2].offset, 256000);
}

TEST(Layout, BytesLieBehindEachValue) {
  const Layout pair{{}, {piece(0, 0, 2, 100), piece(1, 1, 2, 64)}};
  const ArenaOffsets offsets = assign_offsets(pair, {}, 2, 64);
  EXPECT_EQ(offsets.by_slot[0].bytes, 128) << "what the value may take";
  EXPECT_EQ(offsets.by_slot[1].offset, 192);
  EXPECT_EQ(offsets.total, 320);
}

TEST(Layout, AnEmptyValueHasAPlaceAndAnImpossibleOneHasNone) {
  const Layout layout{{{0, 0}}, {piece(1, 0, 1, 4, {0}), piece(2, 0, 1, 4, {0, 0})}};
  const std::vector<std::int64_t> empty{0}, huge{std::int64_t{1} << 40};
  EXPECT_EQ(assign_offsets(layout, empty, 3).by_slot[1].offset, 0);
  EXPECT_EQ(assign_offsets(layout, huge, 3).by_slot[1].offset, 0);
  EXPECT_EQ(assign_offsets(layout, huge, 3).by_slot[2].offset, -1);
}

TEST(Layout, AChainIsAssignedInLinearTime) {
  Layout chain;
  for (std::size_t k = 0; k < 1000; ++k)
    chain.pieces.push_back(piece(static_cast<Slot>(k), k, k + 1, 64));
  const ArenaOffsets offsets = assign_offsets(chain, {}, 1000);
  EXPECT_EQ(offsets.total, 128);
  EXPECT_LE(offsets.living.size(), 2U) << "each piece is compared with these only";
}

TEST(Layout, SlotsThatNobodyListedHaveNoPlace) {
  EXPECT_EQ(assign_offsets({}, {}, 2).by_slot[1].offset, -1);
}

std::string layout_fault(const Layout& layout, const ArenaOffsets& offsets) {
  try {
    verify_offsets(layout, {}, offsets);
  } catch (const Error& e) { return e.what(); }
  return "";
}

TEST(Layout, TheVerifierFindsPiecesThatOverlapWhileTheyLive) {
  const Layout chain{{}, {piece(0, 0, 1, 256), piece(1, 1, 2, 256), piece(2, 2, 3, 256)}};
  ArenaOffsets offsets = assign_offsets(chain, {}, 3);
  EXPECT_EQ(layout_fault(chain, offsets), "");
  offsets.by_slot[1].offset = 192;
  EXPECT_NE(layout_fault(chain, offsets).find("overlap in the arena"), std::string::npos);
  offsets.by_slot[1].offset = 320;
  EXPECT_NE(layout_fault(chain, offsets).find("ends at byte 576 of an arena of 512"),
            std::string::npos);
}

TEST(Layout, RandomPiecesNeverOverlapWhileTheyLive) {
  const std::uint32_t seed = std::random_device{}();
  std::mt19937 rng(seed);
  const auto below = [&](int n) {
    return static_cast<std::size_t>(rng() % static_cast<unsigned>(n));
  };
  for (int round = 0; round < 200; ++round) {
    Layout layout{{{0, 0}, {0, 1}, {0, 2}}, {}};
    const Slot count = static_cast<Slot>(1 + below(30));
    for (Slot s = 0; s < count; ++s) {
      const std::size_t first = below(20);
      layout.pieces.push_back(piece(s, first, first + below(10), 1 + static_cast<int>(below(300)),
                                    std::vector<std::size_t>(below(3), below(3))));
    }
    if (round % 2 == 0) std::ranges::sort(layout.pieces, {}, &Layout::Piece::first);
    const std::vector<std::int64_t> extents{static_cast<int>(below(20)), 1, 7};
    const ArenaOffsets offsets = assign_offsets(layout, extents, static_cast<std::size_t>(count));
    for (const auto& a : layout.pieces)
      for (const auto& b : layout.pieces) {
        if (a.slot == b.slot || a.last < b.first || b.last < a.first) continue;
        const auto &pa = offsets.by_slot[static_cast<std::size_t>(a.slot)],
                   &pb = offsets.by_slot[static_cast<std::size_t>(b.slot)];
        ASSERT_TRUE(pa.offset + pa.bytes <= pb.offset || pb.offset + pb.bytes <= pa.offset)
            << "slots " << a.slot << " and " << b.slot << ", seed " << seed;
      }
    for (const auto& p : offsets.by_slot) ASSERT_LE(p.offset + p.bytes, offsets.total);
  }
}

}  // namespace
}  // namespace rondel::runtime
