// The builder: makes networks, and notes what it is asked for that means nothing here.
#include <rondel/network/builder.h>

#include "base/error.h"

#include <algorithm>

namespace rondel::network {

struct BuilderData {
  ILogger* logger = nullptr;
  std::vector<std::string> notes;
  std::vector<std::unique_ptr<IOptimizationProfile>> profiles;

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
constexpr const char* session_options = "memory and threads are options of the session";

}  // namespace

bool IOptimizationProfile::setDimensions(const char* input, OptProfileSelector select,
                                         const Dims& dims) {
  require(input != nullptr, "a name is a null pointer");
  dims_[input][select] = dims;
  return true;
}

Dims IOptimizationProfile::getDimensions(const char* input, OptProfileSelector select) const {
  require(input != nullptr, "a name is a null pointer");
  const auto found = dims_.find(input);
  if (found == dims_.end() || !found->second.contains(select)) return Dims{-1, {}};
  return found->second.at(select);
}

void IBuilderConfig::setFlag(BuilderFlag flag) {
  flags_ |= bit(flag);
  builder_->note(fmt::format("builder flag {}", static_cast<int>(flag)), computes_as_typed);
}
void IBuilderConfig::clearFlag(BuilderFlag flag) { flags_ &= ~bit(flag); }
bool IBuilderConfig::getFlag(BuilderFlag flag) const { return (flags_ & bit(flag)) != 0; }
void IBuilderConfig::setFlags(BuilderFlags flags) {
  flags_ = flags;
  if (flags != 0) builder_->note(fmt::format("builder flags 0x{:x}", flags), computes_as_typed);
}
void IBuilderConfig::setMemoryPoolLimit(MemoryPoolType pool, std::size_t size) {
  limits_[pool] = size;
  builder_->note("a memory pool limit", session_options);
}
std::size_t IBuilderConfig::getMemoryPoolLimit(MemoryPoolType pool) const {
  const auto found = limits_.find(pool);
  return found == limits_.end() ? 0 : found->second;
}
void IBuilderConfig::setMaxWorkspaceSize(std::size_t size) {
  setMemoryPoolLimit(MemoryPoolType::kWORKSPACE, size);
}
std::size_t IBuilderConfig::getMaxWorkspaceSize() const {
  return getMemoryPoolLimit(MemoryPoolType::kWORKSPACE);
}
void IBuilderConfig::setBuilderOptimizationLevel(std::int32_t level) {
  level_ = level;
  builder_->note("the builder's optimization level",
                 "SessionOptions::graph_optimization_level says how a session is compiled");
}
void IBuilderConfig::setProfilingVerbosity(ProfilingVerbosity verbosity) {
  verbosity_ = verbosity;
  builder_->note("profiling verbosity", "errors and dumps always name layers");
}
std::int32_t IBuilderConfig::addOptimizationProfile(const IOptimizationProfile* profile) {
  require(profile != nullptr, "an optimization profile is a null pointer");
  builder_->note("an optimization profile", any_extent);
  return profiles_++;
}

IBuilder::IBuilder() : data_(std::make_unique<BuilderData>()) {}
IBuilder::IBuilder(ILogger& logger) : IBuilder() { data_->logger = &logger; }
IBuilder::~IBuilder() = default;

INetworkDefinition* IBuilder::createNetworkV2(NetworkDefinitionCreationFlags flags) {
  // Explicit batch and strong types are how networks are here; nothing else can be asked for.
  constexpr NetworkDefinitionCreationFlags granted = 0b11;
  if ((flags & ~granted) != 0)
    data_->note(fmt::format("network creation flags 0x{:x}", flags & ~granted),
                "there are no plugins");
  return new INetworkDefinition;
}
INetworkDefinition* IBuilder::createNetwork() { return createNetworkV2(0); }
IBuilderConfig* IBuilder::createBuilderConfig() { return new IBuilderConfig(*data_); }
IOptimizationProfile* IBuilder::createOptimizationProfile() {
  data_->profiles.push_back(std::make_unique<IOptimizationProfile>());
  return data_->profiles.back().get();
}
void IBuilder::setMaxBatchSize(std::int32_t) { data_->note("the largest batch size", any_extent); }
const std::vector<std::string>& IBuilder::notes() const { return data_->notes; }

IBuilder* createInferBuilder(ILogger& logger) { return new IBuilder(logger); }

Session buildSession(const INetworkDefinition& network, const IBuilderConfig&,
                     const SessionOptions& options) {
  return buildSession(network, options);
}

}  // namespace rondel::network
