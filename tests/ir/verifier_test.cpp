#include "base/error.h"
#include "errors.h"
#include "ir/builder.h"
#include "ir/tampering.h"
#include "ir/text.h"

#include <gmock/gmock.h>

#include <iterator>

namespace rondel::ir {
namespace {

using ::testing::HasSubstr;

/// A loop whose state doubles, and a negation of its result.
Graph sample() {
  return parse(R"g(graph "g" (%a: f32[2], %t: i64[]) {
    %f, %s, %n = loop trips=%t states=(%a) {
      body(%i, %go, %x) { %y = add(%x, %x)  yield go=%go states=(%y) items=(%y) } }
    %r = neg(%f)
    yield %r })g");
}

/// The message of the internal error that `verify` throws for the sample after `change`.
std::string complaint(const std::function<void(Graph&)>& change) {
  Graph g = sample();
  change(g);
  return error_of([&] { verify(g); }, Blame::internal);
}

NodeId root_node(const Graph& g, std::size_t k) {
  return *std::next(g.root().nodes.begin(), static_cast<std::ptrdiff_t>(k));
}
RegionId body(const Graph& g) { return g.node(root_node(g, 0)).regions[0]; }

TEST(Verifier, AcceptsAWellFormedGraph) {
  EXPECT_EQ(complaint([](Graph&) {}), "");
}

TEST(Verifier, ValuesExist) {
  EXPECT_THAT(complaint([](Graph& g) {
                Tampering{g}.result(RegionId::root, 0, static_cast<ValueId>(999));
              }),
              HasSubstr("reads value 999, which does not exist"));
}
TEST(Verifier, DefinitionsComeBeforeUses) {
  EXPECT_THAT(complaint([](Graph& g) {
                const ValueId f = g.node(root_node(g, 0)).outputs[0];
                Builder early(g, RegionId::root);
                early.insert_first();
                early("neg", {f});
              }),
              HasSubstr("reads 'f', which is not defined before it"));
}
TEST(Verifier, RegionsHideWhatTheyDefine) {
  EXPECT_THAT(
      complaint([](Graph& g) { g.set_result(RegionId::root, 0, g.region(body(g)).results[1]); }),
      HasSubstr("reads 'y', which is inside another region"));
}
TEST(Verifier, ValuesAreDefinedOnce) {
  EXPECT_THAT(complaint([](Graph& g) { Tampering{g}.repeat_param(RegionId::root); }),
              HasSubstr("value 'a' is defined twice"));
}
TEST(Verifier, ValuesKnowTheirPlace) {
  EXPECT_THAT(complaint([](Graph& g) { g.value(g.root().params[1]).position = 0; }),
              HasSubstr("value 't' is not where it says it is defined"));
}
TEST(Verifier, NodesStandInOnePlace) {
  EXPECT_THAT(complaint([](Graph& g) { Tampering{g}.repeat(root_node(g, 1)); }),
              HasSubstr("stands in two places"));
}
TEST(Verifier, NodesKnowTheirRegion) {
  EXPECT_THAT(
      complaint([](Graph& g) { g.node(root_node(g, 1)).region = static_cast<RegionId>(1); }),
      HasSubstr("node (neg) is not where it says it is"));
}
TEST(Verifier, NeededInputsAreThere) {
  EXPECT_THAT(complaint([](Graph& g) { g.set_input(root_node(g, 1), 0, ValueId::none); }),
              HasSubstr("node (neg): input 'x' is missing"));
}
TEST(Verifier, OpsTakeSoManyInputs) {
  EXPECT_THAT(complaint([](Graph& g) {
                const NodeId n = root_node(g, 1);
                g.insert_input(n, 1, g.node(n).inputs[0]);
              }),
              HasSubstr("node (neg) has 2 inputs; neg takes at most 1"));
}
TEST(Verifier, AttributesAreTheOps) {
  EXPECT_THAT(
      complaint([](Graph& g) { g.node(root_node(g, 1)).attributes.set("axis", std::int64_t{0}); }),
      HasSubstr("op 'neg' has no attribute 'axis'"));
}
TEST(Verifier, AttributesAreOfTheirKind) {
  Graph g = parse(R"g(graph "g" (%a: f32[2]) { %y = leaky_relu(%a)  yield %y })g");
  g.node(root_node(g, 0)).attributes.set("alpha", std::int64_t{1});
  EXPECT_THAT(error_of([&] { verify(g); }, Blame::internal),
              HasSubstr("attribute 'alpha' is 1; expected the kind of"));
}
TEST(Verifier, RequiredAttributesAreThere) {
  Graph g;
  Builder b(g, RegionId::root);
  g.add_result(RegionId::root, b.integers({1}));
  g.node(root_node(g, 0)).attributes.erase("value");
  EXPECT_THAT(error_of([&] { verify(g); }, Blame::internal),
              HasSubstr("node (constant): attribute 'value' is missing"));
}
TEST(Verifier, OnlyLoopsAndIfsHaveRegions) {
  EXPECT_THAT(complaint([](Graph& g) {
                const RegionId r = g.add_region();
                Tampering{g}.give_region(root_node(g, 1), r);
              }),
              HasSubstr("node (neg) has 1 regions; 'neg' has 0"));
}
TEST(Verifier, RegionsBelongToTheirNode) {
  EXPECT_THAT(complaint([](Graph& g) { g.region(body(g)).parent = root_node(g, 1); }),
              HasSubstr("node (loop): its region belongs to another node"));
}
TEST(Verifier, LoopsAgreeWithTheirInputsAndBodies) {
  EXPECT_THAT(complaint([](Graph& g) { g.erase_input(root_node(g, 0), 1); }),
              HasSubstr("a loop of 1 states, 0 scans and 1 stacks has 2 inputs, not 1"));
  EXPECT_THAT(complaint([](Graph& g) { g.erase_result(body(g), 2); }),
              HasSubstr("has 3 results of its body, not 2"));
  EXPECT_THAT(complaint([](Graph& g) { Tampering{g}.drop_output(root_node(g, 0)); }),
              HasSubstr("has 3 outputs, not 2"));
  EXPECT_THAT(complaint([](Graph& g) {
                LoopParts parts = g.node(root_node(g, 0)).loop();
                parts.fixed = {0, 1};
                g.set_loop(root_node(g, 0), parts);
              }),
              HasSubstr("'fixed' has 2 items for 1"));
}
TEST(Verifier, ValuesKnowTheirReaders) {
  EXPECT_THAT(
      complaint([](Graph& g) { Tampering{g}.forget_uses(g.node(root_node(g, 0)).outputs[0]); }),
      HasSubstr("node (neg) reads 'f', which does not know of it"));
  EXPECT_THAT(
      complaint([](Graph& g) { Tampering{g}.result(RegionId::root, 0, g.root().params[0]); }),
      HasSubstr("the graph: result 0 reads 'a', which does not know of it"));
  EXPECT_THAT(complaint([](Graph& g) {
                Tampering{g}.add_use(g.root().params[1], {.node = root_node(g, 1), .index = 0});
              }),
              HasSubstr("value 't' knows of 2 readers and has 1"));
}
TEST(Verifier, BranchesGiveTheOutputs) {
  Graph g = parse(R"g(graph "g" (%c: bool[], %a: f32[]) {
    %y = if(%c) { then { yield %a } else { yield %a } }
    yield %y })g");
  g.set_results(g.node(root_node(g, 0)).regions[1], {});
  EXPECT_THAT(error_of([&] { verify(g); }, Blame::internal),
              HasSubstr("a branch has 0 results for 1 outputs"));
}
TEST(Verifier, DefaultsAreOfInputsAndFitThem) {
  EXPECT_THAT(complaint([](Graph& g) { g.defaults[g.root().results[0]] = Tensor::scalar(1.0f); }),
              HasSubstr("a default is for no input"));
  EXPECT_THAT(complaint([](Graph& g) { g.defaults[g.root().params[0]] = Tensor::scalar(1.0); }),
              HasSubstr("input 'a' is f32[2]; its default is not"));
}
TEST(Verifier, RolesAreOfInputsOnceAndFitThem) {
  EXPECT_THAT(complaint([](Graph& g) { g.roles[g.root().results[0]] = InputRole::seed; }),
              HasSubstr("a role is for no input"));
  EXPECT_THAT(complaint([](Graph& g) { g.roles[g.root().params[0]] = InputRole::seed; }),
              HasSubstr("input 'a' is f32[2]; the seed is u64[]"));
  EXPECT_THAT(
      complaint([](Graph& g) {
        g.roles[g.add_param(RegionId::root, Type::scalar(DType::u64), "s")] = InputRole::seed;
        g.roles[g.add_param(RegionId::root, Type::scalar(DType::u64), "t")] = InputRole::seed;
      }),
      HasSubstr("two inputs have the role 'seed'"));
}
TEST(Verifier, NamesAreForEveryInputAndOutput) {
  EXPECT_THAT(complaint([](Graph& g) { g.input_names = {"a"}; }),
              HasSubstr("1 input names for 2 values"));
}
TEST(Verifier, TypesAreWhatOpsGive) {
  EXPECT_THAT(
      complaint([](Graph& g) { g.value(g.root().results[0]).type = Type::scalar(DType::f64); }),
      HasSubstr("value 'r' has type f64[], but its op gives f32[2]"));
}

}  // namespace
}  // namespace rondel::ir
