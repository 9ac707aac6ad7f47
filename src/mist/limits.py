"""Limits of values, weights and columns, for files, tables and the engine."""

from __future__ import annotations

__all__ = ["LARGEST", "LARGEST_WEIGHT", "MOST_PAIRED"]

LARGEST = 1e150
"""Larger magnitudes cannot be squared in double precision."""

LARGEST_WEIGHT = 2.0**31
"""Largest weight of a row."""

MOST_PAIRED = 4096
"""Most numeric columns for which a class keeps the products of all pairs: 64 MB."""
