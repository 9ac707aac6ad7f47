"""Every plot of the reports as a function that draws on matplotlib axes and returns them.

Without axes a function makes a figure of pyplot; with axes pyplot is not touched. Texts and lines
that are no data take the colours of the settings of matplotlib, so that a style of one's own holds.
"""

from mist.plotting.classes import plot_classes
from mist.plotting.curves import Curve, average_curves, plot_curves
from mist.plotting.looks import MARKERS, PALETTE, line_styles
from mist.plotting.shares import plot_tasks
from mist.plotting.streams import (
    plot_accuracy,
    plot_accuracy_matrix,
    plot_forgetting,
    plot_growth,
)

__all__ = [
    "MARKERS",
    "PALETTE",
    "Curve",
    "average_curves",
    "line_styles",
    "plot_accuracy",
    "plot_accuracy_matrix",
    "plot_classes",
    "plot_curves",
    "plot_forgetting",
    "plot_growth",
    "plot_tasks",
]
