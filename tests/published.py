"""The tree as published, of which most tests speak."""

from __future__ import annotations

from typing import Any

from mist import MistClassifier


def paper_tree(leaf: str = "gaussian", **options: Any) -> MistClassifier:
    """MIST-G, or with these options in place of the paper's."""
    return MistClassifier.paper("G", leaf=leaf, **options)
