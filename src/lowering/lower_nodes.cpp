#include "lowering/lower_nodes.h"

#include "base/cancellation.h"
#include "base/error.h"
#include "ops/meaning.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace rondel::lowering {
namespace {

using ir::NodeId;
using ir::ValueId;
using scalar::Ex;
using scalar::Indices;

/// Gives the meaning of one node access to its operands and results.
class NodeEmitter : public ops::Emitter {
 public:
  /// `space`: the extents of an output without a sink, which is read in its group only.
  NodeEmitter(LoweringScope& s, NodeId n, const std::vector<Ex>* space = nullptr)
      : s_(s), node_(s.graph.node(n)), space_(space) {}

  scalar::Builder& builder() override { return s_.builder; }
  const ir::Attributes& attributes() const override { return node_.attributes; }
  std::size_t input_count() const override { return node_.inputs.size(); }
  std::size_t output_count() const override { return node_.outputs.size(); }
  bool has(std::size_t k) const override {
    return k < node_.inputs.size() && node_.inputs[k] != ValueId::none;
  }
  const ir::Type& input(std::size_t k) const override { return type(node_.inputs.at(k)); }
  const ir::Type& output(std::size_t j) const override { return type(node_.outputs.at(j)); }
  const Tensor* value(std::size_t k) const override {
    invariant(std::ranges::count(node_.op->program_values, k) > 0 || ops::may_read(*node_.op, k),
              "{} asks for the value of input {}, which its program does not depend on",
              node_.op->name, k);
    return has(k) ? s_.environment.value(node_.inputs[k]) : nullptr;
  }
  Ex load(std::size_t k, const Indices& i) override { return operand(k).load(i); }
  Ex extent(std::size_t k, std::int64_t axis) override {
    return operand(k).extents.at(static_cast<std::size_t>(axis));
  }
  Ex output_extent(std::size_t j, std::int64_t axis) override {
    const bool inside = space_ != nullptr && !s_.sinks.contains(node_.outputs.at(j));
    return (inside ? *space_ : sink(j).extents).at(static_cast<std::size_t>(axis));
  }
  void store(std::size_t j, const Indices& i, Ex value) override {
    if (node_.outputs.at(j) == ValueId::none) return;
    for (const auto& put : sink(j).stores) put(i, value);
  }
  ops::BufferPart input_buffer(std::size_t k) override {
    const ops::BufferPart& part = operand(k).part;
    invariant(part.buffer >= 0, "operand {} of {} is not in a buffer", k, node_.op->name);
    return part;
  }
  ops::BufferPart output_buffer(std::size_t j) override {
    const ops::BufferPart& part = sink(j).part;
    invariant(part.buffer >= 0, "output {} of {} is not in a buffer", j, node_.op->name);
    return part;
  }
  bool never_one(ir::Symbol name) const override { return s_.never_one.contains(name); }
  bool in_place(std::size_t j, std::size_t k) const override {
    if (node_.outputs.at(j) == ValueId::none) return false;
    const ops::BufferPart &from = operand(k).part, &to = sink(j).part;
    return from.buffer >= 0 && from.buffer == to.buffer && from.leading.empty();
  }
  bool in_row_major_order(std::size_t k) const override {
    const ir::Type& whole = input(k);
    std::set<ValueId> seen = {node_.inputs[k]};
    std::vector<ValueId> open(seen.begin(), seen.end());
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      if (type(v).is_one_element()) continue;
      if (type(v).extents() != whole.extents()) return false;
      const auto operand = s_.operands.find(v);
      if (operand != s_.operands.end() && operand->second.part.buffer >= 0) {
        const ops::BufferPart& part = operand->second.part;
        if (!part.whole || !s_.builder.buffer(part.buffer).contiguous) return false;
        continue;
      }
      const NodeId producer = s_.graph.value(v).producer;
      if (producer == NodeId::none ||
          ops::meaning_as<ops::ElementWise>(*s_.graph.node(producer).op) == nullptr)
        return false;
      for (const ValueId from : s_.graph.node(producer).inputs)
        if (from != ValueId::none && seen.insert(from).second) open.push_back(from);
    }
    return true;
  }

 private:
  const ir::Type& type(ValueId v) const { return s_.environment.types[ir::index(v)]; }
  const Operand& operand(std::size_t k) const { return s_.operands.at(node_.inputs.at(k)); }
  const Sink& sink(std::size_t j) const { return s_.sinks.at(node_.outputs.at(j)); }

  LoweringScope& s_;
  const ir::Node& node_;
  const std::vector<Ex>* space_;
};

/// Finds where a view has its elements from, instead of loading them.
class PlaceEmitter : public NodeEmitter {
 public:
  using NodeEmitter::NodeEmitter;
  Ex load(std::size_t k, const Indices& i) override {
    if (k > 0) return NodeEmitter::load(k, i);
    place_ = i;
    return builder().constant_bits(dtype(0), 0);
  }
  /// The index of the input's element that is element `out` of the result.
  Indices place_of(const ops::ViewMeaning& view, const Indices& out) {
    view.fn(*this, 0, out);
    return place_;
  }

 private:
  Indices place_;
};

void store_all(const Sink& sink, const Indices& index, Ex value) {
  for (const auto& put : sink.stores) put(index, value);
}

/// Emits the checks of the nodes that run once, before the loop nest that the nodes share.
void lower_checks(LoweringScope& s, std::span<const NodeId> nodes, const std::vector<Ex>& space) {
  for (const NodeId n : nodes) {
    const auto* each = ops::meaning_as<ops::Elements>(*s.graph.node(n).op);
    if (each == nullptr || !each->before) continue;
    NodeEmitter emitter(s, n, &space);
    s.builder.enter(ir::where(s.graph, n));
    each->before(emitter);
    s.builder.leave();
  }
}

/// Whether elements of the nodes are stored, or computing them may fail.
bool does_anything(const LoweringScope& s, std::span<const NodeId> nodes) {
  return std::ranges::any_of(nodes, [&](NodeId n) {
    const auto sink = s.sinks.find(s.graph.node(n).outputs[0]);
    return ir::can_fail(s.graph, n) || (sink != s.sinks.end() && !sink->second.stores.empty());
  });
}

/// The extents of the index space that the nodes share, taken from any sink.
const std::vector<Ex>& space_of(LoweringScope& s, std::span<const NodeId> nodes) {
  for (const NodeId n : nodes) {
    const auto it = s.sinks.find(s.graph.node(n).outputs[0]);
    if (it != s.sinks.end()) return it->second.extents;
  }
  invariant(false, "nothing reads {}", s.graph.node(nodes[0]).op->name);
  return s.sinks.begin()->second.extents;
}

}  // namespace

std::vector<Ex> found_extents(LoweringScope& s, NodeId n, std::size_t j) {
  NodeEmitter emitter(s, n);
  s.builder.enter(ir::where(s.graph, n));
  std::vector<Ex> extents = (*ops::extents_code(*s.graph.node(n).op))(emitter, j);
  s.builder.leave();
  return extents;
}

Operand one_element(scalar::Builder& b, Ex element, std::int64_t rank) {
  return {[element](const Indices&) { return element; },
          {},
          std::vector<Ex>(static_cast<std::size_t>(rank), b.index(1))};
}

Operand whole_buffer(scalar::Builder& b, std::int32_t buffer) {
  Operand p{[&b, buffer](const Indices& i) { return b.load(buffer, i); }, {buffer}, {}};
  for (std::int64_t a = 0; a < b.buffer(buffer).rank(); ++a)
    p.extents.push_back(b.extent(buffer, a));
  return p;
}

Sink whole_sink(scalar::Builder& b, std::int32_t buffer) {
  Sink s{{[&b, buffer](const Indices& i, Ex x) { b.store(buffer, i, x); }}, {buffer}, {}};
  for (std::int64_t a = 0; a < b.buffer(buffer).rank(); ++a)
    s.extents.push_back(b.extent(buffer, a));
  return s;
}

Ex constant_element(scalar::Builder& b, const Tensor& t) {
  std::int64_t bits = 0;
  std::memcpy(&bits, t.data(), byte_size(t.dtype()));
  return b.constant_bits(t.dtype(), bits);
}

namespace {
/// The index of a node's result for an element of the group's index space: in loops that run
/// element by element, a node may give one element, of another rank.
Indices index_in(LoweringScope& s, NodeId n, const Indices& index) {
  const ir::Type& result = s.environment.types[ir::index(s.graph.node(n).outputs[0])];
  const auto rank = static_cast<std::size_t>(result.rank());
  return rank == index.size() ? index : Indices(rank, s.builder.index(0));
}
}  // namespace

void load_operands(LoweringScope& s, std::span<const NodeId> nodes, const Indices& index,
                   const std::function<bool(ValueId)>& wanted, ElementValues& values) {
  for (const NodeId n : nodes) {
    const ir::Node& node = s.graph.node(n);
    NodeEmitter emitter(s, n);
    const Indices own = index_in(s, n, index);
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (const ValueId v = node.inputs[k]; v != ValueId::none && !values.contains(v) && wanted(v))
        values.emplace(v, emitter.load_broadcast(k, own));
  }
}

void compute_element(LoweringScope& s, std::span<const NodeId> nodes, const std::vector<Ex>& space,
                     const Indices& index, ElementValues& values) {
  for (const NodeId n : nodes) {
    check_cancellation();
    const ir::Node& node = s.graph.node(n);
    NodeEmitter emitter(s, n, &space);
    const Indices own = index_in(s, n, index);
    s.builder.enter(ir::where(s.graph, n));
    Ex result;
    if (const auto* wise = ops::meaning_as<ops::ElementWise>(*node.op)) {
      std::vector<Ex> operands;
      for (std::size_t k = 0; k < node.inputs.size(); ++k) {
        const ValueId v = node.inputs[k];
        const auto it = values.find(v);
        if (v == ValueId::none) operands.emplace_back();
        else operands.push_back(it != values.end() ? it->second : emitter.load_broadcast(k, own));
      }
      result = wise->fn(emitter, operands);
    } else {
      result = ops::meaning_as<ops::Elements>(*node.op)->fn(emitter, 0, own);
    }
    s.builder.leave();
    values[node.outputs[0]] = result;
  }
}

ElementValues lower_element(LoweringScope& s, std::span<const NodeId> nodes,
                            const std::vector<Ex>& space, const Indices& index) {
  ElementValues made;
  compute_element(s, nodes, space, index, made);
  for (const NodeId n : nodes) {
    const ValueId v = s.graph.node(n).outputs[0];
    const auto sink = s.sinks.find(v);
    if (sink != s.sinks.end()) store_all(sink->second, index, made.at(v));
  }
  return made;
}

void define_view(LoweringScope& s, NodeId n, const std::vector<Ex>& extents) {
  const ir::Node& node = s.graph.node(n);
  const auto* view = ops::meaning_as<ops::ViewMeaning>(*node.op);
  lower_checks(s, {&n, 1}, extents);
  const Operand of = s.operands.at(node.inputs[0]);
  Operand result = of;
  result.part.whole = false;
  result.extents = extents;
  if (view->is_beginning == nullptr || !view->is_beginning(s.graph, node)) {
    const auto place = [&s, n, view, extents](const Indices& out) {
      return PlaceEmitter(s, n, &extents).place_of(*view, out);
    };
    result.load = [of, place](const Indices& i) { return of.load(place(i)); };
    if (view->keeps_matrices)
      result.part.matrix = [&s, place, matrix = of.part.matrix](Indices batch) {
        batch.resize(batch.size() + 2, s.builder.index(0));
        Indices there = place(batch);
        there.resize(there.size() - 2);
        return matrix ? matrix(there) : there;
      };
    else result.part = {};
  }
  s.operands.insert_or_assign(node.outputs[0], std::move(result));
}

void define_inlined(LoweringScope& s, ir::ValueId v, std::span<const NodeId> nodes,
                    const std::vector<Ex>& space) {
  const auto compute = [&s, v, nodes = std::vector(nodes.begin(), nodes.end()),
                        space](const Indices& i) {
    ElementValues values;
    compute_element(s, nodes, space, i, values);
    return values.at(v);
  };
  s.operands.insert_or_assign(v, Operand{compute, {}, space});
}

void lower_nodes(LoweringScope& s, std::span<const NodeId> nodes) {
  const ir::Node& first = s.graph.node(nodes[0]);
  if (const auto* nest = ops::meaning_as<ops::LoopNest>(*first.op)) {
    NodeEmitter emitter(s, nodes[0]);
    s.builder.enter(ir::where(s.graph, nodes[0]));
    nest->fn(emitter);
    return s.builder.leave();
  }
  if (first.outputs.size() == 1) {
    const std::vector<Ex>& space = space_of(s, nodes);
    lower_checks(s, nodes, space);
    if (!does_anything(s, nodes)) return;
    return s.builder.for_all(space, [&](const Indices& i) { lower_element(s, nodes, space, i); });
  }
  const auto* each = ops::meaning_as<ops::Elements>(*first.op);
  invariant(each != nullptr && nodes.size() == 1, "{} is no program", first.op->name);
  NodeEmitter emitter(s, nodes[0]);
  s.builder.enter(ir::where(s.graph, nodes[0]));
  for (std::size_t j = 0; j < first.outputs.size(); ++j) {
    if (first.outputs[j] == ValueId::none) continue;
    const Sink& sink = s.sinks.at(first.outputs[j]);
    s.builder.for_all(sink.extents,
                      [&](const Indices& i) { store_all(sink, i, each->fn(emitter, j, i)); });
  }
  s.builder.leave();
}

}  // namespace rondel::lowering
