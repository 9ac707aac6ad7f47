"""Classifiers used only in the comparison; others are in `mist.baselines`.

The names load on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mist_bench.baselines.no_change import NoChange
    from mist_bench.baselines.pec import PEC
    from mist_bench.baselines.random_features import RandomFeatureRLS
    from mist_bench.baselines.river_trees import RiverClassifier

_HOMES = {
    "NoChange": "no_change",
    "PEC": "pec",
    "RandomFeatureRLS": "random_features",
    "RiverClassifier": "river_trees",
}

__all__ = ["PEC", "NoChange", "RandomFeatureRLS", "RiverClassifier"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(f"mist_bench.baselines.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'mist_bench.baselines' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
