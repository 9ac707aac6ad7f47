"""The leaf models by their names in the public API."""

from __future__ import annotations

from collections.abc import Mapping

from mist.engine.gaussian_mixtures import MOST_DIVIDED
from mist.engine.leafmodel import LeafModel
from mist.engine.leaves.gaussian import GAUSSIAN
from mist.engine.leaves.lowrank import LOW_RANK
from mist.engine.leaves.majority import MAJORITY
from mist.engine.leaves.mixture import FULL, MIXTURE
from mist.engine.leaves.sketch import SKETCH

LEAVES: Mapping[str, LeafModel] = {
    "gaussian": GAUSSIAN,
    "sketch": SKETCH,
    "majority": MAJORITY,
    "full": FULL,
    "mixture": MIXTURE,
}


def leaf_model(name: str, n_numeric: int) -> LeafModel:
    """The leaf model of a name; with hundreds of numeric columns "mixture" is of low rank.

    Examples
    --------
    >>> leaf_model("mixture", 100) is MIXTURE, leaf_model("mixture", 101) is LOW_RANK
    (True, True)
    """
    return LOW_RANK if name == "mixture" and n_numeric > MOST_DIVIDED else LEAVES[name]
