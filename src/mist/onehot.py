"""Encoding of texts as 0/1 columns, for tables in memory and files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "HASHED",
    "MISSING",
    "NUMBER",
    "TEXT",
    "UNKNOWN",
    "buckets_of",
    "codes_of",
    "new_texts",
    "siblings_of",
    "text_of",
    "write_one_hot",
]

NUMBER, TEXT, HASHED = "number", "text", "hashed"
"""What a column of a table holds: numbers, texts with a 0/1 column each, or hashed texts."""

UNKNOWN = -1
MISSING = -2


def text_of(cell: Any) -> str:
    """A cell as a text; a whole number has no decimal point.

    Examples
    --------
    >>> text_of(3.0), text_of(2.5), text_of("a")
    ('3', '2.5', 'a')
    """
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def new_texts(texts: Iterable[str | None], codes: Mapping[str, int]) -> Sequence[tuple[int, str]]:
    """Texts that have no code yet, each with the index of its first cell; None is missing.

    Examples
    --------
    >>> new_texts(["red", None, "blue", "green", "blue"], {"red": 0})
    [(2, 'blue'), (3, 'green')]
    """
    texts = list(texts)
    new = set(texts) - {None} - codes.keys()
    if not new:
        return ()
    first = {text: place for place, text in zip(range(len(texts))[::-1], texts[::-1], strict=True)}
    return sorted((first[text], text) for text in new if text is not None)


def codes_of(texts: Sequence[str | None], codes: Mapping[str, int]) -> NDArray[np.intp]:
    """Codes of texts: `MISSING` for None, `UNKNOWN` for a text without a code.

    Examples
    --------
    >>> codes_of(["blue", None, "pink"], {"red": 0, "blue": 1})
    array([ 1, -2, -1])
    """
    given = (MISSING if text is None else codes.get(text, UNKNOWN) for text in texts)
    return np.fromiter(given, np.intp, len(texts))


def buckets_of(texts: Iterable[str | None], n_buckets: int) -> dict[str, int]:
    """Bucket of each text, the same in every process and on every machine.

    Examples
    --------
    >>> buckets_of(["alpha", "beta", None], 8)
    {'alpha': 3, 'beta': 3}
    """
    return {
        text: int.from_bytes(
            hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little"
        )
        % n_buckets
        for text in dict.fromkeys(texts)
        if text is not None
    }


def write_one_hot(
    codes: NDArray[np.intp], places: Sequence[int] | NDArray[np.intp], out: NDArray[np.float64]
) -> None:
    """Write 1 in the column of a row's code and 0 in the others; NaN in all if it is missing.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        As from `codes_of`.
    places : array-like of int
        Column of ``out`` for each code.
    out : ndarray, shape (n, d)
        Output; the columns in ``places`` are written.

    Examples
    --------
    >>> out = np.zeros((3, 3))
    >>> write_one_hot(np.array([1, MISSING, UNKNOWN]), [0, 2], out)
    >>> out
    array([[ 0.,  0.,  1.],
           [nan,  0., nan],
           [ 0.,  0.,  0.]])
    """
    places = np.asarray(places, dtype=np.intp)
    out[:, places] = 0.0
    known = np.flatnonzero(codes >= 0)
    out[known, places[codes[known]]] = 1.0
    out[np.ix_(codes == MISSING, places)] = np.nan


def siblings_of(
    names: Sequence[Any], indicators: Mapping[Any, Any], n_known: int
) -> dict[int, list[int]]:
    """New 0/1 columns, each with the known ones of the same text column, the oldest first.

    Parameters
    ----------
    names : sequence
        Names of all columns, the new ones last.
    indicators : mapping
        The text column of each 0/1 column, by name.
    n_known : int
        Number of columns that are not new.

    Returns
    -------
    dict of int to list of int
        Indices in ``names``.

    Examples
    --------
    >>> indicators = {"hue=red": "hue", "hue=blue": "hue"}
    >>> siblings_of(["hue=red", "size", "hue=blue", "age"], indicators, 2)
    {2: [0]}
    """
    known: dict[Any, list[int]] = {}
    for j, name in enumerate(names[:n_known]):
        if name in indicators:
            known.setdefault(indicators[name], []).append(j)
    return {
        j: known.get(indicators[name], [])
        for j, name in enumerate(names[n_known:], n_known)
        if name in indicators
    }
