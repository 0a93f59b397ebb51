#include "exporters/onnx/assertions.h"

#include "base/text.h"
#include "exporters/onnx/forms.h"
#include "exporters/onnx/live.h"
#include "exporters/onnx/names.h"
#include "ir/builder.h"
#include "ir/infer.h"

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

std::size_t position_of(const Graph& g, NodeId n) {
  const auto& list = g.region(g.node(n).region).nodes;
  return static_cast<std::size_t>(std::ranges::find(list, n) - list.begin());
}

/// The node that ends the run is called what the assertion is, and what it says.
std::string named_by_message(const ir::Node& assertion) {
  const std::string name = name_in_file(assertion), message = assertion.attributes.s("message", "");
  if (message.empty()) return assertion.source;
  return fmt::format("node '{}{}{}' (Assertion)", name, name.empty() ? "" : ": ", message);
}

/// `list[0]`, or the end of the run where the condition does not hold.
ValueId first_of(ir::Builder& b, ValueId list, const ir::Node& assertion) {
  const ValueId failed = b("cast", {b("not", assertion.inputs)},
                           {{"to", ir::Type::scalar(DType::i64)}});
  const ValueId failures = b("reduce_sum", {failed}, {{"keepdims", std::int64_t{0}}});
  b.source(named_by_message(assertion));
  return b("gather", {list, failures});
}

/// Puts an assertion into the way of result `k` of its region: of a tensor itself, of what else
/// there is by an `if` on whose condition nothing depends but whether there is one.
void guard(Graph& g, RegionId r, std::size_t k, NodeId assertion) {
  const ir::Node said = g.node(assertion);
  ir::Builder b(g, r);
  b.source(said.source);
  const ValueId y = g.region(r).results[k];
  ValueId guarded = ValueId::none;
  if (g.value(y).type.is_tensor()) {
    guarded = first_of(b, b("unsqueeze", {y, b.integers({0})}), said);
  } else {
    const ValueId yes = first_of(b, b.constant(Tensor::from<bool>({1}, {true})), said);
    const auto it = [&](ir::Builder& branch) { return Values{branch("identity", {y})}; };
    guarded = b.if_(yes, it, it)[0];
  }
  g.value(guarded).name = g.value(y).name;
  g.region(r).results[k] = guarded;
  g.erase_node(assertion);
}

/// A loop in the place of another, with one more state: a number that stays 0.
class WithZero {
 public:
  WithZero(Graph& g, NodeId n) : g_(g), before_(g.node(n)), parts_(before_), n_(n) {}

  /// The number of the new state's result in the body.
  std::size_t make() {
    ir::Builder b(g_, before_.region);
    b.source(before_.source);
    b.insert_at(position_of(g_, n_));
    const auto states = static_cast<std::ptrdiff_t>(parts_.states);
    Values inputs = before_.inputs;
    inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(parts_.states_at()) + states,
                  b.scalar<std::int64_t>(0));
    change_body(2 + states);
    std::vector<ir::Type> types;
    for (const ValueId v : before_.outputs)
      types.push_back(v == ValueId::none ? ir::Type::scalar(DType::i64) : g_.value(v).type);
    types.insert(types.begin() + states, ir::Type::scalar(DType::i64));
    ++parts_.states;
    parts_.fixed.push_back(1);
    parts_.keeps.push_back(0);
    const NodeId now = g_.insert_node(before_.region, position_of(g_, n_), *before_.op,
                                      parts_.attributes(), inputs, types, before_.regions);
    g_.node(now).source = before_.source;
    hand_over(now, static_cast<std::size_t>(states));
    g_.erase_node(n_);
    return 1 + static_cast<std::size_t>(states);
  }

 private:
  void change_body(std::ptrdiff_t at) {
    const ValueId state = g_.add_param(parts_.body, ir::Type::scalar(DType::i64), "asserted");
    ir::Region& body = g_.region(parts_.body);
    std::rotate(body.params.begin() + at, body.params.end() - 1, body.params.end());
    for (std::size_t k = 0; k < body.params.size(); ++k)
      g_.value(body.params[k]).position = static_cast<std::int32_t>(k);
    body.results.insert(body.results.begin() + at - 1, state);
  }

  /// The number of trips is read with the state, so that the loop stays whoever knows that number.
  void hand_over(NodeId now, std::size_t state) {
    Values outputs = g_.node(now).outputs;
    const ValueId zero = outputs[state];
    outputs.erase(outputs.begin() + static_cast<std::ptrdiff_t>(state));
    ir::Builder b(g_, before_.region);
    b.source(before_.source);
    b.insert_at(position_of(g_, now) + 1);
    outputs.back() = b("add", {outputs.back(), zero});
    for (std::size_t j = 0; j < outputs.size(); ++j) {
      if (before_.outputs[j] == ValueId::none) continue;
      g_.value(outputs[j]).name = g_.value(before_.outputs[j]).name;
      g_.replace_uses(before_.outputs[j], outputs[j]);
    }
  }

  Graph& g_;
  ir::Node before_;
  ir::LoopParts parts_;
  NodeId n_;
};

class Keeping {
 public:
  Keeping(Graph& g, int opset) : g_(g), opset_(opset) {}

  std::vector<std::string> run() {
    region(RegionId::root);
    return std::move(notes_);
  }

 private:
  /// What a later node asserts may be what keeps an earlier one.
  void region(RegionId r) {
    if (const auto found = assertions_in(g_, r); !found.empty()) keep(r, found);
    const std::vector<NodeId> nodes = g_.region(r).nodes;
    for (auto n = nodes.rbegin(); n != nodes.rend(); ++n) {
      if (g_.node(*n).regions.empty() || !Live(g_)(g_.node(*n))) continue;
      for (const RegionId inner : std::vector<RegionId>(g_.node(*n).regions)) region(inner);
    }
  }

  void keep(RegionId r, const std::vector<NodeId>& found) {
    const auto result = result_to_guard(r);
    for (const NodeId n : found) {
      if (result) guard(g_, r, *result, n);
      else
        notes_.push_back(fmt::format("{} is left out: no result of its graph can be made an error",
                                     ir::where(g_, n)));
    }
  }

  /// The first of a loop's body is its condition, which may decide nothing.
  std::optional<std::size_t> result_to_guard(RegionId r) {
    const NodeId parent = g_.region(r).parent;
    const bool body = parent != NodeId::none && g_.node(parent).op->name == "loop";
    const Values& results = g_.region(r).results;
    if (!body || is_kept_by_results(g_.node(parent))) {
      for (std::size_t k = body ? 1 : 0; k < results.size(); ++k)
        if (g_.value(results[k]).type.is_tensor()) return k;
    }
    if (body) return WithZero(g_, parent).make();
    for (std::size_t k = 0; k < results.size(); ++k)
      if (can_copy(g_.value(results[k]).type, opset_)) return k;
    return std::nullopt;
  }

  /// Whether more of a loop is read than the number of its trips.
  bool is_kept_by_results(const ir::Node& loop) const {
    const Live live(g_);
    return std::any_of(loop.outputs.begin(), loop.outputs.end() - 1,
                       [&](ValueId v) { return live(v); });
  }

  Graph& g_;
  int opset_;
  std::vector<std::string> notes_;
};

}  // namespace

std::vector<std::string> keep_assertions(Graph& g, int opset) {
  for (std::size_t r = 0; r < g.region_count(); ++r)
    if (!assertions_in(g, static_cast<RegionId>(r)).empty()) return Keeping(g, opset).run();
  return {};
}

std::vector<std::string> note_assertions(const Graph& g) {
  std::vector<std::string> notes;
  for (std::size_t r = 0; r < g.region_count(); ++r)
    for (const NodeId n : assertions_in(g, static_cast<RegionId>(r)))
      notes.push_back(fmt::format("{} is left out, as asked", ir::where(g, n)));
  return notes;
}

}  // namespace rondel::exporters
