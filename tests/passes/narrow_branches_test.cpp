#include "passes/narrow_branches.h"

#include "passes/pass_case.h"

namespace rondel::passes {
namespace {

const AnyPass pass = narrow_branches;

TEST(NarrowBranches, BranchesGiveScalars) {
  expect_rewrite(pass,
                 R"g(graph "g" (%p: bool[], %q: bool[1]) {
    %no = constant value=bool[] {false}
    %both = if(%p) {
      then { yield %q }
      else { yield %no }
    }
    %c = one_element(%both) what="the condition"
    %r = not(%c)
    yield %r
  })g",
                 R"g(graph "g" (%p: bool[], %q: bool[1]) {
    %no = constant value=bool[] {false}
    %both = if(%p) {
      then {
        %#0 = one_element(%q) what="the condition"
        yield %#0
      }
      else { yield %no }
    }
    %r = not(%both)
    yield %r
  })g");
}

/// An output with other readers, and one that a branch gives with several elements.
TEST(NarrowBranches, OtherOutputsStay) {
  const auto given = [](const std::string& then, const std::string& results) {
    return R"g(graph "g" (%p: bool[], %q: bool[1], %w: bool[2]) {
      %no = constant value=bool[] {false}
      %both = if(%p) {
        then { yield )g" +
           then + R"g( }
        else { yield %no }
      }
      %c = one_element(%both)
      yield )g" +
           results + R"g(
    })g";
  };
  expect_untouched(pass, given("%q", "%c, %both"));
  expect_untouched(pass, given("%w", "%c"));
}

}  // namespace
}  // namespace rondel::passes
