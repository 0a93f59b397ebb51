"""Random models, against modeci_mdf's own engine."""

import json
import random

import mdf_engine
import numpy as np
import pytest

import rondel.mdf

SCALES = {"sin": 0.9, "cos": 0.8, "tanh": 1.1, "arctan": 1.2, "sinh": 0.3}


class Writer:
    """Writes a random model whose values stay small: nodes with states, functions, conditions, and edges between them."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.width = self.rng.choice([None, 1, 3])  # of vectors; None: all values are scalars

    def number(self):
        x = round(self.rng.uniform(-1, 1), 3)
        return x if self.width is None or self.rng.random() < 0.4 else [round(self.rng.uniform(-1, 1), 3) for _ in range(self.width)]

    def expression(self, names, depth=0):
        """An expression of names and small numbers. Bounded functions keep all values small."""
        if depth > 2 or self.rng.random() < 0.3:
            return self.rng.choice(names) if names and self.rng.random() < 0.8 else str(round(self.rng.uniform(-1, 1), 2))
        x, y = self.expression(names, depth + 1), self.expression(names, depth + 1)
        return self.rng.choice([
            f"({x} + {y}) / 2", f"({x} - 0.5 * {y})", f"({x} * numpy.tanh({y}))", f"numpy.sin({x})", f"0.5 * {x}", f"-({x})",
            f"numpy.exp(-({x}) ** 2)", f"numpy.maximum({x}, {y})", f"numpy.where({x} > {y}, {x}, 0.25)", f"numpy.sqrt(numpy.abs({x}))",
        ])  # fmt: skip

    def bounded(self, names):
        return f"numpy.tanh({self.expression(names)})"

    def parameter(self, names, own):
        kind = self.rng.randrange(5)
        if kind == 0:
            return {"value": self.number()}
        if kind == 1:
            return {"value": self.bounded(names)}
        if kind == 2:
            return {"value": f"0.5 * {own} + {self.bounded([*names, own])}", "default_initial_value": self.number()}
        if kind == 3:
            return {"default_initial_value": self.number(), "time_derivative": f"-{own} + {self.bounded([*names, own])}"}
        function = self.rng.choice(list(SCALES))
        return {"function": function, "args": {"variable0": self.bounded(names), "scale": SCALES[function]}}

    def conditions(self, names, own):
        test = f"{own} {self.rng.choice(['<', '>', '<=', '>='])} {self.expression(names)}"
        return [{"id": "c", "test": test, "value": self.rng.choice([0.1, self.bounded([*names, own])])}]

    def node(self, ports):
        known = list(ports)  # names that may be read from the first execution on
        parameters = {}
        for k in range(self.rng.randrange(1, 5)):
            name = f"p{k}"
            p = parameters[name] = self.parameter(known or ["0.5"], name)
            if "function" not in p:
                known.append(name)
                if self.rng.random() < 0.3 and isinstance(p.get("value"), (str, type(None))):
                    p["conditions"] = self.conditions(known, name)
        functions = {}
        if self.rng.random() < 0.6:
            functions["g"] = {"function": "linear", "args": {"variable0": self.bounded([*known, "f"]), "slope": 0.5, "intercept": 0.1}}
            functions["f"] = {"value": self.bounded(known or ["0.5"])}  # g reads f, which is listed after it
        values = [*parameters, *functions]
        outputs = {"y": {"value": self.bounded(values)}, "z": {"value": self.rng.choice(values)}}
        shape = [] if self.width is None else [self.width]
        inputs = {}
        for name, default in ports.items():
            inputs[name] = {"shape": shape, **({"default_value": 0.5} if default else {}), "reduce": self.rng.choice(["overwrite", "add", "multiply"])}
        return {"input_ports": inputs, "parameters": parameters, "functions": functions, "output_ports": outputs}

    def model(self):
        count = self.rng.randrange(1, 5)
        names, nodes, edges = [f"N{k}" for k in range(count)], {}, {}
        for k, name in enumerate(names):
            ports = {f"i{j}": self.rng.random() < 0.2 for j in range(self.rng.randrange(3))}
            nodes[name] = self.node(ports)
            for j, (port, default) in enumerate(ports.items()):
                # A port with a default could have any sender, but modeci_mdf's order is then undefined: no edge is made.
                senders = names[:k]
                if senders and not default:
                    weight = {"parameters": {"weight": self.rng.choice([1, 0.5, 2.0])}} if self.rng.random() < 0.6 else {}
                    edges[f"e{k}{j}"] = {"sender": self.rng.choice(senders), "sender_port": self.rng.choice("yz"), "receiver": name, "receiver_port": port, **weight}
        return {"m": {"format": "ModECI MDF v0.4", "graphs": {"g": {"nodes": nodes, "edges": edges}}}}


@pytest.mark.parametrize("seed", range(24))
def test_a_random_model(tmp_path, seed):
    print("seed", seed)
    path = tmp_path / "model.json"
    path.write_text(json.dumps(Writer(seed).model()))
    results = rondel.mdf.load(path).run(30, 0.1)
    names = [name for name in results if name != "time"]
    expected = mdf_engine.run(path, 30, 0.1, names)
    for name in names:
        got, want = np.broadcast_arrays(results[name], expected[name])
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12, err_msg=f"{name} of {path.read_text()}")
