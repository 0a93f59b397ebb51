"""InferenceSession, with the interface of onnxruntime's."""

import os
import warnings
from collections.abc import Iterable, Mapping

from . import _rondel, arrays
from .errors import CallerError, ModelWarning
from .options import RunOptions, SessionOptions, checked_options, path_text

_PROVIDERS = ["CPUExecutionProvider"]


class Port:
    """An input or output: its name, type ('tensor(float)') and shape (numbers, names, or None).

    As in onnxruntime, a sequence has shape []. An optional has the shape of the tensor it may hold. A tensor of
    unknown rank has shape None.
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
    """The metadata of a model."""

    def __init__(self, info):
        for key in ("graph_name", "producer_name", "domain", "description", "graph_description",
                    "version", "custom_metadata_map"):  # fmt: skip
            setattr(self, key, getattr(info, key))


def model_source(model):
    """Converts a path, bytes or protobuf object to what the engine takes: a path or bytes."""
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


def issue_warnings(messages, stacklevel):
    """Issues a ModelWarning for each message. stacklevel: as in warnings.warn."""
    for text in messages:
        warnings.warn(text, ModelWarning, stacklevel=stacklevel)


def _check_providers(providers):
    """Warns of each provider that does not exist."""
    if isinstance(providers, str) or not isinstance(providers, Iterable):
        raise CallerError(f"providers is {providers!r}; expected a list of names")
    for provider in providers:
        name = provider[0] if isinstance(provider, (tuple, list)) and provider else provider
        if not isinstance(name, str):
            raise CallerError(f"providers holds {provider!r}; expected names, or pairs of a name and options")
        if name not in _PROVIDERS:
            warnings.warn(f"there is no provider '{name}' here; the CPU runs the model", stacklevel=3)


def requested_names(output_names):
    """The requested outputs, as a list of names; empty for all."""
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
    """A compiled model. Many threads may run it at once.

    path_or_bytes: a path, bytes, or onnx.ModelProto.
    sess_options: rondel.SessionOptions, or None.
    providers: names, or (name, options); a name other than "CPUExecutionProvider" warns. provider_options and other
    keyword arguments of onnxruntime's are accepted and have no effect.

    Warns (rondel.ModelWarning) where other runtimes interpret the model differently. Raises CallerError for an invalid
    model or option, UnsupportedError for what this version does not run; the error names the node.
    """

    def __init__(self, path_or_bytes, sess_options=None, providers=None, provider_options=None, **_):
        if providers is not None:
            _check_providers(providers)
        options = checked_options(sess_options, SessionOptions, "sess_options")
        made, found = _rondel.make_session(model_source(path_or_bytes), options)
        issue_warnings(found, stacklevel=3)
        self._initialize(made, options)

    @classmethod
    def of(cls, session, options):
        """An InferenceSession for an existing session of the engine, such as one built from a network."""
        made = cls.__new__(cls)
        made._initialize(session, options)
        return made

    def _initialize(self, session, options):
        self._options = options
        self._session = session
        ports = self._session.inputs()
        self._inputs = [Port(p) for p in ports if not p.has_default]
        self._overridable = [Port(p) for p in ports if p.has_default]
        self._outputs = [Port(p) for p in self._session.outputs()]
        self._map_keys = {
            p.name: arrays.from_value(p.map_keys, f"the keys of '{p.name}'").tolist()
            for p in self._session.outputs()
            if p.map_keys is not None
        }
        self._types = {p.name: p.type for p in ports}

    def get_inputs(self):
        return list(self._inputs)

    def get_overridable_initializers(self):
        """Optional inputs: an initializer is used when one is not fed."""
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
        """Runs the model. Returns the named outputs (None: all) as arrays, lists for sequences, None for empty optionals,
        lists of dicts for the maps that ZipMap makes.

        input_feed: dict of name to array, scalar, list (sequences) or None (optionals). Numbers and lists
        without a dtype get the dtype of the input. Raises CallerError for feeds that do not fit the model (the
        error names the input, what was given and what was expected) and for data that an op does not accept,
        LimitExceeded when a budget is used up, DeadlineExceeded and Cancelled as run_options say,
        UnsupportedError for an output that NumPy cannot hold.
        """
        wanted = requested_names(output_names)
        chosen = checked_options(run_options, RunOptions, "run_options")
        results = self._session.run(wanted, self._values(input_feed), chosen)
        names = wanted or [p.name for p in self._outputs]
        return [self._result(r, name) for r, name in zip(results, names)]

    def _result(self, value, name):
        made = arrays.from_value(value, f"output '{name}'")
        keys = self._map_keys.get(name)
        return made if keys is None else [dict(zip(keys, row)) for row in made.tolist()]

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

    def how_it_ran(self, tiers=False):
        """How each loop and If ran last: a dict of node to text.

        The text is "natively, as a whole", or "step by step: " and the reason, or "as a whole, interpreted: " and the
        reason. A loop or If inside one that runs as a whole is not listed. With jit=False the dict is empty.

        A session interprets what runs natively until quick code is there, a few milliseconds later, and runs that until
        the optimised code is. tiers=True tells how many trips of the latest run each of them made: "natively, as a whole,
        at first by other code: 50 trips interpreted, 150 trips by quick code".
        """
        return self._session.how_it_ran(tiers)

    def ir_text(self, imported=False):
        """The graph as text, as compiled or as imported."""
        return self._session.ir_text(imported)
