"""The contents of a model, and whether it will run, found without running it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import _rondel
from .errors import CallerError
from .metadata import NodeArg
from .models import Model, model_source
from .options import SessionOptions, checked_options
from .pages import page
from .rewriting import as_options_ask
from .texts import finding_text, loop_html, loop_lines, loop_title, report_html, report_text


class Loop(dict[str, Any]):
    """A loop of a report: a dict that is printed, and shown in notebooks, as `rondel inspect` says it."""

    def __str__(self) -> str:
        return "\n".join([loop_title(self), *("  " + line for line in loop_lines(self))])

    def _repr_html_(self) -> str:
        return loop_html(self)


class Report:
    """The contents of a model, and whether it will run.

    inputs, outputs: with name, type ('' if the file declares none) and shape.
    opsets: domain to version. op_counts: op to the number of its nodes, at any depth.
    loops: a Loop, which is a dict, for each loop: name, source, depth; states, scans, stacks ("name: type"); bound (what ends the loop);
    execution (natively as a whole, or step by step and why; '' in a model that will not run).
    branches: a dict for each If: name, depth, execution.
    custom_ops: domain and name of the ops of the user's own (rondel.register_op) in the model.
    findings: (level, where, message); level is "error", "warning" or "note". runs: True if no finding is an error.
    """

    inputs: list[NodeArg]
    outputs: list[NodeArg]
    opsets: dict[str, int]
    op_counts: dict[str, int]
    loops: list[Loop]
    branches: list[dict[str, Any]]
    custom_ops: list[tuple[str, str]]
    findings: list[tuple[str, str, str]]
    runs: bool

    def __init__(self, found: dict[str, Any], custom_ops: Sequence[tuple[str, str]] = ()) -> None:
        self.custom_ops = list(custom_ops)
        self.inputs = [NodeArg(p) for p in found["inputs"]]
        self.outputs = [NodeArg(p) for p in found["outputs"]]
        self.opsets = found["opsets"]
        self.op_counts = found["op_counts"]
        self.loops = [Loop(loop) for loop in found["loops"]]
        self.branches = found["branches"]
        self.findings = found["findings"]
        self.runs = found["runs"]

    def __str__(self) -> str:
        """The report as `rondel inspect` prints it, and the findings."""
        return "\n".join([report_text(self), *map(finding_text, self.findings)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return report_html(self)


class PassRun(NamedTuple):
    """One run of one pass over a model's graph."""

    pipeline: str
    name: str
    doc: str
    round: int  # the round of its pipeline, from 1
    changed: bool
    seconds: float
    nodes: int  # in the graph after the pass, at any depth
    text: str  # the graph after the pass, if requested; else empty
    remarks: list[tuple[str, bool, str]]  # (loop, whether it was done, what was done or why not), by loop


def trace_passes(model: Model, sess_options: SessionOptions | None = None, after: str = "") -> list[PassRun]:
    """Compiles a model's graph (path, bytes, ModelProto or session) and lists what each pass did, in order.

    after: a pass, by name or as "pipeline/name". Its runs have the text of the graph. A pass that does not exist is a
    CallerError; other errors are those of InferenceSession.
    """
    if not isinstance(after, str):
        raise CallerError(f"after is {after!r}; expected the name of a pass")
    options = checked_options(sess_options, SessionOptions, "sess_options")
    return [PassRun(*run) for run in _rondel.trace_passes(*as_options_ask(model_source(model), options), after)]


def schedule_text(model: Model, sess_options: SessionOptions | None = None) -> str:
    """How the programs of a model (path, bytes, ModelProto or session) are laid out as loop nests, and why, as text: which nodes each nest
    computes, where results are stored, what is vectorised over how many lanes of this processor, and what threads may share.

    Shapes are those that the model declares. The text is for people: its form may change in any version. Raises as InferenceSession does.
    """
    options = checked_options(sess_options, SessionOptions, "sess_options")
    return _rondel.schedule_text(*as_options_ask(model_source(model), options))


def inspect(model: Model, sess_options: SessionOptions | None = None) -> Report:
    """Reads a model (path, bytes, ModelProto or session) and reports its contents, without running it.

    A reason why the model will not run is a finding. Raises CallerError only if the source is not a model at all.
    """
    options = checked_options(sess_options, SessionOptions, "sess_options")
    found = _rondel.inspect(*as_options_ask(model_source(model), options))
    return Report(found, _rondel.ops_of_last_model())


def graph_html(model: Model, sess_options: SessionOptions | None = None, report: Report | None = None) -> str:
    """A page that draws a model's graph (path, bytes, ModelProto or session) as it was imported, with the types of all values; loops and ifs are
    boxes that open. It is one file that needs no network.

    report: what `inspect` gave for the model, or else it is made here; the page tells what ends each loop and how it runs. Raises as
    InferenceSession does: only a model that runs can be drawn.
    """
    options = checked_options(sess_options, SessionOptions, "sess_options")
    graph = _rondel.describe_graph(*as_options_ask(model_source(model), options))
    report = inspect(model, options) if report is None else report
    control = {part["name"]: {"bound": part.get("bound", ""), "execution": part["execution"]} for part in report.loops + report.branches}
    title = os.path.basename(model) if isinstance(model, (str, os.PathLike)) else graph["name"]
    return page(str(title), "graph.js", {"title": str(title), "control": control, **graph})
