"""Builder, its configuration and Logger, so that code written for TensorRT runs. A network needs none of these.

All options are accepted and can be read back. Each ignored option is logged once.
"""

import sys

from ..errors import Error
from ..missing_names import ExplainsMissingNames, Ignored
from ..options import SessionOptions
from ..session import InferenceSession
from .arguments import Flags, Number, checked
from .definition import Network
from .foundation import Choice, Dims, NoOpContextManager
from .not_here import BUILDER, CONFIG


class ILogger(NoOpContextManager):
    """Base of loggers: override log(severity, message)."""

    class Severity(Choice):
        INTERNAL_ERROR = 0
        ERROR = 1
        WARNING = 2
        INFO = 3
        VERBOSE = 4

    INTERNAL_ERROR, ERROR, WARNING, INFO, VERBOSE = Severity

    def __init__(self) -> None:
        pass

    def log(self, severity: "ILogger.Severity", msg: str) -> None:
        """Called once for each option that is ignored."""


class Logger(ILogger):
    """Writes messages that are at least as severe as min_severity to standard error."""

    min_severity: ILogger.Severity

    def __init__(self, min_severity: ILogger.Severity = ILogger.Severity.WARNING) -> None:
        super().__init__()
        self.min_severity = min_severity

    def log(self, severity: "ILogger.Severity", msg: str) -> None:
        if severity <= self.min_severity:
            print(f"[rondel] {ILogger.Severity(severity).name}: {msg}", file=sys.stderr)


class BuilderFlag(Choice):
    """Flags of a configuration. None changes what is built."""

    FP16 = 0
    INT8 = 1
    DEBUG = 2
    GPU_FALLBACK = 3
    REFIT = 4
    DISABLE_TIMING_CACHE = 5
    TF32 = 6
    SPARSE_WEIGHTS = 7
    SAFETY_SCOPE = 8
    OBEY_PRECISION_CONSTRAINTS = 9
    STRICT_TYPES = 9  # the name of older versions
    PREFER_PRECISION_CONSTRAINTS = 10
    DIRECT_IO = 11
    REJECT_EMPTY_ALGORITHMS = 12
    VERSION_COMPATIBLE = 13
    EXCLUDE_LEAN_RUNTIME = 14
    FP8 = 15
    ERROR_ON_TIMING_CACHE_MISS = 16
    BF16 = 17
    DISABLE_COMPILATION_CACHE = 18
    STRIP_PLAN = 19
    WEIGHTLESS = 19  # the name of older versions
    REFIT_IDENTICAL = 20
    WEIGHT_STREAMING = 21
    INT4 = 22
    REFIT_INDIVIDUAL = 23
    STRICT_NANS = 24
    MONITOR_MEMORY = 25
    FP4 = 26
    EDITABLE_TIMING_CACHE = 27
    DISTRIBUTIVE_INDEPENDENCE = 28


class MemoryPoolType(Choice):
    """The pools of a GPU's memory. Rondel has one budget: SessionOptions.max_memory_bytes."""

    WORKSPACE = 0
    DLA_MANAGED_SRAM = 1
    DLA_LOCAL_DRAM = 2
    DLA_GLOBAL_DRAM = 3
    TACTIC_DRAM = 4
    TACTIC_SHARED_MEMORY = 5


class ProfilingVerbosity(Choice):
    LAYER_NAMES_ONLY = 0
    NONE = 1
    DETAILED = 2


class EngineCapability(Choice):
    STANDARD = 0
    SAFETY = 1
    DLA_STANDALONE = 2


class DeviceType(Choice):
    """Where layers should run. Rondel runs all layers on the CPU."""

    GPU = 0
    DLA = 1


class HardwareCompatibilityLevel(Choice):
    NONE = 0
    AMPERE_PLUS = 1
    SAME_COMPUTE_CAPABILITY = 2


class TilingOptimizationLevel(Choice):
    NONE = 0
    FAST = 1
    MODERATE = 2
    FULL = 3


class IOptimizationProfile:
    """Ranges of the extents of inputs. They are stored and ignored: a network runs with any extents."""

    def __init__(self):
        self._shapes = {}

    @checked
    def set_shape(self, input: str, min: Dims, opt: Dims, max: Dims) -> None:
        self._shapes[input] = [min, opt, max]

    @checked
    def get_shape(self, input: str) -> list[Dims]:
        return self._shapes.get(input, [])

    set_shape_input = set_shape
    get_shape_input = get_shape

    def __bool__(self) -> bool:
        return True


class IBuilderConfig(NoOpContextManager, ExplainsMissingNames):
    """Options of a build. They are stored and ignored, with a note in the log. Every attribute that TensorRT has may be set."""

    _missing_names = CONFIG

    def __init__(self, note):
        self.__dict__["_note"] = note
        self.reset()

    def reset(self) -> None:
        """Sets all options to TensorRT's defaults."""
        note = self._note
        self.__dict__.clear()
        self.__dict__.update(
            _note=note,
            _limits={},
            flags=0,
            num_optimization_profiles=0,
            avg_timing_iterations=1,
            builder_optimization_level=3,
            max_num_tactics=-1,
            profiling_verbosity=ProfilingVerbosity.LAYER_NAMES_ONLY,
            engine_capability=EngineCapability.STANDARD,
            default_device_type=DeviceType.GPU,
            hardware_compatibility_level=HardwareCompatibilityLevel.NONE,
            tiling_optimization_level=TilingOptimizationLevel.NONE,
            int8_calibrator=None,
            algorithm_selector=None,
            progress_monitor=None,
        )

    def __setattr__(self, name, value):
        self._note(f"the configuration's {name} is ignored: it changes nothing on this machine")
        self.__dict__[name] = value

    @checked
    def set_flag(self, flag: BuilderFlag) -> None:
        self._note(f"BuilderFlag.{flag.name} is ignored: every layer computes in the types of its inputs")
        self.__dict__["flags"] |= 1 << flag

    @checked
    def clear_flag(self, flag: BuilderFlag) -> None:
        self.__dict__["flags"] &= ~(1 << flag)

    @checked
    def get_flag(self, flag: BuilderFlag) -> bool:
        return bool(self.flags >> flag & 1)

    @checked
    def set_memory_pool_limit(self, pool: MemoryPoolType, pool_size: Number) -> None:
        self._note("memory pool limits are ignored: set SessionOptions.max_memory_bytes")
        self._limits[pool] = pool_size

    @checked
    def get_memory_pool_limit(self, pool: MemoryPoolType) -> int:
        return self._limits.get(pool, 0)

    @checked
    def add_optimization_profile(self, profile: IOptimizationProfile) -> int:
        self._note("optimization profiles are ignored: any extents run")
        self.__dict__["num_optimization_profiles"] += 1
        return self.num_optimization_profiles - 1


class Builder(NoOpContextManager, ExplainsMissingNames):
    """Makes networks and configurations."""

    _missing_names = BUILDER
    max_threads = Ignored(0, "set SessionOptions.intra_op_num_threads")
    max_batch_size = Ignored(1, "the batch is an axis like others")
    error_recorder = Ignored(None, "errors are raised")
    logger: ILogger
    notes: list[str]
    num_DLA_cores = 0
    platform_has_fast_fp16 = False
    platform_has_fast_int8 = False
    platform_has_tf32 = False

    @checked
    def __init__(self, logger: ILogger | None = None):
        self.logger = logger if logger is not None else Logger()
        self.notes = []
        self._ignored_values = {}

    @checked
    def create_network(self, flags: Flags = 0) -> Network:
        """An empty network. flags: bits of NetworkDefinitionCreationFlag."""
        return Network(flags, self)

    def create_builder_config(self) -> IBuilderConfig:
        return IBuilderConfig(self.note)

    def create_optimization_profile(self) -> IOptimizationProfile:
        return IOptimizationProfile()

    @checked
    def build_session(
        self, network: Network, config: IBuilderConfig | None = None, options: SessionOptions | None = None
    ) -> InferenceSession:
        """network.build_session(options); the configuration changes nothing."""
        return network.build_session(options)

    @checked
    def is_network_supported(self, network: Network, config: IBuilderConfig | None = None) -> bool:
        """Is the network valid? An error is logged here; `build_session` raises it."""
        try:
            network.ir_text()
        except Error as error:
            self.logger.log(ILogger.Severity.ERROR, str(error))
            return False
        return True

    def reset(self) -> None:
        """Sets all attributes to their defaults."""
        self._ignored_values.clear()

    def note(self, text: str) -> None:
        """Adds a text about an ignored option to the notes and logs it; a repeated text is dropped."""
        if text not in self.notes:
            self.notes.append(text)
            self.logger.log(ILogger.Severity.INFO, text)

    _note = note


def init_libnvinfer_plugins(logger: object = None, namespace: str = "") -> bool:
    """Does nothing except log a note: Rondel has no plugins."""
    if isinstance(logger, ILogger):
        logger.log(ILogger.Severity.INFO, "init_libnvinfer_plugins is ignored: there are no plugins")
    return True
