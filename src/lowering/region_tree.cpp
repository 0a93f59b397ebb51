#include "lowering/region_tree.h"

#include "base/axis.h"
#include "base/cancellation.h"
#include "base/error.h"
#include "lowering/extent_expression.h"
#include "lowering/extract.h"
#include "ops/meaning.h"

#include <algorithm>

namespace rondel::lowering {

using ir::LoopParts;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

RegionTree::RegionTree(const ir::Graph& g, NodeId top, const ShapeClass& c,
                       const LoweringOptions& options)
    : g_(g), top_(top), class_(c), options_(options) {
  infer();
  if (!refused_.empty()) return;
  for (const ValueId v : captures_) check_type(v);
  const ir::Node& node = g_.node(top_);
  note_measures(top_);
  for (const RegionId r : regions(top_)) note_measures(r);
  if (node.is_loop()) visit_loop(top_);
  for (const RegionId r : regions(top_)) visit(r, std::nullopt);
  if (node.is_loop()) visit_items();
  if (!node.is_loop()) visit_top_if();
  if (refused_.empty()) prepare_kernels();
}

// Facts that follow from the class.

void RegionTree::infer() {
  k_ = ir::strict_type_environment(g_);
  k_.name_unknowns = k_.measure = true;
  const std::vector<ValueId> outer = outer_values(g_, top_);
  const std::map<ir::Symbol, ir::Extent> related = extents_of_captures();
  const auto with_relations = [&](ir::Extents extents) {
    for (ir::Extent& e : extents)
      if (const auto at = related.find(e.symbol); at != related.end()) e = at->second;
    return extents;
  };
  for (std::size_t k = 0; k < outer.size(); ++k) {
    const ir::Type& t = class_.types[k];
    k_.types[ir::index(outer[k])] = t.is_tensor() && t.has_rank()
                                        ? ir::Type::tensor(t.dtype(), with_relations(t.extents()))
                                        : t;
    set_known_values(outer[k], class_.values[k], with_relations(class_.elements[k]));
  }
  captures_.assign(outer.begin() + std::ssize(g_.node(top_).inputs), outer.end());
  try {
    ir::infer_node(g_, top_, k_, evaluator());
  } catch (const Error& e) {
    // The node runs step by step then, which reports the error again, with its trip.
    if (e.blame() == Blame::internal || ends_run(e)) throw;
    refuse_all(e.what());
  }
  find_names();
}

/// Notes that something was evaluated.
ir::Evaluator RegionTree::evaluator() {
  if (!options_.evaluate) return nullptr;
  return [this](const auto&... node_and_inputs) {
    evaluated_ = true;
    return options_.evaluate(node_and_inputs...);
  };
}

/// The extents of the class that are expressions over those of captures, which the program reads.
std::map<ir::Symbol, ir::Extent> RegionTree::extents_of_captures() const {
  std::set<ir::Symbol> read = class_.names_from(g_.node(top_).inputs.size());
  for (const RelatedExtent& related : class_.related) read.erase(related.extent);
  std::map<ir::Symbol, ir::Extent> found;
  for (const RelatedExtent& related : class_.related) {
    const ir::Integer same = related.expression();
    if (can_express(same, [&](ir::Symbol name) { return read.contains(name); }))
      found.emplace(related.extent, same);
  }
  return found;
}

/// The program cannot read the loop's own trip count.
void RegionTree::find_names() {
  const ir::Node& node = g_.node(top_);
  memory_names_ = class_.names(node.inputs.size());
  memory_names_.insert(trips_with_room());
  if (node.is_loop())
    for (const ir::Symbol name : names_in(ir::most_trips_of(node, k_))) memory_names_.insert(name);
  bounds_ = ExtentBounds(memory_names_);
  const auto add = [&](const ir::Extent& e) {
    if (e.symbolic()) class_names_.insert(e.symbol);
  };
  for (std::size_t k = 0; k < class_.types.size(); ++k) {
    const ir::Type& t = class_.types[k];
    for (std::size_t a = 0; t.is_tensor() && t.has_rank() && a < t.extents().size(); ++a)
      add(t.extents()[a]);
    if (k >= node.inputs.size())
      for (const ir::Extent& e : class_.elements[k]) add(e);
  }
}

ir::Symbol trips_with_room() {
  static const ir::Symbol name = ir::Symbol::own("room");
  return name;
}

void RegionTree::set_known_values(ValueId v, const Tensor& value, const ir::Extents& elements) {
  if (value.defined()) k_.values[static_cast<std::int32_t>(v)] = value;
  if (elements.empty()) return;
  k_.elements[static_cast<std::int32_t>(v)] = {elements.begin(), elements.end()};
  if (!std::ranges::all_of(elements, &ir::Extent::known)) return;
  ir::Ints numbers;
  for (const ir::Extent& e : elements) numbers.push_back(e.value);
  const Shape shape = type(v).rank() == 0 ? Shape{} : Shape{std::ssize(numbers)};
  k_.values[static_cast<std::int32_t>(v)] = Tensor::from<std::int64_t>(
      shape, std::span<const std::int64_t>(numbers));
}

bool RegionTree::extent_known(const ir::Integer& e) const {
  return can_express(e, [&](ir::Symbol name) { return class_names_.contains(name); });
}

bool RegionTree::extents_known(ValueId v) const {
  return std::ranges::all_of(type(v).extents(), [&](const auto& e) { return extent_known(e); });
}

ir::Type RegionTree::memory_type(ValueId v) const {
  ir::Extents extents = type(v).extents();
  for (ir::Extent& e : extents) e = bounds_.most(e);
  return ir::Type::tensor(type(v).dtype(), std::move(extents));
}

bool RegionTree::begins_with_buffer(ValueId v) const {
  const ir::ValueInfo& info = g_.value(v);
  if (info.producer == NodeId::none || !g_.node(info.producer).is_loop()) return true;
  const LoopParts parts(g_.node(info.producer));
  const auto output = static_cast<std::size_t>(info.position);
  const bool stack = output >= parts.states && output < parts.states + parts.stacks;
  return !stack || parts.reverse_out[output - parts.states] == 0 || trip_count_known(info.producer);
}

const std::vector<RegionTree::ChangingExtent>& RegionTree::changing_extents(NodeId loop) const {
  static const std::vector<ChangingExtent> none;
  const auto it = changing_.find(loop);
  return it == changing_.end() ? none : it->second;
}

bool RegionTree::is_one_element(ValueId v) const { return type(v).is_one_element(); }

bool RegionTree::row_major(ValueId v) const {
  if (const Tensor* t = g_.constant(v)) return t->contiguous();
  if (maker(v)) return true;
  if (const auto at = std::ranges::find(captures_, v); at != captures_.end())
    return class_
        .contiguous[g_.node(top_).inputs.size() + static_cast<std::size_t>(at - captures_.begin())];
  const ir::Region& body = g_.region(g_.value(v).region);
  const ir::Node& loop = g_.node(body.parent);
  const LoopParts parts(loop);
  const auto param = static_cast<std::size_t>(std::ranges::find(body.params, v) -
                                              body.params.begin());
  if (param < 2) return true;
  if (param < 2 + parts.states)
    return body.parent != top_ || !is_invariant(parts, param - 2) ||
           class_.contiguous[parts.states_at() + param - 2];
  const std::size_t scan = param - 2 - parts.states;
  if (axis_from_front(parts.axis_in[scan], type(v).rank() + 1) != 0) return true;  // a copy
  const std::size_t input = parts.scans_at() + scan;
  return body.parent == top_ ? class_.contiguous[input] : row_major(loop.inputs[input]);
}

ValueId RegionTree::beginning_in(const Group& group) const {
  const ir::Node& node = g_.node(group.nodes[0]);
  const auto* view = ops::meaning_as<ops::ViewMeaning>(*node.op);
  const bool is_beginning = group.nodes.size() == 1 && view != nullptr &&
                            view->is_beginning != nullptr && view->is_beginning(g_, node);
  return is_beginning ? node.inputs[0] : ValueId::none;
}

bool RegionTree::is_invariant(const LoopParts& parts, std::size_t s) const {
  const ir::Region& body = g_.region(parts.body);
  return body.results[1 + s] == body.params[2 + s];
}

bool RegionTree::trip_count_known(NodeId loop) const {
  const LoopParts parts(g_.node(loop));
  return !parts.has_go && (parts.has_trips || parts.scans > 0);
}

ir::Extent RegionTree::most_trips(NodeId loop) const {
  const ir::Node& node = g_.node(loop);
  const LoopParts parts(node);
  if (const ir::Extent exact = bounds_.most(ir::trips_of(node, k_)); exact.known_or_symbolic())
    return exact;
  if (parts.has_trips)
    if (const ir::Extent e = bounds_.most(ir::Extent(k_.integer(node.inputs[parts.trips_at()])));
        e.known_or_symbolic())
      return e;
  for (std::size_t s = 0; s < parts.scans; ++s) {
    const ir::Type& t = type(node.inputs[parts.scans_at() + s]);
    if (!t.is_tensor() || !t.has_rank()) continue;  // refused where the body reads it
    const ir::Extent extent = bounds_.most(t.extent(axis_from_front(parts.axis_in[s], t.rank())));
    if (extent.known_or_symbolic()) return extent;  // a trip beyond it is an error
  }
  return {};
}

// Queries.

std::vector<RegionId> RegionTree::regions(NodeId n) const {
  const ir::Node& node = g_.node(n);
  if (node.is_loop() || node.regions.empty()) return node.regions;
  const std::optional<RegionId> taken = ir::taken_branch(node, k_);
  return taken ? std::vector{*taken} : node.regions;
}

bool RegionTree::kernel_finds_extents(NodeId n) const {
  return ops::kernel_finds_extents(*g_.node(n).op);
}

std::optional<Position> RegionTree::maker(ValueId v) const {
  const auto it = makers_.find(v);
  return it == makers_.end() ? std::nullopt : std::optional(it->second);
}

const std::vector<Read>& RegionTree::reads(ValueId v) const {
  static const std::vector<Read> none;
  const auto it = reads_.find(v);
  return it == reads_.end() ? none : it->second;
}

bool RegionTree::is_loop_body(RegionId r) const { return g_.node(g_.region(r).parent).is_loop(); }
std::optional<Position> RegionTree::holder(RegionId r) const { return info(r).holder; }
std::int32_t RegionTree::begins(Position p) const { return info(p.region).begins.at(p.index); }
std::int32_t RegionTree::ends(Position p) const { return info(p.region).ends.at(p.index); }

}  // namespace rondel::lowering
