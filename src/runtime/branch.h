#pragma once
#include "runtime/native_region.h"
#include "runtime/plan.h"

namespace rondel::runtime {

/// An `if`. Runs as one native program if there is one; otherwise runs the plan of the branch that
/// the condition selects. The other branch is not evaluated.
class IfStep : public Step {
 public:
  Plan then, otherwise;
  NativeSource native;
  std::vector<Slot> captures;  ///< captures of the native code, as `RegionCode` numbers them

  std::unique_ptr<StepState> make_state() const override;
  void run(Frame&, StepState*) const override;
};

}  // namespace rondel::runtime
