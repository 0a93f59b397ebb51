"""Models as an application of Ray Serve, with replicas that scale."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import CallerError, DeadlineExceeded, LimitExceeded
from ..models import Model, model_source
from ..options import SessionOptions
from ..session import InferenceSession
from . import protocol


def application(
    models: Model | Mapping[str, Model],
    *,
    replicas: int | tuple[int, int] = (1, 4),
    cpus: float = 1,
    requests: int = 16,
    routes: Callable[[dict[str, InferenceSession]], Any] | None = None,
    sess_options: SessionOptions | None = None,
    **deployment: Any,
) -> Any:
    """An application for ray.serve.run: the Open Inference Protocol, version 2, over HTTP with JSON.

    models: a model, whose name is that of its file, or "model"; or a dict of names to models. Bytes are kept in the cluster; a path is
        read by each replica, so it must be on storage that all nodes share.
    replicas: their number, or the least and the most, between which Ray Serve scales with the load. cpus: the processors of each.
    requests: how many requests a replica works on at once.
    routes: a function of {name: session} that gives the ASGI application of a replica; None: health, metadata and infer.
    deployment: further arguments of ray.serve.deployment.

    The models are compiled here once, so that their errors are raised at once.
    """
    from ray import serve

    sources = {name: _absolute(model_source(model)) for name, model in _named(models).items()}

    def build():  # Ray Serve tells a builder from an application by its being a plain function
        return _build(sources, sess_options, routes or http_routes)

    for source in sources.values():
        InferenceSession(source, sess_options)
    scaling = {"num_replicas": replicas} if isinstance(replicas, int) else {"autoscaling_config": _autoscaling(replicas)}
    settings = {"name": "rondel", "max_ongoing_requests": requests, "ray_actor_options": {"num_cpus": cpus}, **scaling, **deployment}
    return serve.deployment(serve.ingress(build)(), **settings).bind()


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


def _build(sources, options, routes):
    """The ASGI application of a replica, made in the replica."""
    return routes({name: InferenceSession(source, options) for name, source in sources.items()})


def http_routes(sessions: dict[str, InferenceSession]) -> Any:
    """A FastAPI application with the protocol's routes over JSON: health, metadata and infer."""
    from fastapi import FastAPI, Request
    from fastapi.responses import JSONResponse
    from starlette.concurrency import run_in_threadpool

    app = FastAPI(title="rondel")

    def refused(status, text):
        return JSONResponse({"error": text}, status)

    @app.get("/v2/health/live")
    @app.get("/v2/health/ready")
    def ready():
        return {}

    @app.get("/v2")
    def server():
        from .. import __version__

        return {"name": "rondel", "version": __version__, "extensions": []}

    @app.get("/v2/models/{name}/ready")
    @app.get("/v2/models/{name}")
    def about(name: str):
        if name not in sessions:
            return refused(404, f"there is no model '{name}'; there are {', '.join(sessions)}")
        return protocol.metadata(name, sessions[name])

    async def infer(name: str, request: Request):
        if name not in sessions:
            return refused(404, f"there is no model '{name}'; there are {', '.join(sessions)}")
        try:
            return JSONResponse(await run_in_threadpool(protocol.infer, sessions[name], await request.json()))
        except (LimitExceeded, DeadlineExceeded) as error:
            return refused(503, str(error))
        except (CallerError, ValueError) as error:
            return refused(400, str(error))

    infer.__annotations__["request"] = Request  # a text here, which FastAPI cannot resolve
    app.post("/v2/models/{name}/infer")(infer)
    return app
