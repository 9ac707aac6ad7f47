"""`Explanation` of the prediction for one row: path to the leaf, the leaf, and the evidence."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mist.inspection.term import Term
from mist.inspection.wording import count, nats, number
from mist.texts import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

__all__ = ["ClassAtLeaf", "Explanation", "Step"]

Array = np.ndarray[Any, Any]

MOST_TERMS = 10
"""Most columns that texts and drawings name."""

_MOST_CLASSES = 5


class Step(NamedTuple):
    """One node on the path to the leaf.

    Attributes
    ----------
    node : int
        Node id.
    feature : int
        Split column.
    column : str
        Its name.
    value : float
        The row's value; NaN if it is missing.
    threshold : float
        Values <= threshold go left. The common shift of the stream, if the model has found one, is
        added to the threshold of the node, so that it is in the units of the row.
    left : bool
        Whether the row went left.
    missing : bool
        Whether it went to the heavier child because the value is missing.
    """

    node: int
    feature: int
    column: str
    value: float
    threshold: float
    left: bool
    missing: bool


class ClassAtLeaf(NamedTuple):
    """Statistics of one class at a leaf.

    Attributes
    ----------
    label : label
        The class.
    mass : float
        Mass of the class: learnt at the leaf and inherited.
    rows : float
        Weight of the rows learnt at the leaf.
    """

    label: Any
    mass: float
    rows: float


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Explanation of the prediction of a tree for one row of a table; `print` shows it as text.

    ``prior + evidence.sum(axis=1) + together`` are the scores of ``classes``, and the probabilities
    are the softmax of the scores of all classes at the leaf. All numbers are in nats and relative
    to all classes of the leaf together: evidence of log 2 means that the value is twice as probable
    in the class as in the average over the classes there, weighted by their priors.

    Attributes
    ----------
    prediction : label
        Prediction of `MistClassifier.predict`, for a row of a table.
    probabilities : dict of label to float
        Probability of every class.
    path : tuple of Step
        The steps from the root to the leaf.
    leaf : int
        Node id of the leaf.
    rows : float
        Weight of the rows learnt at the leaf.
    held : tuple of ClassAtLeaf
        Classes at the leaf, heaviest first.
    columns : tuple of str, length d
        Names of the columns.
    values : ndarray of float64, shape (d,)
        The row; NaN is missing.
    spreads : ndarray of float64, shape (d,)
        Standard deviation of each column over all rows learnt.
    classes : tuple of label, length k
        Classes with evidence, the prediction first, then by probability.
    prior : ndarray of float64, shape (k,)
        Log probability of each class at the leaf before the row is looked at.
    evidence : ndarray of float64, shape (k, d)
        Evidence of each value: its log density in the class, given all other values of the row. 0
        for a missing value.
    together : ndarray of float64, shape (k,)
        Remainder that is not evidence of a single column, because columns share information or
        have it only together. 0 if the leaf has independent columns.
    additive : bool
        Whether the leaf treats columns as independent, so that the evidence of a column does not
        depend on the other values.
    next_in_stream : dict of label to float, or None
        Probability of every class for the row as the next of the stream, where the labels before it
        count, too; it is not explained. None unless the model has ``adapt="stream"``.
    """

    prediction: Any
    probabilities: dict[Any, float]
    path: tuple[Step, ...]
    leaf: int
    rows: float
    held: tuple[ClassAtLeaf, ...]
    columns: tuple[str, ...]
    values: Array
    spreads: Array
    classes: tuple[Any, ...]
    prior: Array
    evidence: Array
    together: Array
    additive: bool
    next_in_stream: dict[Any, float] | None = None

    @property
    def scores(self) -> Array:
        """Score of each class, shape (k,)."""
        return self.prior + self.evidence.sum(axis=1) + self.together

    def contrast(self, most: int | None = None) -> list[Term]:
        """Return the evidence for the prediction against the runner-up, largest column first.

        Parameters
        ----------
        most : int or None, default=None
            Number of columns with their own term; the others share one. None means all.

        Returns
        -------
        list of Term
            One for each known value, one for the prior and one for the remainder; empty if the leaf
            or the explanation has only one class.
        """
        if len(self.classes) < 2:
            return []
        parts = self.evidence[0] - self.evidence[1]
        known = np.flatnonzero(~np.isnan(self.values))
        known = known[np.argsort(-np.abs(parts[known]), kind="stable")]
        own, others = known[:most], known[len(known[:most]) :]
        terms = [
            Term("column", int(j), printable(self.columns[j]), self._value(j), float(parts[j]))
            for j in own
        ]
        if len(others):
            terms.append(
                Term("columns", -1, f"{len(others)} other columns", "", float(parts[others].sum()))
            )
        before = float(self.prior[0] - self.prior[1])
        terms.append(Term("prior", -1, "prior of the classes", "", before))
        if not self.additive:
            rest = float(self.together[0] - self.together[1])
            terms.append(Term("together", -1, "columns together", "", rest))
        return terms

    def to_frame(self) -> DataFrame:
        """Return all parts of all scores as a data frame.

        Returns
        -------
        pandas.DataFrame
            One row for each class and part, with the columns class, part ("prior", "column" or
            "together"), column, value and evidence. The sum of the evidence of a class is its
            score.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        from mist.inspection.frame import pandas

        d, names = len(self.columns), [None, *self.columns, None]
        values = [np.nan, *self.values.tolist(), np.nan]
        records = [
            (label, part, names[j], values[j], evidence)
            for i, label in enumerate(self.classes)
            for j, (part, evidence) in enumerate(
                [
                    ("prior", float(self.prior[i])),
                    *(("column", float(value)) for value in self.evidence[i]),
                    ("together", float(self.together[i])),
                ]
            )
        ]
        assert len(records) == len(self.classes) * (d + 2)
        return pandas().DataFrame(records, columns=["class", "part", "column", "value", "evidence"])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the evidence for the prediction and for the runner-up as bars.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw on; None makes a figure.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ValueError
            If there is no runner-up.
        """
        from mist.inspection.evidence_plot import plot_evidence

        return plot_evidence(self.classes, self.contrast(MOST_TERMS), ax)

    def __str__(self) -> str:
        return "\n".join([*self._prediction(), *self._path(), *self._leaf(), *self._evidence()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def _value(self, j: int) -> str:
        return number(float(self.values[j]), float(self.spreads[j]))

    def _prediction(self) -> list[str]:
        chances = [f"{printable(c)} ({self.probabilities[c]:.3g})" for c in self.classes[:3]]
        if self.next_in_stream is None:
            return [f"prediction: {', then '.join(chances)}"]
        label, share = max(self.next_in_stream.items(), key=lambda item: item[1])
        return [
            f"prediction for a row of a table: {', then '.join(chances)}",
            f"as the next row of the stream: {printable(label)} ({share:.3g})",
        ]

    def _path(self) -> list[str]:
        lines = [
            f"path to leaf {self.leaf}:" if self.path else f"the tree is one leaf, {self.leaf}"
        ]
        for step in self.path:
            name, sign = printable(step.column), "<=" if step.left else ">"
            threshold = number(step.threshold, float(self.spreads[step.feature]))
            if step.missing:
                way = f"{name} is missing: to the heavier side, {sign} {threshold}"
            else:
                way = f"{name} = {self._value(step.feature)} {sign} {threshold}"
            lines.append(f"  {way}")
        return lines

    def _leaf(self) -> list[str]:
        shown = [
            f"{printable(c.label)} {count(c.mass)} ({count(c.rows)})"
            for c in self.held[:_MOST_CLASSES]
        ]
        more = len(self.held) - len(shown)
        rest = f" and {more} more" if more > 0 else ""
        return [f"class masses at the leaf (rows learnt there): {', '.join(shown)}{rest}"]

    def _evidence(self) -> list[str]:
        terms = self.contrast(MOST_TERMS)
        if not terms:
            return ["evidence: there is no other class to compare with"]
        first, second = (printable(label) for label in self.classes[:2])
        lines = [(t.evidence, f"{t.name} = {t.value}" if t.value else t.name) for t in terms]
        lines.append((sum(term.evidence for term in terms), "total"))
        return [
            f"evidence for {first} against {second}, in nats:",
            *(f"  {nats(evidence):>9}  {text}" for evidence, text in lines),
        ]
