"""Tensors and layers: TensorRT's names and attributes, over the engine's objects.

A class has only the attributes of its layer, as the engine's class of the same name lists them
(python/bindings/network_layers.cpp). The method that adds a layer (of `Network`, `ILoop` or `IIfConditional`)
documents what the layer computes, its types and its shapes.
"""

from .._rondel import network as engine
from .._rondel.network import DataType, LayerType
from ..missing_names import ExplainsMissingNames
from .arguments import WrongArgument, checked, converter
from .foundation import add_attributes
from .not_here import CONVOLUTION, PADDING, POOLING, TENSOR

_CLASSES = {}  # all classes of this file and of loops.py, by name


class Handle:
    """A handle on an object of a network. It keeps the network alive, and equals every other handle on the same object."""

    __slots__ = ("_network", "_raw")

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if cls.__module__.startswith(__package__):  # not a class that a user derives
            _CLASSES[cls.__name__] = cls
            add_attributes(cls, getattr(engine, cls.__name__))

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

    @checked
    def set_dimension_name(self, index: int, name: str) -> None:
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


class ILayer(Handle, ExplainsMissingNames):
    """A step of a network."""

    __slots__ = ()

    @property
    def type(self) -> LayerType:
        """What kind of layer it is."""
        return self._raw.layer_type

    @checked
    def get_input(self, index: int) -> ITensor | None:
        """Input `index`; None if it is not set."""
        return self._tensor(self._raw.get_input(index))

    @checked
    def get_output(self, index: int) -> ITensor:
        """Output `index`."""
        return self._tensor(self._raw.get_output(index))

    @checked
    def set_input(self, index: int, tensor: ITensor) -> None:
        """Replaces input `index`, or sets an optional input."""
        self._raw.set_input(index, tensor._raw)

    @checked
    def set_output_type(self, index: int, dtype: DataType) -> None:
        """Casts output `index` to this type if it has another."""
        self._raw.set_output_type(index, dtype)

    @checked
    def get_output_type(self, index: int) -> DataType:
        return self._raw.get_output_type(index)

    @checked
    def output_type_is_set(self, index: int) -> bool:
        return self._raw.output_type_is_set(index)

    @checked
    def reset_output_type(self, index: int) -> None:
        self._raw.reset_output_type(index)

    @checked
    def reset_precision(self) -> None:
        self._raw.reset_precision()

    def _tensor(self, raw):
        return None if raw is None else ITensor(self._network, raw)

    def __repr__(self):
        return f"{type(self).__name__}('{self.name}')"


# ---- layers by their attributes ----------------------------------------------------------------------------


class IActivationLayer(ILayer):
    __slots__ = ()


class IAssertionLayer(ILayer):
    __slots__ = ()


class ICastLayer(ILayer):
    __slots__ = ()


class IConcatenationLayer(ILayer):
    __slots__ = ()


class IConstantLayer(ILayer):
    __slots__ = ()


class IConvolutionLayer(ILayer):
    __slots__ = ()
    _missing_names = CONVOLUTION


class ICumulativeLayer(ILayer):
    __slots__ = ()


class IDequantizeLayer(ILayer):
    __slots__ = ()


class IEinsumLayer(ILayer):
    __slots__ = ()


class IElementWiseLayer(ILayer):
    __slots__ = ()


class IFillLayer(ILayer):
    __slots__ = ()

    def is_alpha_beta_int64(self) -> bool:
        """Were alpha and beta set as ints?"""
        return self._raw.is_alpha_beta_int64()


class IGatherLayer(ILayer):
    __slots__ = ()


class IIdentityLayer(ILayer):
    __slots__ = ()


class IMatrixMultiplyLayer(ILayer):
    __slots__ = ()


class INonZeroLayer(ILayer):
    __slots__ = ()


class INormalizationLayer(ILayer):
    __slots__ = ()


class IOneHotLayer(ILayer):
    __slots__ = ()


class IPaddingLayer(ILayer):
    __slots__ = ()
    _missing_names = PADDING


class IPoolingLayer(ILayer):
    __slots__ = ()
    _missing_names = POOLING


class IQuantizeLayer(ILayer):
    __slots__ = ()


class IReduceLayer(ILayer):
    __slots__ = ()


class IScaleLayer(ILayer):
    __slots__ = ()


class IScatterLayer(ILayer):
    __slots__ = ()


class ISelectLayer(ILayer):
    __slots__ = ()


class IShapeLayer(ILayer):
    __slots__ = ()


class IShuffleLayer(ILayer):
    __slots__ = ()


class ISliceLayer(ILayer):
    __slots__ = ()


class ISoftMaxLayer(ILayer):
    __slots__ = ()


class ISqueezeLayer(ILayer):
    __slots__ = ()


class ITopKLayer(ILayer):
    __slots__ = ()


class IUnaryLayer(ILayer):
    __slots__ = ()


class IUnsqueezeLayer(ILayer):
    __slots__ = ()


def wrap(network, raw) -> ILayer:
    """A layer of the engine as an object of the Python class with the same name."""
    return _CLASSES[type(raw).__name__](network, raw)
