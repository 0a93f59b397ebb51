// Uses of values, and positions of nodes, while a graph changes.
#include "errors.h"
#include "ir/builder.h"
#include "ir/clone.h"
#include "ir/text.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace rondel::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

const Type f32_2 = Type::tensor(DType::f32, Extents{2});

/// The nodes that read a value, by the names of their outputs; "result" for a result.
std::vector<std::string> readers(const Graph& g, ValueId v) {
  std::vector<std::string> names;
  for (const Use& use : g.value(v).uses)
    names.push_back(use.node == NodeId::none ? "result"
                                             : g.value(g.node(use.node).outputs[0]).name);
  return names;
}

/// The only value with that name.
ValueId named(const Graph& g, std::string_view name) {
  for (std::size_t v = 0; v < g.value_count(); ++v)
    if (g.value(static_cast<ValueId>(v)).name == name) return static_cast<ValueId>(v);
  return ValueId::none;
}

Graph sample() {
  return parse(R"g(graph "g" (%a: f32[2], %b: f32[2], %t: i64[]) {
    %m = mul(%a, %a)
    %f, %s, %n = loop trips=%t states=(%m) {
      body(%i, %go, %x) { %y = add(%x, %a)  yield go=%go states=(%y) items=(%m) } }
    %r = neg(%f)
    yield %r, %a })g");
}

TEST(Uses, AreInputsAndResultsAtEveryDepth) {
  const Graph g = sample();
  EXPECT_THAT(readers(g, named(g, "a")), UnorderedElementsAre("m", "m", "y", "result"));
  EXPECT_THAT(readers(g, named(g, "m")), UnorderedElementsAre("f", "result"));
  EXPECT_THAT(readers(g, named(g, "s")), ElementsAre());
  EXPECT_FALSE(g.is_read(named(g, "b")));
  EXPECT_TRUE(g.is_read(named(g, "t")));
}

TEST(Uses, AreHandedOver) {
  Graph g = sample();
  g.replace_uses(named(g, "a"), named(g, "b"));
  EXPECT_THAT(readers(g, named(g, "b")), UnorderedElementsAre("m", "m", "y", "result"));
  EXPECT_FALSE(g.is_read(named(g, "a")));
  g.replace_uses(named(g, "b"), named(g, "b"));
  verify(g);
  EXPECT_THAT(to_text(g), HasSubstr("mul(%b, %b)"));
}

TEST(Uses, GoWithTheNodesThatAreErasedAndAllInThem) {
  Graph g = sample();
  const NodeId loop = g.value(named(g, "f")).producer, neg = g.value(named(g, "r")).producer;
  g.set_result(RegionId::root, 0, named(g, "m"));
  g.erase_node(neg);
  g.erase_node(loop);
  EXPECT_THAT(readers(g, named(g, "a")), UnorderedElementsAre("m", "m", "result"));
  EXPECT_FALSE(g.is_read(named(g, "t")));
  EXPECT_TRUE(g.is_erased(g.value(named(g, "y")).producer));
  EXPECT_EQ(g.root().nodes.size(), 1U);
  verify(g);
}

TEST(Nodes, StandWhereTheyArePut) {
  Graph g;
  const ValueId x = g.add_param(RegionId::root, f32_2, "x");
  Builder b(g, RegionId::root);
  const auto add = [&](const char* name) {
    const ValueId v = b("neg", {x});
    g.value(v).name = name;
    return g.value(v).producer;
  };
  const auto order = [&] {
    std::string text;
    for (const NodeId n : g.root().nodes) text += g.value(g.node(n).outputs[0]).name;
    std::string back;
    for (auto n = g.root().nodes.rbegin(); n != g.root().nodes.rend(); ++n)
      back += g.value(g.node(*n).outputs[0]).name;
    std::ranges::reverse(back);
    EXPECT_EQ(text, back);
    EXPECT_EQ(text.size(), g.root().nodes.size());
    return text;
  };
  const NodeId c = add("c"), e = add("e");
  b.insert_before(e);
  add("d");
  b.insert_first();
  const NodeId a = add("a");
  add("b");
  EXPECT_EQ(order(), "abcde");
  b.insert_after(c);
  g.erase_node(c);
  add("C");
  EXPECT_EQ(order(), "abCde");
  b.insert_after(e);
  add("f");
  add("g");
  EXPECT_EQ(order(), "abCdefg");
  EXPECT_EQ(g.next(g.root().nodes.back()), NodeId::none);
  g.erase_node(a);
  g.erase_node(g.root().nodes.back());
  EXPECT_EQ(order(), "bCdef");
  verify(g);
}

/// Compares the graph's node list with a plain list after the same random changes.
TEST(Nodes, KeepTheirOrderUnderRandomChanges) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Graph g;
    std::vector<ValueId> values{g.add_param(RegionId::root, f32_2, "x")};
    const ValueId x = values[0];
    Builder b(g, RegionId::root);
    std::vector<NodeId> model;
    for (int step = 0; step < 200; ++step) {
      const std::size_t at = model.empty() ? 0 : random() % model.size();
      if (!model.empty() && random() % 3 == 0) {
        g.erase_node(model[at]);
        model.erase(model.begin() + static_cast<std::ptrdiff_t>(at));
        continue;
      }
      if (model.empty()) b.insert_last();
      else b.insert_before(model[at]);
      const NodeId made = g.value(b("neg", {x})).producer;
      model.insert(model.begin() + static_cast<std::ptrdiff_t>(at), made);
    }
    EXPECT_EQ(static_cast<std::vector<NodeId>>(g.root().nodes), model);
    EXPECT_EQ(g.value(x).uses.size(), model.size());
    verify(g);
  }
}

TEST(Captures, AreInOrderOfFirstUseAtAnyDepth) {
  const Graph g = parse(R"g(graph "g" (%a: f32[], %b: f32[], %c: bool[], %t: i64[]) {
    %d = neg(%a)
    %f, %n = loop trips=%t states=(%a) {
      body(%i, %go, %x) {
        %y = if(%c) { then { %z = add(%x, %d)  %w = mul(%z, %b)  yield %w } else { yield %x } }
        yield go=%go states=(%y) } }
    yield %f })g");
  const RegionId body = g.node(g.value(named(g, "f")).producer).regions[0];
  EXPECT_THAT(g.captures(body), ElementsAre(named(g, "c"), named(g, "d"), named(g, "b")));
  EXPECT_THAT(g.captures(RegionId::root), ElementsAre());
}

// ---- copies

TEST(Clone, IntoTheSameGraphCapturesWhatItCaptured) {
  Graph g = sample();
  const RegionId body = g.node(g.value(named(g, "f")).producer).regions[0];
  const RegionId copy = clone_region(g, body, g);
  const LoopParts parts = g.node(g.value(named(g, "f")).producer).loop();
  const std::vector<Type> types{f32_2, g.value(named(g, "s")).type, Type::scalar(DType::i64)};
  const NodeId loop = g.insert_loop(RegionId::root, NodeId::none, parts,
                                    {named(g, "t"), named(g, "m")}, types, {copy});
  g.add_result(RegionId::root, g.node(loop).outputs[0]);
  verify(g);
  EXPECT_THAT(g.captures(copy), ElementsAre(named(g, "a"), named(g, "m")));
  EXPECT_THAT(readers(g, named(g, "a")), UnorderedElementsAre("m", "m", "y", "y", "result"));
}

TEST(Clone, IntoAnotherGraphMapsWhatItCaptures) {
  const Graph from = parse(R"g(graph "g" (%a: f32[], %b: f32[], %c: bool[]) {
    %y = if(%c) {
      then {
        %u = if(%c) { then { %p = add(%a, %b)  yield %p } else { yield %b } }
        %v = mul(%u, %a)
        yield %v
      }
      else { yield %a }
    }
    yield %y })g");
  Graph to;
  const ValueId k = to.add_param(RegionId::root, Type::scalar(DType::f32), "k");
  const ValueId c = to.add_param(RegionId::root, Type::scalar(DType::boolean), "c");
  std::vector<std::string> asked;
  Cloner copies(from, to, [&](ValueId v) {
    asked.push_back(from.value(v).name);
    return k;
  });
  copies.map(named(from, "c"), c);
  copies.node(from.value(named(from, "y")).producer, RegionId::root);
  to.add_result(RegionId::root, copies(named(from, "y")));
  verify(to);
  EXPECT_THAT(asked, UnorderedElementsAre("a", "b"));
  EXPECT_EQ(to_text(to), R"g(graph "graph" (%k: f32[], %c: bool[]) {
  %y: f32[] = if(%c) {
    then {
      %u: f32[] = if(%c) {
        then {
          %p: f32[] = add(%k, %k)
          yield %p
        }
        else {
          yield %k
        }
      }
      %v: f32[] = mul(%u, %k)
      yield %v
    }
    else {
      yield %k
    }
  }
  yield %y
}
)g");
}

TEST(Clone, OfARegionDeeperThanAnyStack) {
  constexpr int depth = 100'000;
  Graph g;
  const ValueId c = g.add_param(RegionId::root, Type::scalar(DType::boolean), "c");
  const ValueId x = g.add_param(RegionId::root, f32_2, "x");
  ValueId result = x;
  RegionId inner = g.add_region();
  g.set_results(inner, {x});
  for (int d = 0; d < depth; ++d) {
    const RegionId around = d + 1 == depth ? RegionId::root : g.add_region();
    const RegionId other = g.add_region();
    g.set_results(other, {x});
    const NodeId n = g.insert_node(around, NodeId::none, op("if"), {}, {c},
                                   std::span<const Type>(&f32_2, 1), {inner, other});
    result = g.node(n).outputs[0];
    g.set_results(around, {result});
    inner = around;
  }
  const NodeId outermost = g.value(result).producer;
  EXPECT_THAT(g.captures(g.node(outermost).regions[0]), ElementsAre(c, x));
  Graph to;
  const ValueId y = to.add_param(RegionId::root, f32_2, "y");
  Cloner(g, to, [&](ValueId) { return y; }).node(outermost, RegionId::root);
  EXPECT_EQ(to.node_count(), g.node_count());
  EXPECT_EQ(to.value(y).uses.size(), 2U * depth + 1);
  g.set_results(RegionId::root, {x});
  g.erase_node(outermost);
  EXPECT_EQ(g.value(c).uses.size(), 0U);
  EXPECT_EQ(g.value(x).uses.size(), 1U);
}

}  // namespace
}  // namespace rondel::ir
