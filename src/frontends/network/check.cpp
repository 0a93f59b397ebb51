// The rules that concern one loop or one conditional.
#include "base/error.h"
#include "frontends/network/known.h"
#include "frontends/network/nest.h"

namespace rondel::network {
namespace {

const ir::Type& input_type(const LayerData& l, std::size_t k) {
  require(l.input(k) != nullptr, "{}: its input {} is not set", say(l), k);
  return known(*l.input(k)).type;
}

void require_scalar(const LayerData& l, std::size_t k, bool dtype_fits, const char* what,
                    const char* expected) {
  const ir::Type& t = input_type(l, k);
  require(dtype_fits && (!t.has_rank() || t.rank() == 0), "{}: {}, {}, is {}; expected {}", say(l),
          what, say(*l.input(k)), to_text(t), expected);
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
    const std::int64_t kind = l->parameters.i("limit");
    require(kind == 0 || kind == 1, "{}: there is no trip limit {}", say(*l), kind);
    const LayerData*& there = limits[kind];
    require(there == nullptr, "{} has two {} limits, {} and {}; expected one of each kind at most",
            say(loop), kind == 0 ? "kCOUNT" : "kWHILE", there == nullptr ? "" : say_within(*there),
            say_within(*l));
    there = l;
  }
  require(limits[0] != nullptr || limits[1] != nullptr,
          "{} has no trip limit; add one of kCOUNT or kWHILE, or one of each", say(loop));
  if (limits[0] != nullptr) require_integer_scalar(*limits[0], 0, "the trip count");
  if (limits[1] != nullptr) require_bool_scalar(*limits[1], "the while limit");
}

/// Extents that are only known when running are checked then: recurrences are fixed states.
void check_recurrence(const LayerData& l) {
  require(l.input(1) != nullptr,
          "{} has no second input; set the value of the next trip with setInput(1, ...)", say(l));
  const ir::Type &first = input_type(l, 0), &next = input_type(l, 1);
  bool same = first.dtype() == next.dtype();
  if (same && first.has_rank() && next.has_rank()) {
    same = first.rank() == next.rank();
    for (std::int64_t a = 0; same && a < first.rank(); ++a)
      same = !first.extent(a).known() || !next.extent(a).known() ||
             first.extent(a).value == next.extent(a).value;
  }
  require(same, "{}: its initial value, {}, is {} and its next value, {}, is {}; expected one type",
          say(l), say(*l.input(0)), to_text(first), say(*l.input(1)), to_text(next));
}

void check_loop_output(const LayerData& l) {
  const auto output = static_cast<LoopOutput>(l.parameters.i("output"));
  if (output == LoopOutput::kLAST_VALUE) {
    const LayerData* from = l.input(0)->producer;
    require(
        from != nullptr && from->type == LayerType::kRECURRENCE && from->construct == l.construct,
        "{}: a last value is asked of {}; expected the output of a recurrence of {}", say(l),
        say(*l.input(0)), say(*l.construct));
    require(l.input(1) == nullptr, "{}: a last value has no length", say(l));
    return;
  }
  require(output == LoopOutput::kCONCATENATE || output == LoopOutput::kREVERSE,
          "{}: there is no loop output {}", say(l), static_cast<int>(output));
  if (l.input(1) != nullptr) require_integer_scalar(l, 1, "the length of a concatenation");
}

void check_loop(const ConstructData& loop) {
  check_trip_limits(loop);
  for (const LayerData* l : loop.boundary) {
    if (l->type == LayerType::kRECURRENCE) check_recurrence(*l);
    if (l->type == LayerType::kLOOP_OUTPUT) check_loop_output(*l);
    for (const auto& output : l->outputs) known(*output);  // axes
  }
}

void check_conditional(const ConstructData& conditional) {
  bool has_condition = false;
  for (const LayerData* l : conditional.boundary) {
    if (l->type == LayerType::kCONDITION) {
      has_condition = true;
      require_bool_scalar(*l, "the condition");
    }
    for (const auto& output : l->outputs) known(*output);
  }
  require(has_condition, "{} has no condition; set it with setCondition", say(conditional));
}

}  // namespace

void check_constructs(const NetworkData& network) {
  for (const auto& l : network.layers)  // types, and no path from a layer to itself
    for (const auto& output : l->outputs) known(*output);
  for (const auto& loop : network.loops) check_loop(*loop);
  for (const auto& conditional : network.conditionals) check_conditional(*conditional);
}

}  // namespace rondel::network
