"""Bad input raises an error of the right kind that names the node, the value and what was expected.

No case may crash, hang or return partial outputs.
"""

import random

import numpy as np
import onnx
import pytest
import rondel
from models import f32, i64, make_model, model, options, refused, run, scalar, session, tensor, value
from onnx import TensorProto, helper
from onnx.parser import parse_model

GOOD = """
main (float[2, k] features, int64 shift) => (float[2, k] y) {
  one = Cast <to: int = 1> (shift)
  [adding] y = Add (features, one)
}"""
FEEDS = {"features": np.ones((2, 3), np.float32), "shift": scalar(1)}


def good_bytes():
    return model(GOOD).SerializeToString()


# ---- the kinds ------------------------------------------------------------------------------------------


def test_the_kinds_of_errors():
    assert issubclass(rondel.Error, Exception)
    assert issubclass(rondel.CallerError, (rondel.Error,)) and issubclass(rondel.CallerError, ValueError)
    assert issubclass(rondel.UnsupportedError, rondel.Error)
    assert issubclass(rondel.UnsupportedError, NotImplementedError)
    for kind in (rondel.InternalError, rondel.LimitExceeded, rondel.Cancelled, rondel.DeadlineExceeded):
        assert issubclass(kind, rondel.Error)
        assert not issubclass(kind, rondel.CallerError)


# ---- files ----------------------------------------------------------------------------------------------


def test_missing_file(tmp_path):
    path = tmp_path / "nowhere.onnx"
    with refused(rondel.CallerError, "nowhere.onnx"):
        rondel.InferenceSession(str(path))
    with refused(rondel.CallerError, "nowhere.onnx"):
        rondel.InferenceSession(path)


def test_a_folder_is_not_a_model(tmp_path):
    with refused(rondel.CallerError, tmp_path.name):
        rondel.InferenceSession(str(tmp_path))


@pytest.mark.parametrize("source", ["file", "bytes"])
def test_empty(source, tmp_path):
    path = tmp_path / "empty.onnx"
    path.write_bytes(b"")
    with refused(rondel.CallerError, ("empty", "no graph", "model")):
        rondel.InferenceSession(str(path) if source == "file" else b"")


def test_truncated_anywhere():
    whole = good_bytes()
    for length in range(1, len(whole)):
        try:
            s = rondel.InferenceSession(whole[:length])
        except rondel.InternalError as error:
            pytest.fail(f"{length} of {len(whole)} bytes: blamed on ourselves: {error}")
        except rondel.Error:
            continue
        # A truncated file may end at the end of a field (a graph without its opset import), so that it parses: it must not crash either.
        with np.errstate(all="ignore"):
            try:
                s.run(None, FEEDS)
            except rondel.InternalError as error:
                pytest.fail(f"{length} of {len(whole)} bytes: blamed on ourselves: {error}")
            except rondel.Error:
                pass


def test_truncated_file_is_the_callers_error(tmp_path):
    whole = good_bytes()
    path = tmp_path / "cut.onnx"
    path.write_bytes(whole[: len(whole) // 2])
    with refused(rondel.CallerError, "cut.onnx"):
        rondel.InferenceSession(str(path))


@pytest.mark.parametrize("seed", range(40))
def test_random_bytes(seed):
    source = random.Random(seed)
    noise = source.randbytes(source.choice([1, 2, 7, 64, 1000, 4096]))
    with pytest.raises((rondel.CallerError, rondel.UnsupportedError)):
        rondel.InferenceSession(noise)


@pytest.mark.parametrize("seed", range(200))
def test_flipped_bytes_never_crash(seed):
    source = random.Random(seed)
    spoiled = bytearray(good_bytes())
    for _ in range(source.randint(1, 4)):
        spoiled[source.randrange(len(spoiled))] = source.randrange(256)
    try:
        rondel.InferenceSession(bytes(spoiled)).run(None, FEEDS)
    except rondel.InternalError as error:
        pytest.fail(f"seed {seed}: blamed on ourselves: {error}")
    except rondel.Error:
        pass


@pytest.mark.parametrize("read", [rondel.InferenceSession, rondel.inspect, rondel.export])
@pytest.mark.parametrize("name, content", [("notes.txt", b"hello"), ("model", b"graph {}")])
def test_a_file_of_a_kind_that_nobody_reads(read, name, content, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with refused(rondel.CallerError, f"'{path}' is no model of a kind that is read here", "onnx (", ".onnx"):
        read(path)
    with refused(rondel.CallerError, f"the {len(content)} bytes are no model", "onnx ("):
        read(content)


def test_a_model_is_known_by_what_it_holds_where_its_name_says_nothing(tmp_path):
    for name in ("model.onnx", "MODEL.ONNX", "model", "model.bin"):
        path = tmp_path / name
        path.write_bytes(good_bytes())
        assert rondel.InferenceSession(path).run(None, FEEDS)[0].tolist() == [[2.0] * 3] * 2


@pytest.mark.parametrize("wrong", [None, 3, 2.5, ["model"], {"graph": 1}])
def test_a_model_of_no_known_kind(wrong):
    with pytest.raises((TypeError, ValueError)):
        rondel.InferenceSession(wrong)


# ---- models ---------------------------------------------------------------------------------------------


def test_unknown_op():
    with refused(rondel.CallerError, "strange", "Frobnicate"):
        session("main (float[2] x) => (float[2] y) { [strange] y = Frobnicate (x) }")


def test_unknown_domain():
    text = "main (float[2] x) => (float[2] y) { [strange] y = com.example.Sum (x) }"
    with refused(rondel.CallerError, "com.example"):
        session(text, domains={"com.example": 1})


def test_domain_not_imported():
    with refused(rondel.CallerError, "com.example"):
        session("main (float[2] x) => (float[2] y) { [strange] y = com.example.Sum (x) }")


def test_opset_newer_than_ours():
    with refused(rondel.CallerError, "999"):
        session(GOOD, opset=999)


def test_opset_of_zero_or_less():
    for opset in (0, -1):
        made = model(GOOD)
        made.opset_import[0].version = opset
        with refused(rondel.CallerError, "imports", str(opset)):
            session(made)


def test_no_opset_import():
    made = model(GOOD)
    del made.opset_import[:]
    with refused(rondel.CallerError, "import"):
        session(made)


def test_ir_version_newer_than_ours():
    made = model(GOOD)
    made.ir_version = 9999
    with refused(rondel.CallerError, "ir", "9999"):
        session(made)


def test_an_op_before_its_first_opset():
    with refused(rondel.CallerError, "Trilu", "13"):
        session("main (float[2, 2] x) => (float[2, 2] y) { y = Trilu (x) }", opset=13)


def test_an_op_that_is_missing_is_unsupported_and_named():
    made = model("main (string[2] x) => (string[2] y) { [words] y = com.microsoft.CropAndResize (x) }")
    made.opset_import.add(domain="com.microsoft", version=1)
    with refused(rondel.UnsupportedError, "words", "op CropAndResize of com.microsoft"):
        rondel.InferenceSession(made.SerializeToString())


def test_a_cycle():
    text = "main (float[2] x) => (float[2] y) { a = Add (x, b)  b = Neg (a)  y = Neg (b) }"
    with refused(rondel.CallerError, ("a", "b")):
        session(text)


def test_nodes_out_of_order_are_refused_by_name():
    text = "main (float[2] x) => (float[2] y) { y = Neg (later)  later = Abs (x) }"
    with refused(rondel.CallerError, "later"):
        session(text)


def test_a_value_nobody_makes():
    with refused(rondel.CallerError, "ghost"):
        session("main (float[2] x) => (float[2] y) { [haunted] y = Add (x, ghost) }")


def test_an_output_nobody_makes():
    with refused(rondel.CallerError, "ghost"):
        session("main (float[2] x) => (float[2] ghost) { y = Neg (x) }")


def test_a_value_made_twice():
    with refused(rondel.CallerError, "twin"):
        session("main (float[2] x) => (float[2] twin) { twin = Neg (x)  twin = Abs (x) }")


def test_an_input_made_again():
    with refused(rondel.CallerError, "x"):
        session("main (float[2] x) => (float[2] x) { x = Neg (x) }")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("y = Add (x)", ("add",)),
        ("y = Neg (x, x)", ("neg",)),
        ("y, z = Neg (x)", ("neg",)),
        ("y = Add (x, )", ("add",)),
        ("y = Neg ()", ("neg",)),
    ],
)
def test_wrong_number_of_inputs_or_outputs(line, words):
    with refused(rondel.CallerError, *words):
        session(f"main (float[2] x) => (float[2] y) {{ [odd] {line} }}")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('y = Transpose <perm: string = "ab"> (x)', ("transpose", "perm")),
        ("y = Concat (x, x)", ("concat", "axis")),
        ("y = Neg <colour: int = 3> (x)", ("neg", "colour")),
        ("y = Concat <axis: int = 5> (x, x)", ("concat", "axis", "5")),
        ("y = Transpose <perm: ints = [0, 0]> (x)", ("transpose", "perm")),
        ("y = Transpose <perm: ints = [0, 7]> (x)", ("transpose", "perm")),
        ("y = Transpose <perm: ints = [0]> (x)", ("transpose", "perm")),
        ("y = Cast <to: int = 99> (x)", ("cast", "99")),
        ("y = Softmax <axis: int = 2> (x)", ("softmax", "axis")),
    ],
)
def test_wrong_attributes(line, words):
    with refused(rondel.CallerError, *words):
        run(f"main (float[2, 3] x) => (float[] y) {{ [odd] {line} }}", {"x": np.ones((2, 3), np.float32)})


@pytest.mark.parametrize(
    ("line", "name", "field"),
    [("y = LeakyRelu <alpha: float = 1.0> (x)", "alpha", "f"), ("y = Concat <axis: int = 1> (x, x)", "axis", "i"), ("y = Transpose <perm: ints = [0, 1]> (x)", "perm", "ints")],
)
def test_an_attribute_with_a_value_of_another_type(line, name, field):
    made = model(f"main (float[2, 3] x) => (float[a, b] y) {{ [odd] {line} }}")
    attribute = made.graph.node[0].attribute[0]
    attribute.ClearField(field)
    attribute.s = b"1"
    with refused(rondel.CallerError, "odd", f"attribute '{name}'", "a value of another type") as told:
        session(made)
    assert str(told.value).count("odd") == 1


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("shape, axis", [("[3]", 1), ("[2, 3]", 2), ("", 0)])
def test_an_axis_behind_the_last_one_of_an_old_softmax(op, shape, axis):
    with refused(rondel.CallerError, op.lower(), f"axis {axis}", "one of its axes"):
        session(f"main (float{shape} x) => (float{shape} y) {{ [odd] y = {op} <axis: int = {axis}> (x) }}", 11)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("y = Add (x, n)", ("add", ("f32", "float"), ("i64", "int64"))),
        ("y = And (x, x)", ("and", "bool")),
        ("y = BitwiseAnd (x, x)", ("bitwiseand",)),
        ("y = Reshape (x, x)", ("reshape", "shape")),
        ("y = Gather (x, x)", ("gather", "indices")),
    ],
)
def test_wrong_operand_types(line, words):
    with refused(rondel.CallerError, "odd", *words):
        session(f"main (float[2] x, int64[2] n) => (float[] y) {{ [odd] {line} }}")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("y = Add (a, b)", ("2,3", "4,5")),
        ("y = MatMul (a, b)", ("3", "4")),
        ("y = Concat <axis: int = 0> (a, b)", ("2,3", "4,5")),
        ("y = Reshape (a, s)", ("2,3", "7")),
        ("y = Expand (a, s)", ("2,3", "7")),
        ("y = Gemm (a, b)", ("3", "4")),
        ("y = Gather (a, s)", ("7",)),
        ("y = Squeeze (a, zero)", ("squeeze",)),
        ("y = Split <num_outputs: int = 1> (a, s)", ("split",)),
    ],
)
@pytest.mark.parametrize("known", [True, False], ids=["shapes in the file", "shapes from the feeds"])
def test_operands_that_do_not_fit(line, words, known):
    a, b = ("float[2, 3]", "float[4, 5]") if known else ("float[p, q]", "float[r, s]")
    text = f"""
    main ({a} a, {b} b) => (float[] y) {{
      s = Constant <value_ints: ints = [7]> ()
      zero = Constant <value_ints: ints = [0]> ()
      [clash] {line}
    }}"""
    feeds = {"a": np.ones((2, 3), np.float32), "b": np.ones((4, 5), np.float32)}
    with refused(rondel.CallerError, "clash", *words):
        run(text, feeds)


def test_integer_division_by_zero_names_the_node():
    text = "main (int64[n] x, int64[n] z) => (int64[n] y) { [share] y = Div (x, z) }"
    with refused(rondel.CallerError, "share", "zero"):
        run(text, {"x": i64(1, 2), "z": i64(1, 0)})
    least = np.iinfo(np.int64).min
    assert run(text, {"x": i64(least), "z": i64(-1)})[0].tolist() == [least]


def test_a_node_that_fails_while_constants_fold_is_named_though_its_like_came_before():
    text = """main (int64[2] x) => (int64[2] y) {
      two = Constant <value: tensor = int64[2] {2, 2}> ()
      none = Constant <value: tensor = int64[2] {2, 0}> ()
      [fine] p = Div (two, two)
      [broken] q = Div (two, none)
      r = Add (p, q)
      y = Add (x, r)
    }"""
    with refused(rondel.CallerError, "broken", "zero"):
        run(text, {"x": i64(1, 2)})


# ---- where it happened -----------------------------------------------------------------------------------

NESTED = """
main (int64 n, int64[k] at, float[3] table) => (float[] y, float[] last) {
  zero = Constant <value: tensor = float {0}> ()
  [outer] last, y = Loop (n, , zero) <
    body: graph = body (int64 i, bool go, float a) => (bool on, float b, float item) {
      on = Identity (go)
      three = Constant <value: tensor = int64 {3}> ()
      [inner] b = Loop (three, , a) <
        body: graph = within (int64 j, bool go2, float c) => (bool on2, float d) {
          on2 = Identity (go2)
          [where] t = Add (i, j)
          [which] index = Gather (at, t)
          [pick] e = Gather (table, index)
          d = Add (c, e)
        }
      >
      item = Identity (b)
    }
  >
}"""


@pytest.mark.parametrize("jit", [True, False])
def test_an_error_carries_its_nodes_and_trips(jit):
    s = session(NESTED, options=options(jit=jit))
    feeds = {"n": scalar(4), "at": i64(0, 1, 2, 1, 7, 0), "table": f32(1, 2, 3)}
    for _ in range(3):  # native code may take over between runs
        with pytest.raises(rondel.CallerError) as caught:
            s.run(None, feeds)
        e = caught.value
        assert e.frames == (("node 'outer' (Loop)", 2), ("node 'inner' (Loop)", 2), ("node 'pick' (Gather)", None))
        assert e.node == "node 'pick' (Gather)" and e.trips == (2, 2)
        assert e.message.startswith("index 7 is out of range")
        assert str(e) == f"node 'outer' (Loop), trip 2: node 'inner' (Loop), trip 2: node 'pick' (Gather): {e.message}"


def test_an_error_of_the_import_carries_its_node():
    with pytest.raises(rondel.CallerError) as caught:
        session("main (float[2] x, float[3] z) => (float[] y) { [clash] y = Add (x, z) }")
    assert caught.value.frames == (("node 'clash' (Add)", None),)
    assert caught.value.node == "node 'clash' (Add)" and caught.value.trips == ()
    assert not caught.value.message.startswith("node")


def test_an_error_about_no_place_has_no_frames():
    with pytest.raises(rondel.CallerError) as caught:
        session(GOOD).run(None, {})
    assert (caught.value.frames, caught.value.node, caught.value.trips) == ((), None, ())
    assert caught.value.message == str(caught.value)
    made_here = rondel.CallerError("text")
    assert (made_here.frames, made_here.message) == ((), "text")


# ---- sizes ----------------------------------------------------------------------------------------------

STACKED = """
main (int64 n, float[2, 2] x) => (float[] y) {
  [pile] s, y = Loop (n, , x) <
    body: graph = body (int64 i, bool go, float[2, 2] a) => (bool on, float[2, 2] b, float[2, 2] item) {
      on = Identity (go)  b = Neg (a)  item = Abs (a)
    }
  >
}"""


@pytest.mark.parametrize("trips", [2**40, 2**58, 2**60, 2**61, 2**63 - 1])
@pytest.mark.parametrize("jit", [True, False])
def test_a_stack_too_large_for_any_memory_is_a_limit(trips, jit):
    s = session(STACKED, options=options(jit=jit, max_memory_bytes=2**33))
    with refused(rondel.LimitExceeded, "pile", ("bytes", "memory")):
        s.run(None, {"n": scalar(trips), "x": np.ones((2, 2), np.float32)})


TEXT = "x" * 100_000


@pytest.mark.parametrize(
    "text",
    [
        "main (string[1] s) => (string[] y) { n = Constant <value_ints: ints = [500]> ()  w = Expand (s, n)  [many] y = Concat <axis: int = 0> (w, w) }",
        "main (string[1] s) => (string[] y) { n = Constant <value_ints: ints = [1000]> ()  [many] y = Tile (s, n) }",
        """main (string[1] s) => (string[] y) {
          n = Constant <value_int: int = 1000> ()
          [many] m, y = Loop (n, , zero) < body: graph = body (int64 i, bool go, int64 k) => (bool on, int64 l, string[1] t) {
            on = Identity (go)  l = Identity (k)  t = Identity (s)
          } > }""",
        """main (string[1] s) => (string[] y) {
          [many] n, y = Loop (, yes, zero) < body: graph = body (int64 i, bool go, int64 k) => (bool on, int64 l, string[1] t) {
            l = Add (k, one)  on = Less (l, most)  t = Identity (s)
          } > }""",
        """main (string[1] s) => (seq(string[]) y) {
          n = Constant <value_ints: ints = [1000]> ()
          e = SequenceEmpty <dtype: int = 8> ()
          [many] big = Tile (s, n)
          y = SequenceInsert (e, big)
        }""",
    ],
    ids=["concat", "tile", "certain stack", "growing stack", "sequence"],
)
@pytest.mark.parametrize("jit", [True, False])
def test_the_memory_budget_counts_text(text, jit):
    made = model(text)
    made.graph.initializer.extend(
        [tensor("yes", np.array(True)), tensor("zero", scalar(0)), tensor("one", scalar(1)), tensor("most", scalar(1000))]
    )
    feeds = {"s": np.array([TEXT], dtype=object)}
    with refused(rondel.LimitExceeded, "many", "budget"):
        session(made, options=options(jit=jit, max_memory_bytes=10_000_000)).run(None, feeds)
    s = session(made, options=options(jit=jit, max_memory_bytes=250_000_000))
    for _ in range(3):  # each run returns its memory to the budget
        got = s.run(None, feeds)[-1]
        assert np.size(got) == 1000 and np.ravel(got)[-1] == TEXT


RESULTS = {
    "tensor": "main (float[n] x) => (float[n] y) { y = Neg (x) }",
    "strings": "main (string[n] x) => (string[n] y) { y = StringConcat (x, x) }",
    "stack": """main (float[n] x) => (float[m, n] y) <bool yes = {1}, float one = {1}, float two = {2}> {
      last, y = Loop ("", yes, x) <body = b (int64 i, bool go, float[n] v) => (bool on, float[n] w, float[n] item) {
        w = Add (v, one)  item = Neg (w)  at = ReduceMax <keepdims = 0> (w)  on = Less (at, two)
      }>
    }""",
}


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("jit", [True, False])
def test_results_that_are_kept_do_not_count_against_the_budget(name, jit):
    s = session(model(RESULTS[name], 21), options=options(jit=jit, max_memory_bytes=8_000_000))
    x = np.full(30_000, "x" * 20, object) if name == "strings" else np.zeros(300_000, np.float32)
    kept = [s.run(None, {"x": x})[0] for _ in range(20)]
    assert all(y.shape == kept[0].shape for y in kept)
    del kept
    s.run(None, {"x": x})
    with refused(rondel.LimitExceeded, "budget"):
        s.run(None, {"x": np.repeat(x, 12)})


# ---- feeds ----------------------------------------------------------------------------------------------


def test_missing_input():
    with refused(rondel.CallerError, "shift", "missing"):
        session(GOOD).run(None, {"features": FEEDS["features"]})


def test_no_inputs_at_all():
    with refused(rondel.CallerError, "features"):
        session(GOOD).run(None, {})


def test_extra_feed():
    with refused(rondel.CallerError, "featurs", "features"):
        session(GOOD).run(None, {**FEEDS, "featurs": FEEDS["features"]})


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.bool_, np.complex64])
def test_wrong_dtype(dtype):
    names = {"float64": ("float64", "f64", "double"), "bool": ("bool",), "int32": ("int32", "i32")}
    got = names.get(np.dtype(dtype).name, ("complex64", "c64"))
    with refused(rondel.CallerError, "features", got, ("float32", "f32", "float")):
        session(GOOD).run(None, {**FEEDS, "features": np.ones((2, 3), dtype)})


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 1), (3, 2)])
def test_wrong_shape(shape):
    dense = str(list(shape)).replace(" ", "")
    with refused(rondel.CallerError, "features", (dense, "rank", "extent")):
        session(GOOD).run(None, {**FEEDS, "features": np.ones(shape, np.float32)})


def test_one_symbol_two_extents():
    text = "main (float[n] a, float[n] b) => (float[n] y) { [sum] y = Add (a, b) }"
    with refused(rondel.CallerError, ("n", "sum"), "2", "3"):
        run(text, {"a": f32(1, 2), "b": f32(1, 2, 3)})


@pytest.mark.parametrize("wrong", ["text", {"a": 1}, object(), None])
def test_a_feed_that_is_no_tensor(wrong):
    with pytest.raises((rondel.CallerError, TypeError)):
        session(GOOD).run(None, {**FEEDS, "features": wrong})


def test_a_list_for_a_tensor_input_of_ragged_rows():
    with pytest.raises((ValueError, TypeError)):
        session(GOOD).run(None, {**FEEDS, "features": [[1.0, 2.0], [3.0]]})


def test_a_tensor_for_a_sequence_input():
    text = "main (seq(float[n]) q) => (int64 y) { y = SequenceLength (q) }"
    assert run(text, {"q": [f32(1), f32(2)]})[0] == 2
    with pytest.raises((rondel.CallerError, TypeError)):
        run(text, {"q": scalar(3, np.float32)})
    with pytest.raises((rondel.CallerError, TypeError)):
        run(text, {"q": [f32(1), i64(2)]})


def test_none_for_an_input_that_is_not_optional():
    with pytest.raises((rondel.CallerError, TypeError)):
        session(GOOD).run(None, {**FEEDS, "shift": None})


def test_unknown_output_name():
    with refused(rondel.CallerError, "nothing"):
        session(GOOD).run(["nothing"], FEEDS)


def test_a_session_outlives_a_bad_run():
    s = session(GOOD)
    for bad in ({}, {**FEEDS, "features": f32(1)}):
        with pytest.raises(rondel.CallerError):
            s.run(None, bad)
    np.testing.assert_array_equal(s.run(None, FEEDS)[0], np.full((2, 3), 2, np.float32))


def test_feeds_are_never_written():
    x = np.ones((2, 3), np.float32)
    x.setflags(write=False)
    session(GOOD).run(None, {**FEEDS, "features": x})
    assert (x == 1).all()


# ---- depth ----------------------------------------------------------------------------------------------


def nested_if(levels):
    def branch(level):
        if level == 0:
            node = helper.make_node("Neg", ["x"], ["r0"])
        else:
            inner = branch(level - 1)
            node = helper.make_node("If", ["c"], [f"r{level}"], then_branch=inner, else_branch=inner)
        return helper.make_graph([node], f"g{level}", [], [value(f"r{level}", TensorProto.FLOAT, [2])])

    graph = branch(levels)
    graph.input.extend([value("c", TensorProto.BOOL, []), value("x", TensorProto.FLOAT, [2])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def test_nesting_loads_or_is_refused_in_reasonable_time():
    np.testing.assert_array_equal(
        run(nested_if(6), {"c": np.array(True), "x": f32(1, 2)})[0],
        f32(-1, -2),
    )


def field(number, payload):
    """An encoded length-delimited protobuf field: the protobuf package refuses messages nested this deep."""
    length, size = b"", len(payload)
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + payload


@pytest.mark.parametrize("levels", [20, 100, 1000, 4000])
def test_very_deep_nesting_never_crashes(levels):
    # One branch nests, the other is flat: the size stays linear in the depth.
    shell = helper.make_graph([], "g", [], [value("r", TensorProto.FLOAT, [2])]).SerializeToString()
    flat = field(1, helper.make_node("Neg", ["x"], ["r"]).SerializeToString()) + shell
    is_graph = bytes([20 << 3 & 127 | 128, 20 >> 4, 5])  # AttributeProto.type = GRAPH
    other = field(5, field(1, b"else_branch") + field(6, flat) + is_graph)
    nested = flat
    for _ in range(levels):
        attribute = field(5, field(1, b"then_branch") + field(6, nested) + is_graph)
        node = field(1, b"c") + field(2, b"r") + field(4, b"If") + attribute + other
        nested = field(1, node) + shell
    inputs = b"".join(
        field(11, v.SerializeToString()) for v in (value("c", TensorProto.BOOL, []), value("x", TensorProto.FLOAT, [2]))
    )
    header = helper.make_model(onnx.GraphProto(), opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    header.ClearField("graph")
    whole = header.SerializeToString() + field(7, nested + inputs)
    try:
        (r,) = rondel.InferenceSession(whole).run(None, {"c": np.array(True), "x": f32(1, 2)})
    except rondel.InternalError as error:
        pytest.fail(f"blamed on ourselves: {error}")
    except rondel.Error:
        assert levels > 20, "twenty levels are what people write"
    else:
        np.testing.assert_array_equal(r, f32(-1, -2))


def test_a_shape_too_large_for_any_memory():
    text = """
    main (int64[k] shape) => (float[] y) { [vast] y = ConstantOfShape (shape) }"""
    with pytest.raises((rondel.CallerError, rondel.LimitExceeded)):
        run(text, {"shape": i64(2**40, 2**40)})
    with pytest.raises((rondel.CallerError, rondel.LimitExceeded)):
        run(text, {"shape": i64(-1)})


def test_memory_budget_bounds_one_value():
    text = "main (int64[k] shape) => (float[] y) { [vast] y = ConstantOfShape (shape) }"
    limited = rondel.SessionOptions()
    limited.max_memory_bytes = 1 << 20
    assert run(text, {"shape": i64(1000)}, options=limited)[0].shape == (1000,)
    with refused(rondel.LimitExceeded, "memory"):
        run(text, {"shape": i64(1 << 24)}, options=limited)


def test_an_initializer_and_a_node_of_one_name():
    node = helper.make_node("Neg", ["x"], ["w"])
    made = make_model([node], [value("x", 1, [2])], [value("w", 1, [2])], [tensor("w", f32(1, 2))])
    with refused(rondel.CallerError, "w"):
        session(made)


def test_objects_that_are_no_text_are_named():
    model = parse_model("""<ir_version: 8, opset_import: ["": 17]> g (float[n] a) => (float[n] y) { y = Abs (a) }""")
    with pytest.raises(rondel.CallerError, match="'a' holds a object"):
        rondel.InferenceSession(model).run(None, {"a": np.array([object()], dtype=object)})


def test_a_tensor_without_elements_takes_no_time_however_large_its_other_extents():
    model = parse_model(
        """<ir_version: 8, opset_import: ["": 17]> g (int64[3] s) => (float[a, b, c] y) { y = ConstantOfShape (s) }"""
    )
    (y,) = rondel.InferenceSession(model).run(None, {"s": np.array([2**40, 2**20, 0])})
    assert y.shape == (2**40, 2**20, 0)


def test_a_range_longer_than_any_tensor_is_refused():
    model = parse_model(
        """<ir_version: 8, opset_import: ["": 17]> g (int64 a, int64 b, int64 d) => (int64[n] y) { y = Range (a, b, d) }"""
    )
    feeds = {"a": np.int64(-(2**63)), "b": np.int64(2**63 - 1), "d": np.int64(1)}
    with pytest.raises(rondel.CallerError, match="more elements than any tensor has"):
        rondel.InferenceSession(model).run(None, feeds)


def test_a_window_too_large_to_reckon_with_is_refused():
    model = parse_model(
        """<ir_version: 8, opset_import: ["": 17]> g (float[1,1,5] x, float[1,1,2] w) => (float[a,b,c] y) {
        y = Conv <pads = [9223372036854775807, 0]> (x, w) }"""
    )
    with pytest.raises(rondel.CallerError, match="pads has 9223372036854775807"):
        rondel.InferenceSession(model).run(None, {"x": np.zeros((1, 1, 5), "f"), "w": np.zeros((1, 1, 2), "f")})


def test_a_deadline_ends_one_large_program():
    model = parse_model(
        """<ir_version: 8, opset_import: ["": 17]> g (float[n] a) => (float[n] y) {
        b = Sin (a) c = Exp (b) d = Tanh (c) e = Cos (d) f = Sin (e) y = Exp (f) }"""
    )
    options = rondel.RunOptions()
    options.deadline = 0.02
    with pytest.raises(rondel.DeadlineExceeded):
        rondel.InferenceSession(model).run(None, {"a": np.ones(30_000_000, np.float32)}, options)


def test_constants_that_grow_are_left_to_a_run_and_its_budget():
    """Concatenating a constant with itself doubles it; after 28 times it has a gigabyte."""
    nodes = " ".join(f"t{k + 1} = Concat <axis = 0> (t{k}, t{k})" for k in range(28))
    model = parse_model(f"""<ir_version: 9, opset_import: ["": 18]>
        g () => (float[n] y) {{ t0 = Constant <value_floats = [1.0]> () {nodes} y = Identity (t28) }}""")
    options = rondel.SessionOptions()
    options.max_memory_bytes = 1 << 24
    session = rondel.InferenceSession(model, options)
    with pytest.raises(rondel.LimitExceeded, match="memory budget"):
        session.run(None, {})
