"""Batch inference over Ray Data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import ray

from .. import prediction
from ..counts import checked_count
from ..models import Model
from ..options import SessionOptions
from .cluster import fetched, first_draw, model_bytes, with_own_threads


class Predictor(prediction.Predictor):
    """rondel.prediction.Predictor for `Dataset.map_batches`: `model` may be an ObjectRef of a model's bytes, of which each node keeps
    one copy. Each worker compiles a session of its own, with as many threads as Ray counts processors for it, unless sess_options ask
    for a number above 0. Random ops draw other numbers in each worker."""

    def __init__(self, model: Any, *, sess_options: SessionOptions | None = None, **settings: Any) -> None:
        super().__init__(fetched(model), sess_options=with_own_threads(sess_options), **settings)
        self._done = first_draw()


def predict(
    dataset: Any,
    model: Model,
    *,
    outputs: str | Iterable[str] | None = None,
    columns: Mapping[str, str] | None = None,
    keep: Iterable[str] | None = None,
    sess_options: SessionOptions | None = None,
    batch_size: int = 1024,
    runs: int = 1,
    workers: int | tuple[int, int] = 1,
    cpus: float = 1,
    **remote: Any,
) -> Any:
    """A ray.data.Dataset with the model's outputs as columns; nothing runs before it is written or read.

    dataset: a ray.data.Dataset, such as ray.data.read_parquet(...) or ray.data.from_numpy(...). outputs, columns, keep, sess_options: as in
        rondel.prediction.Predictor.
    batch_size: rows in a run.
    runs: how many runs a worker makes of what Ray hands it at once. Ray takes about a millisecond each time: where a run takes less
        than 50 ms, more runs make Ray's time count less. They take as many times the memory for rows.
    workers: the number of workers, or the least and the most. cpus: the processors of a worker.
    remote: further arguments of map_batches.

    The model is compiled here once, so that its errors are raised at once. A worker or a node that dies is replaced by Ray, which
    repeats the batches that it had not finished.
    """
    import ray.data

    sizes = {"size": workers} if isinstance(workers, int) else dict(zip(("min_size", "max_size"), workers))
    data = model_bytes(model)
    settings = {"outputs": outputs, "columns": columns, "keep": keep, "sess_options": sess_options, "batch_size": batch_size}
    prediction.Predictor(data, **settings)
    return dataset.map_batches(
        Predictor,
        fn_constructor_args=(ray.put(data),),
        fn_constructor_kwargs=settings,
        batch_size=checked_count("predict: runs", runs) * checked_count("predict: batch_size", batch_size),
        batch_format="numpy",
        compute=ray.data.ActorPoolStrategy(**sizes),
        num_cpus=cpus,
        **remote,
    )
