#include "runtime/branch.h"

namespace rondel::runtime {
namespace {

struct IfState : StepState {
  IfSlots slots;
  std::vector<Slot> outer;  ///< inputs, followed by captures
  NativeCache<NativeIf> natives;
  InnerFrame then, otherwise;
  void release() override {
    natives.release();
    then.release();
    otherwise.release();
  }
};

}  // namespace

std::unique_ptr<StepState> IfStep::make_state() const {
  auto state = std::make_unique<IfState>();
  state->slots = {inputs, captures, outputs};
  state->outer = inputs;
  state->outer.insert(state->outer.end(), captures.begin(), captures.end());
  return state;
}

void IfStep::run(Frame& frame, StepState* remembered) const {
  auto& state = static_cast<IfState&>(*remembered);
  const bool first = read_scalar_bool(frame[inputs[0]], "the condition");
  NativeIf* const whole = native.find(state.natives, state.outer, state.slots, frame);
  if (whole != nullptr && whole->run(frame)) {
    if (!frame.entered_again()) state.release();
    return;
  }
  const bool again = frame.entered_again();
  Frame& inner = first ? state.then.enter(then, frame, again)
                       : state.otherwise.enter(otherwise, frame, again);
  frame.release_sequences(*this);
  inner.execute();
  for (std::size_t j = 0; j < outputs.size(); ++j)
    if (outputs[j] >= 0) inner.move_result(j, frame, outputs[j]);
  inner.reset_for_reentry();
}

}  // namespace rondel::runtime
