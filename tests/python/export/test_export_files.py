"""Where an exported model goes, and what is refused: bytes, files, external data, links, opsets, the command line."""

import os
import re
import stat

import numpy as np
import onnx
import pytest
import rondel
from command_line import command
from models import agree, f32, in_onnxruntime, model, refused, run, same, scalar, session
from onnx import TensorProto, helper, numpy_helper

DOUBLE = "main (float[2] x) => (float[2] y) { y = Add (x, x) }"


def weights(dtype=np.float32, elements=3000):
    """y = x + w, with w large enough for external data."""
    w = numpy_helper.from_array(np.arange(elements, dtype=dtype), "w")
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [elements])],
        [w],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def test_export_gives_bytes_or_writes_a_file(tmp_path):
    written = rondel.export(model(DOUBLE))
    assert isinstance(written, bytes)
    report = rondel.export(model(DOUBLE), tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").read_bytes() == written
    assert report.opset == 21 and report.bytes == len(written) and report.external_bytes == 0
    assert report.op_counts == {"Add": 1} and report.loops == [] and report.notes == []
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]
    same(run(tmp_path / "m.onnx", {"x": f32(1, 2)})[0], f32(2, 4))


def test_a_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "m.onnx"
    for mode in (0o600, 0o640, 0o664):
        path.touch()
        path.chmod(mode)
        rondel.export(model(DOUBLE), path, external_data=True)
        rondel.export(model(DOUBLE), path)
        assert path.stat().st_mode & 0o777 == mode


def test_a_session_is_exported_as_its_model_is():
    assert rondel.export(session(DOUBLE)) == rondel.export(model(DOUBLE))


def test_external_data_is_a_file_beside_the_model(tmp_path):
    report = rondel.export(weights(), tmp_path / "m.onnx", external_data=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.onnx", "m.onnx.data"]
    assert report.external_bytes == (tmp_path / "m.onnx.data").stat().st_size == 12000
    assert report.bytes < 1000
    same(session(tmp_path / "m.onnx").run(None, {"x": f32(1)})[0], np.arange(3000, dtype=np.float32) + 1)
    onnx.checker.check_model(str(tmp_path / "m.onnx"), full_check=True)
    (got,) = in_onnxruntime(str(tmp_path / "m.onnx"), {"x": f32(1)})
    same(got, np.arange(3000, dtype=np.float32) + 1)


def test_external_data_begins_at_pages(tmp_path):
    source = weights()
    more = source.graph.initializer.add()
    more.CopyFrom(numpy_helper.from_array(np.ones(2000, np.float32), "v"))
    source.graph.node.add().CopyFrom(helper.make_node("Neg", ["v"], ["z"]))
    source.graph.output.add().CopyFrom(helper.make_tensor_value_info("z", TensorProto.FLOAT, [2000]))
    rondel.export(source, tmp_path / "m.onnx", external_data=True)
    loaded = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    offsets = {t.name: {e.key: e.value for e in t.external_data} for t in loaded.graph.initializer}
    assert offsets["w"] == {"location": "m.onnx.data", "offset": "0", "length": "12000"}
    assert offsets["v"] == {"location": "m.onnx.data", "offset": "12288", "length": "8000"}


@pytest.mark.parametrize("name, data", [("a..b.onnx", "a.%2Eb.onnx.data"), ("..x", ".%2Ex.data"), ("x..", "x.%2E.data"), ("...", ".%2E.%2Edata"),
                                        ("back\\slash.onnx", "back%5Cslash.onnx.data"), ("a%2Eb é.onnx", "a%2Eb é.onnx.data")])
def test_names_of_external_data_that_onnx_refuses_are_escaped(tmp_path, name, data):
    rondel.export(weights(), tmp_path / name, external_data=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([name, data])
    want = np.arange(3000, dtype=np.float32) + 1
    same(session(tmp_path / name).run(None, {"x": f32(1)})[0], want)
    same(in_onnxruntime(str(tmp_path / name), {"x": f32(1)})[0], want)
    assert len(onnx.load(tmp_path / name).graph.initializer[0].raw_data) == 12000


def test_bytes_hold_no_external_data():
    with refused(rondel.CallerError, "give a path"):
        rondel.export(weights(), external_data=True)


# ---- places and errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["none/m.onnx", "."])
def test_a_place_that_cannot_be_written_is_refused(tmp_path, where):
    with refused(rondel.CallerError, "cannot write to"):
        rondel.export(model(DOUBLE), tmp_path / where)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_may_not_be_written_is_refused():
    with refused(rondel.CallerError, "cannot write to"):
        rondel.export(model(DOUBLE), "/proc/self/m.onnx")  # fails for root, too


def test_links_stay_and_what_is_no_file_is_not_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    for to in (tmp_path / "folder" / "there.onnx", tmp_path / "folder" / "new.onnx"):
        link = tmp_path / f"link to {to.name}"
        link.symlink_to(to)
        to.write_bytes(b"") if to.name == "there.onnx" else None
        rondel.export(model(DOUBLE), link)
        assert link.is_symlink() and onnx.load(to).graph.node
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(rondel.CallerError, match="circle"):
        rondel.export(model(DOUBLE), tmp_path / "circle")
    os.mkfifo(tmp_path / "pipe")
    for write in (lambda: rondel.export(model(DOUBLE), tmp_path / "pipe"), lambda: rondel.compile_model(model(DOUBLE), tmp_path / "pipe")):
        with pytest.raises(rondel.CallerError, match="pipe.*no file that could be replaced"):
            write()
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_what_fails_leaves_what_was_there(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(b"what was there")
    with refused(rondel.CallerError, "opset"):
        rondel.export(model(DOUBLE), path, opset=99)
    assert path.read_bytes() == b"what was there"
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]


@pytest.mark.parametrize("opset", [1, 10, 99, -1])
def test_an_opset_there_is_not_is_refused(opset):
    with refused(rondel.CallerError, f"no way to opset {opset}", "11 to"):
        rondel.export(model(DOUBLE), opset=opset)


def test_an_op_that_an_opset_does_not_have_is_refused():
    with refused(rondel.CallerError, "node 'y' (BitwiseNot)", "opset 17", "begins in opset 18", "opset 18 has it"):
        rondel.export(model("m (int32[2] x) => (int32[2] y) { y = BitwiseNot (x) }"), opset=17)


def test_a_model_that_cannot_be_read_is_refused(tmp_path):
    with refused(rondel.CallerError, "cannot read"):
        rondel.export(tmp_path / "none.onnx")
    with refused(rondel.CallerError, "the 7 bytes are no model of a kind that is read here", "onnx (", ".onnx"):
        rondel.export(b"nothing")
    with refused(rondel.CallerError, "expected a path, bytes, a ModelProto, a session or a network"):
        rondel.export(3)


# ---- the command line ------------------------------------------------------------------------------------


def convert(*arguments):
    return command("convert", *arguments, capture_output=True, text=True)


COUNTED = """
main (int64 m, float[2] x, float[T, 2] s) => (float[2] y, float[2] z) {
  y = Loop (m, , x) <body: graph = counted (int64 i, bool go, float[2] a) => (bool more, float[2] b) {
    more = Identity (go)
    b = Add (a, a)
  }>
  z = Scan <num_scan_inputs: int = 1, body: graph = summed (float[2] c, float[2] e) => (float[2] d) { d = Add (c, e) }> (x, s)
}"""


def test_the_command_line_says_what_it_wrote(tmp_path):
    onnx.save(model(COUNTED), tmp_path / "in.onnx")
    done = convert(tmp_path / "in.onnx", "-o", tmp_path / "out.onnx", "--opset", 17)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any(re.match(r"y +Loop +it has no scans", line) for line in lines), done.stdout
    assert any(re.match(r"z +Scan", line) for line in lines), done.stdout
    assert f"wrote {tmp_path / 'out.onnx'}: opset 17" in done.stdout
    feeds = {"m": scalar(2), "x": f32(1, 2), "s": f32([1, 1], [2, 2])}
    agree(run(tmp_path / "out.onnx", feeds), run(tmp_path / "in.onnx", feeds))


def test_the_command_line_refuses_an_opset_and_writes_nothing(tmp_path):
    onnx.save(model("m (int32[2] x) => (int32[2] y) { y = BitwiseNot (x) }"), tmp_path / "in.onnx")
    done = convert(tmp_path / "in.onnx", "-o", tmp_path / "out.onnx", "--opset", 13)
    assert done.returncode == 1 and "BitwiseNot begins in opset 18" in done.stderr
    assert not (tmp_path / "out.onnx").exists()
    assert "--external-data" in convert("--help").stdout
