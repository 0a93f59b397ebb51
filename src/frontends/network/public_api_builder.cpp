// The public API of the builder: creates networks, and reports settings that have no effect here.
#include <rondel/network/builder.h>

#include "base/error.h"
#include "frontends/network/data.h"
#include "frontends/network/lower.h"

#include <algorithm>
#include <string_view>

namespace rondel::network {

struct BuilderData {
  ILogger* logger = nullptr;
  std::vector<std::string> notes;
  std::vector<std::unique_ptr<IOptimizationProfile>> profiles;
  std::int32_t max_threads = 0;
  IErrorRecorder* error_recorder = nullptr;

  void note(const std::string& what, const char* why) {
    std::string text = fmt::format("{} is ignored: {}", what, why);
    if (std::find(notes.begin(), notes.end(), text) != notes.end()) return;
    if (logger != nullptr) logger->log(ILogger::Severity::kINFO, text.c_str());
    notes.push_back(std::move(text));
  }
};

namespace {

BuilderFlags bit(BuilderFlag flag) {
  const auto n = static_cast<std::int32_t>(flag);
  require(n >= 0 && n < 32, "there is no builder flag {}", n);
  return BuilderFlags{1} << n;
}

constexpr const char* computes_as_typed = "layers compute in the types of their inputs";
constexpr const char* any_extent = "a session runs with any extents";
constexpr const char* nothing_timed = "nothing is timed when a network is built";
constexpr const char* this_processor = "everything runs on this machine's processor";
constexpr const char* errors_are_thrown = "errors are thrown, as rondel::Error";
constexpr const char* input_name = "the name of an input";
constexpr const char* session_options = "memory and threads are options of the session";

}  // namespace

bool IOptimizationProfile::setDimensions(const char* input, OptProfileSelector select,
                                         const Dims& dims) {
  dims_[checked_text(input, input_name)][select] = dims;
  return true;
}

Dims IOptimizationProfile::getDimensions(const char* input, OptProfileSelector select) const {
  const auto found = dims_.find(checked_text(input, input_name));
  if (found == dims_.end() || !found->second.contains(select)) return Dims{-1, {}};
  return found->second.at(select);
}

bool IOptimizationProfile::setShapeValues(const char* input, OptProfileSelector select,
                                          const std::int32_t* values, std::int32_t count) {
  if (values == nullptr || count < 0) return false;
  values_[checked_text(input, input_name)][select].assign(values, values + count);
  return true;
}

std::int32_t IOptimizationProfile::getNbShapeValues(const char* input) const {
  const auto found = values_.find(checked_text(input, input_name));
  return found == values_.end() ? -1
                                : static_cast<std::int32_t>(found->second.begin()->second.size());
}

const std::int32_t* IOptimizationProfile::getShapeValues(const char* input,
                                                         OptProfileSelector select) const {
  const auto found = values_.find(checked_text(input, input_name));
  if (found == values_.end() || !found->second.contains(select)) return nullptr;
  return found->second.at(select).data();
}

bool IOptimizationProfile::setExtraMemoryTarget(float target) {
  extra_memory_target_ = target;
  return target >= 0 && target <= 1;
}

void IBuilderConfig::setFlag(BuilderFlag flag) {
  now_.flags |= bit(flag);
  builder_->note(fmt::format("builder flag {}", static_cast<int>(flag)), computes_as_typed);
}
void IBuilderConfig::clearFlag(BuilderFlag flag) { now_.flags &= ~bit(flag); }
bool IBuilderConfig::getFlag(BuilderFlag flag) const { return (now_.flags & bit(flag)) != 0; }
void IBuilderConfig::setFlags(BuilderFlags flags) {
  now_.flags = flags;
  if (flags != 0) builder_->note(fmt::format("builder flags 0x{:x}", flags), computes_as_typed);
}
void IBuilderConfig::setMemoryPoolLimit(MemoryPoolType pool, std::size_t size) {
  now_.limits[pool] = size;
  builder_->note("a memory pool limit", session_options);
}
std::size_t IBuilderConfig::getMemoryPoolLimit(MemoryPoolType pool) const {
  const auto found = now_.limits.find(pool);
  return found == now_.limits.end() ? 0 : found->second;
}
void IBuilderConfig::setMaxWorkspaceSize(std::size_t size) {
  setMemoryPoolLimit(MemoryPoolType::kWORKSPACE, size);
}
std::size_t IBuilderConfig::getMaxWorkspaceSize() const {
  return getMemoryPoolLimit(MemoryPoolType::kWORKSPACE);
}
void IBuilderConfig::setBuilderOptimizationLevel(std::int32_t level) {
  now_.level = level;
  builder_->note("the builder's optimization level",
                 "SessionOptions::graph_optimization_level says how a session is compiled");
}
void IBuilderConfig::setProfilingVerbosity(ProfilingVerbosity verbosity) {
  now_.verbosity = verbosity;
  builder_->note("profiling verbosity", "errors and dumps always name layers");
}
std::int32_t IBuilderConfig::addOptimizationProfile(const IOptimizationProfile* profile) {
  require(profile != nullptr, "an optimization profile is a null pointer");
  builder_->note("an optimization profile", any_extent);
  return now_.profiles++;
}

void IBuilderConfig::setAvgTimingIterations(std::int32_t n) {
  now_.avg_timing = n;
  builder_->note("the number of timing iterations", nothing_timed);
}
void IBuilderConfig::setMinTimingIterations(std::int32_t n) {
  now_.min_timing = n;
  builder_->note("the number of timing iterations", nothing_timed);
}
void IBuilderConfig::setMaxNbTactics(std::int32_t n) {
  now_.tactics = n;
  builder_->note("the number of tactics", nothing_timed);
}
bool IBuilderConfig::setTilingOptimizationLevel(TilingOptimizationLevel level) {
  now_.tiling = level;
  builder_->note("the tiling optimization level", nothing_timed);
  return true;
}
void IBuilderConfig::setAlgorithmSelector(IAlgorithmSelector* selector) {
  now_.selector = selector;
  builder_->note("an algorithm selector", nothing_timed);
}
void IBuilderConfig::setEngineCapability(EngineCapability capability) {
  now_.capability = capability;
  builder_->note("the engine capability", this_processor);
}
void IBuilderConfig::setHardwareCompatibilityLevel(HardwareCompatibilityLevel level) {
  now_.compatibility = level;
  builder_->note("the hardware compatibility level", this_processor);
}
void IBuilderConfig::setDefaultDeviceType(DeviceType device) {
  now_.device = device;
  builder_->note("the default device type", this_processor);
}
void IBuilderConfig::setDLACore(std::int32_t core) {
  now_.dla_core = core;
  builder_->note("the DLA core", this_processor);
}
void IBuilderConfig::setProfileStream(void* stream) {
  now_.stream = stream;
  builder_->note("the profile stream", this_processor);
}
void IBuilderConfig::setMaxAuxStreams(std::int32_t n) {
  now_.aux_streams = n;
  builder_->note("the number of auxiliary streams", session_options);
}
void IBuilderConfig::setInt8Calibrator(IInt8Calibrator* calibrator) {
  now_.calibrator = calibrator;
  builder_->note("an INT8 calibrator", computes_as_typed);
}
void IBuilderConfig::setProgressMonitor(IProgressMonitor* monitor) {
  now_.monitor = monitor;
  builder_->note("a progress monitor", "a build is too short to show progress");
}

IBuilder::IBuilder() : data_(std::make_unique<BuilderData>()) {}
IBuilder::IBuilder(ILogger& logger) : IBuilder() { data_->logger = &logger; }
IBuilder::~IBuilder() = default;

INetworkDefinition* IBuilder::createNetworkV2(NetworkDefinitionCreationFlags flags) {
  // Networks always have explicit batch and strong types, so these two flags are granted.
  constexpr NetworkDefinitionCreationFlags granted = 0b11;
  if ((flags & ~granted) != 0)
    data_->note(fmt::format("network creation flags 0x{:x}", flags & ~granted),
                "there are no plugins");
  auto network = std::make_unique<INetworkDefinition>();
  network->data().builder = this;
  network->data().flags = flags;
  return network.release();
}
INetworkDefinition* IBuilder::createNetwork() { return createNetworkV2(0); }
IBuilderConfig* IBuilder::createBuilderConfig() { return new IBuilderConfig(*data_); }
IOptimizationProfile* IBuilder::createOptimizationProfile() {
  data_->profiles.push_back(std::make_unique<IOptimizationProfile>());
  return data_->profiles.back().get();
}
void IBuilder::setMaxBatchSize(std::int32_t) { data_->note("the largest batch size", any_extent); }
bool IBuilder::isNetworkSupported(const INetworkDefinition& network, const IBuilderConfig&) const {
  try {
    lower(network);
    return true;
  } catch (const Error& e) {
    if (data_->logger != nullptr) data_->logger->log(ILogger::Severity::kERROR, e.what());
    return false;
  }
}
bool IBuilder::setMaxThreads(std::int32_t n) {
  data_->max_threads = n;
  data_->note("the largest number of threads", session_options);
  return n > 0;
}
std::int32_t IBuilder::getMaxThreads() const { return data_->max_threads; }
void IBuilder::setErrorRecorder(IErrorRecorder* recorder) {
  data_->error_recorder = recorder;
  if (recorder != nullptr) data_->note("an error recorder", errors_are_thrown);
}
IErrorRecorder* IBuilder::getErrorRecorder() const { return data_->error_recorder; }
void IBuilder::setGpuAllocator(IGpuAllocator* allocator) {
  if (allocator != nullptr) data_->note("an allocator", this_processor);
}
ILogger* IBuilder::getLogger() const { return data_->logger; }
void IBuilder::reset() {
  data_->max_threads = 0;
  data_->error_recorder = nullptr;
}
const std::vector<std::string>& IBuilder::notes() const { return data_->notes; }

IBuilder& INetworkDefinition::getBuilder() const {
  require(data_->builder != nullptr, "the network was made without a builder");
  return *data_->builder;
}
NetworkDefinitionCreationFlags INetworkDefinition::getFlags() const { return data_->flags; }
bool INetworkDefinition::getFlag(NetworkDefinitionCreationFlag flag) const {
  const auto n = static_cast<std::uint32_t>(flag);
  return n < 32 && (data_->flags >> n & 1U) != 0;
}
void INetworkDefinition::setErrorRecorder(IErrorRecorder* recorder) {
  data_->error_recorder = recorder;
}
IErrorRecorder* INetworkDefinition::getErrorRecorder() const { return data_->error_recorder; }

std::int32_t getInferLibVersion() noexcept {
  std::int32_t part[3] = {};
  std::size_t at = 0;
  for (const char c : std::string_view(version())) {
    if (c == '.') ++at;
    if (at >= std::size(part) || (c != '.' && (c < '0' || c > '9'))) break;
    if (c != '.') part[at] = part[at] * 10 + (c - '0');
  }
  return part[0] * 10000 + part[1] * 100 + part[2];
}

bool initLibNvInferPlugins(ILogger* logger, const char*) {
  if (logger != nullptr)
    logger->log(ILogger::Severity::kINFO, "plugins are ignored: there are none");
  return true;
}

IBuilder* createInferBuilder(ILogger& logger) { return new IBuilder(logger); }

Session buildSession(const INetworkDefinition& network, const IBuilderConfig&,
                     const SessionOptions& options) {
  return buildSession(network, options);
}

}  // namespace rondel::network
