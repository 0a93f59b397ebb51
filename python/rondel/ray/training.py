"""Data-parallel training under Ray Train: each worker computes the gradients of its part of each batch."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import pickle
import tempfile
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import ray
import ray.train

from ..errors import CallerError, Error
from ..options import SessionOptions, checked_options
from ..train import Gradients, Loss, Optimizer, Trainer, checks
from ..train.batches import Batches, size_of
from ..train.model import load
from .cluster import cause_of, connect, with_own_threads
from .reducing import AllReduce


class Fitted(NamedTuple):
    """losses: the loss of each step. trainer: a rondel.train.Trainer with the trained parameters and the optimizer's state."""

    losses: list[float]
    trainer: Trainer


def fit(
    model: Any,
    data: Mapping[str, Any],
    *,
    loss: str | Loss,
    optimizer: str | Optimizer = "adam",
    epochs: int = 1,
    batch_size: int | None = None,
    shuffle: bool = True,
    workers: int = 2,
    cpus: float = 1,
    storage: str | os.PathLike[str],
    name: str | None = None,
    checkpoint_steps: int = 100,
    failures: int = 3,
    on: str | None = None,
    **settings: Any,
) -> Fitted:
    """Trains a model on a cluster. A step is that of Trainer.fit with the same batch: each of the workers computes the gradients of a
    part of the batch's rows, and all of them update the same parameters with the sum.

    model, loss, optimizer, settings: as in rondel.train.Trainer. data: a mapping of arrays by input name; each node keeps one copy of
        them. batch_size: the rows of a batch over all workers; None: all rows.
    workers: their number. cpus: the processors of each, which has as many threads, unless sess_options ask for a number above 0.
    storage: the folder of the checkpoints, on storage that all nodes share, in a folder `name` (None: a new one). With the name of an
        earlier run, which must have had the same model, data and settings, the training goes on from its latest checkpoint. A function
        as schedule counts as much as another.
    checkpoint_steps: steps between two checkpoints; one is also written at the end.
    failures: how often workers that died are replaced, and the training goes on from the latest checkpoint; -1: always.

    A BatchNormalization uses the statistics of each worker's rows, and Dropout draws other numbers in each worker: with either of
    them, the losses are not those of one process. Raises CallerError as Trainer does, and for the name of another run or of a longer one; and the
    error of the run that failed.
    """
    proto, _, _ = load(model, checked_options(settings.get("sess_options"), SessionOptions, "sess_options"))
    trainer = Trainer(proto, loss, optimizer, **settings)
    batches = trainer._batches(data, batch_size, shuffle) if isinstance(data, Mapping) else None
    if batches is None:
        raise CallerError(f"train: the data are a {type(data).__name__}; expected a mapping of arrays, which workers cut into parts")
    steps = checks.count("epochs", epochs) * len(batches)
    connect(on)
    config = {
        "trainer": (ray.put(proto.SerializeToString()), loss, optimizer, settings),
        "data": ray.put(batches.data),
        "batches": (batches.batch_size, batches.shuffle),
        "run": _run_key(proto, trainer, batches),
        "steps": steps,
        "checkpoint_steps": checks.count("checkpoint_steps", checkpoint_steps),
    }
    result = _run(config, checks.count("workers", workers), cpus, os.fspath(storage), name, failures)
    with result.checkpoint.as_directory() as folder:
        kept = _kept(folder)
        if kept.run != config["run"] or len(kept.losses) != steps:
            made = "of another model, other data or settings" if kept.run != config["run"] else f"of {len(kept.losses)} steps, more than {steps}"
            raise CallerError(f"train: the run {name!r} in {os.fspath(storage)!r} was {made}; give another name, or leave it out")
        return Fitted(_restored(trainer, folder), trainer)


def _run_key(proto, trainer, batches):
    """A text that is the same for runs of which one may go on where another one ended."""
    found = hashlib.blake2b(proto.SerializeToString(deterministic=True), digest_size=16)
    found.update(repr((*trainer._how(), batches.batch_size, batches.shuffle)).encode())
    for name, x in sorted(batches.data.items()):
        found.update(repr((name, x.dtype, x.shape)).encode())
        found.update(pickle.dumps(x) if x.dtype.hasobject else np.ascontiguousarray(x).reshape(-1).view(np.uint8))
    return found.hexdigest()


def _run(config, workers, cpus, storage, name, failures):
    from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

    made = DataParallelTrainer(
        _work,
        train_loop_config=config,
        scaling_config=ray.train.ScalingConfig(num_workers=workers, resources_per_worker={"CPU": cpus}),
        run_config=ray.train.RunConfig(
            name=name,
            storage_path=os.path.abspath(storage) if "://" not in storage else storage,
            failure_config=ray.train.FailureConfig(max_failures=failures),
            checkpoint_config=ray.train.CheckpointConfig(num_to_keep=2),
        ),
    )
    try:
        return made.fit()
    except ray.train.TrainingFailedError as error:
        reason = _reason(error)
        raise reason from (None if reason is error else error)


def _reason(error):
    """Our error in a worker, if that is why the training failed; else Ray's."""
    failures = getattr(error, "worker_failures", None) or {}
    ours = [found for found in map(cause_of, failures.values()) if isinstance(found, Error)]
    return ours[0] if ours else error


def _work(config):
    """What each worker does: from the latest checkpoint to the last step."""
    context = ray.train.get_context()
    rank, workers = context.get_world_rank(), context.get_world_size()
    source, loss, optimizer, settings = config["trainer"]
    trainer = Trainer(ray.get(source), loss, optimizer, **{**settings, "sess_options": with_own_threads(settings.get("sess_options"))})
    batches = Batches(ray.get(config["data"]), *config["batches"])
    losses = []
    if checkpoint := ray.train.get_checkpoint():
        with checkpoint.as_directory() as folder:
            if _kept(folder).run != config["run"]:
                return  # nothing is repeated after this, as after an error; the driver says what is wrong
            losses = _restored(trainer, folder)
    reduce = _all_reduce(rank, workers, trainer)
    for step, batch in _batches_from(trainer.steps, config["steps"], batches, settings.get("seed", 0)):
        losses.append(_step(trainer, reduce, step, rank, batch, workers))
        trainer._epochs = len(losses) // len(batches)
        if (step + 1) % config["checkpoint_steps"] == 0 or step + 1 == config["steps"]:
            _report(trainer, losses, rank, config["run"])


def _all_reduce(rank, workers, trainer):
    from ray.train.collective import broadcast_from_rank_zero

    nbytes = sum(x.nbytes for x in trainer.parameters.values())
    return broadcast_from_rank_zero(AllReduce.over(workers, nbytes) if rank == 0 else None)


def _batches_from(first, steps, batches, seed):
    """(step, batch) from step `first` on: the batches of Trainer.fit, whose order depends on the seed and the epoch."""
    for epoch in range(first // len(batches), -(-steps // len(batches))):
        for k, batch in enumerate(batches.epoch(np.random.default_rng([seed, epoch]))):
            if epoch * len(batches) + k >= first:
                yield epoch * len(batches) + k, batch


def _step(trainer, reduce, step, rank, batch, workers):
    """One step of the whole batch; returns its loss."""
    parts = _parts(batch, workers)
    shares = trainer.shares(parts)[rank], size_of(parts[rank]) / size_of(batch)
    loss, vector = _scaled(trainer, parts[rank], shares, rank)
    found = _unpacked(trainer, *reduce(step, rank, loss, vector))
    trainer.update(found)
    return found.loss


def _parts(batch, count):
    split = {name: np.array_split(x, count) for name, x in batch.items()}
    return [{name: x[k] for name, x in split.items()} for k in range(count)]


def _scaled(trainer, part, shares, rank):
    """The loss of a part times its share, and its gradients and running statistics as one vector, times their shares. Where the share is
    0, so is what it scales: the loss of a part with ignored labels only is NaN."""
    arrays = _arrays(trainer)
    if not size_of(part):
        return 0.0, np.zeros(sum(x.size for x in arrays), np.result_type(*arrays))
    found = trainer.gradients(part, part=rank)
    scaled = [share * x.ravel() if share else np.zeros(x.size, x.dtype) for share, values in zip(shares, found[1:]) for x in values.values()]
    return shares[0] * found.loss if shares[0] else 0.0, np.concatenate(scaled)


def _arrays(trainer):
    return [*trainer.parameters.values(), *trainer.running_statistics.values()]


def _unpacked(trainer, loss, vector):
    pieces = iter(np.split(vector, np.cumsum([x.size for x in _arrays(trainer)])))
    shaped = [{n: next(pieces).reshape(x.shape).astype(x.dtype) for n, x in like.items()} for like in (trainer.parameters, trainer.running_statistics)]
    return Gradients(loss, *shaped)


def _report(trainer, losses, rank, run):
    """Writes a checkpoint, by the first worker; the others wait for it."""
    metrics = {"step": len(losses), "loss": losses[-1]}
    if rank:
        ray.train.report(metrics)
        return
    with tempfile.TemporaryDirectory() as folder:
        trainer.save(pathlib.Path(folder, "trainer.npz"))
        pathlib.Path(folder, "run.json").write_text(json.dumps(_Kept(run, losses)._asdict()))
        ray.train.report(metrics, checkpoint=ray.train.Checkpoint.from_directory(folder))


class _Kept(NamedTuple):
    """What a checkpoint has beside the trainer's state: the run that it is of, and its losses."""

    run: str
    losses: list[float]


def _kept(folder):
    return _Kept(**json.loads(pathlib.Path(folder, "run.json").read_text()))


def _restored(trainer, folder):
    """Restores a trainer from a checkpoint; returns the losses up to it."""
    trainer.resume(pathlib.Path(folder, "trainer.npz"))
    return _kept(folder).losses
