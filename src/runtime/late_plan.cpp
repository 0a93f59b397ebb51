#include "runtime/late_plan.h"

namespace rondel::runtime {

void LatePlanStep::run(Frame& frame, StepState*) const {
  std::vector<Value> values;
  for (const Slot s : inputs) values.push_back(frame[s]);
  const std::shared_ptr<const Plan> made = plan(values);
  const FrameLease inner(*made, frame.run());
  for (std::size_t k = 0; k < values.size(); ++k) inner->set(made->params[k], std::move(values[k]));
  inner->execute();
  std::size_t next = 0;
  for (const Slot s : outputs)
    if (s >= 0) frame.set(s, (*inner)[made->results[next++]]);
}

}  // namespace rondel::runtime
