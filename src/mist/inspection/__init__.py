"""Inspection of a tree: tables, drawings, importances and explanations of single rows."""

from mist.inspection.evidence import explain
from mist.inspection.explanation import ClassAtLeaf, Explanation, Step
from mist.inspection.frame import to_frame
from mist.inspection.graphviz import export_graphviz
from mist.inspection.importances import feature_importances
from mist.inspection.text_columns import TextColumn
from mist.inspection.tree_plot import plot_tree

__all__ = [
    "ClassAtLeaf",
    "Explanation",
    "Step",
    "TextColumn",
    "explain",
    "export_graphviz",
    "feature_importances",
    "plot_tree",
    "to_frame",
]
