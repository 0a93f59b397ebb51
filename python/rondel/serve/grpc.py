"""The service over gRPC, by grpc.aio."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeAlias

import grpc
import numpy as np
from google.protobuf import json_format, message_factory

from .datatypes import as_bytes, checked_shape, datatype_of, dtype_of, from_array, from_bytes, from_list, to_bytes
from .errors import Refusal, bad_request, refusal_of, stopping
from .messages import SERVICE, message, service as description
from .protocol import InferAnswer, InferRequest, check_extensions, check_names
from .service import Service
from .uploads import read_upload

_OPEN = {"ServerLive", "ServerReady"}

#: The field of InferTensorContents that holds the elements of a datatype.
_CONTENTS = {
    "BOOL": "bool_contents", "INT8": "int_contents", "INT16": "int_contents", "INT32": "int_contents", "INT64": "int64_contents",
    "UINT8": "uint_contents", "UINT16": "uint_contents", "UINT32": "uint_contents", "UINT64": "uint64_contents", "FP32": "fp32_contents",
    "FP64": "fp64_contents", "BYTES": "bytes_contents",
}  # fmt: skip


def add_to(server: Any, service: Service) -> Callable[[], None]:
    """Adds the service to a grpc.aio server. Returns a function that ends the streams of clients, as soon as each has its answers."""
    calls = _Calls(service)
    handlers = {}
    for method in description.methods:
        act = getattr(calls, method.name)
        request, answer = (message_factory.GetMessageClass(m) for m in (method.input_type, method.output_type))
        make = grpc.stream_stream_rpc_method_handler if method.client_streaming else grpc.unary_unary_rpc_method_handler
        guarded = _guarded_stream(act, service) if method.client_streaming else _guarded(act, service, method.name not in _OPEN)
        handlers[method.name] = make(guarded, request.FromString, answer.SerializeToString)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    return calls.end_streams


def _check_token(service: Service, context: Any) -> None:
    found = dict(context.invocation_metadata() or ()).get("authorization")
    service.check_token(None if found is None else found.encode() if isinstance(found, str) else found)


async def _abort(context: Any, error: Exception) -> None:
    refusal = refusal_of(error)
    retry = () if refusal.retry_after is None else (("retry-after", str(refusal.retry_after)),)
    await context.abort(getattr(grpc.StatusCode, refusal.code), str(refusal), retry)


def _guarded(act: Any, service: Service, closed: bool) -> Any:
    async def call(request: Any, context: Any) -> Any:
        try:
            if closed:
                _check_token(service, context)
            return await act(request, context)
        except Exception as error:
            await _abort(context, error)

    return call


def _guarded_stream(act: Any, service: Service) -> Any:
    async def call(requests: Any, context: Any) -> AsyncIterator[Any]:
        try:
            _check_token(service, context)
        except Exception as error:
            await _abort(context, error)
        async for answer in act(requests, context):
            yield answer

    return call


#: What a stream waits for: the identifier of a request and its answer; None: the client has ended it; Refusal: the server ends it.
_Begun: TypeAlias = "tuple[str, asyncio.Task[Any]] | None | Refusal"


class _Calls:
    """The methods of GRPCInferenceService, by their names."""

    def __init__(self, service: Service) -> None:
        self._service, self._models = service, service.models
        self._streams: set[asyncio.Queue[_Begun]] = set()

    def end_streams(self) -> None:
        for begun in self._streams:
            begun.put_nowait(stopping())

    async def ServerLive(self, request: Any, context: Any) -> Any:
        return message("ServerLiveResponse")(live=True)

    async def ServerReady(self, request: Any, context: Any) -> Any:
        return message("ServerReadyResponse")(ready=self._service.ready)

    async def ModelReady(self, request: Any, context: Any) -> Any:
        return message("ModelReadyResponse")(ready=self._service.ready and self._models.is_ready(request.name, request.version))

    async def ServerMetadata(self, request: Any, context: Any) -> Any:
        return message("ServerMetadataResponse")(**self._service.metadata())

    async def ModelMetadata(self, request: Any, context: Any) -> Any:
        return message("ModelMetadataResponse")(**self._service.find(request.name, request.version).metadata())

    async def ModelConfig(self, request: Any, context: Any) -> Any:
        config = self._service.find(request.name, request.version).config()
        return json_format.ParseDict({"config": config}, message("ModelConfigResponse")())

    async def ModelStatistics(self, request: Any, context: Any) -> Any:
        models = [self._service.find(request.name, request.version)] if request.name else list(self._models)
        return json_format.ParseDict({"model_stats": [m.statistics() for m in models]}, message("ModelStatisticsResponse")())

    async def RepositoryIndex(self, request: Any, context: Any) -> Any:
        return json_format.ParseDict({"models": self._models.index(request.ready)}, message("RepositoryIndexResponse")())

    async def RepositoryModelLoad(self, request: Any, context: Any) -> Any:
        upload = read_upload(_parameters(request))
        await self._service.load(request.model_name, upload)
        return message("RepositoryModelLoadResponse")()

    async def RepositoryModelUnload(self, request: Any, context: Any) -> Any:
        await self._service.unload(request.model_name)
        return message("RepositoryModelUnloadResponse")()

    async def ModelInfer(self, request: Any, context: Any) -> Any:
        return await self._infer(request, context.time_remaining())

    async def ModelStreamInfer(self, requests: Any, context: Any) -> AsyncIterator[Any]:
        """Answers in the order of the requests, which run at the same time as far as their sequences allow."""
        begun: asyncio.Queue[_Begun] = asyncio.Queue()
        self._streams.add(begun)
        room = asyncio.Semaphore(64)

        async def begin() -> None:
            try:
                async for request in requests:
                    await room.acquire()  # before the task is made: nobody would end one that waits for a place
                    begun.put_nowait((request.id, asyncio.ensure_future(self._infer(request, None))))
            finally:
                begun.put_nowait(None)

        reader = asyncio.ensure_future(begin())
        one: _Begun = None
        try:
            while (one := await begun.get()) is not None:
                if isinstance(one, Refusal):
                    await _abort(context, one)
                room.release()
                try:
                    yield message("ModelStreamInferResponse")(infer_response=await one[1])
                except Exception as error:
                    failed = message("ModelInferResponse")(id=one[0])
                    yield message("ModelStreamInferResponse")(error_message=str(refusal_of(error)), infer_response=failed)
        finally:
            self._streams.discard(begun)
            reader.cancel()
            for left in [one, *(begun.get_nowait() for _ in range(begun.qsize()))]:
                if isinstance(left, tuple):
                    left[1].cancel()

    async def _infer(self, request: Any, seconds: float | None) -> Any:
        said = _read(request)
        if seconds is not None and math.isfinite(seconds):  # the deadline of the call
            own = said.parameters.get("timeout")
            micros = max(1, int(seconds * 1e6))
            said.parameters = {**said.parameters, "timeout": min(own, micros) if isinstance(own, int) and own > 0 else micros}
        typed = bool(request.inputs) and not request.raw_input_contents
        return await self._service.infer(said, lambda answer: _written(answer, typed))


def _value(parameter: Any) -> Any:
    kind = parameter.WhichOneof("parameter_choice")
    return None if kind is None else getattr(parameter, kind)


def _parameters(of: Any) -> dict[str, Any]:
    return {key: _value(p) for key, p in of.parameters.items()}


def _read(request: Any) -> InferRequest:
    for kind, items in (("input", request.inputs), ("output", request.outputs)):
        for item in items:
            check_extensions(_parameters(item), f"{kind} '{item.name}'")
        check_names([item.name for item in items], f"{kind}s")
    raw = request.raw_input_contents
    if raw and len(raw) != len(request.inputs):
        raise bad_request(f"the request has {len(request.inputs)} inputs and {len(raw)} raw_input_contents; expected one for each")
    inputs: dict[str, np.ndarray] = {}
    for k, item in enumerate(request.inputs):
        shape = checked_shape(list(item.shape), item.name)
        if raw and item.HasField("contents"):
            raise bad_request(f"input '{item.name}' has contents, and the request has raw_input_contents; expected one of them")
        inputs[item.name] = from_bytes(raw[k], item.datatype, shape, item.name) if raw else _typed(item, shape)
    said = InferRequest(request.model_name, request.model_version, inputs, id=request.id)
    said.parameters = _parameters(request)
    said.outputs = [item.name for item in request.outputs] or None
    return said


def _typed(item: Any, shape: tuple[int, ...]) -> np.ndarray:
    dtype_of(item.datatype, item.name)
    field = _CONTENTS.get(item.datatype)
    if field is None:
        raise bad_request(f"input '{item.name}' is of {item.datatype}, which has no contents; expected raw_input_contents")
    given = [other.name for other, _ in item.contents.ListFields() if other.name != field]
    if given:
        raise bad_request(f"input '{item.name}' is of {item.datatype} and has {', '.join(given)}; expected {field} alone")
    data = getattr(item.contents, field)
    if item.datatype == "BYTES":
        return from_list(list(data), "BYTES", shape, item.name)
    return from_array(np.array(data), item.datatype, shape, item.name)


def _written(answer: InferAnswer, typed: bool) -> Any:
    """The answer in bytes, or typed if the request was and all its datatypes have contents."""
    made = message("ModelInferResponse")(model_name=answer.model, model_version=answer.version, id=answer.id)
    kinds = {name: datatype_of(array, name) for name, array in answer.outputs.items()}
    typed = typed and all(kind in _CONTENTS for kind in kinds.values())
    for name, array in answer.outputs.items():
        item = made.outputs.add(name=name, datatype=kinds[name], shape=array.shape)
        if not typed:
            made.raw_output_contents.append(to_bytes(array))
            continue
        elements = array.reshape(-1).tolist()
        getattr(item.contents, _CONTENTS[kinds[name]]).extend(as_bytes(x) if isinstance(x, str) else x for x in elements)
    return made
