#include "compile/loop_builder.h"

#include "base/axis.h"
#include "base/error.h"
#include "base/lru_cache.h"
#include "compile/exact_key.h"
#include "compile/plan_builder.h"
#include "compile/region_code.h"
#include "lowering/empty_stacks.h"

#include <algorithm>

namespace rondel::compile {
namespace {

using ir::LoopParts;
using ir::ValueId;
using runtime::LoopStep;

std::string name_of(const ir::Graph& g, ValueId v, std::size_t number) {
  const std::string& name = v == ValueId::none ? std::string() : g.value(v).name;
  return name.empty() ? std::to_string(number) : name;
}

runtime::LoopSpec spec_of(const ir::Graph& g, const ir::Node& node) {
  const LoopParts parts(node);
  const ir::Region& body = g.region(parts.body);
  runtime::LoopSpec spec{parts.has_trips,
                         parts.has_go,
                         parts.states,
                         parts.scans,
                         parts.stacks,
                         parts.fixed,
                         parts.axis_in,
                         parts.reverse_in,
                         parts.axis_out,
                         parts.reverse_out,
                         parts.extents,
                         {},
                         {},
                         {},
                         {}};
  for (std::size_t s = 0; s < parts.states; ++s)
    spec.state_names.push_back(name_of(g, body.params[2 + s], s));
  for (std::size_t s = 0; s < parts.scans; ++s)
    spec.scan_names.push_back(name_of(g, body.params[2 + parts.states + s], s));
  for (std::size_t s = 0; s < parts.stacks; ++s) {
    const ValueId item = body.results[1 + parts.states + s], stack = node.outputs[parts.states + s];
    const auto named = [&](ValueId v) { return v != ValueId::none && !g.value(v).name.empty(); };
    spec.item_names.push_back(name_of(g, named(item) ? item : stack, s));
    spec.stack_names.push_back(name_of(g, named(stack) ? stack : item, s));
  }
  return spec;
}

/// The types of the items that a loop would stack if it made a trip, for given inputs. Thread-safe.
class ItemTypes {
 public:
  ItemTypes(std::shared_ptr<const ir::Graph> g, ir::NodeId n, ir::Evaluator evaluate)
      : graph_(std::move(g)), node_(n), outer_(lowering::outer_values(*graph_, n)),
        evaluate_(std::move(evaluate)) {}

  std::vector<LoopStep::ItemType> get(std::span<const Value> inputs,
                                      std::span<const Value> captures) {
    std::vector<Value> all(inputs.begin(), inputs.end());
    all.insert(all.end(), captures.begin(), captures.end());
    if (!std::ranges::all_of(all, [](const Value& v) { return v.is_tensor(); })) return infer(all);
    return *known_.get(exact_key(all, value_inputs()), [&] { return infer(all); });
  }

 private:
  /// The trip count: slices by the trip index have extents that depend on it.
  std::vector<std::size_t> value_inputs() const {
    const LoopParts& parts = graph_->node(node_).loop();
    return parts.has_trips ? std::vector{parts.trips_at()} : std::vector<std::size_t>();
  }

  std::vector<LoopStep::ItemType> infer(std::span<const Value> all) const {
    ir::TypeEnvironment k = ir::environment_around(*graph_, node_);
    // Of the items of an empty list only the model tells something.
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].is_tensor() || (all[i].is_sequence() && all[i].sequence().size() > 0))
        k.types[ir::index(outer_[i])] = ir::Type::of(all[i]);
    for (const std::size_t i : value_inputs())
      k.values[static_cast<std::int32_t>(outer_[i])] = all[i].tensor();
    const std::vector<ir::Type> items = lowering::items_without_trips(*graph_, node_, k, evaluate_);
    const LoopParts parts(graph_->node(node_));
    std::vector<LoopStep::ItemType> types;
    for (std::size_t s = 0; s < parts.stacks; ++s) {
      types.push_back(
          item_type(items[s], lowering::declared_item(*graph_, node_, s), parts.axis_out[s]));
    }
    return types;
  }

  /// The inferred type, completed by the declared type, which alone decides the rank: the rank must
  /// not depend on the run.
  static LoopStep::ItemType item_type(const ir::Type& inferred, const ir::Type& declared,
                                      std::int64_t axis) {
    const bool agree = inferred.has_rank() && declared.has_rank() &&
                       inferred.rank() == declared.rank();
    const ir::Type t = agree ? ir::completed(inferred, declared) : declared;
    if (!t.has_rank() || !has_axis(axis, t.rank() + 1)) return {t.dtype(), std::nullopt};
    return {t.dtype(), t.static_shape()};
  }

  const std::shared_ptr<const ir::Graph> graph_;
  const ir::NodeId node_;
  const std::vector<ValueId> outer_;
  const ir::Evaluator evaluate_;
  /// By the extents of all outer values, and the trip count.
  LruCache<std::vector<LoopStep::ItemType>> known_;
};

}  // namespace

std::unique_ptr<runtime::Step> loop_step(const BuildContext& b, ir::NodeId n,
                                         const std::function<runtime::Slot(ValueId)>& outer) {
  const ir::Node& node = b.graph->node(n);
  auto step = std::make_unique<LoopStep>();
  step->spec = spec_of(*b.graph, node);
  step->body = build_plan(b, node.regions[0], outer);
  auto items = std::make_shared<ItemTypes>(b.graph, n, b.lowering.evaluate);
  step->item_types = [items](std::span<const Value> inputs, std::span<const Value> captures) {
    return items->get(inputs, captures);
  };
  step->native = native_source(b, n);
  return step;
}

}  // namespace rondel::compile
