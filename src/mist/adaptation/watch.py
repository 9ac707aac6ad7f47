"""The search for changes in rows that a tree has learnt: a common shift, or classes that moved."""

from __future__ import annotations

from mist.adaptation.common_shift import find_shift, has_found
from mist.adaptation.moved_classes import next_moved
from mist.engine.compiled import allocating
from mist.engine.handle import parts_of

__all__ = ["MOVED", "NOTHING", "SHIFTED", "find_changes"]

NOTHING, SHIFTED, MOVED = range(3)
"""What `find_changes` has found."""


@allocating
def find_changes(handle, conformity, X, codes, weights, due, watches):
    """Learn rows for the common shift; where a look is due, say what has changed.

    Parameters
    ----------
    handle : address
        Of a `MovedClasses` and a `CommonShift`; changed in place.
    conformity : Conformity
        The scores that the tree gave to rows before it learnt them.
    X : float64 array, shape (n, d)
        Rows that had the shift subtracted, numeric columns first.
    codes : int64 array, shape (n,)
        Class codes.
    weights : float64 array, shape (n,)
        Rows of weight 0 are left out.
    due : bool
        Whether to look for changes after these rows.
    watches : bool
        Whether classes are watched for having moved.

    Returns
    -------
    int
        `SHIFTED` before the change of the shift is made, `MOVED` while there is an alarm for a
        class, or `NOTHING`.
    """
    moved, common = parts_of(handle)
    find_shift(common, X, codes, weights)
    if not due:
        return NOTHING
    if has_found(common):
        return SHIFTED
    if not watches:
        return NOTHING
    code = next_moved(moved, conformity)
    while code >= 0:
        if moved.alarm[code] == 0:
            moved.alarm[code], moved.rows[code] = 1, common.weight[code]
        code = next_moved(moved, conformity)
    for alarm in moved.alarm:
        if alarm:
            return MOVED
    return NOTHING
