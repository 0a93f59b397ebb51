"""The layers of the code: which folder may include which (tools/check_layers.py)."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
_spec = importlib.util.spec_from_file_location("check_layers", ROOT / "tools" / "check_layers.py")
check_layers = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(check_layers)


def test_every_include_keeps_the_layers():
    assert check_layers.check(ROOT) == []


def test_a_folder_that_no_longer_includes_a_library_is_found(monkeypatch):
    monkeypatch.setitem(check_layers.THIRD_PARTY, "llvm", ["src/codegen", "src/base"])
    assert check_layers.check(ROOT) == ["nothing in src/base includes <llvm>: take it out of THIRD_PARTY"]


def test_no_files_include_each_other_in_a_cycle():
    assert check_layers.check_cycles(ROOT) == []


def test_a_cycle_of_any_length_is_found():
    edges = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert check_layers.cycles(edges) == [["a", "b", "c"], ["d", "e"]]


@pytest.mark.parametrize(
    "file, include, reason",
    [
        ("src/base/text.cpp", '"base/text.h"', None),
        ("src/base/text.cpp", '"ir/graph.h"', "src/base may not include src/ir"),
        ("src/ir/graph.cpp", "<rondel/tensor.h>", None),
        ("src/codegen/jit.cpp", "<llvm/IR/Module.h>", None),
        ("src/codegen/jit.cpp", '"ir/graph.h"', "src/codegen may not include src/ir"),
        ("src/codegen/jit.cpp", '"ops/meaning.h"', "src/codegen may not include src/ops"),
        ("src/runtime/plan.cpp", '"ir/graph.h"', "src/runtime may not include src/ir"),
        ("src/runtime/plan.cpp", "<llvm/IR/Module.h>", "only src/codegen may see <llvm>"),
        ("src/ops/windows/conv.cpp", "<omp.h>", "no folder may see <omp.h>"),
        ("src/passes/fold.cpp", "<re2/re2.h>", "only src/kernels may see <re2>"),
        ("src/passes/fold.cpp", '"kernels/kernel.h"', "src/passes may not include src/kernels"),
        ("src/frontends/mdf/calls.cpp", '"frontends/front_end.h"', None),
        ("src/base/text.cpp", '"frontends/front_end.h"', "src/base may not include src/frontends"),
        ("src/frontends/onnx/import.cpp", "<onnx/checker.h>", None),
        ("src/frontends/onnx/import.cpp", '"session/compile.h"', "src/frontends/onnx may not include src/session"),
        ("src/session/compile.cpp", '"codegen/jit.h"', None),
        ("src/session/compile.cpp", "<onnx/onnx_pb.h>", "only src/formats/onnx, src/frontends/onnx"),
        ("src/elsewhere/new.cpp", '"base/text.h"', "is in no layer"),
        ("src/base/text.cpp", '"text.h"', "includes are written from src/"),
        ("src/base/text.cpp", "<base/text.h>", "our own headers are included with quotes"),
        ("tests/runtime/plan_test.cpp", '"ir/graph.h"', None),
        ("include/rondel/session.h", '"base/text.h"', "a public header"),
        ("include/rondel/session.h", "<fmt/format.h>", "only src, tests, tools may see <fmt>"),
        ("include/rondel/session.h", "<sys/mman.h>", "a public header"),
        ("include/rondel/compiled_c.h", "<stddef.h>", None),
    ],
)
def test_rule(file, include, reason):
    found = check_layers.broken_rule(file, include[0], include[1:-1])
    assert found is None if reason is None else reason in (found or "")
