"""What a model holds and whether it will run, without running it."""

from . import _rondel
from .options import SessionOptions, checked_options
from .session import Port, model_source


class Report:
    """What a model holds, and whether it will run.

    inputs, outputs: with name, type ('' where the file declares none) and shape.
    opsets: domain to version. op_counts: op to how often it occurs, at any depth.
    loops: a dict each: name, source, depth; states, scans, stacks ("name: type"); bound (what ends it);
    execution (natively as a whole, or step by step and why; '' in a model that will not run).
    findings: (level, where, message), level being "error", "warning" or "note". runs: no error is among them.
    """

    def __init__(self, found):
        self.inputs = [Port(p) for p in found["inputs"]]
        self.outputs = [Port(p) for p in found["outputs"]]
        self.opsets = found["opsets"]
        self.op_counts = found["op_counts"]
        self.loops = found["loops"]
        self.findings = found["findings"]
        self.runs = found["runs"]


def inspect(model, sess_options=None) -> Report:
    """Reads a model (path, bytes or ModelProto) and says what is in it, without running it.

    What keeps it from running is a finding; raises CallerError only for what is no model at all.
    """
    return Report(_rondel.inspect(model_source(model), checked_options(sess_options, SessionOptions, "sess_options")))
