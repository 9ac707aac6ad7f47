"""Plots of the reports, as functions that draw on matplotlib axes and return them.

Without axes a function makes a pyplot figure; with axes pyplot is not used. Texts and lines that
are not data have the colours of the matplotlib settings, so that matplotlib styles apply.
"""

from mist.plotting.class_maps import plot_class_recall, plot_confusions
from mist.plotting.classes import plot_classes
from mist.plotting.curves import Curve, average_curves, plot_curves
from mist.plotting.reliability import plot_reliability
from mist.plotting.shares import plot_tasks
from mist.plotting.streams import plot_accuracy, plot_accuracy_matrix, plot_forgetting, plot_growth
from mist.plotting.theme import MARKERS, PALETTE, line_styles

__all__ = [
    "MARKERS",
    "PALETTE",
    "Curve",
    "average_curves",
    "line_styles",
    "plot_accuracy",
    "plot_accuracy_matrix",
    "plot_class_recall",
    "plot_classes",
    "plot_confusions",
    "plot_curves",
    "plot_forgetting",
    "plot_growth",
    "plot_reliability",
    "plot_tasks",
]
