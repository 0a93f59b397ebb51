// Edits of a loop that keep its meaning do not change its results.
#include "ir/loop_editor.h"

#include "compile/plan_builder.h"
#include "compile/tiered_compiler.h"
#include "ir/builder.h"
#include "ir/text.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

namespace rondel::session {
namespace {

using ir::Graph;
using ir::LoopEditor;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

Graph sample() {
  return ir::parse(
      R"g(graph "g" (%x: f32[2], %z: f32[4, 2], %w: f32[2, 4], %t: i64[], %e: i64[], %on: bool[]) {
    %f, %h, %s, %q, %n = loop trips=%t go=%on states=(%x, %x) scans=(%z, %w) extents=(%e, _) axis_in=[0, 1] reverse_in=[0, 1] axis_out=[0, 1] reverse_out=[1, 0] {
      body(%i, %go, %p, %r, %a, %b) {
        %u = add(%p, %a)
        %v = sub(%r, %b)
        %y = mul(%u, %v)
        yield go=%go states=(%u, %v) items=(%y, %r)
      }
    }
    yield %f, %h, %s, %q, %n })g");
}

/// All results, one after the other.
std::vector<float> results_of(Graph g) {
  compile::BuildContext context;
  context.graph = std::make_shared<const Graph>(std::move(g));
  context.compiler = std::make_shared<compile::TieredCompiler>(compile::Execution::interpreter);
  const runtime::Plan plan = compile::build_plan(context, ir::RegionId::root);
  runtime::Memory memory(std::numeric_limits<std::size_t>::max());
  runtime::Run run{memory, std::numeric_limits<std::int64_t>::max()};
  const runtime::FrameLease frame(plan, run);
  frame->set(plan.params[0], Tensor::from<float>({2}, {1, 2}));
  frame->set(plan.params[1], Tensor::from<float>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
  frame->set(plan.params[2], Tensor::from<float>({2, 4}, {8, 7, 6, 5, 4, 3, 2, 1}));
  frame->set(plan.params[3], Tensor::scalar(std::int64_t{3}));
  frame->set(plan.params[4], Tensor::scalar(std::int64_t{5}));
  frame->set(plan.params[5], Tensor::scalar(true));
  frame->execute();
  std::vector<float> all;
  for (const runtime::Slot s : plan.results) {
    const Tensor& t = (*frame)[s].tensor();
    for (std::int64_t k = 0; k < t.size(); ++k)
      all.push_back(t.dtype() == DType::f32 ? t.data_as<float>()[k]
                                            : static_cast<float>(t.data_as<std::int64_t>()[k]));
  }
  return all;
}

/// Adds unread parts, removes unread parts, and reorders all parts.
class RandomEdits {
 public:
  RandomEdits(Graph& g, unsigned seed) : g_(g), random_(seed) {
    for (const NodeId n : g.root().nodes)
      if (g.node(n).is_loop()) loop_ = n;
  }

  void step() {
    LoopEditor editor(g_, loop_);
    const ir::LoopParts& p = editor.parts();
    const ValueId x = g_.root().params[0], z = g_.root().params[1], e = g_.root().params[4];
    const Type vector = g_.value(x).type;
    switch (random_() % 9) {
      case 0: editor.add_state(x, ValueId::none, vector, "kept"); break;
      case 1: editor.add_state(x, editor.item(0), vector, "moved"); break;
      case 2: editor.add_scan(z, 0, random_() % 2 == 0, vector, "element"); break;
      case 3:
        editor.add_stack(editor.item(0), 0, random_() % 2 == 0,
                         random_() % 2 == 0 ? e : ValueId::none, any_length_, "unread");
        break;
      case 4: editor.reorder_states(order(p.states)); break;
      case 5: editor.reorder_scans(order(p.scans)); break;
      case 6: editor.reorder_stacks(order(p.stacks)); break;
      case 7: remove_unread(editor); break;
      default: drop_and_set_limits(editor); break;
    }
  }

 private:
  std::vector<std::size_t> order(std::size_t count) {
    std::vector<std::size_t> all(count);
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::shuffle(all.begin(), all.end(), random_);
    return all;
  }

  /// Removes one part that nothing except itself reads, if there is one.
  void remove_unread(LoopEditor& editor) {
    const ir::LoopParts& p = editor.parts();
    const auto& params = g_.region(p.body).params;
    const auto& finals = g_.node(loop_).outputs;
    for (std::size_t s = 0; s < p.states; ++s) {
      const ValueId param = params[2 + s];
      const auto& uses = g_.value(param).uses;
      const bool itself = uses.size() == 1 && uses[0].node == NodeId::none &&
                          uses[0].index == 1 + s;
      if (!g_.is_read(finals[s]) && (uses.empty() || itself)) return editor.remove_state(s);
    }
    for (std::size_t k = 0; k < p.scans; ++k)
      if (!g_.is_read(params[2 + p.states + k])) return editor.remove_scan(k);
    for (std::size_t k = 0; k < p.stacks; ++k)
      if (!g_.is_read(editor.stack(k)) && p.stacks > 1) return editor.remove_stack(k);
  }

  void drop_and_set_limits(LoopEditor& editor) {
    editor.set_trips(ValueId::none);
    editor.set_go(ValueId::none);
    editor.set_go(g_.root().params[5]);
    editor.set_trips(g_.root().params[3]);
    editor.set_trips(g_.root().params[3]);
  }

  Graph& g_;
  NodeId loop_ = NodeId::none;
  std::mt19937 random_;
  const Type any_length_ = Type::tensor(DType::f32, ir::Extents{ir::Extent(), 2});
};

TEST(LoopEditor, EditsThatNothingSeesChangeNothing) {
  const std::vector<float> expected = results_of(sample());
  ASSERT_EQ(expected.size(), 2U + 2U + 10U + 6U + 1U);
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Graph g = sample();
    RandomEdits edits(g, seed);
    for (int k = 0; k < 25; ++k) {
      edits.step();
      ASSERT_NO_THROW(ir::verify(g)) << ir::to_text(g);
    }
    EXPECT_EQ(ir::to_text(ir::parse(ir::to_text(g))), ir::to_text(g));
    EXPECT_EQ(results_of(g), expected) << ir::to_text(g);
  }
}

}  // namespace
}  // namespace rondel::session
