"""InferenceSession: what people know from onnxruntime, unchanged."""

import os
import warnings
from collections.abc import Iterable, Mapping

from . import _rondel, arrays
from .errors import CallerError, ModelWarning
from .options import RunOptions, SessionOptions, checked_options, path_text

_PROVIDERS = ["CPUExecutionProvider"]


class Port:
    """An input or output: its name, type ('tensor(float)') and shape (numbers, names, or None).

    A sequence has shape [], as in onnxruntime, an optional that of the tensor it may hold, and a tensor of
    unknown rank None.
    """

    def __init__(self, info):
        self.name = info.name
        self.type = info.type
        self.shape = [] if "seq(" in info.type else _shape(info.shape)

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
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model)
    try:
        if isinstance(model, (str, os.PathLike)):
            return path_text(model)
        if hasattr(model, "SerializeToString") and not isinstance(model, type):
            return model.SerializeToString()
    except Exception as error:  # protobuf has exceptions of its own
        raise CallerError(f"the model {model!r:.100} cannot be read: {error}") from error
    raise CallerError(f"the model is a {_kind(model)}; expected a path, bytes or a ModelProto")


def _kind(x):
    return f"class ({x.__name__})" if isinstance(x, type) else type(x).__name__


def warn_of(found, stacklevel):
    """What other runtimes understand differently, to whoever calls the caller's caller."""
    for text in found:
        warnings.warn(text, ModelWarning, stacklevel=stacklevel)


def _warn_of_unknown(providers):
    if isinstance(providers, str) or not isinstance(providers, Iterable):
        raise CallerError(f"providers is {providers!r}; expected a list of names")
    for provider in providers:
        name = provider[0] if isinstance(provider, (tuple, list)) and provider else provider
        if not isinstance(name, str):
            raise CallerError(f"providers holds {provider!r}; expected names, or pairs of a name and options")
        if name not in _PROVIDERS:
            warnings.warn(f"there is no provider '{name}' here; the CPU runs the model", stacklevel=3)


def _wanted(output_names):
    """The outputs asked for, as a list of names; empty for all."""
    if output_names is None:
        return []
    if isinstance(output_names, (str, bytes)) or not isinstance(output_names, Iterable):
        raise CallerError(f"output_names is {output_names!r}; expected a list of names, or None for all")
    names = list(output_names)
    for name in names:
        if not isinstance(name, str):
            raise CallerError(f"output_names holds {name!r}; expected names")
    return names


class InferenceSession:
    """A compiled model. Runs may go on in many threads at once.

    path_or_bytes: a path, bytes, or onnx.ModelProto.
    sess_options: rondel.SessionOptions, or None.
    providers: names, or (name, options); one that is not "CPUExecutionProvider" warns. provider_options,
    and whatever else onnxruntime takes by keyword, changes nothing.

    Warns (rondel.ModelWarning) of what other runtimes understand differently. Raises CallerError for what is no
    valid model or option, UnsupportedError for what this version does not run, each naming the node.
    """

    def __init__(self, path_or_bytes, sess_options=None, providers=None, provider_options=None, **_):
        if providers is not None:
            _warn_of_unknown(providers)
        options = checked_options(sess_options, SessionOptions, "sess_options")
        made, found = _rondel.make_session(model_source(path_or_bytes), options)
        warn_of(found, stacklevel=3)
        self._begin(made, options)

    @classmethod
    def of(cls, session, options):
        """Of an engine's session: what a network builds."""
        made = cls.__new__(cls)
        made._begin(session, options)
        return made

    def _begin(self, session, options):
        self._options = options
        self._session = session
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

        input_feed: dict of name to array, scalar, list (sequences) or None (optionals). Numbers and lists
        without a dtype take the input's. Raises CallerError for feeds that do not fit the model (naming the
        input, what came and what was expected) or what its data makes impossible, LimitExceeded for a
        budget, DeadlineExceeded and Cancelled as run_options say, UnsupportedError for an output that NumPy
        cannot hold.
        """
        wanted = _wanted(output_names)
        chosen = checked_options(run_options, RunOptions, "run_options")
        results = self._session.run(wanted, self._values(input_feed), chosen)
        names = wanted or [p.name for p in self._outputs]
        return [arrays.from_value(r, f"output '{name}'") for r, name in zip(results, names)]

    def _values(self, input_feed):
        if not isinstance(input_feed, Mapping):
            raise CallerError(f"input_feed is a {_kind(input_feed)}; expected a dict of input names to arrays")
        values = {}
        for name, x in input_feed.items():
            if not isinstance(name, str):
                raise CallerError(f"input_feed has the key {name!r}; expected names of inputs, as text")
            if name not in self._types:
                known = ", ".join(f"'{n}'" for n in self._types) or "none"
                raise CallerError(f"there is no input '{name}'; the inputs are {known}")
            values[name] = arrays.to_value(x, f"input '{name}'", self._types[name])
        return values

    def how_it_ran(self):
        """How each loop and If that has run does so, for the newest shapes that it has met: a dict of texts by node.

        "natively, as a whole", or "step by step: " and why. Those inside of one that runs natively are not listed;
        without jit none is.
        """
        return self._session.how_it_ran()

    def ir_text(self, imported=False):
        """The graph as text, as compiled or as imported."""
        return self._session.ir_text(imported)
