"""What a model holds and whether it will run, without running it."""

from typing import NamedTuple

from . import _rondel
from .errors import CallerError
from .options import SessionOptions, checked_options
from .session import Port, model_source


class Report:
    """What a model holds, and whether it will run.

    inputs, outputs: with name, type ('' where the file declares none) and shape.
    opsets: domain to version. op_counts: op to how often it occurs, at any depth.
    loops: a dict each: name, source, depth; states, scans, stacks ("name: type"); bound (what ends it);
    execution (natively as a whole, or step by step and why; '' in a model that will not run).
    branches: the same of each If: name, depth, execution.
    findings: (level, where, message), level being "error", "warning" or "note". runs: no error is among them.
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
    round: int  # of its pipeline, from 1
    changed: bool
    seconds: float
    nodes: int  # of the graph after it, those of every depth
    text: str  # the graph after it, where that was asked for


def trace_passes(model, sess_options=None, after="") -> list[PassRun]:
    """Compiles a model's graph (path, bytes or ModelProto) and says what each pass did, in order.

    after: a pass, by name or as "pipeline/name", whose runs have the graph's text with them; CallerError for one that there
    is not. Other errors as those of InferenceSession.
    """
    if not isinstance(after, str):
        raise CallerError(f"after is {after!r}; expected the name of a pass")
    options = checked_options(sess_options, SessionOptions, "sess_options")
    return [PassRun(*run) for run in _rondel.trace_passes(model_source(model), options, after)]


def inspect(model, sess_options=None) -> Report:
    """Reads a model (path, bytes or ModelProto) and says what is in it, without running it.

    What keeps it from running is a finding; raises CallerError only for what is no model at all.
    """
    return Report(_rondel.inspect(model_source(model), checked_options(sess_options, SessionOptions, "sess_options")))
