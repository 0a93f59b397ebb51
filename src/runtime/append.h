#pragma once
#include "runtime/plan.h"

#include <memory>

namespace rondel::runtime {

/// Joins tensors along an axis where the first one is a state of a loop, and the result its next
/// value. The result lies in a block with room behind it, so that the next trip appends in place:
/// the older values are prefixes of the newer ones, and none of them is ever written again. Only
/// the newest value is continued in place; any other is copied. So is a value with an extent other
/// than 1 before the axis: it would not be row-major in a block with room.
class AppendStep : public Step {
 public:
  std::int64_t axis = 0;
  /// Joins the inputs in a block of their size. It runs where appending gains nothing, and for
  /// inputs that do not fit, so that it reports them.
  std::unique_ptr<ProgramStep> join;

  std::unique_ptr<StepState> make_state() const override;
  void run(Frame&, StepState*) const override;
};

}  // namespace rondel::runtime
