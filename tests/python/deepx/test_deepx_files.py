"""deepx: saving, loading, export, and running programs from the command line."""

import os

import numpy as np
import onnx
import pytest

import rondel
from rondel import CallerError, LimitExceeded, deepx
from rondel_cli.main import main

DTYPES = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "bool"]


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "below"
    made.mkdir()
    return made


# ---- save and load


@pytest.mark.parametrize("path", ["t.npy", "t", "deep/er/t.npy", "deep/t"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_saved_is_loaded(folder, dtype, path):
    session = deepx.Session(folder=folder)
    session.run(f"newtensor@{dtype} [2 3]->t\nsettensor@{dtype} [0 1 1 0 1 0]->t\nsave t {path}\nload {path}->u")
    np.testing.assert_array_equal(session["t"], session["u"])
    assert session["u"].dtype == session["t"].dtype
    session.run(f"newtensor@{dtype} [2 3]->w\nloadtensordata {path}->w")
    np.testing.assert_array_equal(session["t"], session["w"])


def test_the_files_of_others(folder):
    np.save(folder / "x.npy", np.arange(6, dtype=np.float32).reshape(2, 3))
    # In the form that the original's Python package writes.
    (folder / "y.shape").write_text("dim: 2\ndtype: float32\nshape:\n- 3\n- 2\nsize: 6\nstride:\n- 2\n- 1\n")
    (folder / "y.data").write_bytes(np.arange(6, dtype=np.float32).tobytes())
    session = deepx.Session(folder=folder)
    session.run('load x.npy\nload("y")->(tensor<float32>:z)\nnewtensor@float32 [3 2]->w\nloadtensordata y->w')
    np.testing.assert_array_equal(session["x"], np.arange(6).reshape(2, 3))
    np.testing.assert_array_equal(session["z"], np.arange(6).reshape(3, 2))
    np.testing.assert_array_equal(session["w"], session["z"])
    np.save(folder / "s.npy", np.float32(3))
    session.run("load s.npy")
    assert session["s"].shape == () and session["s"] == 3


@pytest.mark.parametrize("path", ["../t.npy", "/etc/passwd", "a/../../t.npy", "link/t.npy", "file_link.npy", "..", ".", '""', "pair", "../below"])
@pytest.mark.parametrize("line", ["save t {}", "load {}->x", "loadtensordata {}->t"])
def test_nothing_leads_out_of_the_folder(folder, path, line):
    outside = folder.parent / "outside"
    outside.mkdir()
    np.save(outside / "t.npy", np.zeros(2, np.float32))
    (folder / "link").symlink_to(outside)
    (folder / "file_link.npy").symlink_to(outside / "t.npy")
    (folder / "pair.data").symlink_to(outside / "t.npy")
    (folder / "pair.shape").symlink_to(outside / "t.npy")
    before = sorted(p.relative_to(folder.parent) for p in folder.parent.rglob("*"))
    session = deepx.Session(folder=folder)
    session["t"] = np.ones(2, np.float32)
    with pytest.raises(CallerError, match=f"^line 1, column {line.index('{') + 1}: "):
        session.run(line.format(path))
    assert session.names() == ["t"] and session["t"].tolist() == [1, 1]
    assert sorted(p.relative_to(folder.parent) for p in folder.parent.rglob("*")) == before
    assert np.load(outside / "t.npy").tolist() == [0, 0]


@pytest.mark.parametrize(
    "line, column, message",
    [
        ("load@float64 a.npy->x", 6, "'x' is float32; expected float64"),
        ("load@float64 a.npy", 6, "'a' is float32; expected float64"),
        ("load(var<string>:a.npy)->(tensor<float64>:x)", 34, "'x' is float32"),
        ("load(a.npy)->(vector<float32>:x)", 15, "'x' is a tensor, not a vector"),
        ("load(var<float32>:a.npy)->(x)", 10, "'path' of 'load' is a string"),
        ("load(tensor<float32>:a.npy)->(x)", 6, "'path' of 'load' is a var, not a tensor"),
    ],
)
def test_what_is_said_of_a_file_must_be_true(folder, line, column, message):
    np.save(folder / "a.npy", np.zeros(2, np.float32))
    session = deepx.Session(folder=folder)
    with pytest.raises(CallerError, match=f"^line 1, column {column}: {message}"):
        session.run(line)
    assert session.names() == []
    session.run("load(var<string>:a.npy)->(tensor<float64|float32>:x)\nload@float32 a.npy->y\nload@any a.npy")
    assert session.names() == ["a", "x", "y"]


def test_wrong_files(folder):
    session = deepx.Session(folder=folder)
    session["t"] = np.ones(2, np.float32)
    (folder / "bad.npy").write_bytes(b"\x93NUMPY rubbish")
    (folder / "empty.npy").write_bytes(b"")
    np.save(folder / "objects.npy", np.array([{}], object), allow_pickle=True)
    np.save(folder / "text.npy", np.array(["a"]))
    np.save(folder / "wide.npy", np.zeros(2, np.complex64))
    np.save(folder / "other.npy", np.zeros(3, np.float32))
    (folder / "short.shape").write_text("dtype: float32\nshape: [4]\n")
    (folder / "short.data").write_bytes(b"1234")
    (folder / "huge.shape").write_text("dtype: float32\nshape: [400000000000, 400000000000]\n")
    (folder / "huge.data").write_bytes(b"1234")
    (folder / "strange.shape").write_text("dtype: float8\n")
    for path in ("none.npy", "none", "bad.npy", "empty.npy", "objects.npy", "text.npy", "wide.npy", "short", "huge", "strange", "a" * 300):
        with pytest.raises(CallerError, match="^line 1, column 6: "):
            session.run(f"load {path}->x")
    with pytest.raises(CallerError, match="holds float32.*3.*expected float32.*2"):
        session.run("loadtensordata other.npy->t")
    with pytest.raises(CallerError, match="'t' is a tensor already"):
        session.run("load other.npy->t")
    (folder / "1.npy").write_bytes((folder / "other.npy").read_bytes())
    with pytest.raises(CallerError, match="'1' is no name for a tensor"):
        session.run("load 1.npy")
    os.chmod(folder, 0o500)
    try:
        if os.getuid() != 0:
            with pytest.raises(CallerError, match="cannot be written"):
                session.run("save t t.npy")
    finally:
        os.chmod(folder, 0o700)
    assert session.names() == ["t"] and session["t"].tolist() == [1, 1]


# ---- export

STEP = """
argset@float32 0.1->rate
newtensor@float32 [4 2]->y
matmul@float32 x w->y
max_scalar y 0->y
newtensor@float32 [2]->total
sum y [0]->total
newtensor@float32 [4 2]->y_grad
newtensor@float32 [4 2]->before
constant 1->y_grad
matmul x w->before
newtensor@float32 [4 2]->before_grad
max_scalar before(before_grad) 0<-y(y_grad)
newtensor@float32 [3 2]->w_grad
matmul x w(w_grad)<-before(before_grad)
mul_scalar w_grad rate->w_grad
sub w w_grad->w
"""


def test_an_exported_program_is_that_program(tmp_path):
    rng = np.random.default_rng(0)
    session = deepx.Session()
    session["x"], session["w"] = rng.normal(size=(4, 3)).astype(np.float32), rng.normal(size=(3, 2)).astype(np.float32)
    before = {name: session[name] for name in session}
    report = session.export(STEP, tmp_path / "step.onnx")
    assert report.opset >= 11 and session.names() == ["w", "x"]
    onnx.checker.check_model(str(tmp_path / "step.onnx"))
    model = rondel.InferenceSession(tmp_path / "step.onnx")
    assert sorted(port.name for port in model.get_inputs()) == ["w_in", "x"]
    names = [port.name for port in model.get_outputs()]
    outputs = dict(zip(names, model.run(None, {"w_in": before["w"], "x": before["x"]})))
    session.run(STEP)
    assert set(names) == set(session.names()) - {"x", "rate"}
    for name in names:
        np.testing.assert_allclose(outputs[name], session[name], 1e-6, 1e-6, err_msg=name)


def test_inputs_have_names_of_their_own(tmp_path):
    session = deepx.Session()
    session["t"], session["t_in"] = np.array([1, 2], np.float32), np.array([30, 40], np.float32)
    session.export("add t t_in->t", tmp_path / "t.onnx")
    model = rondel.InferenceSession(tmp_path / "t.onnx")
    assert sorted(port.name for port in model.get_inputs()) == ["t_in", "t_in_in"]
    assert model.run(["t"], {"t_in": session["t_in"], "t_in_in": session["t"]})[0].tolist() == [31, 42]
    session["t_in_in"] = np.array([5, 6], np.float32)
    session.export("add t t_in->t\nadd t t_in_in->t_in", tmp_path / "u.onnx")
    inputs = [port.name for port in rondel.InferenceSession(tmp_path / "u.onnx").get_inputs()]
    assert len(set(inputs)) == 3 and not set(inputs) & {"t", "t_in"} and "t_in_in" in inputs


def test_an_exported_program_runs_elsewhere(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    session = deepx.Session()
    session["t"], session["go"] = np.array([1.0, 2.0], np.float32), np.array(True)
    text = "loop 3 {\nadd t t->t\n}\nwhile go {\nadd_scalar t 1->t\nnewtensor_was_here\n}".replace("newtensor_was_here\n", "less t t->m\nreducemax n [0]->k\ngreater_scalar k 1->go\n")
    session["m"], session["n"], session["k"] = np.zeros(2, bool), np.array([0], np.int32), np.array(0, np.int32)
    session.export(text, tmp_path / "loops.onnx")
    model = onnxruntime.InferenceSession(tmp_path / "loops.onnx", providers=["CPUExecutionProvider"])
    feeds = {port.name: session[port.name.removesuffix("_in")] for port in model.get_inputs()}
    outputs = dict(zip([port.name for port in model.get_outputs()], model.run(None, feeds)))
    session.run(text)
    for name, value in outputs.items():
        np.testing.assert_array_equal(value, session[name])
    assert outputs["t"].tolist() == [9, 17]


def test_draws_are_exported(tmp_path):
    session = deepx.Session(seed=3)
    text = "newtensor@float32 [50]->t\nuniform 0 1->t\nnewtensor@float32 [50]->u\nnormal 0 1 5->u"
    session.export(text, tmp_path / "draws.onnx")
    session.run(text)
    got = dict(zip("tu", rondel.InferenceSession(tmp_path / "draws.onnx").run(["t", "u"], {})))
    for name in "tu":
        np.testing.assert_allclose(got[name], session[name], 1e-5, 1e-6)


def test_what_an_exported_program_loads_is_a_constant(folder):
    np.save(folder / "t.npy", np.array([1, 2], np.float32))
    session = deepx.Session(folder=folder)
    session["x"] = np.array([5, 7], np.float32)
    text = "load t.npy\nmul_scalar t 2->t\nnewtensor@float32 [2]->u\nloadtensordata t.npy->u\nadd u x->u\nsave t no.npy\nprint t"
    session.export(text, folder / "m.onnx")
    model = rondel.InferenceSession(folder / "m.onnx")
    t, u = model.run(["t", "u"], {"x": session["x"]})
    assert t.tolist() == [2, 4] and u.tolist() == [6, 9] and not (folder / "no.npy").exists()
    with pytest.raises(CallerError, match="^line 1, column 13: 'x' is a tensor already"):
        session.export("load t.npy->x", folder / "n.onnx")
    with pytest.raises(CallerError, match="^line 1, column 6: files are refused"):
        deepx.Session().export("load t.npy->x", folder / "n.onnx")


@pytest.mark.parametrize("path", [3, "a\0b", "\ud800", None])
def test_paths_that_no_file_has(path):
    with pytest.raises(CallerError, match="path is .*; expected a path"):
        deepx.Session().export("newtensor@float32 [2]->t", path)


def test_what_cannot_be_exported(tmp_path):
    session = deepx.Session()
    for text, message in (("argset@int32 1->a", "writes no tensor"), ("add t t->u", "^line 1, column 5: there is no 't'")):
        with pytest.raises(CallerError, match=message):
            session.export(text, tmp_path / "none.onnx")
    assert not list(tmp_path.iterdir())


# ---- the command line

PROGRAM = "newtensor@float32 [2]->t\nconstant@float32 1.5->t\nprint t %.1f\nadd@float32 t t->t\n"


def test_a_program_from_a_file(tmp_path, capsys):
    (tmp_path / "p.deepx").write_text(PROGRAM)
    assert main(["deepx", str(tmp_path / "p.deepx"), "--dump", f"t={tmp_path / 't.npy'}", "--onnx", str(tmp_path / "p.onnx")]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("t: float32[2]\n[1.5, 1.5]\nwrote ") and not shown.err
    assert np.load(tmp_path / "t.npy").tolist() == [3, 3]
    assert [o.name for o in onnx.load(tmp_path / "p.onnx").graph.output] == ["t"]
    assert rondel.InferenceSession(tmp_path / "p.onnx").run(None, {})[0].tolist() == [3, 3]


@pytest.mark.parametrize("arguments", [["-"], []])
def test_a_program_from_standard_input(monkeypatch, capsys, arguments):
    import io

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(PROGRAM.encode())))
    assert main(["deepx", *arguments]) == 0
    assert capsys.readouterr().out == "t: float32[2]\n[1.5, 1.5]\n"


def test_failing_programs(tmp_path, capsys):
    path = tmp_path / "p.deepx"
    path.write_text(PROGRAM + "add t x->t\nprint t\n")
    dump = ["--dump", f"t={tmp_path / 't.npy'}"]
    assert main(["deepx", str(path), *dump]) == 1
    shown = capsys.readouterr()
    assert shown.err == "rondel: line 5, column 7: there is no 'x'; did you mean 't'?\n"
    assert "[3" not in shown.out and not (tmp_path / "t.npy").exists()
    assert main(["deepx", str(path), "--keep-going", *dump]) == 1
    shown = capsys.readouterr()
    assert shown.err.startswith("rondel: line 5, column 7") and "[3, 3]" in shown.out
    assert np.load(tmp_path / "t.npy").tolist() == [3, 3]
    path.write_text(PROGRAM + "newtensor@float32 [1000 1000]->x")
    assert main(["deepx", str(path), "--max-memory", "1000"]) == 4
    assert main(["deepx", str(tmp_path / "none")]) == 1
    assert main(["deepx", str(path), "--dump", "t"]) == 2
    assert main(["deepx", str(path), "--dump", "nothing=x.npy"]) == 1
    assert main(["deepx", str(path), "--folder", str(tmp_path / "none")]) == 1


def test_folder_and_seed_of_the_command(tmp_path, capsys):
    (tmp_path / "p.deepx").write_text("newtensor@float32 [3]->t\nuniform 0 1->t\nsave t t.npy\n")
    drawn = []
    for seed in ("1", "1", "2"):
        assert main(["deepx", str(tmp_path / "p.deepx"), "--folder", str(tmp_path), "--seed", seed]) == 0
        drawn.append(np.load(tmp_path / "t.npy").tolist())
    assert drawn[0] == drawn[1] != drawn[2]


# ---- files that other programs left in the folder


def npy(header, data=b""):
    text = header.encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\x93NUMPY", b"PK\x03\x04garbage", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,,, "), npy("[[[[[[[[["),
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,), }\n"),
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (True,), }\n", b"1234"),
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", b"1234"),
        npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n", b"12345678"),
    ],
)  # fmt: skip
def test_files_that_are_no_arrays(tmp_path, data):
    (tmp_path / "bad.npy").write_bytes(data)
    session = deepx.Session(folder=tmp_path)
    (failure,) = session.run("newtensor@float32 [1]->t\nload bad.npy->q\nconstant 3->t", keep_going=True)
    assert str(failure).startswith("line 2, column 6: ") and "bad.npy" in str(failure)
    assert session["t"].tolist() == [3] and "q" not in session


@pytest.mark.parametrize("shape", ["[0, 99999999999999999999999]", "[-1]", "[2]"])
def test_types_that_do_not_fit_the_elements(tmp_path, shape):
    (tmp_path / "w.shape").write_text(f"dtype: float32\nshape: {shape}\n")
    (tmp_path / "w.data").write_bytes(b"" if shape.startswith("[0") else b"1234")
    (failure,) = deepx.Session(folder=tmp_path).run("load w->w", keep_going=True)
    assert str(failure).startswith("line 1, column 6: ")


def test_arrays_by_columns_and_of_numpys_own_writing(tmp_path):
    for name, array in {"f": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "s": np.float32(2), "e": np.zeros((0, 3), np.int8)}.items():
        np.save(tmp_path / f"{name}.npy", array)
        session = deepx.Session(folder=tmp_path)
        session.run(f"load {name}.npy->{name}")
        np.testing.assert_array_equal(session[name], array)


def test_a_file_larger_than_the_budget_is_not_read(tmp_path):
    with open(tmp_path / "large.npy", "wb") as file:
        file.truncate(1 << 24)
    session = deepx.Session(folder=tmp_path, max_memory_bytes=1 << 20)
    with pytest.raises(LimitExceeded, match="line 1, column 6: .*16777216 bytes; the memory budget is 1048576"):
        session.run("load large.npy->t")


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.npy")
    with pytest.raises(CallerError, match="no file that can be read whole"):
        deepx.Session(folder=tmp_path).run("load pipe.npy->t")


def test_save_follows_no_link_that_stands_where_it_writes(tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "inside" / ".w.npy.part").symlink_to(tmp_path / "victim")
    deepx.Session(folder=tmp_path / "inside").run("newtensor@float32 [2]->t\nsave t w.npy")
    assert (tmp_path / "victim").read_text() == "mine"
    assert np.load(tmp_path / "inside" / "w.npy").tolist() == [0, 0]


def test_a_model_is_written_without_the_lines_that_failed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.deepx").write_text("newtensor@float32 [2]->t\nconstant 3->t\nadd t q->t\nloop 2 {\nadd t q->t\n}\nloop 2 {\nadd t t->t\n}\n")
    assert main(["deepx", "p.deepx", "--keep-going", "--onnx", "p.onnx", "--dump", "t=t.npy"]) == 1
    (found,) = rondel.InferenceSession("p.onnx").run(["t"], {})
    assert found.tolist() == np.load("t.npy").tolist() == [12, 12]


def test_a_model_has_the_values_that_its_lines_saw(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.array([1, 2], np.float32))
    np.save("y.npy", np.array([5, 6], np.float32))
    (tmp_path / "p.deepx").write_text(
        "load x.npy\nmul_scalar x 2->x\nsave x x.npy\nload y.npy->x\nload nothing.npy\n"
        "load x.npy->z\nloadtensordata y.npy->x\nsave z y.npy\nadd x z->x\n"
    )
    assert main(["deepx", "p.deepx", "--folder", ".", "--keep-going", "--onnx", "p.onnx"]) == 1
    assert [o.name for o in onnx.load("p.onnx").graph.output] == ["x", "z"]
    x, z = rondel.InferenceSession("p.onnx").run(None, {})
    assert z.tolist() == [2, 4] and x.tolist() == [7, 10]
    assert np.load("x.npy").tolist() == [2, 4]  # the export has not executed `save` again


def test_a_dump_that_fails_names_what_and_where(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.deepx").write_text(PROGRAM)
    assert main(["deepx", "p.deepx", "--dump", "t=none/t.npy"]) == 1
    assert capsys.readouterr().err == "rondel: --dump t=none/t.npy: 'none/t.npy' cannot be written: No such file or directory\n"
    assert main(["deepx", "p.deepx", "--dump", "t=t.npy", "--dump", "u=u.npy"]) == 1
    assert capsys.readouterr().err == "rondel: --dump u=u.npy: there is no 'u' at the end of the program\n"
    assert main(["deepx", "p.deepx", "--dump", "t=t.npy", "--dump", "t=./t.npy"]) == 2
    assert capsys.readouterr().err == "rondel: --dump t=./t.npy: --dump t=t.npy writes this file\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p.deepx"]


@pytest.mark.parametrize("option", [["--keep-going"], ["--dump", "t=t.npy"], ["--onnx", "t.onnx"]])
def test_options_that_a_server_does_not_have(capsys, option):
    assert main(["deepx", "serve", "--udp", "127.0.0.1:0", *option]) == 2
    assert capsys.readouterr().err.startswith(f"rondel: {option[0]}: expected a program; ")
