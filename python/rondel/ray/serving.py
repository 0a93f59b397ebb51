"""Models as an application of Ray Serve, with replicas that scale."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import CallerError
from ..models import Model, model_source

if TYPE_CHECKING:
    from ..serve import ModelSettings, Service


def application(
    models: Model | Mapping[str, Model],
    *,
    settings: ModelSettings | None = None,
    replicas: int | tuple[int, int] = (1, 4),
    cpus: float = 1,
    requests: int = 16,
    token: str | None = None,
    routes: Callable[[Service], Any] | None = None,
    **deployment: Any,
) -> Any:
    """An application for ray.serve.run: what `rondel serve` answers over HTTP, in replicas.

    models: a model, whose name is that of its file, or "model"; or a dict of names to models. Bytes are kept in the cluster; a path is
        read by each replica, so it must be on storage that all nodes share.
    settings: batches, limits and sequences, as of rondel.serve. A sequence's states are in one replica: with another number than
        replicas=1, requests of a sequence are refused.
    replicas: their number, or the least and the most, between which Ray Serve scales with the load. cpus: the processors of each.
    requests: how many requests a replica works on at once. token: what requests must bring, "Authorization: Bearer TOKEN"; None: nothing.
    routes: makes the ASGI application of a replica from its rondel.serve.Service; None: rondel.serve.application.
    deployment: further arguments of ray.serve.deployment.

    The models are loaded here once, so that their errors are raised at once. To load or unload a model over HTTP changes one replica
    only. Raises CallerError for an empty token, and for states of sequences in several replicas. Needs the extras `ray` and `serve` of
    the package.
    """
    from ray import serve

    from ..serve import ModelSettings, Service
    from ..session import InferenceSession

    sources = {name: _absolute(model_source(model)) for name, model in _named(models).items()}
    scaling = {"num_replicas": replicas} if isinstance(replicas, int) else {"autoscaling_config": _autoscaling(replicas)}
    deployed = {"name": "rondel", "max_ongoing_requests": requests, "ray_actor_options": {"num_cpus": cpus}, **scaling, **deployment}
    settings = settings or ModelSettings()
    if deployed.get("num_replicas") != 1 or "autoscaling_config" in deployed:
        if settings.states:
            raise CallerError(f"application: a sequence's states are in one replica; expected replicas=1 with settings.states, not {replicas}")
        settings = dataclasses.replace(settings, states={})
    Service({}, settings, token=token)  # its errors

    def build():  # Ray Serve tells a builder from an application by its being a plain function
        return service_application(sources, settings, token, routes)

    for source in sources.values():
        InferenceSession(source)
    return serve.deployment(serve.ingress(build)(), **deployed).bind()


def service_application(
    sources: Mapping[str, Any], settings: ModelSettings | None = None, token: str | None = None, routes: Callable[[Service], Any] | None = None
) -> Any:
    """The ASGI application of a replica, made in the replica; the models are loaded when its lifespan begins."""
    from .. import serve

    return (routes or serve.application)(serve.Service(sources, settings, token=token))


def _named(models):
    if not isinstance(models, Mapping):
        named = isinstance(models, (str, os.PathLike))
        models = {os.path.splitext(os.path.basename(os.fspath(models)))[0] if named else "model": models}
    if not models:
        raise CallerError("serve: there is no model; give a path, bytes, or a dict of names to models")
    return models


def _absolute(source):
    """A replica has a folder of its own."""
    return os.path.abspath(source) if isinstance(source, str) else source


def _autoscaling(replicas):
    least, most = replicas
    return {"min_replicas": least, "max_replicas": most}
