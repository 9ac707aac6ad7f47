"""Presets in addition to the library's: trees of the literature, MIST with one part replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mist.presets import PAPER_SETTINGS, Preset, vary
from mist.presets import PRESETS as OURS
from mist.variants import Variants

__all__ = ["PRESETS"]

# Neither tree keeps sketches. Both forget at a split: children start empty.
_BEFORE_MIST = {**PAPER_SETTINGS, "thresholds": "gaussian", "inheritance": None}


def _ablation(title: str, **parameters: Any) -> Preset:
    return Preset(title, {**PAPER_SETTINGS, **parameters})


_PRESETS: Mapping[str, Preset] = {
    **{name: OURS[name] for name in ("mist", "mist-g", "mist-k")},
    "mist-full": Preset(
        "MIST-F",
        {**PAPER_SETTINGS, "leaf": "full", "class_prior": "balanced"},
        "ours",
        "The paper's tree with a full covariance for each class at a leaf, see the "
        "documentation: Method",
    ),
    "mist-mixture": Preset(
        "MIST-M",
        {**PAPER_SETTINGS, "leaf": "mixture", "class_prior": "balanced"},
        "ours",
        "The paper's tree with a growing Gaussian mixture for each class at a leaf, see the "
        "documentation: Method",
    ),
    **OURS,
    "vfdt": Preset(
        "VFDT",
        # The paper's "confidence 0.95" is the probability of a right choice, 1 - delta.
        {**_BEFORE_MIST, "bound": "hoeffding", "delta": 0.05},
        "tree",
        "Domingos and Hulten, Mining High-Speed Data Streams, KDD 2000; naive Bayes leaves: "
        "Gama, Rocha and Medas, Accurate Decision Trees for Mining High-Speed Data Streams, "
        "KDD 2003",
    ),
    "rutkowski": Preset(
        "Rutkowski",
        {**_BEFORE_MIST, "bound": "rutkowski"},
        "tree",
        "Rutkowski, Pietruczuk, Duda and Jaworski, Decision Trees for Mining Data Streams Based "
        "on the McDiarmid's Bound, IEEE TKDE 25, 2013",
    ),
    "mist-g-no-inheritance": _ablation("MIST-G without inheritance", inheritance=None),
    "mist-g-no-sketching": _ablation("MIST-G without sketching", thresholds="gaussian"),
    "mist-g-hoeffding": _ablation("MIST-G with Hoeffding", bound="hoeffding"),
    "majority": _ablation("Majority leaf", leaf="majority"),
    "mist-g-sample-split": _ablation("MIST-G with SampleSplit", thresholds="sampled"),
    "mist-g-dense-10": _ablation(
        "MIST-G with DenseThreshold 10", thresholds="dense", n_thresholds=10
    ),
    "mist-g-dense-20": _ablation(
        "MIST-G with DenseThreshold 20", thresholds="dense", n_thresholds=20
    ),
    "mist-g-gain-test": _ablation("MIST-G with GainTest", split_test="gain"),
    "mist-g-gain-test-no-union": _ablation(
        "MIST-G with GainTestNoUnion", split_test="gain", union_bound=False
    ),
    "mist-g-gaussian-inheritance": _ablation("MIST-G with GaussianInheritance", inheritance="mass"),
    "mist-g-sketch-inherit": _ablation("MIST-G with SketchInherit", inheritance="sketch"),
}

PRESETS: Mapping[str, Preset] = Variants(_PRESETS, vary)
"""Every preset, including the library's; ``vfdt+delta=0.01`` is a variant of one."""
