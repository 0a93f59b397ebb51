"""The core of the Open Inference Protocol, version 2, over JSON: what a server answers to one request."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import CallerError
from ..session import InferenceSession

#: The protocol's names of element types.
_DATATYPES = {
    "tensor(bool)": "BOOL", "tensor(int8)": "INT8", "tensor(int16)": "INT16", "tensor(int32)": "INT32", "tensor(int64)": "INT64",
    "tensor(uint8)": "UINT8", "tensor(uint16)": "UINT16", "tensor(uint32)": "UINT32", "tensor(uint64)": "UINT64",
    "tensor(float16)": "FP16", "tensor(float)": "FP32", "tensor(double)": "FP64", "tensor(string)": "BYTES",
}  # fmt: skip
_DTYPES = {"BOOL": bool, "BYTES": object, "FP16": np.float16, "FP32": np.float32, "FP64": np.float64,
           **{f"{sign}INT{bits}": f"{sign.lower()}int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)}}  # fmt: skip


def metadata(name: str, session: InferenceSession) -> dict[str, Any]:
    """The answer to a request for a model's metadata."""
    described = [[{"name": p.name, "datatype": _DATATYPES.get(p.type, p.type), "shape": [e if isinstance(e, int) else -1 for e in p.shape or []]}
                  for p in ports] for ports in (session.get_inputs(), session.get_outputs())]  # fmt: skip
    return {"name": name, "versions": ["1"], "platform": "rondel", "inputs": described[0], "outputs": described[1]}


def infer(session: InferenceSession, request: Any) -> dict[str, Any]:
    """The answer to an inference request, both as JSON's dicts and lists. Raises CallerError if the request is no such thing."""
    if not isinstance(request, dict) or not isinstance(request.get("inputs"), list):
        raise CallerError("the request has no list 'inputs'")
    feeds = dict(_tensor(x) for x in request["inputs"])
    names = [_name(x) for x in request.get("outputs") or session.get_outputs()]
    found = session.run(names, feeds)
    types = {p.name: p.type for p in session.get_outputs()}
    outputs = [_output(name, types[name], x) for name, x in zip(names, found)]
    return {"model_name": session.get_modelmeta().graph_name, "outputs": outputs} | ({"id": request["id"]} if "id" in request else {})


def _name(x):
    name = x.get("name") if isinstance(x, dict) else getattr(x, "name", None)
    if not isinstance(name, str):
        raise CallerError(f"an output of the request is {x!r:.100}; expected an object with a 'name'")
    return name


def _tensor(x):
    if not isinstance(x, dict) or not {"name", "datatype", "shape", "data"} <= set(x):
        raise CallerError(f"an input of the request is {x!r:.100}; expected an object with name, datatype, shape and data")
    if x["datatype"] not in _DTYPES:
        raise CallerError(f"input {x['name']!r} has datatype {x['datatype']!r}; expected one of {', '.join(_DTYPES)}")
    try:
        return x["name"], np.array(x["data"], _DTYPES[x["datatype"]]).reshape(x["shape"])
    except (TypeError, ValueError, OverflowError) as error:
        raise CallerError(f"input {x['name']!r}: the data do not make {x['datatype']} {x['shape']}: {error}") from None


def _output(name, kind, x):
    if kind not in _DATATYPES or not isinstance(x, np.ndarray):
        raise CallerError(f"output {name!r} is a {kind}, which the protocol has no datatype for; name other outputs")
    return {"name": name, "datatype": _DATATYPES[kind], "shape": list(x.shape), "data": x.ravel().tolist()}
