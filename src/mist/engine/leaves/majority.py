"""Leaves that score classes by their masses and ignore the values of the row."""

from __future__ import annotations

import math
from typing import NamedTuple

from mist.engine.compiled import inlined
from mist.engine.leafmodel import LeafModel, register


class Majority(NamedTuple):
    """Nothing: the tree keeps the masses."""


@inlined
def _score(model, tree, observed, sketch, has_nan, options, leaf, cell, X, i, work, extra, need):
    """Log prior of a cell. Parameters as in `mist.engine.leafmodel`."""
    return math.log(tree.cells.mass[cell] + 1.0) + extra


@inlined
def _log_density(model, tree, observed, sketch, has_nan, options, leaf, cell, row, work):
    """NaN: a majority leaf has no density. Parameters as in `mist.engine.leafmodel`."""
    return math.nan  # there is none, and options that need it are refused


class MajorityModel(LeafModel):
    """Leaf model of `Majority`."""

    title = "majority"
    arrays = Majority
    adds_up = True
    score = staticmethod(_score)
    log_density = staticmethod(_log_density)


MAJORITY = register(MajorityModel())
