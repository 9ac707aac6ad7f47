"""`StreamEncoder`: encodes tables of texts and numbers as numbers, batch by batch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_array,
    check_is_fitted,
    validate_data,
)

from mist.cells import as_numbers, encodable_cells, is_category, is_missing, is_number
from mist.estimator import Saveable, take_over, without_trace
from mist.limits import LARGEST
from mist.onehot import (
    HASHED,
    NUMBER,
    TEXT,
    buckets_of,
    codes_of,
    new_texts,
    text_of,
    write_one_hot,
)
from mist.sparse_rows import BlockRows, SparseColumns, sparse_rows
from mist.tables import Array, as_frame, dense, frame_columns, named_columns

__all__ = ["StreamEncoder"]

_LEARNT = (
    "_columns",
    "_kinds",
    "_codes",
    "_places",
    "_owners",
    "_suffixes",
    "_moments",
    "n_features_in_",
    "feature_names_in_",
)


class StreamEncoder(TransformerMixin, Saveable, BaseEstimator):
    """Encodes tables of texts and numbers as numbers, and learns new categories at any time.

    A text column becomes one 0/1 column per category, called ``"column=text"``. A new category
    adds a column after all others. Numbers are not changed. A missing text is NaN in all of its
    0/1 columns, and a text that was never learnt is 0 in all of them.

    Parameters
    ----------
    categorical_features : array-like or None, default=None
        Numeric columns to encode as texts, by name, or by number if the columns have no names.
        Columns of texts and of categories are detected without it.
    categories : dict or None, default=None
        Texts known in advance, by column: their 0/1 columns exist from the first row on.
    hashing : dict or None, default=None
        Number of 0/1 columns, by column, for columns with many texts. The hash of a text, the
        same in every process, selects one of them, called for example ``"column#3"``.
    max_categories : int, default=1000
        A column with more different texts is refused: it is an identifier or free text.
    standardise : bool, default=False
        Whether the running mean of a numeric column is subtracted and the result is divided by
        its running standard deviation. Trees need no scaling; linear models do.

    Attributes
    ----------
    n_features_in_ : int
        Number of learnt columns.
    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        Their names; only if they have names.
    categorical_features_ : list of str
        Names of the 0/1 columns, in their order.

    Notes
    -----
    The first value of a column decides its kind. A column with only missing cells so far has no
    output columns. Memory grows with the number of categories, not of rows.

    `fit`, `partial_fit` and `transform` require the same columns in the same order at each call,
    like scikit-learn. For `learn_many` and `transform_many`, columns have names and may be new,
    absent (then their values are missing) or in another order.

    Examples
    --------
    >>> encoder = StreamEncoder()
    >>> encoder = encoder.learn_many({"size": [1.0, 2.5], "coat": ["short", "long"]})
    >>> encoder = encoder.learn_many({"coat": ["curly", None]})
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'coat=short', 'coat=long', 'coat=curly']
    >>> encoder.transform_many({"coat": ["long", None], "size": [3.0, None]})
    array([[ 3.,  0.,  1.,  0.],
           [nan, nan, nan, nan]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "categorical_features": ["array-like", None],
        "categories": [dict, None],
        "hashing": [dict, None],
        "max_categories": [Interval(Integral, 1, None, closed="left")],
        "standardise": ["boolean"],
    }
    # A refused call restores the old attributes, so the values below are replaced and never
    # changed in place.
    _columns: list[Any]  # input columns, in order of appearance
    _kinds: dict[Any, str]  # kinds of the columns that had a value
    _codes: dict[Any, dict[str, int]]  # codes of texts, by column
    _places: dict[Any, list[int]]  # output columns of each column: one, or one per code
    _owners: list[Any]  # the input column of each output column
    _suffixes: list[str]  # what follows its name in the output
    _moments: dict[Any, list[float]]  # count, mean and squared deviations of numeric columns

    def __init__(
        self,
        categorical_features: Any = None,
        *,
        categories: dict[Any, Iterable[Any]] | None = None,
        hashing: dict[Any, int] | None = None,
        max_categories: int = 1000,
        standardise: bool = False,
    ) -> None:
        self.categorical_features = categorical_features
        self.categories = categories
        self.hashing = hashing
        self.max_categories = max_categories
        self.standardise = standardise

    # --- learning ---------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Forget everything, then learn the columns and their categories.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, d)
            Numbers and texts; None, NaN and the missing values of libraries are missing.
        y : object
            Ignored.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For unknown options, infinite values, texts in a column of numbers, and more
            categories than ``max_categories``; the message names column and row.
        """
        fresh = type(self)(**self.get_params(deep=False)).partial_fit(X)
        self._lock.write(lambda: take_over(self, fresh, _LEARNT))
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn the columns and categories of more rows; new categories are allowed.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, d)
            The columns of the first call, in the same order.
        y : object
            Ignored.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As for `fit`; then nothing of the call is learnt.
        """
        self._lock.write(lambda: self._learn_rows(X))
        return self

    def _learn_rows(self, X: Any) -> None:
        with without_trace(self):
            self._start()
            table = self._table(X, reset=not self._columns, by_column=True)
            for option, columns in self._named_by_options().items():
                absent = [column for column in columns if column not in table]
                if absent:
                    raise ValueError(
                        f"{option} names {absent}, which X does not have; its columns: "
                        f"{list(table)}"
                    )
            self._columns = list(table)
            self._learn(table)

    def learn_many(self, X: Any) -> Self:
        """Learn rows by column name: columns may be new, absent and in any order.

        Parameters
        ----------
        X : data frame or mapping, n rows
            A pandas or polars data frame, a pyarrow table, or a mapping of names to columns.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If the columns have no names.
        ValueError
            As for `fit`; then nothing of the call is learnt.
        """
        self._lock.write(lambda: self._learn_named(X))
        return self

    def _learn_named(self, X: Any) -> None:
        with without_trace(self):
            self._start()
            table = named_columns(X, "learning")
            self._check_names(table)
            names = list(dict.fromkeys([*self._columns, *table]))
            self._columns = names
            self.n_features_in_ = len(names)
            if all(isinstance(name, str) for name in names):
                self.feature_names_in_ = np.array(names, dtype=object)
            else:
                self.__dict__.pop("feature_names_in_", None)
            self._learn(table)

    def learn_one(self, x: Mapping[Any, Any]) -> Self:
        """Learn one row with values by column name.

        Parameters
        ----------
        x : mapping
            Values by column name.

        Returns
        -------
        self
        """
        return self.learn_many({name: [value] for name, value in x.items()})

    def _start(self) -> None:
        """Check the options; initialise the state at the first call."""
        self._validate_params()
        for column, n_buckets in (self.hashing or {}).items():
            if not isinstance(n_buckets, Integral) or isinstance(n_buckets, bool) or n_buckets < 1:
                raise ValueError(
                    f"hashing of column {column!r} is {n_buckets!r}: give a number of at least 1"
                )
            if column in (self.categories or {}):
                raise ValueError(
                    f"column {column!r} is in both hashing and categories: remove it from one"
                )
        if not hasattr(self, "_columns"):
            self._columns, self._owners, self._suffixes = [], [], []
            self._kinds, self._codes, self._places, self._moments = {}, {}, {}, {}

    def _check_names(self, table: Mapping[Any, Any]) -> None:
        """Refuse new names if columns were learnt by position."""
        if self._columns and self._columns == list(range(len(self._columns))):
            new = [name for name in table if name not in self._columns]
            if new:
                raise ValueError(
                    f"X names the column {new[0]!r}, but this encoder learnt columns without "
                    "names; pass arrays"
                )

    def _named_by_options(self) -> dict[str, list[Any]]:
        """Columns that the options name."""
        wanted = self.categorical_features
        return {
            "categorical_features": [] if wanted is None else np.asarray(wanted).tolist(),
            "categories": list(self.categories or ()),
            "hashing": list(self.hashing or ()),
        }

    def _table(self, X: Any, *, reset: bool, by_column: bool = False) -> Mapping[Any, Any]:
        """Columns of X by name or number, after the checks of scikit-learn.

        With ``by_column``, a large sparse matrix becomes dense one column at a time.
        """
        frame = as_frame(X)
        rows = sparse_rows(X, convert=False) if by_column else None
        if rows is not None:
            validate_data(self, rows[:1], reset=reset, dtype=None, ensure_all_finite=False)
            return SparseColumns(X, getattr(self, "feature_names_in_", range(rows.shape[1])))
        if frame is None:
            X = dense(X)
            # NumPy would convert all values of a list with a text to texts.
            dtype = None if hasattr(X, "__array__") else object
            X = validate_data(self, X, reset=reset, dtype=dtype, ensure_all_finite=False)
            columns = [X[:, j] for j in range(X.shape[1])]
        else:
            validate_data(self, frame, reset=reset, skip_check_array=True)
            columns = frame_columns(frame)[1]
            if not (columns and len(frame)):
                check_array(np.empty((len(frame), len(columns))), estimator=self)  # raises
        names = getattr(self, "feature_names_in_", range(len(columns)))
        return dict(zip(names, columns, strict=True))

    def _learn(self, table: Mapping[Any, Any]) -> None:
        for column, given in table.items():
            cells = encodable_cells(given, column)
            kind = self._kinds.get(column) or self._kind_of(column, given, cells)
            if kind is None:
                continue
            known = column in self._kinds
            self._kinds = self._kinds if known else {**self._kinds, column: kind}
            if kind == NUMBER:
                values = self._numbers(column, cells)
                if not known:
                    self._add(column, [""])
                if self.standardise:
                    self._moments = {**self._moments, column: self._moved(column, values)}
            elif kind == TEXT:
                self._learn_texts(column, _texts(cells))
            elif not known:
                n_buckets = (self.hashing or {})[column]
                self._add(column, [f"#{bucket}" for bucket in range(n_buckets)])

    def _kind_of(self, column: Any, given: Any, cells: Array) -> str | None:
        """Kind of a column that had no value before; None if it has no value here either."""
        if column in (self.hashing or {}):
            return HASHED
        options = self._named_by_options()
        if column in options["categories"]:
            return TEXT
        if cells.dtype.kind == "f" and np.isnan(cells).all():
            return None
        if cells.dtype.kind in "OUS":
            values = [cell for cell in cells.tolist() if not is_missing(cell)]
            if not values:
                return None
            if not all(map(is_number, values)):
                return TEXT
        if column in options["categorical_features"] or is_category(given):
            return TEXT
        return NUMBER

    def _learn_texts(self, column: Any, texts: list[str | None]) -> None:
        """Add output columns for new texts, those known in advance first."""
        codes = self._codes.get(column)
        if codes is None:
            declared = _texts(encodable_cells((self.categories or {}).get(column, []), column))
            codes = {text: i for i, (_, text) in enumerate(new_texts(declared, {}))}
            self._codes = {**self._codes, column: codes}
            self._add(column, [f"={text}" for text in codes])
        new = new_texts(texts, codes)
        if not new:
            return
        if len(codes) + len(new) > self.max_categories:
            row = new[max(0, self.max_categories - len(codes))][0]
            raise ValueError(
                f"column {column!r} has more than {self.max_categories} different texts at row "
                f"{row}; leave it out, raise max_categories or hash it: "
                f"hashing={{{column!r}: 64}}"
            )
        codes = {**codes, **{text: len(codes) + i for i, (_, text) in enumerate(new)}}
        self._codes = {**self._codes, column: codes}
        self._add(column, [f"={text}" for _, text in new])

    def _add(self, column: Any, suffixes: list[str]) -> None:
        """Add output columns, after all others."""
        taken = set(self._names())
        for suffix in suffixes:
            if name_of(column) + suffix in taken:
                raise ValueError(
                    f"column {column!r} would add a second column {name_of(column) + suffix!r}; "
                    "rename one of the columns"
                )
        start = len(self._owners)
        places = [*self._places.get(column, ()), *range(start, start + len(suffixes))]
        self._places = {**self._places, column: places}
        self._owners = [*self._owners, *[column] * len(suffixes)]
        self._suffixes = [*self._suffixes, *suffixes]

    def _numbers(self, column: Any, cells: Array) -> Array:
        """Cells of a numeric column as numbers within the limits."""
        for row, cell in enumerate(cells.tolist() if cells.dtype.kind in "OUS" else ()):
            if isinstance(cell, str | bytes):
                raise ValueError(
                    f"column {column!r} held numbers so far but holds the text {cell!r} at row "
                    f"{row}; name it in categorical_features to encode all of its cells as texts"
                )
        values = as_numbers(cells, column)
        outside = np.flatnonzero(np.abs(values) > LARGEST)
        if outside.size:
            value = float(values[outside[0]])
            what = "infinity" if np.isinf(value) else f"{value!r}, too large to be squared,"
            raise ValueError(
                f"Input X contains {what} at row {outside[0]}, column {column!r}; replace it, or "
                "use NaN for a missing value"
            )
        return values

    def _moved(self, column: Any, values: Array) -> list[float]:
        """Count, mean and squared deviations after more values, one by one (Welford)."""
        n, mean, squares = self._moments.get(column, (0.0, 0.0, 0.0))
        for value in values[~np.isnan(values)].tolist():
            n += 1.0
            away = value - mean
            mean += away / n
            squares += away * (value - mean)
        return [n, mean, squares]

    # --- answering --------------------------------------------------------------------------

    def transform(self, X: Any) -> Array:
        """Encode rows as numbers.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, d)
            The columns that were learnt, in the same order.

        Returns
        -------
        ndarray of float64, shape (n, n_features_out)
            The columns named by `get_feature_names_out`.

        Raises
        ------
        NotFittedError
            If nothing was learnt yet.
        ValueError
            As for `fit`.
        """
        return self._rows(X)

    def _rows(self, X: Any) -> Array:
        """The result of `transform` before scikit-learn may convert it to a data frame."""
        check_is_fitted(self)
        return self._lock.read(lambda: self._encoded(self._table(X, reset=False)))

    def _block_rows(self, X: Any) -> Any:
        """Like `_rows`; rows of a large sparse matrix are checked, and encoded as they are read."""
        rows = sparse_rows(X, convert=False)
        if rows is None:
            return self._rows(X)
        check_is_fitted(self)
        table = self._lock.read(lambda: self._table(X, reset=False, by_column=True))
        for column, kind in self._kinds.items():
            cells = encodable_cells(table[column], column) if column in table else None
            if kind == NUMBER and cells is not None:
                self._numbers(column, cells)
        shape = len(rows), len(self._owners)
        return BlockRows(shape, lambda some: self._rows(rows[some]), rows.shape[1])

    def transform_many(self, X: Any) -> Array:
        """Encode rows as numbers, with columns by name.

        Parameters
        ----------
        X : data frame or mapping, n rows
            As for `learn_many`; absent columns are missing, unknown names are ignored.

        Returns
        -------
        ndarray of float64, shape (n, n_features_out)
            The columns named by `get_feature_names_out`.

        Raises
        ------
        NotFittedError
            If nothing was learnt yet.
        TypeError
            If the columns have no names.
        ValueError
            As for `fit`, and for new names if the learnt columns had none.
        """
        check_is_fitted(self)
        table = named_columns(X, "encoding")

        def encode() -> Array:
            self._check_names(table)
            return self._encoded(table)

        return self._lock.read(encode)

    def transform_one(self, x: Mapping[Any, Any]) -> dict[str, float]:
        """Encode one row, with values by column name, as numbers.

        Parameters
        ----------
        x : mapping
            Values by column name.

        Returns
        -------
        dict
            A number for every name of `get_feature_names_out`, NaN where it is missing.

        Examples
        --------
        >>> encoder = StreamEncoder().learn_one({"size": 2, "coat": "long"})
        >>> encoder.transform_one({"size": 3, "coat": "long"})
        {'size': 3.0, 'coat=long': 1.0}
        """
        return self._lock.read(lambda: self._row_of(x))

    def _row_of(self, x: Mapping[Any, Any]) -> dict[str, float]:
        row = self.transform_many({name: [value] for name, value in x.items()})[0]
        return dict(zip(self._names(), row.tolist(), strict=True))

    def _encoded(self, table: Mapping[Any, Any]) -> Array:
        out = np.full((len(next(iter(table.values()))), len(self._owners)), np.nan)
        for column, kind in self._kinds.items():
            if column not in table:
                continue
            cells, places = encodable_cells(table[column], column), self._places[column]
            if kind == NUMBER:
                out[:, places[0]] = self._scaled(column, self._numbers(column, cells))
                continue
            texts = _texts(cells)
            codes = self._codes[column] if kind == TEXT else buckets_of(texts, len(places))
            write_one_hot(codes_of(texts, codes), places, out)
        return out

    def _scaled(self, column: Any, values: Array) -> Array:
        n, mean, squares = self._moments.get(column, (0.0, 0.0, 0.0))
        if not self.standardise or n == 0.0:
            return values
        return (values - mean) / (math.sqrt(squares / n) or 1.0)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the output columns.

        Parameters
        ----------
        input_features : array-like of str or None
            Names for columns without names; otherwise the learnt names.

        Returns
        -------
        ndarray of str, shape (n_features_out,)
            ``"column"`` for numbers, ``"column=text"`` and ``"column#3"`` for 0/1 columns.
        """
        check_is_fitted(self)
        if input_features is None:
            return np.array(self._names(), dtype=object)
        labels = dict(
            zip(self._columns, _check_feature_names_in(self, input_features), strict=True)
        )
        names = [
            f"{labels[owner]}{suffix}"
            for owner, suffix in zip(self._owners, self._suffixes, strict=True)
        ]
        return np.array(names, dtype=object)

    @property
    def categorical_features_(self) -> list[str]:
        """Names of the 0/1 columns, in their order."""
        check_is_fitted(self)
        return [name for name, suffix in zip(self._names(), self._suffixes, strict=True) if suffix]

    def _indicators(self) -> dict[str, str]:
        """The text column of each 0/1 column, by their names in the output."""
        named = zip(self._names(), self._owners, self._suffixes, strict=True)
        return {name: name_of(owner) for name, owner, suffix in named if suffix}

    def _names(self) -> list[str]:
        """Names of the output columns."""
        return [name_of(o) + s for o, s in zip(self._owners, self._suffixes, strict=True)]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_columns")

    def _check_loaded(self) -> None:
        from mist.persistence.encoders import check_encoder

        check_encoder(self)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        return tags


def name_of(column: Any) -> str:
    """Output name of a column; one without a name is called as in scikit-learn."""
    return column if isinstance(column, str) else f"x{column}"


def _texts(cells: Array) -> list[str | None]:
    """Texts of cells, None where one is missing; 3 and 3.0 are the same text."""
    return [None if is_missing(cell) else text_of(cell) for cell in cells.tolist()]
