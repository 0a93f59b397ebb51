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

/// For each slot, the number of the step that computes it and of the step that releases it; the
/// number of steps if no step does.
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

/// A carried value and the number of steps after which it is released. If the last reader is a
/// program that cannot fail, the value is released before that step, which may write over it;
/// otherwise it is released when the next value has been computed.
struct GivenUp {
  std::size_t done;
  Carried* of;
};

/// One kept_part-th of all bytes may be kept to the end, so that the run can be ended for longer.
constexpr std::int64_t kept_part = 16;

/// The first of the steps at the end of the plan that are all programs that cannot fail. The time
/// of each is bounded by the size of its tensors.
std::size_t last_programs(const Plan& plan) {
  const auto is_one = [](const runtime::Step& s) {
    const auto* program = dynamic_cast<const runtime::ProgramStep*>(&s);
    return program != nullptr && !program->can_fail;
  };
  std::size_t first = plan.steps.size();
  while (first > 0 && is_one(*plan.steps[first - 1])) --first;
  return first;
}

/// The carried values to release, in order; without values that are small in total, and without
/// values that no step changes.
std::vector<GivenUp> given_up(const Plan& plan, const SlotTimes& times,
                              std::span<Carried> carried) {
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
  const SlotTimes times(plan);
  const std::vector<GivenUp> gone = given_up(plan, times, carried);
  std::size_t done = gone.empty() ? plan.steps.size()
                                  : std::max(gone.front().done, last_programs(plan));
  frame.begin_steps();
  frame.execute(0, done);
  watch.end();
  frame.run().check_stop();
  const auto execute_until = [&](std::size_t end) {
    for (; done < end; ++done) frame.execute(done, done + 1);
  };
  try {
    for (const GivenUp& g : gone) {
      execute_until(g.done);
      g.of->value = Value();
    }
    execute_until(plan.steps.size());
  } catch (...) {
    // The inputs of the program that failed are as they were.
    for (Carried& c : carried) {
      if (c.value.defined()) continue;
      const Slot old = plan.params[c.input], next = plan.results[c.output];
      c.value = frame[times.made[static_cast<std::size_t>(next)] < done ? next : old];
    }
    throw;
  }
  for (Carried& c : carried) c.value = frame[plan.results[c.output]];
}

}  // namespace rondel::session
