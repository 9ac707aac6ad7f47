"""Methods over data sets and seeds, beside the figures of the paper."""

from mist_bench.grid import default_methods, plan
from mist_bench.record import MEASURES, Measure, Record, Run
from mist_bench.schedule import Progress, iter_grid, run_grid
from mist_bench.store import StoreError
from mist_bench.suites import PROTOCOLS, SEEDS, SETTINGS, SUITES, Setting

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
