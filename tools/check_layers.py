#!/usr/bin/env python3
"""Who may include whom: the layers of the house, kept apart.

Each folder of src/ lists the folders it may include; each borrowed library lists the one place that
may see it. Run from anywhere: prints every include that breaks a rule, exit code 1 when there is one.
"""

import re
import sys
from pathlib import Path

# folder -> folders of src/ it may include beside its own. A folder that is not here may include none.
LAYERS = {
    "base": set(),
    "ir": {"base"},
    "scalar": {"base"},
    "kernels": {"base"},
    "ops": {"base", "ir", "scalar", "kernels"},
    "formats/onnx": {"base", "ir"},
    "frontends/onnx": {"base", "ir", "scalar", "kernels", "ops", "formats/onnx"},
    "frontends/network": {"base", "ir", "scalar", "kernels", "ops"},
    "frontends/deepx": {"base", "ir", "scalar", "kernels", "ops"},
    "frontends/mdf": {"base", "ir", "scalar", "kernels", "ops"},
    "exporters/onnx": {"base", "ir", "scalar", "kernels", "ops", "formats/onnx"},
    "passes": {"base", "ir", "scalar", "kernels", "ops"},
    "codegen": {"base", "scalar"},
    "runtime": {"base", "scalar", "kernels"},
}
LAYERS["session"] = set(LAYERS)

# first part of an include path -> the folders of the repository that may include it.
BORROWED = {
    "llvm": ["src/codegen"],
    "llvm-c": ["src/codegen"],
    "onnx": ["src/formats/onnx", "src/frontends/onnx", "src/exporters/onnx", "tests/onnx", "tests/exporters"],
    "google": ["src/formats/onnx", "src/frontends/onnx", "src/exporters/onnx", "tests/onnx", "tests/exporters"],
    "oneapi": ["src/kernels"],
    "dnnl.hpp": ["src/kernels"],
    "dnnl.h": ["src/kernels"],
    "nanobind": ["python"],
    "Python.h": ["python"],
    "gtest": ["tests"],
    "gmock": ["tests"],
    "benchmark": ["bench"],
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def folder_of(path):
    """The layer of a path below src/, or None for one that is in no layer."""
    return next((f for f in sorted(LAYERS, key=len, reverse=True) if path.startswith(f + "/")), None)


def broken_rule(file, quote, target):
    """What is wrong with `file` (relative to the repository) including `target`, or None."""
    head = target.split("/")[0]
    if head in BORROWED and quote == "<":
        if any(file.startswith(place + "/") for place in BORROWED[head]):
            return None
        return f"only {', '.join(BORROWED[head])} may see <{head}>"
    if head == "rondel":
        return None if quote == "<" else "public headers are included with angle brackets"
    if file.startswith("include/"):
        return None if quote == "<" else "a public header includes <rondel/...> and the standard only"
    if not file.startswith("src/"):
        return None
    theirs = folder_of(target)
    if quote == "<":
        return None if theirs is None else "our own headers are included with quotes"
    ours = folder_of(file.removeprefix("src/"))
    if ours is None:
        return f"{file} is in no layer: name its folder in tools/check_layers.py"
    if theirs is None:
        return f"includes are written from src/, and {target} is in no layer"
    if theirs == ours or theirs in LAYERS[ours]:
        return None
    return f"src/{ours} may not include src/{theirs}"


def check(root):
    """Every broken include below `root`, as 'file:line: reason'."""
    faults = []
    for top in ("include", "src", "python", "tests", "bench", "examples"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in (".h", ".cpp"):
                continue
            file, text = path.relative_to(root).as_posix(), path.read_text()
            for match in INCLUDE.finditer(text):
                if reason := broken_rule(file, match[1], match[2]):
                    line = text.count("\n", 0, match.start(2)) + 1
                    faults.append(f"{file}:{line}: #include {match[1]}{match[2]}: {reason}")
    return faults


if __name__ == "__main__":
    faults = check(Path(__file__).resolve().parent.parent)
    print("\n".join(faults) or "the layers are kept")
    sys.exit(bool(faults))
