#!/usr/bin/env python3
"""Checks the layers: which folder may include which.

A folder of src/ may include those that its target links to (src/CMakeLists.txt); each third-party library lists the folders that may
include it, and that do. Includes have no cycles, nor do imports of Python modules; a header and its source count as one
file. Run from anywhere: prints every include that breaks a rule; exit code 1 if there is one.
"""

import argparse
import ast
import fnmatch
import functools
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@functools.cache
def layers():
    """Folder of src/ -> the folders that it may include besides its own: those that its target links to in src/CMakeLists.txt.
    A folder that is not listed is in no layer.
    """
    calls = re.findall(r"^rondel_folder\((\w+) ([\w/]+)([^)]*)\)", (ROOT / "src" / "CMakeLists.txt").read_text(), re.MULTILINE)
    folders = {name: folder for name, folder, _ in calls}
    linked = {folder: re.search(r"\bLINKS((?:\s+[a-z_]+\b)*)", more) for _, folder, more in calls}
    found = {folder: {folders[name] for name in match[1].split()} if match else set() for folder, match in linked.items()}
    for folder, theirs in found.items():
        if any(f.startswith("frontends/") for f in {folder, *theirs}):
            theirs.add("frontends")
    return found | {"frontends": {"base", "ir"}, "linked": {"base", "compile", "session"}}  # these two have no target of their own


# First component of the include paths of a third-party library -> the folders that include it; no other may.
THIRD_PARTY = {
    "fmt": ["src", "tests", "tools"],
    "llvm": ["src/codegen"],
    "onnx": ["src/formats/onnx", "src/frontends/onnx", "src/exporters/onnx", "tests/onnx", "tests/exporters"],
    "google": ["src/formats/onnx"],
    "nlohmann": ["src/frontends/mdf"],
    "yaml-cpp": ["src/frontends/mdf"],
    "re2": ["src/kernels"],
    "spng.h": ["src/kernels"],
    "turbojpeg.h": ["src/kernels"],
    "webp": ["src/kernels"],
    "omp.h": [],  # threads are those of base/thread_pool.h
    "nanobind": ["python"],
    "Python.h": ["python"],
    "gtest": ["tests"],
    "gmock": ["tests"],
}

# Known cycles, each as its files or a pattern for them. A new cycle is a fault; so is a listed cycle that no longer exists.
CYCLES = [
    ["include/rondel/network", "include/rondel/network/builder"],
    ["src/codegen/compiler", "src/codegen/jit"],
    ["src/frontends/network/data", "src/frontends/network/rule"],
    ["src/frontends/onnx/check", "src/frontends/onnx/import", "src/frontends/onnx/importer", "src/frontends/onnx/rules",
     "src/frontends/onnx/survey", "src/frontends/onnx/user_ops"],
    ["src/ir/*"],
    ["src/lowering/extract", "src/lowering/group"],
    ["src/scalar/op_facts", "src/scalar/program"],
    ["src/compile/late_expansion", "src/compile/loop_builder", "src/compile/plan_builder"],
]

STANDARD = re.compile(r"\w+|std\w+\.h")  #: headers of C++, and of C where a header is for C, too
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def folder_of(path):
    """The layer of a path below src/, or None if the path is in no layer."""
    return next((f for f in sorted(layers(), key=len, reverse=True) if path.startswith(f + "/")), None)


def broken_rule(file, quote, target):
    """The rule that an include of `target` in `file` (relative to the repository) breaks, or None."""
    head = target.split("/")[0]
    if head in THIRD_PARTY and quote == "<":
        if any(file.startswith(place + "/") for place in THIRD_PARTY[head]):
            return None
        return f"{'only ' + ', '.join(THIRD_PARTY[head]) if THIRD_PARTY[head] else 'no folder'} may see <{head}>"
    if head == "rondel":
        return None if quote == "<" else "public headers are included with angle brackets"
    if file.startswith("include/"):
        return None if quote == "<" and STANDARD.fullmatch(target) else "a public header includes <rondel/...> and the standard only"
    if not file.startswith("src/"):
        return None
    theirs = folder_of(target)
    if quote == "<":
        return None if theirs is None else "our own headers are included with quotes"
    ours = folder_of(file.removeprefix("src/"))
    if ours is None:
        return f"{file} is in no layer: its folder has no target in src/CMakeLists.txt"
    if theirs is None:
        return f"includes are written from src/, and {target} is in no layer"
    if theirs == ours or theirs in layers()[ours]:
        return None
    return f"src/{ours} may not include src/{theirs}"


def cpp_files(root, *tops):
    """(path in the repository, text) of each C++ file in these folders."""
    for top in tops:
        for path in sorted((root / top).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                yield path.relative_to(root), path.read_text()


def check(root):
    """Every broken include below `root`, as 'file:line: reason'; every folder that may include a library and does not."""
    faults, unused = [], {(library, place) for library, places in THIRD_PARTY.items() for place in places}
    for path, text in cpp_files(root, "include", "src", "python", "tests", "bench", "examples", "tools"):
        file = path.as_posix()
        for match in INCLUDE.finditer(text):
            if reason := broken_rule(file, match[1], match[2]):
                line = text.count("\n", 0, match.start(2)) + 1
                faults.append(f"{file}:{line}: #include {match[1]}{match[2]}: {reason}")
            unused -= {(library, place) for library, place in unused if match[2].split("/")[0] == library and file.startswith(place + "/")}
    return faults + [f"nothing in {place} includes <{library}>: take it out of THIRD_PARTY" for library, place in sorted(unused)]


def includes(root):
    """The files that each C++ file includes, without suffixes, so that a header and its source are one."""
    found = {}
    for path, text in cpp_files(root, "include", "src", "python/bindings"):
        file = path.with_suffix("").as_posix()
        for quote, target in INCLUDE.findall(text):
            places = (Path("src") / target, path.parent / target) if quote == '"' else (Path("include") / target,)
            found.setdefault(file, set()).update(place.with_suffix("").as_posix() for place in places if (root / place).exists())
    return found


def imports(root):
    """The modules of the Python package that each of its modules imports, anywhere in the file."""
    found = {}
    package = root / "python"
    for path in sorted((package / "rondel").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ImportFrom) or node.level == 0:
                continue
            folder = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            names = [folder / alias.name for alias in node.names]
            modules = [n for n in names if n.with_suffix(".py").exists()]
            for module in modules or ([folder] if node.module else []):
                for place in (module.with_suffix(".py"), module / "__init__.py"):
                    if place.exists():
                        found.setdefault(path.relative_to(root).as_posix(), set()).add(place.relative_to(root).as_posix())
    return found


def cycles(edges):
    """The strongly connected groups of more than one file, each sorted."""
    reached = {}
    for start in edges:
        seen, waiting = set(), [start]
        while waiting:
            for target in edges.get(waiting.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        reached[start] = seen - {start}
    groups = {tuple(sorted({a} | {b for b in seen if a in reached.get(b, ())})) for a, seen in reached.items()}
    return sorted(list(g) for g in groups if len(g) > 1)


def check_cycles(root):
    """Every cycle that is not listed, and every listed cycle that no longer exists."""
    found = cycles(includes(root)) + cycles(imports(root))

    def is_known(cycle, known):
        return all(any(fnmatch.fnmatch(file, pattern) for pattern in known) for file in cycle)

    new = [c for c in found if not any(is_known(c, known) for known in CYCLES)]
    gone = [known for known in CYCLES if not any(is_known(c, known) for c in found)]
    return [f"a cycle of includes or imports: {', '.join(c)}" for c in new] + [
        f"no cycle any more, take it out of CYCLES: {', '.join(known)}" for known in gone
    ]


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    faults = check(ROOT) + check_cycles(ROOT)
    print("\n".join(faults) or "the layers are kept")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
