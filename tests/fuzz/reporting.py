"""A fault as text: the model, its feeds, and a test that can be pasted into tests/python."""

from __future__ import annotations

import numpy as np
import onnx.printer


def literal(value):
    """A value as Python."""
    if value is None:
        return "None"
    if isinstance(value, list):
        return "[" + ", ".join(literal(v) for v in value) + "]"
    value = np.asarray(value)
    dtype = "object" if value.dtype == object else "ml_dtypes.bfloat16" if value.dtype.name == "bfloat16" else f"np.{value.dtype.name.replace('bool', 'bool_')}"
    if 0 in value.shape:
        return f"np.zeros({value.shape}, {dtype})"
    listed = repr(value.tolist() if value.dtype.name != "bfloat16" else value.astype(np.float32).tolist())
    return f"np.array({listed.replace('nan', 'np.nan').replace('inf', 'np.inf')}, {dtype})"


def graph_text(model):
    """The graph as ONNX text, without the header."""
    text = onnx.printer.to_text(model)
    return text[text.index(">") + 1 :].strip()


def feeds_text(feeds):
    return "{" + ", ".join(f'"{name}": {literal(value)}' for name, value in feeds.items()) + "}"


def test(name, model, feeds, wants):
    """A test: each set of feeds in turn, in the interpreter and natively."""
    lines = [f"def test_{name}(monkeypatch):", f'    made = model("""{graph_text(model)}""", opset={model.opset_import[0].version})']
    lines += ['    for jit in ("0", "2"):', '        monkeypatch.setenv("RONDEL_JIT", jit)', "        s = session(made)"]
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


def report(fault, model, feeds, wants, seed):
    """All of it."""
    parts = [f"seed {seed}: {fault}", onnx.printer.to_text(model)]
    parts += [f"feeds {k}: {feeds_text(given)}" for k, given in enumerate(feeds)]
    return "\n".join(parts) + "\n\n" + test(f"seed_{seed}", model, feeds, wants)
