"""The tensor loader: every tensor of every kind is checked the same way before a byte of it is read.

A tensor reaches the engine as an initializer, a sparse initializer, a Constant's attribute, inside a body,
inside a local function, or from a file beside the model. Each fault below is tried in each place.
"""

import math
import os

import numpy as np
import onnx
import pytest
import rondel
from models import f32, make_model, options, refused, same, session, value
from onnx import TensorProto, helper

GOOD = f32(1, 2, 3, 4, 5, 6)


def float_tensor(raw=None, dims=(6,), name="w"):
    made = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=dims)
    made.raw_data = GOOD.tobytes() if raw is None else raw
    return made


def constant(attribute_tensor, output="w"):
    return helper.make_node("Constant", [], [output], value=attribute_tensor)


def add_x(weight="w", output="y"):
    """y = x + sum(tensor): valid for any shape of the tensor."""
    return [
        helper.make_node("ReduceSum", [weight], ["sum"], name="summing", keepdims=0),
        helper.make_node("Add", ["x", "sum"], [output], name="adding"),
    ]


X, Y = value("x", TensorProto.FLOAT, [1]), value("y", TensorProto.FLOAT, [1])


def as_initializer(t):
    return make_model(add_x(), [X], [Y], [t])


def as_attribute(t):
    return make_model([constant(t), *add_x()], [X], [Y])


def as_initializer_of_a_body(t):
    then = helper.make_graph(add_x(output="r"), "then", [], [value("r", TensorProto.FLOAT, [1])], [t])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["q"])], "else", [], [value("q", TensorProto.FLOAT, [1])])
    always = helper.make_node("Constant", [], ["c"], value=helper.make_tensor("c", TensorProto.BOOL, [], [True]))
    branch = helper.make_node("If", ["c"], ["y"], name="branch", then_branch=then, else_branch=other)
    return make_model([always, branch], [X], [Y])


def as_attribute_in_a_body(t):
    body = helper.make_graph(
        [constant(t), *add_x("w", "t")],
        "body",
        [value("i", TensorProto.INT64, []), value("go", TensorProto.BOOL, []), value("x", TensorProto.FLOAT, [1])],
        [value("go", TensorProto.BOOL, []), value("t", TensorProto.FLOAT, [1])],
    )
    trips = helper.make_node("Constant", [], ["m"], value_int=1)
    loop = helper.make_node("Loop", ["m", "", "x"], ["y"], name="once", body=body)
    return make_model([trips, loop], [X], [Y])


def as_attribute_in_a_function(t):
    function = helper.make_function(
        "local", "AddSum", ["x"], ["y"], [constant(t), *add_x()], [helper.make_opsetid("", 21)]
    )
    call = helper.make_node("AddSum", ["x"], ["y"], domain="local")
    return make_model([call], [X], [Y], functions=[function], domains={"local": 1})


def as_sparse_values(t):
    values = TensorProto()
    values.CopyFrom(t)
    count = math.prod(max(d, 0) for d in t.dims)
    indices = helper.make_tensor("i", TensorProto.INT64, [min(count, 64)], range(min(count, 64)))
    sparse = onnx.SparseTensorProto(values=values, indices=indices, dims=[64])
    return make_model(add_x(), [X], [Y], sparse_initializer=[sparse])


def as_sparse_attribute(t):
    sparse = as_sparse_values(t).graph.sparse_initializer[0]
    node = helper.make_node("Constant", [], ["w"])
    node.attribute.append(
        onnx.AttributeProto(name="sparse_value", type=onnx.AttributeProto.SPARSE_TENSOR, sparse_tensor=sparse)
    )
    return make_model([node, *add_x()], [X], [Y])


def as_overridable_input(t):
    dims = list(t.dims)
    return make_model(add_x(), [X, value("w", TensorProto.FLOAT, dims)], [Y], [t])


PLACES = [
    as_initializer,
    as_attribute,
    as_initializer_of_a_body,
    as_attribute_in_a_body,
    as_attribute_in_a_function,
    as_sparse_values,
    as_sparse_attribute,
    as_overridable_input,
]
every_place = pytest.mark.parametrize("place", PLACES, ids=lambda p: p.__name__)


def loaded(made, **session_options):
    return session(made, options=options(**session_options) if session_options else None)


# ---- data inside the model ------------------------------------------------------------------------------


@every_place
def test_a_good_tensor(place):
    same(loaded(place(float_tensor())).run(None, {"x": f32(1)})[0], f32(22))


@every_place
@pytest.mark.parametrize("raw", [b"", b"\0" * 4, b"\0" * 23, b"\0" * 25, b"\0" * 28, b"\0" * 4096])
def test_bytes_present_are_bytes_needed(place, raw):
    with refused(rondel.CallerError, "24", str(len(raw))):
        loaded(place(float_tensor(raw)))


@every_place
def test_fewer_and_more_typed_values_than_needed(place):
    for count in (0, 5, 7):
        made = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[6], float_data=[1.0] * count)
        with refused(rondel.CallerError, "6", str(count)):
            loaded(place(made))


@every_place
def test_typed_values_in_the_wrong_field(place):
    made = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[6], int64_data=[1] * 6)
    with refused(rondel.CallerError):
        loaded(place(made))


@every_place
def test_two_kinds_of_data_at_once(place):
    made = float_tensor()
    made.float_data.extend(GOOD)
    with refused(rondel.CallerError):
        loaded(place(made))


@every_place
@pytest.mark.parametrize("dims", [(-1,), (-6, -1), (2, -3), (-(2**63),)])
def test_negative_extents(place, dims):
    with refused(rondel.CallerError, "negative"):
        loaded(place(float_tensor(dims=dims)))


@every_place
@pytest.mark.parametrize(
    "dims", [(2**62,), (2**32, 2**32), (2**31, 2**31, 4), (2**63 - 1, 2), (2**62, 2**62, 2**62), (2**61 + 1,)]
)
def test_extents_whose_product_overflows(place, dims):
    with pytest.raises((rondel.CallerError, rondel.LimitExceeded)):
        loaded(place(float_tensor(dims=dims)))
    with pytest.raises((rondel.CallerError, rondel.LimitExceeded)):
        loaded(place(float_tensor(dims=dims, raw=b"")))


def test_an_overflow_times_zero_is_no_tensor_of_no_elements_by_accident():
    # 2**32 * 2**32 wraps to 0; an actual extent of 0 is legal.
    with pytest.raises((rondel.CallerError, rondel.LimitExceeded)):
        loaded(as_initializer(float_tensor(b"", dims=(2**32, 2**32))))
    same(loaded(as_initializer(float_tensor(b"", dims=(2**31, 0)))).run(None, {"x": f32(1)})[0], f32(1))


@every_place
@pytest.mark.parametrize("dtype", [0, 99, -1])
def test_unknown_dtype(place, dtype):
    made = float_tensor()
    made.data_type = dtype
    with refused(rondel.CallerError):
        loaded(place(made))


@pytest.mark.parametrize(
    ("dtype", "dims", "raw_bytes", "needed"),
    [
        (TensorProto.INT4, [3], 3, 2),
        (TensorProto.UINT4, [4], 1, 2),
        (TensorProto.INT64, [2], 15, 16),
        (TensorProto.BOOL, [3], 2, 3),
        (TensorProto.FLOAT16, [3], 5, 6),
        (TensorProto.COMPLEX128, [1], 8, 16),
        (TensorProto.FLOAT8E4M3FN, [3], 4, 3),
    ],
)
def test_bytes_needed_by_dtype(dtype, dims, raw_bytes, needed):
    made = TensorProto(name="w", data_type=dtype, dims=dims, raw_data=b"\0" * raw_bytes)
    keep = helper.make_node("Identity", ["w"], ["y"])
    with refused(rondel.CallerError, "w", str(needed), str(raw_bytes)):
        loaded(make_model([keep], [], [value("y", dtype, dims)], [made]))


def test_raw_strings_are_refused():
    made = TensorProto(name="w", data_type=TensorProto.STRING, dims=[1], raw_data=b"abc")
    keep = helper.make_node("Identity", ["w"], ["y"])
    with refused(rondel.CallerError, "w", "string"):
        loaded(make_model([keep], [], [value("y", TensorProto.STRING, [1])], [made]))


# ---- sparse tensors -------------------------------------------------------------------------------------


def sparse_model(values, indices, index_dims, dims):
    sparse = onnx.SparseTensorProto(
        values=helper.make_tensor("w", TensorProto.FLOAT, [len(values)], values),
        indices=helper.make_tensor("i", TensorProto.INT64, index_dims, indices),
        dims=dims,
    )
    keep = helper.make_node("Identity", ["w"], ["y"])
    return make_model([keep], [], [value("y", TensorProto.FLOAT, dims)], sparse_initializer=[sparse])


def test_sparse_by_flat_and_by_coordinates():
    want = f32([0, 5, 0], [7, 0, 0])
    same(loaded(sparse_model([5, 7], [1, 3], [2], [2, 3])).run(None, {})[0], want)
    same(loaded(sparse_model([5, 7], [0, 1, 1, 0], [2, 2], [2, 3])).run(None, {})[0], want)
    same(loaded(sparse_model([], [], [0], [2, 3])).run(None, {})[0], np.zeros((2, 3), np.float32))


@pytest.mark.parametrize(
    ("values", "indices", "index_dims", "dims"),
    [
        ([5, 7], [1, 6], [2], [2, 3]),
        ([5, 7], [-1, 3], [2], [2, 3]),
        ([5, 7], [0, 1, 1, 3], [2, 2], [2, 3]),
        ([5, 7], [0, 1, 2, 0], [2, 2], [2, 3]),
        ([5, 7], [0, -1, 1, 0], [2, 2], [2, 3]),
        ([5, 7], [1], [1], [2, 3]),
        ([5, 7], [0, 1, 0, 1, 0, 0], [2, 3], [2, 3]),
        ([5, 7], [0, 1, 1, 0], [4, 1], [2, 3]),
        ([5, 7], [1, 2**62], [2], [2, 3]),
        ([5, 7], [3, 1], [2], [2, 3]),
        ([5, 7], [1, 1], [2], [2, 3]),
        ([5, 7], [1, 3], [2], [2, -3]),
        ([5, 7], [1, 3], [2], [2**32, 2**32]),
    ],
    ids=[
        "flat beyond",
        "flat negative",
        "column beyond",
        "row beyond",
        "column negative",
        "indices too few",
        "coordinates of another rank",
        "indices of another count",
        "flat far beyond",
        "not ascending",
        "twice",
        "negative extent",
        "product overflows",
    ],
)
def test_bad_sparse_indices(values, indices, index_dims, dims):
    with pytest.raises((rondel.CallerError, rondel.LimitExceeded)):
        loaded(sparse_model(values, indices, index_dims, dims)).run(None, {})


# ---- external data --------------------------------------------------------------------------------------


def external(location="weights.bin", dims=(6,), **keys):
    made = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=dims, data_location=TensorProto.EXTERNAL)
    for key, text in {"location": location, **keys}.items():
        made.external_data.add(key=key, value=str(text))
    return made


@pytest.fixture
def folder(tmp_path):
    """The folder of a model, with its weights, beside a folder with a secret."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "weights.bin").write_bytes(GOOD.tobytes())
    (home / "padded.bin").write_bytes(b"\xff" * 8 + GOOD.tobytes() + b"\xff" * 8)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "secret.bin").write_bytes(GOOD.tobytes())
    return home


def saved(folder, made):
    path = folder / "model.onnx"
    path.write_bytes(made.SerializeToString())
    return str(path)


EXTERNAL_PLACES = [p for p in PLACES if p not in (as_sparse_values, as_sparse_attribute)]
every_external_place = pytest.mark.parametrize("place", EXTERNAL_PLACES, ids=lambda p: p.__name__)


@every_external_place
@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"offset": 0, "length": 24},
        {"location": "padded.bin", "offset": 8, "length": 24},
        {"location": "./weights.bin"},
        {"checksum": "0" * 40},
    ],
    ids=["whole file", "offset and length", "within a file", "a dot", "checksum"],
)
def test_good_external_data(place, keys, folder):
    s = session(saved(folder, place(external(**keys))))
    same(s.run(None, {"x": f32(1)})[0], f32(22))


def test_external_data_in_a_folder_below(folder):
    (folder / "below").mkdir()
    (folder / "below" / "w.bin").write_bytes(GOOD.tobytes())
    same(session(saved(folder, as_initializer(external("below/w.bin")))).run(None, {"x": f32(1)})[0], f32(22))


def test_relative_path_to_the_model(folder, monkeypatch):
    saved(folder, as_initializer(external()))
    monkeypatch.chdir(folder)
    same(session("model.onnx").run(None, {"x": f32(1)})[0], f32(22))


@every_external_place
@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"location": "../secret/secret.bin"}, ("secret.bin",)),
        ({"location": "a/../../secret/secret.bin"}, ("secret.bin",)),
        ({"location": "./../secret/secret.bin"}, ("secret.bin",)),
        ({"location": ".."}, ("..",)),
        ({"location": "."}, ()),
        ({"location": ""}, ()),
        ({"location": "missing.bin"}, ("missing.bin",)),
        ({"location": "weights.bin\0.txt"}, ()),
        ({"offset": 1}, ()),
        ({"offset": 4, "length": 24}, ()),
        ({"offset": 24}, ()),
        ({"offset": -4, "length": 24}, ("offset",)),
        ({"offset": 2**63 - 8, "length": 24}, ()),
        ({"offset": 2**70}, ("offset",)),
        ({"offset": "four"}, ("offset",)),
        ({"offset": "4x"}, ("offset",)),
        ({"length": 20}, ()),
        ({"length": 28}, ()),
        ({"length": -24}, ("length",)),
        ({"length": 2**64 + 24}, ("length",)),
        ({"location": "padded.bin"}, ()),
        ({"colour": "red"}, ("colour",)),
        ({"offset ": 0}, ("offset",)),
        ({"location": "*/_ORT_MEM_ADDR_/*", "offset": 4096, "length": 24}, ()),
    ],
)
def test_bad_external_data(place, keys, words, folder):
    with refused(rondel.CallerError, *words):
        session(saved(folder, place(external(**keys))))


@every_external_place
def test_absolute_path(place, folder):
    for location in (folder.parent / "secret" / "secret.bin", folder / "weights.bin"):
        with refused(rondel.CallerError, location.name):
            session(saved(folder, place(external(str(location)))))


@every_external_place
def test_symlink_out(place, folder):
    os.symlink(folder.parent / "secret" / "secret.bin", folder / "link.bin")
    with refused(rondel.CallerError, "link.bin"):
        session(saved(folder, place(external("link.bin"))))


@every_external_place
def test_symlinked_parent_out(place, folder):
    os.symlink(folder.parent / "secret", folder / "sub")
    with refused(rondel.CallerError, "sub/secret.bin"):
        session(saved(folder, place(external("sub/secret.bin"))))


@every_external_place
def test_hardlink(place, folder):
    os.link(folder.parent / "secret" / "secret.bin", folder / "hard.bin")
    with refused(rondel.CallerError, "hard.bin"):
        session(saved(folder, place(external("hard.bin"))))


def test_a_pipe_or_folder_is_not_read(folder):
    os.mkfifo(folder / "pipe.bin")
    (folder / "inner").mkdir()
    for name in ("pipe.bin", "inner"):
        with refused(rondel.CallerError, name):
            session(saved(folder, as_initializer(external(name))))


def test_external_data_wanted_but_no_location(folder):
    made = external()
    del made.external_data[:]
    with refused(rondel.CallerError, "location"):
        session(saved(folder, as_initializer(made)))


def test_one_key_twice(folder):
    made = external()
    made.external_data.add(key="location", value="padded.bin")
    with refused(rondel.CallerError, "location"):
        session(saved(folder, as_initializer(made)))


def test_external_and_raw_data_at_once(folder):
    made = external()
    made.raw_data = GOOD.tobytes()
    with refused(rondel.CallerError, "w"):
        session(saved(folder, as_initializer(made)))


def test_external_strings_are_refused(folder):
    made = external()
    made.data_type = TensorProto.STRING
    keep = helper.make_node("Identity", ["w"], ["y"])
    with refused(rondel.CallerError, "w", "string"):
        session(saved(folder, make_model([keep], [], [value("y", TensorProto.STRING, [6])], [made])))


# ---- external data of models in memory ------------------------------------------------------------------


@pytest.mark.parametrize("form", ["bytes", "proto"])
def test_models_from_memory_need_a_folder(form, folder, monkeypatch):
    made = as_initializer(external())
    source = made.SerializeToString() if form == "bytes" else made
    monkeypatch.chdir(folder)  # the working directory is never searched
    with refused(rondel.CallerError, "external_data_dir"):
        session(source)
    same(loaded(source, external_data_dir=str(folder)).run(None, {"x": f32(1)})[0], f32(22))


@every_external_place
@pytest.mark.parametrize("location", ["../secret/secret.bin", "a/../../secret/secret.bin"])
def test_nothing_leads_out_of_a_given_folder_by_its_path(place, location, folder):
    with refused(rondel.CallerError, os.path.basename(location)):
        loaded(place(external(location)).SerializeToString(), external_data_dir=str(folder))


@pytest.mark.parametrize("link", [os.symlink, os.link], ids=["symlinks", "hard links"])
def test_a_given_folder_may_link_elsewhere(link, folder, tmp_path):
    # A download cache links names to a folder of blobs; a caller who passes the folder trusts it.
    cache = tmp_path / "cache"
    cache.mkdir()
    link(saved(folder, as_initializer(external())), cache / "model.onnx")
    link(folder / "weights.bin", cache / "weights.bin")
    path = str(cache / "model.onnx")
    same(loaded(path, external_data_dir=str(cache)).run(None, {"x": f32(1)})[0], f32(22))
    with refused(rondel.CallerError, "weights.bin", "external_data_dir"):
        session(path)


def test_a_given_folder_that_does_not_exist(folder):
    with refused(rondel.CallerError, "nowhere"):
        loaded(as_initializer(external()).SerializeToString(), external_data_dir=str(folder / "nowhere"))


def test_onnx_saves_external_data_that_loads(tmp_path):
    made = as_initializer(onnx.numpy_helper.from_array(GOOD, "w"))
    onnx.save(made, tmp_path / "big.onnx", save_as_external_data=True, size_threshold=0, location="big.data")
    same(session(str(tmp_path / "big.onnx")).run(None, {"x": f32(1)})[0], f32(22))
