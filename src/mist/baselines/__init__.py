"""Streaming classifiers for comparison with the trees of this library, and all models by name.

They see each row once, keep no rows, and take new classes at any time. The names are imported on
first use, so the list of methods is fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mist.baselines.gaussian_nb import GaussianNB
    from mist.baselines.ncm import NCM
    from mist.baselines.pec import PEC
    from mist.baselines.random_feature_lda import RandomFeatureLDA
    from mist.baselines.random_features import RandomFeatureRLS
    from mist.baselines.registry import METHODS, Method, make
    from mist.baselines.river_trees import RiverClassifier
    from mist.baselines.rls import RLS
    from mist.baselines.slda import SLDA
    from mist.baselines.sqda import SQDA

_HOMES = {
    "METHODS": "registry",
    "NCM": "ncm",
    "PEC": "pec",
    "RLS": "rls",
    "SLDA": "slda",
    "SQDA": "sqda",
    "GaussianNB": "gaussian_nb",
    "Method": "registry",
    "RandomFeatureLDA": "random_feature_lda",
    "RandomFeatureRLS": "random_features",
    "RiverClassifier": "river_trees",
    "make": "registry",
}

__all__ = [
    "METHODS",
    "NCM",
    "PEC",
    "RLS",
    "SLDA",
    "SQDA",
    "GaussianNB",
    "Method",
    "RandomFeatureLDA",
    "RandomFeatureRLS",
    "RiverClassifier",
    "make",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(f"mist.baselines.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'mist.baselines' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
