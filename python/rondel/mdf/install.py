"""Rondel in place of ONNX Runtime inside an installed modeci_mdf."""

from __future__ import annotations

import functools
import importlib

import numpy as np

from ..errors import CallerError, UnsupportedError
from ..functions import operators
from ..functions.control import GRAPHS, caller
from ..session import InferenceSession
from . import control_flow

#: ONNX's control flow, by the names that modeci_mdf.functions.onnx gives the functions.
_CONTROL = {"loop": "Loop", "scan": "Scan", "if": "If"}
_replaced = {}


@functools.cache
def _caller(name: str, opset: int):
    """The Caller of an operator of an opset; None for an operator that Rondel does not have."""
    op = operators.operators(opset).get(name)
    return caller(op) if op is not None and op.runs and not op.deprecated else None


def install() -> None:
    """From now on the ONNX functions of an installed modeci_mdf are evaluated by Rondel, each compiled once.

    Replaces `run_onnx_op`, `predict_with_onnxruntime`, and the functions `loop`, `scan` and `if` of modeci_mdf.functions.onnx, and
    makes onnx::Loop, onnx::Scan and onnx::If functions of MDF models. Inputs are converted as modeci_mdf does: float64
    becomes float32 and int32 becomes int64. An operator that Rondel does not have is evaluated as before. A Split by lengths gives all
    its parts; with ONNX Runtime it fails there, because modeci_mdf requests one. Calling `install` again changes nothing; `uninstall`
    undoes it. Raises CallerError if modeci_mdf is not installed.
    """
    if _replaced:
        return
    importlib.import_module("rondel.functions.onnx")  # makes the functions that traced values use
    try:
        import modeci_mdf.execution_engine as engine
        import modeci_mdf.functions.onnx as functions
        import modeci_mdf.functions.standard as standard
    except ImportError as error:
        raise CallerError(f"modeci_mdf cannot be imported: {error}; pip install modeci_mdf") from error
    replaced = {name: getattr(functions, name) for name in ("run_onnx_op", "predict_with_onnxruntime", *_CONTROL)}
    evaluate_onnx_expr = engine.evaluate_onnx_expr

    def run_onnx_op(op_name, inputs, output_names, opset_version=functions.onnx_opset_version, **attributes):
        found = _caller(op_name.split("::")[-1], opset_version)
        if found is None or found.op.name == "ConcatFromSequence":
            return replaced["run_onnx_op"](op_name, inputs, output_names, opset_version, **attributes)
        values = [functions.convert_type(x) for x in inputs.values()]
        try:
            results = found.call(tuple(_like_first(found.op, values)), {**attributes, **_count(found.op, output_names, {**inputs, **attributes})})
        except UnsupportedError:
            return replaced["run_onnx_op"](op_name, inputs, output_names, opset_version, **attributes)
        return _by_name(found.op, output_names, results if isinstance(results, tuple) else (results,))

    def predict_with_onnxruntime(model_def, *inputs):
        try:
            return predict(model_def, *inputs)
        except UnsupportedError:
            return replaced["predict_with_onnxruntime"](model_def, *inputs)

    functions.run_onnx_op = run_onnx_op
    functions.predict_with_onnxruntime = predict_with_onnxruntime
    for name, op_name in _CONTROL.items():
        setattr(functions, name, _control_function(op_name, functions))
        _add_to_models(standard, f"onnx::{op_name}", name, getattr(functions, name).__doc__)
    engine.evaluate_onnx_expr = _evaluating(engine, functions, evaluate_onnx_expr)
    _replaced.update({(functions, name): x for name, x in replaced.items()})
    _replaced[engine, "evaluate_onnx_expr"] = evaluate_onnx_expr


def uninstall() -> None:
    """Undoes `install`: modeci_mdf evaluates its ONNX functions with ONNX Runtime again."""
    if not _replaced:
        return
    import modeci_mdf.functions.standard as standard

    for (module, name), function in _replaced.items():
        setattr(module, name, function)
    for op_name in _CONTROL.values():
        standard.mdf_functions.pop(f"onnx::{op_name}", None)
    _replaced.clear()


@functools.lru_cache(maxsize=64)
def _session(model: bytes):
    return InferenceSession(model)


def predict(model_def, *inputs) -> dict:
    """Runs an ONNX model: inputs in order, outputs by name."""
    session = _session(model_def.SerializeToString())
    names = [p.name for p in session.get_inputs()]
    results = session.run(None, dict(zip(names, inputs)))
    return {p.name: x for p, x in zip(session.get_outputs(), results)}


def _like_first(op, values):
    """The values, with the fill value of Pad in the dtype of the padded array."""
    if op.name != "Pad" or len(values) < 3 or values[2] is None:
        return values
    return [*values[:2], np.asarray(values[2]).astype(values[0].dtype), *values[3:]]


def _count(op, names, given):
    """The argument `outputs` that requests one result for each name, if the operator takes it. Of a Split, the lengths tell."""
    if op.name == "Split" and any(given.get(name) is not None for name in ("split", "num_outputs")):
        return {}
    return {"outputs": len(names)} if any(p.form != "single" for p in op.outputs) else {}


def _by_name(op, names, results):
    """{name: result}. Parts of a Split beyond the names, of which modeci_mdf gives one, are named "outputs[1]" and so on."""
    more = [f"{names[-1]}[{k}]" for k in range(1, len(results) - len(names) + 1)] if op.name == "Split" else []
    return dict(zip([*names, *more], results))


def _control_function(op_name, functions):
    control = caller(operators.operators(functions.onnx_opset_version)[op_name])

    @functools.wraps(getattr(functions, op_name.lower()))
    def function(*args, **kwargs):
        args = [x if _is_graph(x) else functions.convert_type(x) for x in args]
        kwargs = {k: _converted(control.op, k, x, functions.convert_type) for k, x in kwargs.items()}
        if op_name == "Loop":
            args[:2] = [_of_one_element(x) for x in args[:2]]
            kwargs.update({k: _of_one_element(kwargs[k]) for k in ("M", "cond") if k in kwargs})
        return control.call(tuple(args), kwargs)

    return function


def _converted(op, name, x, convert):
    """A keyword argument, converted. A variadic input may be given as one value or as a list of values."""
    if name in GRAPHS[op.name]:
        return x
    if op.variadic and name == op.input_names[-1]:
        return [convert(item) for item in x] if isinstance(x, (list, tuple)) else [convert(x)]
    return convert(x)


def _is_graph(x):
    return hasattr(x, "SerializeToString") or callable(x)


def _of_one_element(x):
    """x without axes if it is an array of one element, which modeci_mdf makes from each number."""
    return x.reshape(-1)[0] if isinstance(x, np.ndarray) and x.size == 1 else x


def _add_to_models(standard, name, function, text):
    """Registers an MDF function of this name, with the arguments of the operator."""
    op = operators.operators(control_flow.OPSET)[name.split("::")[1]]
    arguments = [*op.input_names, *op.attributes]
    call = f"onnx_ops.{function}({', '.join(arguments)})"
    standard.add_mdf_function(name, description=text, arguments=arguments, expression_string=call)


def _evaluating(engine, functions, original):
    """evaluate_onnx_expr of modeci_mdf's engine, extended to functions with bodies."""

    @functools.wraps(original)
    def evaluate_onnx_expr(expr, base_parameters, evaluated_parameters, verbose=False):
        name = expr.split("(")[0].split(".")[-1]
        if name not in _CONTROL:
            return original(expr, base_parameters, evaluated_parameters, verbose)
        op = operators.operators(control_flow.OPSET)[_CONTROL[name]]

        def call(args, kwargs):
            return getattr(functions, name)(*args, **kwargs)

        return control_flow.run(
            op, base_parameters, evaluated_parameters, engine.evaluate_expr, functions.convert_type, functions.predict_with_onnxruntime, call
        )

    return evaluate_onnx_expr
