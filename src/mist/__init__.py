"""Streaming decision trees for data whose classes keep arriving.

The package's names load on first use, so ``import mist`` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mist._version import __version__

if TYPE_CHECKING:
    from mist.classifier import MistClassifier
    from mist.forest import MistForest
    from mist.persistence import load
    from mist.quantile_sketch import QuantileSketch
    from mist.replay_forest import MistReplayForest

_MODULES = {
    "MistClassifier": "mist.classifier",
    "MistForest": "mist.forest",
    "MistReplayForest": "mist.replay_forest",
    "QuantileSketch": "mist.quantile_sketch",
    "load": "mist.persistence",
}

__all__ = [
    "MistClassifier",
    "MistForest",
    "MistReplayForest",
    "QuantileSketch",
    "__version__",
    "load",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value = getattr(importlib.import_module(_MODULES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'mist' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
