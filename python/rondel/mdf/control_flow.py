"""ONNX's Loop, Scan and If in models of modeci_mdf: their arguments, and their bodies as graphs."""

import ast

import numpy as np

from .. import _rondel
from ..errors import CallerError

#: Opset of the ONNX functions of MDF.
OPSET = 15


def run(op, arguments: dict, values: dict, evaluate, convert, predict, call):
    """The result of an onnx:: function with bodies in an MDF model.

    op: the operator. arguments: the arguments in the model, by input or attribute. values: the values of all names of the node and of
    the arguments. evaluate(text, values): evaluates an expression. convert: converts a value to the form that ONNX functions take.
    predict(model, *inputs): runs a ModelProto. call(args, kwargs): calls the function if a body is a Python function.
    """
    bodies = {name: body(arguments[name], f"{op.name}: '{name}'") for name in graphs_of(op) if name in arguments}
    missing = [name for name in graphs_of(op) if name not in bodies]
    if missing:
        raise CallerError(f"{op.name}: '{missing[0]}' is missing; expected a map {{onnx: TEXT}} with the text of an ONNX graph")
    inputs = [x for name in op.input_names for x in _values(op, name, arguments, values, evaluate, convert)]
    plain = {k: values[k] for k in op.attributes if k in arguments and k not in bodies}
    if not all(hasattr(x, "node") for x in bodies.values()):
        return call(tuple(inputs), {**plain, **bodies})
    results = predict(*_model(op, inputs, bodies, plain, values, convert))
    return tuple(results.values()) if len(results) > 1 else next(iter(results.values()))


def graphs_of(op) -> list:
    return [name for name, a in op.attributes.items() if a.type == "GRAPH"]


def body(x, what: str):
    """The body that an argument of a model stands for, as a GraphProto or a Python function. x: one of these, or a map {onnx: TEXT}."""
    if not isinstance(x, dict):
        if hasattr(x, "node") or callable(x):
            return x
        raise CallerError(f"{what} is {x!r:.60}; expected a map {{onnx: TEXT}} with the text of an ONNX graph")
    if list(x) != ["onnx"] or not isinstance(x["onnx"], str):
        raise CallerError(f"{what} is a map of {', '.join(map(str, x)) or 'nothing'}; expected {{onnx: TEXT}}")
    import onnx.parser

    try:
        return onnx.parser.parse_graph(x["onnx"])
    except onnx.parser.ParseError as error:
        raise CallerError(f"{what} is no text of an ONNX graph: {error}") from None


def _values(op, name, arguments, values, evaluate, convert) -> list:
    """The values of an input. A variadic input may have several: its argument is a list, or a text in the form of a list."""
    x = arguments.get(name)
    if x is None or (isinstance(x, str) and x == ""):
        return [] if op.variadic and name == op.input_names[-1] else [None]
    if not (op.variadic and name == op.input_names[-1]):
        value = convert(values[name])
        # convert makes arrays of one element from numbers; M and the condition have no axes.
        return [np.asarray(value).reshape(()) if op.name in ("Loop", "If") and np.size(value) == 1 else value]
    if isinstance(x, str):
        parts = _elements(x)
        return [convert(values[name] if parts is None else evaluate(part, values)) for part in parts or [x]]
    if isinstance(x, (list, tuple)) and not all(type(i) in (int, float, bool) for i in x):
        return [convert(evaluate(i, values) if isinstance(i, str) else i) for i in x]
    return [convert(values[name])]


def _elements(text: str) -> list | None:
    """ "[x, y + 1]" -> ["x", "y + 1"]; None for a text of another form."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return None
    return [ast.unparse(e) for e in tree.elts] if isinstance(tree, (ast.List, ast.Tuple)) else None


def _model(op, inputs, bodies, plain, values, convert):
    """(model, *values of its inputs). Free names of the bodies are names of the node, and become inputs of the model."""
    from onnx import helper

    free = sorted({name for b in bodies.values() for name in _rondel.free_names(b.SerializeToString())})
    unknown = [name for name in free if name not in values]
    if unknown:
        raise CallerError(f"{op.name}: its body reads '{unknown[0]}', which neither the body nor the node defines")
    inputs = [_as_declared(op, k, x) for k, x in enumerate(inputs)]
    names = ["" if x is None else f"input {k}" for k, x in enumerate(inputs)]
    given = [x for x in inputs if x is not None] + [np.asarray(convert(values[name])) for name in free]
    declared = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), None)
        for name, x in zip([n for n in names if n] + free, given)
    ]
    count = len(next(iter(bodies.values())).output) - (op.name == "Loop")
    outputs = [f"result {k}" for k in range(count)]
    node = helper.make_node(op.name, names, outputs, **plain, **bodies)
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph([node], op.name, declared, results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8), *given


def _as_declared(op, k, x):
    """Input k as an array; M becomes int64, a condition bool."""
    if x is None:
        return None
    name = op.input(k).name
    return np.asarray(x, dtype={"M": np.int64, "cond": np.bool_}.get(name))
