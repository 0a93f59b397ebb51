"""The time of a step of MDF models, compared with modeci_mdf's own engine; one table.

    ./dev bench mdf                  every row
    ./dev bench mdf --only States    those whose names contain "States" (may be given again)
    ./dev bench mdf --quick          three rounds instead of nine

The engines take turns in one process. Rondel runs all steps of a model as one loop, modeci_mdf's engine makes one call of `evaluate` per
step; "by evaluate()": both are called for each step, as scripts do. The time of a step is the median over rounds. Exit code: 0; 1 if the
values differ after the same steps, or if Rondel is less than 100 times as fast.
"""

import contextlib
import io
import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
from commands import ROOT, Parser, Table, machine, require
from harness import measure_in_turns, warm_up

MODELS = ROOT / "tests" / "python" / "mdf"
LEAST = 100  #: the least allowed ratio of times
APART = 1e-6  #: the largest allowed difference of values
CHECKED = 40  #: steps after which values are compared


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


#: name: (model, dt, value to compare)
RUNS = {
    "States": (MODELS / "states.json", 0.01, "sine_node.out_port"),
    "IAFs": (MODELS / "iafs.yaml", 0.1, "post.v"),
    "Izhikevich network of 20 cells": (izhikevich, 0.5, "cells.v"),
}

#: name: (model, dt)
SCRIPTS = {"States, by evaluate()": (MODELS / "states.json", 0.01), "IAFs, by evaluate()": (MODELS / "iafs.yaml", 0.1)}


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


def loaded(source, folder):
    """The path of a model; one that a function makes is written into the folder."""
    if not callable(source):
        return source
    path = Path(folder) / "model.json"
    path.write_text(source())
    return path


def compare_runs(path, dt, name, rounds):
    """(seconds of a step in Rondel, in modeci_mdf; largest difference of values after the same steps)."""
    import rondel.mdf

    model, engine = rondel.mdf.load(path), Engine(path, dt, name)
    wanted = engine.run(CHECKED)
    steps = {"rondel": 20_000, "modeci_mdf": CHECKED}
    calls = {"rondel": partial(model.run, steps["rondel"], dt, record=[name]), "modeci_mdf": partial(engine.run, steps["modeci_mdf"])}
    seconds = seconds_per_step(calls, steps, rounds)
    got = model.run(CHECKED, dt, record=[name])[name][-1]  # by the code that was timed
    return *seconds, np.max(np.abs(got - wanted))


def compare_scripts(path, dt, rounds):
    """(seconds of a call of `evaluate` of Rondel's EvaluableGraph, of modeci_mdf's; largest difference of all ports after the same calls)."""
    from modeci_mdf.execution_engine import EvaluableGraph
    from modeci_mdf.utils import load_mdf

    import rondel.mdf

    def evaluate(graph, times):
        for _ in range(times):
            graph.evaluate(time_increment=dt)

    with contextlib.redirect_stdout(io.StringIO()):
        graphs = {"rondel": rondel.mdf.EvaluableGraph(path), "modeci_mdf": EvaluableGraph(load_mdf(str(path)).graphs[0], verbose=False)}
        for graph in graphs.values():
            graph.evaluate()
            evaluate(graph, CHECKED)
        apart = max(
            np.max(np.abs(graphs["rondel"].enodes[node].evaluable_outputs[port].curr_value - found.curr_value))
            for node, known in graphs["modeci_mdf"].enodes.items()
            for port, found in known.evaluable_outputs.items()
        )
        steps = {"rondel": 1000, "modeci_mdf": 10}
        return *seconds_per_step({who: partial(evaluate, graph, steps[who]) for who, graph in graphs.items()}, steps, rounds), apart


def seconds_per_step(calls, steps, rounds):
    for call in calls.values():
        warm_up(call)
    return [median(found) / steps[who] for who, found in measure_in_turns(calls, rounds).items()]


def main(arguments=None):
    require("rondel", "modeci_mdf")
    parser = Parser("mdf", __doc__, [*RUNS, *SCRIPTS])
    parser.add_argument("--quick", action="store_true", help="three rounds")
    options = parser.parse_args(arguments)
    rounds = 3 if options.quick else 9
    table = Table("model", [*RUNS, *SCRIPTS], "Rondel, ns", "modeci_mdf, us", "times as fast", "apart")
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        for title in options.rows:
            if title in RUNS:
                source, dt, name = RUNS[title]
                ours, theirs, apart = compare_runs(loaded(source, folder), dt, name, rounds)
            else:
                ours, theirs, apart = compare_scripts(*SCRIPTS[title], rounds)
            table.add(title, f"{1e9 * ours:,.0f}", f"{1e6 * theirs:,.0f}", f"{theirs / ours:,.0f}", f"{apart:.1g}")
            if theirs < LEAST * ours:
                faults.append(f"{title}: {theirs / ours:.0f} times as fast; expected {LEAST}")
            if not apart < APART:
                faults.append(f"{title}: the values differ by {apart:.1g}")
    print(machine())
    for text in faults:
        print(text, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
