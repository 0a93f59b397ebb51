"""A fault as text: the model, its feeds, and a test that can be pasted into tests/python."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx.printer

#: What a test sets up for a way: RONDEL_JIT, and lines.
SET_UP = {
    "interpreted": ("0", []), "native": ("2", []), "tiered": ("1", []), "checked": ("quick", ['    monkeypatch.setenv("RONDEL_CHECK", "1")']),
    "exported": ("quick", ["    made = rondel.export(made)"]), "memory": ("quick", ["    # with options.max_memory_bytes"]),
    "trips": ("quick", ["    # with options.max_trips"]), "threads": ("quick", ["    # from two threads at once"]),
    "unoptimised": ("quick", ["    # with options.graph_optimization_level"]),
}  # fmt: skip


def literal(value):
    """A value as Python."""
    if value is None:
        return "None"
    if isinstance(value, list):
        return "[" + ", ".join(literal(v) for v in value) + "]"
    value = np.asarray(value)
    name = value.dtype.name
    dtype = "object" if value.dtype == object else f"ml_dtypes.{name}" if hasattr(ml_dtypes, name) else f"np.{name.replace('bool', 'bool_')}"
    if 0 in value.shape:
        return f"np.zeros({value.shape}, {dtype})"
    listed = repr((value.astype(np.float32) if hasattr(ml_dtypes, name) else value).tolist())
    return f"np.array({listed.replace('nan', 'np.nan').replace('inf', 'np.inf')}, {dtype})"


def graph_text(model):
    """The graph as ONNX text, without the header."""
    text = onnx.printer.to_text(model)
    return text[text.index(">") + 1 :].strip()


def feeds_text(feeds):
    return "{" + ", ".join(f'"{name}": {literal(value)}' for name, value in feeds.items()) + "}"


def test(name, model, feeds, wants, way):
    """A test: each set of feeds in turn, in the interpreter and in the way that is wrong."""
    jit, set_up = SET_UP.get(way, ("quick", []))
    lines = [f"def test_{name}(monkeypatch):", f'    made = model("""{graph_text(model)}""", opset={model.opset_import[0].version})', *set_up]
    lines += [f'    for jit in ("0", "{jit}"):', '        monkeypatch.setenv("RONDEL_JIT", jit)', "        s = session(made)"]
    for given, want in zip(feeds, wants, strict=True):
        if want is None:
            lines += ["        with contextlib.suppress(rondel.CallerError):", f"            s.run(None, {feeds_text(given)})"]
            continue
        lines.append(f"        got = s.run(None, {feeds_text(given)})")
        for k, value in enumerate(want):
            if isinstance(value, list) or value is None:
                lines.append(f"        agree(got[{k}], {literal(value)})")
            else:
                lines.append(f"        same(got[{k}], {literal(value)})")
    return "\n".join(lines) + "\n"


def report(fault, way, model, feeds, wants, seed):
    """All of it. fault: what is wrong; way: where."""
    parts = [f"seed {seed}: {fault}", onnx.printer.to_text(model)]
    parts += [f"feeds {k}: {feeds_text(given)}" for k, given in enumerate(feeds)]
    return "\n".join(parts) + "\n\n" + test(f"seed_{seed}", model, feeds, wants, way)
