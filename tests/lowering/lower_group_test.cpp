// Which classes of shapes tell enough to write the program of a group.
#include "ir/text.h"
#include "lowering/extract.h"
#include "lowering/lower.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace rondel::lowering {
namespace {

/// Whether each step of the graph has a program for the class that the declared types describe.
bool steps_have_programs(const std::string& text) {
  const ir::Graph g = ir::parse(text);
  const ir::TypeEnvironment k = ir::type_environment(g);
  const auto groups = group_nodes(g, ir::RegionId::root, k.types, Sharing::steps);
  return std::ranges::all_of(groups, [&](const Group& group) {
    std::vector<ir::Type> declared;
    for (const ir::ValueId v : group.inputs) declared.push_back(k.types[ir::index(v)]);
    return can_lower(extract(g, group), group.by_rows, class_of(declared));
  });
}

TEST(LowerGroup, ReductionsShareAnIndexSpaceWithOtherNodes) {
  EXPECT_TRUE(
      steps_have_programs("graph \"g\" (%x: f32[A, B], %u: f32[A]) {\n"
                          "%last: i64[1] = constant value=i64[1] {1}\n"
                          "%s = mul(%u, %u)\n%t = reduce_sum(%x, %last) keepdims=0\n"
                          "%y = add(%t, %s)\nyield %y }"));
}

TEST(LowerGroup, RowsOfOpenExtents) {
  EXPECT_TRUE(
      steps_have_programs("graph \"g\" (%x: f32[A, B]) {\n"
                          "%last: i64[1] = constant value=i64[1] {1}\n"
                          "%m = reduce_max(%x, %last)\n%y = sub(%x, %m)\nyield %y }"));
}

/// Whether the axis goes is known for exact shapes only.
TEST(LowerGroup, ARankThatDependsOnAnExtentIsNotTold) {
  EXPECT_FALSE(steps_have_programs("graph \"g\" (%x: f32[A, B]) {\n%y = squeeze(%x)\nyield %y }"));
}

}  // namespace
}  // namespace rondel::lowering
