"""SessionOptions and RunOptions: onnxruntime's names; each value is checked when it is set."""

import difflib
import enum
import operator
import os

from . import _rondel
from .errors import CallerError


class GraphOptimizationLevel(enum.IntEnum):
    """Values of SessionOptions.graph_optimization_level, by onnxruntime's names."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """onnxruntime's modes. They are accepted and have no effect."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


# Options that only onnxruntime has. They are accepted, because none of them can change a result.
_IGNORED_IN_SESSIONS = {
    "enable_cpu_mem_arena", "enable_mem_pattern", "enable_mem_reuse", "enable_profiling", "execution_mode",
    "execution_order", "inter_op_num_threads", "log_severity_level", "log_verbosity_level", "logid",
    "optimized_model_filepath", "profile_file_prefix", "use_deterministic_compute", "use_per_session_threads",
}  # fmt: skip
_IGNORED_IN_RUNS = {"log_severity_level", "log_verbosity_level", "logid", "only_execute_path_to_fetches"}


def integer(least, most):
    def check(value):
        if isinstance(value, bool):
            raise TypeError
        value = operator.index(value)
        if not least <= value <= most:
            raise ValueError
        return value

    return f"an integer of {least} or more, below 2**{most.bit_length()}", check


def boolean(value):
    if type(value).__name__ not in ("bool", "bool_"):  # bool_: NumPy's
        raise TypeError
    return bool(value)


def one_of(*texts):
    def check(value):
        if not isinstance(value, str) or value not in texts:
            raise ValueError
        return value

    return " or ".join(repr(t) for t in texts), check


def level(value):
    """A level of optimisation, as a number or as a member of onnxruntime's enum."""
    if isinstance(value, (bool, str, float)):
        raise TypeError
    value = int(value)
    if value not in (0, 1, 2, 3, 99):
        raise ValueError
    return value


def folder(value):
    return None if value is None else path_text(value)


def seconds(value):
    if value is None:
        return None
    if isinstance(value, (bool, str)):
        raise TypeError
    value = float(value)
    if not value >= 0:
        raise ValueError
    return value


def path_text(path):
    """A path as text; ValueError if no file can have this name."""
    text = os.fsdecode(path)
    if "\0" in text:
        raise ValueError("it holds a NUL character")
    return text


class _Checked:
    """Base of options. Values of our options (`_CHECKS`) are checked when they are set; options that only onnxruntime has
    (`_IGNORED`) are stored; any other name is refused."""

    _CHECKS: dict = {}
    _IGNORED: set = set()

    def __setattr__(self, name, value):
        kind = type(self).__name__
        if name not in self._CHECKS:
            if name not in self._IGNORED:
                near = difflib.get_close_matches(name, [*self._CHECKS, *self._IGNORED], 1)
                raise CallerError(f"{kind} has no option '{name}'" + (f"; did you mean '{near[0]}'?" if near else ""))
            return super().__setattr__(name, value)
        expected, check = self._CHECKS[name]
        try:
            checked = check(value)
        except (TypeError, ValueError, OverflowError):
            raise CallerError(f"{kind}.{name} is {value!r}; expected {expected}") from None
        super().__setattr__(name, checked)


class SessionOptions(_Checked, _rondel.SessionOptions):
    """How a model is compiled, and its limits.

    intra_op_num_threads: threads of one op; 0: one per core.
    graph_optimization_level: 0 none, 1 basic, 99 all, or onnxruntime's enum.
    max_memory_bytes: the most memory that all runs of the session may hold at once.
    max_trips: the most trips of any one loop.
    loop_cond: for a Loop whose cond is "": 'spec' ignores the body's cond, 'honour' stops the loop on it.
    jit: False uses only the interpreter, and generates no code.
    strict: True does not contract multiplications and additions to fma, and uses only the reference kernels.
    external_data_dir: where external data may be read from; None: the model's own folder.

    An invalid value or an unknown option raises CallerError. Options that only onnxruntime has are accepted and have
    no effect.
    """

    _CHECKS = {
        "intra_op_num_threads": integer(0, 2**31 - 1),
        "graph_optimization_level": ("0, 1, 2, 3, 99 or onnxruntime's enum", level),
        "max_memory_bytes": integer(0, 2**64 - 1),
        "max_trips": integer(0, 2**63 - 1),
        "loop_cond": one_of("spec", "honour"),
        "jit": ("True or False", boolean),
        "strict": ("True or False", boolean),
        "external_data_dir": ("a path or None", folder),
    }
    _IGNORED = _IGNORED_IN_SESSIONS


class RunOptions(_Checked, _rondel.RunOptions):
    """The limits of one run, and its seed.

    deadline: seconds for the run, counted from when the feeds are converted to tensors (which takes a while for
        millions of strings); None: no deadline.
    terminate: set to True from any thread to end the run.
    seed: the seed of the random ops, 0 or more.
    """

    _CHECKS = {
        "deadline": ("seconds, 0 or more, or None", seconds),
        "terminate": ("True or False", boolean),
        "seed": integer(0, 2**64 - 1),
    }
    _IGNORED = _IGNORED_IN_RUNS


def checked_options(options, kind, what):
    """`options`, or default options for None; CallerError if they are of another class."""
    if options is None:
        return kind()
    if not isinstance(options, kind):
        raise CallerError(f"{what} is a {type(options).__name__}; expected rondel.{kind.__name__} or None")
    return options
