#include "session/carried.h"

#include <algorithm>
#include <vector>

namespace rondel::session {
namespace {

using runtime::Frame;
using runtime::Plan;
using runtime::Slot;

std::int64_t bytes_of(const Value& v) {
  const auto* t = std::get_if<Tensor>(&v);
  return t == nullptr ? 0 : t->size() * static_cast<std::int64_t>(byte_size(t->dtype()));
}

/// The step after which each slot has been made, and after which it has been released; the number
/// of steps for slots that no step makes or releases.
struct SlotTimes {
  explicit SlotTimes(const Plan& plan)
      : made(plan.slot_count, plan.steps.size()), released(plan.slot_count, plan.steps.size()) {
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      for (const Slot slot : plan.steps[s]->outputs)
        if (slot >= 0) made[static_cast<std::size_t>(slot)] = s;
      for (const Slot slot : plan.steps[s]->release) released[static_cast<std::size_t>(slot)] = s;
    }
  }
  std::vector<std::size_t> made, released;
};

/// A value that is given up once so many steps are done: where a program that cannot fail reads it
/// for the last time, before that one, which may write over it; else when the next value is there.
struct GivenUp {
  std::size_t done;
  Carried* of;
};

/// The part of all bytes that is kept to the end, if that lets the run be ended for longer.
constexpr std::int64_t kept_part = 16;

/// Where the programs begin that end the plan and cannot fail: each runs for as long as its tensors
/// are large.
std::size_t last_programs(const Plan& plan) {
  const auto is_one = [](const runtime::Step& s) {
    const auto* program = dynamic_cast<const runtime::ProgramStep*>(&s);
    return program != nullptr && !program->can_fail;
  };
  std::size_t first = plan.steps.size();
  while (first > 0 && is_one(*plan.steps[first - 1])) --first;
  return first;
}

/// In order, but for values that are small together, and those that go through unchanged.
std::vector<GivenUp> given_up(const Plan& plan, std::span<Carried> carried) {
  const SlotTimes times(plan);
  const std::size_t programs = last_programs(plan);
  std::vector<GivenUp> all;
  std::int64_t total = 0;
  for (Carried& c : carried) {
    const auto old = static_cast<std::size_t>(plan.params[c.input]);
    const auto next = static_cast<std::size_t>(plan.results[c.output]);
    const std::size_t read = times.released[old], made = times.made[next];
    if (read < plan.steps.size() && made < plan.steps.size())
      all.push_back({read >= std::max(made, programs) ? read : std::max(read, made) + 1, &c});
    total += bytes_of(c.value);
  }
  std::ranges::stable_sort(all, {}, &GivenUp::done);
  std::int64_t kept = 0;
  const auto first = std::ranges::find_if(all, [&](const GivenUp& g) {
    kept += bytes_of(g.of->value);
    return kept > total / kept_part;
  });
  all.erase(all.begin(), first);
  return all;
}

}  // namespace

void execute_step(Frame& frame, Watch& watch, std::span<Carried> carried) {
  const Plan& plan = frame.plan();
  const std::vector<GivenUp> gone = given_up(plan, carried);
  std::size_t done = gone.empty() ? plan.steps.size()
                                  : std::max(gone.front().done, last_programs(plan));
  frame.begin_steps();
  frame.execute(0, done);
  watch.end();
  frame.run().check_stop();
  try {
    for (const GivenUp& g : gone) {
      frame.execute(done, std::max(done, g.done));
      done = std::max(done, g.done);
      g.of->value = Value();
    }
    frame.execute(done, plan.steps.size());
  } catch (...) {
    for (Carried& c : carried) {
      if (c.value.defined()) continue;
      const Value& next = frame[plan.results[c.output]];
      c.value = next.defined() ? next : frame[plan.params[c.input]];
    }
    throw;
  }
  for (Carried& c : carried) c.value = frame[plan.results[c.output]];
}

}  // namespace rondel::session
