"""The files that a trainer writes, each completely or not at all: a model with new weights, and the state of a trainer."""

import json
import os
import shutil
import zipfile

import numpy as np

from ..errors import CallerError
from ..option_checks import path_text
from ..replacing import are_one_file, replacing
from .model import clear_data


def checked_path(what, path):
    try:
        return path_text(path)
    except (TypeError, ValueError):
        raise CallerError(f"train: {what} is {path!r}; expected a path") from None


def write_model(model, arrays, to):
    """Writes the model's file with new values of some initializers; everything else is unchanged. to: None replaces the file.

    External data stay external: in the same file, or, if the model is written to another path, in `to` + ".data".
    """
    import onnx

    if to is None and model.path is None:
        raise CallerError("train: the model was not given as a path; name a file in write_model(path)")
    to = model.path if to is None else to
    proto = onnx.load(model.path, load_external_data=False) if model.path else onnx.ModelProto.FromString(model.proto.SerializeToString())
    external = _ExternalData(proto, os.path.dirname(os.path.abspath(model.path or to)))
    for tensor in proto.graph.initializer:
        if tensor.name in arrays:
            data = onnx.numpy_helper.from_array(arrays[tensor.name]).raw_data
            if tensor.data_location == onnx.TensorProto.EXTERNAL:
                external.change(tensor, data)
            else:
                _set_data(tensor, data)
    same = model.path is not None and are_one_file(model.path, to)
    external.write(None if same else to)
    with replacing(to) as file:
        file.write(proto.SerializeToString())


def _set_data(tensor, data):
    clear_data(tensor)
    tensor.raw_data = data


def _all_tensors(proto):
    def of_nodes(nodes):
        for node in nodes:
            for attribute in node.attribute:
                yield from ([attribute.t] if attribute.HasField("t") else [])
                yield from attribute.tensors
                for graph in [attribute.g, *attribute.graphs]:
                    yield from graph.initializer
                    yield from of_nodes(graph.node)

    yield from proto.graph.initializer
    yield from of_nodes(proto.graph.node)
    for function in proto.functions:
        yield from of_nodes(function.node)


class _ExternalData:
    """The files that hold a model's external data, and the changes to them."""

    def __init__(self, proto, folder):
        self.folder = os.path.realpath(folder)
        self.tensors = {}  # by location
        for tensor in _all_tensors(proto):
            if tensor.data_location == tensor.EXTERNAL:
                self.tensors.setdefault(self._entry(tensor, "location"), []).append(tensor)
        self.changes = {location: [] for location in self.tensors}

    @staticmethod
    def _entry(tensor, key, otherwise=None):
        return next((e.value for e in tensor.external_data if e.key == key), otherwise)

    def change(self, tensor, data):
        self.changes[self._entry(tensor, "location")].append((int(self._entry(tensor, "offset", 0)), data))

    def write(self, model):
        """Writes the data into the same files (model: None), or beside the file `model`; the tensors then refer to the new files."""
        for k, (location, changes) in enumerate(self.changes.items()):
            old = os.path.realpath(os.path.join(self.folder, location))
            if os.path.commonpath([old, self.folder]) != self.folder:
                raise CallerError(f"train: the external data {location!r} are outside of the model's folder")
            new = old if model is None else f"{model}.data{k or ''}"
            if model is not None and os.path.realpath(new) in self._files():
                raise CallerError(f"train: '{new}' holds data of the model that is trained; write to another name")
            if model is None and not changes:
                continue
            self._copy(old, new, changes)
            self._rename(location, os.path.basename(new) if model is not None else location)

    def _files(self):
        return {os.path.realpath(os.path.join(self.folder, location)) for location in self.tensors}

    def _copy(self, old, new, changes):
        with open(old, "rb") as source, replacing(new) as file:
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
    except OSError as error:
        raise CallerError(f"train: '{path}' cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise CallerError(f"train: '{path}' is no file that Trainer.save wrote") from error
