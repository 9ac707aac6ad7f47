"""The settings of the published trees, and those of a forest's trees: data that imports nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["FOREST_TREE", "PAPER_LEAVES", "PAPER_SETTINGS"]

PAPER_SETTINGS: Mapping[str, Any] = {
    "leaf": "gaussian",
    "grace_period": 200,
    "delta": 0.1,
    "tie_threshold": 0.05,
    "sketch_size": 64,
    "inheritance": "gaussian",
    "discount": 0.6,
    "bound": "mcdiarmid",
    "split_test": "gap",
    "union_bound": True,
    "criterion": "gini",
    "thresholds": "medians",
    "n_thresholds": 10,
    # The paper's formula read literally has 1; this was chosen on training rows.
    "bandwidth": 0.2,
    "smoothing": 1e-3,
    # The paper gives none: a class seen once would have no variance.
    "variance_prior": 1.0,
    "class_prior": "counts",
    "adapt": None,
}
"""Every setting of the tree as published, MIST-G; MIST-K has ``leaf="sketch"``."""

PAPER_LEAVES: Mapping[str, str] = {"G": "gaussian", "K": "sketch"}
"""The leaf of each tree of the paper, by the letter it has there."""

FOREST_TREE: Mapping[str, Any] = {"split_test": "schedule", "grace_period": 100}
"""Where the trees of a forest differ from the classifier's defaults, unless others are given."""
