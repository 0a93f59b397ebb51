"""The files of compiled models (`rondel compile`): the library, its name and place, its processor, damaged ones, programs in C and C++ that use it, the command."""

import ctypes.util
import os
import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
import pytest
import rondel
from command_line import command
from compiled_cases import BRANCH, F32, NATIVE, ROOT, WORDS, compiled, one_op
from models import agree


def test_a_library_needs_no_llvm_and_no_onnx_and_exports_its_functions_only(tmp_path):
    _, report = compiled(tmp_path, ROOT)
    needed = subprocess.run(["readelf", "-d", report.library], capture_output=True, text=True, check=True).stdout
    libraries = re.findall(r"NEEDED.*\[(.*)\]", needed)
    assert not [lib for lib in libraries if "LLVM" in lib or "rondel" in lib or "python" in lib or "onnx" in lib or "proto" in lib]
    assert b"_ZN4llvm" not in pathlib.Path(report.library).read_bytes()
    symbols = subprocess.run(["nm", "-D", "--defined-only", report.library], capture_output=True, text=True, check=True).stdout
    assert {line.split()[-1] for line in symbols.splitlines()} == {"model_run", "model_free", "model_ports", "rondel_compiled_model"}
    assert report.library_bytes == os.path.getsize(report.library) < 16 << 20


# ---- places, names, compilers ----------------------------------------------------------------------------


def test_a_place_that_cannot_be_written_is_refused_before_the_model_is_read(tmp_path):
    with pytest.raises(rondel.CallerError, match="there is no folder .*missing"):
        rondel.compile_model("no model.onnx", tmp_path / "missing" / "m.so")
    with pytest.raises(rondel.CallerError, match="is a folder"):
        rondel.compile_model("no model.onnx", tmp_path)


def test_errors_of_places_and_shapes_are_plain_caller_errors(tmp_path):
    for wrong in (
        lambda: rondel.compile_model(ROOT, tmp_path / "missing" / "m.so"),
        lambda: rondel.compile_model(ROOT, tmp_path),
        lambda: rondel.compile_model(ROOT, tmp_path / "m.so", shapes={"a": [1, 2]}),
    ):
        with pytest.raises(rondel.CallerError) as raised:
            wrong()
        assert type(raised.value) is rondel.CallerError


def test_a_process_that_ignores_its_children_compiles(tmp_path):
    (tmp_path / "root.onnx").write_bytes(ROOT.SerializeToString())
    code = "import rondel, signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN); rondel.compile_model('root.onnx', 'm.so'); rondel.load_compiled('m.so')"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


@pytest.mark.parametrize("name", ["int", "a-b", "rondel_x", "1x"])
def test_a_name_that_c_does_not_take_is_refused(tmp_path, name):
    with pytest.raises(rondel.CallerError, match="no identifier of C"):
        rondel.compile_model(ROOT, tmp_path / "m.so", name=name)


def test_without_a_c_compiler_one_line_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(rondel.UnsupportedError, match="needs a C compiler to link it.*install"):
        rondel.compile_model(ROOT, tmp_path / "m.so")
    monkeypatch.setenv("CC", "/nothing/cc")
    with pytest.raises(rondel.UnsupportedError, match="CC is '/nothing/cc', which is no program"):
        rondel.compile_model(ROOT, tmp_path / "m.so")


def test_a_failed_link_leaves_what_was_there(tmp_path, monkeypatch):
    old = tmp_path / "model.so"
    old.write_text("old")
    monkeypatch.setenv("CC", "/bin/false")
    with pytest.raises(rondel.UnsupportedError, match="cannot link"):
        rondel.compile_model(ROOT, old)
    assert old.read_text() == "old" and os.listdir(tmp_path) == ["model.so"]


def test_a_file_that_was_replaced_is_loaded_anew(tmp_path):
    x = np.array([-1, 2], F32)
    for op, want in (("Neg", [1, -2]), ("Abs", [1, 2]), ("Neg", [1, -2])):
        loaded, _ = compiled(tmp_path, one_op(op))
        assert loaded.run(None, {"x": x})[0].tolist() == want
        again = rondel.load_compiled(tmp_path / "model.so")
        assert again.run(None, {"x": x})[0].tolist() == want


def test_what_is_no_file_and_the_model_itself_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(rondel.CallerError, match="pipe.*no file"):
        rondel.compile_model(one_op("Neg"), tmp_path / "pipe")
    onnx.save(one_op("Neg"), tmp_path / "model.onnx")
    before = (tmp_path / "model.onnx").read_bytes()
    for places in ({"path": tmp_path / "model.onnx"}, {"path": tmp_path / "model.so", "header": tmp_path / "model.onnx"}):
        with pytest.raises(rondel.CallerError, match="model.onnx is the model itself"):
            rondel.compile_model(tmp_path / "model.onnx", **places)
    assert (tmp_path / "model.onnx").read_bytes() == before


def test_threads_may_compile_to_one_path(tmp_path):
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda op: rondel.compile_model(one_op(op), tmp_path / "model.so"), ["Neg"] * 6))
    assert rondel.load_compiled(tmp_path / "model.so").run(None, {"x": np.ones(1, F32)})[0].tolist() == [-1]


# ---- processors, and files that are no compiled models ---------------------------------------------------


def test_code_for_another_processor_runs_here_or_is_refused_with_a_sentence(tmp_path):
    feeds = NATIVE["root"][1][2]
    want = rondel.InferenceSession(ROOT).run(None, feeds)
    loaded, report = compiled(tmp_path, ROOT, "old", cpu="x86-64-v2")
    assert report.cpu == "x86-64-v2" and "avx" not in report.instruction_sets
    agree(loaded.run(None, feeds), want)
    flags = set(re.search(r"flags\s*:(.*)", pathlib.Path("/proc/cpuinfo").read_text())[1].split())
    if "avx512_fp16" not in flags:
        report = rondel.compile_model(ROOT, tmp_path / "new.so", cpu="sapphirerapids")
        with pytest.raises(rondel.UnsupportedError, match="was compiled for the processor sapphirerapids, and this one lacks .*avx512fp16"):
            rondel.load_compiled(report.library)
    with pytest.raises(rondel.CallerError, match="there is no processor 'pdp11' of 64 bits"):
        rondel.compile_model(ROOT, tmp_path / "m.so", cpu="pdp11")


def test_foreign_and_damaged_files_are_refused_before_the_loader_sees_them(tmp_path):
    _, report = compiled(tmp_path, ROOT)
    whole = pathlib.Path(report.library).read_bytes()
    broken = tmp_path / "broken.so"
    for length in [0, 3, 63, 64, 200, 4096, len(whole) // 2, len(whole) - 1]:
        broken.write_bytes(whole[:length])
        with pytest.raises(rondel.CallerError, match="is cut off|is no compiled model"):
            rondel.load_compiled(broken)
    (tmp_path / "text.so").write_text("not code")
    for path, what in [(tmp_path / "text.so", "no compiled model"), (tmp_path, "is no file"), (tmp_path / "none.so", "there is no such file")]:
        with pytest.raises(rondel.CallerError, match=what):
            rondel.load_compiled(path)
    with pytest.raises(rondel.CallerError, match="no compiled model"):
        rondel.load_compiled(ctypes.util.find_library("m") and "/lib/x86_64-linux-gnu/libm.so.6")
    at = whole.index(b"Rondel\0") + 8
    broken.write_bytes(whole[:at] + b"\x63" + whole[at + 1 :])
    with pytest.raises(rondel.UnsupportedError, match="another version of Rondel"):
        rondel.load_compiled(broken)


# ---- C ---------------------------------------------------------------------------------------------------

PROGRAM = r"""
#include <stdio.h>
#include <string.h>
#include "root.h"

static int fails(const char* what, const rondel_tensor* inputs, size_t count) {
  rondel_results* r = root_run(inputs, count, NULL);
  const int failed = r->status == RONDEL_INVALID && r->count == 0 && strstr(r->error, what) != NULL;
  if (!failed) printf("expected '%s': %d %s\n", what, r->status, r->error);
  root_free(r);
  return failed;
}

int main(void) {
  const float a[] = {2, 9, 100};
  const int64_t shape[] = {3}, square[] = {3, 1}, negative[] = {-1};
  const rondel_tensor good[ROOT_INPUT_COUNT] = {[ROOT_INPUT_A] = {RONDEL_F32, 1, shape, a}};
  const rondel_tensor bad[] = {{RONDEL_F64, 1, shape, a},  {RONDEL_F32, 2, square, a}, {RONDEL_F32, 1, NULL, a}, {RONDEL_F32, 1, shape, NULL},
                               {RONDEL_F32, 1, negative, a}, {99, 1, shape, a}, {RONDEL_F32, 1, shape, (const char*)a + 1}, {RONDEL_STRING, 1, shape, a},
                               {RONDEL_LEFT_OUT, 0, NULL, NULL}, {RONDEL_F32, -2, shape, a}};
  const char* what[] = {"expected f32[n]", "expected f32[n]", "shape is a null pointer", "data is a null pointer", "input 'a'", "its dtype is 99",
                        "not aligned", "expected f32", "input 'a' is missing", "its rank is -2"};
  for (size_t k = 0; k < sizeof bad / sizeof bad[0]; ++k)
    if (!fails(what[k], &bad[k], 1)) return 1;
  if (!fails("0 inputs are given", good, 0) || !fails("null pointer", NULL, 1)) return 1;

  const char* error = NULL;
  const rondel_ports* ports = root_ports(&error);
  if (ports == NULL) return printf("%s\n", error), 1;
  printf("%s %s %s\n", ports->inputs[0].name, ports->inputs[0].type, ports->inputs[0].shape[0]);
  rondel_run_options options = {.max_trips = 2};
  rondel_results* r = root_run(good, ROOT_INPUT_COUNT, &options);
  printf("%d %s\n", r->status == RONDEL_LIMIT, r->error);
  root_free(r);
  r = root_run(good, ROOT_INPUT_COUNT, NULL);
  if (r->status != RONDEL_OK) return printf("%s\n", r->error), 1;
  const rondel_tensor root = r->outputs[ROOT_OUTPUT_R], steps = r->outputs[ROOT_OUTPUT_STEPS];
  const float* roots = root.data;
  printf("%g %g %g after %d trips\n", roots[0], roots[1], roots[2], (int)steps.shape[0]);
  root_free(r);
  return 0;
}
"""


@pytest.mark.parametrize("compiler", ["cc", "clang-14"])
def test_a_c_program_calls_a_compiled_model(tmp_path, compiler):
    rondel.compile_model(ROOT, tmp_path / "root.so")
    (tmp_path / "program.c").write_text(PROGRAM)
    subprocess.run([compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "program.c", "./root.so", "-o", "program"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "program"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [
        "a tensor(float) n",
        "1 node 'r' (Loop), trip 2: the budget of 2 trips is used up; raise the run's max_trips",
        "1.41421 3 10 after 8 trips",
    ]


def test_the_header_is_cxx_too_and_two_models_share_a_program(tmp_path):
    rondel.compile_model(ROOT, tmp_path / "root.so")
    rondel.compile_model(BRANCH, tmp_path / "branch.so")
    (tmp_path / "both.cpp").write_text("""
    #include "root.h"
    #include "branch.h"
    int main() {
      const float x[] = {4};
      const int64_t one[] = {1};
      const bool c = true;
      const rondel_tensor a{RONDEL_F32, 1, one, x}, inputs[] = {a, {RONDEL_BOOL, 0, nullptr, &c}};
      auto *r = root_run(&a, 1, nullptr), *b = branch_run(inputs, BRANCH_INPUT_COUNT, nullptr);
      const bool right = r->status == RONDEL_OK && b->status == RONDEL_OK && *static_cast<const float*>(r->outputs[0].data) == 2 &&
                         *static_cast<const float*>(b->outputs[0].data) > 54;
      root_free(r);
      branch_free(b);
      return right ? 0 : 1;
    }""")
    subprocess.run(["g++", "-Wall", "-Werror", "both.cpp", "./root.so", "./branch.so", "-o", "both"], cwd=tmp_path, check=True)
    subprocess.run([tmp_path / "both"], cwd=tmp_path, check=True)


# ---- the command -----------------------------------------------------------------------------------------


def rondel_command(folder, *arguments):
    return command(*arguments, cwd=folder, capture_output=True, text=True)


def test_the_command_says_what_it_wrote_and_what_is_refused(tmp_path):
    onnx.save(ROOT, tmp_path / "root.onnx")
    onnx.save(WORDS, tmp_path / "words.onnx")
    done = rondel_command(tmp_path, "compile", "root.onnx", "-o", "root.so", "--shape", "a=?", "--cpu", "x86-64-v2", "-i", "a=random:f32[5]")
    assert done.returncode == 0, done.stderr
    assert "wrote root.so" in done.stdout and "wrote root.h" in done.stdout and "x86-64-v2" in done.stdout
    refused = rondel_command(tmp_path, "compile", "words.onnx", "-o", "words.so")
    assert refused.returncode == 3 and "(Where)" in refused.stderr and not (tmp_path / "words.so").exists()
    allowed = rondel_command(tmp_path, "compile", "words.onnx", "-o", "words.so", "--allow-steps")
    assert allowed.returncode == 0 and "(Where)" in allowed.stdout
    for wrong in (["--shape", "a"], ["--shape", "a=x"]):
        assert rondel_command(tmp_path, "compile", "root.onnx", "-o", "root.so", *wrong).returncode == 2
    assert rondel_command(tmp_path, "compile", "root.onnx", "-o", "none/root.so").returncode == 1
