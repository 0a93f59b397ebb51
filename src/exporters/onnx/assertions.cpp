#include "exporters/onnx/assertions.h"

#include "base/text.h"
#include "exporters/onnx/encode_node.h"
#include "exporters/onnx/liveness.h"
#include "exporters/onnx/names.h"
#include "ir/builder.h"
#include "ir/infer.h"
#include "ir/loop_editor.h"

#include <algorithm>

namespace rondel::exporters {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;
using Values = std::vector<ValueId>;

bool is_assertion(const Graph& g, NodeId n) { return g.node(n).outputs.empty(); }

std::vector<NodeId> assertions_in(const Graph& g, RegionId r) {
  std::vector<NodeId> found = g.region(r).nodes;
  std::erase_if(found, [&](NodeId n) { return !is_assertion(g, n); });
  return found;
}

/// The source for the node that ends the run: it is named after the assertion and its message.
std::string named_by_message(const ir::Node& assertion) {
  const std::string name = name_in_file(assertion), message = assertion.attributes.s("message", "");
  if (message.empty()) return assertion.source;
  return fmt::format("node '{}{}{}' (Assertion)", name, name.empty() ? "" : ": ", message);
}

/// `list[0]`. Ends the run if the condition does not hold.
ValueId first_of(ir::Builder& b, ValueId list, const ir::Node& assertion) {
  const ValueId failed = b("cast", {b("not", assertion.inputs)},
                           {{"to", ir::Type::scalar(DType::i64)}});
  const ValueId failures = b("reduce_sum", {failed}, {{"keepdims", std::int64_t{0}}});
  b.source(named_by_message(assertion));
  return b("gather", {list, failures});
}

bool is_tensor(const ir::Type& t) { return t.is_tensor(); }

/// Whether the type certainly has elements, so that a Gather from it checks its indices.
bool has_elements(const ir::Type& t) {
  return t.is_static() && element_count(t.static_shape()) > 0;
}

/// Makes result `k` of the region depend on the assertion. A tensor is gathered itself. Any other
/// value, and a tensor that may be empty, passes through an `if` whose condition is gathered and
/// whose branches are equal.
void guard(Graph& g, RegionId r, std::size_t k, NodeId assertion, int opset) {
  const ir::Node node = g.node(assertion);
  ir::Builder b(g, r);
  b.source(node.source);
  const ValueId y = g.region(r).results[k];
  ValueId guarded = ValueId::none;
  if (has_elements(g.value(y).type) || !can_copy(g.value(y).type, opset)) {
    guarded = first_of(b, b("unsqueeze", {y, b.integers({0})}), node);
  } else {
    const ValueId yes = first_of(b, b.constant(Tensor::from<bool>({1}, {true})), node);
    const auto it = [&](ir::Builder& branch) { return Values{branch("identity", {y})}; };
    guarded = b.if_(yes, it, it)[0];
  }
  g.value(guarded).name = g.value(y).name;
  g.set_result(r, k, guarded);
  g.erase_node(assertion);
}

/// Adds a state to the loop that stays 0, and adds the final state to the loop's trip count, so
/// that readers of the trip count depend on the state. Returns the number of the state's result in
/// the body.
std::size_t add_zero_state(Graph& g, NodeId loop) {
  ir::Builder b(g, g.node(loop).region);
  b.source(g.node(loop).source);
  b.insert_before(loop);
  const ir::Type number = ir::Type::scalar(DType::i64);
  const ValueId zero = ir::LoopEditor(g, loop)
                           .add_state(b.scalar<std::int64_t>(0), ValueId::none, number, "asserted")
                           .final;
  const ValueId trips = g.node(loop).outputs.back();
  b.insert_after(loop);
  const ValueId read = b("add", {trips, zero});
  g.replace_uses(trips, read);
  g.set_input(g.value(read).producer, 0, trips);
  std::swap(g.value(read).name, g.value(trips).name);
  return g.node(loop).loop().states;
}

class AssertionLowering {
 public:
  AssertionLowering(Graph& g, int opset) : g_(g), opset_(opset) {}

  std::vector<std::string> run() {
    region(RegionId::root);
    return std::move(notes_);
  }

 private:
  /// Visits nodes in reverse order, because an assertion in a later node may keep an earlier node
  /// alive.
  void region(RegionId r) {
    if (const auto found = assertions_in(g_, r); !found.empty()) keep(r, found);
    const std::vector<NodeId> nodes = g_.region(r).nodes;
    for (auto n = nodes.rbegin(); n != nodes.rend(); ++n) {
      if (g_.node(*n).regions.empty() || !LiveValues(g_)(g_.node(*n))) continue;
      for (const RegionId inner : std::vector<RegionId>(g_.node(*n).regions)) region(inner);
    }
  }

  void keep(RegionId r, const std::vector<NodeId>& found) {
    const auto result = result_to_guard(r);
    for (const NodeId n : found) {
      if (result) guard(g_, r, *result, n, opset_);
      else
        notes_.push_back(fmt::format("{} is left out: no result of its graph can be made an error",
                                     ir::where(g_, n)));
    }
  }

  /// Result 0 of a loop's body is its condition, which may be unused.
  std::optional<std::size_t> result_to_guard(RegionId r) {
    const NodeId parent = g_.region(r).parent;
    const bool body = parent != NodeId::none && g_.node(parent).is_loop();
    const auto& results = g_.region(r).results;
    if (!body || is_kept_by_results(g_.node(parent))) {
      for (const auto fits : {has_elements, is_tensor})
        for (std::size_t k = body ? 1 : 0; k < results.size(); ++k)
          if (fits(g_.value(results[k]).type) && !is_input(r, k)) return k;
    }
    if (body) return add_zero_state(g_, parent);
    for (std::size_t k = 0; k < results.size(); ++k)
      if (can_copy(g_.value(results[k]).type, opset_) && !is_input(r, k)) return k;
    return std::nullopt;
  }

  bool is_input(RegionId r, std::size_t k) const {
    return r == RegionId::root && is_input_by_name(g_, k);
  }

  /// Whether an output of the loop other than its trip count is live.
  bool is_kept_by_results(const ir::Node& loop) const {
    const LiveValues live(g_);
    return std::any_of(loop.outputs.begin(), loop.outputs.end() - 1,
                       [&](ValueId v) { return live(v); });
  }

  Graph& g_;
  int opset_;
  std::vector<std::string> notes_;
};

}  // namespace

std::vector<std::string> lower_assertions(Graph& g, int opset) {
  for (std::size_t r = 0; r < g.region_count(); ++r)
    if (!assertions_in(g, static_cast<RegionId>(r)).empty())
      return AssertionLowering(g, opset).run();
  return {};
}

std::vector<std::string> report_dropped_assertions(const Graph& g) {
  std::vector<std::string> notes;
  for (std::size_t r = 0; r < g.region_count(); ++r)
    for (const NodeId n : assertions_in(g, static_cast<RegionId>(r)))
      notes.push_back(fmt::format("{} is left out, as asked", ir::where(g, n)));
  return notes;
}

}  // namespace rondel::exporters
