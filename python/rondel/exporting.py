"""Models written as standard ONNX."""

import os

from . import _rondel
from .session import InferenceSession, model_source


class ExportReport:
    """What was written: opset, ir_version, op_counts, loops [(name, "Scan" or "Loop", why no Scan)], notes,
    bytes and external_bytes."""

    def __init__(self, found):
        self.__dict__.update(found)

    def __repr__(self):
        return f"ExportReport(opset={self.opset}, bytes={self.bytes}, loops={self.loops})"


def export(model, path=None, *, opset=None, external_data=False, compiled=False, sess_options=None):
    """Writes a model as standard ONNX that onnx's checker accepts.

    model: path, bytes, ModelProto, or an InferenceSession. path: the file to write; None: the model comes back as bytes.
    opset: of the written model; None: 21, or the least newer one that has all of the model's ops and types.
    external_data: True writes the initializers to `path` + ".data", as is done for models above 2 GiB.
    compiled: True writes the graph as it is compiled, its ops expanded and its constants folded.
    sess_options: how the model is read (loop_cond, external_data_dir).

    Returns the bytes, or with a path an ExportReport. Raises rondel.Error; nothing half-written stays.
    """
    options = _rondel.ExportOptions()
    options.opset = opset
    options.external_data = external_data
    options.compiled = compiled
    if sess_options is not None:
        options.reading = sess_options
    source = model._session if isinstance(model, InferenceSession) else model_source(model)
    if path is None:
        return _rondel.export_bytes(source, options)[0]
    return ExportReport(_rondel.export_file(source, os.fspath(path), options))
