"""The trainer: a compiled step, and the parameters that are carried from step to step."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _rondel, arrays
from ..counts import argument_text, whole
from ..errors import CallerError, ModelWarning
from ..missing_names import warn
from ..naming import closest, listed
from ..options import RunOptions, SessionOptions, checked_options
from ..progress import Progress
from ..session import InferenceSession, requested_names
from . import checks, files, optimizers
from .batches import Batches, LossOfAll, extents
from .losses import Loss
from .model import Form, TrainedModel, loss_of
from .step_model import Clipping, GradientModel, StepModel, UpdateModel

Data = Mapping[str, Any] | Iterable[Mapping[str, Any]] | Callable[[], Iterable[Mapping[str, Any]]]
"""Arrays by input name, batches, or a function that gives batches for each epoch."""


class Gradients(NamedTuple):
    """What the first half of a step computes: the loss, the gradients of the parameters, and the new running statistics, by name."""

    loss: float
    parameters: dict[str, np.ndarray]
    running_statistics: dict[str, np.ndarray]


class Trainer:
    """Trains the float initializers of an ONNX model. Forward, backward and update of a step are one compiled graph.

    model: a path, bytes, ModelProto, InferenceSession or network. A file is not changed before `write_model`.
    loss: CrossEntropy(), NegativeLogLikelihood() or MeanSquaredError(), which add an input for the targets; one of their names
        ("cross_entropy", "nll", "mse"); or the name of an output of the model that is a scalar float.
    optimizer: SGD(...), Adam(...), AdamW(...) or Adagrad(...), or a name ("adam").
    trained: names of initializers, f32 or f64; patterns with `*` and `?` are allowed. None: all that have an axis and on which the
        loss depends, but for settings of ops. What no gradient reaches is not trained; a ModelWarning names it. A
        BatchNormalization whose mean or variance is named here runs as the model specifies.
    frozen: names or patterns of initializers that are not trained. A BatchNormalization whose running mean and variance are frozen
        runs in inference mode.
    clip_norm: gradients are scaled so that their global norm (of all elements together) is at most this.
    clip_value: before that, each element of a gradient is clipped to [-clip_value, clip_value].
    schedule: factors of the learning rate: a function of the step, counted from 0, or a list, whose last factor is used after its end.
    training_mode: True runs Dropout and BatchNormalization in training mode during steps, and the running means and variances are
        carried from step to step. False runs both as the model specifies.
    checkpoint: what loops store for their gradients, as in rondel.grad.
    seed: the seed of random draws and of the order of rows in `fit`.
    sess_options: how the model is read and compiled, and its limits.

    Raises rondel.CallerError for wrong arguments, and rondel.UnsupportedError with the path to an op that has no gradient.
    """

    def __init__(
        self,
        model: Any,
        loss: str | Loss,
        optimizer: str | optimizers.Optimizer = "adam",
        *,
        trained: str | Iterable[str] | None = None,
        frozen: str | Iterable[str] = (),
        clip_norm: float | None = None,
        clip_value: float | None = None,
        schedule: Callable[[int], float] | Sequence[float] | None = None,
        training_mode: bool = True,
        checkpoint: str | int = "none",
        seed: int = 0,
        sess_options: SessionOptions | None = None,
    ) -> None:
        self._options = copy.copy(checked_options(sess_options, SessionOptions, "sess_options"))
        self._optimizer = _optimizer(optimizer)
        self._schedule = _checked_schedule(schedule)
        self._seed = _checked_seed(seed)
        self._epochs = 0
        self._model = TrainedModel(model, self._options)
        self._loss, self._compared = loss_of(loss, self._model)
        self._classes = self._model.classes_of(self._compared)
        clip_norm = clip_norm if clip_norm is None else checks.number("clip_norm", clip_norm, above=0)
        clip_value = clip_value if clip_value is None else checks.number("clip_value", clip_value, above=0)

        self._training_mode = training_mode = checks.flag("training_mode", training_mode)
        self._checkpoint, self._clipping = checkpoint, Clipping(clip_value, clip_norm)
        frozen = checks.chosen("frozen", frozen, list(self._model.initializers))
        self._trained = self._chosen_parameters(trained, frozen)
        if training_mode and (old := self._model.dropouts_without_training_mode()):
            warn(f"Dropout has no training mode before opset 12: {listed(old)} pass everything", ModelWarning)
        weights, first, new_running = self._differentiated(frozen)
        self._step = StepModel(first, self._trained, new_running, self._optimizer, self._clipping)
        self._session = InferenceSession(self._step.proto, self._options)
        self._options.optimized_model_filepath = ""  # the step is written there; later sessions must not replace it
        self._stepper = _rondel.Stepper(self._session._session, self._step.carried, self._initial_values(weights))
        internal = {*self._step.carried, self._step.rate, self._step.seed}
        ports = [p for p in self._session.get_inputs() + self._session.get_overridable_initializers() if p.name not in internal]
        self._fed = [p.name for p in ports]
        self._with_rows = [p.name for p in ports if p.shape is None or p.shape and not isinstance(p.shape[0], int)]
        self._sessions = {}
        self._halves = None

    # ---- making

    def _chosen_parameters(self, trained, frozen):
        known = self._model.weights_of([self._compared])
        if trained is not None:
            known = checks.chosen("trained", trained, list(self._model.initializers))
        names = [name for name in known if name not in frozen]
        if not names:
            raise CallerError(
                f"train: there is nothing to train: of the initializers, the loss depends on {listed(known)}"
                f"{', all of which are frozen' if known else '; name some in trained=, of ' + listed(self._model.initializers)}"
            )
        return names

    def _differentiated(self, frozen):
        """(the values of the parameters and the running statistics, the GradientModel, the new running statistics). Parameters that no
        gradient reaches are parameters no longer, with a warning: weight decay alone would change them."""
        first = self._first_half(frozen)
        while stuck := first[1].unreached():
            self._tell_of(stuck)
            for name, value in first[0].items():
                self._model.put_back(name, value)
            self._trained = [name for name in self._trained if name not in stuck]
            if not self._trained:
                raise CallerError(f"train: there is nothing to train: no gradient reaches {listed(stuck)}; name others in trained=")
            first = self._first_half(frozen)
        return first

    def _first_half(self, frozen):
        self._running = self._running_statistics(frozen) if self._training_mode else []
        weights = {name: self._model.take(name) for name in [*self._trained, *self._running]}
        first, new_running = self._gradient_model()
        return weights, first, new_running

    def _gradient_model(self):
        """(the GradientModel, the names of the new running statistics by old name)."""
        form = Form(self._model, [*self._trained, *self._running])
        loss = self._prepare_loss(form)
        new_running = self._prepare_training_mode(form) if self._training_mode else {}
        return GradientModel(form, loss, self._trained, self._checkpoint, self._options), new_running

    def _tell_of(self, stuck):
        read = self._model.read_for([self._compared])
        if unused := [name for name in stuck if name not in read]:
            warn(f"train: {listed(unused)} cannot change: the loss does not depend on it; leave it out of trained=", ModelWarning)
        if stuck := [name for name in stuck if name in read]:
            warn(
                f"train: {listed(stuck)} cannot change: no gradient passes what lies between (QuantizeLinear, a comparison, rounding, a cast to integers); "
                "train a model before it is quantized, or name it in frozen=", ModelWarning,
            )  # fmt: skip

    def _running_statistics(self, frozen):
        """The means and variances of each BatchNormalization that are initializers, both neither frozen nor trained."""
        found = []
        for node in self._model.graph.node:
            names = list(node.input[3:5])
            if node.op_type == "BatchNormalization" and all(n in self._model.initializers and n not in (*frozen, *self._trained) for n in names):
                found += [n for n in names if n not in found]
        return found

    def _prepare_loss(self, form):
        if self._loss is not None:
            name = form.add_loss(self._loss, self._compared)
        else:
            name = self._compared
            if (output := next(o for o in form.graph.output if o.name == name).type.tensor_type).HasField("shape") and output.shape.dim:
                raise CallerError(f"train: the output {name!r} is no scalar; name a scalar, or give a loss such as rondel.train.MeanSquaredError({name!r})")
        form.keep_outputs([name])
        return name

    def _prepare_training_mode(self, form):
        form.train_dropout()
        made = form.train_batch_normalization(set(self._running))
        for old_name, name in made.items():
            tensor = self._model.initializers[old_name]
            form.add_output(name, tensor.data_type, tensor.dims)
        return made

    def _initial_values(self, weights):
        values = dict(weights)
        for state, parameter, name in self._step.states:
            values[name] = np.full_like(values[parameter], self._optimizer.initial(state))
        values[self._step.updates] = np.array(0, np.int64)
        return {name: self._value(name, x) for name, x in values.items()}

    def _how(self):
        """What decides on the steps, beside the model and the data. One function as the schedule counts as much as another."""
        schedule = "a function" if callable(self._schedule) else self._schedule
        settings = self._training_mode, self._checkpoint, self._seed
        return self._loss or self._compared, self._optimizer, self._trained, self._running, schedule, self._clipping, *settings

    def _value(self, name, x):
        return arrays.to_value(x, f"parameter '{name}'", self._session._types[name])

    # ---- state

    @property
    def steps(self) -> int:
        """The number of steps so far."""
        return int(self._array(self._step.updates))

    @property
    def learning_rate(self) -> float:
        """The learning rate of the next step: that of the optimizer times the factor of the schedule."""
        return self._optimizer.lr * self._factor(self.steps)

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """The current values of the trained parameters, by name. The arrays are read-only; later steps do not change them."""
        return {name: self._array(name) for name in self._trained}

    @property
    def running_statistics(self) -> dict[str, np.ndarray]:
        """The current running means and variances of BatchNormalization, by name. The arrays are read-only."""
        return {name: self._array(name) for name in self._running}

    @property
    def batch_inputs(self) -> list[str]:
        """The names of the arrays in a batch."""
        return list(self._fed)

    def _array(self, name):
        array = arrays.from_value(self._stepper.array(name), f"parameter '{name}'")
        array.flags.writeable = False
        return array

    def _factor(self, step):
        if self._schedule is None:
            return 1.0
        if callable(self._schedule):
            return checks.number(f"the schedule's factor for step {step}", self._schedule(step))
        return self._schedule[min(step, len(self._schedule) - 1)]

    # ---- training

    def step(self, batch: Mapping[str, Any], run_options: RunOptions | None = None) -> float:
        """Makes one step on a mapping of arrays by input name. Returns the loss before the update, a float.

        A step is atomic: after an error or a deadline all parameters are unchanged. Only if memory runs out during the update
        (LimitExceeded), each parameter and each part of the optimizer's state is either the old or the new one. Ctrl-C may come too
        late to end the step; `steps` tells whether the step was made. Errors are those of InferenceSession.run.
        """
        options = checked_options(run_options, RunOptions, "run_options")
        feeds = {**self._checked_batch(batch), self._step.rate: np.float64(self.learning_rate)}
        if self._step.seed is not None:
            feeds[self._step.seed] = self._drawing_seed()
        (loss,) = self._stepper.step([self._step.loss], self._session._values(feeds), options)
        return float(loss)

    def _drawing_seed(self, part=0):
        return np.uint64((self._seed * 0x9E3779B97F4A7C15 + part * 0xD1B54A32D192ED03 + self.steps) % 2**64)

    def gradients(self, batch: Mapping[str, Any], *, part: int = 0, run_options: RunOptions | None = None) -> Gradients:
        """The first half of a step: the loss and the gradients of a batch, before clipping. Changes nothing.

        part: which part of the step's batch this is; each part draws other random numbers. `update` makes the step. Errors are those
        of InferenceSession.run. The first call compiles both halves.
        """
        options = checked_options(run_options, RunOptions, "run_options")
        model, session, _, _ = self._both_halves()
        feeds = dict(self._checked_batch(batch))
        if model.seed is not None:
            feeds[model.seed] = self._drawing_seed(part)
        running = [self._step.carried[name] for name in self._running]
        loss, *found = self._run(session, [model.loss, *model.gradients, *running], feeds, options)
        count = len(self._trained)
        return Gradients(float(loss), dict(zip(self._trained, found[:count])), dict(zip(self._running, found[count:])))

    def shares(self, parts: Sequence[Mapping[str, Any]]) -> list[float]:
        """The factors with which losses and gradients of the parts of a batch add up to those of the whole batch.

        For a mean: the share of each part in the elements of the targets (or in the labels that are not ignored). For a sum: 1. A loss
        that the model computes itself is taken for a mean over rows: the first axis of the inputs that have no fixed extent there.
        Raises CallerError if these inputs have different numbers of rows.
        """
        if isinstance(parts, Mapping) or not isinstance(parts, Iterable):
            raise CallerError(f"train: the parts are a {type(parts).__name__}; expected a list of batches")
        parts = [self._checked_batch(part) for part in parts]
        if self._is_sum:
            return [1.0] * len(parts)
        terms = [self._terms(part) for part in parts]
        if None in terms:
            raise self._unknown_terms(parts[terms.index(None)])
        return [count / max(sum(terms), 1) for count in terms]

    @property
    def _is_sum(self):
        return self._loss is not None and self._loss.reduction == "sum"

    def _terms(self, batch):
        """How much a batch counts in a mean of several; None: this is not known."""
        terms = None if self._loss is None else self._loss._terms(batch)
        return self._rows(batch) if terms is None else terms

    def _rows(self, batch):
        """The number of rows of a batch, 1 without rows; None if inputs have different numbers of them."""
        found = set(self._counts(batch).values())
        return None if len(found) > 1 else min(found, default=1)

    def _counts(self, batch):
        """The extents of the first axes that are not fixed, by input name."""
        shapes = {name: extents(batch[name]) for name in self._with_rows if name in batch}
        return {name: shape[0] for name, shape in shapes.items() if shape}

    def _unknown_terms(self, batch):
        counts = ", ".join(f"{name!r} has {count}" for name, count in self._counts(batch).items())
        return CallerError(
            f"train: how much each batch counts in a mean is not known: of its rows, {counts}; give one batch, or inputs with equal numbers of rows"
        )

    def update(self, gradients: Gradients) -> None:
        """The second half of a step: clips gradients, which may be the mean of those of several batches, and updates the parameters.

        The running statistics become those of `gradients`. Raises CallerError if names, shapes or dtypes are not those of
        `parameters` and `running_statistics`; then nothing has changed.
        """
        if not isinstance(gradients, Gradients):
            raise CallerError(f"train: the gradients are a {type(gradients).__name__}; expected rondel.train.Gradients, as trainer.gradients gives")
        given = self._checked_arrays("gradients", gradients.parameters, self._trained)
        running = self._checked_arrays("running statistics", gradients.running_statistics, self._running)
        kept = [x.copy() for x in running]  # the caller may write to its own
        _, _, model, session = self._both_halves()
        feeds = {model.rate: np.float64(self.learning_rate), **dict(zip(model.gradients, given))}
        values = session._values(feeds)
        values.update({made: self._stepper.value(name) for made, name in model.own.items()})
        made = session._results(list(model.carried.values()), values, None)
        new = {**dict(zip((model.own[name] for name in model.carried), made)), **dict(zip(self._running, kept))}
        for name, value in {name: self._value(name, x) for name, x in new.items()}.items():
            self._stepper.set(name, value)

    def _checked_arrays(self, what, found, names):
        if not isinstance(found, Mapping) or set(found) != set(names):
            raise CallerError(f"train: the {what} are for {listed(found)}; expected {listed(names)}")
        for name in names:
            x, own = np.asarray(found[name]), self._array(name)
            if x.shape != own.shape or x.dtype != own.dtype:
                raise CallerError(f"train: the {what} have {name!r} as {x.dtype}{list(x.shape)}; expected {own.dtype}{list(own.shape)}")
        return [np.asarray(found[name]) for name in names]

    def _both_halves(self):
        """(the GradientModel, its session, the UpdateModel, its session), made at the first request."""
        if self._halves is None:
            first, _ = self._gradient_model()
            second = UpdateModel(self._step, self._trained, self._optimizer, self._clipping)
            self._halves = first, InferenceSession(first.proto, self._options), second, InferenceSession(second.proto, self._options)
        return self._halves

    def _checked_batch(self, batch):
        if not isinstance(batch, Mapping):
            raise CallerError(f"train: the batch is a {type(batch).__name__}; expected a mapping of arrays named {listed(self._fed)}")
        for name in batch:
            if name not in self._fed:
                raise CallerError(f"train: the batch has {name!r}{closest(str(name), self._fed)}; expected {listed(self._fed)}")
        if self._loss is not None:
            self._loss._check(batch, self._classes)
        return batch

    def fit(
        self,
        data: Data,
        epochs: int = 1,
        *,
        batch_size: int | None = None,
        shuffle: bool = True,
        progress: bool = True,
        run_options: RunOptions | None = None,
    ) -> list[float]:
        """Makes a step on each batch, `epochs` times. Returns the loss of each epoch: those of its steps, combined as by `evaluate`. If it
        is not known how much each batch counts, each counts the same.

        data: a mapping of arrays by input name, whose rows are cut into batches of `batch_size`, shuffled in each epoch (unless
            shuffle is False); or an iterable of batches; or a function that returns such an iterable for each epoch.
        progress: True shows the epoch, its batches and the loss so far on stderr: a bar on a terminal, else lines.
        """
        batches = self._batches(data, batch_size, shuffle)
        epochs = checks.count("epochs", epochs)
        if epochs > 1 and batches.is_used_up_after_one():
            raise CallerError(f"train: {epochs} epochs are asked for, but the data can be gone through once; give a list, or a function that gives a generator")
        return [self._epoch(batches, k, epochs, bool(progress), run_options) for k in range(epochs)]

    def _batches(self, data, batch_size, shuffle):
        if hasattr(data, "shape"):  # an array or a tensor, of any library
            example = ", ".join(f"{name!r}: ..." for name in self._fed)
            raise CallerError(
                f"train: the data are a {type(data).__name__}; expected a mapping of arrays, or batches; put the arrays into one mapping: {{{example}}}"
            )
        return Batches(data, batch_size, shuffle, self._session._types)

    def _epoch(self, batches, k, epochs, shown, run_options):
        progress = Progress(shown, f"epoch {k + 1}/{epochs}", len(batches))
        found = LossOfAll(self._is_sum)
        for batch in batches.epoch(np.random.default_rng([self._seed, self._epochs])):
            found.add(self.step(batch, run_options), self._terms(batch))
            progress.update(found.batches, f"loss {found.value:.4g}")
        if not found.batches:
            raise CallerError("train: the data gave no batch")
        self._epochs += 1
        progress.end(f"loss {found.value:.4g}")
        return found.value

    # ---- using what is trained

    def evaluate(self, data: Data, *, batch_size: int | None = None) -> float:
        """The loss of all rows: the sum of the batches' losses, or their mean, in which each counts as in `shares`. Dropout and
        BatchNormalization run as the model specifies.

        data: as in `fit`.
        """
        session, loss = self._session_with_inputs(with_loss=True)
        all_rows = LossOfAll(self._is_sum)
        for batch in self._batches(data, batch_size, shuffle=False).epoch():
            (found,) = self._run(session, [loss], self._checked_batch(batch))
            all_rows.add(float(found), self._terms(batch))
            if all_rows.batches > 1 and not all_rows.knows and not self._is_sum:
                raise self._unknown_terms(batch)
        if not all_rows.batches:
            raise CallerError("train: the data gave no batch")
        return all_rows.value

    def predict(self, feeds: Mapping[str, Any], outputs: str | Iterable[str] | None = None) -> list[Any]:
        """Runs the model with the current parameters. Returns the named outputs (None: all) as a list of arrays.

        feeds: a mapping of arrays by the names of the model's own inputs. Dropout and BatchNormalization run as the model specifies.
        """
        session, _ = self._session_with_inputs(with_loss=False)
        names = [outputs] if isinstance(outputs, str) else requested_names(outputs) or [o.name for o in session.get_outputs()]
        if isinstance(feeds, Mapping):
            own = [name for name in session._types if name not in (*self._trained, *self._running)]
            if wrong := [name for name in feeds if name not in own]:
                raise CallerError(f"train: the feeds have {wrong[0]!r}{closest(str(wrong[0]), own)}; expected {listed(own)}, the model's own inputs")
        return self._run(session, names, feeds)

    def _session_with_inputs(self, with_loss):
        """(a session of the model whose parameters are inputs, the name of the loss), made at the first request."""
        if with_loss not in self._sessions:
            form = Form(self._model, [*self._trained, *self._running])
            loss = self._prepare_loss(form) if with_loss else None
            self._sessions[with_loss] = (InferenceSession(form.proto, self._options), loss)
        return self._sessions[with_loss]

    def _run(self, session, outputs, feeds, options=None):
        values = session._values(feeds)
        values.update({name: self._stepper.value(name) for name in [*self._trained, *self._running]})
        return session._results(outputs, values, options)

    # ---- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes parameters, states of the optimizer and the number of steps to a file (NumPy's .npz), completely or not at all."""
        facts = {"optimizer": type(self._optimizer).__name__, "seed": self._seed, "epochs": self._epochs}
        files.save_state(files.checked_path("path", path), {name: self._array(name) for name in self._step.carried}, facts)

    def resume(self, path: str | os.PathLike[str]) -> Trainer:
        """Restores the state from a file that `save` wrote, of a trainer made with the same model and optimizer. Returns the trainer.

        Training then continues with the same results, bit for bit, as without the interruption.
        """
        path = files.checked_path("path", path)
        found, facts = files.load_state(path)
        if facts["optimizer"] != type(self._optimizer).__name__:
            raise CallerError(f"train: '{path}' was saved with {facts['optimizer']}; this trainer has {type(self._optimizer).__name__}")
        if set(found) != set(self._step.carried):
            missing, more = sorted(set(self._step.carried) - set(found)), sorted(set(found) - set(self._step.carried))
            raise CallerError(f"train: '{path}' was saved with other parameters: it lacks {listed(missing)} and has {listed(more)}")
        for name, x in found.items():
            own = self._array(name)
            if x.shape != own.shape or x.dtype != own.dtype:
                raise CallerError(f"train: '{path}' has {name!r} as {x.dtype}{list(x.shape)}; expected {own.dtype}{list(own.shape)}")
        for name, x in found.items():
            self._stepper.set(name, self._value(name, x))
        self._seed, self._epochs = facts["seed"], facts["epochs"]
        return self

    def write_model(self, path: str | os.PathLike[str] | None = None) -> None:
        """Writes the model with the current parameters; nothing else in the file changes. path: None replaces the original file.

        External data stay external, in the same file; for another path they are written to path + ".data". Each file is
        written completely or not at all.
        """
        arrays_now = {**self.parameters, **self.running_statistics}
        files.write_model(self._model, arrays_now, None if path is None else files.checked_path("path", path))

    def __repr__(self) -> str:
        return f"Trainer({len(self._trained)} parameters, {self._optimizer!r}, {self.steps} steps)"


def _optimizer(optimizer):
    if isinstance(optimizer, str) and optimizer in optimizers.BY_NAME:
        return optimizers.BY_NAME[optimizer]()
    if isinstance(optimizer, optimizers.Optimizer):
        return optimizer
    raise CallerError(f"train: optimizer is {optimizer!r}; expected one such as rondel.train.Adam(), or one of {listed(optimizers.BY_NAME)}")


def _checked_schedule(schedule):
    if schedule is None or callable(schedule):
        return schedule
    try:
        factors = [checks.number("a factor of the schedule", x) for x in schedule]
    except TypeError:
        factors = []
    if not factors:
        raise CallerError(f"train: schedule is {schedule!r}; expected a function of the step, or a list of factors")
    return factors


def _checked_seed(seed):
    checked = whole(seed)
    if checked is None or not 0 <= checked < 2**63:
        raise CallerError(f"train: seed is {argument_text(seed)}; expected an integer of 0 or more, below 2**63")
    return checked
