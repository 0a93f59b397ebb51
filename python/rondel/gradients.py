"""Gradients and tangents of models, as models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _rondel
from .errors import CallerError
from .metadata import NodeArg
from .models import built, issue_warnings, kind_of, model_source, require_onnx
from .option_checks import is_unicode
from .options import SessionOptions
from .rewriting import as_options_ask, require_unchanged, without_changes
from .session import InferenceSession

if TYPE_CHECKING:
    import onnx

Names = str | Iterable[str]
"""A name, or several."""


def grad(
    model: Any,
    wrt: Names,
    outputs: Names | None = None,
    seed: Names | None = None,
    *,
    stop_gradient: Names = (),
    checkpoint: str | int = "none",
    prefix: str = "grad_",
    sess_options: SessionOptions | None = None,
) -> onnx.ModelProto:
    """The model with its gradient, as a standard ONNX model that any runtime can run: an onnx.ModelProto.

    model: path, bytes, ModelProto, an InferenceSession or a network. Its inputs and outputs keep their names. After its outputs come
        the new outputs, `prefix` + name for each name of `wrt`: the gradient of the sum of `outputs`, of the same shape and dtype;
        zeros if no output depends on it.
    wrt: names of inputs or initializers, tensors of floats.
    outputs: names of the outputs to differentiate; None: all outputs that are scalar floats.
    seed: names of new inputs, one for each of `outputs` and of its type: the cotangents, by which the elements of the outputs are
        weighted. None: ones, and no new inputs.
    stop_gradient: names of values through which no gradient flows.
    checkpoint: what each loop stores for its gradient. "none": in every trip, all values that are not cheap to recompute. "sqrt", or a
        number of trips n: the carried states at every sqrt(trips)-th or n-th trip. The trips between two of these form a segment; each
        segment is run once more, and only its values are then stored.
    sess_options: how the model is read (loop_cond, external_data_dir).

    The opset is the model's own, but at least 11, and at least 14 if an unknown extent might be 0 in a Reshape. Raises
    rondel.CallerError for names that do not exist or are already taken, and rondel.UnsupportedError with the path to an op that has no gradient.
    """
    require_onnx("rondel.grad")
    import onnx

    how = {"stop_gradient": stop_gradient, "checkpoint": checkpoint, "prefix": prefix, "sess_options": sess_options}
    data = grad_bytes(model, wrt, outputs, seed, **how, stacklevel=4)
    return onnx.load_model_from_string(data)


def value_and_grad(
    model: Any,
    wrt: Names,
    outputs: Names | None = None,
    seed: Names | None = None,
    *,
    stop_gradient: Names = (),
    checkpoint: str | int = "none",
    sess_options: SessionOptions | None = None,
) -> Callable[..., tuple[Any, dict[str, Any]]]:
    """A function of feeds that computes the differentiated outputs and their gradient in one run. It is compiled once.

    The arguments are those of `grad`. The function takes a mapping of arrays by input name, or arrays as keywords, including the seeds. It
    returns (value, gradients): the differentiated output, or a dict of outputs by name if there are several; and a dict of the
    gradients by the names of `wrt`.
    """
    wrt, prefix = _names("grad", "wrt", wrt), "gradient of "
    outputs = None if outputs is None else _names("grad", "outputs", outputs)
    how = {"stop_gradient": stop_gradient, "checkpoint": checkpoint, "prefix": prefix, "sess_options": sess_options}
    data = grad_bytes(model, wrt, outputs, seed, **how, stacklevel=4)
    session = InferenceSession(data, without_changes(sess_options))
    made = [prefix + name for name in wrt]
    values = outputs or [o.name for o in session.get_outputs() if o.name not in made and is_of_floats(o) and o.shape == []]

    def evaluate(feeds=None, /, **more):
        if feeds is not None and not isinstance(feeds, Mapping):
            named = ", ".join(f"{i.name}=..." for i in session.get_inputs())
            raise CallerError(f"value_and_grad: the feeds are a {kind_of(feeds)}; expected a dict of input names to arrays, or keywords: f({named})")
        found = session.run(values + made, {**(feeds or {}), **more})
        value = found[0] if len(values) == 1 else dict(zip(values, found))
        return value, dict(zip(wrt, found[len(values) :]))

    return evaluate


def is_of_floats(port: NodeArg) -> bool:
    return port.type in ("tensor(float)", "tensor(double)", "tensor(float16)", "tensor(bfloat16)")


def jvp(
    model: Any,
    wrt: Names,
    outputs: Names | None = None,
    *,
    stop_gradient: Names = (),
    prefix: str = "tangent_",
    sess_options: SessionOptions | None = None,
) -> onnx.ModelProto:
    """The model with its derivative along directions (forward mode), as a standard ONNX model: an onnx.ModelProto.

    Besides its own inputs it has an input `prefix` + name for each name of `wrt`, of the same shape and dtype: a direction. After its own
    outputs it has an output `prefix` + name for each of `outputs`, of the same shape and dtype: the Jacobian times the directions; zeros if
    the output does not depend on `wrt`.

    wrt: names of inputs or initializers, tensors of floats.
    outputs: names of the outputs to differentiate; None: all tensors of floats.
    model, stop_gradient, sess_options, opset and errors: as in `grad`.
    """
    require_onnx("rondel.jvp")
    import onnx

    options = _rondel.TangentOptions()
    _fill(options, "jvp", wrt, outputs, stop_gradient, prefix, sess_options)
    return onnx.load_model_from_string(_written(_rondel.jvp_bytes, model, options, sess_options, stacklevel=4))


def grad_bytes(
    model, wrt, outputs=None, seed=None, *, stop_gradient=(), checkpoint="none", prefix="grad_", sess_options=None, stacklevel=3
):
    """The result of `grad` as bytes. Does not need onnx."""
    options = _rondel.GradientOptions()
    _fill(options, "grad", wrt, outputs, stop_gradient, prefix, sess_options)
    options.seed = _names("grad", "seed", seed)
    is_count = isinstance(checkpoint, (int, np.integer)) and not isinstance(checkpoint, bool)
    if not (isinstance(checkpoint, str) or is_count):
        raise CallerError(f"grad: checkpoint is {checkpoint!r}; expected 'none', 'sqrt', or a number of trips")
    options.checkpoint = str(checkpoint)
    return _written(_rondel.grad_bytes, model, options, sess_options, stacklevel=stacklevel + 1)


def _fill(options, function, wrt, outputs, stop_gradient, prefix, sess_options):
    """Sets the options that gradients and tangents have in common."""
    options.wrt = _names(function, "wrt", wrt)
    options.outputs = _names(function, "outputs", outputs)
    options.stop_gradient = _names(function, "stop_gradient", stop_gradient)
    if not is_unicode(prefix):
        raise CallerError(f"{function}: prefix is {prefix!r}; expected a str that UTF-8 can hold")
    options.prefix = prefix
    if sess_options is not None and not isinstance(sess_options, SessionOptions):
        raise CallerError(f"{function}: sess_options is {sess_options!r}; expected rondel.SessionOptions")


def _written(differentiate, model, options, sess_options, stacklevel):
    model = built(model)
    if isinstance(model, InferenceSession):
        require_unchanged(sess_options, "a session")
        source = model._with_graph("a gradient or tangent")
    else:
        writing = options.writing
        source, writing.reading = as_options_ask(model_source(model), sess_options or SessionOptions())
        options.writing = writing
    data, found = differentiate(source, options)
    issue_warnings(found, stacklevel=stacklevel)
    return data


def _names(function, argument, names):
    if names is None:
        return []
    try:
        listed = [names] if isinstance(names, str) else list(names)
    except TypeError:
        listed = [None]
    if not all(is_unicode(name) for name in listed):
        raise CallerError(f"{function}: {argument} is {names!r}; expected names")
    if not listed and argument in ("outputs", "seed"):
        raise CallerError(f"{function}: {argument} is empty; leave it out for the usual ones")
    return listed
