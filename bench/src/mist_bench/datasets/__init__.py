"""Generators of the paper's stress tests and skewed features; streams that drift, of `mist`."""

from mist.datasets import (
    DriftStream,
    make_agrawal,
    make_changing_classes,
    make_hyperplane,
    make_led,
    make_mixed,
    make_rbf_drift,
    make_sea,
    make_stagger,
)
from mist_bench.datasets.marginals import (
    make_exponential,
    make_lognormal,
    make_outliers,
    make_pareto,
)
from mist_bench.datasets.river_streams import load_river_stream
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
    "DriftStream",
    "load_river_stream",
    "make_agrawal",
    "make_angular_sectors",
    "make_antipodal",
    "make_changing_classes",
    "make_concept_drift",
    "make_exponential",
    "make_heavy_tail",
    "make_hyperplane",
    "make_led",
    "make_lognormal",
    "make_mixed",
    "make_noisy_features",
    "make_outliers",
    "make_pareto",
    "make_rbf_drift",
    "make_ring",
    "make_sea",
    "make_skewed",
    "make_stagger",
]
