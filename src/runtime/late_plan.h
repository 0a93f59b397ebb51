#pragma once
#include "runtime/plan.h"

namespace rondel::runtime {

/// A step whose plan depends on its inputs' ranks and is made when it runs. The plan's parameters
/// are the step's inputs; its results are the step's outputs but for those that are left out.
class LatePlanStep : public Step {
 public:
  std::function<std::shared_ptr<const Plan>(std::span<const Value> inputs)> plan;
  void run(Frame&, StepState*) const override;
};

}  // namespace rondel::runtime
