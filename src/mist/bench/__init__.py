"""Methods over data sets and seeds, beside the figures of the paper."""

from mist.bench.grid import default_methods, plan
from mist.bench.record import MEASURES, Measure, Record, Run
from mist.bench.schedule import Progress, iter_grid, run_grid
from mist.bench.store import StoreError
from mist.bench.suites import PROTOCOLS, SEEDS, SETTINGS, SUITES, Setting

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
