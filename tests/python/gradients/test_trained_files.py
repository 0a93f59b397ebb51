"""rondel.train: runs that are resumed, and trained weights that go back into the model's file."""

import os
import stat

import models
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper
from training_models import X, Y, linear

import rondel
from rondel import train


def test_a_resumed_run_is_the_same_bit_by_bit(tmp_path):
    data = {"x": X, "target": Y}

    def trainer(seed=4):
        return train.Trainer(linear(), "mse", train.Adam(0.05), seed=seed, schedule=lambda step: 1 / (1 + step))

    whole = trainer()
    losses = whole.fit(data, epochs=4, batch_size=5, progress=False)
    first = trainer()
    first.fit(data, epochs=2, batch_size=5, progress=False)
    first.save(tmp_path / "state")
    assert os.listdir(tmp_path) == ["state"]
    second = trainer(seed=9).resume(tmp_path / "state")
    assert second.steps == 6
    assert second.fit(data, epochs=2, batch_size=5, progress=False) == losses[2:]
    assert all(np.array_equal(x, second.parameters[name]) for name, x in whole.parameters.items())


def test_what_cannot_be_resumed(tmp_path):
    trainer = train.Trainer(linear(), "mse", "adam")
    trainer.save(tmp_path / "state")
    for other, message in [
        (train.Trainer(linear(), "mse", "sgd"), "saved with Adam; this trainer has SGD"),
        (train.Trainer(linear(), "mse", "adam", frozen="b"), "saved with other parameters: it lacks none and has 'b'"),
        (train.Trainer(linear(np.float64), "mse", "adam"), "as float32.*; expected float64"),
    ]:
        with pytest.raises(rondel.CallerError, match=message):
            other.resume(tmp_path / "state")
        assert other.steps == 0
    (tmp_path / "broken").write_bytes(b"PK\x03\x04 and no more")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    (tmp_path / "model.onnx").write_bytes(linear().SerializeToString())
    for name, message in [(n, "is no file that Trainer.save wrote") for n in ("broken", "other.npz", "model.onnx")] + [(n, "cannot be read") for n in ("missing", ".")]:
        with pytest.raises(rondel.CallerError, match=message):
            trainer.resume(tmp_path / name)


@pytest.mark.parametrize("at, value", [(6, 84), (8, 1), (10, 99), (10, 8), (10, 14)], ids=["version", "encrypted", "method", "deflated", "lzma"])
def test_damage_of_the_archive_is_named(at, value, tmp_path):
    """zipfile, zlib and lzma have errors of their own for it."""
    trainer = train.Trainer(linear(), "mse", "adam")
    trainer.save(tmp_path / "state")
    damaged = bytearray((tmp_path / "state").read_bytes())
    damaged[damaged.find(b"PK\1\2") + at] = value
    (tmp_path / "state").write_bytes(damaged)
    with pytest.raises(rondel.CallerError, match="state' is no file that Trainer.save wrote"):
        trainer.resume(tmp_path / "state")


def annotated(**more):
    proto = linear(producer_name="somebody", doc_string="a line", **more)
    proto.metadata_props.add(key="license", value="mine")
    proto.graph.node[0].name = "product"
    proto.graph.initializer[1].doc_string = "the bias"
    return proto


def without_weights(proto):
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for t in copy.graph.initializer:
        t.ClearField("raw_data"), t.ClearField("float_data"), t.ClearField("external_data")
    return copy


def check_written(path, trainer, original):
    onnx.checker.check_model(str(path), full_check=True)
    loaded = onnx.load(path, load_external_data=False)
    assert without_weights(loaded) == without_weights(original)
    ours = rondel.InferenceSession(path).run(None, {"x": X})[0]
    theirs = ort.InferenceSession(path).run(None, {"x": X})[0]
    assert np.array_equal(ours, trainer.predict({"x": X})[0])
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_weights_go_back_into_the_same_file(tmp_path):
    path = tmp_path / "linear.onnx"
    original = annotated()
    del original.graph.initializer[1]
    original.graph.initializer.append(helper.make_tensor("b", TensorProto.FLOAT, [2], [1.5, 2.5]))  # float_data
    onnx.save(original, path)
    os.chmod(path, 0o640)
    trainer = train.Trainer(path, "mse", "adam")
    trainer.fit({"x": X, "target": Y}, epochs=3, progress=False)
    trainer.write_model()
    check_written(path, trainer, original)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o640
    assert os.listdir(tmp_path) == ["linear.onnx"]
    trainer.step({"x": X, "target": Y})
    trainer.write_model(tmp_path / "other.onnx")
    check_written(tmp_path / "other.onnx", trainer, original)


def test_external_data_stay_external(tmp_path):
    path = tmp_path / "linear.onnx"
    onnx.save(annotated(), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    original = onnx.load(path, load_external_data=False)
    size = (tmp_path / "weights.bin").stat().st_size
    trainer = train.Trainer(path, "mse", "adam")
    trainer.fit({"x": X, "target": Y}, epochs=3, progress=False)
    trainer.write_model()
    check_written(path, trainer, original)
    assert sorted(os.listdir(tmp_path)) == ["linear.onnx", "weights.bin"]
    assert (tmp_path / "weights.bin").stat().st_size == size
    assert onnx.load(path, load_external_data=False) == original  # only the data file changed
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    for _ in range(2):  # the second time, the file is replaced
        trainer.write_model(folder / "copy.onnx")
        check_written(folder / "copy.onnx", trainer, original)
        assert sorted(os.listdir(folder)) == ["copy.onnx", "copy.onnx.data"]


def test_data_of_the_trained_model_are_not_overwritten_by_another_ones(tmp_path):
    path = tmp_path / "base.onnx"
    onnx.save(annotated(), path, save_as_external_data=True, location="m.onnx.data", size_threshold=0)
    before = (tmp_path / "m.onnx.data").read_bytes()
    trainer = train.Trainer(path, "mse", "adam")
    trainer.fit({"x": X, "target": Y}, epochs=1, progress=False)
    with pytest.raises(rondel.CallerError, match="m.onnx.data' holds data of the model that is trained"):
        trainer.write_model(tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx.data").read_bytes() == before and not (tmp_path / "m.onnx").exists()


@pytest.mark.parametrize("external", [False, True])
def test_a_file_that_has_changed_is_not_written(tmp_path, external):
    path = tmp_path / "linear.onnx"
    how = dict(save_as_external_data=True, location="weights.bin", size_threshold=0) if external else {}

    def save(proto):
        (tmp_path / "weights.bin").unlink(missing_ok=True)
        onnx.save(proto, path, **how)

    save(linear())
    trainer = train.Trainer(path, "mse", "adam")
    renamed, wider = linear(), linear()
    renamed.graph.initializer[0].name = renamed.graph.node[0].input[1] = "v"
    wider.graph.initializer[1].CopyFrom(helper.make_tensor("b", TensorProto.FLOAT, [1, 2], [0, 0]))
    other = "another dtype or shape of initializer"
    for changed, message in ((renamed, "no initializer 'w'"), (wider, f"{other} 'b'"), (linear(np.float64), f"{other} 'w'")):
        save(changed)
        before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
        for to in (None, tmp_path / "other.onnx"):
            with pytest.raises(rondel.CallerError, match=f"has changed since the trainer was made: it has {message}"):
                trainer.write_model(to)
        assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before
    path.unlink()
    with pytest.raises(rondel.CallerError, match="linear.onnx' cannot be read"):
        trainer.write_model(tmp_path / "other.onnx")


def test_lost_external_data_are_an_error_that_names_them(tmp_path):
    onnx.save(linear(), tmp_path / "linear.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    trainer = train.Trainer(tmp_path / "linear.onnx", "mse", "adam")
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(rondel.CallerError, match="the external data '.*weights.bin' cannot be read"):
        trainer.write_model(tmp_path / "other.onnx")
    with pytest.raises(rondel.CallerError, match="the external data of the model cannot be read"):
        train.Trainer(tmp_path / "linear.onnx", "mse", "adam")
    assert os.listdir(tmp_path) == ["linear.onnx"]


@pytest.mark.parametrize("suffix", ["onnxtxt", "json", "txtpb"])
@pytest.mark.filterwarnings("ignore:The onnxtxt format is experimental")
def test_texts_of_models_are_refused_and_suffixes_mean_nothing(tmp_path, suffix):
    path = tmp_path / f"linear.{suffix}"
    onnx.save(linear(), path)
    before = path.read_bytes()
    with pytest.raises(rondel.CallerError, match="cannot be read"):
        train.Trainer(path, "mse", "adam")
    assert path.read_bytes() == before
    path.write_bytes(linear().SerializeToString())
    trainer = train.Trainer(path, "mse", "adam")
    trainer.step({"x": X, "target": Y})
    trainer.write_model()
    assert np.array_equal(rondel.InferenceSession(path.read_bytes()).run(None, {"x": X})[0], trainer.predict({"x": X})[0])


def test_external_data_of_bytes_need_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    onnx.save(linear(), "linear.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    data = (tmp_path / "linear.onnx").read_bytes()
    for model in (data, onnx.load_model_from_string(data)):
        with pytest.raises(rondel.CallerError, match="tensor 'w' has external data; .* set external_data_dir in sess_options"):
            train.Trainer(model, "mse", "adam")
        trainer = train.Trainer(model, "mse", "adam", sess_options=models.options(external_data_dir=str(tmp_path)))
        trainer.step({"x": X, "target": Y})
        trainer.write_model("written.onnx")
        assert np.array_equal(rondel.InferenceSession("written.onnx").run(None, {"x": X})[0], trainer.predict({"x": X})[0])


def test_external_data_in_another_folder(tmp_path):
    onnx.save(linear(), tmp_path / "linear.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    (tmp_path / "data").mkdir()
    (tmp_path / "weights.bin").rename(tmp_path / "data" / "weights.bin")
    options = models.options(external_data_dir=str(tmp_path / "data"))
    trainer = train.Trainer(tmp_path / "linear.onnx", "mse", "adam", sess_options=options)
    trainer.step({"x": X, "target": Y})
    trainer.write_model()
    assert np.array_equal(rondel.InferenceSession(tmp_path / "linear.onnx", options).run(None, {"x": X})[0], trainer.predict({"x": X})[0])
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["data", "linear.onnx", "weights.bin"]


def test_a_model_that_cannot_be_written_leaves_no_data(tmp_path):
    onnx.save(linear(), tmp_path / "linear.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    trainer = train.Trainer(tmp_path / "linear.onnx", "mse", "adam")
    (tmp_path / "d").mkdir()
    with pytest.raises(rondel.CallerError, match="d' cannot be written: it is a folder"):
        trainer.write_model(tmp_path / "d")
    assert sorted(os.listdir(tmp_path)) == ["d", "linear.onnx", "weights.bin"]


def test_a_file_that_cannot_be_written_is_left(tmp_path):
    path = tmp_path / "linear.onnx"
    onnx.save(linear(), path)
    before = path.read_bytes()
    trainer = train.Trainer(path, "mse", "adam")
    trainer.step({"x": X, "target": Y})
    with pytest.raises(rondel.CallerError, match="cannot be written"):
        trainer.write_model(tmp_path / "missing" / "linear.onnx")
    with pytest.raises(rondel.CallerError, match="cannot be written"):
        trainer.save(tmp_path / "missing" / "state")
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["linear.onnx"]
    with pytest.raises(rondel.CallerError, match="was not given as a path; name a file"):
        train.Trainer(linear(), "mse", "adam").write_model()
