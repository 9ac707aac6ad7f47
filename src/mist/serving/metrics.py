"""Figures of a server in the format of Prometheus."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mist.serving.learner import Learner
from mist.serving.reports import problems_of
from mist.texts import without_controls

__all__ = ["Metrics"]

_GAUGES = {
    "accuracy": "Share of rows predicted right before their label came, over all rows",
    "log_loss": "Mean negative logarithm of the probability of the true class, over all rows",
    "novel": "Share of rows that belong to no known class at a level of 1 %, over all rows",
    "recent_accuracy": "Accuracy over the window",
    "recent_log_loss": "Log loss over the window",
    "recent_novel": "Share of novel rows over the window",
    "recent_confidence": "Mean probability of the predicted class over the window",
    "calibration_error": "Expected calibration error in ten bins over the window",
    "memory_mb": "Resident memory of the process in MB",
    "model_mb": "Memory of the arrays of the model in MB",
    "waiting_for_labels": "Rows that wait for their labels",
}

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics(Collector):
    """Counters of requests, and figures that are read when they are wanted.

    Parameters
    ----------
    learner : Learner
        The learner.

    Attributes
    ----------
    requests : Counter
        Requests by route and status.
    seconds : Histogram
        Their times by route.
    """

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "mist_requests", "Requests", ["route", "status"], registry=self._registry
        )
        self.seconds = Histogram(
            "mist_request_seconds",
            "Time of requests in seconds",
            ["route"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._registry.register(self)

    def text(self) -> bytes:
        """Return all figures."""
        return generate_latest(self._registry)

    def describe(self) -> Iterable[Metric]:
        """Return nothing: names are not known before the figures."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Return the present figures."""
        learner = self._learner
        service = learner.service
        figures = service.figures()
        row, recalls, events, silent = service.observed()
        for name, text in _GAUGES.items():
            if not math.isnan(figures[name]):
                yield GaugeMetricFamily(f"mist_{name}", text, value=figures[name])
        yield _counter("rows_learnt", "Rows learnt, also before serving", row)
        yield _counter("labels_unknown", "Labels without their row", figures["labels_unknown"])
        yield _counter("checkpoints", "Checkpoints written", learner.checkpoints)
        yield GaugeMetricFamily("mist_classes", "Classes", value=len(service.served.classes()))
        yield GaugeMetricFamily("mist_columns", "Columns", value=len(service.served.columns()))
        yield GaugeMetricFamily("mist_calls_waiting", "Calls in the queue", value=learner.waiting)
        healthy = not problems_of(learner)
        yield GaugeMetricFamily("mist_healthy", "1 if nothing is wrong", value=healthy)
        yield from _by_class(recalls)
        yield _counters("events", "Events", "event", events)
        yield _counters("labels_dropped", "Rows dropped", "reason", service.kept.dropped)
        yield GaugeMetricFamily("mist_silent_classes", "Silent now", value=len(silent["classes"]))
        yield GaugeMetricFamily("mist_silent_columns", "Silent now", value=len(silent["columns"]))
        if learner.alarms is not None and learner.notifier is not None:
            yield _counters("alarms", "Alarms given", "rule", learner.alarms.counts)
            yield _counter("alarms_held_back", "Alarms not given at once", learner.alarms.held_back)
            yield _counter("alarms_failed", "Alarms not received", learner.notifier.failed)


def _counter(name: str, text: str, value: float) -> Metric:
    return CounterMetricFamily(f"mist_{name}", text, value=value)


def _counters(name: str, text: str, label: str, values: dict[str, int]) -> Metric:
    family = CounterMetricFamily(f"mist_{name}", text, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def _by_class(recalls: dict[Any, dict[str, float]]) -> Iterable[Metric]:
    rows = CounterMetricFamily("mist_class_rows", "Rows of the class", labels=["label"])
    recall = GaugeMetricFamily("mist_class_recall", "Recall of the class", labels=["label"])
    recent = GaugeMetricFamily(
        "mist_class_recent_recall", "Recall of the class, its last rows first", labels=["label"]
    )
    for label, each in recalls.items():
        name = [without_controls(str(label))]
        rows.add_metric(name, each["rows"])
        recall.add_metric(name, each["recall"])
        recent.add_metric(name, each["recent"])
    return rows, recall, recent
