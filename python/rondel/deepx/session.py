"""Sessions of deepx instructions, and the documentation of instructions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, NamedTuple

import numpy as np

from .. import _rondel, arrays
from ..errors import CallerError, Error
from ..exporting import ExportReport
from ..option_checks import PATH, TRUE_OR_FALSE, checked, integer, is_unicode, seconds
from .files import Folder

_engine = _rondel.deepx
_MOST = 2**63 - 1


class Session(MutableMapping[str, Any]):
    """Named tensors, vectors and scalars ("arguments"), and the programs that change them. For use by one thread at a time.

    folder: `save`, `load` and `loadtensordata` read and write files in and below this folder; None: these instructions fail. Or an object
        with the methods save, load and load_data of files.Folder.
    max_memory_bytes: the most memory that the tensors and their computation may hold at once; None: no limit.
    seed: the seed of all random draws that have no seed of their own. max_trips: the most trips of any one loop.
    threads: threads of one op; 0: one per core. jit: False uses only the interpreter (as RONDEL_JIT=0 does).

    A mapping of names to NumPy arrays: `session["t"]` is a copy of the value; an argument has shape (), a vector has one axis.
    `session["t"] = array` makes a tensor, or gives it a new value of any type. `del session["t"]` deletes a name of any kind.
    """

    def __init__(
        self,
        folder: Any = None,
        max_memory_bytes: int | None = None,
        *,
        seed: int = 0,
        max_trips: int | None = None,
        threads: int = 0,
        jit: bool = True,
    ) -> None:
        self._session = _engine.Session(
            max_memory_bytes=None if max_memory_bytes is None else checked("max_memory_bytes", max_memory_bytes, integer(0, 2**64 - 1)),
            seed=checked("seed", seed, integer(0, 2**64 - 1)),
            max_trips=_MOST if max_trips is None else checked("max_trips", max_trips, integer(0, _MOST)),
            threads=checked("threads", threads, integer(0, 2**31 - 1)),
            jit=checked("jit", jit, TRUE_OR_FALSE),
            folder=folder if folder is None or hasattr(folder, "load_data") else Folder(checked("folder", folder, PATH), max_memory_bytes),
        )

    def run(
        self,
        text: str | bytes,
        keep_going: bool = False,
        on_print: Callable[[str], Any] | None = None,
        *,
        on_line: Callable[[int, dict[str, str], Error | None], Any] | None = None,
        deadline: float | None = None,
    ) -> list[Error]:
        """Runs a program.

        text: str, or bytes of UTF-8. The effect is that of running the lines one after another.
        keep_going: True skips a line that fails, and runs the next lines.
        on_print: called with each output of `print`, whole lines with their line ends; None: sys.stdout.
        on_line: called as on_line(line, metadata, error) once a line has taken effect (error is None) or failed. metadata: the
            `key=value` pairs after `//`.
        deadline: seconds after which the run ends.

        Returns the failures: [] without keep_going, else a list of rondel.Error, each with the attributes `line` and
        `metadata`. Without keep_going the first failure is raised; the lines before it have taken effect, the failed line and the
        lines after it have not. Its message begins with "line N, column M: ". Raises DeadlineExceeded; lines that had not been
        computed then have no effect.
        """
        failures = self._session.run(
            _program(text),
            checked("keep_going", keep_going, TRUE_OR_FALSE),
            _callback("on_print", on_print) or _print,
            _callback("on_line", on_line),
            checked_seconds("deadline", deadline),
        )
        if failures and not keep_going:
            raise failures[0]
        return failures

    def export(self, text: str | bytes, path: str | os.PathLike[str], *, opset: int | None = None, assertions: bool = True) -> ExportReport:
        """Writes a program as an ONNX model, without running it.

        Tensors of this session that the program reads are the model's inputs. Tensors that it writes and that exist at its end are the
        outputs, under their names. If a tensor is both, its input has `_in` appended to the name. Arguments and loaded values become
        constants. path: the file to write. opset, assertions: as in rondel.export. Returns an ExportReport.
        """
        options = _rondel.ExportOptions()
        if opset is not None:
            options.opset = checked("opset", opset, integer(-(2**31), 2**31 - 1))
        options.assertions = checked("assertions", assertions, TRUE_OR_FALSE)
        return ExportReport(self._session.export_program(_program(text), checked("path", path, PATH), options))

    def names(self) -> list[str]:
        """All names, sorted."""
        return self._session.names()

    def kind(self, name: str) -> tuple[str, np.dtype[Any], tuple[int, ...]] | None:
        """(kind, dtype, shape) of a name. kind: "argument", "vector" or "tensor"; dtype: NumPy's. None for an unknown name."""
        found = self._session.find(_name(name))
        return None if found is None else (found[0], arrays.numpy_dtype(found[1]), found[2])

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        return arrays.from_value(self._session.get(name), name)

    def __setitem__(self, name: str, value: Any) -> None:
        self._session.set(_name(name), arrays.to_value(value, f"'{name}'", ""))

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self._session.erase(name)

    def __contains__(self, name: object) -> bool:
        return is_unicode(name) and self._session.find(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def __repr__(self) -> str:
        return f"<rondel.deepx.Session of {len(self)} names>"


class Instruction(NamedTuple):
    """An instruction, or a kind of block."""

    name: str
    spellings: list[str]  #: other names
    usage: str  #: "add@T a b -> c"
    backward: str  #: "add@T a(a_grad) b(b_grad) <- c(c_grad)"; "" if there is no such form
    dtypes: str  #: what T may be, "numbers"; "" if there is no T
    doc: str  #: one line


def instructions() -> list[Instruction]:
    """All instructions, sorted by name, then the kinds of blocks: a list of Instruction."""
    return [Instruction(**row) for row in _engine.instructions()]


def help(name: str) -> str:
    """The documentation of an instruction, a few lines. Raises CallerError for an unknown name."""
    return _engine.help(_name(name))


def formatted(text: str | bytes) -> str:
    """A program in canonical form, with indented blocks: programs with the same instructions become the same text. Raises
    CallerError for text that cannot be parsed."""
    return _engine.formatted(_program(text))


def ends_in_block(text: str | bytes) -> bool:
    """Whether a program ends inside a block, so that more lines must follow."""
    return _engine.ends_in_block(_program(text))


def _name(name):
    if not is_unicode(name):
        raise CallerError(f"a name is {name!r}; expected a str")
    return name


def _print(text):
    print(text, end="")


def _callback(name, value):
    if value is not None and not callable(value):
        raise CallerError(f"{name} is {value!r}; expected a function, or None")
    return value


def _program(text):
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")  # the engine tells of a lone surrogate with line and column
    if isinstance(text, (bytes, bytearray, memoryview)):
        return bytes(text)
    raise CallerError(f"the program is a {type(text).__name__}; expected a str, or bytes of UTF-8")


def checked_seconds(name: str, value: float | None) -> float | None:
    """A time in seconds as a float, or None. Raises CallerError for any other value."""
    return checked(name, value, ("a time in seconds, 0 or more, or None", seconds))
