"""InferenceSession: what people know from onnxruntime, unchanged."""

import os
import warnings

from . import _rondel, arrays
from .errors import CallerError

_PROVIDERS = ["CPUExecutionProvider"]


class Port:
    """An input or output: its name, type ('tensor(float)') and shape (numbers, names, or None).

    A sequence or optional has shape [], as in onnxruntime.
    """

    def __init__(self, info):
        self.name = info.name
        self.type = info.type
        self.shape = _shape(info.shape) if info.type.startswith("tensor") else []

    def __repr__(self):
        return f"Port(name='{self.name}', type='{self.type}', shape={self.shape})"


def _shape(extents):
    if extents is None:
        return None
    return [int(e) if e.isdigit() else e or None for e in extents]


class ModelMeta:
    """What the model says of itself."""

    def __init__(self, info):
        for key in ("graph_name", "producer_name", "domain", "description", "graph_description",
                    "version", "custom_metadata_map"):  # fmt: skip
            setattr(self, key, getattr(info, key))


def model_source(model):
    """A path, bytes, or protobuf object as what the engine takes: a path or bytes."""
    if hasattr(model, "SerializeToString"):
        return model.SerializeToString()
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model)
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model)
    raise CallerError(f"the model is a {type(model).__name__}; expected a path, bytes or a ModelProto")


class InferenceSession:
    """A compiled model.

    model: path, bytes, or onnx.ModelProto. Runs may go on in many threads at once.
    Raises rondel.Error and its subclasses.
    """

    def __init__(self, model, sess_options=None, providers=None, provider_options=None, **_):
        for provider in providers or []:
            name = provider[0] if isinstance(provider, (tuple, list)) else provider
            if name not in _PROVIDERS:
                warnings.warn(f"there is no provider '{name}' here; the CPU runs the model", stacklevel=2)
        self._options = sess_options if sess_options is not None else _rondel.SessionOptions()
        self._session = _rondel.Session(model_source(model), self._options)
        ports = self._session.inputs()
        self._inputs = [Port(p) for p in ports if not p.has_default]
        self._overridable = [Port(p) for p in ports if p.has_default]
        self._outputs = [Port(p) for p in self._session.outputs()]
        self._types = {p.name: p.type for p in ports}

    def get_inputs(self):
        return list(self._inputs)

    def get_overridable_initializers(self):
        """Inputs that an initializer stands for when they are left out."""
        return list(self._overridable)

    def get_outputs(self):
        return list(self._outputs)

    def get_modelmeta(self):
        return ModelMeta(self._session.info())

    def get_providers(self):
        return list(_PROVIDERS)

    def get_session_options(self):
        return self._options

    def run(self, output_names, input_feed, run_options=None):
        """Outputs by name (None: all), as arrays, lists for sequences, None for empty optionals.

        input_feed: dict of name to array, scalar, list (sequences) or None (optionals).
        """
        if isinstance(output_names, str):
            output_names = [output_names]
        feeds = {
            name: arrays.to_value(x, name, self._types.get(name, "tensor"))
            for name, x in input_feed.items()
        }
        results = self._session.run(list(output_names or []), feeds, run_options)
        return [arrays.from_value(r) for r in results]

    def ir_text(self, imported=False):
        """The graph as text, as compiled or as imported."""
        return self._session.ir_text(imported)
