"""Networks built layer by layer, in TensorRT's Python names: inputs, layers, loops, conditionals.

    import numpy as np
    from rondel.network import *

    n = Network()
    last = n.add_input("last", DataType.INT64, ())
    step = n.add_constant((), np.array(2)).get_output(0)

    loop = n.add_loop()
    i = loop.add_recurrence(n.add_constant((), np.array(0)).get_output(0))
    i.set_input(1, n.add_elementwise(i.get_output(0), step, ElementWiseOperation.SUM).get_output(0))
    loop.add_trip_limit(n.add_elementwise(i.get_output(0), last, ElementWiseOperation.LESS).get_output(0), TripLimit.WHILE)

    n.mark_output(loop.add_loop_output(i.get_output(0), LoopOutput.LAST_VALUE).get_output(0))
    n.build_session().run(None, {"last": 9})      # [array(10)]

docs/network.md lists what maps to what, and defines what TensorRT's documentation of loops leaves open.
"""

from types import ModuleType as _Module

from .._rondel import version as _version
from .._rondel.network import (
    ActivationType,
    CumulativeOperation,
    DataType,
    ElementWiseOperation,
    FillOperation,
    GatherMode,
    LayerType,
    LoopOutput,
    MatrixOperation,
    PaddingMode,
    PoolingType,
    ReduceOperation,
    SampleMode,
    ScaleMode,
    ScatterMode,
    TopKOperation,
    TripLimit,
    UnaryOperation,
)
from ..missing_names import missing as _missing
from .builder import (
    Builder,
    BuilderFlag,
    DeviceType,
    EngineCapability,
    HardwareCompatibilityLevel,
    IBuilderConfig,
    ILogger,
    IOptimizationProfile,
    Logger,
    MemoryPoolType,
    ProfilingVerbosity,
    TilingOptimizationLevel,
    init_libnvinfer_plugins,
)
from .definition import Network, NetworkDefinitionCreationFlag
from .foundation import Dims, Dims2, Dims3, Dims4, DimsHW, Permutation, Weights, nptype, volume
from .layers import (
    IActivationLayer,
    IAssertionLayer,
    ICastLayer,
    IConcatenationLayer,
    IConstantLayer,
    IConvolutionLayer,
    ICumulativeLayer,
    IDequantizeLayer,
    IEinsumLayer,
    IElementWiseLayer,
    IFillLayer,
    IGatherLayer,
    IIdentityLayer,
    ILayer,
    IMatrixMultiplyLayer,
    INonZeroLayer,
    INormalizationLayer,
    IOneHotLayer,
    IPaddingLayer,
    IPoolingLayer,
    IQuantizeLayer,
    IReduceLayer,
    IScaleLayer,
    IScatterLayer,
    ISelectLayer,
    IShapeLayer,
    IShuffleLayer,
    ISliceLayer,
    ISoftMaxLayer,
    ISqueezeLayer,
    ITensor,
    ITopKLayer,
    IUnaryLayer,
    IUnsqueezeLayer,
)
from .loops import (
    IConditionLayer,
    IIfConditional,
    IIfConditionalBoundaryLayer,
    IIfConditionalInputLayer,
    IIfConditionalOutputLayer,
    IIteratorLayer,
    ILoop,
    ILoopBoundaryLayer,
    ILoopOutputLayer,
    IRecurrenceLayer,
    ITripLimitLayer,
)
from .not_here import MODULE as _MODULE

__version__ = _version()
INetworkDefinition = Network
SliceMode = SampleMode

__all__ = [name for name, x in globals().items() if not name.startswith("_") and not isinstance(x, _Module)]

# TensorRT's short names of types. Not in __all__: after `import *`, `bool` would hide Python's bool.
float64, float32, float16, bfloat16 = DataType.DOUBLE, DataType.FLOAT, DataType.HALF, DataType.BF16
int64, int32, int8, int4, uint8 = DataType.INT64, DataType.INT32, DataType.INT8, DataType.INT4, DataType.UINT8
fp8, fp4, bool = DataType.FP8, DataType.FP4, DataType.BOOL


def __getattr__(name):
    raise _missing(__name__, _MODULE, name)
