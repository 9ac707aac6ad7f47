"""Labels: which there are, in which order, and their codes."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class Labels:
    """The labels of a growing set of classes.

    Every label that was learnt has a code, counted from 0 in order of first appearance;
    declared labels without a row have none yet. ``classes`` holds all of them, sorted.

    Attributes
    ----------
    classes : ndarray, shape (n_classes,)
        All labels, sorted.
    columns : ndarray of int64, shape (n_codes,)
        Position in ``classes`` of the label of each code.
    """

    def __init__(self) -> None:
        self._codes: dict[Any, int] = {}
        self._declared: set[Any] = set()
        self.classes: Array = np.empty(0, dtype=np.int64)
        self.columns: Array = np.empty(0, dtype=np.int64)

    def plain(self, y: Array) -> list[Any]:
        """Distinct labels as plain Python values; text and numbers do not mix."""
        labels = [v.item() if isinstance(v, np.generic) else v for v in y]
        known = [*self._codes, *self._declared]
        if any(isinstance(v, str) for v in (*labels, *known)) and not all(
            isinstance(v, str) for v in (*labels, *known)
        ):
            raise ValueError(
                f"y mixes text labels with numbers: {labels[:3]} after {known[:3]}; "
                "give all labels of a model the same kind"
            )
        if known and not any(isinstance(v, float) for v in known):
            labels = [int(v) if isinstance(v, float) else v for v in labels]
        return labels

    def add(self, labels: list[Any], declared: list[Any]) -> None:
        """Take in learnt labels, in order of appearance, and declared ones."""
        before = len(self._codes) + len(self._declared)
        for label in labels:
            self._codes.setdefault(label, len(self._codes))
        self._declared.update(declared)
        self._declared.difference_update(self._codes)
        if len(self._codes) + len(self._declared) != before or len(self.columns) != len(
            self._codes
        ):
            ordered = sorted([*self._codes, *self._declared])
            place = {label: i for i, label in enumerate(ordered)}
            self.classes = np.array(ordered)
            self.columns = np.array([place[label] for label in self._codes], dtype=np.int64)

    def encode(self, labels: list[Any]) -> Array:
        """Codes of labels, -1 for one that was never learnt."""
        return np.array([self._codes.get(label, -1) for label in labels], dtype=np.int64)

    def decode(self, codes: Array) -> Array:
        """Labels of codes."""
        return self.classes[self.columns[codes]]
