"""The fast path for single rows: one call of compiled code for each row.

The functions below are the same for all models. They check the row, put it in internal order and
call the loop over rows that was compiled for the model by its address. What depends on the model is
in a *call context*, which is laid out in memory like a state: the parameter ``context``.

Without Numba's internals there are neither addresses nor this path: see `learner`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from mist.engine.compiled import exact, inlined, undivided
from mist.engine.handle import Handle, parts_of
from mist.engine.numba_access import internals
from mist.engine.row_loops import NO_SHARES, predict_rows, run
from mist.limits import LARGEST, LARGEST_WEIGHT
from mist.locking import WRITER

Array = np.ndarray[Any, Any]

UNSURE = -2
"""The row needs the slow path; nothing was learnt. (-1: no class is known.)"""

_REASONS = 8
"""More than the number of reasons for which `mist.engine.row_loops.run` returns.

So no pair of reason and detail is taken for `UNSURE`, which would be reason 6.
"""

_ALIGNED = 8
"""Bytes of a float64: the compiled code assumes that values are aligned."""


_call_run: Any = internals.calling(types.UniTuple(types.int64, 3)) if internals else None
_call_predict_rows: Any = internals.calling(types.none) if internals else None


@inlined
def _take(x, order, n_numeric, row):
    """Put a row in internal order; returns whether it is valid, and whether it has no NaN.

    Valid means aligned, no value above `LARGEST` and 0/1 columns that hold 0, 1 or NaN.
    """
    good, complete = x.ctypes.data % _ALIGNED == 0 and x.strides[0] % _ALIGNED == 0, True
    if not good:
        return False, False
    for j in range(order.size):
        v = x[order[j]]
        row[0, j] = v
        good &= not abs(v) > LARGEST  # NaN is valid
        complete &= v == v
    for j in range(n_numeric, order.size):
        v = row[0, j]
        good &= v == 0.0 or v == 1.0 or v != v
    return good, complete


@exact
def take_row(x, order, n_numeric, row):
    """Put a row in internal order; returns whether it is valid and has no missing value."""
    good, complete = _take(x, order, n_numeric, row)
    return good and complete


@undivided
def learn_row(context, handle, x, code, w):
    """Learn a row if it is valid and no other thread uses the model.

    Parameters
    ----------
    context : address
        Of the call context from `learner`.
    handle : address
        Of the state.
    x : float64 array, shape (d,)
        Values in the order of the user's columns.
    code : int
        Class code of the row; the state must have capacity for it.
    w : float
        Its weight.

    Returns
    -------
    int
        `UNSURE`, or the detail that `mist.engine.row_loops.run` returned times 8, plus the reason;
        see `decode_status`.
    """
    run_at, order, n_numeric, ranks, has_nan, flags = parts_of(context)
    # Python's global lock is kept from here to the end, so no thread can enter after this test.
    busy = np.int64(0)
    for k in range(flags.size):  # a writer, and readers by lock
        busy |= flags[k]
    if busy != 0:
        return UNSURE
    row, codes, weights = np.empty((1, order.size)), np.empty(1, np.int64), np.empty(1)
    good, complete = _take(x, order, n_numeric, row)
    if not (good and (complete or has_nan) and 0.0 < w <= LARGEST_WEIGHT):
        return UNSURE
    codes[0], weights[0] = code, w
    start = np.int64(0)
    _, reason, detail = _call_run(run_at, (handle, row, codes, weights, start, ranks, None))
    return detail * _REASONS + reason


@undivided
def predict_row(context, handle, x):
    """Class code of a row, or `UNSURE`; -1 where nothing is known.

    Parameters
    ----------
    context : address
        Of the call context from `predictor`.
    handle, x
        As for `learn_row`.
    """
    predict_at, order, n_numeric, ranks, has_nan, flags, shares = parts_of(context)
    # Other readers do no harm, so only the flag of a writer counts.
    if flags[WRITER] != 0:
        return UNSURE
    row, out = np.empty((1, order.size)), np.empty(1, np.int64)
    good, complete = _take(x, order, n_numeric, row)
    if not (good and (complete or has_nan)):
        return UNSURE
    if has_nan:
        _call_predict_rows(predict_at, (handle, row, ranks, out, shares, True))
    else:
        _call_predict_rows(predict_at, (handle, row, ranks, out, shares, None))
    return out[0]


_ROW = types.Array(types.float64, 1, "A")
_PATH = tuple[Any, Handle | None]
_NO_PATH: _PATH = (None, None)


def _path(function: Any, context: Handle, *more: Any) -> _PATH:
    """The entry point of a function for a call context, and the context."""
    kind, state = context.layout.type, internals.Address(types.none)
    return internals.entry_point(function.standalone, (kind, state, _ROW, *more)), context


def learner(
    handle: Handle, order: Array, n_numeric: int, ranks: Array, has_nan: bool, flags: Array
) -> _PATH:
    """The entry point of `learn_row` for the layout of a handle, and its call context.

    Without Numba's internals both are None: then rows need the slow path.

    Parameters
    ----------
    handle : Handle
        Of the state.
    order : ndarray of int64, shape (d,)
        Internal order of the columns.
    n_numeric : int
        Number of columns that are not 0/1.
    ranks : ndarray of int64, shape (n_codes,)
        Rank of each class code in the sorted order of the labels.
    has_nan : bool
        Whether rows with missing values are accepted.
    flags : ndarray of int64
        Flags of the read-write lock, see `mist.locking.ReadWriteLock`.
    """
    if internals is None:
        return _NO_PATH
    # Only the types of the arrays matter here.
    row, codes, weights = np.empty((1, 1)), np.empty(1, np.int64), np.empty(1)
    at = handle.layout.address(run, (row, codes, weights, 0, codes, None))
    context = Handle((at, order, n_numeric, ranks, has_nan, flags))
    return _path(learn_row, context, types.int64, types.float64)


def predictor(
    handle: Handle, order: Array, n_numeric: int, ranks: Array, has_nan: bool, flags: Array
) -> _PATH:
    """The entry point of `predict_row` and its call context, as `learner`."""
    if internals is None:
        return _NO_PATH
    row, codes = np.empty((1, 1)), np.empty(1, np.int64)
    at = handle.layout.address(
        predict_rows, (row, codes, codes, NO_SHARES, True if has_nan else None)
    )
    context = Handle((at, order, n_numeric, ranks, has_nan, flags, NO_SHARES))
    return _path(predict_row, context)


def decode_status(done: int) -> tuple[int, int]:
    """Reason and detail from what `learn_row` returned; the detail may be negative."""
    return done % _REASONS, done // _REASONS
