#include "session/deepx/graph_key.h"

#include "ir/text.h"

#include <gtest/gtest.h>

namespace rondel::session {
namespace {

CacheKey key(std::string_view text) {
  const ir::Graph g = ir::parse(text);
  return graph_key(g, std::vector<ir::ValueId>(g.root().results));
}

TEST(GraphKey, NamesDoNotCount) {
  EXPECT_EQ(key(R"(graph "g" (%x: f32[2]) {
  %y: f32[2] = neg(%x)  // from "one"
  yield %y
})"),
            key(R"(graph "h" (%a: f32[2]) {
  %b: f32[2] = neg(%a)  // from "other"
  yield %b
})"));
}

TEST(GraphKey, WhichOutputIsLeftOutCounts) {
  EXPECT_NE(key(R"(graph "g" (%x: f32[2, 3], %s: f32[3]) {
  %y: f32[2, 3], %m: f32[2, 1], _ = layer_normalization(%x, %s)
  yield %y, %m
})"),
            key(R"(graph "g" (%x: f32[2, 3], %s: f32[3]) {
  %y: f32[2, 3], _, %d: f32[2, 1] = layer_normalization(%x, %s)
  yield %y, %d
})"));
}

TEST(GraphKey, WhatIsReadCounts) {
  EXPECT_NE(key(R"(graph "g" (%x: f32[2], %y: f32[2]) {
  %z: f32[2] = sub(%x, %y)
  yield %z
})"),
            key(R"(graph "g" (%x: f32[2], %y: f32[2]) {
  %z: f32[2] = sub(%y, %x)
  yield %z
})"));
}

}  // namespace
}  // namespace rondel::session
