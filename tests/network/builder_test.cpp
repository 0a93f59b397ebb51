// The builder and its options: code written for TensorRT is accepted.
#include "network/net.h"

#include <memory>

namespace rondel::network {
namespace {

struct Log : ILogger {
  std::vector<std::string> lines;
  void log(Severity, AsciiChar const* message) noexcept override { lines.emplace_back(message); }
};

TEST(NetworkBuilder, options_begin_as_tensorrts_and_can_be_read_back) {
  Log log;
  const std::unique_ptr<IBuilder> builder(createInferBuilder(log));
  const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  EXPECT_EQ(config->getAvgTimingIterations(), 1);
  EXPECT_EQ(config->getEngineCapability(), EngineCapability::kSTANDARD);
  EXPECT_EQ(config->getDefaultDeviceType(), DeviceType::kGPU);
  EXPECT_EQ(config->getMaxNbTactics(), -1);
  config->setAvgTimingIterations(8);
  config->setMaxNbTactics(3);
  config->setDefaultDeviceType(DeviceType::kDLA);
  config->setDLACore(0);
  config->setProfileStream(nullptr);
  config->setMaxAuxStreams(2);
  config->setHardwareCompatibilityLevel(HardwareCompatibilityLevel::kAMPERE_PLUS);
  config->setFlag(BuilderFlag::kSTRIP_PLAN);
  config->setFlag(BuilderFlag::kWEIGHT_STREAMING);
  EXPECT_EQ(config->getAvgTimingIterations(), 8);
  EXPECT_EQ(config->getDefaultDeviceType(), DeviceType::kDLA);
  EXPECT_EQ(config->getMaxAuxStreams(), 2);
  EXPECT_EQ(config->getFlags(), 1U << 19 | 1U << 21);
  EXPECT_EQ(log.lines, builder->notes());
  EXPECT_THAT(log.lines,
              testing::Contains("the number of tactics is ignored: nothing is timed when "
                                "a network is built"));
  config->reset();
  EXPECT_EQ(config->getFlags(), 0U);
  EXPECT_EQ(config->getAvgTimingIterations(), 1);
}

TEST(NetworkBuilder, takes_what_means_nothing_here) {
  Log log;
  IBuilder builder(log);
  EXPECT_EQ(builder.getLogger(), &log);
  EXPECT_TRUE(builder.setMaxThreads(4));
  EXPECT_EQ(builder.getMaxThreads(), 4);
  builder.setErrorRecorder(nullptr);
  builder.reset();
  EXPECT_EQ(builder.getMaxThreads(), 0);
  EXPECT_TRUE(initLibNvInferPlugins(&log, ""));
  EXPECT_EQ(log.lines.back(), "plugins are ignored: there are none");
  int major = 0, minor = 0, patch = 0;
  ASSERT_EQ(std::sscanf(version(), "%d.%d.%d", &major, &minor, &patch), 3);
  EXPECT_EQ(getInferLibVersion(), major * 10000 + minor * 100 + patch);
}

TEST(NetworkBuilder, shape_values_of_a_profile_are_kept) {
  IBuilder builder;
  IOptimizationProfile* profile = builder.createOptimizationProfile();
  const std::int32_t values[] = {1, 2, 3};
  EXPECT_EQ(profile->getNbShapeValues("shape"), -1);
  EXPECT_EQ(profile->getShapeValues("shape", OptProfileSelector::kMIN), nullptr);
  EXPECT_TRUE(profile->setShapeValues("shape", OptProfileSelector::kMIN, values, 3));
  EXPECT_FALSE(profile->setShapeValues("shape", OptProfileSelector::kMAX, nullptr, 3));
  EXPECT_EQ(profile->getNbShapeValues("shape"), 3);
  EXPECT_EQ(profile->getShapeValues("shape", OptProfileSelector::kMIN)[2], 3);
  EXPECT_EQ(profile->getShapeValues("shape", OptProfileSelector::kMAX), nullptr);
  EXPECT_THROW(profile->getNbShapeValues(nullptr), Error);
}

TEST(NetworkBuilder, a_network_knows_what_it_was_made_by_and_with) {
  Log log;
  IBuilder builder(log);
  const auto flags = 1U << static_cast<int>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
  const std::unique_ptr<INetworkDefinition> network(builder.createNetworkV2(flags));
  EXPECT_EQ(&network->getBuilder(), &builder);
  EXPECT_EQ(network->getFlags(), flags);
  EXPECT_TRUE(network->getFlag(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED));
  EXPECT_FALSE(network->getFlag(NetworkDefinitionCreationFlag::kEXPLICIT_BATCH));
  EXPECT_FALSE(network->hasImplicitBatchDimension());
  EXPECT_THROW(INetworkDefinition().getBuilder(), Error);
  const std::unique_ptr<IBuilderConfig> config(builder.createBuilderConfig());
  EXPECT_FALSE(builder.isNetworkSupported(*network, *config));
  EXPECT_EQ(log.lines.back(), "the network has no outputs; mark a tensor as one");
  network->markOutput(*network->addInput("x", DataType::kFLOAT, Dims{}));
  EXPECT_TRUE(builder.isNetworkSupported(*network, *config));
}

/// Whether `last` is the largest member of its enumeration.
template <class E> constexpr bool ends_with(E last) {
  return EnumMax<E>() == static_cast<std::int32_t>(last) + 1;
}
static_assert(ends_with(DataType::kE8M0) && ends_with(LayerType::kDYNAMIC_QUANTIZE) &&
              ends_with(ActivationType::kGELU_TANH) && ends_with(ElementWiseOperation::kLESS) &&
              ends_with(UnaryOperation::kISNAN) && ends_with(ReduceOperation::kAVG) &&
              ends_with(CumulativeOperation::kSUM) && ends_with(MatrixOperation::kVECTOR) &&
              ends_with(GatherMode::kND) && ends_with(ScatterMode::kND) &&
              ends_with(TopKOperation::kMIN) && ends_with(PoolingType::kMAX_AVERAGE_BLEND) &&
              ends_with(PaddingMode::kSAME_LOWER) && ends_with(ScaleMode::kELEMENTWISE) &&
              ends_with(FillOperation::kRANDOM_NORMAL) && ends_with(SampleMode::kREFLECT) &&
              ends_with(TripLimit::kWHILE) && ends_with(LoopOutput::kREVERSE) &&
              ends_with(BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE) &&
              ends_with(MemoryPoolType::kTACTIC_SHARED_MEMORY) &&
              ends_with(ProfilingVerbosity::kDETAILED) && ends_with(OptProfileSelector::kMAX) &&
              ends_with(EngineCapability::kDLA_STANDALONE) && ends_with(DeviceType::kDLA));

}  // namespace
}  // namespace rondel::network
