"""Rows: from what users pass to what the engine learns, refused whole where it is bad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from mist.engine.stream import first_too_large

Array = np.ndarray[Any, Any]

LARGEST = 1e150
"""Larger magnitudes cannot be squared in double precision."""

_LARGEST_WEIGHT = 2.0**31


def check_rows(estimator: Any, X: Any, *, reset: bool) -> Array:
    """Rows as a writable, C-ordered float64 array without infinities.

    Raises
    ------
    ValueError
        If the shape or the column names do not fit, or a value is infinite or too large
        to be squared; the message names the row and the column.
    """
    X = validate_data(
        estimator,
        X,
        reset=reset,
        dtype=np.float64,
        order="C",
        ensure_all_finite=False,
        accept_large_sparse=False,
    )
    if not X.flags.writeable:
        X = X.copy()
    check_magnitudes(estimator, X)
    return X


def check_magnitudes(estimator: Any, X: Array, names: Sequence[Any] | None = None) -> None:
    """Refuse infinities, and values too large to be squared, by row and column."""
    row, column = first_too_large(X, LARGEST)
    if row < 0:
        return
    value = X[row, column]
    what = "infinity" if np.isinf(value) else f"{value!r}, too large to be squared,"
    name = column_name(estimator, column) if names is None else repr(names[column])
    raise ValueError(
        f"Input X contains {what} at row {row}, column {name}; "
        "replace it, or use NaN for a missing value. Nothing of this call was learnt."
    )


def column_name(estimator: Any, column: int) -> str:
    """A column as error messages name it."""
    names = getattr(estimator, "feature_names_in_", None)
    return str(column) if names is None else repr(str(names[column]))


def check_labels(X: Array, y: Any) -> Array:
    """Labels as a one-dimensional array of discrete values, one a row."""
    if y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None: give one label a row"
        )
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    check_classification_targets(y)
    return y


def check_weights(X: Array, sample_weight: Any) -> Array:
    """Weights as a float64 array, one a row, finite, from 0 to 2**31."""
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if weights.size and weights.max() > _LARGEST_WEIGHT:
        row = int(weights.argmax())
        raise ValueError(
            f"sample_weight of row {row} is {weights[row]!r}, more than 2**31; scale the weights"
        )
    return weights


def check_binary_columns(estimator: Any, X: Array, columns: Array) -> None:
    """Refuse values other than 0, 1 and NaN in categorical columns."""
    for column in columns:
        values = X[:, column]
        bad = np.flatnonzero((values != 0) & (values != 1) & (values == values))
        if bad.size:
            row = int(bad[0])
            raise ValueError(
                f"categorical column {column_name(estimator, int(column))} holds "
                f"{values[row]!r} at row {row}; categorical_features are 0/1 columns: "
                "one-hot encode it, or take it out of categorical_features"
            )


def categorical_columns(estimator: Any, given: Any, n_features: int) -> Array:
    """Column indices of ``categorical_features``: indices, names or a boolean mask."""
    if given is None:
        return np.empty(0, dtype=np.intp)
    wanted = np.asarray(given)
    if wanted.size == 0:
        return np.empty(0, dtype=np.intp)
    if wanted.dtype.kind == "b":
        if wanted.shape != (n_features,):
            raise ValueError(
                f"categorical_features is a mask of shape {wanted.shape}, "
                f"X has {n_features} columns"
            )
        return np.flatnonzero(wanted)
    if wanted.dtype.kind in "UO":
        names = [str(name) for name in getattr(estimator, "feature_names_in_", ())]
        absent = [str(name) for name in wanted if str(name) not in names]
        if absent:
            raise ValueError(
                f"categorical_features names {absent}, which X does not have; its columns: {names}"
            )
        return np.array(sorted({names.index(str(name)) for name in wanted}), dtype=np.intp)
    if wanted.dtype.kind not in "iu" or wanted.min() < -n_features or wanted.max() >= n_features:
        raise ValueError(
            f"categorical_features must be column indices below {n_features}, names or a mask, "
            f"got {given!r}"
        )
    return np.unique(wanted % n_features).astype(np.intp)
