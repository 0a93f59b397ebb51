#include "lowering/lower_region.h"

#include "base/cancellation.h"
#include "base/error.h"
#include "ir/name_of.h"
#include "ir/value_text.h"
#include "lowering/extent_expression.h"
#include "lowering/extract.h"
#include "lowering/rule_text.h"

#include <algorithm>
#include <set>

namespace rondel::lowering {

using ir::NodeId;
using ir::RegionId;
using ir::ValueId;
using scalar::Ex;
using scalar::Indices;

RegionLowering::RegionLowering(const RegionTree& tree, const StoragePlan& plan, scalar::Builder& b)
    : tree_(tree), plan_(plan), b_(b), environment_(tree.environment()),
      scope_{tree.graph(), environment_, tree.class_names(), b, {}, {}},
      buffers_(plan.all().size(), -1) {
  for (StorageId id = 0; id < plan.all().size(); ++id)
    if (!plan.all()[id].given) beginning_.emplace(plan.all()[id].lifetime.first, id);
}

// Regions and groups.

void RegionLowering::groups(RegionId r, const LoopContext* around, Ex t) {
  const std::vector<Group>& groups = tree_.groups(r);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    check_cancellation();
    // In a trip, the lifetimes of its first position have begun with the elements of scans.
    if (around == nullptr || i > 0) begin_lifetimes({r, i});
    group(groups[i], around, t);
  }
  for (const ValueId v : tree_.graph().region(r).results) define_constant(v);
}

void RegionLowering::begin_lifetimes(Position at) {
  const auto [first, end] = beginning_.equal_range(tree_.begins(at));
  for (auto it = first; it != end; ++it) b_.fresh(buffer(it->second));
}

/// `around`: the loop whose body contains the group directly; null if there is none.
void RegionLowering::group(const Group& g, const LoopContext* around, Ex t) {
  for (const NodeId n : g.nodes)
    for (const ValueId v : tree_.graph().node(n).inputs) define_constant(v);
  const ir::Node& node = tree_.graph().node(g.nodes[0]);
  if (!node.regions.empty() && !node.is_loop()) return branch(g.nodes[0]);
  for (const NodeId n : g.nodes)
    for (const ir::Symbol name : tree_.measures(n)) measure(name);
  const bool whole = ops::writes_buffers(*node.op);
  for (const NodeId n : g.view_nodes()) view(n);
  const auto others = std::span(g.nodes).first(g.nodes.size() - g.views);
  for (const NodeId n : others) find_extents(n);
  if (node.is_loop()) return loop(g.nodes[0]);
  for (const NodeId n : others) check_rule(n);
  const NestScope nest(scope_.notes,
                       [&] { return scope_.notes->nest(g.computed(), environment_.types); });
  if (scope_.notes != nullptr) note_group(g, around);
  if (g.inlined > 0)
    define_inlined(scope_, node.inputs[0], g.inlined_nodes(), extents_of(node.inputs[0]));
  for (const ValueId v : g.outputs)
    if (!tree_.kernel_finds_extents(g.nodes[0]))
      scope_.sinks.insert_or_assign(v, sink_for(v, whole ? nullptr : around, t, !whole));
  if (whole) on_buffers(g);
  else if (g.by_rows) by_rows(tree_.rows(g));
  else lower_nodes(scope_, g.computed());
}

void RegionLowering::by_rows(const RowSchedule& rows) {
  std::vector<Ex> space;
  for (const ir::Extent& e : rows.space) space.push_back(extent(e));
  lower_rows(scope_, rows, space);
}

/// Emits the computation of a name that is found when the program runs, if that has not been done.
void RegionLowering::measure(ir::Symbol name) {
  const auto how = environment_.measures.find(name);
  if (how == environment_.measures.end() || extents_.contains(name)) return;
  const ir::Measure& m = how->second;
  for (const ir::Symbol other : names_in(m.most())) measure(other);
  if (m.list == ValueId::none) {
    extents_[name] = integer(m.expression);
    return;
  }
  define_constant(m.list);
  const Operand& list = scope_.operands.at(m.list);
  const Indices at(list.extents.size(), b_.index(static_cast<std::int64_t>(m.element)));
  const Ex given = cast(DType::i64, list.load(at)), axis = extent(m.axis);
  const Ex counted = select(given < 0, given + axis, given);
  extents_[name] = scalar::max(b_.index(0), scalar::min(counted, axis));
}

/// Emits the computation of extents that the node's program finds from values.
void RegionLowering::find_extents(NodeId n) {
  if (!tree_.finds_extents(n) || tree_.kernel_finds_extents(n)) return;
  const ir::Node& node = tree_.graph().node(n);
  for (std::size_t j = 0; j < node.outputs.size(); ++j) {
    if (node.outputs[j] == ValueId::none) continue;
    const std::vector<Ex> found = found_extents(scope_, n, j);
    for (std::size_t a = 0; a < found.size(); ++a)
      if (const ir::Extent& e = type(node.outputs[j]).extents()[a];
          e.symbolic() && !extents_.contains(e.symbol))
        extents_[e.symbol] = found[a];
  }
}

// Sizes that the program is given.

/// Emits the checks that a value of these extents fits into a storage, where only sizes that the
/// program is given say so.
void RegionLowering::check_room(std::span<const Ex> extents, StorageId to) {
  const ir::Type& room = plan_.all()[to].type;
  for (std::int64_t a = 0; a < room.rank(); ++a)
    if (const auto size = tree_.size_in(room.extent(a))) {
      const Ex needed = extents[static_cast<std::size_t>(a)];
      b_.check_size(needed <= b_.extent(buffer(to), a), static_cast<std::int32_t>(*size), needed);
    }
}

/// Emits the checks that an item of the top loop has the extents that its stack is laid out for.
void RegionLowering::check_item(std::size_t stack, ValueId item) {
  const ir::Type laid_out = tree_.item_type(stack);
  for (std::int64_t a = 0; a < laid_out.rank(); ++a) {
    const auto size = tree_.size_in(laid_out.extent(a));
    if (!size || type(item).extent(a) == laid_out.extent(a)) continue;
    const Ex found = extent(type(item).extent(a));
    b_.check_size(found == extent(laid_out.extent(a)), static_cast<std::int32_t>(*size), found);
  }
}

/// Emits the check that a node's rule accepts the extents that have become known by now.
void RegionLowering::check_rule(NodeId n) {
  const ir::Integers& conditions = tree_.conditions_inside(n);
  if (conditions.empty()) return;
  const RuleText told = rule_text(tree_.graph(), n, environment_, conditions);
  std::vector<Ex> shown;
  for (const ir::Extent& e : told.shown) shown.push_back(extent(e));
  b_.enter(ir::where(tree_.graph(), n));
  for (const ir::Integer& condition : conditions)
    b_.check(integer(condition) >= 0, told.text, shown);
  b_.leave();
}

/// Defines the result of a node that is read where the node's input lies.
void RegionLowering::view(NodeId n) {
  find_extents(n);
  check_rule(n);
  define_view(scope_, n, extents_of(tree_.graph().node(n).outputs[0]));
}

/// A loop nest or a kernel stores to buffers only, and may read whole buffers: operands in
/// registers are stored to local buffers before, and results of one element are loaded afterwards.
void RegionLowering::on_buffers(const Group& g) {
  const ir::Node& node = tree_.graph().node(g.nodes[0]);
  std::map<ValueId, Operand> replaced;
  if (ops::reads_buffers(*node.op)) {
    for (const ValueId v : node.inputs) {
      if (v == ValueId::none || scope_.operands.at(v).part.buffer >= 0) continue;
      invariant(tree_.is_one_element(v), "'{}' is in no buffer", tree_.graph().value(v).name);
      const std::int32_t array = b_.local("element", type(v).dtype(), type(v).static_shape());
      b_.store(array, zeros(v), element(v));
      replaced.emplace(v, scope_.operands.at(v));
      define(v, whole_buffer(b_, array));
    }
  }
  if (g.program) lower_nodes(scope_, g.nodes);
  else call(g.nodes[0]);
  for (auto& [v, before] : replaced) define(v, std::move(before));
  for (const ValueId v : g.outputs)
    if (tree_.is_one_element(v)) define(v, in_register(v, element(v)));
}

/// Emits the call of a kernel on parts of buffers, and defines results whose extents it finds.
void RegionLowering::call(NodeId n) {
  const ir::Node& node = tree_.graph().node(n);
  const RegionTree::KernelNode& prepared = *std::ranges::find(tree_.kernels(), n,
                                                              &RegionTree::KernelNode::node);
  const auto& kernel = prepared.kernel;
  scalar::Call call;
  call.name = std::string(node.op->name);
  for (const auto& [key, value] : node.attributes)
    call.name += " " + key + "=" + ir::to_text(value);
  call.function = kernels::SizedKernel::call;
  call.attributes = kernel;
  if (ir::text_identifies(node.attributes)) call.content = prepared.content;
  std::vector<Ex> leading;
  const auto add = [&](const std::vector<ValueId>& values, std::size_t count, const auto& part_of) {
    for (std::size_t k = 0; k < count; ++k) {
      const bool given = k < values.size() && values[k] != ValueId::none;
      const ops::BufferPart part = given ? part_of(values[k]) : ops::BufferPart();
      call.views.push_back({part.buffer, static_cast<std::int32_t>(part.leading.size())});
      leading.insert(leading.end(), part.leading.begin(), part.leading.end());
    }
  };
  const bool finds = tree_.kernel_finds_extents(n);
  call.first_written = kernel->inputs();
  add(node.inputs, kernel->inputs() - (prepared.on_parts ? 1 : 0),
      [&](ValueId v) { return scope_.operands.at(v).part; });
  if (prepared.on_parts) call.views.push_back({told_extents(n)});
  add(node.outputs, kernel->outputs() - (finds ? 1 : 0),
      [&](ValueId v) { return ops::BufferPart{buffer(*plan_.storage_of(v))}; });
  std::int64_t ranks = 0;
  for (const ValueId v : node.outputs) ranks += v == ValueId::none ? 0 : type(v).rank();
  const std::int32_t found = finds ? b_.local("found", DType::i64, {ranks}) : -1;
  if (finds) call.views.push_back({found});
  call.views.push_back({workspaces_.at(n)});
  b_.enter(ir::where(tree_.graph(), n));
  b_.call(std::move(call), leading, kernel->failures());
  b_.leave();
  if (finds) define_found(n, found);
}

/// Emits the list of extents that a kernel on parts of buffers is told: of the inputs and, unless
/// it finds them, of the outputs.
std::int32_t RegionLowering::told_extents(NodeId n) {
  const ir::Node& node = tree_.graph().node(n);
  std::vector<Ex> told;
  const auto add = [&](const std::vector<ValueId>& values) {
    for (const ValueId v : values) {
      if (v == ValueId::none) continue;
      const std::vector<Ex> extents = extents_of(v);
      told.insert(told.end(), extents.begin(), extents.end());
    }
  };
  add(node.inputs);
  if (!tree_.kernel_finds_extents(n)) add(node.outputs);
  const std::int32_t list = b_.local("extents", DType::i64, {std::ssize(told)});
  for (std::size_t k = 0; k < told.size(); ++k)
    b_.store(list, {b_.index(static_cast<std::int64_t>(k))}, told[k]);
  return list;
}

/// Defines the results of a kernel that has found their extents, after the check that there was
/// room for them.
void RegionLowering::define_found(NodeId n, std::int32_t extents) {
  std::int64_t next = 0;
  for (const ValueId v : tree_.graph().node(n).outputs) {
    if (v == ValueId::none) continue;
    for (const ir::Extent& e : type(v).extents()) {
      const Ex found = b_.load(extents, {b_.index(next++)});
      if (e.symbolic() && !extents_.contains(e.symbol)) extents_[e.symbol] = found;
    }
    const StorageId to = *plan_.storage_of(v);
    check_room(extents_of(v), to);
    define(v, in_buffer(v, buffer(to)));
  }
}

/// The sink of a value that a group computes: a register, or its storage and the stacks that it is
/// an item of.
Sink RegionLowering::sink_for(ValueId v, const LoopContext* around, Ex t, bool in_registers) {
  Sink sink;
  sink.extents = extents_of(v);
  if (tree_.is_one_element(v) && in_registers) {
    sink.stores.push_back([this, v](const Indices&, Ex x) { define(v, in_register(v, x)); });
    return sink;
  }
  if (const auto storage = plan_.storage_of(v)) {
    const std::int32_t to = buffer(*storage);
    check_room(sink.extents, *storage);
    sink.part = {to, {}, tree_.extents_known(v)};
    if (!is_there(v, *storage))
      sink.stores.push_back([this, to](const Indices& i, Ex x) { b_.store(to, i, x); });
    define(v, in_buffer(v, to));
  } else {
    define(v, without_elements(v));
  }
  if (around == nullptr) return sink;
  for (std::size_t k = 0; k < around->parts.stacks; ++k) {
    if (tree_.graph().region(around->parts.body).results[1 + around->parts.states + k] != v)
      continue;
    if (around->node == tree_.top()) check_item(k, v);
    sink.stores.push_back(
        [this, around, k, t](const Indices& i, Ex x) { store_item(*around, k, i, t, x); });
  }
  return sink;
}

/// Whether the storage holds the elements already, since it holds what v is the beginning of.
bool RegionLowering::is_there(ValueId v, StorageId storage) const {
  const Position made = *tree_.maker(v);
  const ValueId whole = tree_.beginning_in(tree_.groups(made.region)[made.index]);
  return whole != ValueId::none && plan_.storage_of(whole) == storage;
}

void RegionLowering::branch(NodeId n) {
  const ir::Node& node = tree_.graph().node(n);
  const auto in_memory = [&](std::size_t j) {
    return plan_.storage_of(node.outputs[j]).has_value();
  };
  const auto in_registers = [&](std::size_t j) {
    return node.outputs[j] != ValueId::none && tree_.is_one_element(node.outputs[j]);
  };
  const std::vector<std::pair<std::size_t, std::int64_t>> either = extents_of_either(n);
  const std::vector<RegionId> regions = tree_.regions(n);
  if (regions.size() > 1)  // a name that both branches measure is known after them, too
    for (const ir::Symbol name : tree_.measures(n)) measure(name);
  const auto take = [&](RegionId r) {
    const NestScope branch(scope_.notes, [&] { return r == node.regions[0] ? "then" : "else"; });
    const auto outer = extents_;
    groups(r, nullptr, {});
    const auto& results = tree_.graph().region(r).results;
    std::vector<Ex> yields;
    Moves moves;
    for (std::size_t j = 0; j < node.outputs.size(); ++j) {
      if (in_registers(j)) yields.push_back(element(results[j]));
      else if (node.outputs[j] != ValueId::none && in_memory(j) &&
               plan_.storage_of(results[j]) != plan_.storage_of(node.outputs[j]))
        moves.emplace_back(results[j], *plan_.storage_of(node.outputs[j]));
    }
    begin_lifetimes({r, tree_.groups(r).size()});
    move(moves, r);
    for (const auto& [j, axis] : either) yields.push_back(extent(type(results[j]).extent(axis)));
    if (regions.size() > 1) extents_ = outer;  // what was found in a branch is known there only
    return yields;
  };
  const auto choose = [&] {
    return b_.if_(
        element(node.inputs[0]), [&] { return take(regions[0]); },
        [&] { return take(regions[1]); });
  };
  NestScope nest(scope_.notes, [&] { return scope_.notes->name(n); });
  if (regions.size() == 1)
    nest.note([] { return "one branch only, because the shapes decide the condition"; });
  const std::vector<Ex> merged = regions.size() == 1 ? take(regions[0]) : choose();
  for (std::size_t k = 0; k < either.size(); ++k)
    extents_[type(node.outputs[either[k].first]).extent(either[k].second).symbol] =
        merged[merged.size() - either.size() + k];
  std::size_t next = 0;
  for (std::size_t j = 0; j < node.outputs.size(); ++j) {
    const ValueId v = node.outputs[j];
    if (in_registers(j)) define(v, in_register(v, merged[next++]));
    else if (v != ValueId::none && in_memory(j))
      define(v, in_buffer(v, buffer(*plan_.storage_of(v))));
  }
}

/// The outputs of an `if` and their axes whose extents are not the same in both branches, one for
/// each name.
std::vector<std::pair<std::size_t, std::int64_t>> RegionLowering::extents_of_either(NodeId n) {
  const ir::Node& node = tree_.graph().node(n);
  const std::vector<RegionId> regions = tree_.regions(n);
  std::vector<std::pair<std::size_t, std::int64_t>> found;
  std::set<ir::Symbol> named;
  for (std::size_t j = 0; j < node.outputs.size(); ++j) {
    if (node.outputs[j] == ValueId::none) continue;
    const ir::Type& out = type(node.outputs[j]);
    for (std::int64_t a = 0; a < out.rank(); ++a) {
      const bool same = std::ranges::all_of(regions, [&](RegionId r) {
        return type(tree_.graph().region(r).results[j]).extent(a) == out.extent(a);
      });
      if (!same && named.insert(out.extent(a).symbol).second) found.emplace_back(j, a);
    }
  }
  return found;
}

// Small pieces.

void RegionLowering::define(ValueId v, Operand operand) {
  scope_.operands.insert_or_assign(v, std::move(operand));
}

/// Embeds a small constant in the program.
void RegionLowering::define_constant(ValueId v) {
  if (v == ValueId::none || scope_.operands.contains(v)) return;
  const Tensor* t = tree_.graph().constant(v);
  if (t == nullptr || !is_small_constant(tree_.graph(), v)) return;
  environment_.types[ir::index(v)] = ir::Type::tensor(t->dtype(), t->shape());
  define(v, one_element(b_, constant_element(b_, *t), t->rank()));
}

Operand RegionLowering::in_register(ValueId v, Ex x) { return one_element(b_, x, type(v).rank()); }

Operand RegionLowering::in_buffer(ValueId v, std::int32_t buffer) {
  Operand operand{
      [this, buffer](const Indices& i) { return b_.load(buffer, i); }, {}, extents_of(v)};
  operand.part = {buffer, {}, tree_.extents_known(v)};
  return operand;
}

/// A value that is only an item, or of which only the extents are read.
Operand RegionLowering::without_elements(ValueId v) {
  return {[this, v](const Indices&) -> Ex {
            invariant(false, "'{}' has no memory", tree_.graph().value(v).name);
            return {};
          },
          {},
          extents_of(v)};
}

Indices RegionLowering::zeros(ValueId v) {
  return Indices(static_cast<std::size_t>(type(v).rank()), b_.index(0));
}

Ex RegionLowering::element(ValueId v) {
  const Operand& operand = scope_.operands.at(v);
  return operand.load(Indices(operand.extents.size(), b_.index(0)));
}

std::vector<Ex> RegionLowering::extents_of(ValueId v) {
  std::vector<Ex> extents;
  for (const ir::Extent& e : type(v).extents()) extents.push_back(extent(e));
  return extents;
}

Ex RegionLowering::extent(const ir::Extent& e) {
  if (const auto at = extents_.find(e.symbol); e.symbolic() && at != extents_.end())
    return at->second;
  return integer(e);
}

Ex RegionLowering::integer(const ir::Integer& i) {
  return extent_expression(b_, i, [&](ir::Symbol name) {
    const auto at = extents_.find(name);
    if (at == extents_.end())
      broken_invariant("the extent {} is not known yet in {}", name.text(), to_text(i));
    return at->second;
  });
}

/// `v`: what is copied.
void RegionLowering::copy(const Operand& from, StorageId to, ValueId v) {
  NestScope nest(scope_.notes, [&] {
    return fmt::format("copy {} to {}", ir::name_of(tree_.graph(), v),
                       name_of_storage(to, ValueId::none, nullptr));
  });
  nest.note([&] { return plan_.why_apart(v); });
  check_room(from.extents, to);
  b_.for_all(from.extents, [&](const Indices& i) { b_.store(buffer(to), i, from.load(i)); });
}

}  // namespace rondel::lowering
