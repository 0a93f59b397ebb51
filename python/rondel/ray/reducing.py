"""Sums over the workers of a training, made by actors: each sums a slice of the vectors, so that no node carries all of them."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import ray

#: The bytes of a slice from which on it is worth an actor of its own.
_SLICE_BYTES = 2**20


class _Slice:
    """Sums one slice. A sum is made when all workers have sent theirs, in the order of their ranks, so that it is the same each time."""

    def __init__(self, workers):
        self._workers = workers
        self._step = None
        self._parts = {}
        self._sum = None

    async def add(self, step, rank, loss, part):
        if step != self._step:
            self._step, self._parts, self._sum = step, {}, asyncio.get_running_loop().create_future()
        waited, self._parts[rank] = self._sum, (loss, part)
        if len(self._parts) == self._workers:
            losses, parts = zip(*(self._parts[k] for k in range(self._workers)))
            waited.set_result((sum(losses), functools.reduce(np.add, parts)))
            self._parts = {}
        return await waited


class AllReduce:
    """The sums of a loss and a vector of each worker, over all workers, once for each step."""

    def __init__(self, slices: Sequence[Any]) -> None:
        self._slices = list(slices)

    @classmethod
    def over(cls, workers: int, nbytes: int) -> AllReduce:
        """An AllReduce for vectors of so many bytes. Its actors end with the process that makes them."""
        count = max(1, min(workers, nbytes // _SLICE_BYTES))
        actor = ray.remote(num_cpus=0, max_concurrency=workers + 1, scheduling_strategy="SPREAD")(_Slice)
        return cls([actor.remote(workers) for _ in range(count)])

    def __call__(self, step: int, rank: int, loss: float, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """The sums over all ranks for this step. Waits for the others; raises Ray's error if an actor is lost."""
        parts = np.array_split(vector, len(self._slices))
        found = ray.get([actor.add.remote(step, rank, loss, part) for actor, part in zip(self._slices, parts)])
        return found[0][0], np.concatenate([part for _, part in found])
