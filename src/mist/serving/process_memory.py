"""Memory of this process."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["resident_mb"]


def resident_mb() -> float:
    """Resident memory of this process in MB, or its peak where the system says only that.

    Examples
    --------
    >>> resident_mb() > 1.0
    True
    """
    statm = Path("/proc/self/statm")
    if statm.exists():
        pages = int(statm.read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    try:
        import resource
    except ImportError:  # Windows
        return float("nan")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
