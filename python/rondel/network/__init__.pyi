# Written by tools/network_stubs.py.
import builtins
import os
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from typing_extensions import Self

from ..exporting import ExportReport
from ..options import SessionOptions
from ..session import InferenceSession

_Extents = Sequence[int] | npt.NDArray[Any] | int
_Weights = Weights | npt.ArrayLike

class ActivationType(IntEnum):
    RELU = 0
    SIGMOID = 1
    TANH = 2
    LEAKY_RELU = 3
    ELU = 4
    SELU = 5
    SOFTSIGN = 6
    SOFTPLUS = 7
    CLIP = 8
    HARD_SIGMOID = 9
    SCALED_TANH = 10
    THRESHOLDED_RELU = 11
    GELU_ERF = 12
    GELU_TANH = 13

class CumulativeOperation(IntEnum):
    SUM = 0

class DataType(IntEnum):
    FLOAT = 0
    HALF = 1
    INT8 = 2
    INT32 = 3
    BOOL = 4
    UINT8 = 5
    FP8 = 6
    BF16 = 7
    INT64 = 8
    INT4 = 9
    FP4 = 10
    E8M0 = 11
    DOUBLE = 100
    INT16 = 101
    UINT16 = 102
    UINT32 = 103
    UINT64 = 104
    UINT4 = 105
    INT2 = 106
    UINT2 = 107
    FP8E4M3FNUZ = 108
    FP8E5M2 = 109
    FP8E5M2FNUZ = 110
    COMPLEX64 = 111
    COMPLEX128 = 112
    STRING = 113
    @property
    def itemsize(self) -> float | None: ...

class ElementWiseOperation(IntEnum):
    SUM = 0
    PROD = 1
    MAX = 2
    MIN = 3
    SUB = 4
    DIV = 5
    POW = 6
    FLOOR_DIV = 7
    AND = 8
    OR = 9
    XOR = 10
    EQUAL = 11
    GREATER = 12
    LESS = 13

class FillOperation(IntEnum):
    LINSPACE = 0
    RANDOM_UNIFORM = 1
    RANDOM_NORMAL = 2

class GatherMode(IntEnum):
    DEFAULT = 0
    ELEMENT = 1
    ND = 2

class LayerType(IntEnum):
    CONVOLUTION = 0
    CAST = 1
    ACTIVATION = 2
    POOLING = 3
    LRN = 4
    SCALE = 5
    SOFTMAX = 6
    DECONVOLUTION = 7
    CONCATENATION = 8
    ELEMENTWISE = 9
    PLUGIN = 10
    UNARY = 11
    PADDING = 12
    SHUFFLE = 13
    REDUCE = 14
    TOPK = 15
    GATHER = 16
    MATRIX_MULTIPLY = 17
    RAGGED_SOFTMAX = 18
    CONSTANT = 19
    IDENTITY = 20
    PLUGIN_V2 = 21
    SLICE = 22
    SHAPE = 23
    PARAMETRIC_RELU = 24
    RESIZE = 25
    TRIP_LIMIT = 26
    RECURRENCE = 27
    ITERATOR = 28
    LOOP_OUTPUT = 29
    SELECT = 30
    FILL = 31
    QUANTIZE = 32
    DEQUANTIZE = 33
    CONDITION = 34
    CONDITIONAL_INPUT = 35
    CONDITIONAL_OUTPUT = 36
    SCATTER = 37
    EINSUM = 38
    ASSERTION = 39
    ONE_HOT = 40
    NON_ZERO = 41
    GRID_SAMPLE = 42
    NMS = 43
    REVERSE_SEQUENCE = 44
    NORMALIZATION = 45
    PLUGIN_V3 = 46
    SQUEEZE = 47
    UNSQUEEZE = 48
    CUMULATIVE = 49
    DYNAMIC_QUANTIZE = 50

class LoopOutput(IntEnum):
    LAST_VALUE = 0
    CONCATENATE = 1
    REVERSE = 2

class MatrixOperation(IntEnum):
    NONE = 0
    TRANSPOSE = 1
    VECTOR = 2

class PaddingMode(IntEnum):
    EXPLICIT_ROUND_DOWN = 0
    EXPLICIT_ROUND_UP = 1
    SAME_UPPER = 2
    SAME_LOWER = 3

class PoolingType(IntEnum):
    MAX = 0
    AVERAGE = 1
    MAX_AVERAGE_BLEND = 2

class ReduceOperation(IntEnum):
    SUM = 0
    PROD = 1
    MAX = 2
    MIN = 3
    AVG = 4

class SampleMode(IntEnum):
    STRICT_BOUNDS = 0
    WRAP = 1
    CLAMP = 2
    FILL = 3
    REFLECT = 4

class ScaleMode(IntEnum):
    UNIFORM = 0
    CHANNEL = 1
    ELEMENTWISE = 2

class ScatterMode(IntEnum):
    ELEMENT = 0
    ND = 1

class TopKOperation(IntEnum):
    MAX = 0
    MIN = 1

class TripLimit(IntEnum):
    COUNT = 0
    WHILE = 1

class UnaryOperation(IntEnum):
    EXP = 0
    LOG = 1
    SQRT = 2
    RECIP = 3
    ABS = 4
    NEG = 5
    SIN = 6
    COS = 7
    TAN = 8
    SINH = 9
    COSH = 10
    ASIN = 11
    ACOS = 12
    ATAN = 13
    ASINH = 14
    ACOSH = 15
    ATANH = 16
    CEIL = 17
    FLOOR = 18
    ERF = 19
    NOT = 20
    SIGN = 21
    ROUND = 22
    ISINF = 23
    ISNAN = 24

class Builder:
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: Any) -> None: ...
    max_threads: Any
    max_batch_size: Any
    error_recorder: Any
    num_DLA_cores: int
    platform_has_fast_fp16: builtins.bool
    platform_has_fast_int8: builtins.bool
    platform_has_tf32: builtins.bool
    def __init__(self, logger: ILogger | None = None) -> None: ...
    def create_network(self, flags: int = 0) -> Network: ...
    def create_builder_config(self) -> IBuilderConfig: ...
    def create_optimization_profile(self) -> IOptimizationProfile: ...
    def build_session(self, network: Network, config: IBuilderConfig | None = None, options: SessionOptions | None = None) -> InferenceSession: ...
    def is_network_supported(self, network: Network, config: IBuilderConfig | None = None) -> builtins.bool: ...
    def reset(self) -> None: ...
    def note(self, text: str) -> None: ...
    logger: ILogger
    notes: list[str]

class BuilderFlag(IntEnum):
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
    STRICT_TYPES = 9
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
    WEIGHTLESS = 19
    REFIT_IDENTICAL = 20
    WEIGHT_STREAMING = 21
    INT4 = 22
    REFIT_INDIVIDUAL = 23
    STRICT_NANS = 24
    MONITOR_MEMORY = 25
    FP4 = 26
    EDITABLE_TIMING_CACHE = 27
    DISTRIBUTIVE_INDEPENDENCE = 28

class DeviceType(IntEnum):
    GPU = 0
    DLA = 1

class EngineCapability(IntEnum):
    STANDARD = 0
    SAFETY = 1
    DLA_STANDALONE = 2

class HardwareCompatibilityLevel(IntEnum):
    NONE = 0
    AMPERE_PLUS = 1
    SAME_COMPUTE_CAPABILITY = 2

class IBuilderConfig:
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: Any) -> None: ...
    def __init__(self, note: Any) -> None: ...
    def reset(self) -> None: ...
    def set_flag(self, flag: BuilderFlag) -> None: ...
    def clear_flag(self, flag: BuilderFlag) -> None: ...
    def get_flag(self, flag: BuilderFlag) -> builtins.bool: ...
    def set_memory_pool_limit(self, pool: MemoryPoolType, pool_size: float) -> None: ...
    def get_memory_pool_limit(self, pool: MemoryPoolType) -> int: ...
    def add_optimization_profile(self, profile: IOptimizationProfile) -> int: ...
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...

class ILogger:
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: Any) -> None: ...
    class Severity(IntEnum):
        INTERNAL_ERROR = 0
        ERROR = 1
        WARNING = 2
        INFO = 3
        VERBOSE = 4
    INTERNAL_ERROR: ClassVar[ILogger.Severity]
    ERROR: ClassVar[ILogger.Severity]
    WARNING: ClassVar[ILogger.Severity]
    INFO: ClassVar[ILogger.Severity]
    VERBOSE: ClassVar[ILogger.Severity]
    def __init__(self) -> None: ...
    def log(self, severity: ILogger.Severity, msg: str) -> None: ...

class IOptimizationProfile:
    def __init__(self) -> None: ...
    def set_shape(self, input: str, min: _Extents, opt: _Extents, max: _Extents) -> None: ...
    def get_shape(self, input: str) -> list[Dims]: ...
    def set_shape_input(self, input: str, min: _Extents, opt: _Extents, max: _Extents) -> None: ...
    def get_shape_input(self, input: str) -> list[Dims]: ...
    def __bool__(self) -> builtins.bool: ...

class Logger(ILogger):
    def __init__(self, min_severity: ILogger.Severity = ...) -> None: ...
    def log(self, severity: ILogger.Severity, msg: str) -> None: ...
    min_severity: ILogger.Severity

class MemoryPoolType(IntEnum):
    WORKSPACE = 0
    DLA_MANAGED_SRAM = 1
    DLA_LOCAL_DRAM = 2
    DLA_GLOBAL_DRAM = 3
    TACTIC_DRAM = 4
    TACTIC_SHARED_MEMORY = 5

class ProfilingVerbosity(IntEnum):
    LAYER_NAMES_ONLY = 0
    NONE = 1
    DETAILED = 2

class TilingOptimizationLevel(IntEnum):
    NONE = 0
    FAST = 1
    MODERATE = 2
    FULL = 3

def init_libnvinfer_plugins(logger: object = None, namespace: str = '') -> builtins.bool: ...

class Network:
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: Any) -> None: ...
    def __init__(self, flags: int = 0, builder: object = None) -> None: ...
    @property
    def has_implicit_batch_dimension(self) -> builtins.bool: ...
    error_recorder: Any
    def get_flag(self, flag: NetworkDefinitionCreationFlag) -> builtins.bool: ...
    def build_session(self, options: SessionOptions | None = None) -> InferenceSession: ...
    def to_onnx(self, path: str | os.PathLike[str] | None = None, *, opset: int | None = None, external_data: builtins.bool = False) -> bytes | ExportReport: ...
    def ir_text(self) -> str: ...
    def add_input(self, name: str, dtype: DataType, shape: _Extents) -> ITensor: ...
    def mark_output(self, tensor: ITensor) -> None: ...
    def unmark_output(self, tensor: ITensor) -> None: ...
    def get_input(self, index: int) -> ITensor: ...
    def get_output(self, index: int) -> ITensor: ...
    def get_layer(self, index: int) -> ILayer: ...
    def __getitem__(self, index: int) -> ILayer: ...
    def __len__(self) -> int: ...
    def add_constant(self, shape: _Extents, weights: _Weights) -> IConstantLayer: ...
    def add_fill(self, shape: _Extents, op: FillOperation, output_type: DataType = ...) -> IFillLayer: ...
    def add_elementwise(self, input1: ITensor, input2: ITensor, op: ElementWiseOperation) -> IElementWiseLayer: ...
    def add_unary(self, input: ITensor, op: UnaryOperation) -> IUnaryLayer: ...
    def add_activation(self, input: ITensor, type: ActivationType) -> IActivationLayer: ...
    def add_select(self, condition: ITensor, then_input: ITensor, else_input: ITensor) -> ISelectLayer: ...
    def add_cast(self, input: ITensor, to_type: DataType) -> ICastLayer: ...
    def add_identity(self, input: ITensor) -> IIdentityLayer: ...
    def add_scale(self, input: ITensor, mode: ScaleMode, shift: _Weights | None = None, scale: _Weights | None = None, power: _Weights | None = None) -> IScaleLayer: ...
    def add_scale_nd(self, input: ITensor, mode: ScaleMode, shift: _Weights | None = None, scale: _Weights | None = None, power: _Weights | None = None, channel_axis: int = 1) -> IScaleLayer: ...
    def add_quantize(self, input: ITensor, scale: ITensor, output_type: DataType = ...) -> IQuantizeLayer: ...
    def add_dequantize(self, input: ITensor, scale: ITensor, output_type: DataType = ...) -> IDequantizeLayer: ...
    def add_matrix_multiply(self, input0: ITensor, op0: MatrixOperation, input1: ITensor, op1: MatrixOperation) -> IMatrixMultiplyLayer: ...
    def add_einsum(self, inputs: Sequence[ITensor], equation: str) -> IEinsumLayer: ...
    def add_reduce(self, input: ITensor, op: ReduceOperation, axes: int, keep_dims: builtins.bool) -> IReduceLayer: ...
    def add_cumulative(self, input: ITensor, axis: ITensor, op: CumulativeOperation, exclusive: builtins.bool, reverse: builtins.bool) -> ICumulativeLayer: ...
    def add_softmax(self, input: ITensor) -> ISoftMaxLayer: ...
    def add_topk(self, input: ITensor, op: TopKOperation, k: int, axes: int, indices_type: DataType = ...) -> ITopKLayer: ...
    def add_normalization(self, input: ITensor, scale: ITensor, bias: ITensor, axesMask: int) -> INormalizationLayer: ...
    def add_convolution_nd(self, input: ITensor, num_output_maps: int, kernel_shape: _Extents, kernel: _Weights, bias: _Weights | None = None) -> IConvolutionLayer: ...
    def add_pooling_nd(self, input: ITensor, type: PoolingType, window_size: _Extents) -> IPoolingLayer: ...
    def add_padding_nd(self, input: ITensor, pre_padding: _Extents, post_padding: _Extents) -> IPaddingLayer: ...
    def add_shuffle(self, input: ITensor) -> IShuffleLayer: ...
    def add_slice(self, input: ITensor, start: _Extents, shape: _Extents, stride: _Extents) -> ISliceLayer: ...
    def add_concatenation(self, inputs: Sequence[ITensor]) -> IConcatenationLayer: ...
    def add_gather(self, input: ITensor, indices: ITensor, axis: int) -> IGatherLayer: ...
    def add_gather_v2(self, input: ITensor, indices: ITensor, mode: GatherMode) -> IGatherLayer: ...
    def add_scatter(self, data: ITensor, indices: ITensor, updates: ITensor, mode: ScatterMode) -> IScatterLayer: ...
    def add_one_hot(self, indices: ITensor, values: ITensor, depth: ITensor, axis: int) -> IOneHotLayer: ...
    def add_non_zero(self, input: ITensor, indices_type: DataType = ...) -> INonZeroLayer: ...
    def add_squeeze(self, input: ITensor, axes: ITensor) -> ISqueezeLayer: ...
    def add_unsqueeze(self, input: ITensor, axes: ITensor) -> IUnsqueezeLayer: ...
    def add_shape(self, input: ITensor) -> IShapeLayer: ...
    def add_assertion(self, condition: ITensor, message: str) -> IAssertionLayer: ...
    def add_loop(self) -> ILoop: ...
    def add_if_conditional(self) -> IIfConditional: ...
    @property
    def name(self) -> str:
        "The network's name."
    @name.setter
    def name(self, value: str) -> None: ...
    @property
    def num_layers(self) -> int:
        'Layers, those at the boundaries of loops and conditionals included.'
    @property
    def num_inputs(self) -> int:
        'Inputs.'
    @property
    def num_outputs(self) -> int:
        'Outputs.'

class NetworkDefinitionCreationFlag(IntEnum):
    EXPLICIT_BATCH = 0
    STRONGLY_TYPED = 1
    PREFER_AOT_PYTHON_PLUGINS = 2
    PREFER_JIT_PYTHON_PLUGINS = 3

class Dims(tuple[int, ...]):
    MAX_DIMS: int
    def __new__(cls, shape: Any = ()) -> Self: ...

class Dims2(Dims):
    count: int
    def __new__(cls, *extents: Any) -> Self: ...

class Dims3(Dims2):
    count: int

class Dims4(Dims2):
    count: int

class DimsHW(Dims2):
    @property
    def h(self) -> int: ...
    @property
    def w(self) -> int: ...

class Permutation(Dims):
    ...

class Weights:
    def __init__(self, a: Any = ..., ptr: int | None = None, count: int | None = None) -> None: ...
    @property
    def dtype(self) -> DataType: ...
    @property
    def size(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def numpy(self) -> npt.NDArray[Any]: ...
    def __len__(self) -> int: ...
    def engine(self) -> Any: ...

def nptype(dtype: DataType) -> type[Any]: ...

def volume(shape: Iterable[int]) -> int: ...

class IActivationLayer(ILayer):
    @property
    def type(self) -> ActivationType:
        'Which function. (It hides ILayer.type, as in TensorRT.)'
    @type.setter
    def type(self, value: ActivationType) -> None: ...
    @property
    def alpha(self) -> float:
        "The function's first parameter."
    @alpha.setter
    def alpha(self, value: float) -> None: ...
    @property
    def beta(self) -> float:
        "The function's second parameter."
    @beta.setter
    def beta(self, value: float) -> None: ...

class IAssertionLayer(ILayer):
    @property
    def message(self) -> str:
        'What the error says when the condition does not hold.'
    @message.setter
    def message(self, value: str) -> None: ...

class ICastLayer(ILayer):
    @property
    def to_type(self) -> DataType:
        'The type of the output.'
    @to_type.setter
    def to_type(self, value: DataType) -> None: ...

class IConcatenationLayer(ILayer):
    @property
    def axis(self) -> int:
        'The axis along which the inputs are joined; a negative one counts from the end.'
    @axis.setter
    def axis(self, value: int) -> None: ...

class IConstantLayer(ILayer):
    @property
    def weights(self) -> npt.NDArray[Any]:
        'The elements, as an array.'
    @weights.setter
    def weights(self, value: _Weights) -> None: ...
    @property
    def shape(self) -> Dims:
        'The extents.'
    @shape.setter
    def shape(self, value: _Extents) -> None: ...

class IConvolutionLayer(ILayer):
    @property
    def stride_nd(self) -> Dims:
        'Steps of the window, one for each axis.'
    @stride_nd.setter
    def stride_nd(self, value: _Extents) -> None: ...
    @property
    def padding_nd(self) -> Dims:
        'Padding on both sides, one number for each axis.'
    @padding_nd.setter
    def padding_nd(self, value: _Extents) -> None: ...
    @property
    def pre_padding(self) -> Dims:
        'Padding before the first element.'
    @pre_padding.setter
    def pre_padding(self, value: _Extents) -> None: ...
    @property
    def post_padding(self) -> Dims:
        'Padding after the last element.'
    @post_padding.setter
    def post_padding(self, value: _Extents) -> None: ...
    @property
    def padding_mode(self) -> PaddingMode:
        'How padding is computed when it is not given.'
    @padding_mode.setter
    def padding_mode(self, value: PaddingMode) -> None: ...
    @property
    def num_output_maps(self) -> int:
        'Channels of the output.'
    @num_output_maps.setter
    def num_output_maps(self, value: int) -> None: ...
    @property
    def kernel_size_nd(self) -> Dims:
        'Extents of the window.'
    @kernel_size_nd.setter
    def kernel_size_nd(self, value: _Extents) -> None: ...
    @property
    def dilation_nd(self) -> Dims:
        'Distance between elements of the window.'
    @dilation_nd.setter
    def dilation_nd(self, value: _Extents) -> None: ...
    @property
    def num_groups(self) -> int:
        'Groups of channels that are convolved separately.'
    @num_groups.setter
    def num_groups(self, value: int) -> None: ...
    @property
    def kernel(self) -> npt.NDArray[Any]:
        '[output maps, channels / groups, window...], as an array.'
    @kernel.setter
    def kernel(self, value: _Weights) -> None: ...
    @property
    def bias(self) -> npt.NDArray[Any]:
        '[output maps] or nothing, as an array.'
    @bias.setter
    def bias(self, value: _Weights) -> None: ...

class ICumulativeLayer(ILayer):
    @property
    def op(self) -> CumulativeOperation:
        'What is accumulated.'
    @op.setter
    def op(self, value: CumulativeOperation) -> None: ...
    @property
    def exclusive(self) -> builtins.bool:
        "True: an element's sum leaves out the element."
    @exclusive.setter
    def exclusive(self, value: builtins.bool) -> None: ...
    @property
    def reverse(self) -> builtins.bool:
        'True: from the end.'
    @reverse.setter
    def reverse(self, value: builtins.bool) -> None: ...

class IDequantizeLayer(ILayer):
    @property
    def axis(self) -> int:
        'The axis that scales of rank 1 apply along.'
    @axis.setter
    def axis(self, value: int) -> None: ...
    @property
    def to_type(self) -> DataType:
        'The type of the output.'
    @to_type.setter
    def to_type(self, value: DataType) -> None: ...

class IEinsumLayer(ILayer):
    @property
    def equation(self) -> str:
        "As in NumPy: 'ij,jk->ik'."
    @equation.setter
    def equation(self, value: str) -> None: ...

class IElementWiseLayer(ILayer):
    @property
    def op(self) -> ElementWiseOperation:
        'The function of a pair of elements.'
    @op.setter
    def op(self, value: ElementWiseOperation) -> None: ...

class IFillLayer(ILayer):
    def is_alpha_beta_int64(self) -> builtins.bool: ...
    @property
    def shape(self) -> Dims:
        'Extents of the output.'
    @shape.setter
    def shape(self, value: _Extents) -> None: ...
    @property
    def operation(self) -> FillOperation:
        'What it is filled with.'
    @operation.setter
    def operation(self, value: FillOperation) -> None: ...
    @property
    def alpha(self) -> float:
        'Start; minimum; mean. An int where it is set to one.'
    @alpha.setter
    def alpha(self, value: float) -> None: ...
    @property
    def beta(self) -> float:
        'Step; maximum; standard deviation. An int where it is set to one.'
    @beta.setter
    def beta(self, value: float) -> None: ...
    @property
    def to_type(self) -> DataType:
        'The type of the output.'
    @to_type.setter
    def to_type(self, value: DataType) -> None: ...

class IGatherLayer(ILayer):
    @property
    def axis(self) -> int:
        'The axis that is indexed.'
    @axis.setter
    def axis(self, value: int) -> None: ...
    @property
    def mode(self) -> GatherMode:
        'How indices are understood.'
    @mode.setter
    def mode(self, value: GatherMode) -> None: ...
    @property
    def num_elementwise_dims(self) -> int:
        'Leading axes that data and indices share.'
    @num_elementwise_dims.setter
    def num_elementwise_dims(self, value: int) -> None: ...

class IIdentityLayer(ILayer):
    ...

class ILayer:
    def __init__(self, network: Any, raw: Any) -> None: ...
    @property
    def type(self) -> LayerType: ...
    def get_input(self, index: int) -> ITensor | None: ...
    def get_output(self, index: int) -> ITensor: ...
    def set_input(self, index: int, tensor: ITensor) -> None: ...
    def set_output_type(self, index: int, dtype: DataType) -> None: ...
    def get_output_type(self, index: int) -> DataType: ...
    def output_type_is_set(self, index: int) -> builtins.bool: ...
    def reset_output_type(self, index: int) -> None: ...
    def reset_precision(self) -> None: ...
    @property
    def name(self) -> str:
        'Shown in errors.'
    @name.setter
    def name(self, value: str) -> None: ...
    @property
    def metadata(self) -> str:
        'Any text; stored.'
    @metadata.setter
    def metadata(self, value: str) -> None: ...
    @property
    def num_inputs(self) -> int:
        'How many inputs it has, including those that are not set.'
    @property
    def num_outputs(self) -> int:
        'How many outputs it has.'
    @property
    def precision(self) -> DataType:
        'Stored and ignored: a layer computes in the type of its inputs.'
    @precision.setter
    def precision(self, value: DataType) -> None: ...
    @property
    def precision_is_set(self) -> builtins.bool:
        'Was `precision` set?'

class IMatrixMultiplyLayer(ILayer):
    @property
    def op0(self) -> MatrixOperation:
        'How input 0 is used: as it is, transposed, or as a vector.'
    @op0.setter
    def op0(self, value: MatrixOperation) -> None: ...
    @property
    def op1(self) -> MatrixOperation:
        'How input 1 is used: as it is, transposed, or as a vector.'
    @op1.setter
    def op1(self, value: MatrixOperation) -> None: ...

class INonZeroLayer(ILayer):
    @property
    def indices_type(self) -> DataType:
        'INT32 or INT64.'
    @indices_type.setter
    def indices_type(self, value: DataType) -> None: ...

class INormalizationLayer(ILayer):
    @property
    def epsilon(self) -> float:
        'Added to the variance.'
    @epsilon.setter
    def epsilon(self, value: float) -> None: ...
    @property
    def axes(self) -> int:
        'Bit k set: normalised over axis k.'
    @axes.setter
    def axes(self, value: int) -> None: ...
    @property
    def num_groups(self) -> int:
        'Groups of channels that are normalised separately.'
    @num_groups.setter
    def num_groups(self, value: int) -> None: ...
    @property
    def compute_precision(self) -> DataType:
        'The type that mean and variance are computed in.'
    @compute_precision.setter
    def compute_precision(self, value: DataType) -> None: ...

class IOneHotLayer(ILayer):
    @property
    def axis(self) -> int:
        'The new axis.'
    @axis.setter
    def axis(self, value: int) -> None: ...

class IPaddingLayer(ILayer):
    @property
    def pre_padding_nd(self) -> Dims:
        'Zeros before the first element; negative: removes elements.'
    @pre_padding_nd.setter
    def pre_padding_nd(self, value: _Extents) -> None: ...
    @property
    def post_padding_nd(self) -> Dims:
        'Zeros after the last element; negative: removes elements.'
    @post_padding_nd.setter
    def post_padding_nd(self, value: _Extents) -> None: ...

class IPoolingLayer(ILayer):
    @property
    def stride_nd(self) -> Dims:
        'Steps of the window, one for each axis.'
    @stride_nd.setter
    def stride_nd(self, value: _Extents) -> None: ...
    @property
    def padding_nd(self) -> Dims:
        'Padding on both sides, one number for each axis.'
    @padding_nd.setter
    def padding_nd(self, value: _Extents) -> None: ...
    @property
    def pre_padding(self) -> Dims:
        'Padding before the first element.'
    @pre_padding.setter
    def pre_padding(self, value: _Extents) -> None: ...
    @property
    def post_padding(self) -> Dims:
        'Padding after the last element.'
    @post_padding.setter
    def post_padding(self, value: _Extents) -> None: ...
    @property
    def padding_mode(self) -> PaddingMode:
        'How padding is computed when it is not given.'
    @padding_mode.setter
    def padding_mode(self, value: PaddingMode) -> None: ...
    @property
    def type(self) -> PoolingType:
        'The function of a window: maximum, average, or a blend of both.'
    @type.setter
    def type(self, value: PoolingType) -> None: ...
    @property
    def window_size_nd(self) -> Dims:
        'Extents of the window.'
    @window_size_nd.setter
    def window_size_nd(self, value: _Extents) -> None: ...
    @property
    def blend_factor(self) -> float:
        'Share of the average in MAX_AVERAGE_BLEND.'
    @blend_factor.setter
    def blend_factor(self, value: float) -> None: ...
    @property
    def average_count_excludes_padding(self) -> builtins.bool:
        'True: padding does not count in an average.'
    @average_count_excludes_padding.setter
    def average_count_excludes_padding(self, value: builtins.bool) -> None: ...

class IQuantizeLayer(ILayer):
    @property
    def axis(self) -> int:
        'The axis that scales of rank 1 apply along.'
    @axis.setter
    def axis(self, value: int) -> None: ...
    @property
    def to_type(self) -> DataType:
        'The type of the output.'
    @to_type.setter
    def to_type(self, value: DataType) -> None: ...

class IReduceLayer(ILayer):
    @property
    def op(self) -> ReduceOperation:
        'The reduction.'
    @op.setter
    def op(self, value: ReduceOperation) -> None: ...
    @property
    def axes(self) -> int:
        'Bit k set: axis k is reduced.'
    @axes.setter
    def axes(self, value: int) -> None: ...
    @property
    def keep_dims(self) -> builtins.bool:
        'True: reduced axes stay, with extent 1.'
    @keep_dims.setter
    def keep_dims(self, value: builtins.bool) -> None: ...

class IScaleLayer(ILayer):
    @property
    def mode(self) -> ScaleMode:
        'How many numbers there are: one, one per channel, or one per element.'
    @mode.setter
    def mode(self, value: ScaleMode) -> None: ...
    @property
    def shift(self) -> npt.NDArray[Any]:
        'What is added, as an array; empty: 0.'
    @shift.setter
    def shift(self, value: _Weights) -> None: ...
    @property
    def scale(self) -> npt.NDArray[Any]:
        'Factors, as an array; empty: 1.'
    @scale.setter
    def scale(self, value: _Weights) -> None: ...
    @property
    def power(self) -> npt.NDArray[Any]:
        'Exponents, as an array; empty: 1.'
    @power.setter
    def power(self, value: _Weights) -> None: ...
    @property
    def channel_axis(self) -> int:
        'The axis of the channels.'
    @channel_axis.setter
    def channel_axis(self, value: int) -> None: ...

class IScatterLayer(ILayer):
    @property
    def axis(self) -> int:
        'The axis that ELEMENT indices are of.'
    @axis.setter
    def axis(self, value: int) -> None: ...
    @property
    def mode(self) -> ScatterMode:
        'How indices are understood.'
    @mode.setter
    def mode(self, value: ScatterMode) -> None: ...

class ISelectLayer(ILayer):
    ...

class IShapeLayer(ILayer):
    ...

class IShuffleLayer(ILayer):
    @property
    def first_transpose(self) -> Permutation:
        'The order of axes before reshaping.'
    @first_transpose.setter
    def first_transpose(self, value: _Extents) -> None: ...
    @property
    def reshape_dims(self) -> Dims:
        "New extents; -1: what is left; 0: as the input's. None: not reshaped."
    @reshape_dims.setter
    def reshape_dims(self, value: _Extents) -> None: ...
    @property
    def second_transpose(self) -> Permutation:
        'The order of axes after reshaping.'
    @second_transpose.setter
    def second_transpose(self, value: _Extents) -> None: ...
    @property
    def zero_is_placeholder(self) -> builtins.bool:
        "True: an extent of 0 stands for the input's; False: for none."
    @zero_is_placeholder.setter
    def zero_is_placeholder(self, value: builtins.bool) -> None: ...

class ISliceLayer(ILayer):
    @property
    def start(self) -> Dims:
        'The first index, one for each axis.'
    @start.setter
    def start(self, value: _Extents) -> None: ...
    @property
    def shape(self) -> Dims:
        'Extents of the output.'
    @shape.setter
    def shape(self, value: _Extents) -> None: ...
    @property
    def stride(self) -> Dims:
        'The step between indices, one for each axis.'
    @stride.setter
    def stride(self, value: _Extents) -> None: ...
    @property
    def mode(self) -> SampleMode:
        'What is read outside of the input.'
    @mode.setter
    def mode(self, value: SampleMode) -> None: ...
    @property
    def axes(self) -> Dims:
        'The axes that start, shape and stride apply to. None: all.'
    @axes.setter
    def axes(self, value: _Extents) -> None: ...

class ISoftMaxLayer(ILayer):
    @property
    def axes(self) -> int:
        'Bit k set: elements along axis k sum up to 1.'
    @axes.setter
    def axes(self, value: int) -> None: ...

class ISqueezeLayer(ILayer):
    ...

class ITensor:
    def __init__(self, network: Any, raw: Any) -> None: ...
    def set_dimension_name(self, index: int, name: str) -> None: ...
    def get_dimension_name(self, index: int) -> str: ...
    @property
    def name(self) -> str:
        'The name under which an input is fed and an output is fetched.'
    @name.setter
    def name(self, value: str) -> None: ...
    @property
    def shape(self) -> Dims:
        'Extents; -1: known only when running. Set on inputs of the network only.'
    @shape.setter
    def shape(self, value: _Extents) -> None: ...
    @property
    def dtype(self) -> DataType:
        "The element type. Set on a layer's output: as by its `set_output_type`."
    @dtype.setter
    def dtype(self, value: DataType) -> None: ...
    @property
    def is_network_input(self) -> builtins.bool:
        'An input of the network?'
    @property
    def is_network_output(self) -> builtins.bool:
        'Marked as an output of the network?'

class ITopKLayer(ILayer):
    @property
    def op(self) -> TopKOperation:
        'The largest or the smallest.'
    @op.setter
    def op(self, value: TopKOperation) -> None: ...
    @property
    def k(self) -> int:
        'How many.'
    @k.setter
    def k(self, value: int) -> None: ...
    @property
    def axes(self) -> int:
        'One bit: the axis.'
    @axes.setter
    def axes(self, value: int) -> None: ...
    @property
    def indices_type(self) -> DataType:
        'INT32 or INT64.'
    @indices_type.setter
    def indices_type(self, value: DataType) -> None: ...

class IUnaryLayer(ILayer):
    @property
    def op(self) -> UnaryOperation:
        'The function of an element.'
    @op.setter
    def op(self, value: UnaryOperation) -> None: ...

class IUnsqueezeLayer(ILayer):
    ...

class IConditionLayer(IIfConditionalBoundaryLayer):
    ...

class IIfConditional:
    def __init__(self, network: Any, raw: Any) -> None: ...
    def set_condition(self, condition: ITensor) -> IConditionLayer: ...
    def add_input(self, input: ITensor) -> IIfConditionalInputLayer: ...
    def add_output(self, true_subgraph_output: ITensor, false_subgraph_output: ITensor) -> IIfConditionalOutputLayer: ...
    @property
    def name(self) -> str:
        'Shown in errors.'
    @name.setter
    def name(self, value: str) -> None: ...

class IIfConditionalBoundaryLayer(ILayer):
    @property
    def conditional(self) -> IIfConditional: ...

class IIfConditionalInputLayer(IIfConditionalBoundaryLayer):
    ...

class IIfConditionalOutputLayer(IIfConditionalBoundaryLayer):
    ...

class IIteratorLayer(ILoopBoundaryLayer):
    @property
    def axis(self) -> int:
        'The axis that it iterates over; a negative one counts from the end.'
    @axis.setter
    def axis(self, value: int) -> None: ...
    @property
    def reverse(self) -> builtins.bool:
        "True: from the last trip's slice to the first."
    @reverse.setter
    def reverse(self, value: builtins.bool) -> None: ...

class ILoop:
    def __init__(self, network: Any, raw: Any) -> None: ...
    def add_recurrence(self, initial_value: ITensor) -> IRecurrenceLayer: ...
    def add_trip_limit(self, tensor: ITensor, kind: TripLimit) -> ITripLimitLayer: ...
    def add_iterator(self, tensor: ITensor, axis: int = 0, reverse: builtins.bool = False) -> IIteratorLayer: ...
    def add_loop_output(self, tensor: ITensor, kind: LoopOutput, axis: int = 0) -> ILoopOutputLayer: ...
    @property
    def name(self) -> str:
        'Shown in errors.'
    @name.setter
    def name(self, value: str) -> None: ...

class ILoopBoundaryLayer(ILayer):
    @property
    def loop(self) -> ILoop: ...

class ILoopOutputLayer(ILoopBoundaryLayer):
    @property
    def kind(self) -> LoopOutput:
        'LAST_VALUE, CONCATENATE or REVERSE.'
    @property
    def axis(self) -> int:
        'The new axis; a negative one counts from the end of the result.'
    @axis.setter
    def axis(self, value: int) -> None: ...

class IRecurrenceLayer(ILoopBoundaryLayer):
    ...

class ITripLimitLayer(ILoopBoundaryLayer):
    @property
    def kind(self) -> TripLimit:
        'COUNT or WHILE.'

INetworkDefinition = Network

SliceMode = SampleMode

__version__: str
float64: DataType
float32: DataType
float16: DataType
bfloat16: DataType
int64: DataType
int32: DataType
int8: DataType
int4: DataType
uint8: DataType
fp8: DataType
fp4: DataType
bool: DataType
__all__ = ['ActivationType', 'CumulativeOperation', 'DataType', 'ElementWiseOperation', 'FillOperation', 'GatherMode', 'LayerType', 'LoopOutput', 'MatrixOperation', 'PaddingMode', 'PoolingType', 'ReduceOperation', 'SampleMode', 'ScaleMode', 'ScatterMode', 'TopKOperation', 'TripLimit', 'UnaryOperation', 'Builder', 'BuilderFlag', 'DeviceType', 'EngineCapability', 'HardwareCompatibilityLevel', 'IBuilderConfig', 'ILogger', 'IOptimizationProfile', 'Logger', 'MemoryPoolType', 'ProfilingVerbosity', 'TilingOptimizationLevel', 'init_libnvinfer_plugins', 'Network', 'NetworkDefinitionCreationFlag', 'Dims', 'Dims2', 'Dims3', 'Dims4', 'DimsHW', 'Permutation', 'Weights', 'nptype', 'volume', 'IActivationLayer', 'IAssertionLayer', 'ICastLayer', 'IConcatenationLayer', 'IConstantLayer', 'IConvolutionLayer', 'ICumulativeLayer', 'IDequantizeLayer', 'IEinsumLayer', 'IElementWiseLayer', 'IFillLayer', 'IGatherLayer', 'IIdentityLayer', 'ILayer', 'IMatrixMultiplyLayer', 'INonZeroLayer', 'INormalizationLayer', 'IOneHotLayer', 'IPaddingLayer', 'IPoolingLayer', 'IQuantizeLayer', 'IReduceLayer', 'IScaleLayer', 'IScatterLayer', 'ISelectLayer', 'IShapeLayer', 'IShuffleLayer', 'ISliceLayer', 'ISoftMaxLayer', 'ISqueezeLayer', 'ITensor', 'ITopKLayer', 'IUnaryLayer', 'IUnsqueezeLayer', 'IConditionLayer', 'IIfConditional', 'IIfConditionalBoundaryLayer', 'IIfConditionalInputLayer', 'IIfConditionalOutputLayer', 'IIteratorLayer', 'ILoop', 'ILoopBoundaryLayer', 'ILoopOutputLayer', 'IRecurrenceLayer', 'ITripLimitLayer', 'INetworkDefinition', 'SliceMode']
