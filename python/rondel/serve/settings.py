"""What a server and its models are told."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from ..errors import CallerError

BATCHING = ("auto", "on", "off")


@dataclasses.dataclass(frozen=True)
class ModelSettings:
    """How a model is served.

    batch: "auto" joins requests if the model's rows are found not to influence each other, "on" says that they do not (refused if an
        output's declared first extent says otherwise), "off" runs each request alone.
    max_batch: the most rows of a batch. batch_delay: seconds that a request waits for others, if its batch is not full.
    queue: the most requests that wait; one more is refused (503).
    instances: runs at the same time. threads: threads of one op.
    deadline: seconds from the arrival of a request to its answer. max_trips: the most trips of a loop, max_memory_bytes: the
        most memory of a run. None: no limit. A request may have less, never more.
    states: {input: output}: what a sequence carries from a request to the next. None: found by their names. {}: nothing.
    sequence_idle: seconds after which a sequence without requests is dropped. max_sequences: the most at the same time.
    """

    batch: str = "auto"
    max_batch: int = 32
    batch_delay: float = 0.0
    queue: int = 256
    instances: int = 1
    threads: int = 1
    deadline: float | None = None
    max_trips: int | None = None
    max_memory_bytes: int | None = None
    states: Mapping[str, str] | None = None
    sequence_idle: float = 60.0
    max_sequences: int = 1024

    def __post_init__(self) -> None:
        if self.batch not in BATCHING:
            raise CallerError(f"ModelSettings.batch is {self.batch!r}; expected one of {', '.join(map(repr, BATCHING))}")
        for name in ("max_batch", "queue", "instances", "max_sequences"):
            _check(name, getattr(self, name), 1, whole=True)
        for name in ("threads", "max_trips", "max_memory_bytes"):
            if getattr(self, name) is not None:
                _check(name, getattr(self, name), 0, whole=True)
        for name in ("batch_delay", "sequence_idle", "deadline"):
            if getattr(self, name) is not None:
                _check(name, getattr(self, name), 0, whole=False)
        if self.states is not None and not _names(self.states):
            raise CallerError(f"ModelSettings.states is {self.states!r:.100}; expected a dict of an input's name to an output's, or None")


def _names(states: Any) -> bool:
    return isinstance(states, Mapping) and all(isinstance(name, str) for pair in states.items() for name in pair)


def _check(name: str, value: Any, least: int, whole: bool) -> None:
    kinds = int if whole else (int, float)
    if not isinstance(value, kinds) or isinstance(value, bool) or not least <= value < math.inf:
        raise CallerError(f"ModelSettings.{name} is {value!r}; expected {'an integer' if whole else 'seconds'} of {least} or more")
