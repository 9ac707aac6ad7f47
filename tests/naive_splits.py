"""Slow and obvious twins of the split tests that docs/method.md adds to the paper's.

They share no code with the package.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def wealth(scores: Sequence[float]) -> float:
    """Mean capital of four gamblers who stake a fixed part of theirs on every score."""
    return sum(math.prod(1.0 + part * x for x in scores) for part in (0.05, 0.12, 0.3, 0.7)) / 4.0
