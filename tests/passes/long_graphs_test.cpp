// Passes over long chains of nodes, for which quadratic time would be minutes.
#include "ir/builder.h"
#include "ir/text.h"
#include "passes/common_subexpressions.h"
#include "passes/expand_composites.h"
#include "passes/fold_constants.h"
#include "passes/fuse_multiply_add.h"
#include "passes/remove_dead.h"

#include <gtest/gtest.h>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::RegionId;
using ir::ValueId;

constexpr int length = 200'000;

/// A graph that applies `link` to x `length` times.
template <class Link> Graph chain(Link link) {
  Graph g;
  const ValueId x = g.add_param(RegionId::root, ir::Type::tensor(DType::f32, ir::Extents{4}), "x");
  ir::Builder b(g, RegionId::root);
  ValueId v = x;
  for (int k = 0; k < length; ++k) v = link(b, v, x, k);
  g.set_results(RegionId::root, {v});
  return g;
}

TEST(LongGraphs, IdentitiesAreForwarded) {
  Graph g = chain([](ir::Builder& b, ValueId v, ValueId, int k) {
    return b(k % 2 == 0 ? "neg" : "identity", {v});
  });
  EXPECT_TRUE(forward_identities(g));
  EXPECT_EQ(g.root().nodes.size(), length / 2U);
  ir::verify(g);
}

TEST(LongGraphs, DeadNodesGoFromTheLastToTheFirst) {
  Graph g = chain([](ir::Builder& b, ValueId v, ValueId, int) { return b("neg", {v}); });
  g.set_results(RegionId::root, {g.root().params[0]});
  EXPECT_TRUE(remove_dead(g));
  EXPECT_TRUE(g.root().nodes.empty());
  EXPECT_FALSE(remove_dead(g));
  ir::verify(g);
}

TEST(LongGraphs, ProductsAreContracted) {
  Graph g = chain([](ir::Builder& b, ValueId v, ValueId x, int k) {
    return b(k % 2 == 0 ? "mul" : "add", {v, x});
  });
  EXPECT_TRUE(fuse_multiply_add(g));
  EXPECT_TRUE(remove_dead(g));
  EXPECT_EQ(g.root().nodes.size(), length / 2U);
  ir::verify(g);
}

TEST(LongGraphs, ElementsOfOneTensorAreNotCompared) {
  Graph g = chain([](ir::Builder& b, ValueId v, ValueId x, int k) {
    return b("add", {v, b("sub", {x, b.scalar<float>(static_cast<float>(k / 2))})});
  });
  EXPECT_TRUE(common_subexpressions(g));
  EXPECT_FALSE(common_subexpressions(g));
  ir::verify(g);
}

TEST(LongGraphs, CompositesAreExpanded) {
  Graph g = chain([](ir::Builder& b, ValueId v, ValueId, int k) {
    return b(k % 100 == 0 ? "softmax" : "neg", {v});
  });
  EXPECT_TRUE(expand_composites(g));
  EXPECT_FALSE(expand_composites(g));
  ir::verify(g);
}

TEST(LongGraphs, ConstantsAreFolded) {
  Graph g = chain([](ir::Builder& b, ValueId v, ValueId x, int k) {
    return k % 2 == 0 ? b("shape", {x}) : b("gather", {v, b.scalar<std::int64_t>(0)});
  });
  EXPECT_TRUE(fold_constants(g, nullptr));
  EXPECT_TRUE(remove_dead(g));
  EXPECT_EQ(g.root().nodes.size(), 1U);
  ir::verify(g);
}

}  // namespace
}  // namespace rondel::passes
