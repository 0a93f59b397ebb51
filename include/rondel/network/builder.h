// The builder of a network and its options, so that code written for TensorRT compiles. A network
// needs none of it: `INetworkDefinition network;` does.
#pragma once
#include <rondel/network.h>

#include <cstddef>
#include <map>

namespace rondel::network {

/// Told what is ignored. May be called from the thread that builds only.
class RONDEL_API ILogger {
 public:
  enum class Severity : std::int32_t {
    kINTERNAL_ERROR = 0,
    kERROR = 1,
    kWARNING = 2,
    kINFO = 3,
    kVERBOSE = 4,
  };
  virtual void log(Severity severity, const char* message) noexcept = 0;
  virtual ~ILogger() = default;
};

enum class NetworkDefinitionCreationFlag : std::int32_t {
  kEXPLICIT_BATCH = 0,
  kSTRONGLY_TYPED = 1,
  kPREFER_AOT_PYTHON_PLUGINS = 2,
  kPREFER_JIT_PYTHON_PLUGINS = 3,
};
using NetworkDefinitionCreationFlags = std::uint32_t;

enum class BuilderFlag : std::int32_t {
  kFP16 = 0,
  kINT8 = 1,
  kDEBUG = 2,
  kGPU_FALLBACK = 3,
  kREFIT = 4,
  kDISABLE_TIMING_CACHE = 5,
  kTF32 = 7,
  kSPARSE_WEIGHTS = 8,
  kSAFETY_SCOPE = 9,
  kOBEY_PRECISION_CONSTRAINTS = 10,
  kPREFER_PRECISION_CONSTRAINTS = 11,
  kDIRECT_IO = 12,
  kREJECT_EMPTY_ALGORITHMS = 13,
  kVERSION_COMPATIBLE = 14,
  kEXCLUDE_LEAN_RUNTIME = 15,
  kFP8 = 16,
  kERROR_ON_TIMING_CACHE_MISS = 17,
  kBF16 = 18,
};
using BuilderFlags = std::uint32_t;

enum class MemoryPoolType : std::int32_t {
  kWORKSPACE = 0,
  kDLA_MANAGED_SRAM = 1,
  kDLA_LOCAL_DRAM = 2,
  kDLA_GLOBAL_DRAM = 3,
  kTACTIC_DRAM = 4,
  kTACTIC_SHARED_MEMORY = 5,
};
enum class ProfilingVerbosity : std::int32_t { kLAYER_NAMES_ONLY = 0, kNONE = 1, kDETAILED = 2 };
enum class OptProfileSelector : std::int32_t { kMIN = 0, kOPT = 1, kMAX = 2 };

struct BuilderData;

/// Ranges of input extents. Here they are kept and ignored: any extent runs.
class RONDEL_API IOptimizationProfile {
 public:
  bool setDimensions(const char* inputName, OptProfileSelector select, const Dims& dims);
  Dims getDimensions(const char* inputName, OptProfileSelector select) const;
  bool isValid() const { return true; }

 private:
  std::map<std::string, std::map<OptProfileSelector, Dims>> dims_;
};

/// Options of a build. All are kept and can be read back; none changes what is built.
class RONDEL_API IBuilderConfig {
 public:
  explicit IBuilderConfig(BuilderData& builder) : builder_(&builder) {}
  void setFlag(BuilderFlag flag);
  void clearFlag(BuilderFlag flag);
  bool getFlag(BuilderFlag flag) const;
  void setFlags(BuilderFlags flags);
  BuilderFlags getFlags() const { return flags_; }
  void setMemoryPoolLimit(MemoryPoolType pool, std::size_t poolSize);
  std::size_t getMemoryPoolLimit(MemoryPoolType pool) const;
  void setMaxWorkspaceSize(std::size_t workspaceSize);
  std::size_t getMaxWorkspaceSize() const;
  void setBuilderOptimizationLevel(std::int32_t level);
  std::int32_t getBuilderOptimizationLevel() const { return level_; }
  void setProfilingVerbosity(ProfilingVerbosity verbosity);
  ProfilingVerbosity getProfilingVerbosity() const { return verbosity_; }
  std::int32_t addOptimizationProfile(const IOptimizationProfile* profile);
  std::int32_t getNbOptimizationProfiles() const { return profiles_; }

 private:
  BuilderData* builder_;
  BuilderFlags flags_ = 0;
  std::map<MemoryPoolType, std::size_t> limits_;
  std::int32_t level_ = 3;
  ProfilingVerbosity verbosity_ = ProfilingVerbosity::kLAYER_NAMES_ONLY;
  std::int32_t profiles_ = 0;
};

/// Makes networks. What it makes belongs to the caller (`delete`, or a smart pointer), except
/// profiles, which belong to the builder; a configuration must not outlive it.
class RONDEL_API IBuilder {
 public:
  IBuilder();
  explicit IBuilder(ILogger& logger);
  ~IBuilder();
  IBuilder(const IBuilder&) = delete;
  IBuilder& operator=(const IBuilder&) = delete;

  INetworkDefinition* createNetworkV2(NetworkDefinitionCreationFlags flags);
  INetworkDefinition* createNetwork();
  IBuilderConfig* createBuilderConfig();
  IOptimizationProfile* createOptimizationProfile();
  void setMaxBatchSize(std::int32_t batchSize);
  bool platformHasFastFp16() const { return false; }
  bool platformHasFastInt8() const { return false; }
  bool platformHasTf32() const { return false; }
  /// What was asked for and ignored, once each.
  const std::vector<std::string>& notes() const;

 private:
  std::unique_ptr<BuilderData> data_;
};
RONDEL_API IBuilder* createInferBuilder(ILogger& logger);
/// A session for any input extents; the configuration changes nothing.
RONDEL_API Session buildSession(const INetworkDefinition& network, const IBuilderConfig& config,
                                const SessionOptions& = {});

}  // namespace rondel::network
