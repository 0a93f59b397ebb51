#include "runtime/plan.h"

#include <gtest/gtest.h>

#include <limits>

/// When the step of a sized kernel calls `prepare` again.
namespace rondel::runtime {
namespace {

/// Copies a vector. Its workspace has as many bytes as the vector.
class Copy : public kernels::SizedKernel {
 public:
  Copy() : SizedKernel(1, 2) {}
  std::int64_t workspace(std::span<const kernels::Operand> operands) const override {
    return 4 * operands[0].extents[0];
  }
  Status run(Context&, std::span<const View> views) const override {
    const auto* x = static_cast<const float*>(views[0].data);
    EXPECT_EQ(views[2].extents[0], views[0].extents[0]);
    EXPECT_EQ(views[1].data, nullptr) << "left out";
    EXPECT_GE(views[3].extents[0], 4 * views[0].extents[0]) << "the workspace";
    std::copy_n(x, views[0].extents[0], static_cast<float*>(views[2].data));
    if (too_much) static_cast<float*>(views[2].data)[views[2].extents[0]] = 0;
    return 0;
  }
  bool too_much = false;
};

/// The class of vectors with at least two elements.
class Vectors : public ClassTypes {
 public:
  bool evaluate(std::span<const Tensor* const> inputs, OutputTypes& types) const override {
    if (inputs[0] == nullptr || inputs[0]->size() < 2) return false;
    types = {{DType::f32, Shape{}}, {DType::f32, inputs[0]->shape()}};
    return true;
  }
};

/// A plan with one step that copies, and a count of its calls of `prepare`.
class KernelStepTest : public testing::Test {
 protected:
  KernelStepTest() {
    auto step = std::make_unique<KernelStep>();
    step->inputs = {0};
    step->outputs = {-1, 1};
    step->prepare = [this](std::span<const Value> inputs) -> KernelStep::Prepared {
      ++asked_;
      const Shape& shape = inputs[0].tensor().shape();
      return {{{DType::f32, Shape{}}, {DType::f32, shape}},
              copy_,
              shape[0] < 2 ? nullptr : std::make_shared<Vectors>()};
    };
    plan_.slot_count = 2;
    plan_.params = {0};
    plan_.results = {1};
    plan_.movable = {true};
    plan_.steps.push_back(std::move(step));
  }

  int asked_after(std::int64_t extent, bool check_mode = false) {
    Memory memory(std::numeric_limits<std::size_t>::max(), check_mode);
    runtime::Run run{memory, 1};  // testing::Test has a Run of its own
    const FrameLease frame(plan_, run);
    const Tensor x = Tensor::zeros(DType::f32, {extent});
    x.data_as<float>()[extent - 1] = static_cast<float>(extent);
    frame->set(0, x);
    frame->execute();
    const Tensor& y = (*frame)[1].tensor();
    EXPECT_EQ(y.shape(), Shape{extent});
    EXPECT_EQ(y.data_as<float>()[extent - 1], static_cast<float>(extent));
    return asked_;
  }

  int asked_ = 0;
  const std::shared_ptr<Copy> copy_ = std::make_shared<Copy>();
  Plan plan_;
};

TEST_F(KernelStepTest, IsPreparedOnceAClass) {
  EXPECT_EQ(asked_after(5), 1);
  for (std::int64_t n = 2; n < 40; ++n) EXPECT_EQ(asked_after(n), 1) << n;
  EXPECT_EQ(asked_after(1), 2) << "not of the class";
  EXPECT_EQ(asked_after(1), 2);
  for (std::int64_t n = 2; n < 40; ++n) EXPECT_EQ(asked_after(n), 2) << n;
  EXPECT_EQ(asked_after(1), 3) << "of no class, and not seen for long";
}

TEST_F(KernelStepTest, RunsBetweenGuardsInCheckMode) {
  asked_after(5, true);
  copy_->too_much = true;
  try {
    asked_after(6, true);
    ADD_FAILURE() << "the write past the output is not found";
  } catch (const Error& e) {
    EXPECT_EQ(e.blame(), Blame::internal);
    EXPECT_NE(std::string(e.what()).find("wrote outside of its output"), std::string::npos);
  }
}

}  // namespace
}  // namespace rondel::runtime
