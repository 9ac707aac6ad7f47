"""`MistClassifier` and `MistForest` as classifiers of river, for its pipelines and evaluations.

Needs river: ``pip install 'mist-tree[river]'``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from inspect import Parameter
from typing import Any, Self

from mist import classifier, forest
from mist.adaptation.changes import Change
from mist.interop.model_parameters import SEED, constructor, options_of

try:
    from river import base
except ImportError as error:
    raise ImportError(
        "mist.interop.river needs river: pip install 'mist-tree[river]'", name="river"
    ) from error

__all__ = ["MistClassifier", "MistForest"]


def _constructor_of(estimator: type) -> Callable[..., None]:
    """An ``__init__`` with the options of an estimator and the option ``seed`` of river."""

    def set_up(self: Any, options: dict[str, Any]) -> None:
        # The clone of river reads options from attributes with their names.
        vars(self).update(options)
        inner = {
            # The trees of a forest may be given as a classifier of this module.
            name: _unwrapped(value)
            for name, value in options.items()
        }
        self.model = estimator(**{SEED: inner.pop("seed")}, **inner)
        self._known = {}

    seed = Parameter("seed", Parameter.KEYWORD_ONLY, default=0)
    return constructor([*options_of(estimator), seed], set_up)


class _RiverClassifier(base.MiniBatchClassifier):
    """Base of the classes below, which wrap a model of this library."""

    model: Any
    _known: dict[Any, None]  # names of all columns so far

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def _raw_memory_usage(self) -> int:
        # The count of river has arrays twice and includes compiled code that models share.
        return int(self.model.nbytes)

    def __copy__(self) -> Self:
        return deepcopy(self)

    # --- learning ---------------------------------------------------------------------------

    def learn_one(self, x: Mapping[Any, Any], y: Any, *, w: float = 1.0) -> None:
        """Learn one row.

        Parameters
        ----------
        x : dict
            Values by feature name, in any order. An absent feature, NaN and None are missing
            values; a new feature adds a column.
        y : label
            The label of the row; may be a new label.
        w : float
            Weight of the row, from 0 to 2**31.

        Raises
        ------
        ValueError
            For text, infinite values and invalid labels; then nothing is learnt.
        """
        new = self._new(x)
        if new:
            x = {name: x[name] for name in (*self._known, *new) if name in x}
        self.model.learn_one(x, y, float(w))
        self._known.update(dict.fromkeys(new))

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn a data frame; equals `learn_one` for each of its rows, bit for bit.

        Parameters
        ----------
        X : pandas.DataFrame, shape (n, d)
            Rows. Columns may be new or absent; the values of absent columns are missing.
        y : pandas.Series, shape (n,)
            Labels, in the order of the rows.

        Raises
        ------
        ValueError
            As for `learn_one`; then nothing of the frame is learnt.
        """
        if not len(X):
            return
        new = self._new(X.columns)
        if new:
            X = X[[name for name in X.columns if name in self._known] + new]
        self.model.learn_many(X, y)
        self._known.update(dict.fromkeys(new))

    def _new(self, names: Iterable[Any]) -> list[Any]:
        """Unknown names, sorted, so that no model depends on the order of a dict."""
        new = set(names).difference(self._known)
        return sorted(new, key=lambda name: (str(name), str(type(name)))) if new else []

    def rename_class(self, old: Any, new: Any) -> None:
        """Give a class another label; see `mist.MistClassifier.rename_class`."""
        self.model.rename_class(old, new)

    def drop_class(self, label: Any) -> None:
        """Remove a class and what was learnt of it; see `mist.MistClassifier.drop_class`."""
        self.model.drop_class(label)

    # --- answering --------------------------------------------------------------------------

    def predict_one(self, x: Mapping[Any, Any], **kwargs: Any) -> Any:
        """Most probable label of one row, or None if nothing was learnt yet.

        With ``adapt="stream"`` the row counts as the next of the stream, and the labels before it
        count, too.

        Parameters
        ----------
        x : dict
            Values by feature name; unknown features are ignored.
        **kwargs
            Not used.
        """
        return self.model.predict_one(x)

    def predict_proba_one(self, x: Mapping[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Probability of every class for one row, by label; empty if nothing was learnt yet.

        With ``adapt="stream"`` the row counts as the next of the stream, as in `predict_one`.

        Parameters
        ----------
        x : dict
            Values by feature name; unknown features are ignored.
        **kwargs
            Not used.
        """
        return self.model.predict_proba_one(x)

    def predict_many(self, X: Any) -> Any:
        """Most probable label of every row of a frame, each as the next of the stream.

        As river demands, the labels are those of `predict_one`. For rows from elsewhere, such as a
        test set, use ``model.predict_many`` of the attribute ``model``.

        Parameters
        ----------
        X : pandas.DataFrame, shape (n, d)
            Rows; unknown columns are ignored.

        Returns
        -------
        pandas.Series, shape (n,)
            Labels with the index of the frame; None if nothing was learnt yet.
        """
        import pandas as pd

        if not self._can_predict(X):
            return pd.Series([None] * len(X), index=X.index)
        return pd.Series(self.model.predict_many(X, next_in_stream=True), index=X.index)

    def predict_proba_many(self, X: Any) -> Any:
        """Probability of every class for every row of a frame, as for `predict_many`.

        Parameters
        ----------
        X : pandas.DataFrame, shape (n, d)
            Rows; unknown columns are ignored.

        Returns
        -------
        pandas.DataFrame, shape (n, n_classes)
            One column per label, with the index of the frame; no columns if nothing was learnt.
        """
        import pandas as pd

        if not self._can_predict(X):
            return pd.DataFrame(index=X.index)
        shares = self.model.predict_proba_many(X, next_in_stream=True)
        return pd.DataFrame(shares, index=X.index, columns=self.model.classes_.tolist())

    @property
    def changes_(self) -> list[Change]:
        """Changes that the model has found in the stream; only if it looks for them."""
        changes: list[Change] = self.model.changes_
        return changes

    def _can_predict(self, X: Any) -> bool:
        return len(X) > 0 and self.model.__sklearn_is_fitted__()


class MistClassifier(_RiverClassifier):
    """Streaming decision tree for classes that keep arriving, as a classifier of river.

    The parameters and defaults are those of `mist.MistClassifier`, except that ``random_state`` is
    called ``seed`` as in river: a whole number, 0 by default, so that equal streams give equal
    models.

    Attributes
    ----------
    model : mist.MistClassifier
        The trained model, with for example ``model.n_leaves_`` and ``model.export_text()``.

    Notes
    -----
    Values are numbers. Encode text first with `river.preprocessing.OneHotEncoder`, without
    ``drop_zeros``, because an absent feature is a missing value. Labels are either text, or
    numbers and bools.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from mist.interop.river import MistClassifier
    >>> model = preprocessing.StandardScaler() | MistClassifier(leaf="gaussian")
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 86.71%
    """

    __init__ = _constructor_of(classifier.MistClassifier)


class MistForest(_RiverClassifier):
    """Streaming forest for classes that keep arriving, as a classifier of river.

    The parameters and defaults are those of `mist.MistForest`, except that ``random_state`` is
    called ``seed`` as in river: a whole number, 0 by default. ``estimator`` may also be a
    `MistClassifier` of this module.

    Attributes
    ----------
    model : mist.MistForest
        The trained model.

    Examples
    --------
    >>> from mist.interop.river import MistForest
    >>> model = MistForest(n_trees=3)
    >>> model.learn_one({"size": 1.5}, "small")
    >>> model.predict_proba_one({"size": 2.0})
    {'small': 1.0}
    """

    __init__ = _constructor_of(forest.MistForest)


def _unwrapped(value: Any) -> Any:
    """The value of an option; for a model of this module, the model that it wraps."""
    return value.model if isinstance(value, _RiverClassifier) else value
