"""Models compiled ahead of time: `rondel.compile_model` and `rondel.load_compiled`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from . import _rondel, arrays
from .counts import argument_text, whole
from .errors import CallerError, Error, UnsupportedError
from .models import Model, issue_warnings, kind_of, model_source
from .onnxruntime_errors import name_loading_error
from .option_checks import PATH, checked
from .options import SessionOptions, checked_options
from .replacing import are_one_file
from .rewriting import as_options_ask
from .session import Feeds, InferenceSession

Shapes = Mapping[str, Sequence["int | str | None"]]
"""The extents of inputs, by name: a number, or None, "?" or a name for any extent."""

Progress = Callable[[str, int, int], None]
"""Called with the part of the work ("shapes", "code", "linking"), how much of it is done, and how much there is."""


class CompileReport:
    """What `compile_model` wrote, and for what.

    name: the prefix of the model's C functions. cpu, instruction_sets: LLVM's names of the processor, and of what the code may use.
    programs: functions of native code. cases: combinations of shapes that were considered. not_compiled: (node, reason) for
    each node that runs without native code, or in part. Sizes are in bytes; code_bytes counts objects before they are linked.
    """

    library: str
    header: str
    name: str
    cpu: str
    instruction_sets: list[str]
    programs: int
    cases: int
    code_bytes: int
    weight_bytes: int
    library_bytes: int
    not_compiled: list[tuple[str, str]]

    def __init__(self, found: dict[str, Any]) -> None:
        self.__dict__.update(found)

    def __repr__(self) -> str:
        return f"CompileReport(library={self.library!r}, cpu={self.cpu!r}, programs={self.programs}, not_compiled={self.not_compiled})"


def compile_model(
    model: Model,
    path: str | os.PathLike[str],
    *,
    cpu: str = "native",
    shapes: Shapes | Iterable[Shapes] | None = None,
    samples: Feeds | Iterable[Feeds] | None = None,
    allow_steps: bool = False,
    name: str = "",
    header: str | os.PathLike[str] | None = None,
    sess_options: SessionOptions | None = None,
    progress: Progress | None = None,
) -> CompileReport:
    """Compiles a model to a shared object with its code, its weights and what runs them, and a C header beside it.

    model: a path, bytes, ModelProto, session or network. path: the shared object to write ("model.so").
    cpu: "native", the processor of this machine, or LLVM's name of one ("x86-64-v3").
    shapes: the shapes to make code for, as a dict of input to extents, or a list of such dicts; extents are numbers, or None for any.
    None: the shapes that the model declares. Other shapes run, too, but interpreted.
    samples: feeds, or a list of feeds, with which the model is run once, so that there is also code for sizes that these data decide.
    allow_steps: nodes without native code run interpreted; otherwise they are an error.
    name: the prefix of the C functions, made of the file's name if it is "". header: the C header; None: beside the library.

    Both files are written whole or not at all. Needs the system's C compiler, which links the library. Raises CallerError for an
    invalid model, shape, name or place, UnsupportedError for what cannot be compiled, which it names, and if there is no C compiler.
    """
    options = checked_options(sess_options, SessionOptions, "sess_options")
    source, reading = as_options_ask(model_source(model), options)
    how = _rondel.CompileOptions()
    how.session = reading
    how.cpu = _text(cpu, "cpu")
    how.name = _text(name, "name")
    how.allow_steps = bool(allow_steps)
    how.shapes = [_shape_case(case) for case in _cases("shapes", shapes)]
    how.samples = _samples(_cases("samples", samples), source, reading)
    library = checked("compile: path", path, PATH)
    if header is not None:
        how.header = checked("compile: header", header, PATH)
    for written in (library, how.header):
        if written and isinstance(source, str) and are_one_file(written, source):
            raise CallerError(f"{written} is the model itself; the library and its header need names of their own")
    try:
        fields, found = _rondel.compile_model(source, library, how, progress)
    except Error as error:
        if error.frames or not isinstance(error, CallerError):  # else it may be about a shape or a place
            name_loading_error(error, source)
        raise
    issue_warnings(found, stacklevel=3)
    return CompileReport(fields)


class CompiledModel(InferenceSession):
    """A compiled model with the interface of a session, made by `rondel.load_compiled`. Many threads may run it at once.

    Its results are the bits of a session of the model. It has no LLVM and compiles nothing: shapes for which it has no code are
    interpreted. `how_it_ran(tiers=True)` tells how many trips were.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.path.abspath(checked("load_compiled: path", path, PATH))
        self._source = None
        self._initialize(_rondel.CompiledModel(self._path), SessionOptions())

    def ir_text(self, imported: bool = False) -> NoReturn:
        """There is none: raises UnsupportedError."""
        self._with_graph("ir_text")

    def _with_graph(self, what: str) -> NoReturn:
        raise UnsupportedError(f"{what} needs the graph of the model, which a compiled model does not have; a session of the model has it")

    def __reduce__(self):
        return type(self), (self._path,)

    def _title(self):
        return f"CompiledModel({self._path!r})"


def load_compiled(path: str | os.PathLike[str]) -> CompiledModel:
    """Loads a model that `compile_model` wrote.

    Raises CallerError for a file that cannot be read, is cut off or is no compiled model, UnsupportedError if another version of
    Rondel wrote it or this processor lacks what it needs. The file is code: load no file of somebody whom you do not trust.
    """
    return CompiledModel(path)


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise CallerError(f"{what} is a {kind_of(value)}; expected a str")
    return value


def _cases(what: str, cases: Any) -> list[Any]:
    """One dict, or several."""
    if cases is None or isinstance(cases, Mapping):
        return [] if cases is None else [cases]
    if isinstance(cases, (str, bytes)) or not isinstance(cases, Iterable):
        raise CallerError(f"{what} is a {kind_of(cases)}; expected a dict by the names of inputs, or a list of such dicts")
    return list(cases)


def _shape_case(case: Any) -> dict[str, list[int]]:
    if not isinstance(case, Mapping):
        raise CallerError(f"shapes holds a {kind_of(case)}; expected dicts of input names to extents")
    return {_text(name, "the name of an input"): _extents(name, extents) for name, extents in case.items()}


def _extents(name: str, extents: Any) -> list[int]:
    if isinstance(extents, (str, bytes)) or not isinstance(extents, Iterable):
        example = [extents] if whole(extents) is not None else [2, None]
        raise CallerError(f"the shape of input {name!r} is {extents!r:.100}; expected a list of extents, as {example}")
    return [_extent(name, extent) for extent in extents]


def _extent(name: str, extent: Any) -> int:
    """-1 for an extent that is open."""
    if extent is None or (isinstance(extent, str) and (extent == "?" or re.fullmatch(r"[A-Za-z_]\w*", extent))):
        return -1
    checked = whole(extent)
    if checked is None or checked < 0:
        raise CallerError(f"an extent of input {name!r} is {argument_text(extent)}; expected a number from 0 on, or None for any extent")
    return checked


def _samples(cases: list[Any], source: str | bytes, reading: Any) -> list[dict[str, Any]]:
    """Feeds as a session takes them: the model is read for its types where numbers or lists have no dtype of their own."""
    for feeds in cases:
        if not isinstance(feeds, Mapping):
            raise CallerError(f"samples holds a {kind_of(feeds)}; expected dicts of input names to arrays")
    types = {}
    if any(not hasattr(x, "dtype") for feeds in cases for x in feeds.values()):
        types = {port.name: port.type for port in _rondel.inspect(source, reading)["inputs"]}
    return [{name: arrays.to_value(x, f"input {name!r}", types.get(name, "")) for name, x in feeds.items()} for feeds in cases]
