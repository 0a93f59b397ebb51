"""SessionOptions and RunOptions: onnxruntime's names; each value is checked when it is set, and can be read before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from . import _rondel, not_here
from .enumerations import ExecutionMode, ExecutionOrder, GraphOptimizationLevel
from .errors import CallerError
from .missing_names import missing, warn_once
from .naming import closest
from .option_checks import boolean_or_number, file_name, folder, integer, level, member_of, one_of, seconds, text, whole_number
from .ort_value import OrtValue


class _Theirs(NamedTuple):
    """An option that onnxruntime has and the engine does not."""

    default: Any
    expected: str
    check: Any
    ignored: str = ""  # why a value other than the default has no effect; empty if it has one
    same: tuple[Any, ...] = ()  # values that mean the same as the default here


def _choice(kind, ignored):
    return _Theirs(kind(0), *member_of(kind), ignored)


_DENORMALS = "session.set_denormal_as_zero"
_BOOLEAN = ("True or False", boolean_or_number)
_ONE_BY_ONE = "one node runs after the other; intra_op_num_threads sets the threads of one"
_MEMORY = "memory is planned before a run; max_memory_bytes limits it"
_SEVERITY = _Theirs(-1, *whole_number(-1, 4))
_VERBOSITY = _Theirs(0, *whole_number(-(2**31), 2**31 - 1), "verbose lines of the log have no levels; log_severity_level = 0 logs them all")
_LOGID = _Theirs("", "text", text)


class NoSuchOption(CallerError, AttributeError):
    """An option that is set has a name that no option has."""


class _Checked:
    """Base of options. Values of the engine's options (`_CHECKS`) and of those that only onnxruntime has (`_THEIRS`) are checked
    when they are set; of the latter, what has no meaning here warns. Any other name is refused."""

    _CHECKS: dict[str, Any] = {}
    _THEIRS: dict[str, _Theirs] = {}
    _CONFIG: set[str] = set()
    _missing_names: dict[str, str] = {}

    def __init__(self, **values: Any) -> None:
        super().__init__()
        for name, value in values.items():
            setattr(self, name, value)

    def __setattr__(self, name, value):
        theirs = self._THEIRS.get(name)
        if theirs is None and name not in self._CHECKS:
            self._refuse(name)
        expected, check = self._CHECKS[name] if theirs is None else (theirs.expected, theirs.check)
        try:
            checked = check(value)
        except (TypeError, ValueError, OverflowError):
            raise CallerError(f"{type(self).__name__}.{name} is {value!r}; expected {expected}") from None
        super().__setattr__(name, checked)
        if theirs is not None and theirs.ignored and checked not in (theirs.default, *theirs.same):
            warn_once(f"{type(self).__name__}.{name} is ignored: {theirs.ignored}")

    def __init_subclass__(cls):
        for name, theirs in cls._THEIRS.items():
            setattr(cls, name, theirs.default)  # what is read before it is set

    def __getattr__(self, name):
        raise missing(type(self).__name__, self._missing_names, name)

    def _refuse(self, name):
        kind = type(self).__name__
        if name in self._missing_names:
            raise missing(kind, self._missing_names, name)
        raise NoSuchOption(f"{kind} has no option '{name}'{closest(name, [*self._CHECKS, *self._THEIRS])}")

    def _add_entry(self, key, value):
        kind = type(self).__name__
        if not isinstance(key, str) or not isinstance(value, str):
            raise CallerError(f"{kind}: the configuration entry {key!r}: {value!r} is no text; expected two texts")
        if key not in self._CONFIG:
            warn_once(f"{kind}: the configuration entry '{key}' is ignored: it is stored, and has no meaning here")
        self.__dict__.setdefault("_config", {})[key] = value

    def _entry(self, key):
        kind, entries = type(self).__name__, self.__dict__.get("_config", {})
        if key not in entries:
            known = ", ".join(map(repr, entries)) or "none"
            raise CallerError(f"{kind} does not have configuration with key: {key}; the keys that were added: {known}")
        return entries[key]

    def __reduce__(self):
        fields = {name: getattr(self, name) for name in self._CHECKS}
        rest = {name: dict(x) if isinstance(x, dict) else x for name, x in self.__dict__.items()}
        return type(self), (), (fields, rest)

    def __setstate__(self, state):
        fields, rest = state
        for name, value in fields.items():
            setattr(self, name, value)
        self.__dict__.update(rest)

    def __repr__(self) -> str:
        usual = type(self)()
        values = {name: getattr(self, name) for name in [*self._CHECKS, *self._THEIRS]}
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in values.items() if v != getattr(usual, n))})"


class SessionOptions(_Checked, _rondel.SessionOptions):
    """How a model is compiled, and its limits.

    intra_op_num_threads: threads that share a large op or a loop; 0: one per core. Results do not depend on it.
    graph_optimization_level: 0 none, 1 basic, 99 all, or onnxruntime's enum.
    max_memory_bytes: the most memory that all runs of the session may hold at once, not counting feeds, weights and results.
    max_trips: the most trips of any one loop.
    loop_cond: for a Loop whose cond is "": 'spec' ignores the body's cond, 'honour' stops the loop on it.
    jit: False uses only the interpreter, and generates no code.
    strict: True does not contract multiplications and additions to fma, and uses only the reference kernels.
    denormals_as_zero: True takes subnormal operands and results of floating-point arithmetic for zero: many times as fast where
        numbers fade away in a long loop. onnxruntime's entry session.set_denormal_as_zero, "0" or "1", is this option.
    external_data_dir: where external data may be read from; None: the model's own folder.
    enable_profiling: True times the session and its runs; `end_profiling` writes a file, whose name begins with
        profile_file_prefix, for chrome://tracing or Perfetto.
    optimized_model_filepath: where the session writes the compiled model as ONNX, when it is made.
    log_severity_level: the least severity that is logged (see rondel.set_default_logger_severity); -1: the default.
    logid: text in each line of the log.

    Options are set as attributes, or given as keywords: SessionOptions(max_trips=1000). An invalid value or an unknown option raises
    CallerError. The other options of onnxruntime can be set and read; a value that has no meaning here warns once.
    """

    intra_op_num_threads: int
    max_memory_bytes: int
    max_trips: int
    loop_cond: str
    jit: bool
    strict: bool
    denormals_as_zero: bool
    external_data_dir: str | None
    enable_profiling: bool
    profile_file_prefix: str
    optimized_model_filepath: str
    log_severity_level: int
    log_verbosity_level: int
    logid: str
    enable_cpu_mem_arena: bool
    enable_mem_pattern: bool
    enable_mem_reuse: bool
    execution_mode: ExecutionMode
    execution_order: ExecutionOrder
    inter_op_num_threads: int
    use_deterministic_compute: bool
    use_per_session_threads: bool

    _CHECKS = {
        "intra_op_num_threads": integer(0, 2**31 - 1),
        "graph_optimization_level": ("0, 1, 2, 3, 99 or onnxruntime's enum", level),
        "max_memory_bytes": integer(0, 2**64 - 1),
        "max_trips": integer(0, 2**63 - 1),
        "loop_cond": one_of("spec", "honour"),
        "jit": _BOOLEAN,
        "strict": _BOOLEAN,
        "denormals_as_zero": _BOOLEAN,
        "external_data_dir": ("a path or None", folder),
    }
    _THEIRS = {
        "enable_profiling": _Theirs(False, *_BOOLEAN),
        "profile_file_prefix": _Theirs("onnxruntime_profile_", "a path", file_name),
        "optimized_model_filepath": _Theirs("", "a path", file_name),
        "log_severity_level": _SEVERITY,
        "log_verbosity_level": _VERBOSITY,
        "logid": _LOGID,
        "enable_cpu_mem_arena": _Theirs(True, *_BOOLEAN, _MEMORY),
        "enable_mem_pattern": _Theirs(True, *_BOOLEAN, _MEMORY),
        "enable_mem_reuse": _Theirs(True, *_BOOLEAN, _MEMORY),
        "execution_mode": _choice(ExecutionMode, _ONE_BY_ONE),
        "execution_order": _choice(ExecutionOrder, "the compiler orders the nodes"),
        "inter_op_num_threads": _Theirs(0, *whole_number(-1, 2**31 - 1), _ONE_BY_ONE, (-1, 1)),
        "use_deterministic_compute": _Theirs(False, *_BOOLEAN),  # as it always is
        "use_per_session_threads": _Theirs(True, *_BOOLEAN, "sessions share no pool of threads that could be set"),
    }
    _CONFIG = {
        "session.optimized_model_external_initializers_file_name",
        "session.optimized_model_external_initializers_min_size_in_bytes",
        _DENORMALS,
    }
    _missing_names = not_here.SESSION_OPTIONS

    @property
    def graph_optimization_level(self) -> GraphOptimizationLevel:
        return GraphOptimizationLevel(_rondel.SessionOptions.graph_optimization_level.__get__(self))

    @graph_optimization_level.setter
    def graph_optimization_level(self, value: int) -> None:
        _rondel.SessionOptions.graph_optimization_level.__set__(self, int(value))

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Stores an entry of onnxruntime's configuration. Those of optimized_model_filepath and denormals_as_zero have their meaning; any
        other warns."""
        if key == _DENORMALS:
            if value not in ("0", "1"):
                raise CallerError(f"the configuration entry '{key}' is {value!r}; expected '0' or '1'")
            self.denormals_as_zero = value == "1"
        self._add_entry(key, value)

    def get_session_config_entry(self, key: str) -> str:
        return self._entry(key)

    def add_free_dimension_override_by_name(self, name: str, value: int) -> None:
        """Gives a symbolic dimension of the model's inputs an extent: of the shape ['batch', 4], 'batch'. Needs the package onnx."""
        self._add_dimension("name", name, value)

    def add_free_dimension_override_by_denotation(self, denotation: str, value: int) -> None:
        """Gives the dimensions with this denotation (such as 'DATA_BATCH') an extent. Needs the package onnx."""
        self._add_dimension("denotation", denotation, value)

    def _add_dimension(self, kind, name, value):
        if not isinstance(name, str) or not name:
            raise CallerError(f"the {kind} of a dimension is {name!r}; expected text")
        expected, check = integer(0, 2**63 - 1)
        try:
            extent = check(value)
        except (TypeError, ValueError):
            raise CallerError(f"the extent of the dimension '{name}' is {value!r}; expected {expected}") from None
        self.__dict__.setdefault("_dimensions", {})[kind, name] = extent

    def add_initializer(self, name: str, value: OrtValue) -> None:
        """Replaces an initializer of the model by a tensor of the same type and shape, which is copied. Needs the package onnx."""
        if not isinstance(name, str):
            raise CallerError(f"the name of an initializer is {name!r}; expected text")
        if not isinstance(value, OrtValue) or not value.is_tensor():
            kind = value.data_type() if isinstance(value, OrtValue) else type(value).__name__
            raise CallerError(f"the initializer '{name}' is a {kind}; expected an OrtValue that holds a tensor; try OrtValue.ortvalue_from_numpy")
        self.__dict__.setdefault("_initializers", {})[name] = value

    def add_external_initializers(self, names: Sequence[str], values: Sequence[OrtValue]) -> None:
        """Gives initializers whose data are in external files their tensors, so that the files are not read. Needs the package onnx."""
        if len(names) != len(values):
            raise CallerError(f"add_external_initializers: {len(names)} names and {len(values)} values; expected a value for each name")
        for name, value in zip(names, values):
            self.add_initializer(name, value)

    def add_external_initializers_from_files_in_memory(
        self, file_names: Sequence[str], buffers: Sequence[Any], lengths: Sequence[int]
    ) -> None:
        """Gives external files of the model as bytes, so that they are not read. Needs the package onnx.

        buffers: bytes, arrays or others that have the buffer protocol; the first lengths[k] bytes of each are copied.
        """
        if not len(file_names) == len(buffers) == len(lengths):
            raise CallerError(
                f"{len(file_names)} names of files, {len(buffers)} buffers and {len(lengths)} lengths; expected a buffer and a length for each name"
            )
        for name, buffer, length in zip(file_names, buffers, lengths):
            try:
                data = memoryview(buffer).cast("B")
            except TypeError:
                raise CallerError(f"the file '{name}' is a {type(buffer).__name__}; expected bytes, or a row-major array") from None
            if isinstance(length, bool) or not isinstance(length, (int, np.integer)) or not 0 <= length <= len(data):
                raise CallerError(f"the length of the file '{name}' is {length!r}; expected at most {len(data)}, the bytes of its buffer")
            self.__dict__.setdefault("_files", {})[str(name)] = bytes(data[: int(length)])


_seed = 0


def set_seed(seed: int) -> None:
    """The seed of the random ops, for runs whose RunOptions set none: of options made from now on, and of runs without options."""
    global _seed
    expected, check = integer(0, 2**64 - 1)
    try:
        _seed = check(seed)
    except (TypeError, ValueError):
        raise CallerError(f"seed is {seed!r}; expected {expected}") from None


class RunOptions(_Checked, _rondel.RunOptions):
    """The limits of one run, and its seed.

    deadline: seconds for the run, counted from when the feeds are converted to tensors (which takes a while for
        millions of strings); None: no deadline.
    terminate: set to True from any thread to end the run.
    seed: the seed of the random ops, 0 or more.
    max_trips: the most trips of any one loop of this run; max_memory_bytes: the most memory that it may hold at once. The
        limits of the session hold, too.
    log_severity_level, logid: as in SessionOptions.

    Options are set as attributes, or given as keywords: RunOptions(deadline=1.5). The other options of onnxruntime can be set and read;
    a value that has no meaning here warns once.
    """

    deadline: float | None
    terminate: bool
    seed: int
    max_trips: int
    max_memory_bytes: int
    log_severity_level: int
    log_verbosity_level: int
    logid: str
    only_execute_path_to_fetches: bool

    _CHECKS = {
        "deadline": ("seconds, 0 or more, or None", seconds),
        "terminate": _BOOLEAN,
        "seed": integer(0, 2**64 - 1),
        "max_trips": integer(0, 2**63 - 1),
        "max_memory_bytes": integer(0, 2**64 - 1),
    }
    _THEIRS = {
        "log_severity_level": _SEVERITY,
        "log_verbosity_level": _VERBOSITY,
        "logid": _LOGID,
        "only_execute_path_to_fetches": _Theirs(False, *_BOOLEAN, "a run computes all outputs, and returns the requested ones"),
    }
    _missing_names = not_here.RUN_OPTIONS

    def __init__(self, **values: Any) -> None:
        super().__init__(**({"seed": _seed, **values} if _seed else values))

    def _as_now(self) -> RunOptions:
        """A copy, which later changes of these options do not reach; but `terminate` of either ends the runs of both."""
        made = RunOptions()
        made.__setstate__(self.__reduce__()[2])
        made._share_terminate(self)
        return made

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Stores an entry of onnxruntime's configuration; it has no meaning here, and warns once."""
        self._add_entry(key, value)

    def get_run_config_entry(self, key: str) -> str:
        return self._entry(key)


def drawing_from(first: int) -> RunOptions | None:
    """Options of a run whose random ops draw other numbers than those of runs with another `first`, 0 or more: what is cut into parts
    says where each part begins."""
    if not first:
        return None
    options = RunOptions()
    options.seed = (options.seed + first) % 2**64
    return options


Options = TypeVar("Options", SessionOptions, RunOptions)


def checked_options(options: Options | None, kind: type[Options], what: str) -> Options:
    """`options`, or default options for None; CallerError if they are of another class."""
    if options is None:
        return kind()
    if not isinstance(options, kind):
        raise CallerError(f"{what} is a {type(options).__name__}; expected rondel.{kind.__name__} or None")
    return options


def checked_run_options(options: RunOptions | None) -> RunOptions | None:
    """As `checked_options`; None if all options have the defaults of the engine, whose runs then begin sooner."""
    if options is None and not _seed:
        return None
    return checked_options(options, RunOptions, "run_options")
