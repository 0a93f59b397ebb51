"""Models written as standard ONNX."""

from . import _rondel
from .errors import CallerError
from .options import SessionOptions, boolean, integer, path_text
from .session import InferenceSession, model_source, warn_of


class ExportReport:
    """What was written: opset, ir_version, op_counts, loops [(name, "Scan" or "Loop", why no Scan)], notes,
    bytes and external_bytes."""

    def __init__(self, found):
        self.__dict__.update(found)

    def __repr__(self):
        return f"ExportReport(opset={self.opset}, bytes={self.bytes}, loops={self.loops})"


def export(model, path=None, *, opset=None, external_data=False, compiled=False, assertions=True, sess_options=None):
    """Writes a model as standard ONNX that onnx's checker accepts.

    model: path, bytes, ModelProto, an InferenceSession or a network. path: the file to write; None: the model comes back as bytes.
    opset: of the written model; None: 21, or the least newer one that has all of the model's ops and types.
    external_data: True writes the initializers to `path` + ".data", as is done for models above 2 GiB.
    compiled: True writes the graph as it is compiled, its ops expanded and its constants folded. Random draws are written
        out in standard arithmetic then, and give the session's numbers for the seed, which is one more input (0 if left out).
    assertions: True makes the written model fail where an assertion of the model does not hold; False leaves them out.
    sess_options: how the model is read (loop_cond, external_data_dir).

    A loop that does no more than ONNX's Scan is written as one, any other as a Loop. (ONNX Runtime 1.31 fails on a Scan whose
    extent is 0, which makes no trip.)

    Returns the bytes, or with a path an ExportReport. Warns (rondel.ModelWarning) as a session of the model does. Raises
    rondel.Error; nothing half-written stays.
    """
    options = _rondel.ExportOptions()
    if opset is not None:
        options.opset = _argument("opset", opset, "the number of an opset", integer(-(2**31), 2**31 - 1)[1])
    options.external_data = _argument("external_data", external_data, "True or False", boolean)
    options.compiled = _argument("compiled", compiled, "True or False", boolean)
    options.assertions = _argument("assertions", assertions, "True or False", boolean)
    if sess_options is not None:
        if not isinstance(sess_options, SessionOptions):
            raise CallerError(f"export: sess_options is {sess_options!r}; expected rondel.SessionOptions")
        options.reading = sess_options
    if hasattr(model, "build_session"):
        model = model.build_session()
    source = model._session if isinstance(model, InferenceSession) else model_source(model)
    if path is None:
        made, _, found = _rondel.export_bytes(source, options)
    else:
        report, found = _rondel.export_file(source, _argument("path", path, "a path", path_text), options)
        made = ExportReport(report)
    warn_of(found, stacklevel=3)
    return made


def _argument(name, value, expected, check):
    try:
        return check(value)
    except (TypeError, ValueError):
        raise CallerError(f"export: {name} is {value!r}; expected {expected}") from None
