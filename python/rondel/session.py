"""InferenceSession, with the interface of onnxruntime's."""

from __future__ import annotations

import copy
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _rondel, arrays, logs, not_here
from .binding import IOBinding
from .capi.handles import SessionHandle
from .custom_ops import require_ops
from .device import OrtDevice
from .errors import CallerError, Error
from .metadata import ModelMetadata, NodeArg
from .missing_names import ExplainsMissingNames, warn_once
from .models import Model, issue_warnings, kind_of, model_source
from .naming import closest
from .onnxruntime_errors import name_loading_error, name_run_error
from .optimized_model import write_optimized
from .options import RunOptions, SessionOptions, checked_options, checked_run_options
from .ort_value import ElementType, OrtValue, content_of
from .profiling import Profile, ProfilePath
from .providers import ProviderOptions, Providers, check_providers, get_available_providers
from .rewriting import as_options_ask, require_unchanged
from .sparse import SparseTensor
from .texts import session_html, session_text, short_type

Feeds = Mapping[str, Any]
"""What a run reads: a dict of the name of an input to an array, number, list (a sequence), dict (a map), OrtValue or None."""

AsyncCallback = Callable[[list[Any], Any, str], Any]
"""Called with the outputs, the user data, and the text of the error ('': none)."""


def requested_names(output_names: Iterable[str] | None) -> list[str]:
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


class InferenceSession(ExplainsMissingNames):
    """A compiled model. Many threads may run it at once.

    path_or_bytes: a path, bytes, onnx.ModelProto, or another session. A session keeps the path or the bytes, for copies and pickling.
    sess_options: rondel.SessionOptions, which the session copies, or None.
    providers: names, or (name, options); provider_options: a dict for each name. There is only "CPUExecutionProvider", without
    options; others warn. Of onnxruntime's keyword arguments, those without a meaning here warn.

    Warns (rondel.ModelWarning) where other runtimes interpret the model differently. Raises CallerError for an invalid
    model or option, UnsupportedError for what this version does not run; the error names the node. Errors have onnxruntime's
    names, too: they are NoSuchFile, InvalidProtobuf, InvalidGraph, InvalidArgument and NotImplemented of
    `rondel.capi.onnxruntime_pybind11_state`, which derive from ours.
    """

    _missing_names = not_here.SESSION
    _profile: Profile | None = None
    _custom_ops: Sequence[tuple[str, str]] = ()

    def __init__(
        self,
        path_or_bytes: Model,
        sess_options: SessionOptions | None = None,
        providers: Providers | None = None,
        provider_options: Sequence[ProviderOptions] | None = None,
        **kwargs: Any,
    ) -> None:
        begin, given = time.monotonic_ns(), set(self.__dict__)
        check_providers(providers, provider_options)
        _check_keywords(kwargs)
        options = copy.deepcopy(checked_options(sess_options, SessionOptions, "sess_options"))
        source = model_source(path_or_bytes)
        profile = Profile() if options.enable_profiling else None
        try:
            made, found = _rondel.make_session(*as_options_ask(source, options), profile and profile.engine)
        except Error as error:
            name_loading_error(error, source)
            raise
        self._custom_ops = _rondel.ops_of_last_model()
        if logs.logs(logs.WARNING, options):
            issue_warnings(found, stacklevel=3)
        self._source, self._read_at = os.path.abspath(source) if isinstance(source, str) else source, _changed_at(source)
        if options.external_data_dir is not None:
            options.external_data_dir = os.path.abspath(options.external_data_dir)
        self._begin(made, options, profile, begin)
        self._own = {*self.__dict__, "_own"} - given  # what is not pickled: the model is read again

    @classmethod
    def of(cls, session: Any, options: SessionOptions) -> InferenceSession:
        """An InferenceSession for an existing session of the engine, such as one of a traced function."""
        return cls.built(lambda _: session, options)

    @classmethod
    def built(cls, build: Callable[[SessionOptions], Any], options: SessionOptions) -> InferenceSession:
        """An InferenceSession for what `build` makes with the options: a session of the engine without an ONNX model, such as a network's.

        A profile has the times of loading and of runs, not of their steps. Raises CallerError for options that change an ONNX model.
        """
        begin = time.monotonic_ns()
        require_unchanged(options, "a model that is built in code")
        options = copy.deepcopy(options)
        profile = Profile() if options.enable_profiling else None
        made = cls.__new__(cls)
        made._source = None
        made._begin(build(options), options, profile, begin)
        return made

    def _begin(self, session, options, profile, begin):
        """Takes a session of the engine, and does what the options ask for when a session is made. begin: when that began, in ns."""
        self._initialize(session, options)
        if options.optimized_model_filepath:
            write_optimized(session, options)
        if profile is not None:
            profile.begin_file(options.profile_file_prefix, self)
            profile.add("model_loading_and_session_initialization", begin)
            self._profile = profile
        took = (time.monotonic_ns() - begin) / 1e6
        logs.log(logs.INFORMATION, options, "session", f"{self._title()} was made in {took:.1f} ms")

    def _initialize(self, session, options):
        """Sets what a session holds. Packages read some of this by the names that it has in onnxruntime, and set it: `_model_path`,
        `_model_bytes`, `_sess_options`, `_inputs_meta`, `_outputs_meta`, `_overridable_initializers`.
        """
        self._model_path = self._source if isinstance(self._source, str) else None
        self._model_bytes = self._source if isinstance(self._source, bytes) else None
        self._sess_options = options
        self._session = session
        ports = self._session.inputs()
        self._inputs_meta = [NodeArg(p) for p in ports if not p.has_default]
        self._overridable_initializers = [NodeArg(p) for p in ports if p.has_default]
        self._outputs_meta = [NodeArg(p) for p in self._session.outputs()]
        self._map_keys = {
            p.name: arrays.from_value(p.map_keys, f"the keys of '{p.name}'").tolist()
            for p in self._session.outputs()
            if p.map_keys is not None
        }
        self._types = {p.name: p.type for p in ports}
        self._takes_arrays = all(p.type.startswith("tensor(") for p in ports)
        self._required = {p.name for p in self._inputs_meta if not p.type.startswith("optional(")}

    # ---- what the model says of itself ---------------------------------------------------------------------

    def get_inputs(self) -> list[NodeArg]:
        return list(self._inputs_meta)

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Optional inputs: an initializer is used when one is not fed."""
        return list(self._overridable_initializers)

    def get_outputs(self) -> list[NodeArg]:
        return list(self._outputs_meta)

    def get_modelmeta(self) -> ModelMetadata:
        return ModelMetadata(self._session.info())

    def get_session_options(self) -> SessionOptions:
        """A copy of the options that the session was made with: changes of it do not reach the session."""
        return copy.copy(self._sess_options)

    # ---- providers: always the CPU -------------------------------------------------------------------------

    def get_providers(self) -> list[str]:
        return get_available_providers()

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """The options of each provider: the CPU has none."""
        return {name: {} for name in get_available_providers()}

    def set_providers(self, providers: Providers | None = None, provider_options: Sequence[ProviderOptions] | None = None) -> None:
        """Changes nothing: the CPU runs the model. Warns of providers that are not here, and refuses names that nobody has."""
        check_providers(providers, provider_options, refuse_unknown=True)

    def disable_fallback(self) -> None:
        """Does nothing: there is no provider to fall back from."""

    def enable_fallback(self) -> None:
        """Has no effect: there is no other provider to fall back to."""
        warn_once("InferenceSession.enable_fallback is ignored: there is no provider to fall back to")

    # ---- runs ----------------------------------------------------------------------------------------------

    def run(self, output_names: Iterable[str] | None, input_feed: Feeds, run_options: RunOptions | None = None) -> list[Any]:
        """Runs the model. Returns the named outputs (None: all) as arrays, lists for sequences, None for empty optionals,
        lists of dicts for the maps that ZipMap makes.

        input_feed: dict of name to array, scalar, list (sequences), dict (maps), OrtValue or None (optionals). Numbers and lists
        without a dtype get the dtype of the input. Raises CallerError for feeds that do not fit the model (the
        error names the input, what was given and what was expected) and for data that an op does not accept,
        LimitExceeded when a budget is used up, DeadlineExceeded and Cancelled as run_options say,
        UnsupportedError for an output that NumPy cannot hold.
        """
        return self._run(output_names, input_feed, run_options)

    def _run(self, output_names, input_feed, run_options):
        try:
            return self._finished(*self._prepared(output_names, input_feed, run_options))
        except Error as error:
            name_run_error(error)
            raise

    def run_with_ort_values(
        self, output_names: Iterable[str] | None, input_dict_ort_values: Mapping[str, OrtValue], run_options: RunOptions | None = None
    ) -> list[OrtValue]:
        """As `run`, for OrtValues, which are read in place; returns OrtValues."""
        if isinstance(input_dict_ort_values, Mapping):
            for name, value in input_dict_ort_values.items():
                if not isinstance(value, OrtValue):
                    raise CallerError(f"run_with_ort_values: input {name!r} is a {kind_of(value)}; expected an OrtValue; `run` takes arrays")
        return self._run_to_values(output_names, input_dict_ort_values, run_options)

    def _run_to_values(self, output_names, feeds, run_options):
        wanted = requested_names(output_names)
        types = {p.name: p.type for p in self._outputs_meta}
        names = wanted or list(types)
        return [OrtValue(value, types[name]) for value, name in zip(self._run(wanted, feeds, run_options), names)]

    def run_async(
        self,
        output_names: Iterable[str] | None,
        input_feed: Feeds,
        callback: AsyncCallback,
        user_data: Any = None,
        run_options: RunOptions | None = None,
    ) -> None:
        """As `run`, on a thread of its own: returns at once, and calls `callback(outputs, user_data, error)` when the run has ended.

        Names of inputs and missing inputs are checked before it returns, and feeds that make no tensor are refused; dtypes, shapes and names
        of outputs are checked by the run. The feeds must not change before the callback; the options may: of later changes only that of
        `terminate` reaches the run. error: '' or the text of the error; outputs is then []. Python waits for the thread when it ends.
        """
        if not callable(callback):
            raise CallerError(f"callback is a {kind_of(callback)}; expected a function of the outputs, the user data and an error text")
        try:
            prepared = self._prepared(output_names, input_feed, run_options, read_now=True)
        except Error as error:
            name_run_error(error)
            raise

        def work():
            try:
                outputs, failure = self._finished(*prepared), ""
            except Exception as error:
                outputs, failure = [], str(error) or type(error).__name__
            except BaseException as error:  # a registered op raised SystemExit or such
                callback([], user_data, f"{type(error).__name__}: {error}")
                raise
            callback(outputs, user_data, failure)

        threading.Thread(target=work, name="rondel run_async").start()

    def io_binding(self) -> IOBinding:
        """Inputs and outputs that stay bound to memory between runs with `run_with_iobinding`."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Runs the model with bound inputs, and copies the results into the memory of bound outputs at the end of the run."""
        if not isinstance(iobinding, IOBinding):
            raise CallerError(f"iobinding is a {kind_of(iobinding)}; expected what session.io_binding() makes")
        if iobinding._session is not self:
            raise CallerError("IOBinding must be used with the session that created it.")
        iobinding._run(run_options)

    def create_ortvalue_from_shape_and_type(
        self, shape: Sequence[int], element_type: ElementType, device_type: str | OrtDevice = "cpu", device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        """OrtValue.ortvalue_from_shape_and_type: there is one memory for all sessions."""
        return OrtValue.ortvalue_from_shape_and_type(shape, element_type, device_type, device_id, vendor_id)

    def _prepared(self, output_names, input_feed, run_options, read_now=False):
        """What a run needs, checked. read_now: for a run that begins when the caller may have changed the dict of feeds or the options."""
        wanted = requested_names(output_names)
        options = checked_run_options(run_options)
        if read_now and options is not None:
            options = options._as_now()
        if isinstance(input_feed, Mapping) and not all(name in input_feed for name in self._required):
            raise CallerError(self._what_is_missing(input_feed))
        read_by_run = self._takes_arrays and type(input_feed) is dict and not read_now
        return wanted, input_feed if read_by_run else self._values(input_feed), options

    def _finished(self, wanted, feeds, options):
        if self._profile is None and not logs.logs(logs.VERBOSE, options):
            return self._results(wanted, feeds, options)
        begin = time.monotonic_ns()
        found = self._results(wanted, feeds, options)
        if self._profile is not None:
            self._profile.add("model_run", begin, how_it_ran=self.how_it_ran())
        logs.log(logs.VERBOSE, options, "run", f"a run took {(time.monotonic_ns() - begin) / 1e3:.0f} us")
        return found

    def _results(self, wanted, feeds, options):
        """The outputs of a run. feeds: a dict of arrays, or values."""
        results = self._session.run(wanted, feeds, self._value, options)
        if not self._map_keys and all(type(r) is np.ndarray for r in results):
            return results
        return [self._result(r, name) for r, name in zip(results, wanted or [p.name for p in self._outputs_meta])]

    def _result(self, value, name):
        made = arrays.from_value(value, f"output '{name}'")
        keys = self._map_keys.get(name)
        if keys is None:
            return made
        if made.ndim != 2 or made.shape[1] != len(keys):
            raise CallerError(
                f"output '{name}' is made of scores of shape {made.shape}; its ZipMap expects rows of {len(keys)}, one for each key"
            )
        return _rondel.maps_of_rows(made, keys)

    def _values(self, input_feed):
        if not isinstance(input_feed, Mapping):
            raise CallerError(f"input_feed is a {kind_of(input_feed)}; expected a dict of input names to arrays")
        return {name: self._value(name, x) for name, x in input_feed.items()}

    def _value(self, name, x):
        """The value of one feed."""
        if not isinstance(name, str):
            raise CallerError(f"input_feed has the key {name!r}; expected names of inputs, as text")
        if name not in self._types:
            known = ", ".join(f"'{n}'" for n in self._types) or "none"
            raise CallerError(f"there is no input '{name}'; the inputs are {known}")
        x = content_of(x)
        if isinstance(x, SparseTensor):
            raise CallerError(f"input '{name}' is a {x.data_type()}; expected {self._types[name]}; to_dense() makes one")
        return arrays.to_value(x, f"input '{name}'", self._types[name])

    def _what_is_missing(self, input_feed):
        missing = [p for p in self._inputs_meta if p.name in self._required and p.name not in input_feed]
        expected = ", ".join(f"'{p.name}' is {short_type(p)}" for p in missing)
        text = f"Required inputs ({[p.name for p in missing]}) are missing from input feed ({list(input_feed)}). {expected}"
        unknown = [name for name in input_feed if name not in self._types]
        return text + (f"; there is no input {', '.join(map(repr, unknown))}" if unknown else "")

    # ---- how it went ---------------------------------------------------------------------------------------

    def how_it_ran(self, tiers: bool = False) -> dict[str, str]:
        """How each loop and If ran last: a dict of node to text.

        The text is "natively, as a whole", or "step by step: " and the reason, or "as a whole, interpreted: " and the
        reason. A loop or If inside one that runs as a whole is not listed. With jit=False the dict is empty.

        A loop that runs step by step because the model leaves its shapes open may run natively once the session has run it for
        some time with the same shapes, which then get a plan of their own. A run with a short deadline makes no such plan.

        A session interprets at first what will run natively, until its code is compiled in the background. tiers=True tells
        of how many trips of the latest run that is true: "natively, as a whole; of the latest run's 200 trips 50 interpreted".
        Runs at the same time may mix their counts.
        """
        return self._session.how_it_ran(tiers)

    def ir_text(self, imported: bool = False) -> str:
        """The graph as text, as compiled or as imported."""
        return self._session.ir_text(imported)

    def end_profiling(self) -> str:
        """Writes the profile that SessionOptions.enable_profiling asked for, and returns the name of the file: a str, for which
        notebooks show the times in the file as a table."""
        path = None if self._profile is None else self._profile.finish()
        if path is None:
            why = "it has ended already" if self._profile else "set SessionOptions.enable_profiling = True before the session is made"
            raise CallerError(f"end_profiling: there is no profile: {why}")
        return ProfilePath(path)

    def get_profiling_start_time_ns(self) -> int:
        """When the profile began, as time.monotonic_ns() counts; 0 without a profile."""
        return 0 if self._profile is None else self._profile.start_ns

    # ---- copies and texts ----------------------------------------------------------------------------------

    def __reduce__(self):
        """Sessions are pickled as their model, which is read again: the absolute path of a file, or the bytes. The optimized
        model is not written again. Ops of the user's own are pickled as their names, and must be registered where it is read.
        What a subclass or a user has set on the session is pickled, too, but for what hides a method; a `__getstate__` of a subclass chooses
        what that is. The `__init__` of a subclass is not called again."""
        if self._source is None:
            raise CallerError("this session was built in code, without a model file; keep the bytes of rondel.export(session)")
        options = copy.copy(self._sess_options)
        options.optimized_model_filepath = ""
        return _unpickled, (type(self), self._source, options, self.custom_ops), self._more_state()

    def _more_state(self):
        """What a subclass or a user has set on the session, as pickle takes it."""
        kind = type(self)
        if getattr(kind, "__getstate__", None) is not getattr(object, "__getstate__", None):
            state = self.__getstate__()
        else:
            state = {name: value for name, value in self.__dict__.items() if not callable(getattr(kind, name, None))}
        return {name: value for name, value in state.items() if name not in self._own} if isinstance(state, dict) else state

    @property
    def custom_ops(self) -> list[tuple[str, str]]:
        """Domain and name of the ops of the user's own (rondel.register_op) that the model uses."""
        return list(self._custom_ops)

    def _with_graph(self, what: str) -> Any:
        """The engine's session, for `what` needs its graph. CompiledModel, which has none, raises UnsupportedError."""
        return self._session

    def _as_onnx(self) -> bytes:
        """The model, for functions that read one."""
        return _rondel.export_bytes(self._with_graph("a model"), _rondel.ExportOptions())[0]

    def _title(self):
        source = self._source
        return f"InferenceSession({source!r})" if isinstance(source, str) else f"InferenceSession of '{self._session.info().graph_name}'"

    @property
    def _sess(self) -> SessionHandle:
        """onnxruntime's inner session."""
        return SessionHandle(self)

    def __repr__(self) -> str:
        if "_session" not in self.__dict__:  # making it failed
            return object.__repr__(self)
        return session_text(self._title(), self._inputs_meta, self._outputs_meta, self._loops(), self._overridable_initializers)

    def _repr_html_(self) -> str:
        return session_html(self._title(), self._inputs_meta, self._outputs_meta, self._loops(), self._overridable_initializers)

    def _loops(self):
        """Each loop and how it runs, as far as that is known."""
        ran = self.how_it_ran()
        if self._source is None or _changed_at(self._source) != self._read_at:
            return ran
        try:
            report = _rondel.inspect(*as_options_ask(self._source, self._sess_options))
        except Error:  # the file is no longer there
            return ran
        return {loop["name"]: ran.get(loop["name"], loop["execution"]) for loop in report["loops"]}


def _changed_at(source):
    """What tells whether a file has been replaced since: (time of its last change, size); None for bytes, or if there is no file."""
    try:
        found = os.stat(source) if isinstance(source, str) else None
    except OSError:
        return None
    return found and (found.st_mtime_ns, found.st_size)


def _unpickled(kind, source, options, ops):
    require_ops(ops)
    made = kind.__new__(kind)
    InferenceSession.__init__(made, source, options)
    return made


#: Keyword arguments of onnxruntime's sessions, the values that have their meaning here, and what to use instead.
_KEYWORDS = {
    "enable_fallback": ((0, 1), ""),
    "read_config_from_model": ((0,), "set the options of the model in SessionOptions"),
    "disabled_optimizers": ((), "SessionOptions.graph_optimization_level says which passes run"),
}


def _check_keywords(keywords):
    for name, value in keywords.items():
        if name not in _KEYWORDS:
            known = ["path_or_bytes", "sess_options", "providers", "provider_options", *_KEYWORDS]
            raise CallerError(f"InferenceSession has no argument '{name}'{closest(name, known)}")
        usual, way_out = _KEYWORDS[name]
        if value and value not in usual:
            warn_once(f"InferenceSession: {name}={value!r} is ignored: {way_out}")
