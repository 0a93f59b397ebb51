// Which nodes can fail at run time, as far as the types and constants of their inputs tell.
#include "ir/infer.h"
#include "ir/text.h"

#include <gtest/gtest.h>

namespace rondel::ir {
namespace {

struct Case {
  const char* node;
  bool can_fail;
};

TEST(CanFail, FollowsFromTypesAndConstants) {
  const Case cases[] = {
      {"div(%f, %f)", false},
      {"div(%i, %i)", true},
      {"div(%i, %three)", false},
      {"div(%i, %zero)", true},
      {"mod(%f, %f) fmod=1", false},
      {"mod(%i, %i)", true},
      {"mod(%i, %three)", false},
      {"gather(%f, %i)", true},
      {"gather(%f, %three)", false},
      {"gather(%g, %three)", true},
      {"gather(%g, %three) axis=1", true},
      {"gather_elements(%i, %i)", true},
      {"gather_elements(%m, %table)", false},
      {"gather_elements(%g, %table) axis=1", true},  // axis 0 may be shorter than the table's
      {"reshape(%f, %shape)", false},
      {"reshape(%g, %shape)", true},
      {"reshape(%f, %i)", true},
      {"add(%i, %i)", false},
      {"sqrt(%f)", false},
      {"transpose(%g)", false},
  };
  for (const Case& c : cases) {
    const Graph g = parse(std::string(
                              R"g(graph "g" (%f: f32[4], %g: f32[?, 2], %m: f32[2, 2], %i: i64[2]) {
      %three = constant value=i64[] {3}
      %zero = constant value=i64[] {0}
      %shape = constant value=i64[2] {2, 2}
      %table = constant value=i64[2, 2] {0, 1, 1, 0}
      %y = )g") + c.node + "\n yield %y }");
    EXPECT_EQ(can_fail(g, g.root().nodes.back()), c.can_fail) << c.node;
  }
}

TEST(CanFail, NodesWithRegionsCan) {
  const Graph g = parse(R"g(graph "g" (%c: bool[], %x: f32[]) {
    %y = if(%c) { then { yield %x } else { yield %x } }
    yield %y })g");
  EXPECT_TRUE(can_fail(g, g.root().nodes.back()));
}

}  // namespace
}  // namespace rondel::ir
