// The rules of single loops and conditionals.
#include "base/axis.h"
#include "base/error.h"
#include "frontends/network/inference.h"
#include "frontends/network/schedule.h"

namespace rondel::network {
namespace {

const ir::Type& input_type(const LayerData& l, std::size_t k) {
  require_at(l.input(k) != nullptr, describe(l), "its input {} is not set", k);
  return infer(*l.input(k)).type;
}

void require_scalar(const LayerData& l, std::size_t k, bool dtype_fits, const char* what,
                    const char* expected) {
  const ir::Type& t = input_type(l, k);
  require_at(dtype_fits && (!t.has_rank() || t.rank() == 0), describe(l),
             "{}, {}, is {}; expected {}", what, describe(*l.input(k)), to_text(t), expected);
}

void require_integer_scalar(const LayerData& l, std::size_t k, const char* what) {
  const DType t = input_type(l, k).dtype();
  require_scalar(l, k, t == DType::i32 || t == DType::i64, what, "i32[] or i64[]");
}

void require_bool_scalar(const LayerData& l, const char* what) {
  require_scalar(l, 0, input_type(l, 0).dtype() == DType::boolean, what, "bool[]");
}

void check_trip_limits(const ConstructData& loop) {
  const LayerData* limits[2] = {nullptr, nullptr};
  for (const LayerData* l : loop.boundary) {
    if (l->type != LayerType::kTRIP_LIMIT) continue;
    const LayerData*& there = limits[is_while(*l) ? 1 : 0];
    require(there == nullptr, "{} has two {} limits, {} and {}; expected one of each kind at most",
            describe(loop), is_while(*l) ? "WHILE" : "COUNT",
            there == nullptr ? "" : describe_within_construct(*there),
            describe_within_construct(*l));
    there = l;
  }
  require(limits[0] != nullptr || limits[1] != nullptr,
          "{} has no trip limit; add one of kind COUNT or WHILE, or one of each", describe(loop));
  if (limits[0] != nullptr) require_integer_scalar(*limits[0], 0, "the trip count");
  if (limits[1] != nullptr) require_bool_scalar(*limits[1], "the while limit");
}

bool extents_differ(const ir::Type& a, const ir::Type& b) {
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) return false;
  for (std::int64_t axis = 0; axis < a.rank(); ++axis) {
    const ir::Extent &one = a.extent(axis), &other = b.extent(axis);
    if (one.known() && other.known() && one.value != other.value) return true;
  }
  return false;
}

/// Checks extents that are known now. The others are checked at run time, because recurrences
/// become states of fixed shape.
void check_recurrence(const LayerData& l) {
  require(l.input(1) != nullptr,
          "{} has no second input; give it the value of the next trip as input 1", describe(l));
  const ir::Type &first = input_type(l, 0), &next = input_type(l, 1);
  const char* hint = nullptr;
  if (first.dtype() != next.dtype()) hint = "one type; cast one of them";
  else if (first.has_rank() && next.has_rank() && first.rank() != next.rank())
    hint = "one shape; reshape one of them";
  else if (extents_differ(first, next))
    hint =
        "one shape; a recurrence keeps its shape: what grows is written into one of the full "
        "size (scatter)";
  require_at(hint == nullptr, describe(l),
             "its initial value, {}, is {} and its next value, {}, is {}; "
             "expected {}",
             describe(*l.input(0)), to_text(first), describe(*l.input(1)), to_text(next),
             hint == nullptr ? "" : hint);
}

/// The recurrence of the loop whose next value is the tensor; null: none.
const LayerData* recurrence_to(const ConstructData& loop, const TensorData* next) {
  for (const LayerData* l : loop.boundary)
    if (l->type == LayerType::kRECURRENCE && l->input(1) == next) return l;
  return nullptr;
}

void check_last_value(const LayerData& l) {
  const TensorData* value = l.input(0);
  const LayerData* from = value->producer;
  if (from == nullptr || from->type != LayerType::kRECURRENCE || from->construct != l.construct) {
    const LayerData* meant = recurrence_to(*l.construct, value);
    const std::string hint = meant == nullptr ? ""
                                              : fmt::format(", here {}, whose second input it is",
                                                            describe_within_construct(*meant));
    fail_at(describe(l), "a last value is asked of {}; expected the output of a recurrence of {}{}",
            describe(*value), describe(*l.construct), hint);
  }
  require_at(l.input(1) == nullptr, describe(l), "a last value has no length");
}

void check_loop_output(const LayerData& l) {
  if (static_cast<LoopOutput>(l.parameters.i("output")) == LoopOutput::kLAST_VALUE)
    return check_last_value(l);
  if (l.input(1) != nullptr) require_integer_scalar(l, 1, "the length of a concatenation");
}

void check_length(const LayerData& l, std::int64_t trips) {
  if (l.input(1) == nullptr) return;
  const std::int64_t length = inferred_integer(l.input(1)).value_or(trips);
  require_at(length >= trips, describe(l), "its length, {}, is {}, but the loop makes {} trips",
             describe(*l.input(1)), length, trips);
}

void check_iterator(const LayerData& l, std::int64_t trips) {
  const ir::Type& whole = input_type(l, 0);
  if (!whole.has_rank()) return;
  const std::int64_t axis = l.parameters.i("axis");
  const ir::Extent& extent = whole.extent(axis_from_front(axis, whole.rank()));
  require_at(!extent.known() || extent.value >= trips, describe(l),
             "the extent along axis {} of {}, {}, is {}, but the loop makes {} trips", axis,
             describe(*l.input(0)), to_text(whole), extent.value, trips);
}

/// A construct does not cast the values that enter or leave it.
void check_output_types(const LayerData& l) {
  for (const auto& output : l.outputs) {
    const ir::Type& t = infer(*output).type;
    const auto& asked = l.output_types[output->position];
    require_at(!asked || dtype(*asked) == t.dtype(), describe(l),
               "its output, {}, was given the type {}; what enters or leaves a loop or a "
               "conditional keeps its type: cast it before or after",
               to_text(t), name(dtype(asked.value_or(DataType::kFLOAT))));
  }
}

void check_loop(const ConstructData& loop) {
  check_trip_limits(loop);
  for (const LayerData* l : loop.boundary) {
    if (l->type == LayerType::kRECURRENCE) check_recurrence(*l);
    check_output_types(*l);  // the type inference also checks the axes
    if (l->type == LayerType::kLOOP_OUTPUT) check_loop_output(*l);
  }
}

void check_conditional(const ConstructData& conditional) {
  bool has_condition = false;
  for (const LayerData* l : conditional.boundary) {
    if (l->type == LayerType::kCONDITION) {
      has_condition = true;
      require_bool_scalar(*l, "the condition");
    }
    check_output_types(*l);
  }
  require(has_condition, "{} has no condition; set one, a bool scalar from outside of it",
          describe(conditional));
}

}  // namespace

void check_trips(const LoopLayers& layers, const ConstructData& loop) {
  const auto trips = inferred_trips(loop);
  if (!trips) return;
  for (const LayerData* l : layers.iterators) check_iterator(*l, *trips);
  for (const LayerData* l : layers.outputs)
    if (static_cast<LoopOutput>(l->parameters.i("output")) != LoopOutput::kLAST_VALUE)
      check_length(*l, *trips);
}

void check_constructs(const NetworkData& network) {
  for (const auto& l : network.layers)  // checks types, and that no layer depends on itself
    for (const auto& output : l->outputs) infer(*output);
  for (const auto& loop : network.loops) check_loop(*loop);
  for (const auto& conditional : network.conditionals) check_conditional(*conditional);
}

}  // namespace rondel::network
