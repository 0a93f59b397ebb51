#include "runtime/plan.h"

#include <gtest/gtest.h>

#include <limits>

/// When the step of an unsized kernel calls `check` again, and what its outputs hold before.
namespace rondel::runtime {
namespace {

/// A plan with one step, and a count of its calls of `check`.
class UnsizedKernelStepTest : public testing::Test {
 protected:
  UnsizedKernelStepTest() {
    auto step = std::make_unique<UnsizedKernelStep>();
    step->inputs = {0};
    step->outputs = {1};
    step->check = [this](std::span<const Value>) -> UnsizedKernelStep::Types {
      ++asked_;
      return {std::pair{DType::i64, Shape{}}};
    };
    step->kernel = [](kernels::UnsizedCall&) {};
    step_ = step.get();
    plan_.slot_count = 2;
    plan_.params = {0};
    plan_.results = {1};
    plan_.movable = {true};
    plan_.steps.push_back(std::move(step));
  }

  int asked_after(Value v) {
    Memory memory(std::numeric_limits<std::size_t>::max());
    runtime::Run run{memory, 1};  // testing::Test has a Run of its own
    const FrameLease frame(plan_, run);
    frame->set(0, std::move(v));
    frame->execute();
    return asked_;
  }

  int asked_ = 0;
  Plan plan_;
  UnsizedKernelStep* step_ = nullptr;
};

TEST_F(UnsizedKernelStepTest, TypesAreAskedForOnceAShape) {
  EXPECT_EQ(asked_after(Tensor::from<float>({2}, {1, 2})), 1);
  EXPECT_EQ(asked_after(Tensor::from<float>({2}, {3, 4})), 1);
  EXPECT_EQ(asked_after(Tensor::from<float>({2}, {3, 4}).strided(1, {2}, {-1})), 1);
  EXPECT_EQ(asked_after(Tensor::from<float>({2, 1}, {3, 4})), 2);
  EXPECT_EQ(asked_after(Tensor::from<float>({2}, {1, 2})), 2);
}

TEST_F(UnsizedKernelStepTest, ShapesThatHaveNotBeenSeenForLongAreForgotten) {
  for (int i = 1; i <= 100; ++i) EXPECT_EQ(asked_after(Tensor::zeros(DType::f32, {i})), i);
  EXPECT_EQ(asked_after(Tensor::zeros(DType::f32, {100})), 100);
  EXPECT_EQ(asked_after(Tensor::zeros(DType::f32, {1})), 101);
}

TEST_F(UnsizedKernelStepTest, TypesAreAskedForAgainWhereAValueThatTheyDependOnDiffers) {
  step_->value_inputs = {0};
  EXPECT_EQ(asked_after(Tensor::from<float>({2}, {1, 2})), 1);
  EXPECT_EQ(asked_after(Tensor::from<float>({2}, {1, 2})), 1);
  EXPECT_EQ(asked_after(Tensor::from<float>({2}, {1, 3})), 2);
}

TEST_F(UnsizedKernelStepTest, TypesDoNotDependOnWhatASequenceHolds) {
  EXPECT_EQ(asked_after(Sequence{}), 1);
  EXPECT_EQ(asked_after(Sequence{DType::f32, std::make_shared<std::vector<Tensor>>(3)}), 1);
  EXPECT_EQ(asked_after(Tensor::scalar(1.0F)), 2);
  EXPECT_EQ(asked_after(Sequence{}), 2);
}

TEST_F(UnsizedKernelStepTest, InCheckModeItShowsThatTheKernelWroteNothing) {
  Memory memory(std::numeric_limits<std::size_t>::max(), true);
  runtime::Run run{memory, 1};
  const FrameLease frame(plan_, run);
  for (int again = 0; again < 2; ++again) {
    frame->set(0, Tensor::scalar(1.0F));
    frame->execute();
    auto* const y = (*frame)[1].tensor().data_as<std::uint64_t>();
    EXPECT_EQ(*y, 0xa5a5a5a5a5a5a5a5U);
    *y = 1;
  }
}

}  // namespace
}  // namespace rondel::runtime
