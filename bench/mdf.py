"""The time of a step of MDF models, compared with modeci_mdf's own engine; one table.

    python bench/mdf.py [--quick]

The engines take turns in one process. Rondel runs all steps of a model as one loop, modeci_mdf's engine makes one call of
`evaluate` per step. The time of a step is the median over rounds. The values after the steps are compared: exit code 1 if they differ, or if
Rondel is less than 100 times as fast.
"""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import time
from statistics import median

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
MODELS = ROOT / "tests" / "python" / "mdf"
LEAST = 100  # the least allowed ratio of times


def izhikevich(cells=20):
    """Cells of Izhikevich's model that excite and inhibit each other through a synapse node: a cycle of edges through a port with a default."""
    rng = np.random.default_rng(7)
    weights = rng.normal(0, 4, (cells, cells))
    cell = {
        "input_ports": {"synaptic": {"shape": [cells], "default_value": [0.0] * cells}},
        "parameters": {
            "a": {"value": 0.02},
            "b": {"value": 0.2},
            "c": {"value": -65.0},
            "d": {"value": rng.uniform(2, 8, cells).tolist()},
            "drive": {"value": rng.uniform(4, 10, cells).tolist()},
            "spike": {"default_initial_value": [0.0] * cells, "value": "1.0 * (v >= 30)"},
            "v": {
                "default_initial_value": [-65.0] * cells,
                "time_derivative": "0.04 * v * v + 5 * v + 140 - u + drive + synaptic",
                "conditions": [{"id": "reset", "test": "v >= 30", "value": "c"}],
            },
            "u": {
                "default_initial_value": [-13.0] * cells,
                "time_derivative": "a * (b * v - u)",
                "conditions": [{"id": "reset", "test": "spike > 0", "value": "u + d"}],
            },
        },
        "output_ports": {"v": {"value": "v"}, "spike": {"value": "spike"}},
    }
    synapse = {
        "input_ports": {"spike": {"shape": [cells]}},
        "parameters": {
            "W": {"value": weights.tolist()},
            "arriving": {"function": "MatMul", "args": {"A": "W", "B": "spike"}},
            "g": {"default_initial_value": [0.0] * cells, "time_derivative": "arriving - g / 5"},
        },
        "output_ports": {"current": {"value": "g"}},
    }
    edges = {
        "spikes": {"sender": "cells", "sender_port": "spike", "receiver": "synapse", "receiver_port": "spike"},
        "back": {"sender": "synapse", "sender_port": "current", "receiver": "cells", "receiver_port": "synaptic"},
    }
    graph = {"nodes": {"cells": cell, "synapse": synapse}, "edges": edges}
    return json.dumps({"Izhikevich": {"format": "ModECI MDF v0.4", "graphs": {"network": graph}}})


# name: (model, dt, values to compare)
ROWS = {
    "States": (MODELS / "states.json", 0.01, "sine_node.out_port"),
    "IAFs": (MODELS / "iafs.yaml", 0.1, "post.v"),
    "Izhikevich network of 20 cells": (izhikevich, 0.5, "cells.v"),
}


# Measured as in scripts, which call `evaluate` for each step: Rondel's EvaluableGraph and modeci_mdf's.
SCRIPTS = {"States, evaluate() by evaluate()": (MODELS / "states.json", 0.01), "IAFs, evaluate() by evaluate()": (MODELS / "iafs.yaml", 0.1)}


class Engine:
    """modeci_mdf's engine; each run continues from the state of the previous one."""

    def __init__(self, path, dt, name):
        from modeci_mdf.execution_engine import EvaluableGraph
        from modeci_mdf.utils import load_mdf

        self._dt, self._name = dt, name.split(".")
        with contextlib.redirect_stdout(io.StringIO()):
            self._graph = EvaluableGraph(load_mdf(str(path)).graphs[0], verbose=False)
            self._graph.evaluate()

    def run(self, steps):
        with contextlib.redirect_stdout(io.StringIO()):
            for _ in range(steps):
                self._graph.evaluate(time_increment=self._dt)
        node, port = self._name
        return np.asarray(self._graph.enodes[node].evaluable_outputs[port].curr_value)


def measure(path, dt, name, rounds, seconds):
    """(seconds per step of Rondel, of modeci_mdf; largest difference of values after the same steps)."""
    import rondel.mdf

    model, check = rondel.mdf.load(path), 40
    steps = 20_000
    results = model.run(check, dt, record=[name])
    apart = np.max(np.abs(results[name][-1] - Engine(path, dt, name).run(check)))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:  # until the loop is compiled
        model.run(steps, dt, record=[name])
    ours, theirs = [], []
    for _ in range(rounds):
        begin = time.perf_counter()
        model.run(steps, dt, record=[name])
        ours.append((time.perf_counter() - begin) / steps)
        engine = Engine(path, dt, name)
        begin = time.perf_counter()
        engine.run(check)
        theirs.append((time.perf_counter() - begin) / check)
    return median(ours), median(theirs), apart


def measure_scripts(path, dt, rounds):
    """(seconds per call of `evaluate` of Rondel's EvaluableGraph, of modeci_mdf's; largest difference of all ports after the same calls)."""
    from modeci_mdf.execution_engine import EvaluableGraph
    from modeci_mdf.utils import load_mdf

    import rondel.mdf

    def seconds(graph, calls):
        begin = time.perf_counter()
        for _ in range(calls):
            graph.evaluate(time_increment=dt)
        return (time.perf_counter() - begin) / calls

    ours, theirs = [], []
    with contextlib.redirect_stdout(io.StringIO()):
        for _ in range(rounds):
            both = rondel.mdf.EvaluableGraph(path), EvaluableGraph(load_mdf(str(path)).graphs[0], verbose=False)
            for graph in both:
                graph.evaluate()
                seconds(graph, 40)
            apart = max(
                np.max(np.abs(both[0].enodes[node].evaluable_outputs[port].curr_value - found.curr_value))
                for node, known in both[1].enodes.items()
                for port, found in known.evaluable_outputs.items()
            )
            ours.append(seconds(both[0], 20_000))
            theirs.append(seconds(both[1], 40))
    return median(ours), median(theirs), apart


def main(arguments):
    quick = "--quick" in arguments
    failed = False
    print(f"{'model':32} {'Rondel':>10} {'modeci_mdf':>12} {'times as fast':>14}   apart")
    with tempfile.TemporaryDirectory() as folder:
        for title, (source, dt, name) in ROWS.items():
            path = source
            if callable(source):
                path = pathlib.Path(folder) / "model.json"
                path.write_text(source())
            ours, theirs, apart = measure(path, dt, name, 3 if quick else 9, 0.5 if quick else 2)
            failed = failed or theirs < LEAST * ours or not apart < 1e-6
            print(f"{title:32} {ours * 1e9:>7.0f} ns {theirs * 1e6:>9.0f} us {theirs / ours:>14.0f}   {apart:.1g}")
    for title, (path, dt) in SCRIPTS.items():
        ours, theirs, apart = measure_scripts(path, dt, 3 if quick else 9)
        failed = failed or not apart < 1e-6
        print(f"{title:32} {ours * 1e9:>7.0f} ns {theirs * 1e6:>9.0f} us {theirs / ours:>14.0f}   {apart:.1g}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
