"""Sweeps over a cluster: each part is a task, and results come back in order."""

from __future__ import annotations

import functools
import os
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

#: Parts under way for each processor: enough for the next one to be there, few enough for the object store.
_AHEAD = 3


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
    cpus: the processors of a part. Parts of a worker or node that dies are repeated; rows come once, in the order of the points.
    """
    connect(on)
    return run(job, to, batch=batch, progress=progress, parts=functools.partial(_parts, cpus=cpus))


def _parts(job, ranges, cpus) -> Iterator[Columns]:
    part = ray.remote(num_cpus=cpus, max_retries=_RETRIES, scheduling_strategy="SPREAD")(_part)
    shipped = ray.put(cloudpickle.dumps(job))
    under_way: deque = deque()
    waiting = iter(ranges)
    try:
        for place in waiting:
            under_way.append(part.remote([shipped], *place))
            if len(under_way) >= _most_under_way():
                yield _result(under_way.popleft())
        while under_way:
            yield _result(under_way.popleft())
    finally:
        for reference in under_way:
            ray.cancel(reference)


def _most_under_way():
    return max(8, int(_AHEAD * ray.cluster_resources().get("CPU", 1)))


def _result(reference):
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise cause_of(error) from None


def _part(shipped, first, count):
    return _job(shipped[0]).part(first, count)


@functools.lru_cache(2)
def _job(reference):
    """The job of a sweep, once in each worker."""
    return cloudpickle.loads(ray.get(reference))
