#include "passes/expand_tiles.h"

#include "passes/pass_case.h"

namespace rondel::passes {
namespace {

const AnyPass pass = expand_tiles;

TEST(ExpandTiles, AxesOfOneElementAreExpanded) {
  expect_rewrite(pass,
                 R"g(graph "g" (%x: f32[A, 1, 5]) {
    %times = constant value=i64[3] {1, 4, 1}
    %y = tile(%x, %times)
    yield %y
  })g",
                 R"g(graph "g" (%x: f32[A, 1, 5]) {
    %times = constant value=i64[3] {1, 4, 1}
    %y = expand(%x, %times)
    yield %y
  })g");
}

TEST(ExpandTiles, OtherAxesAndRepeatsFromDataStay) {
  expect_untouched(pass, R"g(graph "g" (%x: f32[A, 1, 5], %times: i64[3]) {
    %twice = constant value=i64[3] {2, 4, 1}
    %y = tile(%x, %twice)
    %z = tile(%x, %times)
    yield %y, %z
  })g");
}

}  // namespace
}  // namespace rondel::passes
