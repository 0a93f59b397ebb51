// Nodes whose rules do not hold, in branches and loops that a run may not reach.
#include "base/error.h"
#include "ir/cursor.h"
#include "ir/text.h"
#include "passes/pipeline.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rondel::passes {
namespace {

/// A graph whose inputs %x, %y and %z of such types only a branch reads.
ir::Graph graph_with(const std::string& branch, const std::vector<std::string>& types) {
  return ir::parse(fmt::format(R"g(graph "g" (%c: bool[], %x: {}, %y: {}, %z: {}) {{
    %r = if(%c) {{
      then {{ {} yield %t }}
      else {{ %e = neg(%x) yield %e }} }}
    yield %r
  }})g",
                               types[0], types[1], types[2], branch));
}

struct Broken {
  const char *name, *branch;
  std::vector<std::string> general;   ///< types for which the nodes' rules hold, as far as is known
  std::vector<std::string> breaking;  ///< types for which one does not
};

ir::Graph broken(const Broken& p) {
  ir::Graph g = graph_with(p.branch, p.general);
  for (std::size_t k = 0; k < 3; ++k)
    g.value(g.root().params[1 + k]).type = ir::Cursor(p.breaking[k]).type();
  g.may_hold_broken_nodes = true;
  return g;
}

void expect_all_passes(ir::Graph& g) {
  run_pipelines(g, {}, {.verify = true});
  run(specialize(), g, {}, {.verify = true});
  EXPECT_EQ(g.node(g.value(g.root().results[0]).producer).op->name, "if") << to_text(g);
}

class BrokenNodes : public testing::TestWithParam<Broken> {};
class NodesThatDoNotGoTogether : public testing::TestWithParam<Broken> {};

TEST_P(BrokenNodes, StayThroughAllPasses) {
  ir::Graph g = broken(GetParam());
  ir::TypeEnvironment strict = ir::strict_type_environment(g);
  ASSERT_THROW(ir::infer_region(g, ir::RegionId::root, strict), Error);
  expect_all_passes(g);
  strict = ir::strict_type_environment(g);
  EXPECT_THROW(ir::infer_region(g, ir::RegionId::root, strict), Error) << to_text(g);
}

TEST_P(NodesThatDoNotGoTogether, StayThroughAllPasses) {
  ir::Graph g = broken(GetParam());
  ir::TypeEnvironment strict = ir::strict_type_environment(g);
  ASSERT_NO_THROW(ir::infer_region(g, ir::RegionId::root, strict));
  expect_all_passes(g);
}

const Broken all[] = {
    {"AProductAndASum",
     "%p = mul(%x, %y) %t = add(%p, %z)",
     {"f32[A, B]", "f32[A, B]", "f32[C]"},
     {"f32[2, 3]", "f32[2, 3]", "f32[2]"}},
    {"AProductThatIsAdded",
     "%p = mul(%x, %y) %t = sub(%z, %p)",
     {"f32[A]", "f32[B]", "f32[C]"},
     {"f32[2]", "f32[3]", "f32[2]"}},
    {"AProductOfAColumnAndARow",
     "%t = mat_mul(%x, %y)",
     {"f32[A, B, 1]", "f32[C, 1, D]", "f32[]"},
     {"f32[2, 5, 1]", "f32[3, 1, 4]", "f32[]"}},
    {"TheGreatestOfNoElements",
     "%k = constant value=i64[1] {1} %t, %at = top_k(%x, %k)",
     {"f32[A]", "f32[]", "f32[]"},
     {"f32[0]", "f32[]", "f32[]"}},
    {"AComposite",
     "%t = gemm(%x, %y, %z)",
     {"f32[A, B]", "f32[C, D]", "f32[D]"},
     {"f32[2, 3]", "f32[4, 5]", "f32[5]"}},
    {"AScan",
     R"(%t, %n = loop scans=(%x, %y) { body(%i, %go, %a, %b) { %s = add(%a, %b) yield go=%go items=(%s) } })",
     {"f32[A, B]", "f32[C, D]", "f32[]"},
     {"f32[2, 3]", "f32[4, 5]", "f32[]"}},
    {"AProductOfAllThatIsScanned",
     R"(%t, %n = loop scans=(%x) { body(%i, %go, %a) { %p = mat_mul(%a, %y) yield go=%go items=(%p) } })",
     {"f32[A, B]", "f32[C, D]", "f32[]"},
     {"f32[2, 3]", "f32[4, 5]", "f32[]"}},
    {"AStateThatIsTransposed",
     R"(%k = constant value=i64[] {3} %t, %n = loop trips=%k states=(%x) { body(%i, %go, %s) {
          %a = transpose(%s) perm=[1, 0] %p = mat_mul(%a, %y) %u = transpose(%p) perm=[1, 0] yield go=%go states=(%u) } })",
     {"f32[A, B]", "f32[C, D]", "f32[]"},
     {"f32[2, 3]", "f32[4, 5]", "f32[]"}},
    {"APadOfAPad",
     "%k = constant value=i64[2] {1, 2} %a = constant value=i64[1] {1} %p = pad(%x, %k, _, %a) %t "
     "= pad(%p, %k, _, %a)",
     {"f32[A, B]", "f32[]", "f32[]"},
     {"f32[5]", "f32[]", "f32[]"}},
    {"AnInvariantSum",
     R"(%k = constant value=i64[] {3} %t, %n = loop trips=%k states=(%z) { body(%i, %go, %s) {
          %a = add(%x, %y) %u = add(%a, %s) yield go=%go states=(%u) } })",
     {"f32[A, B]", "f32[C, B]", "f32[]"},
     {"f32[2, 3]", "f32[4, 3]", "f32[]"}},
    {"AListThatALoopMakes",
     R"(%k = constant value=i64[] {3} %e = sequence_empty() %l, %n = loop trips=%k states=(%e) { body(%i, %go, %s) {
          %a = mul(%x, %y) %u = sequence_insert(%s, %a) yield go=%go states=(%u) } } %t = concat_from_sequence(%l) axis=0)",
     {"f32[A, B]", "f32[C, B]", "f32[]"},
     {"f32[2, 3]", "f32[4, 3]", "f32[]"}},
    {"AnIfOfUnlikeRanks",
     R"(%k = constant value=i64[] {3} %t, %n = loop trips=%k states=(%z) { body(%i, %go, %s) {
          %h = less(%i, %k) %a = if(%h) { then { %f = add(%x, %y) yield %f } else { yield %z } }
          %u = reduce_sum(%a) keepdims=0 yield go=%go states=(%u) } })",
     {"f32[A, B]", "f32[C, B]", "f32[]"},
     {"f32[2, 3]", "f32[4, 3]", "f32[]"}},
    {"TheItemsOfASplit",
     R"(%p = split_to_sequence(%x, %z) axis=0 %j = constant value=i64[] {5} %a = sequence_at(%p, %j) %t = add(%a, %y))",
     {"f32[A, B]", "f32[C, D]", "i64[]"},
     {"f32[2, 3]", "f32[4, 5]", "i64[]"}},
    {"AProductOfALoopWithoutATripCount",
     R"(%t, %n = loop trips=%z { body(%i, %go) { %p = mul(%x, %x) yield go=%go items=(%p) } })",
     {"f32[A]", "f32[]", "i64[B]"},
     {"f32[3]", "f32[]", "i64[2]"}},
    {"AListOfALoopWithoutATripCount",
     R"(%e = sequence_empty() %l, %n = loop trips=%z states=(%e) { body(%i, %go, %s) {
          %a = mul(%x, %y) %u = sequence_insert(%s, %a) yield go=%go states=(%u) } } %t = concat_from_sequence(%l) axis=0)",
     {"f32[A, B]", "f32[C, B]", "i64[E]"},
     {"f32[2, 3]", "f32[2, 3]", "i64[2]"}},
    {"ASumBesideAnIfOfUnlikeRanks",
     R"(%k = constant value=i64[] {3} %w = add(%x, %y) %t0, %n = loop trips=%k states=(%z) { body(%i, %go, %s) {
          %h = less(%i, %k) %a = if(%h) { then { yield %x } else { yield %z } }
          %u = reduce_sum(%a) keepdims=0 yield go=%go states=(%u) } }
        %v = reduce_sum(%w) keepdims=0 %t = add(%t0, %v))",
     {"f32[A, B]", "f32[C, B]", "f32[]"},
     {"f32[2, 3]", "f32[4, 3]", "f32[]"}},
    {"ATensorOfAListAtTwoPositions",
     R"(%k = constant value=i64[] {3} %e = sequence_construct(%x) %l, %n = loop trips=%k states=(%e) { body(%i, %go, %s) {
          %u = sequence_insert(%s, %y) yield go=%go states=(%u) } } %t = sequence_at(%l, %z))",
     {"f32[A, B]", "f32[A, B]", "i64[C]"},
     {"f32[2, 3]", "f32[2, 3]", "i64[2]"}},
    {"ARecurrentCellOfAnotherNumberOfSamples",
     "%w = constant value=f32[1, 1, 1] {1} %t = rnn(%x, %w, %w, _, _, %y) hidden_size=1",
     {"f32[2, A, 1]", "f32[1, B, 1]", "f32[]"},
     {"f32[2, 2, 1]", "f32[1, 3, 1]", "f32[]"}},
    {"AScanAlongAnAxisThatIsNotThere",
     R"(%k = constant value=i64[] {2} %t, %n = loop trips=%k scans=(%x) axis_in=[1] { body(%i, %go, %a) {
          %b = gather(%y, %i) axis=1 %s = add(%a, %b) yield go=%go items=(%s) } })",
     {"f32[...]", "f32[...]", "f32[]"},
     {"f32[2]", "f32[2, 2]", "f32[]"}},
    {"ASliceOfAnAxisThatIsNotThere",
     R"(%k = constant value=i64[] {2} %t, %n = loop trips=%k scans=(%x) axis_in=[1] { body(%i, %go, %a) {
          %b = gather(%y, %i) axis=1 %s = add(%a, %b) yield go=%go items=(%s) } })",
     {"f32[...]", "f32[...]", "f32[]"},
     {"f32[2, 2]", "f32[2]", "f32[]"}},
    {"WhatMustBeOneElement",
     R"(%a = add(%x, %y) %b = less(%a, %x) %d = one_element(%b) %t = if(%d) { then { yield %x } else { yield %y } })",
     {"f32[A]", "f32[B]", "f32[]"},
     {"f32[3]", "f32[2]", "f32[]"}},
};

/// Nodes whose own rules hold, but no rule of what they would become.
const Broken together[] = {
    {"AProductOfAnItemOfAList",
     R"(%o = neg(%y) %l = sequence_construct(%x, %o) %j = constant value=i64[] {0}
        %a = sequence_at(%l, %j) %p = mul(%a, %y) %t = add(%p, %z))",
     {"f32[A, B]", "f32[C]", "f32[D]"},
     {"f32[2, 3]", "f32[3]", "f32[2]"}},
    {"AListWhoseLastTensorsCannotBeJoined",
     "%l = sequence_construct(%x, %y, %z) %t = concat_from_sequence(%l) axis=0",
     {"f32[A, B]", "f32[C, D]", "f32[E, F]"},
     {"f32[A, B]", "f32[2, 3]", "f32[4, 5]"}},
    {"AListWhoseLastTensorsCannotBeJoinedToThoseOfALoop",
     R"(%k = constant value=i64[] {3} %e = sequence_construct(%x) %l, %n = loop trips=%k states=(%e) { body(%i, %go, %s) {
          %u = sequence_insert(%s, %x) yield go=%go states=(%u) } }
        %l1 = sequence_insert(%l, %y) %l2 = sequence_insert(%l1, %z) %t = concat_from_sequence(%l2) axis=0)",
     {"f32[A, B]", "f32[C, D]", "f32[E, F]"},
     {"f32[A, B]", "f32[2, 3]", "f32[4, 5]"}},
};

INSTANTIATE_TEST_SUITE_P(All, BrokenNodes, testing::ValuesIn(all),
                         [](const auto& p) { return p.param.name; });

INSTANTIATE_TEST_SUITE_P(All, NodesThatDoNotGoTogether, testing::ValuesIn(together),
                         [](const auto& p) { return p.param.name; });

}  // namespace
}  // namespace rondel::passes
