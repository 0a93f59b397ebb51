// The builder of a network and its options, so that code written for TensorRT compiles. Code that
// uses Rondel only needs none of them: `INetworkDefinition network;` is enough.
#pragma once
#include <rondel/network.h>

#include <cstddef>
#include <map>

namespace rondel::network {

/// Receives a message for each setting that is ignored, on the thread that builds the network.
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

enum class BuilderFlag : std::int32_t {
  kFP16 = 0,
  kINT8 = 1,
  kDEBUG = 2,
  kGPU_FALLBACK = 3,
  kREFIT = 4,
  kDISABLE_TIMING_CACHE = 5,
  kTF32 = 6,
  kSPARSE_WEIGHTS = 7,
  kSAFETY_SCOPE = 8,
  kOBEY_PRECISION_CONSTRAINTS = 9,
  kSTRICT_TYPES = kOBEY_PRECISION_CONSTRAINTS,  ///< the name of older versions
  kPREFER_PRECISION_CONSTRAINTS = 10,
  kDIRECT_IO = 11,
  kREJECT_EMPTY_ALGORITHMS = 12,
  kVERSION_COMPATIBLE = 13,
  kEXCLUDE_LEAN_RUNTIME = 14,
  kFP8 = 15,
  kERROR_ON_TIMING_CACHE_MISS = 16,
  kBF16 = 17,
  kDISABLE_COMPILATION_CACHE = 18,
  kSTRIP_PLAN = 19,
  kWEIGHTLESS = kSTRIP_PLAN,  ///< the name of older versions
  kREFIT_IDENTICAL = 20,
  kWEIGHT_STREAMING = 21,
  kINT4 = 22,
  kREFIT_INDIVIDUAL = 23,
  kSTRICT_NANS = 24,
  kMONITOR_MEMORY = 25,
  kFP4 = 26,
  kEDITABLE_TIMING_CACHE = 27,
  kDISTRIBUTIVE_INDEPENDENCE = 28,
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
enum class EngineCapability : std::int32_t { kSTANDARD = 0, kSAFETY = 1, kDLA_STANDALONE = 2 };
enum class DeviceType : std::int32_t { kGPU = 0, kDLA = 1 };
enum class HardwareCompatibilityLevel : std::int32_t {
  kNONE = 0,
  kAMPERE_PLUS = 1,
  kSAME_COMPUTE_CAPABILITY = 2,
};
enum class TilingOptimizationLevel : std::int32_t {
  kNONE = 0,
  kFAST = 1,
  kMODERATE = 2,
  kFULL = 3,
};
template <> inline constexpr std::int32_t enum_max<NetworkDefinitionCreationFlag> = 4;
template <> inline constexpr std::int32_t enum_max<BuilderFlag> = 29;
template <> inline constexpr std::int32_t enum_max<MemoryPoolType> = 6;
template <> inline constexpr std::int32_t enum_max<ProfilingVerbosity> = 3;
template <> inline constexpr std::int32_t enum_max<OptProfileSelector> = 3;
template <> inline constexpr std::int32_t enum_max<EngineCapability> = 3;
template <> inline constexpr std::int32_t enum_max<DeviceType> = 2;
template <> inline constexpr std::int32_t enum_max<HardwareCompatibilityLevel> = 3;
template <> inline constexpr std::int32_t enum_max<TilingOptimizationLevel> = 4;

class IAlgorithmSelector;
class IGpuAllocator;
class IInt8Calibrator;
class IProgressMonitor;
struct BuilderData;

/// Ranges of input extents. They are stored and ignored: a network runs with any extents.
class RONDEL_API IOptimizationProfile {
 public:
  bool setDimensions(const char* inputName, OptProfileSelector select, const Dims& dims);
  Dims getDimensions(const char* inputName, OptProfileSelector select) const;
  /// For an input that is itself a shape. Returns false if no values are given.
  bool setShapeValues(const char* inputName, OptProfileSelector select, const std::int32_t* values,
                      std::int32_t nbValues);
  /// -1 if none are set.
  std::int32_t getNbShapeValues(const char* inputName) const;
  const std::int32_t* getShapeValues(const char* inputName, OptProfileSelector select) const;
  bool setExtraMemoryTarget(float target);
  float getExtraMemoryTarget() const { return extra_memory_target_; }
  bool isValid() const { return true; }

 private:
  template <class T> using Ranges = std::map<std::string, std::map<OptProfileSelector, T>>;
  Ranges<Dims> dims_;
  Ranges<std::vector<std::int32_t>> values_;
  float extra_memory_target_ = 1;
};

/// Options of a build, with TensorRT's defaults. All are stored and can be read back; none changes
/// what is built.
class RONDEL_API IBuilderConfig : public TuningNotHere {
 public:
  explicit IBuilderConfig(BuilderData& builder) : builder_(&builder) {}
  void setFlag(BuilderFlag flag);
  void clearFlag(BuilderFlag flag);
  bool getFlag(BuilderFlag flag) const;
  void setFlags(BuilderFlags flags);
  BuilderFlags getFlags() const { return now_.flags; }
  void setMemoryPoolLimit(MemoryPoolType pool, std::size_t poolSize);
  std::size_t getMemoryPoolLimit(MemoryPoolType pool) const;
  void setMaxWorkspaceSize(std::size_t workspaceSize);
  std::size_t getMaxWorkspaceSize() const;
  void setBuilderOptimizationLevel(std::int32_t level);
  std::int32_t getBuilderOptimizationLevel() const { return now_.level; }
  void setProfilingVerbosity(ProfilingVerbosity verbosity);
  ProfilingVerbosity getProfilingVerbosity() const { return now_.verbosity; }
  std::int32_t addOptimizationProfile(const IOptimizationProfile* profile);
  std::int32_t getNbOptimizationProfiles() const { return now_.profiles; }
  /// How TensorRT times and chooses kernels. Rondel times nothing.
  void setAvgTimingIterations(std::int32_t avgTiming);
  std::int32_t getAvgTimingIterations() const { return now_.avg_timing; }
  void setMinTimingIterations(std::int32_t minTiming);
  std::int32_t getMinTimingIterations() const { return now_.min_timing; }
  void setMaxNbTactics(std::int32_t maxNbTactics);
  std::int32_t getMaxNbTactics() const { return now_.tactics; }
  bool setTilingOptimizationLevel(TilingOptimizationLevel level);
  TilingOptimizationLevel getTilingOptimizationLevel() const { return now_.tiling; }
  void setAlgorithmSelector(IAlgorithmSelector* selector);
  IAlgorithmSelector* getAlgorithmSelector() const { return now_.selector; }
  /// The target of a build. Rondel runs a network on the processor that builds it.
  void setEngineCapability(EngineCapability capability);
  EngineCapability getEngineCapability() const { return now_.capability; }
  void setHardwareCompatibilityLevel(HardwareCompatibilityLevel level);
  HardwareCompatibilityLevel getHardwareCompatibilityLevel() const { return now_.compatibility; }
  void setDefaultDeviceType(DeviceType deviceType);
  DeviceType getDefaultDeviceType() const { return now_.device; }
  void setDLACore(std::int32_t dlaCore);
  std::int32_t getDLACore() const { return now_.dla_core; }
  void setProfileStream(void* stream);
  void* getProfileStream() const { return now_.stream; }
  void setMaxAuxStreams(std::int32_t nbStreams);
  std::int32_t getMaxAuxStreams() const { return now_.aux_streams; }
  void setInt8Calibrator(IInt8Calibrator* calibrator);
  IInt8Calibrator* getInt8Calibrator() const { return now_.calibrator; }
  void setProgressMonitor(IProgressMonitor* monitor);
  IProgressMonitor* getProgressMonitor() const { return now_.monitor; }
  /// Sets all options to their defaults.
  void reset() { now_ = {}; }

 private:
  struct Options {
    BuilderFlags flags = 0;
    std::map<MemoryPoolType, std::size_t> limits;
    std::int32_t level = 3, profiles = 0;
    ProfilingVerbosity verbosity = ProfilingVerbosity::kLAYER_NAMES_ONLY;
    std::int32_t avg_timing = 1, min_timing = 1, tactics = -1, dla_core = -1, aux_streams = -1;
    TilingOptimizationLevel tiling = TilingOptimizationLevel::kNONE;
    EngineCapability capability = EngineCapability::kSTANDARD;
    HardwareCompatibilityLevel compatibility = HardwareCompatibilityLevel::kNONE;
    DeviceType device = DeviceType::kGPU;
    void* stream = nullptr;
    IAlgorithmSelector* selector = nullptr;
    IInt8Calibrator* calibrator = nullptr;
    IProgressMonitor* monitor = nullptr;
  };

  BuilderData* builder_;
  Options now_;
};

/// Makes networks and configurations, which belong to the caller (`delete`, or a smart pointer),
/// and profiles, which belong to the builder. A configuration must not outlive its builder.
/// INetworkDefinition::getBuilder must not be called after the builder is destroyed.
class RONDEL_API IBuilder : public EnginesNotHere {
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
  std::int32_t getNbDLACores() const { return 0; }
  /// Whether the network is valid. If it is not, the error is logged.
  bool isNetworkSupported(const INetworkDefinition& network, const IBuilderConfig& config) const;
  /// Threads, error recorder and allocator are stored and otherwise ignored.
  bool setMaxThreads(std::int32_t maxThreads);
  std::int32_t getMaxThreads() const;
  void setErrorRecorder(IErrorRecorder* recorder);
  IErrorRecorder* getErrorRecorder() const;
  void setGpuAllocator(IGpuAllocator* allocator);
  /// Null if the builder was made without a logger.
  ILogger* getLogger() const;
  /// Sets everything that can be set to its default.
  void reset();
  /// One text for each setting that was ignored.
  const std::vector<std::string>& notes() const;

 private:
  std::unique_ptr<BuilderData> data_;
};
RONDEL_API IBuilder* createInferBuilder(ILogger& logger);
/// Rondel's version, as 10000 * major + 100 * minor + patch.
RONDEL_API std::int32_t getInferLibVersion() noexcept;
/// Rondel has no plugins. Returns true, and logs a message if a logger is given.
RONDEL_API bool initLibNvInferPlugins(ILogger* logger, const char* libNamespace);
/// A session for any input extents. The configuration has no effect.
RONDEL_API Session buildSession(const INetworkDefinition& network, const IBuilderConfig& config,
                                const SessionOptions& = {});

}  // namespace rondel::network
