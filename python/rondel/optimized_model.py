"""The file that SessionOptions.optimized_model_filepath asks for."""

import os

from . import _rondel
from .errors import CallerError
from .models import require_onnx
from .replacing import are_one_file, replacing_together

_EXTERNAL = "session.optimized_model_external_initializers_file_name"
_LEAST = "session.optimized_model_external_initializers_min_size_in_bytes"


def write_optimized(session, options):
    """Writes the compiled graph of an engine's session as ONNX.

    With the configuration entries of external initializers, tensors of at least so many bytes are in a file beside the model. Raises
    CallerError, and then writes neither file, for entries that do not fit.
    """
    path, entries = options.optimized_model_filepath, options.__dict__.get("_config", {})
    how = _rondel.ExportOptions()
    how.compiled, how.reading = True, options
    if _EXTERNAL not in entries:
        _rondel.export_file(session, path, how)
        return
    name, least = entries[_EXTERNAL], entries.get(_LEAST, "1024")
    if not name or os.path.basename(name) != name:
        raise CallerError(f"{_EXTERNAL} is {name!r}; expected the name of a file, which is written beside the model")
    if are_one_file(os.path.join(os.path.dirname(path), name), path):
        raise CallerError(f"{_EXTERNAL} is {name!r}, the model itself; expected the name of another file")
    if not (least.isascii() and least.isdecimal()):
        raise CallerError(f"{_LEAST} is {least!r}; expected a number of bytes")
    data, _, _ = _rondel.export_bytes(session, how)
    _write_in_two_files(data, path, name, int(least))


def _write_in_two_files(data, path, name, least):
    require_onnx(_EXTERNAL)
    import onnx
    from onnx import external_data_helper

    proto = onnx.load_model_from_string(data)
    external_data_helper.convert_model_to_external_data(proto, location=name, size_threshold=least)
    with replacing_together() as opened:
        with opened(os.path.join(os.path.dirname(path), name)) as file:
            for tensor in external_data_helper._get_all_tensors(proto):
                if external_data_helper.uses_external_data(tensor):
                    begin = file.tell()
                    file.write(tensor.raw_data)
                    external_data_helper.set_external_data(tensor, name, begin, len(tensor.raw_data))
                    tensor.ClearField("raw_data")
        with opened(path) as file:
            file.write(proto.SerializeToString())
