// Dimensions and types inferred while a network is being built and changed.
#include "network/net.h"

#include <gtest/gtest.h>

namespace rondel::network {
namespace {

std::vector<std::int64_t> extents(const ITensor& t) {
  const Dims d = t.getDimensions();
  return {d.d, d.d + d.nbDims};
}
using Extents = std::vector<std::int64_t>;

TEST(NetworkInference, what_follows_from_a_changed_layer_is_worked_out_anew) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, Dims2{2, 6});
  IShuffleLayer* rows = n.addShuffle(x);
  rows->setReshapeDimensions(Dims2{3, 4});
  ITensor& y = n.add(*rows->getOutput(0), *rows->getOutput(0));
  IShuffleLayer* beside = n.addShuffle(x);
  EXPECT_EQ(extents(y), (Extents{3, 4}));
  EXPECT_EQ(extents(*beside->getOutput(0)), (Extents{2, 6}));
  rows->setReshapeDimensions(Dims2{4, 3});
  EXPECT_EQ(extents(y), (Extents{4, 3}));
  EXPECT_EQ(extents(*beside->getOutput(0)), (Extents{2, 6}));
  beside->setInput(0, y);
  EXPECT_EQ(extents(*beside->getOutput(0)), (Extents{4, 3}));
  rows->setReshapeDimensions(Dims2{12, 1});
  EXPECT_EQ(extents(*beside->getOutput(0)), (Extents{12, 1}));
}

TEST(NetworkInference, a_changed_input_changes_what_follows) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, Dims2{2, 6});
  ITensor& y = n.add(x, x);
  EXPECT_EQ(extents(y), (Extents{2, 6}));
  x.setDimensions(Dims3{1, 2, 3});
  x.setType(DataType::kINT32);
  EXPECT_EQ(extents(y), (Extents{1, 2, 3}));
  EXPECT_EQ(y.getType(), DataType::kINT32);
}

TEST(NetworkInference, a_trip_limit_says_how_long_a_concatenation_is) {
  Net n;
  ILoop* loop = n.addLoop();
  ITensor& x = n.counter(loop, n.f32(0), n.f32(1));
  ILoopOutputLayer* rows = loop->addLoopOutput(x, LoopOutput::kCONCATENATE);
  ITensor& y = n.add(*rows->getOutput(0), *rows->getOutput(0));
  EXPECT_EQ(extents(y), Extents{-1});
  ITripLimitLayer* limit = loop->addTripLimit(n.i64(3), TripLimit::kCOUNT);
  EXPECT_EQ(extents(y), Extents{3});
  limit->setInput(0, n.i64(5));
  EXPECT_EQ(extents(y), Extents{5});
  rows->setInput(1, n.i64(7));
  EXPECT_EQ(extents(y), Extents{7});
}

TEST(NetworkInference, the_type_asked_for_is_that_of_an_output) {
  Net n;
  ITensor& x = n.in("x", DataType::kFLOAT, Dims2{2, 6});
  IIdentityLayer* copy = n.addIdentity(x);
  ITensor& y = n.add(*copy->getOutput(0), *copy->getOutput(0));
  EXPECT_EQ(y.getType(), DataType::kFLOAT);
  copy->setOutputType(0, DataType::kHALF);
  EXPECT_EQ(y.getType(), DataType::kHALF);
  copy->resetOutputType(0);
  EXPECT_EQ(y.getType(), DataType::kFLOAT);
}

}  // namespace
}  // namespace rondel::network
