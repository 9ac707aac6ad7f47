"""Entries of this package's generated data sets for `mist.datasets.load`."""

from __future__ import annotations

from typing import Any

from mist.datasets.catalogue import Entry, generated

__all__ = ["ENTRIES"]


def _generated(name: str, function: str, *facts: Any) -> Entry:
    return generated(name, f"mist_bench.datasets:{function}", *facts)


ENTRIES = (
    _generated("skewed", "make_skewed", "a large mode and a small one", 8, 10),
    _generated("angular_sectors", "make_angular_sectors", "sectors of a ring", 4, 8),
    _generated("antipodal", "make_antipodal", "opposite clusters", 8, 10),
    _generated("ring", "make_ring", "caps of concentric shells", 6, 8),
    _generated("heavy_tail", "make_heavy_tail", "Student-t noise", 8, 10),
    _generated("noisy_features", "make_noisy_features", "2 features of 20 matter", 8, 20),
    _generated("concept_drift", "make_concept_drift", "drifting means", 8, 10),
    _generated("pareto", "make_pareto", "log(1 + Pareto) features", 6, 10, 2_500),
    _generated("lognormal", "make_lognormal", "log-normal features", 6, 10, 2_500),
    _generated("exponential", "make_exponential", "exponential features", 6, 10, 2_500),
    _generated("outlier5", "make_outliers", "5 % outliers", 6, 10, 2_500),
)
"""Entries of the sets, as in `mist.datasets.REGISTRY`."""
