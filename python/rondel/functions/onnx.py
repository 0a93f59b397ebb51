"""ONNX's operators as functions of arrays: `add(a, b)`, `conv(x, w, pads=[1, 1, 1, 1])`, `loop(10, True, x, body=...)`.

Arguments and results are NumPy arrays, and no dtype is promoted. A Python number takes the dtype of the other arrays; without an
array it has NumPy's dtype: int64, float64, bool. A single result is an array, several results are a tuple. None or "" leaves an
input out. Attributes are given by name. Each function has the signature and the text of ONNX's newest version of its operator.

Names are in snake case (`reduce_sum`); the lower-case names of modeci_mdf exist, too (`reducesum`). `and_`, `or_`, `not_` and
`if_` have an underscore, because `and`, `or`, `not` and `if` are Python keywords. The argument `outputs` requests the optional
results of an operator: `max_pool(x, kernel_shape=[2, 2], outputs=2)`.

The body of `loop`, `scan`, `if_` is a Python function, a GraphProto, a ModelProto, or a graph of Rondel. A function is traced:
it is called with traced values, which support Python's operators and all functions of this module. Arrays that it reads are
captured.

    >>> loop(10, True, x, body=lambda i, cond, x: (cond, x * 2, x))   # doctest: +SKIP

returns the final x and the stacked items. `loop(M, cond, *states, body=...)` calls `body(i, cond, *states)`, which returns
(cond, *states, *items). Without M the number of trips has no limit; without cond the returned cond has no effect. `scan(*states,
*scans, num_scan_inputs=n, body=...)` calls `body(*states, *elements)`, which returns (*states, *items). Branches take no arguments.

A call is compiled once for its signature: attributes, and the dtype and rank of each input. The 512 latest are cached. Random draws
differ from call to call, and are the same in each process. Wrong arguments raise rondel.CallerError. An operator that Rondel does
not have raises rondel.UnsupportedError.
"""

from numpy.typing import ArrayLike as ArrayLike  # a name in the annotations

from .. import _rondel as _engine
from ..naming import closest as _closest
from . import calling as _calling
from . import control as _control
from . import indexing as _indexing
from . import operators as _operators
from . import signatures as _signatures
from . import table as _table


def _made(op):
    """The function of an operator."""
    if op.runs and not op.deprecated:
        call = _control.caller(op).call

        def function(*args, **kwargs):
            return call(args, kwargs)
    else:

        def function(*args, **kwargs):
            raise _calling.refused(op)

    function.__name__ = function.__qualname__ = op.python_name
    function.__module__ = __name__
    function.__doc__ = _signatures.documentation(op)
    function.__signature__ = _signatures.signature(op)
    function.__annotations__ = {
        **{p.name: p.annotation for p in function.__signature__.parameters.values()},
        "return": function.__signature__.return_annotation,
    }
    return function


_opset = _engine.newest_opset()
_refused = {}
_table.FUNCTIONS["[]"] = _indexing.item
__all__ = []
for _op in _operators.operators(_opset).values():
    _function = _made(_op)
    _names = {_op.python_name, _operators.snake_case(_op.name), _op.name.lower()}
    if _op.runs and not _op.deprecated:
        globals().update(dict.fromkeys(_names, _function))
        __all__.append(_op.python_name)
        _table.FUNCTIONS[_op.python_name] = _function
    else:
        _refused.update(dict.fromkeys(_names, _function))
del _op, _function, _names


def __getattr__(name):
    """Functions for operators that Rondel does not have; a call raises UnsupportedError."""
    if name in _refused:
        return _refused[name]
    hint = "" if name.startswith("_") else _closest(name, __all__)
    raise AttributeError(f"ONNX has no operator of the name '{name}'{hint}", name=name, obj=None)
