"""`ServedModel`: models of several kinds, with rows as mappings of column names to cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mist.adaptation.changes import Change
from mist.cells import is_missing, is_number
from mist.classifier import MistClassifier
from mist.forest import MistForest
from mist.onehot import NUMBER, TEXT, text_of
from mist.preprocessing import StreamEncoder, StreamPipeline
from mist.serving.limits import Limits, Refused

__all__ = ["Prediction", "ServedModel", "pipeline_of"]

Row = Mapping[str, Any]

NOVEL = 0.01
"""Rows whose p-value of belonging to a known class is at most this are novel."""


class Prediction(NamedTuple):
    """The prediction for one row.

    Attributes
    ----------
    label : object or None
        The label; None if the model has learnt nothing yet.
    shares : dict
        Probability of each class.
    """

    label: Any
    shares: dict[Any, float]


def pipeline_of(model: Any, encoding: Mapping[str, Any], name: str) -> StreamPipeline:
    """Make a pipeline of a model that `mist run` has trained on a table.

    Parameters
    ----------
    model : MistClassifier or MistForest
        The fitted model, with names of its columns.
    encoding : mapping
        How the table was encoded, see `mist.io.applying.is_encoding`.
    name : str
        Name of the file, for messages.

    Returns
    -------
    StreamPipeline
        It predicts and learns as the model does; it learns new texts and columns, too.

    Raises
    ------
    ValueError
        If the encoding is one that a pipeline does not have.
    """
    texts = encoding["texts"]
    pairs = list(texts.items()) if isinstance(texts, Mapping) else [tuple(each) for each in texts]
    by_column = {column: codes for column, codes in pairs if codes}
    columns = encoding.get("columns") or [column for column, _ in pairs]
    special = encoding.get("hashed") or encoding.get("formats")
    encoder = StreamEncoder(categories=by_column or None)
    encoder.learn_many({c: [by_column[c][0] if c in by_column else 0.0] for c in columns})
    learnt = [str(each) for each in getattr(model, "feature_names_in_", ())]
    if special or encoder.get_feature_names_out().tolist() != learnt:
        raise ValueError(
            f"{name} was trained on a table with hashed texts, dates, decimal commas or texts that "
            "came late, which a server does not read: train a StreamPipeline, or start an empty "
            "one with --new"
        )
    made = StreamPipeline(encoder=None, model=None)
    made.encoder_, made.model_ = encoder, model
    return made


class ServedModel:
    """A model whose rows are mappings, checked before they are learnt.

    Parameters
    ----------
    model : StreamPipeline, MistClassifier or MistForest
        The model, fitted or not. The columns of a model that learnt arrays are called ``"0"``,
        ``"1"``, ... and stay the same.
    limits : Limits
        Most columns and classes.

    Raises
    ------
    TypeError
        If it is another kind of model.

    Examples
    --------
    >>> served = ServedModel(StreamPipeline(model=MistClassifier.paper()), Limits())
    >>> served.learn([{"size": 1.0, "hue": "red"}, {"size": 9.0}], ["a", "b"])
    >>> served.predict([{"size": 8.5}])[0].label, served.columns(), served.rows
    ('b', ['size', 'hue'], 2)
    """

    def __init__(self, model: Any, limits: Limits) -> None:
        if not isinstance(model, StreamPipeline | MistClassifier | MistForest):
            raise TypeError(
                f"mist serve needs a StreamPipeline, MistClassifier or MistForest, and got a "
                f"{type(model).__name__}"
            )
        self.model = model
        self._limits = limits
        self._piped = isinstance(model, StreamPipeline)

    @property
    def tree(self) -> Any:
        """The classifier: the model, or that of the pipeline."""
        if not self._piped:
            return self.model
        return getattr(self.model, "model_", None) or self.model._model()

    @property
    def fitted(self) -> bool:
        """Whether anything was learnt."""
        return bool(self.model.__sklearn_is_fitted__())

    @property
    def rows(self) -> int:
        """Rows that were learnt."""
        return int(getattr(self.tree, "n_rows_", 0)) if self.fitted else 0

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays of the classifier."""
        return int(getattr(self.tree, "nbytes", 0)) if self.fitted else 0

    def classes(self) -> list[Any]:
        """Labels that were learnt."""
        return self.model.classes_.tolist() if self.fitted else []

    def columns(self) -> list[str]:
        """Names of the columns of rows."""
        if self._piped:
            encoder = getattr(self.model, "encoder_", None)
            return [] if encoder is None else [str(name) for name in encoder._columns]
        if not self.fitted:
            return []
        if self._by_place:
            return [str(place) for place in range(self.model.n_features_in_)]
        return [str(name) for name in self.model.feature_names_in_]

    @property
    def _by_place(self) -> bool:
        """Whether the model has learnt arrays, so that its columns have no names."""
        return not self._piped and self.fitted and not hasattr(self.model, "feature_names_in_")

    # --- checks ----------------------------------------------------------------------------------

    def check(self, rows: Sequence[Row]) -> None:
        """Refuse texts in columns of numbers, and unknown names where columns are fixed.

        Raises
        ------
        Refused
            Names row and column.
        """
        kinds = self.kinds()
        known = set(self.columns()) if self._by_place else None
        for place, row in enumerate(rows):
            for name, cell in row.items():
                text = isinstance(cell, str)
                if text and kinds.get(name, "") == NUMBER and not is_number(cell):
                    raise Refused(
                        f"row {place}: column {name!r} holds {cell!r}, but it is a column of "
                        "numbers: write a number or null",
                        row=place,
                        column=name,
                    )
                if known is not None and name not in known:
                    raise Refused(
                        f"row {place}: there is no column {name!r}: the model learnt arrays, so "
                        f'its columns are called "0" to "{len(known) - 1}"',
                        row=place,
                        column=name,
                    )

    def check_growth(self, rows: Sequence[Row], labels: Sequence[Any]) -> bool:
        """Refuse rows with which the model would have more columns or classes than allowed.

        Returns
        -------
        bool
            Whether it will have more of them than now.

        Raises
        ------
        Refused
            Names row and column.
        """
        known = set(self.classes())
        before = len(known)
        _check_kind_of_labels(next(iter(known), labels[0] if labels else None), labels)
        kinds = self.kinds()
        encoder = getattr(self.model, "encoder_", None) if self._piped else None
        codes = {} if encoder is None else encoder._codes
        width = len(encoder._owners) if encoder is not None else len(kinds)
        texts = _new_columns_of_texts(rows, kinds)
        new: set[Any] = set()
        for place, (row, label) in enumerate(zip(rows, labels, strict=True)):
            known.add(label)
            if len(known) > self._limits.classes:
                raise Refused(
                    f"row {place}: {label!r} would be class {len(known):,}, and "
                    f"{self._limits.classes:,} are allowed: raise --max-classes",
                    row=place,
                    column="label",
                )
            for name, cell in row.items():
                kind = kinds.get(name)
                if kind is None and not is_missing(cell):
                    new.add((name, text_of(cell) if name in texts else ""))
                elif kind == TEXT and not is_missing(cell):
                    text = text_of(cell)
                    if text not in codes.get(name, ()):
                        new.add((name, text))
                if new and width + len(new) > self._limits.columns:
                    raise Refused(
                        f"row {place}: with column {name!r} the model would have more than "
                        f"{self._limits.columns:,} columns, one for each text included: raise "
                        "--max-columns, or leave the column out",
                        row=place,
                        column=name,
                    )
        return bool(new) or len(known) > before

    @property
    def takes_texts(self) -> bool:
        """Whether columns may hold texts."""
        return self._piped

    def kinds(self) -> dict[str, str]:
        """Kinds of the columns that have had a value."""
        if self._piped:
            encoder = getattr(self.model, "encoder_", None)
            return {} if encoder is None else encoder._kinds
        return dict.fromkeys(self.columns(), NUMBER)

    # --- learning and predicting -----------------------------------------------------------------

    def learn(self, rows: Sequence[Row], labels: Sequence[Any]) -> None:
        """Learn rows; the caller has checked them.

        Raises
        ------
        ValueError, TypeError
            If the model refuses a row; then none of them is learnt.
        """
        if self._by_place:
            self.model.partial_fit(self._array(rows), list(labels))
        elif len(rows) == 1:
            self.model.learn_one(rows[0], labels[0])
        else:
            self.model.learn_many(_table(rows), list(labels))

    def predict(self, rows: Sequence[Row]) -> list[Prediction]:
        """Predict rows, each as the next of the stream.

        Raises
        ------
        ValueError, TypeError
            If a row does not fit.
        """
        if not self.fitted:
            return [Prediction(None, {}) for _ in rows]
        # Label and probabilities of one state, and columns that fit it.
        return self.model._lock.read(lambda: self._predict(rows))

    def _predict(self, rows: Sequence[Row]) -> list[Prediction]:
        tree = self.tree
        if len(rows) == 1:
            x: Any = rows[0]
            if self._piped:
                x = self.model._encoded(x)
            elif self._by_place:
                x = self._array(rows)[0]
            return [Prediction(tree.predict_one(x), tree.predict_proba_one(x))]
        if self._by_place:
            X: Any = self._array(rows)
            predict, share = tree.predict, tree.predict_proba
        else:
            X = _table(rows)
            if self._piped:
                X = self.model._named(self.model.encoder_.transform_many(X))
            predict = getattr(tree, "predict_many", None) or tree.predict
            share = getattr(tree, "predict_proba_many", None) or tree.predict_proba
        labels = predict(X, next_in_stream=True).tolist()
        shares = share(X, next_in_stream=True).tolist()
        classes = self.model.classes_.tolist()
        each = [dict(zip(classes, values, strict=True)) for values in shares]
        return [Prediction(*pair) for pair in zip(labels, each, strict=True)]

    def novel(self, rows: Sequence[Row]) -> list[bool]:
        """Whether each row belongs to no known class, at a level of 1 %.

        Returns
        -------
        list of bool
            All False if the model was not made with ``open_world=True``.
        """
        if not (self.knows_novelty and self.fitted):
            return [False] * len(rows)

        def find() -> list[bool]:
            X = self._array(rows) if self._by_place else _table(rows)
            if self._piped:
                X = self.model.encoder_.transform_many(X)
            elif not self._by_place:
                X = self.tree._table_to_predict(X)
            return (self.tree._p_values(np.ascontiguousarray(X), False) <= NOVEL).tolist()

        found: list[bool] = self.model._lock.read(find)
        return found

    @property
    def knows_novelty(self) -> bool:
        """Whether the model says which rows are novel."""
        return isinstance(self.tree, MistClassifier) and bool(self.tree.open_world)

    def changes_after(self, row: int) -> list[Change]:
        """Changes that the model has found after so many rows."""
        if not self.fitted:
            return []
        found = self.model._lock.read(lambda: list(getattr(self.model, "changes_", ())))
        return [
            change._replace(label=_plain(change.label), size=_plain(change.size))
            for change in found
            if change.row > row
        ]

    def explain(self, row: Row, top: int) -> Any:
        """Explain the prediction for a row, see `mist.inspection.Explanation`.

        Raises
        ------
        Refused
            If the model is not a single tree, or has learnt nothing.
        """
        if not isinstance(self.tree, MistClassifier):
            raise Refused(
                f"the model is a {type(self.tree).__name__}: only single trees explain "
                "predictions, serve a MistClassifier"
            )
        if not self.fitted:
            raise Refused("the model has learnt nothing yet: there is nothing to explain", 409)
        if self._piped:
            known = self.model.encoder_._columns
            if not any(name in row for name in known):
                raise Refused(f"the row has none of the columns {_some(known)}", row=0)
            return self.model.explain(row, top=top)
        if self._by_place:
            return self.model.explain(self._array([row])[0], top=top)
        return self.model.explain(row, top=top)

    def _array(self, rows: Sequence[Row]) -> Any:
        """Rows of a model whose columns have no names."""
        width = self.model.n_features_in_
        out = np.full((len(rows), width), np.nan)
        for place, row in enumerate(rows):
            for name, cell in row.items():
                if not is_missing(cell):
                    out[place, int(name)] = float(cell)
        return out


def _new_columns_of_texts(rows: Sequence[Row], kinds: Mapping[str, str]) -> set[str]:
    """Columns that become texts with these rows, as one text makes texts of all numbers."""
    return {
        name
        for row in rows
        for name, cell in row.items()
        if isinstance(cell, str) and name not in kinds and not is_missing(cell)
    }


def _check_kind_of_labels(one: Any, labels: Sequence[Any]) -> None:
    """Refuse a text among numbers and a number among texts."""
    texts = isinstance(one, str)
    for place, label in enumerate(labels):
        if isinstance(label, str) != texts:
            kind, other = ("texts", "a number") if texts else ("numbers", "a text")
            raise Refused(
                f"row {place}: the label {label!r} is {other}, but the labels of this model are "
                f"{kind}: give all labels the same kind",
                row=place,
                column="label",
            )


def _table(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Rows as columns, in the order of their first appearance; absent cells are missing."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _some(names: Sequence[Any]) -> str:
    return ", ".join(map(str, names[:5])) + (", ..." if len(names) > 5 else "")
