"""Counts by class over a stream, for its report, in bounded memory for any length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mist.streaming.runs.history import Answers

__all__ = ["Classes", "Mistakes", "Timeline"]

MOST_BINS = 96
"""Most parts of a stream that are counted separately; above it pairs of parts are merged."""

MOST_CLASSES = 2_000
"""Most classes whose rows are counted by time: the first ones."""

MOST_PAIRS = 1 << 15
"""Most pairs of confused classes; above it the rarer half is dropped."""

_MOST_BLOCKS = 1 << 16
_CODE_BITS = 32
_CODE_MASK = (1 << _CODE_BITS) - 1

Codes = NDArray[np.int64]


class Timeline:
    """Rows of each class in equal parts of a stream.

    Parameters
    ----------
    counts : ndarray or None
        Counts of an earlier run, class by class.
    width : int
        Rows of a part.
    done : int
        Rows so far.

    Examples
    --------
    >>> timeline = Timeline()
    >>> timeline.add(np.array([0, 0, -1, 1]))
    >>> timeline.table(2)[:, :4].tolist(), timeline.width
    ([[1, 1, 0, 0], [0, 0, 0, 1]], 1)
    """

    def __init__(self, counts: Codes | None = None, width: int = 1, done: int = 0) -> None:
        self.width = width
        self._done = done
        kept = np.zeros(0, dtype=np.int64) if counts is None else counts.astype(np.int64)
        self._counts: Codes = kept.reshape(-1, MOST_BINS)

    def add(self, codes: Codes) -> None:
        """Add the next rows: the class code of each, or -1 to count the row as time only."""
        n = len(codes)
        if not n:
            return
        while self._done + n > MOST_BINS * self.width:
            self._halve()
        bins = (self._done + np.arange(n)) // self.width
        first, span = int(bins[0]), int(bins[-1] - bins[0]) + 1
        counted = (codes >= 0) & (codes < MOST_CLASSES)
        self._reach(int(codes[counted].max(initial=-1)) + 1)
        places = codes[counted] * span + bins[counted] - first
        found = np.bincount(places, minlength=len(self._counts) * span)
        self._counts[:, first : first + span] += found.reshape(len(self._counts), span)
        self._done += n

    def table(self, n_classes: int) -> Codes:
        """Return the counts, one line per class and one column per part with rows."""
        bins = -(-self._done // self.width)
        out = np.zeros((n_classes, bins), dtype=np.int64)
        out[: len(self._counts)] = self._counts[:n_classes, :bins]
        return out

    def state(self) -> dict[str, Any]:
        """Return the constructor arguments of a copy."""
        return {"counts": self._counts.ravel().copy(), "width": self.width, "done": self._done}

    def _reach(self, n_classes: int) -> None:
        missing = n_classes - len(self._counts)
        if missing > 0:
            more = np.zeros((missing, MOST_BINS), dtype=np.int64)
            self._counts = np.concatenate([self._counts, more])

    def _halve(self) -> None:
        pairs = self._counts.reshape(len(self._counts), MOST_BINS // 2, 2).sum(axis=2)
        self._counts = np.concatenate([pairs, np.zeros_like(pairs)], axis=1)
        self.width *= 2


class Classes:
    """The classes of a stream, and how often two constants would have been right.

    The constants are the most frequent class so far, and the label of the row before. As for
    models, the first row counts as wrong.

    Parameters
    ----------
    state : mapping or None
        Result of `state` in an earlier run, to continue it.

    Attributes
    ----------
    first_rows : dict
        Rows learnt before the first row of each label, in order of arrival.
    by_time : Timeline
        Rows of each class over the stream.
    majority, no_change : Answers
        Which rows each constant would have predicted right.

    Examples
    --------
    >>> classes = Classes()
    >>> classes.add(["a", "b", "b", "b"]).tolist()
    [0, 1, 1, 1]
    >>> classes.majority.shares().tolist(), classes.no_change.shares().tolist()
    ([False, False, False, True], [False, False, True, True])
    """

    def __init__(self, state: Mapping[str, Any] | None = None) -> None:
        self.first_rows: dict[Any, int] = {}
        self._rows: list[int] = []
        self._hits = [0, 0]
        self._last = -1
        self._most = -1
        self._done = 0
        if state is None:
            self.by_time = Timeline()
            self.majority, self.no_change = (Answers(most=_MOST_BLOCKS) for _ in range(2))
        else:
            given = zip(state["labels"], state["first_rows"].tolist(), strict=True)
            self.first_rows = dict(given)
            self._rows = state["rows"].tolist()
            self._hits = [state["majority_hits"], state["no_change_hits"]]
            self._last, self._most = state["last"], state["most"]
            self._done = state["done"]
            self.by_time = Timeline(**state["by_time"])
            self.majority, self.no_change = (
                Answers(**state[name], most=_MOST_BLOCKS) for name in ("majority", "no_change")
            )
            if len({len(self._rows), len(self.first_rows), len(state["labels"])}) > 1:
                raise ValueError("the counts of classes do not belong together")
            if not max(self._last, self._most) < max(len(self._rows), 1):
                raise ValueError("a class has no count")
        self._codes = {label: code for code, label in enumerate(self.first_rows)}

    @property
    def rows(self) -> Codes:
        """Rows of each class, in order of arrival."""
        return np.array(self._rows, dtype=np.int64)

    def accuracies(self) -> tuple[float, float]:
        """Return the shares of rows that the two constants would have predicted right."""
        rows = max(self._done, 1)
        return self._hits[0] / rows, self._hits[1] / rows

    def add(self, labels: Sequence[Any]) -> Codes:
        """Add the labels of the next rows, and return their codes: 0 for the first class."""
        codes: list[Any] = list(map(self._codes.get, labels))
        if None in codes:
            for row, label in enumerate(labels):
                if label not in self._codes:
                    self._codes[label] = len(self._codes)
                    self._rows.append(0)
                    self.first_rows[label] = self._done + row
            codes = [self._codes[label] for label in labels]
        out = np.array(codes, dtype=np.int64)
        for i, (answers, right) in enumerate(
            [
                (self.majority, self._predict_majority(codes, out)),
                (self.no_change, out == np.array([self._last, *codes[:-1]], dtype=np.int64)),
            ]
        ):
            answers.add(right)
            self._hits[i] += int(right.sum())
        self.by_time.add(out)
        self._done += len(codes)
        self._last = codes[-1] if codes else self._last
        return out

    def codes_of(self, labels: Sequence[Any]) -> Codes:
        """Return the codes of labels; -1 for an unknown one, such as that of no prediction."""
        codes: list[Any] = list(map(self._codes.get, labels))
        if None in codes:
            codes = [-1 if code is None else code for code in codes]
        return np.array(codes, dtype=np.int64)

    def state(self) -> dict[str, Any]:
        """Return the state as plain values and arrays."""
        return {
            "labels": list(self.first_rows),
            "first_rows": np.array(list(self.first_rows.values()), dtype=np.int64),
            "rows": self.rows,
            "done": self._done,
            "majority_hits": self._hits[0],
            "no_change_hits": self._hits[1],
            "last": self._last,
            "most": self._most,
            "by_time": self.by_time.state(),
            "majority": self.majority.state(),
            "no_change": self.no_change.state(),
        }

    def _predict_majority(self, codes: Sequence[int], array: Codes) -> NDArray[np.bool_]:
        """Predict each row as the most frequent class before it, and count it."""
        rows, most, right = self._rows, self._most, []
        if most >= 0 and rows[most] - max((*rows[:most], *rows[most + 1 :], 0)) >= len(codes):
            # No other class can overtake it within these rows.
            for code, n in enumerate(np.bincount(array).tolist()):
                rows[code] += n
            return array == most
        for code in codes:
            right.append(code == most)
            rows[code] += 1
            if most < 0 or rows[code] > rows[most]:
                most = code
        self._most = most
        return np.array(right, dtype=bool)


class Mistakes:
    """Hits of a model by class over a stream, and the classes that it confuses.

    Parameters
    ----------
    state : mapping or None
        Result of `state` in an earlier run, to continue it.

    Attributes
    ----------
    by_time : Timeline
        Rows of each class that were predicted right.
    forgotten : int
        Rows of rare confusions that were dropped.

    Examples
    --------
    >>> mistakes = Mistakes()
    >>> mistakes.add(np.array([0, 1, 1, 1]), np.array([-1, 0, 1, 0]))
    >>> mistakes.hits(2).tolist(), [pair.tolist() for pair in mistakes.confusions()]
    ([0, 1], [[1], [0], [2]])
    """

    def __init__(self, state: Mapping[str, Any] | None = None) -> None:
        self.by_time = Timeline() if state is None else Timeline(**state["by_time"])
        self.forgotten = 0 if state is None else state["forgotten"]
        self._hits = np.zeros(0, dtype=np.int64) if state is None else state["hits"]
        pairs = {} if state is None else zip(state["pairs"], state["pair_rows"], strict=True)
        self._pairs: dict[int, int] = {int(pair): int(rows) for pair, rows in pairs}

    def add(self, codes: Codes, predicted: Codes) -> None:
        """Add the next rows: class codes, and predictions as codes (-1 for none)."""
        right = codes == predicted
        self.by_time.add(np.where(right, codes, -1))
        hits = np.bincount(codes[right], minlength=len(self._hits))
        hits[: len(self._hits)] += self._hits
        self._hits = hits
        wrong = ~right & (predicted >= 0)
        keys, rows = np.unique(codes[wrong] << _CODE_BITS | predicted[wrong], return_counts=True)
        for key, count in zip(keys.tolist(), rows.tolist(), strict=True):
            self._pairs[key] = self._pairs.get(key, 0) + count
        if len(self._pairs) > MOST_PAIRS:
            self._drop_rare_pairs()

    @property
    def n_classes(self) -> int:
        """Number of classes that the counts reach to."""
        codes = [code for key in self._pairs for code in (key >> _CODE_BITS, key & _CODE_MASK)]
        return max(len(self._hits), 1 + max(codes, default=-1))

    def hits(self, n_classes: int) -> Codes:
        """Return the rows of each class that were predicted right."""
        out = np.zeros(n_classes, dtype=np.int64)
        out[: len(self._hits)] = self._hits
        return out

    def confusions(self) -> tuple[Codes, Codes, Codes]:
        """Return true class, predicted class and rows of each confusion, most frequent first."""
        keys = np.array(sorted(self._pairs), dtype=np.int64)
        rows = np.array([self._pairs[key] for key in keys.tolist()], dtype=np.int64)
        order = np.argsort(-rows, kind="stable")
        keys, rows = keys[order], rows[order]
        return keys >> _CODE_BITS, keys & _CODE_MASK, rows

    def state(self) -> dict[str, Any]:
        """Return the state as plain values and arrays."""
        return {
            "hits": self._hits,
            "by_time": self.by_time.state(),
            "pairs": np.array(list(self._pairs), dtype=np.int64),
            "pair_rows": np.array(list(self._pairs.values()), dtype=np.int64),
            "forgotten": self.forgotten,
        }

    def _drop_rare_pairs(self) -> None:
        ordered = sorted(self._pairs.items(), key=lambda pair: -pair[1])
        self.forgotten += sum(rows for _, rows in ordered[MOST_PAIRS // 2 :])
        self._pairs = dict(ordered[: MOST_PAIRS // 2])
