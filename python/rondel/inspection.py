"""The contents of a model, and whether it will run, found without running it."""

from typing import NamedTuple

from . import _rondel
from .errors import CallerError
from .options import SessionOptions, checked_options
from .session import Port, model_source


class Report:
    """The contents of a model, and whether it will run.

    inputs, outputs: with name, type ('' if the file declares none) and shape.
    opsets: domain to version. op_counts: op to the number of its nodes, at any depth.
    loops: a dict for each loop: name, source, depth; states, scans, stacks ("name: type"); bound (what ends the loop);
    execution (natively as a whole, or step by step and why; '' in a model that will not run).
    branches: a dict for each If: name, depth, execution.
    findings: (level, where, message); level is "error", "warning" or "note". runs: True if no finding is an error.
    """

    def __init__(self, found):
        self.inputs = [Port(p) for p in found["inputs"]]
        self.outputs = [Port(p) for p in found["outputs"]]
        self.opsets = found["opsets"]
        self.op_counts = found["op_counts"]
        self.loops = found["loops"]
        self.branches = found["branches"]
        self.findings = found["findings"]
        self.runs = found["runs"]


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


def trace_passes(model, sess_options=None, after="") -> list[PassRun]:
    """Compiles a model's graph (path, bytes or ModelProto) and lists what each pass did, in order.

    after: a pass, by name or as "pipeline/name". Its runs have the text of the graph. A pass that does not exist is a
    CallerError; other errors are those of InferenceSession.
    """
    if not isinstance(after, str):
        raise CallerError(f"after is {after!r}; expected the name of a pass")
    options = checked_options(sess_options, SessionOptions, "sess_options")
    return [PassRun(*run) for run in _rondel.trace_passes(model_source(model), options, after)]


def inspect(model, sess_options=None) -> Report:
    """Reads a model (path, bytes or ModelProto) and reports its contents, without running it.

    A reason why the model will not run is a finding. Raises CallerError only if the source is not a model at all.
    """
    return Report(_rondel.inspect(model_source(model), checked_options(sess_options, SessionOptions, "sess_options")))
