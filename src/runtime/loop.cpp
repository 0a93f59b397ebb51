#include "runtime/loop.h"

#include "base/axis.h"
#include "base/error.h"
#include "runtime/stack.h"

#include <algorithm>
#include <limits>

namespace rondel::runtime {
namespace {

void set_integer(Frame& frame, Slot to, std::int64_t v) {
  static const OutputForm type(DType::i64, {});
  *frame.renew(to, type).data_as<std::int64_t>() = v;
}

void set_boolean(Frame& frame, Slot to, bool v) {
  static const OutputForm type(DType::boolean, {});
  *frame.renew(to, type).data_as<std::uint8_t>() = v ? 1 : 0;
}

/// What the trace of the run, if there is one, says of a loop.
void note_in_trace(const Run& run, std::int64_t trips, bool whole) {
  if (run.trace != nullptr) [[unlikely]]
    run.trace->note_loop(trips, whole);
}

}  // namespace

struct LoopState : StepState {
  LoopSlots slots;
  LoopStart start;
  std::vector<Stack> stacks;
  NativeCache<NativeLoop> natives;
  InnerFrame body;
  std::vector<Content> next;  ///< the next `go` and states that cannot be moved but are shared
  void release() override {
    for (Stack& s : stacks) s.release();
    natives.release();
    body.release();
    for (Content& c : next) c.clear();
  }
};

std::unique_ptr<StepState> LoopStep::make_state() const {
  auto state = std::make_unique<LoopState>();
  std::size_t at = (spec.has_trips ? 1U : 0U) + (spec.has_go ? 1U : 0U);
  for (std::size_t j = 0; j < spec.states; ++j) {
    state->slots.states.push_back(inputs[at++]);
    state->slots.finals.push_back(outputs[j]);
  }
  state->slots.state_names = spec.state_names;
  for (std::size_t j = 0; j < spec.scans; ++j) state->slots.scans.push_back(inputs[at++]);
  state->slots.outer = inputs;
  for (const auto& [theirs, ours] : body.captures) {
    state->slots.captures.push_back(theirs);
    state->slots.outer.push_back(theirs);
  }
  for (std::size_t k = 0; k < spec.stacks; ++k)
    state->stacks.emplace_back(StackNames{spec.item_names[k], spec.stack_names[k]},
                               spec.axis_out[k], spec.reverse_out[k] != 0);
  state->next.resize(1 + spec.states);
  return state;
}

void LoopStep::start(Frame& frame, LoopStart& s) const {
  s.trips.reset();
  s.go = true;
  s.conditional = spec.has_go;
  s.scan_extents.clear();
  s.extents.clear();
  std::size_t at = 0;
  if (spec.has_trips)
    s.trips = std::max<std::int64_t>(read_scalar_i64(frame[inputs[at++]], "the trip count"), 0);
  if (spec.has_go) s.go = read_scalar_bool(frame[inputs[at++]], "the condition");
  at += spec.states;
  for (std::size_t j = 0; j < spec.scans; ++j) {
    const Tensor& scan = frame[inputs[at++]].tensor();
    const std::int64_t rank = scan.rank(), axis = spec.axis_in[j];
    if (!has_axis(axis, rank))
      fail("scan '{}' is {}; axis {} is out of range", spec.scan_names[j],
           to_text(scan.dtype(), scan.shape()), axis);
    s.scan_extents.push_back(scan.shape()[static_cast<std::size_t>(axis_from_front(axis, rank))]);
  }
  for (std::size_t k = 0; k < spec.stacks; ++k) {
    s.extents.emplace_back();
    if (spec.extents[k] == 0) continue;
    const std::int64_t extent = read_scalar_i64(frame[inputs[at++]], "a stack's extent");
    require(extent >= 0, "the length of output '{}' is {}; it cannot be negative",
            spec.stack_names[k], extent);
    s.extents.back() = extent;
  }
  if (!spec.has_trips && !spec.has_go && spec.scans > 0)
    s.trips = *std::min_element(s.scan_extents.begin(), s.scan_extents.end());
  s.certain = !spec.has_go && s.trips.has_value();
  for (std::size_t k = 0; s.certain && k < spec.stacks; ++k) {
    const std::int64_t length = s.extents[k].value_or(*s.trips);
    require(length >= *s.trips, "the length of output '{}' is {}, but the loop makes {} trips",
            spec.stack_names[k], length, *s.trips);
  }
}

void LoopStep::begin_trip(LoopState& state, Frame& inner, Frame& frame, std::int64_t t) const {
  const LoopStart& s = state.start;
  set_integer(inner, body.params[0], t);
  for (std::size_t j = 0; j < spec.scans; ++j) {
    const std::int64_t extent = s.scan_extents[j];
    if (t >= extent)
      fail("scan '{}' has extent {}: trip {}{} reads past it", spec.scan_names[j], extent, t,
           s.certain ? fmt::format(" of a count of {}", *s.trips) : "");
    const Tensor& scan = frame[state.slots.scans[j]].tensor();
    const std::int64_t rank = scan.rank(), axis = spec.axis_in[j];
    inner.set(body.params[2 + spec.states + j],
              scan.at(axis_from_front(axis, rank), spec.reverse_in[j] != 0 ? extent - 1 - t : t));
  }
}

/// Adds the items to their stacks, then passes `go` and the states on to the parameters of the next
/// trip. Results that are shared rather than moved are saved first, because they may be parameters
/// that this overwrites.
void LoopStep::end_trip(LoopState& state, Frame& inner, Frame& frame, std::int64_t t) const {
  for (std::size_t j = 0; j < spec.states; ++j) {
    if (spec.fixed[j] == 0) continue;
    const Content& was = frame.content(state.slots.states[j]);
    const Content& is = inner.content(body.results[1 + j]);
    if (was.form() == is.form() && was.form() != 0) continue;
    const Tensor &first = was.value().tensor(), &next = is.value().tensor();
    if (next.shape() != first.shape())
      fail("state '{}' changes from {} to {}; it is of fixed shape", spec.state_names[j],
           to_text(first.dtype(), first.shape()), to_text(next.dtype(), next.shape()));
  }
  for (std::size_t k = 0; k < spec.stacks; ++k)
    state.stacks[k].put(t, inner[body.results[1 + spec.states + k]].tensor());
  // Result r becomes parameter 1 + r of the next trip.
  const auto stays = [&](std::size_t r) { return body.results[r] == body.params[1 + r]; };
  for (std::size_t r = 0; r <= spec.states; ++r)
    if (!body.movable[r] && !stays(r)) state.next[r].share(inner.content(body.results[r]));
  for (std::size_t r = 0; r <= spec.states; ++r)
    if (body.movable[r]) inner.move_result(r, inner, body.params[1 + r]);
    else if (!stays(r)) inner.content(body.params[1 + r]).take_over(state.next[r]);
}

std::int64_t LoopStep::run_steps(Frame& frame, LoopState& state) const {
  Run& run = frame.run();
  const LoopStart& s = state.start;
  Frame& inner = state.body.enter(body, frame, true);
  for (std::size_t j = 0; j < spec.states; ++j) {
    inner.save_spare_block(body.params[2 + j]);
    inner.content(body.params[2 + j]).share(frame.content(state.slots.states[j]));
  }
  frame.release_sequences(*this);
  set_boolean(inner, body.params[1], s.go);
  bool goes_on = s.go;
  std::int64_t t = 0;
  const std::int64_t most = s.trips.value_or(std::numeric_limits<std::int64_t>::max());
  try {
    TracedTrips traced(run.trace);
    for (; goes_on && t < most; ++t) {
      traced.begin(t);
      run.check_stop();
      if (t >= run.max_trips) throw run.out_of_trips();
      begin_trip(state, inner, frame, t);
      inner.execute();
      if (spec.has_go) goes_on = read_scalar_bool(inner[body.results[0]], "the body's condition");
      end_trip(state, inner, frame, t);
      traced.end(t);
    }
  } catch (const Error& e) { throw e.within(source, t); }
  for (std::size_t j = 0; j < spec.states; ++j)
    if (outputs[j] >= 0) inner.exchange(body.params[2 + j], frame, outputs[j]);
  inner.reset_for_reentry();
  note_in_trace(run, t, false);
  return t;
}

/// Nullopt: the loop must run step by step.
std::optional<std::int64_t> LoopStep::run_native(Frame& frame, LoopState& state,
                                                 NativeLoop& loop) const {
  const std::optional<NativeLoop::Outcome> outcome = loop.run(frame, state.start, state.stacks);
  if (!outcome) return std::nullopt;
  const std::optional<std::int64_t>& trips = state.start.trips;
  if (outcome->go && outcome->trips >= frame.run().max_trips && (!trips || outcome->trips < *trips))
    throw frame.run().out_of_trips().within(source, outcome->trips);
  return outcome->trips;
}

void LoopStep::begin_stacks(Frame& frame, LoopState& state) const {
  const LoopStart& s = state.start;
  for (std::size_t k = 0; k < spec.stacks; ++k)
    state.stacks[k].begin(frame.run(), s.extents[k], s.certain ? s.trips : std::nullopt,
                          stack_slot(k) < 0 ? Value() : frame.content(stack_slot(k)).take());
}

/// Runs the loop, as a whole if it can. Returns the number of trips.
std::int64_t LoopStep::run_trips(Frame& frame, LoopState& state) const {
  begin_stacks(frame, state);
  NativeLoop* const whole = native.find(state.natives, state.slots.outer, state.slots, frame);
  if (whole == nullptr) return run_steps(frame, state);
  do {
    if (const auto trips = run_native(frame, state, *whole)) {
      note_in_trace(frame.run(), *trips, true);
      return *trips;
    }
    begin_stacks(frame, state);
  } while (whole->forget_sizes());
  try {
    return run_steps(frame, state);
  } catch (const Error& e) {
    // The error of the whole names a state rather than an allocation.
    const bool of_memory = e.blame() == Blame::limit && !frame.run().trips_are_used_up;
    if (of_memory && whole->no_memory()) throw Error(*whole->no_memory());
    throw;
  }
}

/// The outputs for a trip count of zero: finals are the initial values; stacks have no items.
void LoopStep::run_zero_trips(Frame& frame, const LoopStart& s) const {
  const std::size_t states_at = (spec.has_trips ? 1U : 0U) + (spec.has_go ? 1U : 0U);
  for (std::size_t j = 0; j < spec.states; ++j)
    if (outputs[j] >= 0) frame.content(outputs[j]).share(frame.content(inputs[states_at + j]));
  std::vector<ItemType> items;
  for (std::size_t k = 0; k < spec.stacks; ++k) {
    const Slot out = outputs[spec.states + k];
    if (out < 0) continue;
    if (items.empty()) {
      std::vector<Slot> captures;
      for (const auto& [theirs, ours] : body.captures) captures.push_back(theirs);
      items = item_types(values_of(frame, inputs), values_of(frame, captures));
    }
    Shape shape = items[k].shape.value_or(Shape{});
    for (std::int64_t& extent : shape) extent = std::max<std::int64_t>(extent, 0);
    const auto rank = static_cast<std::int64_t>(shape.size()) + 1;
    const std::int64_t axis = items[k].shape ? spec.axis_out[k] : 0;
    shape.insert(shape.begin() + axis_from_front(axis, rank), s.extents[k].value_or(0));
    frame.set(out, frame.run().zeros(items[k].dtype, std::move(shape)));
  }
}

void LoopStep::run(Frame& frame, StepState* remembered) const {
  auto& state = static_cast<LoopState&>(*remembered);
  const LoopStart& s = state.start;
  start(frame, state.start);
  std::int64_t n = 0;
  if (!s.go || (s.trips && *s.trips == 0)) {
    run_zero_trips(frame, s);
  } else {
    n = run_trips(frame, state);
    for (std::size_t k = 0; k < spec.stacks; ++k) try {
        Value joined = state.stacks[k].finish(n);
        if (stack_slot(k) >= 0) frame.set(stack_slot(k), std::move(joined));
      } catch (const Error& e) { throw e.within(source); }
  }
  const Slot count = outputs[spec.states + spec.stacks];
  if (count >= 0) set_integer(frame, count, n);
  if (!frame.entered_again()) state.release();
}

}  // namespace rondel::runtime
