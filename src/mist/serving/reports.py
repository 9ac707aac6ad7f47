"""What a server says of its model: as plain values for JSON and for the live page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mist._version import __version__
from mist.persistence import Version
from mist.serving.learner import Learner
from mist.serving.limits import Refused
from mist.serving.service import Service
from mist.texts import one_line

__all__ = ["explanation_report", "model_report", "page_report", "problems_of"]


def problems_of(learner: Learner) -> list[str]:
    """Return what is wrong with a server; empty if nothing is."""
    problems = []
    if learner.fault:
        problems.append(f"the server no longer learns: {learner.fault}")
    if learner.broken:
        problems.append(learner.broken)
    if learner.checkpoint_error:
        problems.append(f"no checkpoint could be written: {learner.checkpoint_error}")
    if learner.events_error:
        problems.append(f"events could not be written: {learner.events_error}")
    if learner.notifier is not None and learner.notifier.last_error:
        problems.append(f"an alarm was not received: {learner.notifier.last_error}")
    return problems


def model_report(learner: Learner) -> dict[str, Any]:
    """Return the model, its classes and columns, and all figures."""
    service = learner.service
    served = service.served
    figures = service.figures()
    row, recalls, events, silent = service.observed()
    classes = [{"label": label, **recalls.get(label, {"rows": 0})} for label in served.classes()]
    return {
        "library": __version__,
        "kind": type(served.model).__name__,
        "classifier": type(served.tree).__name__,
        "rows": row,
        "leaves": getattr(served.tree, "n_leaves_", None) if served.fitted else 0,
        "columns": served.columns(),
        "classes": classes,
        "silent": silent,
        "figures": {name: _or_none(value) for name, value in figures.items()},
        "events": events,
        "dropped": dict(service.kept.dropped),
        "checkpoints": learner.checkpoints,
        "version": _version_report(learner.version),
    }


def _version_report(version: Version | None) -> dict[str, Any] | None:
    """What is said of the newest version; the model may have learnt more rows since."""
    if version is None:
        return None
    kept = ("number", "saved", "rows", "accuracy", "parent", "tags")
    return {name: value for name, value in version._asdict().items() if name in kept}


def page_report(learner: Learner, title: str) -> dict[str, Any]:
    """Return what the live page shows."""
    service = learner.service
    figures = service.figures()
    with service.lock:
        watch = service.watch
        curves = {
            name: watch.curves.points(name)
            for name in ("accuracy", "log_loss", "confidence", "novel")
        }
        return {
            "title": title,
            "problems": problems_of(learner),
            "figures": figures,
            "curves": curves,
            "each": watch.curves.each,
            "before": watch.row - watch.rows,
            "recalls": watch.recall_by_class(),
            "silent": watch.silent(),
            "events": list(watch.recent_events),
            "classes": len(service.served.classes()),
            "columns": len(service.served.columns()),
            "knows_novelty": service.served.knows_novelty,
        }


def explanation_report(service: Service, row: Mapping[str, Any], top: int) -> dict[str, Any]:
    """Return the explanation of a prediction.

    Raises
    ------
    Refused
        If the row does not fit, or the model cannot explain.
    """
    service.served.check([row])
    try:
        found = service.served.explain(row, top)
        terms = found.contrast()
    except Refused:
        raise
    except (TypeError, ValueError) as error:
        raise Refused(one_line(str(error)), row=0) from None
    probable = sorted(found.probabilities.items(), key=lambda pair: -pair[1])[:top]
    return {
        "label": found.prediction,
        "classes": [{"label": label, "probability": share} for label, share in probable],
        "against": found.classes[1] if len(found.classes) > 1 else None,
        "evidence": [
            {
                "kind": term.kind,
                "column": term.name,
                "value": term.value,
                "evidence": _or_none(float(term.evidence)),
            }
            for term in terms
        ],
        "leaf": int(found.leaf),
        "leaf_rows": float(found.rows),
        "text": str(found),
    }


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
