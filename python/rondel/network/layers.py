"""Tensors and layers: TensorRT's names and attributes, over the engine's objects. Long: it has a class for each layer.

A class has only the attributes of its layer. The method that adds a layer (of `Network`, `ILoop` or `IIfConditional`)
documents what the layer computes, its types and its shapes.
"""

from collections.abc import Sequence

from .._rondel import network as engine
from .._rondel.network import (
    ActivationType,
    CumulativeOperation,
    DataType,
    ElementWiseOperation,
    FillOperation,
    GatherMode,
    LayerType,
    MatrixOperation,
    PaddingMode,
    PoolingType,
    ReduceOperation,
    SampleMode,
    ScaleMode,
    ScatterMode,
    TopKOperation,
    UnaryOperation,
)
from .. import arrays
from .arguments import Attribute, Axes, Number, WrongArgument, checked, converter
from .foundation import Dims, Extents, Permutation, Weights
from .not_here import TENSOR, ExplainsMissingNames


def elements(unpacked):
    """The elements of weights, as an array."""
    return arrays.from_value(unpacked, "weights")


class Handle:
    """A handle on an object of a network. It keeps the network alive, and equals every other handle on the same object."""

    __slots__ = ("_network", "_raw")

    def __init__(self, network, raw):
        self._network = network
        self._raw = raw

    def __eq__(self, other):
        return isinstance(other, Handle) and self._raw is other._raw

    def __hash__(self):
        return hash(self._raw)

    def _label(self):
        """The name that the engine's errors use."""
        return engine.label(self._raw)


class ITensor(Handle, ExplainsMissingNames):
    """A value that flows between layers: an input of the network, or an output of a layer."""

    __slots__ = ()
    _missing_names = TENSOR

    name = Attribute(str, "The name under which an input is fed and an output is fetched.")
    shape = Attribute(Extents, "Extents; -1: known only when running. Set on inputs of the network only.", read=Dims)
    dtype = Attribute(DataType, "The element type. Set on a layer's output: as by its `set_output_type`.")
    is_network_input = Attribute(bool, "An input of the network?", settable=False)
    is_network_output = Attribute(bool, "Marked as an output of the network?", settable=False)

    @checked
    def set_dimension_name(self, index: int, name: str):
        """Names an extent of an input. Extents of one name are expected to be equal. If they are not, the network runs
        as if they had no names.
        """
        self._raw.set_dimension_name(index, name)

    @checked
    def get_dimension_name(self, index: int) -> str:
        return self._raw.get_dimension_name(index)

    def __repr__(self):
        return f"ITensor('{self.name}')"


@converter(ITensor)
def as_tensor(x):
    if isinstance(x, ITensor):
        return x
    if isinstance(x, ILayer):
        raise WrongArgument("a tensor: its get_output(0)")
    raise WrongArgument("a tensor (ITensor); add_constant makes one of numbers")


_CLASSES = {}  # all classes of layers by name, including the layers of loops


class ILayer(Handle):
    """A step of a network."""

    __slots__ = ()

    def __init_subclass__(cls):
        _CLASSES[cls.__name__] = cls

    name = Attribute(str, "Shown in errors.")
    metadata = Attribute(str, "Any text; stored.")
    num_inputs = Attribute(int, "How many inputs it has, including those that are not set.", settable=False)
    num_outputs = Attribute(int, "How many outputs it has.", settable=False)
    precision = Attribute(DataType, "Stored and ignored: a layer computes in the type of its inputs.")
    precision_is_set = Attribute(bool, "Was `precision` set?", settable=False)

    @property
    def type(self) -> LayerType:
        """What kind of layer it is."""
        return self._raw.layer_type

    @checked
    def get_input(self, index: int) -> ITensor | None:
        """Input `index`; None where it is not set."""
        return self._tensor(self._raw.get_input(index))

    @checked
    def get_output(self, index: int) -> ITensor:
        """Output `index`."""
        return self._tensor(self._raw.get_output(index))

    @checked
    def set_input(self, index: int, tensor: ITensor):
        """Replaces input `index`, or sets an optional input."""
        self._raw.set_input(index, tensor._raw)

    @checked
    def set_output_type(self, index: int, dtype: DataType):
        """Casts output `index` to this type if it has another."""
        self._raw.set_output_type(index, dtype)

    @checked
    def get_output_type(self, index: int) -> DataType:
        return self._raw.get_output_type(index)

    @checked
    def output_type_is_set(self, index: int) -> bool:
        return self._raw.output_type_is_set(index)

    @checked
    def reset_output_type(self, index: int):
        self._raw.reset_output_type(index)

    @checked
    def reset_precision(self):
        self._raw.reset_precision()

    def _tensor(self, raw):
        return None if raw is None else ITensor(self._network, raw)

    def __repr__(self):
        return f"{type(self).__name__}('{self.name}')"


# ---- layers by their attributes ----------------------------------------------------------------------------


class IActivationLayer(ILayer):
    __slots__ = ()
    type = Attribute(ActivationType, "Which function. (It hides ILayer.type, as in TensorRT.)")
    alpha = Attribute(float, "The function's first parameter.")
    beta = Attribute(float, "The function's second parameter.")


class IAssertionLayer(ILayer):
    __slots__ = ()
    message = Attribute(str, "What the error says when the condition does not hold.")


class ICastLayer(ILayer):
    __slots__ = ()
    to_type = Attribute(DataType, "The type of the output.")


class IConcatenationLayer(ILayer):
    __slots__ = ()
    axis = Attribute(int, "The axis along which the inputs are joined; a negative one counts from the end.")


class IConstantLayer(ILayer):
    __slots__ = ()
    weights = Attribute(Weights, "The elements, as an array.", read=elements, write=Weights.engine)
    shape = Attribute(Dims, "The extents.", read=Dims)


class Windowed(ILayer):
    """The attributes that convolution and pooling share: a window that moves over the last axes."""

    __slots__ = ()
    stride_nd = Attribute(Dims, "Steps of the window, one for each axis.", read=Dims)
    padding_nd = Attribute(Dims, "Padding on both sides, one number for each axis.", read=Dims)
    pre_padding = Attribute(Dims, "Padding before the first element.", read=Dims)
    post_padding = Attribute(Dims, "Padding after the last element.", read=Dims)
    padding_mode = Attribute(PaddingMode, "How padding is computed when it is not given.")


class IConvolutionLayer(Windowed):
    __slots__ = ()
    num_output_maps = Attribute(int, "Channels of the output.")
    kernel_size_nd = Attribute(Dims, "Extents of the window.", read=Dims)
    dilation_nd = Attribute(Dims, "Distance between elements of the window.", read=Dims)
    num_groups = Attribute(int, "Groups of channels that are convolved separately.")
    kernel = Attribute(Weights, "[output maps, channels / groups, window...], as an array.", read=elements, write=Weights.engine)
    bias = Attribute(Weights, "[output maps] or nothing, as an array.", read=elements, write=Weights.engine)


class ICumulativeLayer(ILayer):
    __slots__ = ()
    op = Attribute(CumulativeOperation, "What is accumulated.")
    exclusive = Attribute(bool, "True: an element's sum leaves out the element.")
    reverse = Attribute(bool, "True: from the end.")


class IDequantizeLayer(ILayer):
    __slots__ = ()
    axis = Attribute(int, "The axis that scales of rank 1 apply along.")
    to_type = Attribute(DataType, "The type of the output.")


class IEinsumLayer(ILayer):
    __slots__ = ()
    equation = Attribute(str, "As in NumPy: 'ij,jk->ik'.")


class IElementWiseLayer(ILayer):
    __slots__ = ()
    op = Attribute(ElementWiseOperation, "The function of a pair of elements.")


class IFillLayer(ILayer):
    __slots__ = ()
    shape = Attribute(Dims, "Extents of the output.", read=Dims)
    operation = Attribute(FillOperation, "What it is filled with.")
    alpha = Attribute(Number, "Start; minimum; mean. An int where it is set to one.")
    beta = Attribute(Number, "Step; maximum; standard deviation. An int where it is set to one.")
    to_type = Attribute(DataType, "The type of the output.")

    def is_alpha_beta_int64(self) -> bool:
        """Were alpha and beta set as ints?"""
        return self._raw.is_alpha_beta_int64()


class IGatherLayer(ILayer):
    __slots__ = ()
    axis = Attribute(int, "The axis that is indexed.")
    mode = Attribute(GatherMode, "How indices are understood.")
    num_elementwise_dims = Attribute(int, "Leading axes that data and indices share.")


class IIdentityLayer(ILayer):
    __slots__ = ()


class IMatrixMultiplyLayer(ILayer):
    __slots__ = ()
    op0 = Attribute(MatrixOperation, "How input 0 is used: as it is, transposed, or as a vector.")
    op1 = Attribute(MatrixOperation, "How input 1 is used: as it is, transposed, or as a vector.")


class INonZeroLayer(ILayer):
    __slots__ = ()
    indices_type = Attribute(DataType, "INT32 or INT64.")


class INormalizationLayer(ILayer):
    __slots__ = ()
    epsilon = Attribute(float, "Added to the variance.")
    axes = Attribute(Axes, "Bit k set: normalised over axis k.")
    num_groups = Attribute(int, "Groups of channels that are normalised separately.")
    compute_precision = Attribute(DataType, "The type that mean and variance are computed in.")


class IOneHotLayer(ILayer):
    __slots__ = ()
    axis = Attribute(int, "The new axis.")


class IPaddingLayer(ILayer):
    __slots__ = ()
    pre_padding_nd = Attribute(Dims, "Zeros before the first element; negative: removes elements.", read=Dims)
    post_padding_nd = Attribute(Dims, "Zeros after the last element; negative: removes elements.", read=Dims)


class IPoolingLayer(Windowed):
    __slots__ = ()
    type = Attribute(PoolingType, "The function of a window: maximum, average, or a blend of both.")
    window_size_nd = Attribute(Dims, "Extents of the window.", read=Dims)
    blend_factor = Attribute(float, "Share of the average in MAX_AVERAGE_BLEND.")
    average_count_excludes_padding = Attribute(bool, "True: padding does not count in an average.")


class IQuantizeLayer(ILayer):
    __slots__ = ()
    axis = Attribute(int, "The axis that scales of rank 1 apply along.")
    to_type = Attribute(DataType, "The type of the output.")


class IReduceLayer(ILayer):
    __slots__ = ()
    op = Attribute(ReduceOperation, "How elements are brought together.")
    axes = Attribute(Axes, "Bit k set: axis k is reduced.")
    keep_dims = Attribute(bool, "True: reduced axes stay, with extent 1.")


class IScaleLayer(ILayer):
    __slots__ = ()
    mode = Attribute(ScaleMode, "How many numbers there are: one, one a channel, or one an element.")
    shift = Attribute(Weights, "As an array; empty: 0.", read=elements, write=Weights.engine)
    scale = Attribute(Weights, "As an array; empty: 1.", read=elements, write=Weights.engine)
    power = Attribute(Weights, "As an array; empty: 1.", read=elements, write=Weights.engine)
    channel_axis = Attribute(int, "The axis of the channels.")


class IScatterLayer(ILayer):
    __slots__ = ()
    axis = Attribute(int, "The axis that ELEMENT indices are of.")
    mode = Attribute(ScatterMode, "How indices are understood.")


class ISelectLayer(ILayer):
    __slots__ = ()


class IShapeLayer(ILayer):
    __slots__ = ()


class IShuffleLayer(ILayer):
    __slots__ = ()
    first_transpose = Attribute(Permutation, "The order of axes before reshaping.", read=Permutation)
    reshape_dims = Attribute(Dims, "New extents; -1: what is left; 0: as the input's. None: not reshaped.", read=Dims)
    second_transpose = Attribute(Permutation, "The order of axes after reshaping.", read=Permutation)
    zero_is_placeholder = Attribute(bool, "True: an extent of 0 stands for the input's; False: for none.")


class ISliceLayer(ILayer):
    __slots__ = ()
    start = Attribute(Dims, "The first index, one for each axis.", read=Dims)
    shape = Attribute(Dims, "Extents of the output.", read=Dims)
    stride = Attribute(Dims, "The step between indices, one for each axis.", read=Dims)
    mode = Attribute(SampleMode, "What is read outside of the input.")
    axes = Attribute(Dims, "The axes that start, shape and stride apply to. None: all.", read=Dims)


class ISoftMaxLayer(ILayer):
    __slots__ = ()
    axes = Attribute(Axes, "Bit k set: elements along axis k sum up to 1.")


class ISqueezeLayer(ILayer):
    __slots__ = ()


class ITopKLayer(ILayer):
    __slots__ = ()
    op = Attribute(TopKOperation, "The largest or the smallest.")
    k = Attribute(int, "How many.")
    axes = Attribute(Axes, "One bit: the axis.")
    indices_type = Attribute(DataType, "INT32 or INT64.")


class IUnaryLayer(ILayer):
    __slots__ = ()
    op = Attribute(UnaryOperation, "The function of an element.")


class IUnsqueezeLayer(ILayer):
    __slots__ = ()


def wrap(network, raw) -> ILayer:
    """A layer of the engine as an object of the Python class with the same name."""
    return _CLASSES[type(raw).__name__](network, raw)
