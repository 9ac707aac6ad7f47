"""Benchmark of methods over data sets and seeds, compared with the paper's figures.

The names load on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mist_bench.grid import default_methods, plan
    from mist_bench.record import MEASURES, Measure, Record, Run
    from mist_bench.schedule import Progress, iter_grid, run_grid
    from mist_bench.store import StoreError
    from mist_bench.suites import PROTOCOLS, SEEDS, SETTINGS, SUITES, Setting

_HOMES = {
    "MEASURES": "record",
    "PROTOCOLS": "suites",
    "SEEDS": "suites",
    "SETTINGS": "suites",
    "SUITES": "suites",
    "Measure": "record",
    "Progress": "schedule",
    "Record": "record",
    "Run": "record",
    "Setting": "suites",
    "StoreError": "store",
    "default_methods": "grid",
    "iter_grid": "schedule",
    "plan": "grid",
    "run_grid": "schedule",
}

__all__ = [
    "MEASURES",
    "PROTOCOLS",
    "SEEDS",
    "SETTINGS",
    "SUITES",
    "Measure",
    "Progress",
    "Record",
    "Run",
    "Setting",
    "StoreError",
    "default_methods",
    "iter_grid",
    "plan",
    "run_grid",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(f"mist_bench.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'mist_bench' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
