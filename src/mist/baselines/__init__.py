"""Streaming classifiers for comparison with the trees of this library.

They see each row once, keep no rows, and take new classes at any time. The names are imported on
first use, so importing the package is fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mist.baselines.gaussian_nb import GaussianNB
    from mist.baselines.ncm import NCM
    from mist.baselines.random_feature_lda import RandomFeatureLDA
    from mist.baselines.rls import RLS
    from mist.baselines.slda import SLDA
    from mist.baselines.sqda import SQDA

_MODULES = {
    "NCM": "ncm",
    "RLS": "rls",
    "SLDA": "slda",
    "SQDA": "sqda",
    "GaussianNB": "gaussian_nb",
    "RandomFeatureLDA": "random_feature_lda",
}

__all__ = ["NCM", "RLS", "SLDA", "SQDA", "GaussianNB", "RandomFeatureLDA"]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value = getattr(importlib.import_module(f"mist.baselines.{_MODULES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'mist.baselines' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
