"""Data sets: public tables by name, and generators of synthetic classes."""

from mist.datasets.dataset import Dataset
from mist.datasets.loading import load
from mist.datasets.registry import REGISTRY, Entry
from mist.datasets.store import DatasetError
from mist.datasets.synthetic import make_gaussian_classes, make_multimodal
from mist.datasets.toy import load_toy
from mist_bench.datasets.marginals import (
    make_exponential,
    make_lognormal,
    make_outliers,
    make_pareto,
)
from mist_bench.datasets.stress import (
    make_angular_sectors,
    make_antipodal,
    make_concept_drift,
    make_heavy_tail,
    make_noisy_features,
    make_ring,
    make_skewed,
)

__all__ = [
    "REGISTRY",
    "Dataset",
    "DatasetError",
    "Entry",
    "load",
    "load_toy",
    "make_angular_sectors",
    "make_antipodal",
    "make_concept_drift",
    "make_exponential",
    "make_gaussian_classes",
    "make_heavy_tail",
    "make_lognormal",
    "make_multimodal",
    "make_noisy_features",
    "make_outliers",
    "make_pareto",
    "make_ring",
    "make_skewed",
]
