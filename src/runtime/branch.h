#pragma once
#include "runtime/native_region.h"
#include "runtime/plan.h"

namespace rondel::runtime {

/// An `if`: natively as a whole, or the plan that the condition chooses; the other is not touched.
class IfStep : public Step {
 public:
  Plan then, otherwise;
  NativeSource native;
  std::vector<Slot> captures;  ///< of native code, in its order

  std::unique_ptr<StepState> make_state() const override;
  void run(Frame&, StepState*) const override;
};

}  // namespace rondel::runtime
