"""Rows that become dense arrays block by block, such as those of a sparse matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from mist.cells import NUMBER_KINDS

Array = np.ndarray[Any, Any]

__all__ = [
    "BlockRows",
    "NamedBlocks",
    "SparseColumns",
    "any_block",
    "blocks_of",
    "chosen",
    "in_blocks",
    "sparse_rows",
]

_BLOCK_BYTES = 2**23
"""Most bytes of the rows that are dense at a time: 8 MiB; one row may take more."""


class BlockRows:
    """Rows of which only those that are indexed become an array.

    Parameters
    ----------
    shape : tuple of int
        Rows n and columns d.
    read : callable
        Makes a C-ordered array of some rows, given as a slice or an array of indices.
    width : int or None
        Most columns that are dense while rows are read; None for d.

    Examples
    --------
    >>> rows = BlockRows((3, 2), np.arange(6.0).reshape(3, 2).__getitem__)
    >>> len(rows), rows[1:3].tolist()
    (3, [[2.0, 3.0], [4.0, 5.0]])
    """

    def __init__(
        self, shape: tuple[int, int], read: Callable[[Any], Array], width: int | None = None
    ) -> None:
        self.shape = shape
        self._read = read
        self._width = shape[1] if width is None else max(width, shape[1])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Array:
        return self._read(rows)

    def blocks(self) -> Iterator[slice]:
        """Yield the rows of each block, from the first to the last."""
        n, size = len(self), rows_in_block(self._width)
        for start in range(0, n, size):
            yield slice(start, min(n, start + size))

    def chosen(self, rows: Array) -> BlockRows:
        """The rows where a mask is true."""
        places, read = np.flatnonzero(rows), self._read
        shape = len(places), self.shape[1]
        return BlockRows(shape, lambda some: read(places[some]), self._width)

    def in_order(self, columns: Array) -> BlockRows:
        """All rows with some columns, in the order of their positions; -1 is a missing value."""
        read, absent = self._read, np.flatnonzero(np.asarray(columns) < 0)

        def arranged(rows: Any) -> Array:
            out = np.ascontiguousarray(read(rows)[:, columns])
            out[:, absent] = np.nan
            return out

        return BlockRows((len(self), len(columns)), arranged, self._width)


class NamedBlocks:
    """Rows in blocks whose columns have names.

    Parameters
    ----------
    names : sequence of str
        Names of the columns.
    rows : BlockRows, shape (n, d)
        The rows.
    """

    def __init__(self, names: Sequence[Any], rows: BlockRows) -> None:
        self.places = {name: place for place, name in enumerate(names)}
        self._rows = rows

    def arranged(self, names: Sequence[Any]) -> BlockRows:
        """Return the named columns; those that are absent are missing."""
        return self._rows.in_order(np.array([self.places.get(name, -1) for name in names], int))


class SparseColumns(Mapping[Any, Array]):
    """Columns of a sparse matrix by name; only the one that is read becomes an array.

    Parameters
    ----------
    X : sparse matrix, shape (n, d)
        The matrix.
    names : sequence
        Names of its columns.

    Examples
    --------
    >>> columns = SparseColumns(sparse.csr_array([[0, 2], [3, 0]]), ["a", "b"])
    >>> columns["b"]
    array([2, 0])
    """

    def __init__(self, X: Any, names: Sequence[Any]) -> None:
        self._by_column = _by_row(X).tocsc()
        self._places = {name: place for place, name in enumerate(names)}

    def __getitem__(self, name: Any) -> Array:
        place = self._places[name]
        return np.ravel(self._by_column[:, [place]].toarray())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def rows_in_block(n_columns: int) -> int:
    """Return the number of rows of a block.

    Examples
    --------
    >>> rows_in_block(1024), rows_in_block(10**8)
    (1024, 1)
    """
    return max(1, _BLOCK_BYTES // (8 * max(1, n_columns)))


def sparse_rows(X: Any, *, convert: bool = True) -> BlockRows | None:
    """Return the rows of a sparse matrix that is larger than a block.

    Parameters
    ----------
    X : object
        What the caller gave as rows.
    convert : bool, default=True
        Whether values become float64; otherwise they keep their type.

    Returns
    -------
    BlockRows or None
        Equal to the dense array in every bit. None for anything else, and for a matrix of one
        block, which becomes dense as it is.

    Examples
    --------
    >>> rows = sparse_rows(sparse.csr_array((10**6, 50)))
    >>> rows.shape, [block.stop for block in rows.blocks()][:2]
    ((1000000, 50), [20971, 41942])
    >>> sparse_rows(sparse.csr_array((10, 50))) is None
    True
    """
    if not (sparse.issparse(X) and X.ndim == 2 and X.dtype.kind in NUMBER_KINDS):
        return None
    if X.shape[0] <= rows_in_block(X.shape[1]):
        return None
    by_row, dtype = _by_row(X), np.float64 if convert else X.dtype

    def read(rows: Any) -> Array:
        return np.ascontiguousarray(by_row[rows].toarray(), dtype=dtype)

    return BlockRows(X.shape, read)


def _by_row(X: Any) -> Any:
    """A sparse matrix by rows; values of the same cell stay apart, in their order."""
    if X.format != "coo":
        return X.tocsr()
    # Its own method would add them up in another order, which changes the last bits.
    order = np.argsort(X.row, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(X.row, minlength=X.shape[0]))])
    return sparse.csr_array((X.data[order], X.col[order], ends), shape=X.shape)


def blocks_of(X: Any) -> Iterator[slice]:
    """Yield the rows of each block; an array is one block.

    Parameters
    ----------
    X : ndarray or BlockRows, shape (n, d)
        Rows.

    Examples
    --------
    >>> list(blocks_of(np.zeros((5, 2))))
    [slice(0, 5, None)]
    """
    return X.blocks() if isinstance(X, BlockRows) else iter([slice(0, len(X))])


def in_blocks(X: Any, result: Callable[[Array], Array]) -> Array:
    """Return the results for all rows.

    Parameters
    ----------
    X : ndarray or BlockRows, shape (n, d)
        Rows.
    result : callable
        Returns one result per row of an array.

    Examples
    --------
    >>> in_blocks(np.ones((2, 3)), lambda rows: rows.sum(axis=1))
    array([3., 3.])
    """
    if not isinstance(X, BlockRows):
        return result(X)
    return np.concatenate([result(X[rows]) for rows in X.blocks()])


def any_block(X: Any, holds: Callable[[Array], bool]) -> bool:
    """Whether something holds for a block of the rows.

    Examples
    --------
    >>> any_block(np.ones((2, 3)), lambda rows: bool((rows > 1).any()))
    False
    """
    return any(holds(X[rows]) for rows in blocks_of(X))


def chosen(X: Any, rows: Array) -> Any:
    """The rows where a mask is true, of an array or of rows in blocks.

    Examples
    --------
    >>> chosen(np.array([[1.0], [2.0]]), np.array([False, True]))
    array([[2.]])
    """
    return X.chosen(rows) if isinstance(X, BlockRows) else X[rows]
