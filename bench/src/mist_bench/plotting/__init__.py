"""Plots of a grid: mean ranks, and accuracy against cost; others are in `mist.plotting`."""

from mist_bench.plotting.costs import Point, plot_costs
from mist_bench.plotting.rank_plot import plot_ranks

__all__ = ["Point", "plot_costs", "plot_ranks"]
