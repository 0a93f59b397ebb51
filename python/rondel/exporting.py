"""Models written as standard ONNX."""

from __future__ import annotations

import os
from typing import Any, overload

from . import _rondel
from .errors import CallerError
from .models import built, issue_warnings, model_source
from .option_checks import PATH, TRUE_OR_FALSE, checked, integer
from .options import SessionOptions
from .rewriting import as_options_ask, require_unchanged
from .session import InferenceSession


class ExportReport:
    """What was written: opset, ir_version, op_counts, loops [(name, "Scan" or "Loop", why no Scan)], notes,
    bytes and external_bytes."""

    opset: int
    ir_version: int
    op_counts: dict[str, int]
    loops: list[tuple[str, str, str]]
    notes: list[str]
    bytes: int
    external_bytes: int

    def __init__(self, found: dict[str, Any]) -> None:
        self.__dict__.update(found)

    def __repr__(self) -> str:
        return f"ExportReport(opset={self.opset}, bytes={self.bytes}, loops={self.loops})"


@overload
def export(
    model: Any, path: None = None, *, opset: int | None = None, external_data: bool = False, compiled: bool = False,
    assertions: bool = True, sess_options: SessionOptions | None = None,
) -> bytes: ...  # fmt: skip
@overload
def export(
    model: Any, path: str | os.PathLike[str], *, opset: int | None = None, external_data: bool = False, compiled: bool = False,
    assertions: bool = True, sess_options: SessionOptions | None = None,
) -> ExportReport: ...  # fmt: skip
def export(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    opset: int | None = None,
    external_data: bool = False,
    compiled: bool = False,
    assertions: bool = True,
    sess_options: SessionOptions | None = None,
) -> bytes | ExportReport:
    """Writes a model as standard ONNX that onnx's checker accepts.

    model: path, bytes, ModelProto, an InferenceSession or a network. path: the file to write; None: returns the model as bytes.
    opset: of the written model; None: 21, or, if that lacks ops or types of the model, the lowest opset that has them all.
    external_data: True writes the initializers to `path` + ".data", as is always done for models above 2 GiB. In the name of
        that file, "%2E" stands for a dot after a dot and "%5C" for a backslash, which onnx refuses.
    compiled: True writes the compiled graph: ops expanded, constants folded. Random draws are then written in standard
        arithmetic. They give the same numbers as a session with the same seed; the seed is one more input (default 0).
    assertions: True makes the written model fail if an assertion of the model does not hold; False leaves assertions out.
    sess_options: how the model is read (loop_cond, external_data_dir).

    A loop that ONNX's Scan can express is written as a Scan, any other loop as a Loop. (ONNX Runtime 1.31 fails on a Scan
    of extent 0, which makes no trip.)

    Names, symbols and what the model says of itself are kept; doc strings of nodes and ports, and metadata of graphs, are not.

    Returns the bytes, or, with a path, an ExportReport. Warns (rondel.ModelWarning) as a session of the model does. Raises
    rondel.Error, and then leaves no partly written file.
    """
    options = _rondel.ExportOptions()
    if opset is not None:
        options.opset = checked("export: opset", opset, ("the number of an opset", integer(-(2**31), 2**31 - 1)[1]))
    options.external_data = checked("export: external_data", external_data, TRUE_OR_FALSE)
    options.compiled = checked("export: compiled", compiled, TRUE_OR_FALSE)
    options.assertions = checked("export: assertions", assertions, TRUE_OR_FALSE)
    if sess_options is not None and not isinstance(sess_options, SessionOptions):
        raise CallerError(f"export: sess_options is {sess_options!r}; expected rondel.SessionOptions")
    model = built(model)
    if isinstance(model, InferenceSession):
        require_unchanged(sess_options, "a session")
        source = model._with_graph("export")
    else:
        source, options.reading = as_options_ask(model_source(model), sess_options or SessionOptions())
    if path is None:
        made, _, found = _rondel.export_bytes(source, options)
    else:
        report, found = _rondel.export_file(source, checked("export: path", path, PATH), options)
        made = ExportReport(report)
    issue_warnings(found, stacklevel=3)
    return made
