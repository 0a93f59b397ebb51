"""Requests and answers of the Open Inference Protocol over HTTP, with the extension of binary tensors."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson

from .datatypes import checked_shape, datatype_of, from_bytes, from_list, to_bytes, to_texts
from .errors import bad_request

LENGTH_HEADER = "inference-header-content-length"


@dataclasses.dataclass
class InferRequest:
    """A request to a model: its inputs, and its parameters as they came. outputs: the requested names; None: all."""

    model: str
    version: str
    inputs: dict[str, np.ndarray]
    outputs: list[str] | None = None
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    id: str = ""
    binary: Mapping[str, bool] = dataclasses.field(default_factory=dict)  # by output: whether it is answered in bytes
    all_binary: bool = False


@dataclasses.dataclass
class InferAnswer:
    """The outputs of a model, by name, in order."""

    model: str
    version: str
    outputs: dict[str, np.ndarray]
    id: str = ""


def read_request(model: str, version: str, body: Any, json_length: str | None) -> InferRequest:
    """A request from the body of an HTTP request. json_length: the header that says where the JSON ends and bytes begin."""
    end = len(body)
    if json_length is not None:
        if not re.fullmatch("[0-9]{1,18}", json_length) or int(json_length) > len(body):
            raise bad_request(f"the header Inference-Header-Content-Length is {json_length!r:.60}; expected at most {len(body)}, the bytes of the body")
        end = int(json_length)
    view = memoryview(body)
    said = _object(parsed(view[:end]), "the request")
    parameters = _object(said.get("parameters", {}), "'parameters'")
    if any(type(x) is float and abs(x) >= 2**63 for x in parameters.values()):  # orjson makes floats of such integers
        parameters = _parsed_exactly(view[:end])["parameters"]
    request = InferRequest(model, version, _read_inputs(said.get("inputs"), view[end:]), parameters=parameters)
    request.id = _read_id(said.get("id"))
    request.all_binary = _flag(parameters, "binary_data_output", "the request")
    if said.get("outputs") not in (None, []):
        request.outputs, request.binary = _read_outputs(said["outputs"])
    return request


def _read_id(id: Any) -> str:
    if id is not None and not isinstance(id, str):
        raise bad_request(f"'id' is {id!r:.60}; expected text")
    return id or ""


def _flag(parameters: Mapping[str, Any], name: str, what: str) -> bool:
    value = parameters.get(name, False)
    if not isinstance(value, bool):
        raise bad_request(f"{what}: the parameter {name} is {value!r:.60}; expected true or false")
    return value


def parsed(text: Any) -> Any:
    """JSON, with NaN and Infinity, which strict JSON does not have."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return _parsed_exactly(text)


def _parsed_exactly(text: Any) -> Any:
    try:
        return json.loads(bytes(text))
    except (ValueError, RecursionError) as error:
        raise bad_request(f"the request is no JSON: {error}") from None


def _object(x: Any, what: str) -> dict[str, Any]:
    if not isinstance(x, dict):
        raise bad_request(f"{what} is {x!r:.60}; expected a JSON object")
    return x


def _items(x: Any, what: str) -> list[dict[str, Any]]:
    if not isinstance(x, list):
        raise bad_request(f"'{what}' is {'missing' if x is None else format(repr(x), '.60')}; expected a list of JSON objects")
    found = [_object(item, f"an item of '{what}'") for item in x]
    names = [item.get("name") for item in found]
    for k, name in enumerate(names):
        if not isinstance(name, str):
            raise bad_request(f"item {k} of '{what}' has the name {name!r:.60}; expected text")
    check_names(names, what)
    return found


def check_names(names: list[Any], what: str) -> None:
    """Refuses a name that occurs twice. what: inputs or outputs."""
    if len(set(names)) < len(names):
        name = next(n for k, n in enumerate(names) if n in names[:k])
        raise bad_request(f"'{what}' has two items named '{name}'")


def _tensor_parameters(item: dict[str, Any], what: str) -> dict[str, Any]:
    parameters = _object(item.get("parameters", {}), f"'parameters' of {what}")
    check_extensions(parameters, what)
    return parameters


def check_extensions(parameters: Mapping[str, Any], what: str) -> None:
    """Refuses a tensor whose parameters ask for an extension that is not served. what: "input 'x'" or "output 'y'"."""
    if parameters.get("classification"):
        raise bad_request(f"{what}: the extension 'classification' is not served; sort the scores in the client")
    if parameters.get("shared_memory_region") is not None:
        raise bad_request(f"{what}: the extension 'shared_memory' is not served; leave out shared_memory_region, tensors are in the bodies")


def _read_inputs(said: Any, rest: memoryview) -> dict[str, np.ndarray]:
    inputs, at = {}, 0
    for item in _items(said, "inputs"):
        name, datatype = item["name"], item.get("datatype")
        shape = checked_shape(item.get("shape"), name)
        size = _tensor_parameters(item, f"input '{name}'").get("binary_data_size")
        if size is None:
            if "data" not in item:
                raise bad_request(f"input '{name}' has neither 'data' nor the parameter 'binary_data_size'")
            inputs[name] = from_list(item["data"], datatype, shape, name)
            continue
        if item.get("data") is not None:
            raise bad_request(f"input '{name}' has 'data' and the parameter 'binary_data_size'; expected one of them")
        if type(size) is not int or not 0 <= size <= len(rest) - at:
            raise bad_request(f"input '{name}' has binary_data_size {size!r}; {len(rest) - at} bytes are left after the JSON")
        inputs[name] = from_bytes(rest[at : at + size], datatype, shape, name)
        at += size
    if at != len(rest):
        raise bad_request(f"{len(rest) - at} bytes after the JSON belong to no input; expected the sum of binary_data_size")
    return inputs


def _read_outputs(said: Any) -> tuple[list[str], dict[str, bool]]:
    names, binary = [], {}
    for item in _items(said, "outputs"):
        names.append(item["name"])
        parameters = _tensor_parameters(item, f"output '{item['name']}'")
        if "binary_data" in parameters:
            binary[item["name"]] = _flag(parameters, "binary_data", f"output '{item['name']}'")
    return names, binary


def render_answer(answer: InferAnswer, request: InferRequest) -> tuple[bytes, int | None]:
    """The body of the answer, and the length of its JSON if bytes follow it."""
    said: dict[str, Any] = {"model_name": answer.model, "model_version": answer.version, "outputs": (outputs := [])}
    if answer.id:
        said["id"] = answer.id
    tails: list[bytes] = []
    for name, array in answer.outputs.items():
        item: dict[str, Any] = {"name": name, "datatype": datatype_of(array, name), "shape": list(array.shape)}
        if request.binary.get(name, request.all_binary):
            tails.append(to_bytes(array))
            item["parameters"] = {"binary_data_size": len(tails[-1])}
        else:
            item["data"] = to_texts(array, name) if item["datatype"] == "BYTES" else array.reshape(-1)
        outputs.append(item)
    text = rendered(said)
    return (b"".join([text, *tails]), len(text)) if tails else (text, None)


def rendered(said: Any) -> bytes:
    """JSON. Arrays that are not finite are written with NaN and Infinity, as other servers do: null would be another number."""
    if not _has_nonfinite(said):
        with contextlib.suppress(orjson.JSONEncodeError):  # half a character that a client has sent
            return orjson.dumps(said, default=_as_list, option=orjson.OPT_SERIALIZE_NUMPY)
    return json.dumps(said, default=_as_list).encode()


def _has_nonfinite(said: Any) -> bool:
    arrays = [o["data"] for o in said.get("outputs", ()) if isinstance(o.get("data"), np.ndarray)] if isinstance(said, dict) else []
    floats = [a.astype(np.float32) if a.dtype.kind == "V" else a for a in arrays if a.dtype.kind in "fV"]  # V: bfloat16
    return any(not np.isfinite(a).all() for a in floats)


def _as_list(x: Any) -> Any:
    if isinstance(x, np.ndarray):  # of a dtype that orjson does not know
        return x.astype(np.float32).tolist() if x.dtype.kind == "V" else x.tolist()
    raise TypeError(type(x).__name__)
