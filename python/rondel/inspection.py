"""What a model holds and whether it will run, without running it."""

from . import _rondel
from .session import Port, model_source


class Report:
    """inputs, outputs, opsets, op_counts, loops, findings [(level, where, message)], runs."""

    def __init__(self, found):
        self.inputs = [Port(p) for p in found["inputs"]]
        self.outputs = [Port(p) for p in found["outputs"]]
        self.opsets = found["opsets"]
        self.op_counts = found["op_counts"]
        self.loops = found["loops"]
        self.findings = found["findings"]
        self.runs = found["runs"]


def inspect(model, sess_options=None) -> Report:
    """Reads a model (path, bytes or ModelProto) and says what is in it."""
    return Report(_rondel.inspect(model_source(model), sess_options or _rondel.SessionOptions()))
