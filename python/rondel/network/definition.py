"""Network: TensorRT's INetworkDefinition.

Long: it has a method for each layer, whose docstring documents the inputs, outputs and types of the layer.
"""

from collections.abc import Sequence
from pathlib import Path

from .._rondel import network as engine
from .._rondel.network import (
    ActivationType,
    CumulativeOperation,
    DataType,
    ElementWiseOperation,
    FillOperation,
    GatherMode,
    MatrixOperation,
    PoolingType,
    ReduceOperation,
    ScaleMode,
    ScatterMode,
    TopKOperation,
    UnaryOperation,
)
from ..errors import CallerError
from ..exporting import ExportReport, export
from ..missing_names import ExplainsMissingNames, Ignored
from ..options import SessionOptions, checked_options
from ..session import InferenceSession
from . import layers
from .arguments import Axes, Flags, checked
from .foundation import Choice, Dims, Extents, NoOpContextManager, Weights, add_attributes
from .layers import ILayer, ITensor, wrap
from .loops import IIfConditional, ILoop
from .not_here import NETWORK

_NONE = Weights()


class NetworkDefinitionCreationFlag(Choice):
    """Flags of create_network, as 1 << int(flag). All networks have an explicit batch and are strongly typed."""

    EXPLICIT_BATCH = 0
    STRONGLY_TYPED = 1
    PREFER_AOT_PYTHON_PLUGINS = 2
    PREFER_JIT_PYTHON_PLUGINS = 3


class NoSuchLayer(CallerError, IndexError):
    """The index of a layer is out of range."""


class Network(NoOpContextManager, ExplainsMissingNames):
    """A network that is built layer by layer: inputs, layers, loops, conditionals, marked outputs.

    `build_session()` makes a session that runs the network. The network may be changed and built again.
    A wrong argument raises a CallerError at once. A mistake that concerns several layers raises a CallerError when the
    network is built; the error names the layers. A network must not be changed from two threads at once.
    """

    __slots__ = ("_raw", "_ignored_values", "builder", "flags", "__weakref__")
    _missing_names = NETWORK

    def __init__(self, flags: Flags = 0, builder: object = None) -> None:
        self._ignored_values = {}
        self._raw = engine.INetworkDefinition()
        self.builder = builder
        self.flags = flags

    @property
    def has_implicit_batch_dimension(self) -> bool:
        """Always False: the batch is an axis like others."""
        return False

    error_recorder = Ignored(None, "errors are raised")

    @checked
    def get_flag(self, flag: NetworkDefinitionCreationFlag) -> bool:
        """Was the network made with this flag? Flags have no effect."""
        return bool(self.flags >> flag & 1)

    # ---- building and saving -------------------------------------------------------------------------------

    def build_session(self, options: SessionOptions | None = None) -> InferenceSession:
        """Checks the network and compiles it. Outputs come in the order they were marked.

        A profile has the times of building and of runs, not of their steps. Raises CallerError, naming layers and loops, when something
        is wrong with the network, and for options that change an ONNX model: dimensions, initializers.
        """
        return InferenceSession.built(self._raw.build_session, checked_options(options, SessionOptions, "Network.build_session: options"))

    @checked
    def to_onnx(self, path: Path | None = None, *, opset: int | None = None, external_data: bool = False) -> bytes | ExportReport:
        """The network as standard ONNX: bytes, or with a path a file and an ExportReport. As `rondel.export`.

        Raises CallerError as build_session does, for an opset that cannot express the network, and when a file cannot be written.
        """
        return export(self.build_session(), path, opset=opset, external_data=external_data)

    def ir_text(self) -> str:
        """The graph that the session is made from, as text."""
        return self._raw.ir_text()

    # ---- inputs and outputs --------------------------------------------------------------------------------

    @checked
    def add_input(self, name: str, dtype: DataType, shape: Extents) -> ITensor:
        """An input. An extent of -1 may be anything when the network runs; () is a scalar."""
        return self._tensor(self._call_engine("add_input", name, dtype, shape))

    @checked
    def mark_output(self, tensor: ITensor) -> None:
        """Makes the tensor an output of the network, under the tensor's name."""
        self._call_engine("mark_output", tensor._raw)

    @checked
    def unmark_output(self, tensor: ITensor) -> None:
        self._call_engine("unmark_output", tensor._raw)

    @checked
    def get_input(self, index: int) -> ITensor:
        """Input `index`, in the order they were added."""
        return self._tensor(self._call_engine("get_input", index))

    @checked
    def get_output(self, index: int) -> ITensor:
        """Output `index`, in the order they were marked."""
        return self._tensor(self._call_engine("get_output", index))

    @checked
    def get_layer(self, index: int) -> ILayer:
        """Layer `index`, in the order they were added. network[index] and iteration use the same order."""
        return wrap(self, self._call_engine("get_layer", index))

    @checked
    def __getitem__(self, index: int) -> ILayer:
        number = range(self.num_layers)[index] if -self.num_layers <= index < self.num_layers else None
        if number is None:
            raise NoSuchLayer(f"there is no layer {index}; the network has {self.num_layers}")
        return self.get_layer(number)

    def __len__(self) -> int:
        return self.num_layers

    # ---- constants and fills -------------------------------------------------------------------------------

    @checked
    def add_constant(self, shape: Dims, weights: Weights) -> layers.IConstantLayer:
        """The given elements. weights: an array of any dtype, with as many elements as the shape has; copied."""
        return self._add("add_constant", shape, weights.engine())

    @checked
    def add_fill(self, shape: Dims, op: FillOperation, output_type: DataType = DataType.FLOAT) -> layers.IFillLayer:
        """A tensor of this shape. LINSPACE: alpha + index * beta; RANDOM_UNIFORM: from alpha to beta; RANDOM_NORMAL: mean
        alpha, standard deviation beta.

        Inputs 0, 1 and 2, by set_input, replace shape, alpha and beta. Random numbers depend on the run's seed. In a
        loop they are drawn in each trip if an input comes from inside the loop, else once, and are the same in all trips.
        """
        return self._add("add_fill", shape, op, output_type)

    # ---- element by element --------------------------------------------------------------------------------

    @checked
    def add_elementwise(self, input1: ITensor, input2: ITensor, op: ElementWiseOperation) -> layers.IElementWiseLayer:
        """op on pairs of elements of two tensors of one type and rank; axes of extent 1 are repeated.

        EQUAL, GREATER and LESS give BOOL; AND, OR and XOR take BOOL.
        """
        return self._add("add_elementwise", input1, input2, op)

    @checked
    def add_unary(self, input: ITensor, op: UnaryOperation) -> layers.IUnaryLayer:
        """op on each element. NOT takes BOOL; ISINF and ISNAN give BOOL."""
        return self._add("add_unary", input, op)

    @checked
    def add_activation(self, input: ITensor, type: ActivationType) -> layers.IActivationLayer:
        """An activation of each element, with the parameters alpha and beta of the layer."""
        return self._add("add_activation", input, type)

    @checked
    def add_select(self, condition: ITensor, then_input: ITensor, else_input: ITensor) -> layers.ISelectLayer:
        """For each element, then_input if condition (BOOL) is true, else else_input; both inputs have the same type."""
        return self._add("add_select", condition, then_input, else_input)

    @checked
    def add_cast(self, input: ITensor, to_type: DataType) -> layers.ICastLayer:
        """The elements in another type."""
        return self._add("add_cast", input, to_type)

    @checked
    def add_identity(self, input: ITensor) -> layers.IIdentityLayer:
        """The input as it is."""
        return self._add("add_identity", input)

    @checked
    def add_scale(
        self,
        input: ITensor,
        mode: ScaleMode,
        shift: Weights | None = None,
        scale: Weights | None = None,
        power: Weights | None = None,
    ) -> layers.IScaleLayer:
        """(input * scale + shift) ** power, with one number for all elements, for each channel (axis 1), or for each element."""
        return self._add("add_scale", input, mode, *(w.engine() for w in (shift or _NONE, scale or _NONE, power or _NONE)))

    @checked
    def add_scale_nd(
        self,
        input: ITensor,
        mode: ScaleMode,
        shift: Weights | None = None,
        scale: Weights | None = None,
        power: Weights | None = None,
        channel_axis: int = 1,
    ) -> layers.IScaleLayer:
        """As add_scale, with the channels along channel_axis."""
        numbers = (w.engine() for w in (shift or _NONE, scale or _NONE, power or _NONE))
        return self._add("add_scale_nd", input, mode, *numbers, channel_axis)

    @checked
    def add_quantize(self, input: ITensor, scale: ITensor, output_type: DataType = DataType.INT8) -> layers.IQuantizeLayer:
        """round(input / scale), saturated; a scale of rank 1 applies along the layer's axis."""
        return self._add("add_quantize", input, scale, output_type)

    @checked
    def add_dequantize(self, input: ITensor, scale: ITensor, output_type: DataType = DataType.FLOAT) -> layers.IDequantizeLayer:
        """input * scale; a scale of rank 1 applies along the layer's axis."""
        return self._add("add_dequantize", input, scale, output_type)

    # ---- products, reductions, windows ---------------------------------------------------------------------

    @checked
    def add_matrix_multiply(
        self, input0: ITensor, op0: MatrixOperation, input1: ITensor, op1: MatrixOperation
    ) -> layers.IMatrixMultiplyLayer:
        """The product of the last two axes (VECTOR: of the last one); leading axes are batches."""
        return self._add("add_matrix_multiply", input0, op0, input1, op1)

    @checked
    def add_einsum(self, inputs: Sequence[ITensor], equation: str) -> layers.IEinsumLayer:
        """A sum of products, as NumPy's einsum writes it: 'ij,jk->ik'."""
        return self._add("add_einsum", inputs, equation)

    @checked
    def add_reduce(self, input: ITensor, op: ReduceOperation, axes: Axes, keep_dims: bool) -> layers.IReduceLayer:
        """The reduction op along axes. axes: bit k set for axis k."""
        return self._add("add_reduce", input, op, axes, keep_dims)

    @checked
    def add_cumulative(
        self, input: ITensor, axis: ITensor, op: CumulativeOperation, exclusive: bool, reverse: bool
    ) -> layers.ICumulativeLayer:
        """Running sums along an axis, which is an INT32 or INT64 scalar tensor."""
        return self._add("add_cumulative", input, axis, op, exclusive, reverse)

    @checked
    def add_softmax(self, input: ITensor) -> layers.ISoftMaxLayer:
        """exp(x) / sum of exp(x) along the layer's axes."""
        return self._add("add_softmax", input)

    @checked
    def add_topk(
        self, input: ITensor, op: TopKOperation, k: int, axes: Axes, indices_type: DataType = DataType.INT32
    ) -> layers.ITopKLayer:
        """The k largest or smallest elements along an axis, in order. Output 0: the values; output 1: their indices."""
        return self._add("add_topk", input, op, k, axes, indices_type)

    @checked
    def add_normalization(self, input: ITensor, scale: ITensor, bias: ITensor, axesMask: Axes) -> layers.INormalizationLayer:
        """(input - mean) / sqrt(variance + epsilon) * scale + bias, over the axes of the mask."""
        return self._add("add_normalization", input, scale, bias, axesMask)

    @checked
    def add_convolution_nd(
        self, input: ITensor, num_output_maps: int, kernel_shape: Dims, kernel: Weights, bias: Weights | None = None
    ) -> layers.IConvolutionLayer:
        """input [batch, channels, extents...], kernel [num_output_maps, channels / groups, window...]."""
        weights = kernel.engine(), (bias or _NONE).engine()
        return self._add("add_convolution_nd", input, num_output_maps, kernel_shape, *weights)

    @checked
    def add_pooling_nd(self, input: ITensor, type: PoolingType, window_size: Dims) -> layers.IPoolingLayer:
        """The maximum or average of windows over the last axes of [batch, channels, extents...]."""
        return self._add("add_pooling_nd", input, type, window_size)

    @checked
    def add_padding_nd(self, input: ITensor, pre_padding: Dims, post_padding: Dims) -> layers.IPaddingLayer:
        """Zeros around the last two axes; a negative number removes elements."""
        return self._add("add_padding_nd", input, pre_padding, post_padding)

    # ---- moving elements -----------------------------------------------------------------------------------

    @checked
    def add_shuffle(self, input: ITensor) -> layers.IShuffleLayer:
        """first_transpose, then reshape_dims, then second_transpose, each as the layer says. Input 1: reshape_dims."""
        return self._add("add_shuffle", input)

    @checked
    def add_slice(self, input: ITensor, start: Dims, shape: Dims, stride: Dims) -> layers.ISliceLayer:
        """Element i of the output is element start + i * stride. Inputs 1, 2 and 3 replace start, shape and stride."""
        return self._add("add_slice", input, start, shape, stride)

    @checked
    def add_concatenation(self, inputs: Sequence[ITensor]) -> layers.IConcatenationLayer:
        """Tensors joined along the layer's axis."""
        return self._add("add_concatenation", inputs)

    @checked
    def add_gather(self, input: ITensor, indices: ITensor, axis: int) -> layers.IGatherLayer:
        """Slices of the input along an axis, by INT32 or INT64 indices. The axes of the indices replace that axis."""
        return self._add("add_gather", input, indices, axis)

    @checked
    def add_gather_v2(self, input: ITensor, indices: ITensor, mode: GatherMode) -> layers.IGatherLayer:
        """DEFAULT: as add_gather; ELEMENT: an index for each element; ND: an index over several axes."""
        return self._add("add_gather_v2", input, indices, mode)

    @checked
    def add_scatter(self, data: ITensor, indices: ITensor, updates: ITensor, mode: ScatterMode) -> layers.IScatterLayer:
        """data with the updates at the indices."""
        return self._add("add_scatter", data, indices, updates, mode)

    @checked
    def add_one_hot(self, indices: ITensor, values: ITensor, depth: ITensor, axis: int) -> layers.IOneHotLayer:
        """One-hot vectors along a new axis of extent depth. values: [off, on]."""
        return self._add("add_one_hot", indices, values, depth, axis)

    @checked
    def add_non_zero(self, input: ITensor, indices_type: DataType = DataType.INT32) -> layers.INonZeroLayer:
        """Indices of the elements that are not zero, of shape [rank, count]."""
        return self._add("add_non_zero", input, indices_type)

    @checked
    def add_squeeze(self, input: ITensor, axes: ITensor) -> layers.ISqueezeLayer:
        """The input without these axes, whose extents must be 1. axes: values known when the network is built."""
        return self._add("add_squeeze", input, axes)

    @checked
    def add_unsqueeze(self, input: ITensor, axes: ITensor) -> layers.IUnsqueezeLayer:
        """The input with new axes of extent 1. axes: values known when the network is built."""
        return self._add("add_unsqueeze", input, axes)

    @checked
    def add_shape(self, input: ITensor) -> layers.IShapeLayer:
        """The extents, as INT64."""
        return self._add("add_shape", input)

    @checked
    def add_assertion(self, condition: ITensor, message: str) -> layers.IAssertionLayer:
        """Ends the run in an error with this message if an element of condition (BOOL) is False."""
        return self._add("add_assertion", condition, message)

    # ---- control -------------------------------------------------------------------------------------------

    @checked
    def add_loop(self) -> ILoop:
        """A loop; its recurrences, iterators, limits and outputs are added to it."""
        return ILoop(self, self._raw.add_loop())

    @checked
    def add_if_conditional(self) -> IIfConditional:
        """A conditional; its condition, inputs and outputs are added to it."""
        return IIfConditional(self, self._raw.add_if_conditional())

    # ---- helpers -------------------------------------------------------------------------------------------

    def _add(self, method, *arguments):
        """The layer that the engine's method adds."""
        return wrap(self, self._call_engine(method, *(_to_engine(a) for a in arguments)))

    def _call_engine(self, method, *arguments):
        """The result of the engine's method; an error names the method."""
        try:
            return getattr(self._raw, method)(*arguments)
        except CallerError as error:
            raise CallerError(f"Network.{method}: {error}") from None

    def _tensor(self, raw):
        return ITensor(self, raw)

    @property
    def _network(self):
        return self

    def _note(self, text):
        if self.builder is not None:
            self.builder.note(text)

    def __repr__(self):
        return f"Network('{self.name}', {self.num_layers} layers)"


add_attributes(Network, engine.INetworkDefinition)


def _to_engine(argument):
    """The engine's object for a tensor, or for each tensor of a list; any other argument unchanged."""
    if isinstance(argument, ITensor):
        return argument._raw
    return [_to_engine(a) for a in argument] if isinstance(argument, list) else argument
