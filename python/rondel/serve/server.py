"""The server: the service on its sockets, from its start to its graceful stop."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import math
import os
import pathlib
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

import uvicorn

from ..counts import argument_text, whole
from ..errors import CallerError
from .http import application
from .models import LoadedModel
from .origins import is_loopback
from .service import Service
from .settings import ModelSettings

log = logging.getLogger("rondel.serve")

#: Seconds of the longest wait, three years: timers do not take infinity.
_LONGEST = 1e8


class Server:
    """Serves models by the Open Inference Protocol, over HTTP and gRPC.

    models: name to a path, bytes, an onnx.ModelProto, or any object with the interface of onnxruntime's InferenceSession; or a pair
        of one of these and its ModelSettings.
    settings: of the models without their own. repository: a folder from which models may be loaded by name.
    host: the address; without another, only this machine reaches the server. http_port, grpc_port: 0 takes a free port; grpc_port=None
        leaves gRPC out.
    token: what requests must bring in the header Authorization, after 'Bearer '. None: nothing.
    tls_cert, tls_key: PEM files of the certificate (with those that sign it) and of its key: both protocols are encrypted. None: neither is.
    engine: the name of a module with onnxruntime's interface, which runs the models that are given as files.
    max_request_bytes: larger requests are refused. grace: seconds that requests under way have when the server stops; inf: until they end.

    `run` serves until SIGTERM or Ctrl-C. `with server:` serves on a thread. Raises CallerError for wrong arguments, for models that do not
    load, for a certificate that does not, and for a port that is taken. While models load, health checks are answered, and what asks for a
    model is refused (503).
    """

    url: str
    grpc_url: str | None = None

    def __init__(
        self,
        models: Mapping[str, Any],
        settings: ModelSettings | None = None,
        *,
        repository: str | os.PathLike[str] | None = None,
        host: str = "127.0.0.1",
        http_port: int = 8000,
        grpc_port: int | None = 8001,
        token: str | None = None,
        tls_cert: str | os.PathLike[str] | None = None,
        tls_key: str | os.PathLike[str] | None = None,
        engine: str = "rondel",
        max_request_bytes: int = 1 << 30,
        grace: float = 30.0,
    ) -> None:
        self.service = Service(models, settings, repository, token, engine)
        if not isinstance(host, str) or not host:
            raise CallerError(f"host is {argument_text(host)}; expected a name or an address, as '127.0.0.1'")
        http = _checked_whole("http_port", http_port, 0, 65535)
        self._host, self._ports = host, (http, None if grpc_port is None else _checked_whole("grpc_port", grpc_port, 0, 65535))
        if not isinstance(grace, (int, float)) or isinstance(grace, bool) or not grace >= 0:
            raise CallerError(f"grace is {argument_text(grace)}; expected seconds of 0 or more")
        self._most, self._grace = _checked_whole("max_request_bytes", max_request_bytes, 1, 2**63 - 1), min(grace, _LONGEST)
        self._tls = None if tls_cert is None and tls_key is None else _Tls(tls_cert, tls_key)
        self._stop: Callable[[], None] = lambda: None
        self._thread: threading.Thread | None = None

    @property
    def loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return is_loopback(self._host)

    # ---- on the main thread --------------------------------------------------------------------------------

    def run(self, on_ready: Callable[[list[LoadedModel]], None] = lambda loaded: None) -> None:
        """Serves until a signal, or `stop`. on_ready: called when requests are answered, with the models."""
        before = sys.getswitchinterval()
        sys.setswitchinterval(0.0005)  # else a run waits 5 ms for the thread that reads requests
        try:
            _run(self._serve(on_ready))
        finally:
            sys.setswitchinterval(before)

    # ---- on a thread ---------------------------------------------------------------------------------------

    def start(self) -> None:
        """Serves on a thread; returns when requests are answered, and raises CallerError if `stop` comes first."""
        if self._thread is not None:
            raise CallerError("the server has been started; make a new one")
        ready: concurrent.futures.Future[None] = concurrent.futures.Future()

        def work() -> None:
            try:
                _run(self._serve(lambda loaded: ready.set_result(None)))
                if not ready.done():
                    ready.set_exception(CallerError("the server was stopped before its models were loaded"))
            except BaseException as error:
                if ready.done():
                    log.exception("the server ended")
                else:
                    ready.set_exception(error)

        self._thread = threading.Thread(target=work, name="rondel-serve", daemon=True)
        self._thread.start()
        ready.result()

    def stop(self) -> None:
        """Ends gracefully: requests under way are answered. Waits for a server that `start` started."""
        self._stop()
        if self._thread is not None:
            self._thread.join()

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # ---- on the event loop ---------------------------------------------------------------------------------

    async def _serve(self, on_ready: Callable[[list[LoadedModel]], None]) -> None:
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._stop = lambda: _call_soon(loop, stopped.set)
        listener = _listen("HTTP", self._host, self._ports[0])
        try:
            rpc, end_streams = await self._start_grpc()
        except BaseException:
            listener.close()
            raise
        self.url = f"http{'s' if self._tls else ''}://{_address(self._host, listener.getsockname()[1])}"
        web = _Web(
            uvicorn.Config(
                application(self.service, self._most, self.loopback), lifespan="off", log_config=None, access_log=False, backlog=2048,
                timeout_keep_alive=75,  # a client that asks once in a while finds its connection
                **self._tls.for_http() if self._tls else {},
            ),
            stopped,
        )  # fmt: skip
        serving = asyncio.ensure_future(web.serve(sockets=[listener]))
        while not web.started and not serving.done():
            await asyncio.sleep(0.005)
        ends: list[asyncio.Future[Any]] = [asyncio.ensure_future(stopped.wait()), serving]
        try:
            await self._load(ends, on_ready)
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            end = loop.time() + self._grace
            await self.service.drain(self._grace)
            rest = max(1, math.ceil(end - loop.time()))  # seconds for answers that are still being written
            web.should_exit, web.config.timeout_graceful_shutdown = True, rest
            if rpc is not None:
                end_streams()  # a client may keep one open that asks nothing
                await rpc.stop(rest)
            await self.service.close()
            await serving

    async def _load(self, ends: list[asyncio.Future[Any]], on_ready: Callable[[list[LoadedModel]], None]) -> None:
        """Loads the models, while health checks are answered; gives up when one of `ends` is done. Keeps no model, so that those that
        are removed are freed."""
        loading = asyncio.ensure_future(self.service.start())
        await asyncio.wait([loading, *ends], return_when=asyncio.FIRST_COMPLETED)
        if loading.done():
            on_ready(loading.result())
        else:
            loading.cancel()
            await asyncio.wait([loading])

    async def _start_grpc(self) -> tuple[Any, Callable[[], None]]:
        if self._ports[1] is None:
            return None, lambda: None
        import grpc

        from .grpc import add_to

        most = [("grpc.max_receive_message_length", min(self._most, 2**31 - 1)), ("grpc.max_send_message_length", -1), ("grpc.so_reuseport", 0)]
        server = grpc.aio.server(options=most)
        end_streams = add_to(server, self.service)
        address = _address(self._host, self._ports[1])
        if self._ports[1]:
            _listen("gRPC", self._host, self._ports[1]).close()  # a port that is taken is found here: gRPC writes a log of its own about it
        try:
            port = server.add_secure_port(address, self._tls.for_grpc()) if self._tls else server.add_insecure_port(address)
        except RuntimeError as error:
            raise CallerError(f"gRPC cannot listen at {address}: {error}; try another port, or 0 for a free one") from None
        await server.start()
        self.grpc_url = _address(self._host, port)
        return server, end_streams


class _Tls:
    """A certificate and its key, checked."""

    def __init__(self, cert: str | os.PathLike[str] | None, key: str | os.PathLike[str] | None) -> None:
        if cert is None or key is None:
            raise CallerError(f"tls_{'cert' if cert is None else 'key'} is missing; expected the files of a certificate and of its key")
        try:
            self._cert, self._key = os.fspath(cert), os.fspath(key)
            # A key with a password is refused: nobody may be there to type it.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self._cert, self._key, password=_no_password)
        except (OSError, ValueError, TypeError) as error:
            raise CallerError(f"the certificate {cert} with the key {key} cannot be used: {error}; expected PEM files that belong together") from None

    def for_http(self) -> dict[str, Any]:
        return {"ssl_certfile": self._cert, "ssl_keyfile": self._key}

    def for_grpc(self) -> Any:
        import grpc

        return grpc.ssl_server_credentials([(pathlib.Path(self._key).read_bytes(), pathlib.Path(self._cert).read_bytes())])


def _checked_whole(name: str, value: Any, least: int, most: int) -> int:
    number = whole(value)
    if number is None or not least <= number <= most:
        raise CallerError(f"{name} is {argument_text(value)}; expected an integer from {least} to {most}")
    return number


def _no_password() -> str:
    raise ValueError("the key has a password")


class _Web(uvicorn.Server):
    """Leaves the stop to us: the first signal lets requests end, the second does not wait for them."""

    def __init__(self, config: uvicorn.Config, stopped: asyncio.Event) -> None:
        super().__init__(config)
        self._stopped, self._loop = stopped, asyncio.get_running_loop()

    def handle_exit(self, sig: int, frame: Any) -> None:
        if self._stopped.is_set():
            os._exit(128 + sig)  # not by an exception: runs on other threads would be waited for
        _call_soon(self._loop, self._stopped.set)


def _call_soon(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(act)


def _run(main: Any) -> None:
    """As asyncio.run, on uvloop where it is installed."""
    try:
        import uvloop

        loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    except ImportError:
        loop = asyncio.new_event_loop()
    try:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(main)
    finally:
        rest = asyncio.all_tasks(loop)
        for task in rest:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*rest, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        asyncio.set_event_loop(None)
        loop.close()


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _listen(what: str, host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        raise CallerError(f"{what} cannot listen at {_address(host, port)}: {error}; try another port, or 0 for a free one") from None
