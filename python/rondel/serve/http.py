"""The service over HTTP: an ASGI application, by FastAPI."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import sys
import zlib
from collections.abc import AsyncIterator
from typing import Any

import fastapi
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .errors import REFUSED, Refusal, bad_request, refusal_of, stopping
from .metrics import CONTENT_TYPE
from .origins import check_page
from .protocol import LENGTH_HEADER, parsed, read_request, render_answer, rendered
from .service import Service
from .uploads import Upload, read_upload

#: Answered without the token: what load balancers ask.
_OPEN = {"/v2/health/live", "/v2/health/ready"}


def application(service: Service, max_request_bytes: int = 1 << 30, loopback: bool = False) -> Any:
    """An ASGI application. A server other than ours starts and stops the service by ASGI's lifespan.

    loopback: whether only this machine reaches the server; then requests to load and remove models must name this machine as the host.
    """

    @contextlib.asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        try:
            await service.start()
            yield
            await service.drain(30.0)
        finally:
            await service.close()

    app = fastapi.FastAPI(title="Rondel", docs_url=None, redoc_url=None, lifespan=None if service.started else lifespan)
    _add_infer(app, service, max_request_bytes)
    _add_answers(app, service)
    _add_repository(app, service, max_request_bytes, loopback)
    for kind in (Exception, HTTPException, *REFUSED):  # an Exception that is none of the others goes on to the server's log
        app.add_exception_handler(kind, _failed)
    return _Guard(app, service)


class _Guard:
    """Asks for the token before anything else is read."""

    def __init__(self, app: Any, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"] not in _OPEN:
            try:
                self._service.check_token(next((value for key, value in scope["headers"] if key == b"authorization"), None))
            except Refusal as refusal:
                await _refused(refusal)(scope, receive, send)
                return
        await self._app(scope, receive, send)


class _Unread(Refusal):
    """A request that is refused while its body may still be coming."""


#: Seconds of silence after which a body that is refused is taken to be all that comes.
_SILENCE = 2.0


class _Early(Response):
    """An answer that does not wait for the rest of the body. Its connection does: a client that sends while it is closed has no answer."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": True})
        with contextlib.suppress(asyncio.TimeoutError, asyncio.CancelledError):  # cancelled at the end of the grace: the answer is out
            while (await asyncio.wait_for(receive(), _SILENCE)).get("more_body"):
                pass
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _json(said: Any, status: int = 200, kind: type[Response] = Response) -> Response:
    return kind(rendered(said), status, media_type="application/json")


def _refused(refusal: Refusal) -> Response:
    answer = _json({"error": str(refusal)}, refusal.status, _Early if isinstance(refusal, _Unread) else Response)
    if refusal.retry_after is not None:
        answer.headers["Retry-After"] = str(refusal.retry_after)
    if refusal.status == 401:
        answer.headers["WWW-Authenticate"] = "Bearer"
    return answer


async def _failed(_: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return _refused(Refusal(str(error.detail), error.status_code))
    return _refused(refusal_of(error))


def _add_infer(app: Any, service: Service, max_request_bytes: int) -> None:
    async def infer(request: Request) -> Response:
        try:
            headers, path = request.headers, request.path_params
            service.find(path["name"], path.get("version", ""))  # 404, although the body may be wrong, too
            body = await _body(request, max_request_bytes)
            said = read_request(path["name"], path.get("version", ""), body, headers.get(LENGTH_HEADER))
            async with _WhileConnected(request):
                text, json_length = await service.infer(said, lambda answer: render_answer(answer, said))
        except asyncio.CancelledError:  # uvicorn ends what is left after the grace, such as a body that is still being read
            if not service.stopping:
                raise
            return _refused(stopping())
        except Exception as error:
            return _refused(refusal_of(error))
        answer = Response(text, media_type="application/json" if json_length is None else "application/octet-stream")
        if json_length is not None:
            answer.headers[LENGTH_HEADER] = str(json_length)
        return _compressed(answer, headers.get("accept-encoding"))

    # Plain routes of Starlette, before all others: FastAPI's own resolve parameters and dependencies for each request.
    for path in ("/v2/models/{name}/infer", "/v2/models/{name}/versions/{version}/infer"):
        app.router.routes.insert(0, Route(path, infer, methods=["POST"]))


#: Seconds until the connection of a request is watched: most requests are answered before.
_PATIENCE = 0.02


class _WhileConnected:
    """Ends what is awaited within when the client hangs up, by Refusal 499."""

    def __init__(self, request: Request) -> None:
        self._request, self._gone = request, False
        self._watcher: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        self._timer = loop.call_later(_PATIENCE, lambda: setattr(self, "_watcher", loop.create_task(self._watch())))

    async def __aexit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._timer.cancel()
        if self._watcher is not None:
            self._watcher.cancel()
        if self._gone and kind is asyncio.CancelledError:
            if sys.version_info >= (3, 11):
                self._task.uncancel()
            raise Refusal("the client has hung up", 499, "CANCELLED") from None

    async def _watch(self) -> None:
        while (await self._request.receive())["type"] != "http.disconnect":
            pass
        self._gone = True
        self._task.cancel()


async def _body(request: Request, most: int) -> bytes:
    """The body, unpacked. Refused as soon as it is known to be larger than allowed: by its header, if that says so."""
    too_large = f"the request has more than {most} bytes; --max-request-bytes allows more", 413, "RESOURCE_EXHAUSTED"
    if _declared_length(request) > most:
        raise _Unread(*too_large)
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise _Unread(*too_large)
        parts.append(part)
    body = parts[0] if len(parts) == 1 else b"".join(parts)
    encoding = request.headers.get("content-encoding", "identity").lower()
    if encoding == "identity":
        return body
    if encoding not in ("gzip", "deflate"):
        raise Refusal(f"the body has the encoding '{encoding}'; expected gzip, deflate or identity", 415)
    try:
        unpack = zlib.decompressobj(31 if encoding == "gzip" else 15)
        found = unpack.decompress(body, most + 1)
    except zlib.error as error:
        raise bad_request(f"the body is no {encoding}: {error}") from None
    if len(found) > most:
        raise Refusal(*too_large)
    if not unpack.eof:
        raise bad_request(f"the body is cut off: its {encoding} has no end")
    if unpack.unused_data:
        raise bad_request(f"{len(unpack.unused_data)} bytes go on behind the end of the body's {encoding}")
    return found


def _declared_length(request: Request) -> int:
    """What the header says of the body's length; 0: nothing that can be read."""
    try:
        return int(request.headers.get("content-length", 0))
    except ValueError:
        return 0


def _compressed(answer: Response, accepted: str | None) -> Response:
    """Packed if the client asks for one encoding, as Triton's clients do; a browser's list of all that it knows is no wish."""
    encoding = (accepted or "").lower()
    if encoding in ("gzip", "deflate"):
        answer.body = gzip.compress(answer.body, 1) if encoding == "gzip" else zlib.compress(answer.body, 1)
        answer.headers["Content-Encoding"] = encoding
        answer.headers["Content-Length"] = str(len(answer.body))
    return answer


def _add_answers(app: Any, service: Service) -> None:
    models = service.models

    async def live() -> Response:
        return Response()

    async def ready() -> Response:
        return Response(status_code=200 if service.ready else 400)

    async def server() -> Response:
        return _json(service.metadata())

    async def metrics() -> Response:
        return Response(service.metrics.text(), media_type=CONTENT_TYPE)

    async def all_statistics() -> Response:
        return _json({"model_stats": [m.statistics() for m in models]})

    async def model(name: str, version: str = "") -> Response:
        return _json(service.find(name, version).metadata())

    async def model_ready(name: str, version: str = "") -> Response:
        return Response(status_code=200 if models.is_ready(name, version) and service.ready else 400)

    async def config(name: str, version: str = "") -> Response:
        return _json(service.find(name, version).config())

    async def statistics(name: str, version: str = "") -> Response:
        return _json({"model_stats": [service.find(name, version).statistics()]})

    app.add_api_route("/v2/health/live", live, methods=["GET"])
    app.add_api_route("/v2/health/ready", ready, methods=["GET"])
    app.add_api_route("/v2", server, methods=["GET"])
    app.add_api_route("/v2/", server, methods=["GET"])
    app.add_api_route("/metrics", metrics, methods=["GET"])
    app.add_api_route("/v2/models/stats", all_statistics, methods=["GET"])
    for base in ("/v2/models/{name}", "/v2/models/{name}/versions/{version}"):
        for path, act in (("", model), ("/ready", model_ready), ("/config", config), ("/stats", statistics)):
            app.add_api_route(base + path, act, methods=["GET"])


def _add_repository(app: Any, service: Service, max_request_bytes: int, loopback: bool) -> None:
    async def not_of_a_page(request: Request) -> None:
        if not service.has_token:
            check_page(request.headers, loopback)

    async def index(request: Request) -> Response:
        body = await _body(request, 1 << 20)
        said = parsed(body) if body else {}
        if not isinstance(said, dict):
            raise bad_request("the request is no JSON object")
        return _json(service.models.index(said.get("ready") is True))

    async def load(name: str, request: Request) -> Response:
        body = await _body(request, max_request_bytes)
        await service.load(name, await asyncio.to_thread(_upload, body))
        return Response()

    async def unload(name: str) -> Response:
        await service.unload(name)
        return Response()

    for path, act in (("index", index), ("models/{name}/load", load), ("models/{name}/unload", unload)):
        app.add_api_route(f"/v2/repository/{path}", act, methods=["POST"], dependencies=[fastapi.Depends(not_of_a_page)])


def _upload(body: bytes) -> Upload | None:
    said = parsed(body) if body else {}
    if not isinstance(said, dict):
        raise bad_request("the request is no JSON object")
    return read_upload(said.get("parameters", {}))
