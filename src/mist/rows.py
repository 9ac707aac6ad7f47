"""Validation of the rows, labels and weights that users pass, before the engine learns them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from mist.cells import cells_of, is_missing, refuse_lazy, unmasked
from mist.engine.row_loops import first_missing, survey
from mist.labels import PLAIN, check_one_kind, plain_label
from mist.limits import LARGEST, LARGEST_WEIGHT
from mist.sparse_rows import blocks_of, sparse_rows
from mist.tables import as_frame, frame_columns, numbers, plain_rows, read_cells

Array = np.ndarray[Any, Any]


class CheckedRows(NamedTuple):
    """Rows that passed all checks: labels as codes, columns in the engine's order.

    ``X`` of a large sparse matrix is a `BlockRows`; a part of the rows always is an array.
    """

    X: Array
    codes: Array
    weights: Array
    complete: bool
    """True if no value is missing; False if that is not known."""

    def part(self, rows: Any) -> CheckedRows:
        """Some of the rows."""
        return CheckedRows(self.X[rows], self.codes[rows], self.weights[rows], self.complete)


def check_rows(
    estimator: Any, X: Any, *, reset: bool, missing: bool = True, blocks: bool = False
) -> Array:
    """Rows as a writable, C-ordered float64 array without infinities.

    Parameters
    ----------
    estimator : object
        The estimator that the rows are for.
    X : array-like, sparse matrix or data frame, shape (n, d)
        Rows.
    reset : bool
        Whether the rows set the number and names of the columns.
    missing : bool
        Whether NaN is allowed as a missing value.
    blocks : bool
        Whether a large sparse matrix may be returned as a `mist.sparse_rows.BlockRows`.

    Raises
    ------
    ValueError
        If the shape or the column names do not fit, or a value is infinite, too large to be
        squared, or missing where that is not allowed; the message names the row and the column.
    """
    X, complete = survey_rows(estimator, X, reset=reset, missing=missing, blocks=blocks)
    if not (missing or complete):
        row = first_missing(X, 0)
        column = column_name(estimator, int(np.flatnonzero(np.isnan(X[row]))[0]))
        raise ValueError(
            f"Input X contains NaN at row {row}, column {column}; "
            f"{type(estimator).__name__} does not accept missing values: impute them first"
        )
    return X


def survey_rows(
    estimator: Any, X: Any, *, reset: bool, missing: bool = True, blocks: bool = False
) -> tuple[Any, bool]:
    """Like `check_rows`, but allow missing values and return whether there are none."""
    rows = sparse_rows(X) if blocks else None
    if rows is not None:
        # All rows have the same type and columns.
        _numbers(estimator, rows[:1], reset)
        return rows, check_magnitudes(estimator, rows, missing=missing)
    if reset and _is_plain(X) and X.shape[1] > 0:
        vars(estimator).pop("feature_names_in_", None)
        estimator.n_features_in_ = X.shape[1]
    elif reset or not _is_as_expected(estimator, X):
        X = _numbers(estimator, X, reset)
    if not X.flags.writeable:
        X = X.copy()
    return X, check_magnitudes(estimator, X, missing=missing)


def _numbers(estimator: Any, X: Any, reset: bool) -> Array:
    """Rows of any form as numbers, after scikit-learn's checks of names and shape."""
    frame = as_frame(X)
    if frame is not None:
        validate_data(estimator, frame, reset=reset, skip_check_array=True)
        names, columns = frame_columns(frame)
        table = numbers(columns, names, len(frame))
        return check_array(table, ensure_all_finite=False, estimator=estimator, input_name="X")
    X = plain_rows(X)
    options = {"dtype": np.float64, "order": "C", "ensure_all_finite": False}
    try:
        return validate_data(estimator, X, reset=reset, **options)
    except OverflowError:
        return validate_data(estimator, read_cells(X), reset=reset, **options)  # raises


def _is_as_expected(estimator: Any, X: Any) -> bool:
    """Whether the checks of scikit-learn, which are slow, would change or refuse nothing."""
    return (
        _is_plain(X)
        and X.shape[1] == getattr(estimator, "n_features_in_", 0)
        and not hasattr(estimator, "feature_names_in_")
    )


def _is_plain(X: Any) -> bool:
    """Whether rows are an array that the engine can use as it is, without names."""
    return (
        type(X) is np.ndarray
        and X.dtype == np.float64
        and X.ndim == 2
        and len(X) > 0
        and X.flags.c_contiguous
        and X.flags.aligned
    )


def check_magnitudes(
    estimator: Any, X: Any, names: Sequence[Any] | None = None, *, missing: bool = True
) -> bool:
    """Refuse infinities and values too large to be squared; return whether no value is missing."""
    whole = True
    for rows in blocks_of(X):
        block = X[rows]
        row, column, complete = survey(block, LARGEST)
        if row >= 0:
            value, place = float(block[row, column]), rows.start + row
            raise _too_large(estimator, value, place, column, names, missing)
        whole = whole and bool(complete)
    return whole


def _too_large(
    estimator: Any,
    value: float,
    row: int,
    column: int,
    names: Sequence[Any] | None,
    missing: bool,
) -> ValueError:
    """Error for a value that no model learns."""
    what = "infinity" if np.isinf(value) else f"{value!r}, too large to be squared,"
    name = column_name(estimator, column) if names is None else repr(names[column])
    return ValueError(
        f"Input X contains {what} at row {row}, column {name}; "
        f"replace it{', or use NaN for a missing value' * missing}. "
        "Nothing of this call was learnt."
    )


def column_name(estimator: Any, column: int) -> str:
    """Name of a column in error messages."""
    names = getattr(estimator, "_keys", getattr(estimator, "feature_names_in_", None))
    return str(column) if names is None else repr(str(names[column]))


def check_labels(X: Array | None, y: Any) -> Array:
    """Labels as a one-dimensional array of text, whole numbers or bools.

    Parameters
    ----------
    X : ndarray, shape (n, d), or None
        Rows that they belong to; None for labels without rows.
    y : array-like, shape (n,)
        Labels.

    Raises
    ------
    ValueError
        If there is not one label per row, a label is missing or of another type, or text and
        numbers are mixed.
    """
    if y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None: give a label per row"
        )
    if not (type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in PLAIN):
        y = _label_array(y)
    if X is not None and len(y) != len(X):
        raise ValueError(f"X has {len(X)} rows, but y has {len(y)} labels")
    if y.dtype.kind not in PLAIN:
        with warnings.catch_warnings():
            # Many classes in few rows are normal here.
            warnings.filterwarnings("ignore", message="The number of unique classes")
            check_classification_targets(y)
    return y


def one_label(label: Any) -> Array:
    """One label as an array of shape (1,), checked like in `check_labels`."""
    value = plain_label(label)
    if isinstance(value, float) and value != int(value):
        raise ValueError(f"Unknown label type: continuous ({value!r}); labels must be discrete")
    out = np.empty(1, dtype=object)
    out[0] = value
    return out


def check_classes(classes: Any) -> list[Any]:
    """Declared labels as a list, empty for None."""
    if classes is None:
        return []
    if np.ndim(classes) != 1:
        raise ValueError(f"classes has shape {np.shape(classes)}: give a flat list of labels")
    return list(check_labels(None, classes))


def _is_row(label: Any) -> bool:
    return isinstance(label, list | tuple) or getattr(label, "ndim", 0) > 0


def _label_array(y: Any) -> Array:
    """Labels of any form as an array of text, numbers or bools, without loss of value or type."""
    refuse_lazy(y, "y")
    if isinstance(y, Mapping):
        raise TypeError(f"y is a {type(y).__name__}: give a list or an array of labels")
    labels = y
    if not isinstance(y, list | tuple) or any(map(_is_row, y)):
        named = hasattr(y, "to_numpy") and as_frame(y) is None
        labels = column_or_1d(cells_of(y, "y") if named else np.asarray(unmasked(y)), warn=True)
        if labels.dtype.kind in PLAIN or (labels.dtype.kind == "f" and np.isfinite(labels).all()):
            return labels
    plain = [plain_label(label, row) for row, label in enumerate(labels)]
    check_one_kind(plain)
    if {int, float} <= set(map(type, plain)):
        # As numbers of one type, large whole numbers would be rounded.
        plain = [int(label) if label == int(label) else label for label in plain]
    return np.array(plain)


def check_weights(X: Array, sample_weight: Any) -> Array:
    """Weights as a float64 array, one per row, finite, from 0 to 2**31.

    Raises
    ------
    ValueError
        The message names the row and the weight that cannot be used.
    """
    n_rows = len(X)
    if sample_weight is None:
        return np.ones(n_rows)
    weights = _weight_array(sample_weight)
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {weights.ndim}D")
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected ({n_rows},)")
    bad = np.flatnonzero(~((weights >= 0) & (weights <= LARGEST_WEIGHT)))
    if bad.size:
        weight = float(weights[bad[0]])
        fault = "negative" if weight < 0 else "too large"
        what = "NaN (missing)" if weight != weight else f"{weight!r}, {fault}"
        raise ValueError(f"sample_weight of row {bad[0]} is {what}; weights range from 0 to 2**31")
    return weights


def _weight_array(sample_weight: Any) -> Array:
    """Weights of any form as float64, NaN where one is missing."""
    refuse_lazy(sample_weight, "sample_weight")
    weights = np.asarray(unmasked(sample_weight))
    if weights.dtype.kind in "biuf":
        return weights.astype(np.float64, copy=False)
    out = np.empty(weights.shape)
    for row, weight in enumerate(weights.ravel()):
        try:
            out.flat[row] = np.nan if is_missing(weight) else float(weight)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f"sample_weight of row {row} is {weight!r}, not a number from 0 to 2**31"
            ) from None
    return out


def check_binary_columns(estimator: Any, X: Any, columns: Array) -> None:
    """Refuse values other than 0, 1 and NaN in categorical columns."""
    if not len(columns):
        return
    found: dict[int, tuple[int, float]] = {}
    for rows in blocks_of(X):
        block = X[rows]
        for column in columns:
            values = block[:, column]
            bad = np.flatnonzero((values != 0) & (values != 1) & (values == values))
            if bad.size:
                found.setdefault(int(column), (rows.start + int(bad[0]), float(values[bad[0]])))
    for column in columns:
        if int(column) in found:
            row, value = found[int(column)]
            raise ValueError(
                f"categorical column {column_name(estimator, int(column))} holds "
                f"{value!r} at row {row}; categorical_features are 0/1 columns: "
                "one-hot encode it, or take it out of categorical_features"
            )


def check_indicators(indicators: Any) -> None:
    """Refuse anything but a mapping from 0/1 columns to text columns."""
    if not isinstance(indicators, Mapping):
        raise TypeError(
            "indicators must map the name of each 0/1 column to the name of its text column, got "
            f"{type(indicators).__name__}"
        )


def inside(groups: Iterable[Sequence[int]], order: Array) -> list[list[int]]:
    """Columns of the user as positions in the engine's order.

    Examples
    --------
    >>> inside([[0, 2], []], np.array([2, 0, 1]))
    [[1, 0], []]
    """
    places = np.argsort(order)
    return [places[list(group)].tolist() if len(group) else [] for group in groups]


def categorical_columns(estimator: Any, given: Any, n_features: int) -> Array:
    """Column indices of ``categorical_features``: indices, names or a boolean mask."""
    if given is None:
        return np.empty(0, dtype=np.intp)
    wanted = np.asarray(given)
    if wanted.ndim != 1:
        raise ValueError(
            f"categorical_features must be a flat list of columns or a mask, got {given!r}"
        )
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
