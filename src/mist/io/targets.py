"""Reading of the label column: integers or texts, with or without missing labels."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from shlex import quote
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mist.io.source import NO_LABEL, Cells, Column, TableError, as_texts

__all__ = ["Targets"]

# Labels with leading zeros are codes: 01 is not 1.
_INTEGER = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(r"[+-]?[0-9]*[.,][0-9]+(?:[eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"[+-]?[0-9]+(?:[.,]0*)?")


class Targets:
    """Reads labels batch by batch; the first labels decide whether they are integers.

    Parameters
    ----------
    column : Column
        The column of the labels.
    as_texts : bool
        Whether labels are always texts.
    unlabelled : bool
        Whether rows may lack a label.
    renamed : mapping of str to str
        Labels that are read as others.

    Attributes
    ----------
    integers : bool or None
        Whether labels are integers; None before the first label.
    unmet : set of str
        Labels to rename that have not come so far.

    Examples
    --------
    >>> targets = Targets(Column("y"), unlabelled=True)
    >>> targets.read(["3", "", "5"], np.arange(3))
    (array([3, 0, 5]), array([ True, False,  True]))
    """

    def __init__(
        self,
        column: Column,
        *,
        as_texts: bool = False,
        unlabelled: bool = False,
        renamed: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._column = column
        self._unlabelled = unlabelled
        self._renamed = renamed
        self._declared = column.categories
        if column.categories is not None:
            self._declared = (*column.categories, *renamed.values())
        self.integers = False if as_texts else None
        self.unmet = set(renamed)

    def look(self, cells: Cells) -> None:
        """Decide from these labels whether labels are integers, unless it was decided before."""
        if self.integers is None:
            self.integers = self._are_integers(self._rename(cells))

    def read(
        self, cells: Cells, rows: NDArray[np.int64]
    ) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Read the labels of some rows.

        Parameters
        ----------
        cells : Cells, n of them
            Texts, or an array of numbers or labels.
        rows : ndarray of int64, shape (n,)
            Numbers of the rows, for messages.

        Returns
        -------
        y : ndarray, shape (n,)
            Labels, int64 or texts; 0 or an empty text where a label is missing.
        known : ndarray of bool, shape (n,), or None
            Where there is a label; None if no label is missing.

        Raises
        ------
        TableError
            If a label is missing without ``unlabelled``, is not one of the declared labels, or is
            a text among integers, or if labels are numbers with decimals.
        """
        cells = self._rename(cells)
        self.look(cells)
        integers = self.integers is not False
        if isinstance(cells, np.ndarray) and cells.dtype.kind in "iu" and integers:
            return cells.astype(np.int64), None
        texts = as_texts(cells)
        known = np.array([self._is_label(text) for text in texts], dtype=bool)
        for row, text in zip(rows[known], itertools.compress(texts, known), strict=True):
            self._check(text, int(row), integers)
        if not (known.all() or self._unlabelled):
            raise TableError(
                f"row {rows[~known][0]}, column {self._column.name!r}: the label is missing "
                "(--unlabelled predict takes such rows)"
            )
        nothing = "0" if integers else ""
        texts = [text if there else nothing for text, there in zip(texts, known, strict=True)]
        y = np.array([int(text) for text in texts] if integers else texts)
        return y, None if known.all() else known

    def _rename(self, cells: Cells) -> Cells:
        if not self._renamed:
            return cells
        texts = as_texts(cells)
        self.unmet.difference_update(texts)
        return [self._renamed.get(text, text) for text in texts]

    def _are_integers(self, cells: Cells) -> bool | None:
        """Whether labels are integers; None without any label."""
        if isinstance(cells, np.ndarray) and cells.dtype.kind in "iu":
            return True
        declared = self._column.categories
        texts = as_texts(cells if declared is None else self._rename(declared))
        known = [text for text in texts if text not in NO_LABEL]
        if declared is None and _are_measured(known):
            name = self._column.name
            raise TableError(
                f"the target {name!r} holds numbers with decimals, such as {known[0]!r}: models "
                "learn classes, not amounts (regression); name another column, or take each "
                f"number as a class: --text {quote(name)}"
            )
        return all(_INTEGER.fullmatch(text) for text in known) if known else None

    def _is_label(self, text: str) -> bool:
        declared = self._declared is not None and text in self._declared
        return declared or text not in NO_LABEL

    def _check(self, text: str, row: int, integers: bool) -> None:
        where = f"row {row}, column {self._column.name!r}"
        if self._declared is not None and text not in self._declared:
            raise TableError(f"{where}: unknown category {text!r}")
        if integers and not _INTEGER.fullmatch(text):
            raise TableError(
                f"{where}: the label {text!r} is not an integer like those before it (to take all "
                f"labels as texts: --text {quote(self._column.name)})"
            )


def _are_measured(texts: Sequence[str]) -> bool:
    """Whether all texts are numbers and most of them have decimals."""
    decimals = [text for text in texts if _DECIMAL.fullmatch(text) and not _WHOLE.fullmatch(text)]
    whole = sum(_WHOLE.fullmatch(text) is not None for text in texts)
    return len(decimals) > whole and len(decimals) + whole == len(texts)
