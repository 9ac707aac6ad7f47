"""The tree as published, of which most tests speak."""

from __future__ import annotations

from typing import Any

from mist import MistClassifier
from mist.presets import PAPER_SETTINGS


def paper_tree(leaf: str = "gaussian", **options: Any) -> MistClassifier:
    """MIST-G, or with these settings in place of the paper's; those without effect are ignored."""
    return MistClassifier.from_settings(**{**PAPER_SETTINGS, "leaf": leaf, **options})


def rank_error(k: int) -> float:
    """The published single-sided rank error of a sketch of size k (Apache DataSketches)."""
    return float(2.296 / k**0.9723)


PUBLISHED = {
    "bandwidth": 0.2,
    "bound": "mcdiarmid",
    "categorical_features": None,
    "class_prior": "counts",
    "criterion": "gini",
    "decision": None,
    "delta": 0.1,
    "discount": 0.6,
    "grace_period": 200,
    "inheritance": "gaussian",
    "leaf": "gaussian",
    "max_classes_per_leaf": None,
    "max_components": 16,
    "adapt": None,
    "max_bytes": None,
    "max_features": None,
    "max_leaves": None,
    "n_thresholds": 10,
    "open_world": False,
    "random_state": None,
    "rows_per_split": 500,
    "sketch_size": 64,
    "sketch_dtype": "float64",
    "smoothing": 0.001,
    "split_test": "gap",
    "thresholds": "medians",
    "tie_threshold": 0.05,
    "union_bound": True,
    "variance_prior": 1.0,
}
"""All settings of MIST-G, with which results were published: not one may change."""
