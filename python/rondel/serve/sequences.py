"""Sequences: requests that carry a model's states from one to the next, by a sequence id, as Triton has them."""

from __future__ import annotations

import collections
import dataclasses
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import CallerError
from .batching import Job, Outputs
from .engines import default_inputs, element_dtype
from .errors import bad_request, busy
from .settings import ModelSettings

#: How models name what they carry: (in the name of the input, in the name of the output).
_PAIRS = [
    ("past_key_values", "present"), ("past", "present"), ("_in", "_out"), ("in_", "out_"), ("input_", "output_"), ("_input", "_output"),
    ("prev_", "next_"), ("_prev", "_next"), ("previous_", "next_"), ("old_", "new_"), ("_old", "_new"),
]  # fmt: skip
_SUFFIXES = ("N", "n", "_n", "_out", "_next", "_new", ".out")
_PREFIXES = ("new_", "next_", "present_", "out_")


def states_by_name(session: Any) -> dict[str, str]:
    """{input: output} of the states whose names tell it, such as state -> stateN and past_0 -> present_0."""
    outputs = {port.name: port for port in session.get_outputs()}
    found: dict[str, str] = {}
    for port in [*session.get_inputs(), *default_inputs(session)]:
        name = port.name
        candidates = [name.replace(a, b) for a, b in _PAIRS if a in name]
        candidates += [name + suffix for suffix in _SUFFIXES] + [prefix + name for prefix in _PREFIXES]
        fitting = [c for c in dict.fromkeys(candidates) if c in outputs and _alike(port, outputs[c])]
        if len(fitting) == 1 and fitting[0] not in found.values():
            found[name] = fitting[0]
    return found


def _alike(a: Any, b: Any) -> bool:
    ranks = [None if port.shape is None else len(port.shape) for port in (a, b)]
    return a.type == b.type and a.type.startswith("tensor(") and (None in ranks or ranks[0] == ranks[1])


def checked_states(session: Any, states: Mapping[str, str] | None, name: str) -> dict[str, str]:
    """The declared states, each of which must be there; None: those that the names tell."""
    if states is None:
        return states_by_name(session)
    inputs = {p.name: p for p in [*session.get_inputs(), *default_inputs(session)]}
    outputs = {p.name: p for p in session.get_outputs()}
    for i, o in states.items():
        for port, ports, kind in ((i, inputs, "input"), (o, outputs, "output")):
            if port not in ports:
                raise CallerError(f"model '{name}', state {i}={o}: there is no {kind} '{port}'; the {kind}s are {', '.join(ports)}")
        if inputs[i].type != outputs[o].type:
            raise CallerError(f"model '{name}', state {i}={o}: the input is a {inputs[i].type}, the output a {outputs[o].type}; expected one type")
    return dict(states)


@dataclasses.dataclass
class Step:
    """What a request says of its sequence."""

    id: int | str
    starts: bool
    ends: bool


def step_of(parameters: Mapping[str, Any]) -> Step | None:
    """None: the request belongs to no sequence."""
    id = parameters.get("sequence_id", 0)
    if not isinstance(id, (int, str)) or isinstance(id, bool):
        raise bad_request(f"the parameter sequence_id is {id!r}; expected a number or text")
    flags = {name: parameters.get(name, False) for name in ("sequence_start", "sequence_end")}
    if not all(isinstance(flag, bool) for flag in flags.values()):
        raise bad_request(f"the parameters sequence_start and sequence_end are {list(flags.values())}; expected true or false")
    if id not in (0, ""):
        return Step(id, *flags.values())
    for name, flag in flags.items():
        if flag:
            raise bad_request(f"the parameter {name} is true, but sequence_id is {'empty' if id == '' else 'missing or 0'}; expected the sequence's")
    return None


@dataclasses.dataclass
class _Sequence:
    states: dict[str, Any] | None = None  # None: there are none, and `why` says why
    why: str = ""
    waiting: collections.deque[tuple[Job, Step]] = dataclasses.field(default_factory=collections.deque)
    busy: bool = False
    used: float = dataclasses.field(default_factory=time.monotonic)


class Sequences:
    """The sequences of a model. A sequence's requests run one after the other; a failed one leaves its states as they were, and
    none if it was to start anew."""

    def __init__(self, session: Any, name: str, states: Mapping[str, str], settings: ModelSettings, put: Callable[[Job], None]) -> None:
        self._name, self._states, self._settings, self._put = name, states, settings, put
        self._ports = {p.name: p for p in session.get_inputs() if p.name in states}  # those with a default begin with it
        self._inputs = list(session.get_inputs())
        self._sequences: dict[int | str, _Sequence] = {}

    def __len__(self) -> int:
        return len(self._sequences)

    def __contains__(self, id: int | str) -> bool:
        return id in self._sequences

    @property
    def waiting(self) -> int:
        return sum(len(s.waiting) for s in self._sequences.values())

    def add(self, job: Job, step: Step) -> None:
        """Runs the job when those before it in its sequence have ended."""
        sequence = self._sequences.get(step.id)
        if sequence is None:
            if not step.starts:
                raise bad_request(f"sequence {step.id} of model '{self._name}' has not begun, or is over; expected sequence_start in its first request")
            if len(self._sequences) >= self._settings.max_sequences:
                raise busy(f"model '{self._name}' has {len(self._sequences)} sequences under way, the most that it may have", 1)
            sequence = self._sequences[step.id] = _Sequence()
        sequence.waiting.append((job, step))
        self._go_on(step.id, sequence)

    def drop_idle(self) -> None:
        """Drops sequences that have had no requests for a while."""
        oldest = time.monotonic() - self._settings.sequence_idle
        for id, s in list(self._sequences.items()):
            if s.used < oldest and not s.busy and not s.waiting:
                del self._sequences[id]

    def drop(self, id: int | str) -> None:
        """Forgets a sequence that begins anew elsewhere. Those of its requests that have come are answered."""
        self._sequences.pop(id, None)

    def _go_on(self, id: int | str, sequence: _Sequence) -> None:
        while sequence.waiting and not sequence.busy:
            job, step = sequence.waiting.popleft()
            if job.future.done():
                self._not_begun(sequence, step)
                continue
            try:
                states = self._first_states(job.inputs) if step.starts else sequence.states
                if not step.starts and (brought := [name for name in self._states if name in job.inputs]):
                    raise bad_request(f"only the request that starts a sequence may bring its state '{brought[0]}'")
                if states is None:
                    raise bad_request(f"sequence {id} of model '{self._name}' {sequence.why}; expected sequence_start")
            except Exception as error:
                job.future.set_exception(error)
                self._not_begun(sequence, step)
                continue
            wanted = job.wanted
            job.inputs = {**states, **job.inputs}
            job.wanted = list(dict.fromkeys([*wanted, *self._states.values()]))
            job.on_end = lambda outputs, step=step: self._ended(id, sequence, step, outputs)  # type: ignore[misc]
            sequence.busy = True
            self._put(job)
        if sequence.states is None and not sequence.busy and not sequence.waiting:
            self._forget(id, sequence)

    def _ended(self, id: int | str, sequence: _Sequence, step: Step, outputs: Outputs | None) -> None:
        sequence.busy, sequence.used = False, time.monotonic()
        if outputs is not None:
            sequence.states = {i: np.array(outputs[o], copy=True) if _is_part(outputs[o]) else outputs[o] for i, o in self._states.items()}
        else:
            self._not_begun(sequence, step)
        if outputs is not None and step.ends:
            sequence.states, sequence.why = None, "is over: a request before this one ended it"
        self._go_on(id, sequence)

    @staticmethod
    def _not_begun(sequence: _Sequence, step: Step) -> None:
        """After a request that failed: one that starts leaves no states of what was before."""
        if step.starts:
            sequence.states, sequence.why = None, "has not begun: its first request failed"

    def _forget(self, id: int | str, sequence: _Sequence) -> None:
        if self._sequences.get(id) is sequence:
            del self._sequences[id]

    def _first_states(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Zeros for the states that the first request does not bring. An extent that an input has, too, is that of the input; else a
        named extent is 0, for states that grow, and one without a name is 1."""
        known: dict[str, int] = {}
        for port in self._inputs:
            if port.name in given and port.shape:
                known.update((d, n) for d, n in zip(port.shape, np.shape(given[port.name])) if isinstance(d, str))
        states = {}
        for name, port in self._ports.items():
            if name in given:
                continue
            if port.shape is None:
                raise bad_request(f"the rank of the state '{name}' is not known; expected its first value in the request that starts the sequence")
            shape = [d if isinstance(d, int) else 1 if d is None else known.get(d, 0) for d in port.shape]
            dtype = element_dtype(port)
            states[name] = np.full(shape, "", object) if dtype == object else np.zeros(shape, dtype)
        return states


def _is_part(array: np.ndarray) -> bool:
    """Whether it is a slice of a batch, which it would keep alive."""
    return array.base is not None and isinstance(array.base, np.ndarray)
