"""One part of the evidence, which texts and drawings of an explanation name."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Term"]


class Term(NamedTuple):
    """A part of what speaks for one class and against another."""

    kind: str
    """"column", "columns", "prior" or "together"."""

    feature: int
    """Of a single column, else -1."""

    name: str
    value: str
    """As text; empty but for a single column."""

    evidence: float
