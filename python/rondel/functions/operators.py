"""The schemas of ONNX's operators, and the binding of a call's arguments to them."""

import functools
import keyword
import re
from typing import Any, NamedTuple

import numpy as np

from .. import _rondel
from ..errors import CallerError
from ..naming import closest


class Argument(NamedTuple):
    """An argument of a call: its value, and its index among the positional and then the keyword arguments."""

    number: int
    value: Any


class Bound(NamedTuple):
    """The arguments of a call, bound to the operator.

    inputs: the argument of each of the operator's inputs, in order, or None for an input that is left out; the arguments of a variadic
    input come last. attributes: dict of name to value. outputs: the requested number of results, or None.
    """

    inputs: list
    attributes: dict
    outputs: int | None


def snake_case(name: str) -> str:
    """ReduceLogSum -> reduce_log_sum, GatherND -> gather_nd, IsNaN -> is_nan"""
    name = re.sub(r"(NaN|ND)\b", lambda m: m[0].capitalize(), name)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _is_array(x) -> bool:
    return hasattr(x, "dtype") and not isinstance(x, np.generic)


def is_omitted(x) -> bool:
    """Whether x leaves an input out: None or ""."""
    return x is None or (isinstance(x, str) and x == "")


class Operator:
    """An operator of ONNX's default domain, as its schema describes it. `python_name`: reduce_sum; "and" becomes and_."""

    def __init__(self, described, opset: int):
        self.name = described.name
        self.opset = opset
        self.doc = described.doc
        self.runs = described.runs
        self.deprecated = described.deprecated
        self.since_version = described.since_version
        self.inputs = described.inputs
        self.outputs = described.outputs
        self.attributes = {a.name: a for a in described.attributes}
        plain = snake_case(self.name)
        self.python_name = plain + "_" if keyword.iskeyword(plain) else plain
        self.input_names = [p.name for p in self.inputs]
        self.variadic = bool(self.inputs) and self.inputs[-1].form == "variadic"

    def input(self, k: int):
        """The schema of input k; the last input may be variadic."""
        return self.inputs[min(k, len(self.inputs) - 1)]

    def bind(self, args: tuple, kwargs: dict) -> Bound:
        """Binds arguments. Positional arguments fill the inputs that are not given by name, in order, and then the attributes, in
        alphabetical order of their names, as in MDF. A variadic input takes all remaining positional arguments."""
        inputs, attributes = {}, {}
        named = {}
        outputs = None
        for number, (name, value) in enumerate(kwargs.items(), len(args)):
            if name in self.input_names:
                named[name] = Argument(number, value)
            elif name in self.attributes:
                attributes[name] = value
            elif name == "outputs":
                outputs = self._count(value)
            else:
                raise CallerError(self._unknown(name))
        rest = [Argument(k, x) for k, x in enumerate(args)]
        for k, name in enumerate(self.input_names):
            if self.variadic and k == len(self.inputs) - 1:
                break
            if name in named:
                inputs[k] = named.pop(name)
            elif rest:
                inputs[k] = rest.pop(0)
        if self.variadic:
            first = len(self.inputs) - 1
            given = self._several(named.pop(self.input_names[-1])) if self.input_names[-1] in named else rest
            rest = rest if given is not rest else []
            left_out = next((k for k, x in enumerate(given) if is_omitted(x.value)), None)
            if left_out is not None:
                raise CallerError(f"{self.name}: value {left_out} of '{self.input_names[-1]}' is {given[left_out].value!r}; expected an array")
            self._require_no_lists(given)
            inputs.update({first + k: x for k, x in enumerate(given)})
        self._add_by_position(attributes, rest, len(args))
        return Bound(self._in_order(inputs), {k: v for k, v in attributes.items() if v is not None}, outputs)

    def _require_no_lists(self, given):
        """Lists of arrays are sequences, which most variadic inputs do not take."""
        lists = [a.value for a in given if isinstance(a.value, (list, tuple)) and any(_is_array(x) for x in a.value)]
        if lists and not any("seq(" in kind for kind in self.inputs[-1].types):
            name = self.input_names[-1]
            raise CallerError(f"{self.name}: a value of '{name}' is a list of arrays; give the arrays one by one, as {self.python_name}(x, y), or as {name}=[x, y]")

    def _several(self, argument):
        if _is_array(argument.value) or isinstance(argument.value, (int, float, np.generic)):
            return [Argument(-1, argument.value)]  # one alone needs no list, as in modeci_mdf
        if not isinstance(argument.value, (list, tuple)):
            raise CallerError(f"{self.name}: '{self.input_names[-1]}' is a {type(argument.value).__name__}; expected a list")
        return [Argument(-1, x) for x in argument.value]

    def _add_by_position(self, attributes, rest, given):
        free = [name for name in self.attributes if name not in attributes]
        if len(rest) > len(free):
            takes = len(self.inputs) + len(self.attributes)
            raise CallerError(f"{self.name}: {given} arguments are given; it takes at most {takes}")
        attributes.update(zip(free, (a.value for a in rest)))

    def _in_order(self, inputs):
        ordered = [inputs.get(k) for k in range(max(inputs, default=-1) + 1)]
        ordered = [None if a is None or is_omitted(a.value) else a for a in ordered]
        while ordered and ordered[-1] is None:
            ordered.pop()
        for k, port in enumerate(self.inputs):
            if port.form == "single" and (k >= len(ordered) or ordered[k] is None):
                raise CallerError(f"{self.name}: input '{port.name}' is missing; expected {self.signature_text()}")
        least = len(self.inputs) - 1 + self.inputs[-1].least if self.variadic else 0
        if len(ordered) < least and self.name != "Loop":
            raise CallerError(f"{self.name}: {len(ordered)} inputs are given; expected {least} or more")
        return ordered

    def _count(self, value):
        most = len(self.outputs)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise CallerError(f"{self.name}: outputs is {value!r}; expected a number of results, 1 or more")
        if value > most and self.outputs[-1].form != "variadic":
            raise CallerError(f"{self.name}: outputs is {value}; it has {most}")
        return value

    def _unknown(self, name):
        known = [*self.input_names, *self.attributes, "outputs"]
        hint = closest(name, known) or f"; expected {self.signature_text()}"
        return f"{self.name} has no input and no attribute '{name}'{hint}"

    def signature_text(self) -> str:
        """add(A, B)"""
        names = [("*" if p.form == "variadic" else "") + p.name for p in self.inputs]
        required = [f"{a.name}=..." for a in self.attributes.values() if a.required]
        return f"{self.python_name}({', '.join(names + required)})"

    def output_count(self, bound: Bound) -> int | None:
        """The number of results of a call: the requested number, else the number of results that are not optional. None: it depends on
        the values of the inputs."""
        if bound.outputs is not None:
            return bound.outputs
        if self.outputs and self.outputs[-1].form == "variadic":
            return bound.attributes.get("num_outputs")
        always = sum(p.form == "single" for p in self.outputs)
        return always or len(self.outputs)


@functools.lru_cache(maxsize=8)
def operators(opset: int) -> dict:
    """The operators of an opset by ONNX's names, including those that Rondel does not have."""
    return {o.name: Operator(o, opset) for o in _rondel.operators(opset)}
