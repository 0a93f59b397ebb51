"""What Prometheus reads: counts and times of each model."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

CONTENT_TYPE = prometheus_client.CONTENT_TYPE_LATEST
_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """The metrics of one server, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        one, two = ["model"], ["model", "outcome"]
        self.requests = Counter("rondel_requests", "requests by model and outcome (the status in HTTP)", two, registry=self.registry)
        self.request_seconds = Histogram(
            "rondel_request_seconds", "from a request's arrival to its answer", one, registry=self.registry, buckets=_SECONDS
        )
        self.queue_seconds = Histogram("rondel_queue_seconds", "what requests wait before their run", one, registry=self.registry, buckets=_SECONDS)
        self.run_seconds = Histogram("rondel_run_seconds", "runs of a model", one, registry=self.registry, buckets=_SECONDS)
        self.batch_rows = Histogram("rondel_batch_rows", "rows of a run", one, registry=self.registry, buckets=_ROWS)
        self.waiting = Gauge("rondel_queue_length", "requests that wait now", one, registry=self.registry)
        self.sequences = Gauge("rondel_sequences", "sequences under way", one, registry=self.registry)
        self.ready = Gauge("rondel_model_ready", "1: requests to the model are answered", one, registry=self.registry)
        self._models: dict[str, ModelMetrics] = {}

    def of(self, model: str) -> ModelMetrics:
        if model not in self._models:
            self._models[model] = ModelMetrics(self, model)
        return self._models[model]

    def keep(self, models: set[str]) -> None:
        """Drops all that Prometheus reads of other models. What their last requests still count is read by nobody."""
        for model in self._models.keys() - models:
            self._models.pop(model).leave()

    def text(self) -> bytes:
        return prometheus_client.generate_latest(self.registry)


@dataclasses.dataclass
class Counted:
    """How often, and for how long."""

    count: int = 0
    ns: int = 0

    def add(self, seconds: float) -> None:
        self.count += 1
        self.ns += int(seconds * 1e9)


class ModelMetrics:
    """The metrics of a model; a model that replaces another goes on with its."""

    def __init__(self, metrics: Metrics, model: str) -> None:
        self._requests, self._model, self._left = metrics.requests, model, False
        self._outcomes: dict[int, Any] = {}
        self._by_model: list[Any] = [metrics.request_seconds, metrics.queue_seconds, metrics.run_seconds, metrics.batch_rows]
        self._by_model += [metrics.waiting, metrics.sequences, metrics.ready]
        self.request_seconds, self.queue_seconds, self.run_seconds, self.batch_rows, self.waiting, self.sequences, self.ready = (
            metric.labels(model) for metric in self._by_model
        )
        self.success, self.failure, self.runs = Counted(), Counted(), Counted()
        self.rows = self.last_ms = 0

    def ran(self, rows: int, done: int, seconds: float) -> None:
        """done: how many of the rows did not fail; the statistics of the protocol count these only."""
        self.run_seconds.observe(seconds)
        self.batch_rows.observe(rows)
        if done:
            self.runs.add(seconds)
            self.rows += done

    def answered(self, status: int, seconds: float) -> None:
        if status not in self._outcomes and not self._left:
            self._outcomes[status] = self._requests.labels(self._model, str(status))
        if status in self._outcomes:
            self._outcomes[status].inc()
        self.request_seconds.observe(seconds)
        (self.success if status == 200 else self.failure).add(seconds)
        self.last_ms = int(time.time() * 1e3)

    def leave(self) -> None:
        """Takes its labels out of the registry, for good: it asks for no new ones."""
        self._left = True
        for metric in self._by_model:
            metric.remove(self._model)
        for status in self._outcomes:
            self._requests.remove(self._model, str(status))
