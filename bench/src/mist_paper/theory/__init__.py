"""Checks of the theorems of the paper."""

from __future__ import annotations

from collections.abc import Mapping

from mist_paper.exhibit import Item
from mist_paper.theory import (
    composed,
    coverage,
    displacement,
    sensitivity,
    truncation,
    variance,
)

__all__ = ["THEORY"]

THEORY: Mapping[str, Item] = {
    "sensitivity": sensitivity.ITEM,
    "coverage": coverage.ITEM,
    "composed-error": composed.ITEM,
    "displacement": displacement.ITEM,
    "variance": variance.ITEM,
    "truncation": truncation.ITEM,
}
"""Every theorem that is tested, by the name of its item."""
