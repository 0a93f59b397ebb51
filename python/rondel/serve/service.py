"""The service, without its sockets: models, metrics, and whether requests are accepted."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import os
from collections.abc import Callable, Mapping
from typing import Any

from .. import __version__
from ..errors import CallerError
from ..models import kind_of
from .errors import Refusal, busy, stopping
from .metrics import Metrics
from .models import LoadedModel, Made, Models
from .protocol import InferAnswer, InferRequest
from .settings import ModelSettings
from .uploads import Upload

log = logging.getLogger("rondel.serve")

#: Seconds that runs have to end when they are told to.
_PATIENCE = 2.0

EXTENSIONS = ["binary_tensor_data", "model_configuration", "model_repository", "sequence", "statistics"]


class Service:
    """Models that answer requests. `start` and all after it belong to one event loop.

    models: name to a path, bytes, or an object with the interface of onnxruntime's InferenceSession; or a pair of one and its
    ModelSettings. repository: a folder from which models may be loaded by name. token: what requests must bring; None: nothing.
    """

    def __init__(
        self,
        models: Mapping[str, Any],
        settings: ModelSettings | None = None,
        repository: str | os.PathLike[str] | None = None,
        token: str | None = None,
        engine: str = "rondel",
    ) -> None:
        _check_token_and_folder(token, repository)
        self.metrics = Metrics()
        self.models = Models(self.metrics, _checked_settings(settings), None if repository is None else os.fspath(repository), engine)
        self._token = None if token is None else token.encode()
        self.started = self.stopping = False
        self._sweeper: asyncio.Task[None] | None = None
        for name, (model, own) in _checked_models(models).items():
            if hasattr(model, "get_inputs"):
                self.models.know(name, None, own, model)
            else:
                self.models.know(name, model.SerializeToString() if hasattr(model, "SerializeToString") else model, own)

    @property
    def ready(self) -> bool:
        return self.started and not self.stopping

    async def start(self) -> list[LoadedModel]:
        """Loads all models; raises the error of the first that cannot be loaded. One of the repository that cannot is left out.
        A service that has been closed may be started again."""
        self.stopping = False
        loaded = []
        for name in self.models.known():
            try:
                loaded.append(await self.models.load(name))
            except Exception as error:
                if self.models.is_named(name):
                    raise
                log.warning("model '%s' of the repository is not loaded: %s", name, error)
        self._sweeper = asyncio.get_running_loop().create_task(self._sweep())
        self.started = True
        return loaded

    async def drain(self, grace: float) -> None:
        """Accepts no new requests, and waits for those under way, at most `grace` seconds. Those that are left are refused, and their
        runs are stopped."""
        self.stopping = True
        end = asyncio.get_running_loop().time() + grace
        while self.models.under_way and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(0.01)
        if self.models.under_way:
            log.warning("%d requests are given up: they did not end within %g s", self.models.under_way, grace)
            self.models.give_up()

    async def close(self) -> None:
        """Ends all models. A run that does not end when it is told to is left to its thread."""
        self.started, self.stopping = False, True
        if self._sweeper is not None:
            self._sweeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sweeper
            self._sweeper = None
        try:
            await asyncio.wait_for(self.models.close(), _PATIENCE)
        except asyncio.TimeoutError:
            log.warning("a run that was told to stop goes on; its thread ends with it")

    def _check_open(self) -> None:
        """Refuses what is asked before all models are loaded, or when the stop has begun."""
        if self.stopping:
            raise stopping()
        if not self.started:
            raise busy("the server is starting: its models are being loaded", 1)

    def find(self, name: str, version: str = "") -> LoadedModel:
        """The model of that name. Refusal: there is none, or all are still being loaded."""
        if not self.started:
            self._check_open()
        return self.models.find(name, version)

    async def load(self, name: str, upload: Upload | None = None) -> None:
        """Models.load, for a client."""
        self._check_open()
        await self.models.load(name, upload)

    async def unload(self, name: str) -> None:
        """Models.unload, for a client."""
        self._check_open()
        await self.models.unload(name)

    async def infer(self, request: InferRequest, render: Callable[[InferAnswer], Made]) -> Made:
        """The rendered answer. A refusal by `render` is counted as one."""
        self._check_open()
        return await self.models.infer(request, render)

    @property
    def has_token(self) -> bool:
        return self._token is not None

    def check_token(self, authorization: bytes | None) -> None:
        """authorization: the header of that name."""
        if self._token is None:
            return
        scheme, _, given = (authorization or b"").partition(b" ")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(given.strip(b" "), self._token):
            raise Refusal("the request lacks the token; expected the header 'Authorization: Bearer TOKEN'", 401, "UNAUTHENTICATED")

    def metadata(self) -> dict[str, Any]:
        return {"name": "rondel", "version": __version__, "extensions": EXTENSIONS}

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            try:
                self.models.drop_idle()
            except Exception:
                log.exception("idle sequences cannot be dropped")


def _check_token_and_folder(token: Any, repository: Any) -> None:
    if token is not None and not isinstance(token, str):
        raise CallerError(f"token is a {kind_of(token)}; expected a str, or None for none")
    if token is not None and not token.strip():
        raise CallerError("the token is empty; expected text, or None for none")
    if repository is not None and not (isinstance(repository, (str, os.PathLike)) and os.path.isdir(repository)):
        raise CallerError(f"repository is {repository!r:.200}; expected a folder that is there, or None for none")


def _checked_models(models: Any) -> dict[str, tuple[Any, ModelSettings | None]]:
    """(the model, its own settings) by name."""
    if not isinstance(models, Mapping):
        raise CallerError(f"models is a {kind_of(models)}; expected a dict of a name to a model, as {{'digits': 'digits.onnx'}}")
    found = {}
    for name, given in models.items():
        if not isinstance(name, str):
            raise CallerError(f"models holds the name {name!r}; expected a str")
        pair = given if isinstance(given, tuple) else (given, None)
        if len(pair) != 2 or not isinstance(pair[1], ModelSettings | None):
            raise CallerError(f"models holds {given!r:.100} as {name!r}; expected a model, or (model, ModelSettings(...))")
        found[name] = pair
    return found


def _checked_settings(settings: Any) -> ModelSettings:
    if settings is not None and not isinstance(settings, ModelSettings):
        example = "; one model's own go beside it: {'digits': ('digits.onnx', ModelSettings(...))}" if isinstance(settings, Mapping) else ""
        raise CallerError(f"settings is a {kind_of(settings)}; expected ModelSettings{example}")
    return settings or ModelSettings()
