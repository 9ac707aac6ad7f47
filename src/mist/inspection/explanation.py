"""`Explanation` of the prediction for one row: path to the leaf, the leaf, and the evidence."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mist.inspection.term import Term
from mist.inspection.text_columns import TextColumn
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

    ``prior + evidence.sum(axis=1) + together`` are the scores of ``classes``, by which the tree
    orders them. The probabilities follow from the softmax of the scores of all classes at the leaf:
    with ``class_prior="balanced"`` they are weighted by the frequencies of the classes, and with
    ``adapt="stream"`` calibrated. All scores are in nats and relative to all classes of the leaf
    together: evidence of log 2 means that the value is twice as probable
    in the class as in the average over the classes there, weighted by their priors.

    Attributes
    ----------
    prediction : label
        Prediction of `MistClassifier.predict`, for a row of a table.
    probabilities : dict of label to float
        Probability of every class, as in `MistClassifier.predict_proba`.
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
    texts : tuple of TextColumn
        Text columns that the model has as 0/1 columns. Texts, drawings and data frames give the sum
        of the evidence of these 0/1 columns under the name of the text column.
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
    texts: tuple[TextColumn, ...] = ()

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
        difference = self.evidence[0] - self.evidence[1]
        parts = [
            Term(
                "column",
                own[0] if len(own) == 1 else -1,
                printable(name),
                self._value(own[0]) if text is None else printable(text),
                float(difference[own].sum()),
            )
            for name, text, own in self._inputs()
            if not np.isnan(self.values[own]).all()
        ]
        parts.sort(key=lambda term: -abs(term.evidence))
        terms, others = parts[:most], parts[len(parts[:most]) :]
        if others:
            rest = sum(term.evidence for term in others)
            terms.append(Term("columns", -1, f"{len(others)} other columns", "", rest))
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

        records: list[tuple[Any, ...]] = []
        for i, label in enumerate(self.classes):
            records.append((label, "prior", None, np.nan, float(self.prior[i])))
            for name, text, own in self._inputs():
                value = float(self.values[own[0]]) if text is None else text or None
                records.append((label, "column", name, value, float(self.evidence[i, own].sum())))
            records.append((label, "together", None, np.nan, float(self.together[i])))
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

    def _inputs(self) -> list[tuple[str, str | None, list[int]]]:
        """Columns of the row: name, text or None for a number, and columns of the model."""
        texts = {text.columns[0]: text for text in self.texts}
        spread = {j for text in self.texts for j in text.columns}
        return [
            (texts[j].name, texts[j].text, list(texts[j].columns))
            if j in texts
            else (name, None, [j])
            for j, name in enumerate(self.columns)
            if j in texts or j not in spread
        ]

    def _value(self, j: int) -> str:
        return number(float(self.values[j]), float(self.spreads[j]))

    def _prediction(self) -> list[str]:
        chances = [f"{printable(c)} ({self.probabilities[c]:.3g})" for c in self.classes[:3]]
        row = "prediction" if self.next_in_stream is None else "prediction for a row of a table"
        lines = [f"{row}: {', then '.join(chances)}"]
        most, share = max(self.probabilities.items(), key=lambda item: item[1])
        if share > self.probabilities[self.prediction]:
            lines.append(
                f"more probable, but not chosen by the model's decision rule: {printable(most)} "
                f"({share:.3g})"
            )
        if self.next_in_stream is not None:
            label, share = max(self.next_in_stream.items(), key=lambda item: item[1])
            lines.append(f"as the next row of the stream: {printable(label)} ({share:.3g})")
        return lines

    def _path(self) -> list[str]:
        lines = [
            f"path to leaf {self.leaf}:" if self.path else f"the tree is one leaf, {self.leaf}"
        ]
        lines += [f"  {self._way(step)}" for step in self.path]
        return lines

    def _way(self, step: Step) -> str:
        """One step of the path; a 0/1 column of a text is named by the text."""
        for column in self.texts:
            start = f"{column.name}="
            if step.feature in column.columns and step.column.startswith(start):
                name = printable(column.name)
                side = f"{'not ' * step.left}{printable(step.column.removeprefix(start))}"
                if step.missing:
                    return f"{name} is missing: to the heavier side, {side}"
                return f"{name} is {side}"
        name, sign = printable(step.column), "<=" if step.left else ">"
        threshold = number(step.threshold, float(self.spreads[step.feature]))
        if step.missing:
            return f"{name} is missing: to the heavier side, {sign} {threshold}"
        return f"{name} = {self._value(step.feature)} {sign} {threshold}"

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
