#include "ir/loop_editor.h"

#include "base/error.h"

#include <algorithm>
#include <numeric>

namespace rondel::ir {
namespace {

template <class List> void erase_at(List& list, std::size_t k) {
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(k));
}

template <class List> void reorder(List& list, std::span<const std::size_t> order) {
  List now;
  for (const std::size_t k : order) now.push_back(list[k]);
  list = std::move(now);
}

/// A permutation of `size` elements: the part that begins at `from` is reordered, the rest stays.
std::vector<std::size_t> within(std::size_t size, std::size_t from,
                                std::span<const std::size_t> order) {
  std::vector<std::size_t> all(size);
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (std::size_t k = 0; k < order.size(); ++k) all[from + k] = from + order[k];
  return all;
}

std::vector<ValueId> ordered(const std::vector<ValueId>& list, std::size_t from,
                             std::span<const std::size_t> order) {
  std::vector<ValueId> now = list;
  reorder(now, within(list.size(), from, order));
  return now;
}

void check_order(std::span<const std::size_t> order, std::size_t count) {
  std::vector<bool> seen(count);
  for (const std::size_t k : order)
    if (k < count) seen[k] = true;
  invariant(order.size() == count && std::ranges::count(seen, false) == 0,
            "an order of {} does not name each of {} once", order.size(), count);
}

}  // namespace

void LoopEditor::set_optional_input(bool& present, std::size_t at, ValueId v) {
  if (present && v != ValueId::none) g_.set_input(n_, at, v);
  else if (present) g_.erase_input(n_, at);
  else if (v != ValueId::none) g_.insert_input(n_, at, v);
  present = v != ValueId::none;
  commit();
}

void LoopEditor::set_trips(ValueId v) {
  set_optional_input(parts_.has_trips, parts_.trips_at(), v);
}
void LoopEditor::set_go(ValueId v) { set_optional_input(parts_.has_go, parts_.go_at(), v); }

LoopEditor::State LoopEditor::add_state(ValueId initial, ValueId next, const Type& type,
                                        std::string name) {
  const std::size_t s = parts_.states;
  const ValueId param = g_.insert_param(parts_.body, 2 + s, type, std::move(name));
  g_.insert_result(parts_.body, 1 + s, next == ValueId::none ? param : next);
  g_.insert_input(n_, parts_.scans_at(), initial);
  // Not `type`: it may refer to the type of a value, and `insert_param` may have moved that value.
  const ValueId final = g_.insert_output(n_, s, Type(g_.value(param).type), {});
  ++parts_.states;
  parts_.fixed.push_back(0);
  parts_.keeps.push_back(0);
  commit();
  return {param, final};
}

void LoopEditor::set_fixed(std::size_t s, bool fixed) {
  parts_.fixed.at(s) = fixed ? 1 : 0;
  commit();
}

void LoopEditor::set_keeps(std::size_t s, bool keeps) {
  parts_.keeps.at(s) = keeps ? 1 : 0;
  commit();
}

void LoopEditor::remove_state(std::size_t s) {
  invariant(s < parts_.states, "state {} of {} is taken out", s, parts_.states);
  g_.erase_result(parts_.body, 1 + s);
  g_.erase_param(parts_.body, 2 + s);
  g_.erase_input(n_, parts_.states_at() + s);
  g_.erase_output(n_, s);
  --parts_.states;
  erase_at(parts_.fixed, s);
  erase_at(parts_.keeps, s);
  commit();
}

void LoopEditor::reorder_states(std::span<const std::size_t> order) {
  check_order(order, parts_.states);
  g_.reorder_params(parts_.body, within(body().params.size(), 2, order));
  g_.set_results(parts_.body, ordered(body().results, 1, order));
  g_.set_inputs(n_, ordered(loop().inputs, parts_.states_at(), order));
  g_.reorder_outputs(n_, within(loop().outputs.size(), 0, order));
  reorder(parts_.fixed, order);
  reorder(parts_.keeps, order);
  commit();
}

ValueId LoopEditor::add_scan(ValueId x, std::int64_t axis, bool reverse, const Type& element,
                             std::string name) {
  g_.insert_input(n_, parts_.scans_at() + parts_.scans, x);
  ++parts_.scans;
  parts_.axis_in.push_back(axis);
  parts_.reverse_in.push_back(reverse ? 1 : 0);
  commit();
  return g_.add_param(parts_.body, element, std::move(name));
}

void LoopEditor::remove_scan(std::size_t k) {
  invariant(k < parts_.scans, "scan {} of {} is taken out", k, parts_.scans);
  g_.erase_param(parts_.body, 2 + parts_.states + k);
  g_.erase_input(n_, parts_.scans_at() + k);
  --parts_.scans;
  erase_at(parts_.axis_in, k);
  erase_at(parts_.reverse_in, k);
  commit();
}

void LoopEditor::reorder_scans(std::span<const std::size_t> order) {
  check_order(order, parts_.scans);
  g_.reorder_params(parts_.body, within(body().params.size(), 2 + parts_.states, order));
  g_.set_inputs(n_, ordered(loop().inputs, parts_.scans_at(), order));
  reorder(parts_.axis_in, order);
  reorder(parts_.reverse_in, order);
  commit();
}

ValueId LoopEditor::extent(std::size_t k) const {
  return parts_.has_extent(k) ? loop().inputs[parts_.extent_at(k)] : ValueId::none;
}

ValueId LoopEditor::add_stack(ValueId item, std::int64_t axis, bool reverse, ValueId extent,
                              const Type& stack, std::string name) {
  const std::size_t k = parts_.stacks++;
  parts_.axis_out.push_back(axis);
  parts_.reverse_out.push_back(reverse ? 1 : 0);
  parts_.extents.push_back(0);
  parts_.declared.emplace_back();
  g_.add_result(parts_.body, item);
  const ValueId made = g_.insert_output(n_, parts_.states + k, stack, std::move(name));
  set_extent(k, extent);
  return made;
}

void LoopEditor::set_layout(std::size_t k, std::int64_t axis, bool reverse) {
  parts_.axis_out.at(k) = axis;
  parts_.reverse_out.at(k) = reverse ? 1 : 0;
  commit();
}

void LoopEditor::set_declared(std::size_t k, Type item) {
  parts_.declared.at(k) = std::move(item);
  commit();
}

void LoopEditor::set_extent(std::size_t k, ValueId v) {
  bool present = parts_.has_extent(k);
  const std::size_t at = parts_.extent_at(k);
  parts_.extents.at(k) = v == ValueId::none ? 0 : 1;
  set_optional_input(present, at, v);
}

void LoopEditor::remove_stack(std::size_t k) {
  invariant(k < parts_.stacks, "stack {} of {} is taken out", k, parts_.stacks);
  set_extent(k, ValueId::none);
  g_.erase_result(parts_.body, 1 + parts_.states + k);
  g_.erase_output(n_, parts_.states + k);
  --parts_.stacks;
  erase_at(parts_.axis_out, k);
  erase_at(parts_.reverse_out, k);
  erase_at(parts_.extents, k);
  erase_at(parts_.declared, k);
  commit();
}

void LoopEditor::reorder_stacks(std::span<const std::size_t> order) {
  check_order(order, parts_.stacks);
  std::vector<ValueId> inputs = loop().inputs, extents;
  for (std::size_t k = 0; k < parts_.stacks; ++k) extents.push_back(extent(k));
  inputs.resize(parts_.scans_at() + parts_.scans);
  for (const std::size_t k : order)
    if (extents[k] != ValueId::none) inputs.push_back(extents[k]);
  g_.set_inputs(n_, std::move(inputs));
  g_.set_results(parts_.body, ordered(body().results, 1 + parts_.states, order));
  g_.reorder_outputs(n_, within(loop().outputs.size(), parts_.states, order));
  reorder(parts_.axis_out, order);
  reorder(parts_.reverse_out, order);
  reorder(parts_.extents, order);
  reorder(parts_.declared, order);
  commit();
}

ValueId restored_output(Graph& g, NodeId loop, std::size_t j, const Type& t) {
  if (const ValueId v = g.node(loop).outputs[j]; v != ValueId::none) return v;
  g.erase_output(loop, j);
  return g.insert_output(loop, j, Type(t), {});
}

}  // namespace rondel::ir
