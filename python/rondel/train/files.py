"""The files that a trainer writes, each completely or not at all: a model with new weights, and the state of a trainer."""

import json
import os
import shutil

import numpy as np

from ..errors import CallerError
from ..option_checks import path_text
from ..replacing import are_one_file, replacing, replacing_together
from .model import all_tensors, clear_data, little_endian, parsed


def checked_path(what, path):
    try:
        return path_text(path)
    except (TypeError, ValueError):
        raise CallerError(f"train: {what} is {path!r}; expected a path") from None


def write_model(model, arrays, to):
    """Writes the model's file with new values of some initializers; everything else is unchanged. to: None replaces the file.

    External data stay external: in the same file, or, if the model is written to another path, in `to` + ".data". Raises CallerError
    if the model's file no longer has these initializers.
    """
    import onnx

    if to is None and model.path is None:
        raise CallerError("train: the model was not given as a path; name a file in write_model(path)")
    to = model.path if to is None else to
    proto = parsed(model.path) if model.path else onnx.ModelProto.FromString(model.proto.SerializeToString())
    external = _ExternalData(proto, model.folder or os.path.dirname(os.path.abspath(to)))
    tensors = {tensor.name: tensor for tensor in proto.graph.initializer}
    for name, array in arrays.items():
        tensor = _as_it_was(model, tensors.get(name), name)
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            external.change(tensor, little_endian(array))
        else:
            clear_data(tensor)
            tensor.raw_data = little_endian(array)
    same = model.path is not None and are_one_file(model.path, to)
    with replacing_together() as opened:
        external.write(None if same else to, opened)
        with opened(to) as file:
            file.write(proto.SerializeToString())


def _as_it_was(model, tensor, name):
    """A tensor of the model's file, if it is still that of initializer `name` when the trainer was made."""
    known = model.initializers[name]
    if tensor is None or (tensor.data_type, tensor.dims) != (known.data_type, known.dims):
        what = "no initializer" if tensor is None else "another dtype or shape of initializer"
        raise CallerError(f"train: '{model.path}' has changed since the trainer was made: it has {what} {name!r}; put the model back, and write again")
    return tensor


def _source(path):
    try:
        return open(path, "rb")
    except OSError as error:
        raise CallerError(f"train: the external data '{path}' cannot be read: {error.strerror or error}") from error


class _ExternalData:
    """The files that hold a model's external data, and the changes to them."""

    def __init__(self, proto, folder):
        self.folder = os.path.realpath(folder)
        self.tensors = {}  # by location
        for tensor in all_tensors(proto):
            if tensor.data_location == tensor.EXTERNAL:
                self.tensors.setdefault(self._entry(tensor, "location"), []).append(tensor)
        self.changes = {location: [] for location in self.tensors}

    @staticmethod
    def _entry(tensor, key, otherwise=None):
        return next((e.value for e in tensor.external_data if e.key == key), otherwise)

    def change(self, tensor, data):
        self.changes[self._entry(tensor, "location")].append((int(self._entry(tensor, "offset", 0)), data))

    def write(self, model, opened):
        """Writes the data into the same files (model: None), or beside the file `model`; the tensors then refer to the new files.
        opened: of `replacing_together`."""
        for k, (location, changes) in enumerate(self.changes.items()):
            old = os.path.realpath(os.path.join(self.folder, location))
            if os.path.commonpath([old, self.folder]) != self.folder:
                raise CallerError(f"train: the external data {location!r} are outside of the model's folder")
            new = old if model is None else f"{model}.data{k or ''}"
            if model is not None and os.path.realpath(new) in self._files():
                raise CallerError(f"train: '{new}' holds data of the model that is trained; write to another name")
            if model is None and not changes:
                continue
            self._copy(old, new, changes, opened)
            self._rename(location, os.path.basename(new) if model is not None else location)

    def _files(self):
        return {os.path.realpath(os.path.join(self.folder, location)) for location in self.tensors}

    def _copy(self, old, new, changes, opened):
        with _source(old) as source, opened(new) as file:
            shutil.copyfileobj(source, file)
            for offset, data in changes:
                file.seek(offset)
                file.write(data)

    def _rename(self, location, to):
        """Sets the location of the tensors, and removes checksums of the old bytes."""
        for tensor in self.tensors[location]:
            for k in reversed(range(len(tensor.external_data))):
                if tensor.external_data[k].key == "checksum":
                    del tensor.external_data[k]
                elif tensor.external_data[k].key == "location":
                    tensor.external_data[k].value = to


def save_state(path, arrays, facts):
    """Writes arrays by name, and facts (a dict for JSON), to an .npz file."""
    index = json.dumps({"format": 1, "names": list(arrays), **facts})
    numbered = {str(k): array for k, array in enumerate(arrays.values())}
    with replacing(path) as file:
        np.savez(file, index=np.frombuffer(index.encode(), np.uint8), **numbered)


def load_state(path):
    """(arrays by name, facts) from a file that save_state wrote."""
    try:
        with np.load(path, allow_pickle=False) as file:
            facts = json.loads(file["index"].tobytes())
            if facts["format"] != 1:
                raise CallerError(f"train: the format of '{path}' is {facts['format']!r}; 1 is known here")
            facts = {"optimizer": str(facts["optimizer"]), "seed": int(facts["seed"]), "epochs": int(facts["epochs"]), "names": facts["names"]}
            return {name: file[str(k)] for k, name in enumerate(facts["names"])}, facts
    except CallerError:
        raise
    except OSError as error:
        raise CallerError(f"train: '{path}' cannot be read: {error.strerror or error}") from error
    except Exception as error:  # zipfile, zlib, NumPy and json each have their own for what is damaged
        raise CallerError(f"train: '{path}' is no file that Trainer.save wrote") from error
