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
    from mist.tree_options import (
        FullGaussian,
        Gaussian,
        Inheritance,
        Majority,
        Mixture,
        Sketch,
        SplitTest,
    )

_MODULES = {
    "FullGaussian": "mist.tree_options",
    "Gaussian": "mist.tree_options",
    "Inheritance": "mist.tree_options",
    "Majority": "mist.tree_options",
    "MistClassifier": "mist.classifier",
    "MistForest": "mist.forest",
    "MistReplayForest": "mist.replay_forest",
    "Mixture": "mist.tree_options",
    "QuantileSketch": "mist.quantile_sketch",
    "Sketch": "mist.tree_options",
    "SplitTest": "mist.tree_options",
    "load": "mist.persistence",
}

__all__ = [
    "FullGaussian",
    "Gaussian",
    "Inheritance",
    "Majority",
    "MistClassifier",
    "MistForest",
    "MistReplayForest",
    "Mixture",
    "QuantileSketch",
    "Sketch",
    "SplitTest",
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
