"""Sweeps over a cluster: parts in a row are a task of about a second, and results come back in order."""

from __future__ import annotations

import functools
import os
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

import ray
from ray import cloudpickle

from ..sweeps import Summary, run
from ..sweeps.columns import Columns
from .cluster import cause_of, connect

#: How often Ray repeats a part whose worker or node died. A part that ends its process by itself must not go on for ever.
_RETRIES = 20

#: Tasks under way for each processor: enough for the next one to be there, few enough for the object store.
_AHEAD = 3

#: What a task is to take: parts in a row go into one task, since each task costs Ray, and the driver, milliseconds.
_TASK_SECONDS, _TASK_BYTES = 1.0, 16 << 20


def sweep(
    job: Any,
    to: str | os.PathLike[str] | None = None,
    *,
    on: str | None = None,
    batch: int | None = None,
    progress: bool = True,
    cpus: float = 1,
) -> Summary:
    """rondel.sweeps.run on a cluster.

    job: an MdfSweep or OnnxSweep, which is sent to each node once and compiled once in each worker. on: the cluster, as in `connect`.
    cpus: the processors of a task, which runs some parts with as many threads, unless the options of the job's model ask for a number.
    Tasks of a worker or node that dies are repeated; rows come once, in the
    order of the points. If a part fails, no rows of its task come.
    """
    connect(on)
    return run(job, to, batch=batch, progress=progress, parts=functools.partial(_parts, cpus=cpus))


def _parts(job, ranges, cpus) -> Iterator[Columns]:
    task = ray.remote(num_cpus=cpus, max_retries=_RETRIES, scheduling_strategy="SPREAD")(_run_parts)
    shipped = ray.put(cloudpickle.dumps(job.with_threads(max(1, int(cpus)))))
    under_way: deque = deque()
    waiting, together = deque(ranges), 1
    try:
        while waiting or under_way:
            most = max(8, int(_AHEAD * ray.cluster_resources().get("CPU", 1)))
            while waiting and len(under_way) < most:
                places = [waiting.popleft() for _ in range(min(together, len(waiting)))]
                under_way.append(task.remote([shipped], places))
            found, seconds = _result(under_way.popleft())
            together = min(_parts_of_a_task(found, seconds), max(1, len(waiting) // most))
            yield from found
    finally:
        for reference in under_way:
            ray.cancel(reference)


def _parts_of_a_task(found: list[Columns], seconds: float) -> int:
    """How many parts like these fill a task."""
    size = sum(x.nbytes for columns in found for x in columns.values())
    return max(1, int(len(found) * min(_TASK_SECONDS / max(seconds, 1e-6), _TASK_BYTES / max(size, 1))))


def _result(reference):
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise cause_of(error) from None


def _run_parts(shipped, places) -> tuple[list[Columns], float]:
    """The columns of some parts, and the seconds that they took."""
    job, begin = _job(shipped[0]), time.perf_counter()
    return [job.part(first, count) for first, count in places], time.perf_counter() - begin


@functools.lru_cache(2)
def _job(reference):
    """The job of a sweep, once in each worker."""
    return cloudpickle.loads(ray.get(reference))
