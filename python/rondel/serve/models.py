"""The models of a server: loaded, replaced and removed while it runs."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import glob
import logging
import os
import re
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from ..errors import CallerError
from .batching import Job, Queue
from .datatypes import datatype_of, datatype_of_port
from .engines import Limits, budgets_of, check_given, check_limits, declares_scalar, default_inputs, open_session
from .errors import bad_request, deadline_passed, not_found, refusal_of, stopping
from .metrics import Metrics
from .protocol import InferAnswer, InferRequest
from .sequences import Sequences, checked_states, step_of
from .settings import ModelSettings
from .uploads import Upload

log = logging.getLogger("rondel.serve")

VERSION = "1"

#: What becomes of an answer on its way to the client.
Made = TypeVar("Made")


class LoadedModel:
    """A model that answers requests. Made on a thread; `begin` on the event loop makes it ready."""

    def __init__(self, name: str, source: Any, settings: ModelSettings, engine: str = "rondel", session: Any = None) -> None:
        self.name, self.settings, self.engine = name, settings, engine
        self.session, self.why_alone = _opened(source, engine, settings) if session is None else (session, _why_alone(None, settings))
        if session is not None:
            check_given(session, name, settings)
        self._budgets = budgets_of(settings)
        self.inputs, self.outputs = list(self.session.get_inputs()), list(self.session.get_outputs())
        if settings.batch == "on":
            self._check_first_extents()
        self._defaults = {p.name for p in default_inputs(self.session)}
        self.states = checked_states(self.session, settings.states, name)
        self._required = {p.name for p in self.inputs}
        self._types = {p.name: datatype_of_port(p.type) for p in [*self.inputs, *default_inputs(self.session)]}
        self._usual = [p.name for p in self.outputs if p.name not in self.states.values()]
        self._all = [p.name for p in self.outputs]
        self.file: str | None = None  # that it was read from; None: it was sent, or given

    def _check_first_extents(self) -> None:
        """Refuses to join requests where an output is declared with another first axis than the rows: cut at rows, it would be wrong answers.

        A symbol that no input has decides nothing: exporters name the extents of outputs anew.
        """
        rows = {p.shape[0] for p in self.inputs if p.shape}
        others = {d for p in self.inputs for d in (p.shape or ())[1:]} - rows
        for p in self.outputs:
            first = p.shape[0] if p.shape else None
            if declares_scalar(self.session, p):
                why = f"its output '{p.name}' is a scalar"
            elif isinstance(first, int) or (isinstance(first, str) and first in others):
                why = f"the first extent of its output '{p.name}' is {first!r}"
            else:
                continue
            symbols = ", ".join(sorted(repr(d) for d in rows if isinstance(d, str))) or "a symbol"
            raise CallerError(
                f"model '{self.name}' is told to be batched ('on'), but {why}, however many rows come; expected an extent that is the rows, "
                f"{symbols}; try 'auto' or 'off', or declare the output as it is"
            )

    def begin(self, metrics: Metrics) -> None:
        self.metrics = metrics.of(self.name)
        self._queue = Queue(self.session, self.name, self.settings, self.metrics)
        self.sequences = Sequences(self.session, self.name, self.states, self.settings, self._put)
        self._under_way: set[Job] = set()
        self.metrics.waiting.set_function(lambda: len(self._queue) + self.sequences.waiting)
        self.metrics.sequences.set_function(lambda: len(self.sequences))

    @property
    def batches(self) -> bool:
        return self.why_alone is None

    @property
    def under_way(self) -> int:
        return len(self._under_way)

    async def close(self) -> None:
        """Answers all requests that are under way, then ends."""
        while self.under_way:
            await asyncio.sleep(0.005)
        await self._queue.close()

    def give_up(self) -> None:
        """Refuses all requests that are under way, and stops their runs."""
        for job in self._under_way:
            if not job.future.done():
                job.future.set_exception(stopping())
        for job in self._under_way:  # now nobody waits for a run
            job.stop()

    def leave_metrics(self) -> None:
        """Lets the metrics, which outlive the model, go."""
        self.metrics.ready.set(0)
        for gauge in (self.metrics.waiting, self.metrics.sequences):
            gauge.set_function(lambda: 0)

    # ---- requests ------------------------------------------------------------------------------------------

    async def infer(self, request: InferRequest) -> InferAnswer:
        step = step_of(request.parameters)
        if step is not None and not self.states:
            raise bad_request(f"model '{self.name}' carries no states from one request of a sequence to the next; declare them as input=output")
        job = self._job(request, in_sequence=step is not None)
        wanted = job.wanted
        self._queue.check_room(self.sequences.waiting)
        timer = self._timer(job)
        self._under_way.add(job)
        try:
            if step is None:
                self._put(job)
            else:
                self.sequences.add(job, step)
            outputs = await job.future
        except BaseException:  # it failed, was late, or, over gRPC, the client has gone; HTTP does not tell
            job.future.cancel()
            job.stop()
            self._queue.drop(job)
            raise
        finally:
            self._under_way.discard(job)
            if timer is not None:
                timer.cancel()
        return InferAnswer(self.name, VERSION, {name: outputs[name] for name in wanted}, request.id)

    def _job(self, request: InferRequest, in_sequence: bool) -> Job:
        given = request.inputs
        for name, array in given.items():
            expected = self._types.get(name)
            if expected is None:
                raise bad_request(f"model '{self.name}' has no input '{name}'; the inputs are {', '.join(self._types) or 'none'}")
            if (kind := datatype_of(array, name)) != expected:
                raise bad_request(f"input '{name}' of model '{self.name}' is {kind}; expected {expected}")
        missing = [n for n in self._required if n not in given and not (in_sequence and n in self.states)]
        if missing:
            kept = [n for n in sorted(missing) if n in self.states]
            hint = f"; a request with a sequence_id has {', '.join(kept)} from the server" if kept else ""
            raise bad_request(f"the request lacks the inputs {', '.join(sorted(missing))} of model '{self.name}'{hint}")
        wanted = request.outputs or (self._usual if in_sequence else self._all)
        for name in wanted:
            if name not in self._all:
                raise bad_request(f"model '{self.name}' has no output '{name}'; the outputs are {', '.join(self._all)}")
        return Job(dict(given), wanted, self._limits(request.parameters), asyncio.get_running_loop().create_future())

    def _limits(self, parameters: Mapping[str, Any]) -> Limits:
        """The request's limits: its own, which Triton's `timeout` gives in microseconds, but no more than the model's."""
        timeout = _number(parameters, "timeout")
        deadline = _least(timeout / 1e6 if timeout else None, self.settings.deadline)
        own = Limits(deadline, *(_number(parameters, name) for name in ("max_trips", "max_memory_bytes", "seed")))
        check_limits(self.session, own)
        trips, memory = _least(own.max_trips, self._budgets.max_trips), _least(own.max_memory_bytes, self._budgets.max_memory_bytes)
        return Limits(deadline, trips, memory, own.seed)

    def _timer(self, job: Job) -> asyncio.TimerHandle | None:
        if job.limits.deadline is None:
            return None

        def late() -> None:
            if not job.future.done():
                job.future.set_exception(deadline_passed("before it was answered"))
                job.stop()

        return asyncio.get_running_loop().call_later(job.limits.deadline, late)

    def _put(self, job: Job) -> None:
        """Queues the job; one with a seed or with budgets of its own shares no batch."""
        if self.batches and dataclasses.replace(job.limits, deadline=None) == self._budgets:
            self._join(job)
        self._queue.put(job)

    def _join(self, job: Job) -> None:
        """Says what a batch of the job has in common, if it may be in one."""
        if job.inputs.keys() != self._required:
            return
        shapes = {name: np.shape(x) for name, x in job.inputs.items()}
        rows = {shape[0] if shape else 0 for shape in shapes.values()}
        if len(rows) == 1 and 0 < (count := rows.pop()) <= self.settings.max_batch:
            job.rows, job.key = count, tuple(sorted((name, shape[1:]) for name, shape in shapes.items()))

    # ---- what it says of itself ----------------------------------------------------------------------------

    def metadata(self) -> dict[str, Any]:
        def ports(of: list[Any]) -> list[dict[str, Any]]:
            return [{"name": p.name, "datatype": datatype_of_port(p.type), "shape": _extents(p.shape)} for p in of]

        return {
            "name": self.name, "versions": [VERSION], "platform": f"{self.engine}_onnx", "inputs": ports(self.inputs), "outputs": ports(self.outputs),
        }  # fmt: skip

    def config(self) -> dict[str, Any]:
        """The part of Triton's model configuration that clients read. Of a model that batches, dims do not have the first axis."""

        def ports(of: list[Any]) -> list[dict[str, Any]]:
            skip = 1 if self.batches else 0
            return [{"name": p.name, "data_type": _triton_type(datatype_of_port(p.type)), "dims": _extents(p.shape)[skip:]} for p in of]

        most = self.settings.max_batch if self.batches else 0
        return {
            "name": self.name, "platform": f"{self.engine}_onnx", "backend": self.engine, "max_batch_size": most,
            "input": ports(self.inputs), "output": ports(self.outputs),
        }  # fmt: skip

    def statistics(self) -> dict[str, Any]:
        m = self.metrics
        durations = {"success": m.success, "fail": m.failure, "compute_infer": m.runs}
        return {
            "name": self.name, "version": VERSION, "last_inference": m.last_ms, "inference_count": m.rows, "execution_count": m.runs.count,
            "inference_stats": {key: {"count": d.count, "ns": d.ns} for key, d in durations.items()},
        }  # fmt: skip


def _opened(source: Any, engine: str, settings: ModelSettings) -> tuple[Any, str | None]:
    """A session, and why its requests are not joined. Both read the file, which must be the same one: if it has been replaced, again."""
    for _ in range(5):
        before = _stamp(source)
        found = open_session(source, engine, settings), _why_alone(source, settings)
        if _stamp(source) == before:
            return found
    raise CallerError(f"{source}: the file changes while it is read; load it again when it is written")


def _stamp(source: Any) -> tuple[int, ...] | None:
    """What tells a file from the one that replaces it; None: there is no file."""
    try:
        found = os.stat(source) if isinstance(source, (str, os.PathLike)) else None
    except OSError:
        return None
    return None if found is None else (found.st_ino, found.st_size, found.st_mtime_ns)


def _why_alone(source: Any, settings: ModelSettings) -> str | None:
    """Why requests are not joined; None if they are."""
    if settings.batch == "on":
        return None
    if settings.batch == "off":
        return "it is told not to be batched"
    if source is None:
        return "it is given as a session"
    try:
        from .rows import why_rows_mix
    except ImportError as error:
        return f"the proof needs the package onnx ({error})"
    return why_rows_mix(source)


def _number(parameters: Mapping[str, Any], name: str) -> int | None:
    value = parameters.get(name)
    if value is not None and (type(value) is not int or not 0 <= value < 2**63):
        raise bad_request(f"the parameter {name} is {value!r:.60}; expected an integer of 0 or more, below 2**63")
    return value


_Bound = TypeVar("_Bound", int, float)


def _least(a: _Bound | None, b: _Bound | None) -> _Bound | None:
    """The lesser of two limits, of which None is none."""
    return b if a is None else a if b is None else min(a, b)


def _extents(shape: Any) -> list[int]:
    return [d if isinstance(d, int) else -1 for d in shape or []]


def _triton_type(datatype: str) -> str:
    return "TYPE_STRING" if datatype == "BYTES" else f"TYPE_{datatype}" if datatype.isalnum() else "TYPE_INVALID"


class Models:
    """The models by name. Lives on the event loop; models are read and compiled on threads."""

    def __init__(self, metrics: Metrics, settings: ModelSettings, repository: str | None = None, engine: str = "rondel") -> None:
        self._metrics, self._settings, self._repository, self._engine = metrics, settings, repository, engine
        self._models: dict[str, LoadedModel] = {}
        self._sources: dict[str, tuple[Any, ModelSettings, Any]] = {}
        self._retired: list[LoadedModel] = []
        self._reasons: dict[str, str] = {}
        self._warned: set[str] = set()  # files of the repository
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()  # while somebody holds one or waits for it
        self._closing: dict[LoadedModel, asyncio.Task[None]] = {}

    def __iter__(self):
        return iter(list(self._models.values()))

    @property
    def under_way(self) -> int:
        return sum(m.under_way for m in [*self._models.values(), *self._retired, *self._closing])

    def know(self, name: str, source: Any, settings: ModelSettings | None = None, session: Any = None) -> None:
        """Makes the name known, so that `load` finds its model: a path, or a session."""
        check_name(name)
        if name in self._sources:
            raise CallerError(f"two models are named '{name}'; give one another name: NAME={name}.onnx")
        self._sources[name] = source, settings or self._settings, session

    def is_named(self, name: str) -> bool:
        """Whether `know` named it, and not its file in the repository alone."""
        return name in self._sources

    def known(self) -> list[str]:
        return sorted({*self._sources, *self._in_repository()})

    def find(self, name: str, version: str = "") -> LoadedModel:
        model = self._models.get(name)
        if model is None:
            raise not_found(f"there is no model '{name}'; the models are {', '.join(self._models) or 'none'}")
        if version not in ("", VERSION):
            raise not_found(f"model '{name}' has no version '{version}'; expected '{VERSION}'")
        return model

    def is_ready(self, name: str, version: str = "") -> bool:
        return name in self._models and version in ("", VERSION)

    async def infer(self, request: InferRequest, render: Callable[[InferAnswer], Made]) -> Made:
        begin, name = time.perf_counter(), request.model
        model = self.find(name, request.version)
        status = 200
        try:
            return render(await self._for_sequence(model, request.parameters).infer(request))
        except asyncio.CancelledError:
            status = 499
            raise
        except Exception as error:
            refusal = refusal_of(error)
            status = refusal.status
            if status == 500:
                log.exception("model '%s': a request failed", name)
            raise refusal from error
        finally:
            model.metrics.answered(status, time.perf_counter() - begin)

    def _for_sequence(self, model: LoadedModel, parameters: Mapping[str, Any]) -> LoadedModel:
        """The model that a sequence began with, if that has been replaced since."""
        if not self._retired or (step := step_of(parameters)) is None:
            return model
        for old in self._retired:
            if old.name == model.name and step.id in old.sequences:
                if not step.starts:
                    return old
                old.sequences.drop(step.id)
        return model

    # ---- loading and removing ------------------------------------------------------------------------------

    async def load(self, name: str, upload: Upload | None = None) -> LoadedModel:
        """Loads the model, or replaces it, by what its file or the upload holds. The old one answers until the new one is ready."""
        async with self._locks.setdefault(name, asyncio.Lock()):
            source, settings, session = self._source(name, upload)
            try:
                model = await asyncio.get_running_loop().run_in_executor(None, self._made, name, source, settings, session)
            except Exception as error:
                if self._has_own_file(name):
                    self._reasons[name] = str(error)
                raise
            self._reasons.pop(name, None)
            model.file = source if isinstance(source, str) else None
            model.begin(self._metrics)
            old = self._models.get(name)
            self._models[name] = model
            model.metrics.ready.set(1)
            if old is not None:
                self._retire(old)
            return model

    async def unload(self, name: str) -> None:
        """Removes the model. Requests that are under way are answered first; its sequences end."""
        async with self._locks.setdefault(name, asyncio.Lock()):
            model = self.find(name)
            del self._models[name]
            if self._has_own_file(name):
                self._reasons[name] = "unloaded"
            for one in [model, *(m for m in self._retired if m.name == name)]:
                self._close_later(one)
            model.leave_metrics()
            self._forget_gone()
            await asyncio.shield(asyncio.gather(*(ends for m, ends in self._closing.items() if m.name == name)))

    async def close(self) -> None:
        """Ends all models, each when its requests are answered. Then none is loaded."""
        for model in [*self._models.values(), *self._retired]:
            self._close_later(model)
        for model in self._models.values():
            model.leave_metrics()
        self._models.clear()
        await asyncio.gather(*self._closing.values())

    def give_up(self) -> None:
        """Refuses all requests that are under way, and stops their runs."""
        for model in [*self._models.values(), *self._retired, *self._closing]:
            model.give_up()

    def drop_idle(self) -> None:
        """Drops sequences without requests, and replaced models without sequences. Called once a second."""
        for model in [*self._models.values(), *self._retired]:
            model.sequences.drop_idle()
        for model in list(self._retired):
            if not len(model.sequences):
                self._close_later(model)

    def index(self, only_ready: bool = False) -> list[dict[str, str]]:
        self._forget_gone()
        ready = [{"name": name, "version": VERSION, "state": "READY", "reason": ""} for name in self._models]
        others = [n for n in self.known() if n not in self._models]
        rest = [{"name": n, "version": VERSION, "state": "UNAVAILABLE", "reason": self._reasons.get(n, "not loaded")} for n in others]
        return sorted(ready if only_ready else ready + rest, key=lambda row: row["name"])

    def _forget_gone(self) -> None:
        """Drops what is kept of models that neither run nor have a file: clients may send any number of names."""
        kept = {*self._models, *self.known()}
        for name in self._reasons.keys() - kept:
            del self._reasons[name]
        self._metrics.keep(kept)

    def _retire(self, model: LoadedModel) -> None:
        if len(model.sequences):
            self._retired.append(model)
        else:
            self._close_later(model)

    def _close_later(self, model: LoadedModel) -> None:
        """Begins to end a model that is replaced or removed."""
        self._retired = [m for m in self._retired if m is not model]
        self._closing[model] = task = asyncio.get_running_loop().create_task(model.close())
        task.add_done_callback(lambda _: self._closing.pop(model))

    def _made(self, name: str, source: Any, settings: ModelSettings, session: Any) -> LoadedModel:
        with source.source(self._engine) if isinstance(source, Upload) else contextlib.nullcontext(source) as opened:
            return LoadedModel(name, opened, settings, self._engine, session)

    def _has_own_file(self, name: str) -> bool:
        return name in self._sources or name in self._in_repository()

    def _source(self, name: str, upload: Upload | None) -> tuple[Any, ModelSettings, Any]:
        """What is opened: a path, bytes or an Upload; its settings; a session, if one was given."""
        path, settings, session = self._sources.get(name) or (self._in_repository().get(name), self._settings, None)
        if upload is not None:
            settings = upload.settings(settings)
        if upload is not None and upload.files:
            if not _NAME.fullmatch(name):
                raise bad_request(f"a model cannot be named {name!r:.60}; expected letters, digits, '_', '-' and '.'")
            return upload, settings, None
        if path is None and session is None:
            raise not_found(f"there is no model '{name}' to load{self._why_nothing(name)}")
        return path, settings, session

    def _why_nothing(self, name: str) -> str:
        """What an error says of a model without a file: whether it runs."""
        running = self._models.get(name)
        if running is None:
            return f"; known are {', '.join(self.known()) or 'none'}"
        if running.file is None:
            return ": it was sent, and has no file; what runs goes on; expected file:1/model.onnx, to send it again"
        return f": its file is gone, {running.file}; what runs goes on; put the file back, or remove the model"

    def _in_repository(self) -> dict[str, str]:
        """The files of the repository by the names of their models: NAME.onnx, or else Triton's NAME/1/model.onnx."""
        if self._repository is None:
            return {}
        found: dict[str, str] = {}
        entries = sorted(os.scandir(self._repository), key=lambda e: (e.is_dir(), e.name))
        for entry in entries:
            stem, ending = os.path.splitext(entry.name)
            path = entry.path
            if entry.is_dir():
                stem, path = entry.name, os.path.join(entry.path, VERSION, "model.onnx")
                if not os.path.isfile(path):
                    others = sorted(glob.glob("*/model.onnx", root_dir=entry.path))
                    if others:
                        self._warn_once(entry.path, f"has no version {VERSION}, but {', '.join(others)}; expected {VERSION}/model.onnx")
                    continue
            elif ending != ".onnx":
                continue
            if not _NAME.fullmatch(stem):
                self._warn_once(path, "cannot give a model its name; expected letters, digits, '_', '-' and '.'")
            elif stem in found:
                self._warn_once(path, f"has the name of {found[stem]}, which is taken")
            else:
                found[stem] = path
        return found

    def _warn_once(self, path: str, why: str) -> None:
        if path not in self._warned:
            self._warned.add(path)
            log.warning("%s is left out: it %s", path, why)


_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")


def check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise CallerError(f"a model cannot be named {name!r}; expected letters, digits, '_', '-' and '.': try NAME=path")
    return name
