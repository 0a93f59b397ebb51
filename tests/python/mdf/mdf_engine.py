"""modeci_mdf's own engine as oracle: the values of a model's ports after each evaluation."""

import contextlib
import io

import numpy as np
import pytest


def run(path, steps, dt, record, inputs=()):
    """The values of each name in `record` ("node.port"), of shape [steps + 1, ...]. `inputs`: one dict per evaluation, from port name to value."""
    pytest.importorskip("modeci_mdf", reason="modeci_mdf, the engine to compare with, is not installed")
    from modeci_mdf.execution_engine import EvaluableGraph
    from modeci_mdf.utils import load_mdf

    rows = {name: [] for name in record}
    with contextlib.redirect_stdout(io.StringIO()):  # modeci_mdf prints its progress
        graph = EvaluableGraph(load_mdf(str(path)).graphs[0], verbose=False)
        for k in range(steps + 1):
            graph.evaluate(time_increment=None if k == 0 else dt, initializer=inputs[k] if inputs else None)
            for name in record:
                rows[name].append(np.array(value(graph, name), copy=True))
    return {name: np.array(np.broadcast_arrays(*values)) for name, values in rows.items()}


def value(graph, name):
    """The current value of "node.port" or "node.parameter"; NaN before it has one."""
    node, item = name.split(".", 1)
    found = graph.enodes[node]
    for items in (found.evaluable_outputs, found.evaluable_parameters, found.evaluable_functions):
        if item in items:
            current = items[item].curr_value
            return np.nan if current is None else current
    raise KeyError(name)
