"""Limits of what is learnt, which files, tables and the engine share."""

from __future__ import annotations

__all__ = ["LARGEST", "LARGEST_WEIGHT", "MOST_PAIRED"]

LARGEST = 1e150
"""Larger magnitudes cannot be squared in double precision."""

LARGEST_WEIGHT = 2.0**31
"""Of a row."""

MOST_PAIRED = 4096
"""Numeric columns of which a class may keep the products of all pairs: 64 MB then."""
