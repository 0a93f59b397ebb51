"""The queue of a model, and batches: requests that wait while the model runs are run together.

Threads take from the queue. The event loop alone puts jobs in and hears of their ends.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import logging
import math
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .engines import Limits, run_options
from .errors import busy, deadline_passed
from .metrics import ModelMetrics
from .settings import ModelSettings

log = logging.getLogger("rondel.serve")

Outputs = dict[str, np.ndarray]


@dataclasses.dataclass(eq=False)
class Run:
    """A run of jobs, while it goes on. options: its RunOptions; None: its engine has none, and nothing stops it."""

    jobs: list[Job]
    options: Any

    @property
    def is_awaited(self) -> bool:
        return not all(job.future.done() for job in self.jobs)


@dataclasses.dataclass(eq=False)
class Job:
    """A run that a request asks for. rows: how many it brings to a batch, if it may be in one; key: what all of a batch have in common."""

    inputs: dict[str, Any]
    wanted: list[str]
    limits: Limits
    future: asyncio.Future[Outputs]
    arrived: float = dataclasses.field(default_factory=time.perf_counter)
    rows: int = 0
    key: Any = None
    on_end: Callable[[Outputs | None], None] | None = None  # called on the event loop, with the outputs if the answer is still awaited
    run: Run | None = None  # while it runs

    @property
    def ends_at(self) -> float:
        return math.inf if self.limits.deadline is None else self.arrived + self.limits.deadline

    def stop(self) -> None:
        """Ends its run, if nobody waits for it any more."""
        run = self.run
        if run is not None and run.options is not None and not run.is_awaited:
            run.options.terminate = True


class Queue:
    """Jobs that wait, and the threads that run them."""

    def __init__(self, session: Any, name: str, settings: ModelSettings, metrics: ModelMetrics) -> None:
        self._session, self._name, self._settings, self._metrics = session, name, settings, metrics
        self._loop = asyncio.get_running_loop()
        self._jobs: collections.deque[Job] = collections.deque()
        self._changed = threading.Condition()
        self._closed = False
        self._typical = 0.0  # seconds of a run
        self._idle = settings.instances
        self._all_ended = asyncio.Event()
        self._running = settings.instances
        for k in range(settings.instances):
            threading.Thread(target=self._work, name=f"rondel-serve {name} {k}", daemon=True).start()

    def __len__(self) -> int:
        return len(self._jobs)

    def check_room(self, more: int = 0) -> None:
        """Refuses a request for which the queue has no room. more: jobs that wait elsewhere."""
        waiting = len(self._jobs) + more
        if waiting >= self._settings.queue + self._idle:
            raise busy(f"model '{self._name}' has {waiting} requests waiting; try again later", self.seconds_until_room(waiting))

    def seconds_until_room(self, waiting: int) -> int:
        return max(1, math.ceil(waiting * self._typical / self._settings.instances))

    def put(self, job: Job) -> None:
        with self._changed:
            self._jobs.append(job)
            self._changed.notify_all()  # not `notify`: it may wake a thread that fills a batch, which does not take this job

    def drop(self, job: Job) -> None:
        """Removes a job that nobody waits for any more, if it has not begun."""
        with self._changed:
            if job not in self._jobs:
                return
            self._jobs.remove(job)
        if job.on_end is not None:
            job.on_end(None)

    async def close(self) -> None:
        """Lets all jobs end, then the threads."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        await self._all_ended.wait()

    # ---- on the threads ------------------------------------------------------------------------------------

    def _work(self) -> None:
        while batch := self._take():
            self._run(batch)
        self._tell(self._ended)

    def _tell(self, act: Callable[..., None], *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(act, *arguments)
        except RuntimeError:  # the loop has been closed: nobody waits any more
            pass

    def _take(self) -> list[Job]:
        """The next jobs to run; none: the queue is closed."""
        with self._changed:
            while not self._jobs:
                if self._closed:
                    return []
                self._changed.wait()
            self._idle -= 1
            batch = [self._jobs.popleft()]
            self._fill(batch)
            if self._is_held_up():
                self._changed.notify_all()  # this was the last thread that could take them
            full = batch[0].arrived + self._settings.batch_delay
            while not self._closed and not self._is_held_up() and self._may_grow(batch) and (rest := full - time.perf_counter()) > 0:
                self._changed.wait(rest)
                self._fill(batch)
            kept = _of_usual_size(batch)
            if kept < len(batch):
                self._jobs.extendleft(reversed(batch[kept:]))
                self._changed.notify_all()
            return batch[:kept]

    def _is_held_up(self) -> bool:
        """Whether a job waits that fits no batch which is being filled, and no other thread takes it."""
        return bool(self._jobs) and self._idle == 0

    def _may_grow(self, batch: list[Job]) -> bool:
        return batch[0].rows > 0 and sum(job.rows for job in batch) < self._settings.max_batch

    def _fill(self, batch: list[Job]) -> None:
        """Adds the jobs of the queue that fit, in their order; those that do not keep their places."""
        first, rows = batch[0], sum(job.rows for job in batch)
        if first.rows == 0 or not self._jobs:
            return
        rest: list[Job] = []
        while self._jobs and rows < self._settings.max_batch:
            job = self._jobs.popleft()
            if job.rows and job.key == first.key and rows + job.rows <= self._settings.max_batch:
                batch.append(job)
                rows += job.rows
            else:
                rest.append(job)
        self._jobs.extendleft(reversed(rest))

    def _run(self, batch: list[Job]) -> None:
        begin = time.perf_counter()
        awaited = [job for job in batch if job.ends_at > begin and not job.future.done()]
        ends: list[tuple[Job, Outputs | Exception]] = [(job, deadline_passed("while it waited")) for job in batch if job not in awaited]
        if awaited:
            ends += self._run_together(awaited) if len(awaited) > 1 else [self._run_alone(awaited[0])]
        with self._changed:
            self._idle += 1
        self._tell(self._finish, ends, awaited, begin, time.perf_counter() - begin)

    def _run_alone(self, job: Job) -> tuple[Job, Outputs | Exception]:
        try:
            outputs = self._outputs([job], job.wanted, job.inputs)
            return job, dict(zip(job.wanted, outputs))
        except Exception as error:
            return job, error
        except BaseException as error:  # of a registered op, such as SystemExit; the worker goes on
            return job, RuntimeError(f"{type(error).__name__}: {error}")

    def _outputs(self, batch: list[Job], names: list[str], inputs: dict[str, Any]) -> list[Any]:
        """The outputs of a run, which `Job.stop` may end."""
        run = Run(batch, run_options(self._session, dataclasses.replace(batch[0].limits, deadline=_rest(batch))))
        for job in batch:
            job.run = run
        try:
            if not run.is_awaited:  # `stop` may have come before there was a run
                raise deadline_passed("while it waited")
            return self._session.run(names, inputs, run.options)
        finally:
            for job in batch:
                job.run = None

    def _run_together(self, batch: list[Job]) -> list[tuple[Job, Outputs | Exception]]:
        """Runs a batch; if it fails, each job by itself, so that no job hears of another's fault."""
        names = list(dict.fromkeys(name for job in batch for name in job.wanted))
        rows = sum(job.rows for job in batch)
        try:
            inputs = {name: np.concatenate([job.inputs[name] for job in batch]) for name in batch[0].inputs}
            outputs = dict(zip(names, self._outputs(batch, names, inputs)))
        except BaseException:
            return [self._run_alone(job) for job in batch]
        if not all(isinstance(x, np.ndarray) and x.ndim and x.shape[0] == rows for x in outputs.values()):
            log.warning("model '%s' was said to keep the rows of a batch apart, but %d rows give other outputs; running each alone", self._name, rows)
            return [self._run_alone(job) for job in batch]
        ends: list[tuple[Job, Outputs | Exception]] = []
        at = 0
        for job in batch:
            ends.append((job, {name: outputs[name][at : at + job.rows] for name in job.wanted}))
            at += job.rows
        return ends

    # ---- on the event loop ---------------------------------------------------------------------------------

    def _finish(self, ends: list[tuple[Job, Outputs | Exception]], ran: list[Job], begin: float, took: float) -> None:
        if ran:
            self._typical += 0.2 * (took / len(ran) - self._typical)
            done = sum(max(job.rows, 1) for job, found in ends if not isinstance(found, Exception))
            self._metrics.ran(sum(max(job.rows, 1) for job in ran), done, took)
        for job in ran:
            self._metrics.queue_seconds.observe(begin - job.arrived)
        for job, found in ends:
            awaited = not job.future.done()
            if awaited and isinstance(found, Exception):
                job.future.set_exception(found)
            elif awaited:
                job.future.set_result(found)  # type: ignore[arg-type]
            if job.on_end is not None:
                job.on_end(found if awaited and not isinstance(found, Exception) else None)

    def _ended(self) -> None:
        self._running -= 1
        if self._running == 0:
            self._all_ended.set()


def _of_usual_size(batch: list[Job]) -> int:
    """How many jobs make the largest power of two of rows; all, if none do.

    An engine prepares and compiles for extents that it sees again and again: with few extents that is soon over, and disturbs no request.
    """
    rows, kept = 0, 0
    for k, job in enumerate(batch, 1):
        rows += job.rows
        if rows & (rows - 1) == 0:
            kept = k
    return kept or len(batch)


def _rest(batch: list[Job]) -> float | None:
    """Seconds until the last deadline of these jobs."""
    last = max(job.ends_at for job in batch)
    return None if last == math.inf else max(0.0, last - time.perf_counter())
