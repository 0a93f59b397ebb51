"""The files that the command line writes and reads again: devices and pipes, failures, closed output, outputs that are no plain tensors."""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import threading

import numpy as np
import onnx
import pytest
from command_line import command, files, rondel, saved  # noqa: F401
from models import model
from onnx import TensorProto, helper, numpy_helper

STATES = pathlib.Path(__file__).parents[1] / "mdf" / "states.json"
SAME = "main (float[n] x) => (float[n] y) { y = Identity (x) }"
SQUARE = "main (float[2] x) => (float loss) { y = Mul (x, x)  loss = ReduceSum <keepdims: int = 0> (y) }"
PROGRAM = "newtensor@float32 [2]->w\nconstant@float32 1.5->w\nprint w\n"


@pytest.fixture
def pipe(tmp_path):
    """The path of a named pipe; a second value is a function that returns what was written to it."""
    path, got = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()), daemon=True)
    reader.start()

    def written():
        reader.join(10)
        assert stat.S_ISFIFO(os.stat(path).st_mode), "the pipe was replaced"
        return got[0]

    return path, written


def closed_pipe():
    """The writing end of a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


# ---- devices, pipes and links ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "begin"),
    [
        (("convert", "model.onnx", "-o", "pipe"), b"\x08"),
        (("grad", "model.onnx", "--wrt", "x", "-o", "pipe"), b"\x08"),
        (("inspect", "model.onnx", "--html", "pipe"), b"<!"),
        (("mdf", STATES, "--csv", "pipe"), b"time,"),
        (("mdf", STATES, "--onnx", "pipe"), b"\x08"),
        (("deepx", "p.deepx", "--dump", "w=pipe"), b"\x93NUMPY"),
        (("deepx", "p.deepx", "--onnx", "pipe"), b"\x08"),
    ],
)
def test_a_pipe_is_written_to_and_not_replaced(rondel, pipe, arguments, begin):
    saved(SQUARE)
    pathlib.Path("p.deepx").write_text(PROGRAM)
    code, out, err = rondel(*arguments)
    assert (code, err) == (0, "") and "wrote pipe" in out
    assert pipe[1]().startswith(begin)


def test_a_link_is_followed_and_not_replaced(rondel):
    saved(SQUARE)
    for name in ("convert", "grad"):
        os.symlink(f"{name}.there", name)
        pathlib.Path(f"{name}.there").write_bytes(b"old")
        code, _, err = rondel(name, "model.onnx", "-o", name, *(["--wrt", "x"] if name == "grad" else []))
        assert (code, err) == (0, "") and os.path.islink(name)
        onnx.checker.check_model(f"{name}.there")


def test_standard_output_is_a_file_too(rondel):
    made = command("mdf", STATES, "--csv", "/dev/stdout", capture_output=True, text=True)
    assert (made.returncode, made.stderr) == (0, "") and made.stdout.startswith("time,")
    saved(SQUARE)
    assert rondel("convert", "model.onnx", "-o", "plain")[0] == 0
    os.symlink("/proc/self/fd/1", "stdout")
    made = command("convert", "model.onnx", "-o", "stdout", capture_output=True)
    assert (made.returncode, made.stderr) == (0, b"") and made.stdout.startswith(pathlib.Path("plain").read_bytes())


def test_a_pipe_takes_no_second_file_of_weights(rondel):
    made = model("main (float[500] x) => (float[500] y) { y = Mul (x, w) }")
    made.graph.initializer.append(numpy_helper.from_array(np.ones(500, np.float32), "w"))
    onnx.save(made, "model.onnx")
    os.mkfifo("pipe")
    code, out, err = rondel("convert", "model.onnx", "-o", "pipe", "--external-data")
    assert code == 1 and not out and "'pipe' cannot be written: it takes one file" in err, err
    assert stat.S_ISFIFO(os.stat("pipe").st_mode) and files() == []


# ---- all files or none ----------------------------------------------------------------------------------


def test_a_folder_in_the_way_of_an_output_is_found_before_the_run(rondel):
    os.makedirs("out/a.npy")
    code, out, err = rondel("run", saved("main (float[2] x) => (float[2] a, float[2] b) { a = Neg (x)  b = Abs (x) }"), "-o", "out")
    assert code == 1 and not out and err == "rondel: 'out/a.npy' cannot be written: it is a folder\n"
    code, out, err = rondel("run", "model.onnx", "-i", "x=1,2", "-o", "out")
    assert code == 1 and not out and "it is a folder" in err and files() == []


def test_files_that_cannot_be_written_are_found_before_the_work(rondel):
    os.mkdir("t.csv")
    pathlib.Path("p.deepx").write_text("nonsense\n")
    for arguments in (
        ("mdf", STATES, "--record", "nothing", "--csv", "t.csv"),
        ("mdf", STATES, "--record", "nothing", "--onnx", "t.csv"),
        ("grad", saved(SQUARE), "--wrt", "nothing", "-o", "t.csv"),
        ("deepx", "p.deepx", "--dump", "w=t.csv"),
    ):
        code, out, err = rondel(*arguments)
        assert code == 1 and not out and "'t.csv' cannot be written: it is a folder" in err, err


def test_a_block_does_not_begin_where_its_file_cannot_be_written(tmp_path):
    from rondel.errors import CallerError
    from rondel.replacing import replacing

    with pytest.raises(CallerError, match="cannot be written: it is a folder"), replacing(tmp_path):
        pytest.fail("the block of `replacing`, which may compute for days, has begun")


def test_no_file_is_replaced_before_all_are_complete(tmp_path, monkeypatch):
    from rondel.errors import CallerError
    from rondel_cli.files import write_all

    paths = [tmp_path / name for name in ("first", "second", "third")]
    for path in paths:
        path.write_text("old")
    completed = []

    def fails_once(file):
        completed.append(file)
        if len(completed) == 2:
            raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", fails_once)
    with pytest.raises(CallerError, match="second' cannot be written: no space left"):
        write_all({path: lambda file: file.write(b"new") for path in paths})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"first": "old", "second": "old", "third": "old"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("deepx", "p.deepx", "--dump", "w=o", "--onnx", "./o"), "--onnx ./o: --dump w=o writes this file"),
        (("mdf", STATES, "--csv", "o", "--onnx", "o"), "--onnx o: --csv o writes this file"),
        (("mdf", STATES, "--csv", "o", "--onnx", "link"), "--onnx link: --csv o writes this file"),
        (("run", "model.onnx", "-i", "x=[[1, 2]]", "-o", ".", "--profile", "z.json"), "--profile z.json: z.json writes this file"),
    ],
)
def test_two_outputs_in_one_file_are_a_wrong_command_line(rondel, arguments, words):
    pathlib.Path("p.deepx").write_text(PROGRAM)
    os.symlink("o", "link")
    zip_map(["no", "yes"])
    assert rondel(*arguments)[::2] == (2, f"rondel: {words}\n")
    assert files() == ["p.deepx"]
    if arguments[0] == "mdf":
        assert rondel("mdf", STATES, "--csv", "/dev/null", "--onnx", "/dev/null")[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("deepx", "p.deepx", "--onnx", "p.deepx"),
        ("deepx", "p.deepx", "--dump", "w=p.deepx"),
        ("mdf", "m.json", "--csv", "./m.json"),
        ("mdf", "m.json", "--onnx", "link"),
        ("grad", "model.onnx", "--wrt", "x", "-o", "model.onnx"),
    ],
)
def test_what_a_command_reads_is_not_overwritten(rondel, arguments):
    pathlib.Path("p.deepx").write_text(PROGRAM)
    shutil.copy(STATES, "m.json")
    os.symlink("m.json", "link")
    saved(SQUARE)
    before = pathlib.Path(arguments[1]).read_bytes()
    code, out, err = rondel(*arguments)
    assert (code, out) == (2, "") and err.endswith(": this file is what the command reads; give another name\n"), err
    assert pathlib.Path(arguments[1]).read_bytes() == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_is_told_with_the_name_of_the_file(rondel):
    saved(SQUARE)
    for arguments in (("convert", "model.onnx", "-o"), ("grad", "model.onnx", "--wrt", "x", "-o"), ("mdf", STATES, "--csv")):
        code, out, err = rondel(*arguments, "/dev/full")
        assert (code, out, err) == (1, "", "rondel: '/dev/full' cannot be written: No space left on device\n")


# ---- output that nobody reads ---------------------------------------------------------------------------


@pytest.mark.parametrize("unbuffered", ["1", ""])
@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "model.onnx", "-i", "x=1,2", "-o", "."),
        ("mdf", STATES, "--csv", "y.npy"),
        ("grad", "model.onnx", "--wrt", "x", "-o", "y.npy", "--outputs", "y", "--seed", "dy"),
    ],
)
def test_files_are_written_before_output_that_nobody_reads(tmp_path, monkeypatch, unbuffered, arguments):
    monkeypatch.chdir(tmp_path)
    saved(SAME)
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    done = command(*arguments, stdout=closed_pipe(), stderr=subprocess.PIPE, env=environment)
    assert (done.returncode, done.stderr) == (0, b"") and files() == ["y.npy"]


@pytest.mark.parametrize("unbuffered", ["1", ""])
def test_codes_of_commands_whose_output_nobody_reads(tmp_path, monkeypatch, unbuffered):
    monkeypatch.chdir(tmp_path)
    saved("main (float[2] x) => (float[2] y) { y = Frobnicate (x) }", "odd.onnx")
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    for arguments, code in ((["--help"], 0), (["cache"], 0), (["run", "nowhere.onnx"], 1), (["frob"], 2), (["run", "odd.onnx"], 1)):
        done = command(*arguments, stdout=closed_pipe(), stderr=closed_pipe(), env=environment)
        assert done.returncode == code, arguments
    done = command("check", "odd.onnx", stdout=closed_pipe(), stderr=subprocess.PIPE, env=environment)
    assert b"Exception" not in done.stderr
    with open("/dev/full", "wb") as full:
        done = command("cache", stdout=full, stderr=subprocess.PIPE, env=environment)
    assert done.returncode == 1 and done.stderr == b"rondel: standard output: No space left on device\n"


def test_streams_that_are_closed_are_as_the_null_device(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved(SAME)
    for closed, arguments, code in ((">&-", "inspect model.onnx", 0), ("<&-", "deepx", 0), (">&- 2>&-", "run nowhere.onnx", 1)):
        shell = f"exec {sys.executable} -m rondel_cli.main {arguments} {closed}"
        done = subprocess.run(["sh", "-c", shell], capture_output=True, timeout=120)
        assert (done.returncode, done.stdout, done.stderr) == (code, b"", b""), closed


def test_names_that_standard_output_cannot_encode(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved("main (float[1] x) => (float[1] y) { y = Neg (x) }")
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = command("run", "model.onnx", "-i", "x=1", "-o", "über", capture_output=True, env=environment)
    assert (done.returncode, done.stderr) == (0, b"") and done.stdout.endswith(b"wrote \\xfcber/y.npy\n")
    odd = os.fsdecode(b"o\xff")
    done = command("run", "model.onnx", "-i", "x=1", "-o", odd, capture_output=True, env=environment | {"PYTHONIOENCODING": "utf-8"})
    assert (done.returncode, done.stderr) == (0, b"") and done.stdout.endswith(b"wrote o\\udcff/y.npy\n") and os.path.exists(f"{odd}/y.npy")


def test_a_warning_that_nobody_reads_ends_no_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved("""main (int64 m, float x) => (float y) {
      y = Loop (m, "", x) <body = body (int64 i, bool go, float a) => (bool on, float b) { b = Neg (a)  on = Not (go) }>
    }""")
    run = ("run", "model.onnx", "-i", "m=3", "-i", "x=1", "-o", ".")
    assert b"warning" in command(*run, capture_output=True).stderr
    os.unlink("y.npy")
    assert command(*run, stdout=closed_pipe(), stderr=closed_pipe()).returncode == 0 and files() == ["y.npy"]


def test_a_program_whose_prints_nobody_reads_writes_no_file_and_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.deepx").write_text(PROGRAM)
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    done = command("deepx", "p.deepx", "--dump", "w=w.npy", stdout=closed_pipe(), stderr=subprocess.PIPE, env=environment)
    assert done.returncode == 1 and b"standard output was closed" in done.stderr and files() == ["p.deepx"]
    done = command("deepx", "p.deepx", stdout=closed_pipe(), stderr=subprocess.PIPE, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    (tmp_path / "p.deepx").write_text(PROGRAM.replace("print w\n", ""))
    done = command("deepx", "p.deepx", "--dump", "w=w.npy", "--onnx", "o.model", stdout=closed_pipe(), stderr=subprocess.PIPE, env=environment)
    assert (done.returncode, done.stderr) == (0, b"") and files() == ["o.model", "p.deepx", "w.npy"]


# ---- outputs that are no plain tensors ------------------------------------------------------------------


def zip_map(keys):
    """A file with a model of scores [n, 2], whose outputs are maps of them by key, and the scores."""
    name, kind = ("classlabels_strings", TensorProto.STRING) if isinstance(keys[0], str) else ("classlabels_int64s", TensorProto.INT64)
    maps = helper.make_map_type_proto(kind, helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    nodes = [helper.make_node("ZipMap", ["x"], ["z"], domain="ai.onnx.ml", **{name: keys}), helper.make_node("Neg", ["x"], ["y"])]
    floats = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 2]) for name in "xy"]
    outputs = [helper.make_value_info("z", helper.make_sequence_type_proto(maps)), floats[1]]
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(helper.make_model(helper.make_graph(nodes, "main", floats[:1], outputs), opset_imports=imports, ir_version=8), "model.onnx")
    return "model.onnx"


@pytest.mark.parametrize(("keys", "shown"), [(["no", "yes"], "{'no': 0.25, 'yes': 0.75}, {'no': inf, 'yes': -1}"), ([3, 5], "{3: 0.25, 5: 0.75}, {3: inf, 5: -1}")])
def test_lists_of_maps_are_shown_and_written(rondel, keys, shown):
    code, out, err = rondel("run", zip_map(keys), "-i", "x=[[0.25, 0.75], [Infinity, -1]]", "-o", "out")
    assert (code, err) == (0, "") and "list of 2 maps" in out and shown in out, out
    assert files() == ["out/y.npy", "out/z.json"]
    expected = [dict(zip(map(str, keys), row)) for row in ([0.25, 0.75], [np.inf, -1])]
    assert json.loads(pathlib.Path("out/z.json").read_text()) == expected
    code, out, _ = rondel("run", "model.onnx", "-i", "x=random:f32[0,2]", "-o", "none")
    assert code == 0 and "list of 0" in out
    os.makedirs("taken/z.json")
    assert "'taken/z.json' cannot be written: it is a folder" in rondel("run", "model.onnx", "-o", "taken")[2]


def test_a_map_is_shown_by_its_first_entries():
    from rondel_cli.outputs import output_table

    (row,) = output_table({"m": {k: k / 2 for k in range(6)}}).splitlines()[2:]
    assert row.split(maxsplit=3) == ["m", "map", "of", "6                  {0: 0, 1: 0.5, 2: 1, 3: 1.5, ...}"]


def test_sequences_and_empty_optionals(rondel):
    text = """main (float[4] x, optional(float[n]) o) => (seq(float[k]) s, optional(float[n]) p) {
      s = SplitToSequence (x)  p = Identity (o)
    }"""
    code, out, err = rondel("run", saved(text), "-i", "x=1,2,3,4", "-o", "out")
    assert (code, err) == (0, "") and "list of 4" in out and "float32[1], float32[1], float32[1]" in out and "(empty)" in out
    assert files() == [f"out/s.{k}.npy" for k in range(4)]


@pytest.mark.parametrize("dtype", ["bfloat16", "int4", "uint4", "float8e4m3fn", "float8e5m2", "float16", "bool", "string"])
@pytest.mark.parametrize("shape", ["[]", "[2, 3]"])
def test_a_written_output_is_read_as_an_input(rondel, dtype, shape):
    saved(f"main ({dtype}{shape} x) => ({dtype}{shape} y) {{ y = Identity (x) }}")
    code, _, err = rondel("run", "model.onnx", "-i", f"x=random:{dtype}{shape}", "-o", "first")
    assert code == 0, err
    code, out, err = rondel("run", "model.onnx", "-i", "x=first/y.npy", "-o", "second")
    assert code == 0, err
    np.savez("all.npz", x=np.load("second/y.npy"))
    assert rondel("run", "model.onnx", "-i", "all.npz", "-o", "third")[0] == 0
    assert pathlib.Path("first/y.npy").read_bytes() == pathlib.Path("third/y.npy").read_bytes()


def test_bytes_without_a_dtype_are_read_only_where_they_fit(rondel):
    np.save("x.npy", np.zeros(2, "V4"))
    for dtype in ("bfloat16", "float", "float8e5m2"):
        code, _, err = rondel("run", saved(f"main ({dtype}[2] x) => ({dtype}[2] y) {{ y = Identity (x) }}"), "-i", "x=x.npy")
        assert code == 1 and "'x'" in err, err
