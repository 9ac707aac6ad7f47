"""What a run over a stream has counted: its classes, and the mistakes and cost of a model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Baseline", "ModelRecord", "NotableRow", "Reliability", "StreamRecord"]

Counts = NDArray[np.int64]


def _no_counts() -> Counts:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Baseline:
    """Predictions that need no model, such as the label of the row before.

    Examples
    --------
    >>> Baseline("no change", np.array([False, True, True, True]), 1, 0.75).n_rows
    4
    """

    model: str
    """Its name."""

    correct: NDArray[Any]
    """As `StreamResult.correct`."""

    rows_per_answer: int
    """Rows per entry of `correct`."""

    accuracy: float
    """Share of right predictions over the stream."""

    @property
    def n_rows(self) -> int:
        """Rows that were predicted; for a very long stream up to one block more."""
        return len(self.correct) * self.rows_per_answer


@dataclass(frozen=True, eq=False)
class StreamRecord:
    """The classes and columns of a stream, the same for all models.

    The K classes are in order of arrival.

    Examples
    --------
    >>> record = StreamRecord(("cat", "dog"), np.array([0, 9]), np.array([12, 8]), np.eye(2), 10)
    >>> record.n_rows
    20
    """

    labels: tuple[Any, ...]
    """The K labels."""

    first_rows: Counts
    """Rows learnt before the first row of each class, shape (K,)."""

    rows: Counts
    """Rows of each class, shape (K,)."""

    rows_by_time: Counts
    """Rows of each class in each of B equal parts of the stream, shape (K, B). In a stream of very
    many classes the last ones have none."""

    rows_per_bin: int
    """Length of a part; the last one may be shorter."""

    baselines: tuple[Baseline, ...] = ()
    """Predictions without a model."""

    columns: tuple[str, ...] = ()
    """Names of the d columns; empty if nothing is known of them."""

    separation: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """Share of the variance of each column that is between classes (the correlation ratio), shape
    (d,); NaN for a constant column."""

    furthest: Counts = field(default_factory=_no_counts)
    """Class whose mean is furthest from that of all rows in each column, shape (d,)."""

    @property
    def n_rows(self) -> int:
        """Rows learnt."""
        return int(self.rows.sum())


@dataclass(frozen=True, eq=False)
class Reliability:
    """How often predictions were right, by the probability that the model gave them.

    Examples
    --------
    >>> Reliability(np.array([4, 4]), np.array([1.5, 3.5]), np.array([2, 4])).error
    0.125
    """

    rows: Counts
    """Rows by the probability of their prediction, in B equal bins from 0 to 1, shape (B,)."""

    probability: NDArray[np.float64]
    """Sum of the probabilities in each bin, shape (B,)."""

    right: Counts
    """Rows of each bin that were predicted right, shape (B,)."""

    @property
    def n_rows(self) -> int:
        """Rows of all bins."""
        return int(self.rows.sum())

    @property
    def mean_probability(self) -> float:
        """Mean probability of the predictions."""
        return float(self.probability.sum()) / max(self.n_rows, 1)

    @property
    def share_right(self) -> float:
        """Share of the predictions that were right."""
        return int(self.right.sum()) / max(self.n_rows, 1)

    @property
    def error(self) -> float:
        """Expected calibration error: mean distance of probability and share right in a bin."""
        return float(np.abs(self.probability - self.right).sum()) / max(self.n_rows, 1)


@dataclass(frozen=True)
class NotableRow:
    """A row that a person may want to look at.

    Examples
    --------
    >>> NotableRow(12, "cat", "dog", 0.4).reason
    ''
    """

    place: Any
    """Origin of the row, as error messages name it."""

    label: Any
    """Its label."""

    predicted: Any
    """The label that was predicted before the row was learnt."""

    probability: float
    """Probability of the prediction; NaN if it is not known."""

    reason: str = ""
    """Why the row is notable, in words."""


@dataclass(frozen=True, eq=False)
class ModelRecord:
    """Hits and confusions of a model by class, how sure it was, and its cost, over a stream.

    Examples
    --------
    >>> none = np.zeros(0, dtype=np.int64)
    >>> ModelRecord(np.array([3, 4]), np.array([[3], [4]]), none, none, none).hits.sum()
    np.int64(7)
    """

    hits: Counts
    """Rows of each class that were predicted right, shape (K,)."""

    hits_by_time: Counts
    """The same in each part of the stream, shape (K, B)."""

    confused: Counts
    """Classes of rows that were predicted as another class, shape (P,), most frequent first."""

    confused_with: Counts
    """The class that was predicted, shape (P,)."""

    confused_rows: Counts
    """Number of these rows, shape (P,)."""

    forgotten_pairs: int = 0
    """Rows of rare confusions that are not kept because there are too many."""

    cost_rows: Counts = field(default_factory=_no_counts)
    """Rows learnt when the cost was measured, shape (C,)."""

    nbytes: Counts = field(default_factory=_no_counts)
    """Bytes of the model's state, shape (C,); zeros if the model does not report it."""

    microseconds: Counts = field(default_factory=_no_counts)
    """Time spent on predicting and learning so far, shape (C,)."""

    reliability: Reliability | None = None
    """How often predictions were right, by their probability; None if it is not known."""

    unsure: tuple[NotableRow, ...] = ()
    """Rows with the least probable predictions, the least probable first."""

    novel: tuple[NotableRow, ...] = ()
    """First rows of classes, and rows with values far from all before."""
