#include "passes/top_one.h"

#include "passes/pass_case.h"

#include <fmt/format.h>

namespace rondel::passes {
namespace {

const AnyPass pass = top_one;

TEST(TopOne, IsAnArgMaxAndItsElement) {
  expect_rewrite(pass,
                 R"g(graph "g" (%x: f32[A, B]) {
    %k = constant value=i64[1] {1}
    %best, %at = top_k(%x, %k)
    yield %best, %at
  })g",
                 R"g(graph "g" (%x: f32[A, B]) {
  %k: i64[1] = constant value=i64[1] {1}
  %at: i64[A, 1] = arg_max(%x) axis=-1
  %best: f32[A, 1] = gather_elements(%x, %at) axis=-1
  yield %best, %at
})g");
}

TEST(TopOne, MayBeReadForItsIndexAlone) {
  expect_rewrite(pass,
                 R"g(graph "g" (%x: i32[A, B]) {
    %k = constant value=i64[1] {1}
    %best, %at = top_k(%x, %k) axis=0
    yield %at
  })g",
                 R"g(graph "g" (%x: i32[A, B]) {
  %k: i64[1] = constant value=i64[1] {1}
  %at: i64[1, B] = arg_max(%x) axis=0
  %#0: i32[1, B] = gather_elements(%x, %at) axis=0
  yield %at
})g");
}

TEST(TopOne, NotTheLeastNorMoreNorWhatDataSay) {
  for (const char* node : {"top_k(%x, %one) largest=0", "top_k(%x, %two)", "top_k(%x, %k)"})
    expect_untouched(pass, fmt::format(R"g(graph "g" (%x: f32[A, B], %k: i64[1]) {{
    %one = constant value=i64[1] {{1}}
    %two = constant value=i64[1] {{2}}
    %best, %at = {}
    yield %best, %at
  }})g",
                                       node));
}

}  // namespace
}  // namespace rondel::passes
