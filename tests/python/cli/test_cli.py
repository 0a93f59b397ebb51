"""The command line: what it prints, what it writes, and its exit codes."""

import pathlib
import shlex
import subprocess
import sys

import numpy as np
import onnx
import pytest
from command_line import files, rondel, saved  # noqa: F401
from models import f32, model

ROOT = """
main (float[n] x, int64 most) => (float[n] y, float[] steps) {
  [root] y, steps = Loop (most, , x) <
    body: graph = body (int64 i, bool go, float[n] s) => (bool on, float[n] t, float[] m) {
      on = Identity (go)  t = Mul (s, s)  m = ReduceMax <keepdims: int = 0> (t)
    }
  >
}"""


# ---- inspect --------------------------------------------------------------------------------------------


def test_inspect_says_how_each_loop_runs(rondel):
    code, out, _ = rondel("inspect", saved(ROOT))
    assert code == 0
    for line in (
        "x: tensor(float)[n]",
        "ai.onnx 21",
        "Loop           1",
        "loop node 'root' (Loop) (depth 0), ended by a trip count from data",
        "  state  s: f32[n]",
        "  stack  m: f32[]",
        "  runs   natively, as a whole",
    ):
        assert line in out, out


def test_inspect_says_how_each_if_runs(rondel):
    text = """
    main (bool c, float[n] x) => (float[n] y) {
      [choice] y = If (c) <then_branch = a () => (float[n] p) { p = Add (x, x) }, else_branch = b () => (float[n] q) { q = Neg (x) }>
    }"""
    code, out, _ = rondel("inspect", saved(text))
    assert code == 0
    assert "if node 'choice' (If) (depth 0)\n  runs   natively, as a whole" in out, out


def test_inspect_with_inputs_says_how_loops_ran_for_them(rondel):
    text = """
    main (float[n] x, float[m] z, int64 most) => (y) {
      [root] y = Loop (most, , x) <body = body (int64 i, bool go, s) => (bool on, t) { on = Identity (go)  t = Add (s, z) }>
    }"""
    model = saved(text)
    code, out, _ = rondel("inspect", model, "-i", "x=random:f32[3]", "-i", "z=[1, 2, 3]", "-i", "most=4")
    assert code == 0 and "ended by a trip count from data\n  state  s: f32[?]\n  runs   natively, as a whole\n" in out, out
    code, out, _ = rondel("inspect", model, "-i", "x=[1]", "-i", "z=random:f32[3]", "-i", "most=4")
    assert code == 0 and "runs   natively, as a whole\n" in out, out
    code, out, _ = rondel("inspect", saved(text.replace("t = Add (s, z)", "u = Cast <to = 8> (i)  m = Cast <to = 1> (u)  v = Add (s, z)  t = Add (v, m)")), "-i", "x=[1]", "-i", "z=[1, 2, 3]", "-i", "most=4")
    assert code == 0 and "runs   step by step: node 'u' (Cast) makes text; strings run step by step" in out, out


@pytest.mark.parametrize(
    ("what", "message"),
    [("9" * 20, f"{'9' * 20} has more than 64 bits"), ('["a"]', "this is text, for an input of f32"), ("[1, [2]]", "these are lists of different lengths"), ("[null]", "these are not all numbers")],
)
def test_what_is_wrong_about_numbers_is_said(rondel, what, message):
    code, _, err = rondel("run", saved(ROOT), "-i", f"x={what}", "-i", "most=4")
    assert (code, err) == (2, f"rondel: -i x={what}: {message}; expected a file, a number or lists of numbers\n")


@pytest.mark.parametrize("what", ["[1, 2", "[1, [2]]", "1.5.2", "[true, 300e999x]"])
def test_numbers_that_cannot_be_read_are_a_wrong_command_line(rondel, what):
    code, _, err = rondel("run", saved(ROOT), "-i", f"x={what}", "-i", "most=4")
    assert code == 2 and f"-i x={what}: " in err, err


@pytest.mark.parametrize("path", ["./missing.npy", "1.npy", "-.pb"])
def test_a_file_that_is_missing_is_no_number(rondel, path):
    code, out, err = rondel("run", saved(ROOT), "-i", f"x={path}", "-i", "most=4")
    assert (code, out, err) == (1, "", f"rondel: cannot read {path}: No such file or directory\n")


def test_a_file_that_numpy_did_not_write_says_so(rondel):
    pathlib.Path("text.npy").write_text("1, 2, 3")
    code, out, err = rondel("run", saved(ROOT), "-i", "x=text.npy", "-i", "most=4")
    assert (code, out, err) == (1, "", "rondel: cannot read text.npy: it is no .npy file: numpy.save did not write it\n")


def test_the_name_of_an_input_may_hold_an_equals_sign(rondel):
    source = model("main (float[n] x, float[n] b) => (float[n] y) { y = Sub (x, b) }")
    source.graph.input[0].name = source.graph.node[0].input[0] = "a=b"
    source.graph.input[1].name = source.graph.node[0].input[1] = "a"
    onnx.save(source, "model.onnx")
    code, out, err = rondel("run", "model.onnx", "-i", "a=b=5", "-i", "a=2")
    assert code == 0 and "float32[1]  3" in out, err


def test_names_that_would_control_the_terminal_are_escaped(rondel):
    source = model("main (float[n] x) => (float[n] y) { y = Neg (x) }")
    source.graph.output[0].name = source.graph.node[0].output[0] = "y\n\x1b[31mred"
    source.graph.input[0].name = source.graph.node[0].input[0] = "\u5165"
    onnx.save(source, "model.onnx")
    code, out, err = rondel("run", "model.onnx", "-i", "\u5165=1")
    assert code == 0 and r"y\n\x1b[31mred" in out and "\x1b" not in out, err
    code, out, err = rondel("inspect", "model.onnx")
    assert code == 0 and r"y\n\x1b[31mred: tensor(float)[n]" in out and "\x1b" not in out, err


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("x=random", "-i x=random: expected a file that ends in .npy, .npz or .pb, values such as 1,2,3, or random:f32[1]"),
        ("s=a,b", '-i s=a,b: expected a file that ends in .npy, .npz or .pb, values such as ["a", "b"], or random:str[1]'),
        ("d=[1]", "-i d=[1]: input 'd' is given twice"),
        ("all.npz", "-i all.npz: input 'd' is given twice"),
    ],
)
def test_inputs_that_say_nothing_or_too_much_are_a_wrong_command_line(rondel, given, words):
    np.savez("all.npz", d=f32(1))
    text = "main (float[n] x, string[n] s, float[n] d) => (float[n] y) <float[1] d = {0}> { y = Add (x, d) }"
    code, _, err = rondel("run", saved(text), "-i", "d=2", "-i", given)
    assert code == 2 and words in err, err


def test_an_input_that_has_a_default_gets_its_dtype(rondel):
    text = "main (float[n] x, float[1] d) => (float[n] y) <float[1] d = {0}> { y = Add (x, d) }"
    code, out, err = rondel("run", saved(text), "-i", "x=1", "-i", "d=2")
    assert code == 0 and "float32[1]  3" in out, err


def test_an_archive_that_lacks_an_input_says_what_it_has(rondel):
    np.savez("one.npz", f32(1, 2))
    np.savez("two.npz", a=f32(1, 2), b=f32(3, 4))
    single = saved("main (float[n] x) => (float[n] y) { y = Neg (x) }")
    code, out, err = rondel("run", single, "-i", "x=one.npz")
    assert code == 0 and "float32[2]" in out, err
    code, _, err = rondel("run", single, "-i", "x=two.npz")
    assert code == 1 and "two.npz has no 'x'; it has 'a', 'b'" in err, err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "m.onnx", "--sed", "1"), "rondel run: error: unrecognized arguments: --sed 1; did you mean --seed?"),
        (("run", "m.onnx", "x=1"), "rondel run: error: unrecognized arguments: x=1; did you mean -i x=1?"),
        (("deepx", "a", "b"), "rondel deepx: error: unrecognized arguments: b\n"),
        (("inspect", "m.onnx", "--compiled"), "rondel: --compiled: expected --ir beside it"),
        (("inspect", "m.onnx", "--ir", "--html", "g.html"), "rondel: --ir and --html: expected one of them"),
        (("inspect", "m.onnx", "--schedule", "-i", "x=1"), "rondel: --schedule: expected no --input beside it"),
        (("compile", "m.onnx", "-o", "m.so", "--shape", "x=\u00b2"), "--shape x=\u00b2: the extent '\u00b2' is no number below 2**63 and no ?"),
        (("compile", "m.onnx", "-o", "m.so", "--shape", "x=1", "x=2"), "--shape x=2: the shape of 'x' is given twice"),
        (("compile", "m.onnx", "-o", "m.so", "--shape", "x=4,,2"), "--shape x=4,,2: the extent '' is no number below 2**63 and no ?"),
        (("compile", "m.onnx", "-o", "m.so", "--shape", "x=]4,2["), "--shape x=]4,2[: the extent ']4' is no number"),
        (("run", "m.onnx", "--repeat", "\u00b2"), "argument --repeat: '\u00b2' is not a number of 1 or more, below 2**63"),
        (("bench", "m.onnx", "--extent", "n=" + "9" * 5000), "is not NAME=N or N, where N is 0 or more"),
    ],
)
def test_arguments_that_a_command_does_not_know(rondel, arguments, words):
    code, _, err = rondel(*arguments)
    assert code == 2 and words in err, err


@pytest.mark.parametrize("extent", ["9" * 5000, "9223372036854775808", "\u0663"])
def test_an_extent_of_random_numbers_that_is_none(rondel, extent):
    code, _, err = rondel("run", saved(ROOT), "-i", f"x=random:f32[{extent}]")
    assert code == 2 and "expected a type such as f32[2,3] or i64[]" in err and len(err) < 300, err


def test_a_budget_is_called_as_the_command_line_calls_it(rondel):
    code, _, err = rondel("run", saved(ROOT), "-i", "x=2", "-i", "most=4", "--max-trips", "2")
    assert code == 4 and err.endswith("; here it is --max-trips\n"), err


def test_a_program_that_is_missing_is_named(rondel):
    code, _, err = rondel("deepx", "none.deepx")
    assert code == 1 and "none.deepx: the program cannot be read: No such file" in err, err


def test_the_package_is_the_command_too(tmp_path):
    done = subprocess.run([sys.executable, "-m", "rondel", "--version"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("rondel "), done.stderr


def test_inspect_lists_the_passes_as_they_ran(rondel):
    text = "main (float[2] x) => (float[2] y) { a = Identity (x)  p = Mul (a, x)  y = Add (p, a) }"
    code, out, _ = rondel("inspect", saved(text), "--passes")
    assert code == 0
    rows = [line.split() for line in out.splitlines()]
    assert rows[0] == ["pipeline", "round", "pass", "changed", "nodes", "ms"]
    assert ["canonicalize", "1", "expand_composites", "yes", "2"] in [row[:-1] for row in rows]
    assert ["canonicalize", "1", "remove_dead", "2"] in [row[:-1] for row in rows]
    assert ["optimize", "1", "fuse_multiply_add", "yes", "2"] in [row[:-1] for row in rows]
    assert ["optimize", "1", "remove_dead", "yes", "1"] in [row[:-1] for row in rows]
    assert all(float(row[-1]) >= 0 for row in rows[2:])


def test_inspect_prints_the_graph_after_a_pass(rondel):
    text = "main (float[2] x) => (float[2] y) { a = Identity (x)  p = Mul (a, x)  y = Add (p, a) }"
    model = saved(text)
    code, out, _ = rondel("inspect", model, "--after", "expand_composites")
    assert code == 0
    assert out.startswith("// after canonicalize/expand_composites, round 1: changed\ngraph ")
    assert "add(%p, %x)" in out and "identity" not in out and "fma" not in out
    code, out, _ = rondel("inspect", model, "--after", "optimize/remove_dead")
    assert code == 0 and out.count("graph ") == 1 and "%y: f32[2] = fma(%x, %x, %x)" in out and "mul(" not in out
    code, out, _ = rondel("inspect", model, "--after", "predictive_commoning")
    assert code == 0 and out.startswith("// after optimize/predictive_commoning, round 1: nothing changed\ngraph ")
    code, out, err = rondel("inspect", model, "--after", "nonsense")
    assert code == 1 and not out
    assert "there is no pass 'nonsense'; the passes are canonicalize/expand_composites, " in err


def test_inspect_says_why_a_loop_runs_step_by_step(rondel):
    text = """
    main (float[n] x, int64 most) => (float[k] y) {
      [grow] y = Loop (most, , x) <
        body: graph = body (int64 i, bool go, float[a] s) => (bool on, float[b] t) {
          on = Identity (go)  u = Cast <to: int = 8> (s)  m = Cast <to: int = 1> (u)  t = Add (s, m)
        }
      >
    }"""
    code, out, _ = rondel("inspect", saved(text))
    assert code == 0
    assert "runs   step by step, for shapes as declared: node 'u' (Cast) makes text; " in out, out


def test_inspect_of_a_loop_whose_state_keeps_its_shape_where_extents_agree(rondel):
    text = """
    main (float[t, b, 4] x, float[c, 4] h) => (float[c, 4] last) {
      [cell] last = Scan <
        num_scan_inputs = 1, body: graph = body (float[c, 4] s, float[b, 4] now) => (float[c, 4] next) { next = Add (s, now) }
      > (h, x)
    }"""
    code, out, _ = rondel("inspect", saved(text))
    assert code == 0 and "runs   natively, as a whole, where extents that are not declared agree" in out, out


def test_inspect_of_a_loop_that_is_never_run(rondel):
    text = """
    main (float[n] x, int64 most) => (float[n] y) {
      y = Neg (x)
      z = Loop (most, , x) <
        body: graph = body (int64 i, bool go, float[n] s) => (bool on, float[n] t) { on = Identity (go)  t = Mul (s, s) }
      >
    }"""
    code, out, _ = rondel("inspect", saved(text))
    assert code == 0 and "runs   not at all" in out, out


def test_inspect_of_what_will_not_run_prints_all_that_is_known(rondel):
    text = ROOT.replace("t = Mul (s, s)", "t = Frobnicate (s)")
    code, out, err = rondel("inspect", saved(text))
    assert code == 3
    for line in (
        "x: tensor(float)[n]",
        "most: tensor(int64)[]",
        "steps: tensor(float)",
        "ai.onnx 21",
        "Frobnicate      1",
        "loop node 'root' (Loop) (depth 0), ended by a trip count from data",
        "  state  s: f32[n]",
        "  stack  m: f32[...]",
    ):
        assert line in out, out
    assert err.startswith("error: node 't' (Frobnicate): op Frobnicate of ai.onnx, version 21, is not supported"), err


def test_inspect_of_a_scan_that_will_not_run(rondel):
    text = """
    main (float[2] a, float[t, 2] xs) => (float[2] b, float[t, 2] ys) {
      b, ys = Scan <num_scan_inputs: int = 1, body: graph = body (float[2] s, float[2] x) => (float[2] r, float[2] y) {
        r = Add (s, x)  y = Frobnicate (r)
      }> (a, xs)
    }"""
    code, out, err = rondel("inspect", saved(text))
    assert code == 3 and "Frobnicate" in err
    for line in ("(Scan) (depth 0), ended by the extent of its scans", "state  s: f32[2]", "scan   x: f32[2]", "stack  y: f32[2]"):
        assert line in out, out


def test_inspect_of_what_is_wrong_names_the_fault_once(rondel):
    made = model(ROOT)
    made.opset_import[0].version = 999
    onnx.save(made, "new.onnx")
    code, out, err = rondel("inspect", "new.onnx")
    assert code == 3 and "ai.onnx 999" in out and "x: tensor(float)[n]" in out
    assert err.count("\n") == 1 and "999" in err and "newest" in err
    code, out, err = rondel("inspect", saved("main (float[2] x) => (float[3] y) { [odd] y = MatMul (x, ghost) }"))
    assert code == 3 and "MatMul" in out and "ghost" in err


def test_inspect_of_what_is_no_model(rondel, tmp_path):
    (tmp_path / "noise.onnx").write_bytes(b"hello, world")
    for name in ("noise.onnx", "nowhere.onnx", tmp_path):
        for command in ("inspect", "check"):
            code, out, err = rondel(command, name)
            assert code == 1 and out == "" and err.startswith("rondel: ") and err.count("\n") == 1


# ---- run ------------------------------------------------------------------------------------------------

GOOD = "main (float[2, k] features, int64 shift) => (float[2, k] y) { one = Cast <to: int = 1> (shift)  [adding] y = Add (features, one) }"
FED = ("-i", "features=random:f32[2,3]", "-i", "shift=random:i64[]", "-o", "out")


@pytest.mark.parametrize(
    ("text", "arguments", "code", "words"),
    [
        ("main (float[2] x) => (float[2] y) { [strange] y = Frobnicate (x) }", FED, 1, ("strange", "Frobnicate")),
        ("main (float[2] x) => (float[2] y) { y = com.example.Sum (x) }", FED, 1, ("com.example",)),
        (GOOD, FED[:2] + FED[4:], 1, ("input 'shift' is missing", "-i 'shift=random:i64[]'")),
        (GOOD, ("-i", "features=random:f64[2,3]", *FED[2:]), 1, ("features", "f64[2,3]", "f32[2, k]")),
        (GOOD, ("-i", "features=random:f32[3,3]", *FED[2:]), 1, ("features", "f32[3,3]", "f32[2, k]")),
        (GOOD, (*FED, "-i", "featurs=random:f32[2,3]"), 1, ("featurs", "features")),
        (GOOD, (*FED, "-i", "shift=nowhere.npy"), 1, ("nowhere.npy",)),
        (GOOD, (*FED, "-i", "shift=random:z9[2]"), 2, ("z9",)),
        (GOOD, (*FED, "-i", "shift"), 2, ("NAME=FILE",)),
        (GOOD, (*FED, "--max-trips", "-1"), 2, ("--max-trips",)),
        (GOOD, (*FED, "--deadline", "soon"), 2, ("--deadline", "soon")),
        (GOOD, (*FED, "--seed", "-1"), 2, ("--seed",)),
        (GOOD, (*FED, "--max-memory", "8"), 4, ("budget of 8 bytes",)),
    ],
)
def test_failures_write_nothing(rondel, text, arguments, code, words):
    got, out, err = rondel("run", saved(text), *arguments)
    assert got == code, err
    assert out == "" and files() == []
    for word in words:
        assert word in err, err


BREAKS = """
main (int64 m, float x) => (float y) {
  [walk] y = Loop (m, "", x) <body: graph = body (int64 i, bool go, float a) => (bool on, float b) {
    b = Neg (a)
    one = Constant <value_int: int = 1> ()
    on = Less (i, one)
  }>
}"""


@pytest.mark.parametrize("command", ["run", "convert"])
def test_a_break_that_is_ignored_is_warned_of(rondel, command):
    arguments = ("-i", "m=random:i64[]", "-i", "x=random:f32[]") if command == "run" else ("-o", "out.onnx")
    code, _, err = rondel(command, saved(BREAKS), *arguments)
    assert code == 0
    (line,) = err.splitlines()
    assert line.startswith("rondel: warning: node 'walk' (Loop): cond is left out") and 'loop_cond="honour"' in line
    assert rondel(command, saved(BREAKS), *arguments, "--loop-cond", "honour")[::2] == (0, "")
    assert rondel("check", saved(BREAKS))[1].count(line.split(": ", 3)[3]) == 1


def test_truncated_files(rondel, tmp_path):
    saved(GOOD)
    whole = (tmp_path / "model.onnx").read_bytes()
    (tmp_path / "cut.onnx").write_bytes(whole[: len(whole) // 2])
    code, out, err = rondel("run", "cut.onnx", *FED)
    assert code == 1 and out == "" and "cut.onnx" in err and files() == []


@pytest.mark.parametrize("ending", ["npy", "npz", "pb"])
def test_inputs_that_are_spoilt(rondel, tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    (np.savez if ending == "npz" else np.save)(tmp_path / "good", f32(1, 2))
    whole = next(tmp_path.glob("good.*")).read_bytes()
    for spoilt in (b"", b"\xff\xff\xff", whole[:20], whole[: len(whole) - 3]):
        path.write_bytes(spoilt)
        code, _, err = rondel("run", saved(GOOD), *FED[:2], "-i", f"shift={path.name}", "-o", "out")
        assert code == 1 and "shift" in err or path.name in err, err
        assert not (tmp_path / "out").exists()


def test_outputs_are_written_all_or_none(rondel, tmp_path, monkeypatch):
    text = "main (float[2] x, string[k] s) => (float[2] y, string[k] t, float[2] z) { y = Neg (x)  t = Identity (s)  z = Abs (x) }"
    np.save("x.npy", f32(1, -2))
    np.save("s.npy", np.array(["a", "long text"]))
    feeds = ("-i", "x=x.npy", "-i", "s=s.npy")
    save, made = np.save, []

    def fails_at_last(*arguments, **fields):
        made.append(arguments)
        if len(made) == 3:
            raise OSError("no space left on device")
        save(*arguments, **fields)

    monkeypatch.setattr(np, "save", fails_at_last)
    code, _, err = rondel("run", saved(text), *feeds, "-o", "out")
    assert code == 1 and "no space left" in err and list((tmp_path / "out").iterdir()) == []
    monkeypatch.setattr(np, "save", save)
    assert rondel("run", "model.onnx", *feeds, "-o", "out")[0] == 0
    assert np.load("out/t.npy").tolist() == ["a", "long text"]
    assert np.load("out/y.npy").tolist() == [-1, 2]


def test_outputs_whose_names_clash_as_files(rondel):
    made = model("main (float[2] x) => (float[2] y, float[2] z) { y = Neg (x)  z = Abs (x) }")
    for node, name in zip(made.graph.node, ("a/b", "a_b"), strict=True):
        node.output[0] = name
    for output, name in zip(made.graph.output, ("a/b", "a_b"), strict=True):
        output.name = name
    onnx.save(made, "model.onnx")
    np.save("x.npy", f32(1, -2))
    assert rondel("run", "model.onnx", "-i", "x=x.npy", "-o", "out")[0] == 0
    assert [np.load(f"out/{name}.npy").tolist() for name in ("a_b", "a_b_2")] == [[-1, 2], [1, 2]]


# ---- help -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [(), ("run",), ("inspect",), ("check",)])
def test_help_teaches(rondel, command):
    code, out, _ = rondel(*command, "--help")
    assert code == 0 and "exit codes: 0 " in out
    assert command == ("check",) or "rondel " + (command[0] if command else "run") + " model.onnx" in out


# ---- grad -----------------------------------------------------------------------------------------------


def test_grad_writes_the_model_with_its_gradient(rondel):
    square = "main (float[n] x, float w) => (float y) { p = Mul (x, w)  q = Mul (p, p)  y = ReduceSum <keepdims: int = 0> (q) }"
    code, out, err = rondel("grad", saved(square), "--wrt", "x, w", "-o", "grad.onnx", "--prefix", "d_")
    assert (code, err) == (0, "")
    assert "d_x     x" in out and "wrote grad.onnx" in out
    code, out, _ = rondel("run", "grad.onnx", "-i", "x=[1, 2]", "-i", "w=3")
    assert code == 0 and "d_w" in out and "30" in out


def test_grad_of_a_model_that_has_none_writes_nothing(rondel, tmp_path):
    grown = "main (float[] x, float[a,b,c] w) => (float y) { e = ConvTranspose <auto_pad: string = \"SAME_UPPER\"> (x, w)  y = ReduceSum <keepdims: int = 0> (e) }"
    code, _, err = rondel("grad", saved(grown), "--wrt", "x", "-o", "grad.onnx")
    assert code == 3 and "on the way to it: 'y' <- 'e'" in err and not (tmp_path / "grad.onnx").exists()
    code, _, err = rondel("grad", saved(ROOT), "--wrt", "nothing", "-o", "grad.onnx")
    assert code == 1 and "'nothing'" in err


def test_files_of_one_stem_are_written_apart(tmp_path):
    from rondel_cli.files import write_all

    paths = [tmp_path / name for name in ("out.csv", "out.png", "out")]
    write_all({path: lambda file, path=path: file.write(path.name.encode()) for path in paths})
    assert [path.read_bytes() for path in paths] == [b"out.csv", b"out.png", b"out"]


def test_of_several_files_none_is_written_where_one_fails(tmp_path):
    from rondel import CallerError
    from rondel_cli.files import write_all

    (tmp_path / "first").write_text("old")
    with pytest.raises(CallerError, match="'.*no folder/second' cannot be written"):
        write_all({tmp_path / "first": lambda file: file.write(b"new"), tmp_path / "no folder" / "second": lambda file: None})
    assert (tmp_path / "first").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["first"]


# ---- what people type -----------------------------------------------------------------------------------

THREE = """main (float[3] x, int64[1, 1] token, float[n, 2] z) => (float[3] y, int64[1, 1] t, float[n, 2] w) {
  y = Neg (x)  t = Neg (token)  w = Neg (z)
}"""


def test_all_missing_inputs_are_named_with_a_line_that_runs(rondel):
    code, _, err = rondel("run", saved(THREE))
    assert code == 1 and "inputs 'x', 'token', 'z' are missing" in err
    code, out, err = rondel("run", "model.onnx", *shlex.split(err.split("for random numbers: ")[1]))
    assert code == 0 and "float32[1, 2]" in out, err
    code, _, err = rondel("run", "model.onnx", "-i", "toke=1", "-i", "x=1,2,3", "-i", "z=[[1,2]]")
    assert code == 1 and "'toke'" in err and "'token'" in err


def test_numbers_without_brackets_and_for_inputs_of_one_element(rondel):
    code, out, err = rondel("run", saved(THREE), "-i", "x=1,2.5,-3", "-i", "token=7", "-i", "z=1,2")
    assert code == 1 and "'z' is f32[2]; expected f32[n, 2]" in err, err
    for z in ("[1,2],[3,4]", "[[1, 2], [3, 4]]"):
        code, out, err = rondel("run", "model.onnx", "-i", "x=1,2.5,-3", "-i", "token=7", "-i", f"z={z}")
        assert code == 0 and "-1, -2.5, 3" in out and "-7" in out and "-1, -2, -3, -4" in out, err
    code, out, err = rondel("run", "model.onnx", "-i", "x=1,,3")
    assert code == 2 and "expected a file, a number or lists of numbers" in err


ONE_OF_EACH = "main (int64 n, bool b, string s, float x) => (int64 m, bool c, string t, float y) { m = Neg (n)  c = Not (b)  t = Identity (s)  y = Neg (x) }"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("n=1.5", "i64 does not hold 1.5; its range is -9223372036854775808 to "),
        ("n=9223372036854775808", "i64 does not hold"),
        ("b=2", "bool does not hold"),
        ("x=[null]", "these are not all numbers"),
        ("x=" + "[" * 100_000, "expected a file, a number or lists of numbers"),
        ("x=1,,2", "expected a file, a number or lists of numbers"),
        ("n=nan", "i64 does not hold nan"),
        ("b=-inf", "bool does not hold -inf"),
        ("x=1e39", "f32 does not hold 1e+39; its largest number is 3.40282e+38"),
        ("x=1e999", "1e999 is beyond f64"),
        ("x=[1, -1e999]", "-1e999 is beyond f64"),
        ("x=information", "-i x=information: expected a file that ends in .npy, .npz or .pb, values such as 1, or random:f32[]"),
        ("x=nan.npy", "cannot read nan.npy"),
    ],
)
def test_numbers_that_an_input_cannot_hold_are_refused(rondel, given, words):
    others = [f"-i{name}" for name in ("n=1", "b=true", "s=5", "x=.5") if name[0] != given[0]]
    code, out, err = rondel("run", saved(ONE_OF_EACH), *others, "-i", given)
    assert code in (1, 2) and words in err and not out and len(err) < 500, err[:500]


def test_numbers_as_people_write_them(rondel):
    code, out, err = rondel("run", saved(ONE_OF_EACH), "-i", "n=+7", "-i", "b=false", "-i", "s=5", "-i", "x=.5")
    assert code == 0 and "-7" in out and "True" in out and "'5'" in out and "-0.5" in out, err


@pytest.mark.parametrize("text", ["nan", "NaN", "-NAN", "inf", "+Inf", "-inf", "infinity", "-Infinity", "nan,1", "[inf, -INF]", "[[nan], [-1]]", "1,-inf,NaN"])
def test_nan_and_infinities_in_any_case(rondel, text):
    from rondel_cli.feeds import literal_tensor

    plain = [float(word) for word in text.replace("[", "").replace("]", "").split(",")]
    np.testing.assert_array_equal(literal_tensor(None, "x", text).ravel(), plain)
    code, _, err = rondel("run", saved("main (float[] x) => (float[] y) { y = Neg (x) }"), "-i", f"x={text}")
    assert (code, err) == (0, "")


@pytest.mark.parametrize(
    ("dtype", "text", "largest"),
    [("float16", "1e6", "65504"), ("float16", "[1, -70000]", "65504"), ("bfloat16", "3.4e38", "3.38953e+38"), ("float8e4m3fn", "500", "448"), ("complex64", "1e39", "3.40282e+38")],
)
def test_a_number_beyond_a_dtype_is_refused(rondel, dtype, text, largest):
    code, out, err = rondel("run", saved(f"main ({dtype}[n] x) => ({dtype}[n] y) {{ y = Identity (x) }}"), "-i", f"x={text}")
    assert code == 2 and not out and err.count("\n") == 1 and f"-i x={text}: " in err and f"its largest number is {largest}" in err, err


def test_a_written_infinity_and_the_largest_number_stay(rondel):
    code, out, err = rondel("run", saved("main (float16[n] x) => (float16[n] y) { y = Identity (x) }"), "-i", "x=65504,-inf,Infinity,NaN")
    assert (code, err) == (0, "") and "65504, -inf, inf, nan" in out


@pytest.mark.parametrize("name", ["f32", "float32", "float", "f64", "double", "float64", "f16", "bf16", "bfloat16", "i8", "int8", "i64", "uint16", "u64",
                                  "bool", "str", "string", "c64", "complex128", "i4", "uint4", "i2", "u2", "f8e4m3fn", "float8e5m2", "f8e8m0", "f4e2m1"])  # fmt: skip
def test_random_inputs_of_every_dtype(name):
    from rondel_cli.feeds import random_tensor

    made = random_tensor(f"{name}[4,5]", np.random.default_rng(1))
    assert made.shape == (4, 5)
    assert random_tensor(f"{name}", np.random.default_rng(1)).shape == ()
    if made.dtype == object:
        assert all(isinstance(text, str) for text in made.ravel())


def test_an_output_folder_that_is_a_file_is_refused_before_the_run(rondel, tmp_path):
    (tmp_path / "taken").write_text("")
    code, out, err = rondel("run", saved(GOOD), *FED[:-1], "taken")
    assert code == 2 and not out and "-o taken: taken is a file; expected a folder" in err
    code, out, err = rondel("run", "model.onnx", *FED[:-1], "taken/in")
    assert code == 2 and not out and "taken is a file; expected a folder" in err


def test_grad_says_nothing_before_it_has_written(rondel):
    text = "main (float[2] x) => (float loss) { y = Mul (x, x)  loss = ReduceSum <keepdims: int = 0> (y) }"
    code, out, err = rondel("grad", saved(text), "--wrt", "x", "-o", "nowhere/grad.onnx")
    assert code == 1 and not out and "nowhere" in err
    code, out, _ = rondel("grad", "model.onnx", "--wrt", "x", "-o", "grad.onnx")
    assert code == 0 and out.startswith("wrote grad.onnx") and "grad_x" in out


def test_mdf_of_an_onnx_file_says_which_command_reads_it(rondel):
    code, _, err = rondel("mdf", saved(GOOD))
    assert code == 2 and "rondel run model.onnx" in err


def test_check_takes_several_models(rondel, tmp_path):
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    code, out, err = rondel("check", saved(GOOD), saved("main (float[2] x) => (y) { y = Frobnicate (x) }", "odd.onnx"))
    assert code == 3 and "model.onnx will run" in out and "odd.onnx will not run" in out
    code, out, err = rondel("check", "broken.onnx", "model.onnx")
    assert code == 1 and "broken.onnx" in err and "model.onnx will run" in out


def test_a_long_unknown_word_is_not_echoed_whole(rondel, tmp_path):
    (tmp_path / "long.deepx").write_text("w" * 60_000 + " a -> b\n")
    code, _, err = rondel("deepx", "long.deepx")
    assert code == 1 and "there is no instruction" in err and "(6000" in err and len(err) < 300


def test_completion_in_bash(rondel):
    _, script, _ = rondel("completion", "bash")
    ask = 'COMP_WORDS=(rondel {words}); COMP_CWORD={at}; _rondel; echo "${{COMPREPLY[@]}}"'
    for words, at, want in (("in", 1, "inspect"), ("run --max", 2, "--max-memory --max-trips"), ("grad --se", 2, "--seed")):
        done = subprocess.run(["bash", "-c", script + ask.format(words=words, at=at)], capture_output=True, text=True, check=True)
        assert done.stdout.split() == want.split(), done
    _, zsh, _ = rondel("completion", "zsh")
    assert zsh.startswith("autoload") and zsh.endswith(script)
