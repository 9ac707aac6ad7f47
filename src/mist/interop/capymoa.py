"""Estimators of this library as classifiers of CapyMOA, for its streams and evaluations.

Needs CapyMOA and Java: ``pip install 'mist-tree[capymoa]'``.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from inspect import Parameter
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from mist import classifier, forest
from mist.interop.model_parameters import SEED, constructor, options_of
from mist.rows import Array

try:
    import capymoa  # noqa: F401 - starts the Java virtual machine
    from capymoa.base import Classifier
except ImportError as error:
    raise ImportError(
        "mist.interop.capymoa needs CapyMOA: pip install 'mist-tree[capymoa]'", name="capymoa"
    ) from error

__all__ = ["EstimatorClassifier", "MistClassifier", "MistForest"]

_TWO = 2
"""A nominal attribute of two values is used as one 0/1 column."""


class EstimatorClassifier(Classifier):
    """Any estimator of this library as a classifier of CapyMOA.

    Parameters
    ----------
    schema : capymoa.stream.Schema
        Attributes and labels of the stream.
    estimator : object
        For example a `mist.MistClassifier` or one of `mist.baselines`. A clone is trained.
    random_seed : int, default=1
        Sets the ``random_state`` of the estimator if that is None.

    Attributes
    ----------
    model : object
        The trained estimator. Its labels are indices into the labels of the schema.

    Raises
    ------
    ValueError
        If the schema is for regression.

    Notes
    -----
    A nominal attribute of more than two values becomes one 0/1 column per value; one of two values
    becomes one 0/1 column. If the ``categorical_features`` of the estimator are None, they are set
    to these columns; otherwise they are column numbers after this encoding. Rows without a label
    are not learnt.

    Examples
    --------
    >>> from capymoa.stream import NumpyStream
    >>> from mist.baselines import NCM
    >>> from mist.interop.capymoa import EstimatorClassifier
    >>> X, y = np.array([[0.0], [9.0], [1.0]]), np.array([0, 1, 0])
    >>> stream = NumpyStream(X, y, target_type="categorical")
    >>> learner = EstimatorClassifier(stream.get_schema(), NCM())
    >>> for instance in stream:
    ...     print(learner.predict(instance))
    ...     learner.train(instance)
    None
    0
    0
    """

    model: Any

    def __init__(self, schema: Any, estimator: Any, random_seed: int = 1) -> None:
        if not schema.is_classification():
            raise ValueError("the schema is for regression: give one whose target has labels")
        super().__init__(schema, random_seed)
        self._values = _values(schema)
        self._n_labels = int(schema.get_num_classes())
        self.model = clone(estimator)
        options = self.model.get_params(deep=False)
        if options.get(SEED, random_seed) is None:
            self.model.set_params(**{SEED: random_seed})
        binary = np.repeat(self._values, _widths(self._values)) > 0
        if binary.any() and options.get("categorical_features", binary) is None:
            self.model.set_params(categorical_features=np.flatnonzero(binary).tolist())

    def __str__(self) -> str:
        return type(self.model).__name__

    def __copy__(self) -> Self:
        # A copy that shared the model would learn with the original. The schema, an object of
        # Java that never changes, is shared.
        made = type(self).__new__(type(self))
        made.__dict__.update(vars(self), model=deepcopy(self.model))
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.__copy__()

    def train(self, instance: Any) -> None:
        """Learn an instance.

        Parameters
        ----------
        instance : capymoa.core.LabeledInstance
            One without a label (``y_index`` -1) is left out.

        Raises
        ------
        ValueError
            If the label is not in the schema, or a value is infinite.
        """
        label = instance.y_index
        if label < 0:
            return
        self._check_label(label)
        row = self._rows(instance.x[None])
        if hasattr(self.model, "learn_one"):
            self.model.learn_one(row[0], label)
        else:
            self.model.partial_fit(row, [label])

    def predict_proba(self, instance: Any) -> Array | None:
        """Probability of every label of the schema, or None if nothing was learnt yet.

        Parameters
        ----------
        instance : capymoa.core.Instance
            An instance; its label is ignored.

        Returns
        -------
        ndarray of float64, shape (n_labels,), or None
            Labels that were never learnt have probability 0. With ``adapt="stream"`` the instance
            counts as the next of the stream, as in `predict`.
        """
        if not self._has_learnt():
            return None
        if hasattr(self.model, "predict_proba_one"):
            found = self.model.predict_proba_one(self._rows(instance.x[None])[0])
            out = np.zeros(self._n_labels)
            out[list(found)] = list(found.values())
            return out
        shares: Array = self._shares(instance.x[None])[0]
        return shares

    def predict(self, instance: Any) -> int | None:
        """Index of the most probable label, or None if nothing was learnt yet.

        With ``adapt="stream"`` the instance counts as the next of the stream.

        Parameters
        ----------
        instance : capymoa.core.Instance
            An instance; its label is ignored.
        """
        if not self._has_learnt():
            return None
        row = self._rows(instance.x[None])
        if hasattr(self.model, "predict_one"):
            return int(self.model.predict_one(row[0]))
        return int(self.model.predict(row)[0])

    def _check_label(self, label: int) -> None:
        if label >= self._n_labels:
            raise ValueError(
                f"y_index {label} is not in the schema, which has {self._n_labels} labels, "
                "counted from 0: make a schema with all labels of the stream"
            )

    def _has_learnt(self) -> bool:
        return hasattr(self.model, "classes_")

    def _rows(self, X: Array) -> Array:
        """Rows for the model, with nominal attributes as 0/1 columns."""
        if max(self._values, default=0) <= _TWO:
            return X
        columns = []
        for x, width in zip(X.T[..., None], _widths(self._values), strict=True):
            hot = x if width == 1 else (x == np.arange(width)).astype(np.float64)
            columns.append(np.where(np.isnan(x), np.nan, hot))
        return np.hstack(columns)

    def _shares(self, X: Array) -> Array:
        """Probability of every label of the schema for every row; 0 if nothing was learnt yet."""
        shares = np.zeros((len(X), self._n_labels))
        if self._has_learnt():
            shares[:, self.model.classes_] = self.model.predict_proba(self._rows(X))
        return shares


def _values(schema: Any) -> list[int]:
    """Number of values of each attribute except the target; 0 for a numeric one."""
    header = schema.get_moa_header()
    places = [i for i in range(header.numAttributes()) if i != header.classIndex()]
    attributes = [header.attribute(i) for i in places]
    return [int(a.numValues()) if a.isNominal() else 0 for a in attributes]


def _widths(values: list[int]) -> list[int]:
    """Number of columns of each encoded attribute."""
    return [n if n > _TWO else 1 for n in values]


def _constructor_of(estimator: type) -> Callable[..., None]:
    """An ``__init__`` with the parameters of CapyMOA's learners and options of an estimator."""

    def set_up(self: Any, options: dict[str, Any]) -> None:
        schema, seed = options.pop("schema"), options.pop("random_seed")
        EstimatorClassifier.__init__(self, schema, estimator(**options), seed)

    schema = Parameter("schema", Parameter.POSITIONAL_OR_KEYWORD)
    seed = Parameter("random_seed", Parameter.POSITIONAL_OR_KEYWORD, default=1)
    options = [option.replace(kind=Parameter.KEYWORD_ONLY) for option in options_of(estimator)]
    return constructor([schema, seed, *options], set_up)


class MistClassifier(EstimatorClassifier):
    """Streaming decision tree for classes that keep arriving, as a classifier of CapyMOA.

    Takes ``schema`` and ``random_seed`` (1 by default) like all learners of CapyMOA, and as
    keywords the parameters of `mist.MistClassifier`, with the same defaults; ``random_seed``
    replaces its ``random_state``.

    Attributes
    ----------
    model : mist.MistClassifier
        The trained model, with for example ``model.n_leaves_`` and ``model.export_text()``.

    Examples
    --------
    >>> from capymoa.stream import NumpyStream
    >>> from mist.interop.capymoa import MistClassifier
    >>> X, y = np.array([[0.0], [9.0], [1.0]]), np.array([0, 1, 0])
    >>> stream = NumpyStream(X, y, target_type="categorical")
    >>> learner = MistClassifier(stream.get_schema(), leaf="gaussian")
    >>> learner.train(next(stream))
    >>> learner.predict_proba(next(stream))
    array([1., 0.])
    """

    __init__ = _constructor_of(classifier.MistClassifier)


class MistForest(EstimatorClassifier):
    """Streaming forest for classes that keep arriving, as a classifier of CapyMOA.

    Takes ``schema`` and ``random_seed`` (1 by default) like all learners of CapyMOA, and as
    keywords the parameters of `mist.MistForest`, with the same defaults; ``random_seed`` replaces
    its ``random_state``.

    Attributes
    ----------
    model : mist.MistForest
        The trained model.
    """

    __init__ = _constructor_of(forest.MistForest)
