"""The labels of a model, their order and their codes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mist.cells import is_missing

Array = np.ndarray[Any, Any]

PLAIN = "iubU"
"""Kinds of arrays in which every value is a label: whole numbers, bools and text."""


def plain_label(label: Any, row: int | None = None) -> Any:
    """Return a label as a plain Python value: text, bool or number.

    Parameters
    ----------
    label : object
        The label.
    row : int or None, default=None
        Its row, for the error message; None for a single label.

    Raises
    ------
    ValueError
        If it is missing or of another type.
    """
    is_scalar = isinstance(label, np.generic) and label.dtype.kind not in "mM"
    value = label.item() if is_scalar else label
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError(f"the label {value} does not fit into 64 bits; pass such labels as text")
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    what = "a missing value" if is_missing(value) else f"{label!r}"
    at = "" if row is None else f" at row {row}"
    raise ValueError(f"y holds {what} as a label{at}; labels are text, whole numbers or bools")


def check_one_kind(values: list[Any], known: Any = None) -> None:
    """Refuse a mixture of text labels and other plain labels.

    Parameters
    ----------
    values : list
        Plain labels.
    known : label or None
        An earlier label.

    Raises
    ------
    ValueError
        The message shows the first labels and the known one.
    """
    kinds = {isinstance(v, str) for v in values}
    if known is not None:
        kinds.add(isinstance(known, str))
    if len(kinds) > 1:
        seen = "" if known is None else f" after {known!r}"
        raise ValueError(
            f"y mixes text labels with numbers: {values[:3]}{seen}; "
            "give all labels of a model the same kind"
        )


_FEW = 100
"""Up to this number, labels are looked up one by one."""


def _distinct(y: Array) -> tuple[Array, Array, Array]:
    """The sorted distinct values, the index of the first of each, and each value's index in them.

    Like ``numpy.unique``, but without sorting whole numbers in a narrow range.

    Examples
    --------
    >>> _distinct(np.array([7, 5, 7]))
    (array([5, 7]), array([1, 0]), array([1, 0, 1]))
    """
    if y.dtype.kind in "iu" and len(y):
        low, high = int(y.min()), int(y.max())
        if high - low < 2 * len(y):
            # The difference of two values may overflow a narrow signed type.
            wide = y.astype(np.int64) if y.dtype.kind == "i" else y
            offset = (wide - wide.dtype.type(low)).astype(np.intp)
            first = np.full(high - low + 1, -1, dtype=np.intp)
            # Of equal offsets, the last assignment remains.
            first[offset[::-1]] = np.arange(len(y) - 1, -1, -1)
            present = np.flatnonzero(first >= 0)
            place = np.empty(len(first), dtype=np.intp)
            place[present] = np.arange(len(present))
            distinct = (present.astype(wide.dtype) + wide.dtype.type(low)).astype(y.dtype)
            return distinct, first[present], place[offset]
    return np.unique(y, return_index=True, return_inverse=True)


class Labels:
    """The labels of a growing set of classes.

    Every learnt label has a code, counted from 0 in order of first appearance. Declared labels
    without a row have none yet. ``classes`` holds all labels, sorted.

    Attributes
    ----------
    classes : ndarray, shape (n_classes,)
        All labels, sorted.
    ranks : ndarray of int64, shape (n_codes,)
        Position in ``classes`` of the label of each code.
    """

    def __init__(self) -> None:
        self._codes: dict[Any, int] = {}
        self._declared: set[Any] = set()
        self.classes: Array = np.empty(0, dtype=np.int64)
        self.ranks: Array = np.empty(0, dtype=np.int64)

    def copy(self) -> Labels:
        """Return labels that may grow on their own."""
        out = Labels()
        out._codes, out._declared = dict(self._codes), set(self._declared)
        out.classes, out.ranks = self.classes, self.ranks
        return out

    def plain(self, labels: Iterable[Any]) -> list[Any]:
        """Return labels as plain values of the same type as the known ones.

        Raises
        ------
        ValueError
            If text and numbers would be mixed, or a label is missing.
        """
        values = [plain_label(label) for label in labels]
        known = next(iter(self._codes), next(iter(self._declared), None))
        check_one_kind(values, known)
        if known is not None and not isinstance(known, float):
            values = [int(v) if isinstance(v, float) and v == int(v) else v for v in values]
        return values

    def add(self, labels: Iterable[Any], declared: Iterable[Any] = ()) -> None:
        """Add plain labels: learnt ones, in order of appearance, and declared ones."""
        before = len(self._codes), len(self._codes) + len(self._declared)
        for label in labels:
            self._codes.setdefault(label, len(self._codes))
        self._declared.update(declared)
        self._declared.difference_update(self._codes)
        if before == (len(self._codes), len(self._codes) + len(self._declared)):
            return
        self._order()

    def _order(self) -> None:
        """Sort the labels."""
        ordered = sorted([*self._codes, *self._declared])
        place = {label: i for i, label in enumerate(ordered)}
        self.classes = np.array(ordered)
        self.ranks = np.array([place[label] for label in self._codes], dtype=np.int64)

    def take(self, y: Array, declared: Sequence[Any] = ()) -> Array:
        """Add the labels of rows and declared ones; return the codes of the rows.

        Raises
        ------
        ValueError
            As for `plain`; then nothing is added.
        """
        if y.dtype.kind in PLAIN and not declared and len(y) <= _FEW:
            codes = [self._codes.get(label, -1) for label in y.tolist()]
            if -1 not in codes:
                return np.array(codes, dtype=np.int64)
        distinct, at, inverse = _distinct(y)
        plain = self.plain([*distinct, *declared])
        self.add([plain[i] for i in np.argsort(at, kind="stable")], plain[len(distinct) :])
        return self.encode(plain[: len(distinct)])[inverse]

    def rename(self, old: Any, new: Any) -> None:
        """Give a class another plain label, which no class has."""
        self._codes = {new if label == old else label: k for label, k in self._codes.items()}
        self._declared.discard(new)
        self._order()

    def undeclare(self, label: Any) -> None:
        """Remove a plain label that no row has had."""
        self._declared.discard(label)
        self._order()

    def remove(self, label: Any) -> int:
        """Remove a learnt plain label; the label with the last code gets its code, returned."""
        code = self._codes.pop(label)
        last = len(self._codes)
        moved = {each: code if k == last else k for each, k in self._codes.items()}
        self._codes = dict(sorted(moved.items(), key=lambda item: item[1]))
        self._order()
        return code

    @property
    def codes(self) -> Mapping[Any, int]:
        """The code of every learnt plain label."""
        return self._codes

    @property
    def declared(self) -> frozenset[Any]:
        """The plain labels that no row has had so far."""
        return frozenset(self._declared)

    def encode(self, labels: Iterable[Any]) -> Array:
        """Return codes of plain labels, -1 for a label that was never learnt."""
        return np.array([self._codes.get(label, -1) for label in labels], dtype=np.int64)

    def decode(self, codes: Array) -> Array:
        """Return the labels of codes."""
        return self.classes[self.ranks[codes]]
