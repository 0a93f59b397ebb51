"""The service, without its sockets: models, metrics, and whether requests are accepted."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
from collections.abc import Callable, Mapping
from typing import Any

from .. import __version__
from ..errors import CallerError
from ..models import kind_of
from .errors import Refusal, busy
from .metrics import Metrics
from .models import LoadedModel, Made, Models
from .protocol import InferAnswer, InferRequest
from .settings import ModelSettings

log = logging.getLogger("rondel.serve")

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
        repository: str | None = None,
        token: str | None = None,
        engine: str = "rondel",
    ) -> None:
        if token is not None and not token:
            raise CallerError("the token is empty; expected text, or None for none")
        self.metrics = Metrics()
        self.models = Models(self.metrics, _checked_settings(settings), repository, engine)
        self._token = None if token is None else f"Bearer {token}".encode()
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
        """Loads all models; raises the error of the first that cannot be loaded. One of the repository that cannot is left out."""
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

    async def drain(self, grace: float) -> int:
        """Accepts no new requests, and waits for those under way, at most `grace` seconds. Returns how many are left."""
        self.stopping = True
        end = asyncio.get_running_loop().time() + grace
        while self.models.under_way and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(0.01)
        return self.models.under_way

    async def close(self) -> None:
        self.stopping = True
        if self._sweeper is not None:
            self._sweeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sweeper
        await self.models.close()

    async def infer(self, request: InferRequest, render: Callable[[InferAnswer], Made]) -> Made:
        """The rendered answer. A refusal by `render` is counted as one."""
        if self.stopping:
            raise busy("the server is stopping", 1)
        return await self.models.infer(request, render)

    @property
    def has_token(self) -> bool:
        return self._token is not None

    def check_token(self, authorization: bytes | None) -> None:
        """authorization: the header of that name."""
        if self._token is not None and not hmac.compare_digest(authorization or b"", self._token):
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
