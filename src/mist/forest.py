"""`MistForest`: trees that split on different columns, and the mean of their probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from numbers import Integral, Real
from operator import methodcaller
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.utils import Tags, gen_batches, get_tags
from sklearn.utils._param_validation import Interval, StrOptions

from mist.adaptation.changes import Change, agreed
from mist.adaptation.expectation import Expectation
from mist.adaptation.next_label import PREDICT
from mist.classifier import MistClassifier
from mist.decision import check_decision
from mist.engine.arrays import without_entry
from mist.engine.random import TREES, draw, resample
from mist.estimator import size_of, take_over, without_trace
from mist.flat_settings import as_object, shortened
from mist.inspection.importances import mean_importances
from mist.labels import Labels
from mist.locking import uninterrupted
from mist.memory_budget import (
    give_back,
    keep_budget,
    least_bytes_of,
    refuse_candidate_splits,
    too_small,
)
from mist.merge_checks import check_alike, codes_in
from mist.onehot import siblings_of
from mist.options import changed_too_late, seed_of
from mist.pooling import blend, mean_posterior
from mist.random_feature_head import RandomFeatureHead
from mist.relabelling import LearntTree, MovedCodes
from mist.restarted_trees import LIFETIMES, RestartedTrees
from mist.rows import Array, CheckedRows, check_rows, inside
from mist.settings import FOREST_TREE
from mist.sparse_rows import blocks_of
from mist.threads import in_threads
from mist.verbs import StreamModel, unfitted

__all__ = ["MistForest"]

_Answer = TypeVar("_Answer")

_MOST_ROWS = 4096
_RESTARTED = 8
"""The part of the memory budget that small trees for the next row have, all together."""
_OF_ONE_RESTARTED = _RESTARTED * 2 * len(LIFETIMES)
"""The part that one of them has."""
_MOST_SHARES = 2**22
"""Most class probabilities of single trees that are in memory at a time: 32 MB."""

_KNOWN = ("_labels", "_keys", "classes_", "n_features_in_", "feature_names_in_")
"""Attributes that the forest and all its trees have in common: labels and columns."""


class MistForest(StreamModel):
    """Streaming forest for class-incremental learning.

    Each tree is a `MistClassifier` that learns every row and draws the columns it examines at every
    attempt to split. The forest predicts the mean of the class probabilities of its trees. Like a
    single tree, it learns row by row in one pass, takes new labels in any call and predicts at any
    time. It is more accurate than a single tree, and takes more time and memory.

    Parameters
    ----------
    estimator : MistClassifier or None, default=None
        Settings of the trees; it is not fitted itself. The forest replaces its ``random_state`` and
        the ``max_features`` of its split test. None means the defaults of `MistClassifier`, with
        ``split_test="schedule"`` and ``grace_period=100``.
    n_trees : int, default=10
        Number of trees; fixed once a row is learnt. More trees give smoother probabilities; time
        and memory grow in proportion.
    max_features : float or None, default=0.5
        Share of the columns that an attempt to split examines, in (0, 1], drawn at random each time
        (Breiman, 2001). A smaller value makes the trees differ more; None examines all columns.
    bootstrap : bool, default=False
        Whether each tree multiplies the weight of every row by its own Poisson(1) number (online
        bagging; Oza and Russell, 2001). This makes trees differ more.
    random_features : int, default=0
        Number of features of a linear discriminant on random features
        (`mist.baselines.RandomFeatureLDA`). It learns the same rows, and its probabilities are
        pooled with those of the trees. 1000 usually adds accuracy; 0 means trees alone.
    feature_weight : float, default=0.1
        Weight of the log probabilities of the discriminant relative to those of the trees, once
        there are many more rows than features. Raise it for few trees, as to 0.25 for one.
    adapt : {"stream", "classes", None}, default="stream"
        How the forest follows a stream that changes, see `MistClassifier`; the trees follow moved
        classes and shifts one by one. With ``"stream"`` the prediction of the next row also uses
        three small trees that start again after 500, 2,000 and 6,000 rows.
    decision : {"balanced", "counts"}, mapping of label to float, or None, default=None
        How a label is chosen from the probabilities, see `MistClassifier`. None stands for the
        ``class_prior`` of the trees where rows of a table are predicted.
    max_bytes : int or None, default=None
        Memory budget of the whole forest: after every call that learns, ``nbytes`` is at most this.
        The trees share it equally, after an eighth for the small trees of ``adapt="stream"`` and
        what all trees have in common; each gives back as `MistClassifier` does. Not possible with
        ``random_features``. None sets no limit.
    n_jobs : int or None, default=None
        Threads, as in scikit-learn: None means 1, -1 one per processor. Results do not depend on
        it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the forest, from which the seeds of the trees are drawn; None means 0. It is read at
        the first row.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
        Labels seen or declared so far, sorted; may grow at every call.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        Column names; only if the rows came with names.
    trees_ : list of MistClassifier
        The trees, for inspection, as in ``forest.trees_[0].explain(x)``. They share their labels,
        so no tree may learn on its own.
    n_rows_ : int
        Rows learnt.
    n_leaves_, n_splits_ : int
        Leaves and splits of all trees.
    depth_ : int
        Depth of the deepest tree.
    leaf_impurity_, classes_per_leaf_ : float
        Means over the trees of these attributes of `MistClassifier`.
    changes_ : list of Change
        Changes that more than half of the trees have found.
    feature_importances_ : ndarray of float64, shape (n_features_in_,)
        Mean over the trees that have split, without the discriminant on random features.
    nbytes : int
        Exact bytes of all arrays that hold what was learnt.

    Notes
    -----
    Learning n rows in one call equals n calls with one row, for any number of threads: bit for bit
    without random features, and with them to the rounding of their matrix products. The
    discriminant learns complete rows only; the trees alone predict rows with missing values. With
    ``n_trees=1`` and ``max_features=None`` a forest is one tree with a discriminant.

    A tree whose probabilities for a row are not finite has no vote on that row. If no tree has a
    vote, the forest predicts the share of each class in the rows learnt.

    Threads may share a forest as they may share a `MistClassifier`.

    References
    ----------
    Breiman, "Random Forests", Machine Learning 45, 2001; Oza and Russell, "Online Bagging and
    Boosting", AISTATS 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mist import MistForest
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MistForest(n_trees=3)
    >>> for label in range(3):  # one class after the other
    ...     model = model.partial_fit(X[y == label], y[y == label])
    >>> model.classes_
    array([0, 1, 2])
    >>> round(model.score(X, y), 2)
    0.98
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [MistClassifier, None],
        "n_trees": [Interval(Integral, 1, None, closed="left")],
        "bootstrap": ["boolean"],
        "random_features": [Interval(Integral, 0, None, closed="left")],
        "feature_weight": [Interval(Real, 0, None, closed="left")],
        "adapt": [StrOptions({"stream", "classes"}), None],
        "decision": [str, Mapping, None],
        "max_bytes": [Interval(Integral, 1, None, closed="left"), None],
        "n_jobs": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
            None,
        ],
    }
    _learnt: ClassVar[Sequence[str]] = (
        *(*_KNOWN, "trees_", "_head", "_expectation", "_restarted", "_masses", "_n_rows"),
    )
    _tree_settings: ClassVar[Mapping[str, Any]] = FOREST_TREE
    """Settings of the trees if none are given."""
    _restarts: ClassVar[bool] = True
    """Whether small trees that start again take part in the prediction of the next row."""

    trees_: list[MistClassifier]
    classes_: Array
    _labels: Labels
    _expectation: Expectation | None = None
    _restarted: RestartedTrees | None = None
    _masses: Array  # weight learnt of each class, by code
    _n_rows: int

    def __init__(
        self,
        estimator: MistClassifier | None = None,
        n_trees: int = 10,
        *,
        max_features: float | None = 0.5,
        bootstrap: bool = False,
        random_features: int = 0,
        feature_weight: float = 0.1,
        adapt: str | None = "stream",
        decision: Any = None,
        max_bytes: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_trees = n_trees
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.random_features = random_features
        self.feature_weight = feature_weight
        self.adapt = adapt
        self.decision = decision
        self.max_bytes = max_bytes
        self.n_jobs = n_jobs
        self.random_state = random_state

    def set_params(self, **params: Any) -> Self:
        """Change parameters, or those of the trees, as in scikit-learn.

        Parameters
        ----------
        **params
            Parameters, and parameters of the trees such as ``estimator__leaf`` or
            ``estimator__split_test__delta``. If ``estimator`` is None, the forest gets one with the
            settings that its trees had.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there is no such parameter.

        Examples
        --------
        >>> MistForest().set_params(estimator__leaf="gaussian").estimator
        MistClassifier(grace_period=100, leaf='gaussian', split_test='schedule')
        """
        of_trees = any(name.startswith("estimator__") for name in params)
        if of_trees and params.get("estimator", self.estimator) is None:
            params["estimator"] = MistClassifier(**self._tree_settings)
        super().set_params(**params)
        return self

    def _tree(self) -> MistClassifier:
        """Return the unfitted tree that has the parameters of all trees."""
        return MistClassifier(**self._tree_settings) if self.estimator is None else self.estimator

    # --- learning ---------------------------------------------------------------------------

    def _become(self, fresh: Self) -> None:
        take_over(self, fresh, self._learnt)
        self._share_lock()

    def _share_lock(self) -> None:
        """Give the trees the lock of the forest, so reading a tree waits while it learns."""
        for tree in getattr(self, "trees_", ()):
            tree._lock = self._lock

    def _test_then_train(self, batch: CheckedRows) -> Array:
        places = np.zeros(len(batch.X), dtype=np.intp)
        for block in blocks_of(batch.X):
            for rows, chosen, _ in self._parts_then_train(batch.part(block)):
                places[block][rows] = chosen
        return self.classes_[places]

    def _proba_then_train(self, batch: CheckedRows) -> tuple[Array, Array]:
        places = np.zeros(len(batch.X), dtype=np.intp)
        shares = np.zeros((len(batch.X), len(self.classes_)))
        for block in blocks_of(batch.X):
            for rows, chosen, part in self._parts_then_train(batch.part(block)):
                places[block][rows], shares[block][rows] = chosen, part
        return self.classes_[places], shares

    def _parts_then_train(self, batch: CheckedRows) -> Iterator[tuple[slice, Array, Array]]:
        """Predict and learn rows; yields each part, its places in ``classes_`` and probabilities.

        The probabilities are those before each row was learnt, as frequent as in the stream.
        """
        expectation = self._expectation
        for rows in gen_batches(len(batch.X), self._rows_at_once()):
            part, before = batch.part(rows), self._totals()
            if expectation is None:
                with uninterrupted():
                    means = self._learn_after(part)
                yield rows, *self._chosen(means, before, part)
            else:
                shares = np.zeros((len(part.X), len(self.classes_)))
                codes = self._learn_expecting(expectation, part, answers=shares)
                if self.decision is None:
                    yield rows, self._places_of(codes), shares
                else:
                    yield rows, *self._chosen(shares, before, part)

    def _places_of(self, codes: Array) -> Array:
        """Return the places of class codes in ``classes_``; 0 where the code is -1."""
        places = np.zeros(len(codes), dtype=np.intp)
        places[codes >= 0] = self._labels.ranks[codes[codes >= 0]]
        return places

    def _chosen(self, shares: Array, before: Array, batch: CheckedRows) -> tuple[Array, Array]:
        """Choose a label for each row that was learnt, by its probabilities before that.

        ``before`` has the weight of the rows of each class before the batch. Returns places in
        ``classes_``, and the probabilities of the stream.
        """
        of_stream = self._expectation is not None
        known = batch.codes, batch.weights
        of_rows, totals = self._before_learning(shares, before, *known, of_stream=of_stream)
        if self.decision is None:
            return shares.argmax(axis=1), of_rows
        return self._decide(of_rows, totals), of_rows

    def _learn_after(
        self, part: CheckedRows, asked: Array | None = None, guesses: Array | None = None
    ) -> Array:
        """Learn rows, and return the class probabilities before each was learnt.

        ``asked`` is below `PREDICT` for rows whose probabilities nobody needs; ``guesses`` as for
        `mist.engine.row_loops.run`.
        """
        masses = self._masses
        means, votes = mean_posterior(self._learn(part, predict=True, guesses=guesses))
        silent = votes == 0 if asked is None else (votes == 0) & (asked >= PREDICT)
        for row in np.flatnonzero(silent):
            means[row] = self._frequencies(_added(masses, part.part(slice(row))))
        return self._with_features(means, part)

    def _rows_to_learn(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, *, predict: bool = False
    ) -> CheckedRows:
        return self._validate_batch(
            lambda tree: tree._rows_to_learn(X, y, classes, sample_weight, predict=predict)
        )

    def _table_to_learn(
        self,
        X: Any,
        y: Any,
        classes: Any,
        sample_weight: Any,
        indicators: Mapping[Any, Any],
        *,
        predict: bool = False,
    ) -> CheckedRows:
        given = X, y, classes, sample_weight, indicators
        return self._validate_batch(
            lambda tree: tree._table_to_learn(*given, predict=predict), indicators
        )

    def _row_to_learn(self, x: Any, y: Any, sample_weight: float) -> CheckedRows:
        return self._validate_batch(lambda tree: tree._row_to_learn(x, y, sample_weight))

    def _learn_batch(self, batch: CheckedRows) -> None:
        """Learn a batch with the trees, and with the discriminant if there is one."""
        for block in blocks_of(batch.X):
            self._learn_block(batch.part(block))

    def _learn_block(self, batch: CheckedRows) -> None:
        if self._expectation is not None:
            self._learn_expecting(self._expectation, batch, every=False)
            return
        # Ctrl-C waits for all trees: they must have learnt the same rows.
        at_once = _MOST_ROWS if self._head is None else max(1, len(batch.X))
        for start in range(0, len(batch.X), at_once):
            part = batch.part(slice(start, start + at_once))
            with uninterrupted():
                self._learn(part)
                self._fit_head(part)

    def _learn_expecting(
        self,
        expectation: Expectation,
        batch: CheckedRows,
        *,
        every: bool = True,
        answers: Array | None = None,
    ) -> Array:
        """Learn a batch, and predict rows as the next of the stream: all, or those that teach.

        ``answers``, zeros of shape (n, n_classes), receives the class probabilities.

        Returns
        -------
        ndarray of int64, shape (n,)
            Class codes; -1 before the first learnt row, anything where the row was not predicted.
        """
        out = np.full(len(batch.X), -1)
        if not len(out):
            return out
        expectation.reserve_codes(len(self._labels.ranks))
        for rows in gen_batches(len(batch.X), self._rows_at_once()):
            part = batch.part(rows)
            asked = expectation.asked(part.weights, every)
            with uninterrupted():
                mine = None if answers is None else answers[rows]
                self._learn_next(expectation, part, asked, out[rows], mine)
        return out

    def _learn_next(
        self,
        expectation: Expectation,
        part: CheckedRows,
        asked: Array,
        out: Array,
        answers: Array | None,
    ) -> Array:
        """Predict rows as the next of the stream, and learn them.

        ``asked``, ``out`` and ``answers`` as for `Expectation.learn`. Returns the class
        probabilities without what is expected of the stream.
        """
        means = self._learn_after(part, asked, expectation.guesses(part.X, asked))
        models = self._models(means)
        known = part.X, part.codes, part.weights
        if self._restarted is not None:
            self._restarted.learn(*known, self._labels.ranks, models[1:])
        given = *known, asked, self._labels.ranks, models, out, answers
        expectation.learn(*given, balanced=self._is_balanced())
        return means

    def _learnt_trees(self) -> list[LearntTree]:
        return [known for tree in getattr(self, "trees_", ()) for known in tree._learnt_trees()]

    def _follow_labels(self, moved: MovedCodes | None) -> None:
        super()._follow_labels(moved)
        # The trees of a loaded forest have their own copies.
        for tree in self.trees_:
            take_over(tree, self, _KNOWN)
        if moved is None:
            return
        gone, into, last = moved
        if into is not None:
            self._masses[into] += self._masses[gone]
        self._masses = without_entry(self._masses, gone)
        if self._expectation is not None:
            self._expectation.reserve_codes(last + 1)
            if into is not None:
                self._expectation.join_class(gone, into)
            self._expectation.drop_code(gone)
        if self._restarted is not None:
            self._restarted.relabel(*moved)
        if self._head is not None:
            self._head.relabel(*moved)

    # --- merging ----------------------------------------------------------------------------

    def _fork(self, number: int, share: float = 0.0) -> Self:
        self._check_no_companion()
        out = type(self)(**self.get_params(deep=False))
        out.trees_ = [tree._fork(number, share) for tree in self.trees_]
        out._reseed()
        for tree in out.trees_[1:]:
            take_over(tree, out.trees_[0], _KNOWN)
        take_over(out, out.trees_[0], _KNOWN)
        out._share_lock()
        out._head = None
        out._masses, out._n_rows = np.zeros(len(self._masses)), 0
        return out

    def _renumber(self, number: int) -> None:
        """Give a fork independent random bits from now on."""
        for tree in self.trees_:
            tree._renumber(number)
        self._reseed()

    def _reseed(self) -> None:
        for tree in self.trees_:
            tree.random_state = tree._state.options.seed  # the seed of the bootstrap

    def _merge(self, other: Self) -> Self:
        with without_trace(self):
            self._check_options()
            if not hasattr(other, "trees_"):
                return self
            for name in ("n_trees", "bootstrap", "random_features", "adapt"):
                mine, theirs = getattr(self, name), getattr(other, name)
                if mine != theirs:
                    raise ValueError(f"forests to be merged differ in {name}: {mine} and {theirs}")
            self._check_no_companion()
            planted = hasattr(self, "trees_")
            if not planted:
                self._init_trees()
                for tree, theirs in zip(self.trees_, other.trees_, strict=True):
                    tree._check_rule()
                    tree._init_like(theirs)
                self._init_expectation()
            first = self.trees_[0]
            for tree, theirs in zip(self.trees_, other.trees_, strict=True):
                check_alike(tree, theirs)
            first.__dict__["_labels"] = first._labels.copy()
            codes = codes_in(first._labels, other._labels)
            missing = other.trees_[0]._state.observed is not None
            self._refuse_merged(first, missing)
        first.classes_ = first._labels.classes
        for tree in self.trees_[1:]:
            take_over(tree, first, _KNOWN)
        take_over(self, first, _KNOWN)
        for tree, theirs in zip(self.trees_, other.trees_, strict=True):
            tree._merge_state(theirs, codes)
        self._masses = np.append(self._masses, np.zeros(len(first._labels.ranks)))
        self._masses = self._masses[: len(first._labels.ranks)]
        self._masses[codes] += other._masses
        if self._expectation is not None:
            self._expectation.reserve_codes(len(first._labels.ranks))
            if other._expectation is None:
                self._expectation.count(codes, other._masses, other._n_rows)
            else:
                self._expectation.merge(other._expectation, codes)
        self._n_rows += other._n_rows
        self._keep_budget(len(self._masses))
        for tree in self.trees_:
            give_back(tree)
        return self

    def _refuse_merged(self, first: MistClassifier, missing: bool) -> None:
        """Refuse to merge if the classes of both forests do not fit into the memory budget."""
        sizes = len(first._labels.ranks), len(first._order), 0, missing
        if self._limit is not None:
            self._check_size(*sizes)
        else:
            first._check_own_size(*sizes)

    def _check_no_companion(self) -> None:
        if self.random_features:
            raise ValueError(
                f"random_features={self.random_features}: the discriminant on random features is "
                "scaled by its own first rows and cannot be merged; fork and merge forests with "
                "random_features=0"
            )

    def _split_where_due(self) -> None:
        """Attempt a split at every leaf that is due, in all trees."""
        self._each(methodcaller("_split_where_due"))

    def _validate_batch(
        self,
        check: Callable[[MistClassifier], CheckedRows],
        indicators: Mapping[Any, Any] = MappingProxyType({}),
    ) -> CheckedRows:
        """Check rows with the first tree, and copy its labels and columns to the others.

        ``indicators`` as for `MistClassifier.learn_many`. A refused call changes neither the forest
        nor a tree.
        """
        with without_trace(self):
            self._check_options()
            settings = self._settings()
            if not hasattr(self, "trees_"):
                self._init_trees()
            first, *others = self.trees_
            n_before, known = len(getattr(first, "_order", ())), len(self._masses)
            with without_trace(first):
                first.__dict__.update(settings)
                batch = self._with_own_limit(lambda: check(first))
        for tree in others:
            tree.__dict__.update(settings)
            take_over(tree, first, ("_options", "_rule", *_KNOWN))
            if not hasattr(tree, "_state"):
                tree._init_columns(first.n_features_in_, indicators)
            tree._make_columns(first.n_features_in_, indicators)
        take_over(self, first, _KNOWN)
        if self._expectation is None and self._n_rows == 0:
            self._init_expectation()
        if 0 < n_before < len(first._order):
            self._widen_experts(indicators, n_before)
        new = len(self._labels.ranks) - len(self._masses)
        self._masses = np.append(self._masses, np.zeros(new))
        self._keep_budget(known)
        return batch

    @property
    def _limit(self) -> int | None:
        """Most bytes of the forest."""
        return None if self.max_bytes is None else int(self.max_bytes)

    def _with_own_limit(self, check: Callable[[], _Answer]) -> _Answer:
        """Check rows with the first tree; the memory budget of the forest goes before its own."""
        first = self.trees_[0]
        if self._limit is None:
            return check()
        first.__dict__["_check_size"] = self._check_size
        try:
            return check()
        finally:
            first.__dict__.pop("_check_size", None)

    def _check_size(self, n_classes: int, n_columns: int, n_binary: int, missing: bool) -> None:
        """Refuse classes and columns that do not fit; parameters as for `least_bytes_of`."""
        limit = self._limit
        if limit is None or self.trees_[0]._state.began is not None:
            return
        sizes = n_classes, n_columns, n_binary
        each = least_bytes_of(self.trees_[0], *sizes, missing=missing)
        expectation, restarted = self._expectation, self._restarted
        if expectation is None and self._n_rows == 0:
            expectation, restarted = self._new_experts()
        shared = self._masses.itemsize * n_classes
        if expectation is not None:
            expectation = deepcopy(expectation)
            if n_columns > expectation.n_columns:
                expectation.widen(n_columns)
            shared += expectation.nbytes_for(n_classes)
        needed = len(self.trees_) * each + shared
        if restarted is not None:
            small = restarted.least_bytes(*sizes, missing=missing)
            needed = max(-(-needed * _RESTARTED // (_RESTARTED - 1)), _OF_ONE_RESTARTED * small)
        if needed > limit:
            raise too_small(limit, n_classes, n_columns, needed, "a forest of trees")

    def _keep_budget(self, known: int) -> None:
        """Give all trees their budgets, before rows with new classes after the ``known`` ones."""
        limit = self._limit
        if self._restarted is not None:
            self._restarted.limit(None if limit is None else limit // _OF_ONE_RESTARTED)
        if limit is None:
            for tree in self.trees_:
                tree._keep_budget(known)
            return
        own = limit - (0 if self._restarted is None else -(-limit // _RESTARTED))
        expectation, each = self._expectation, self._masses.itemsize

        def share(n_codes: int) -> int:
            beside = 0 if expectation is None else expectation.nbytes_for(n_codes)
            return (own - beside - each * n_codes) // len(self.trees_)

        for tree in self.trees_:
            keep_budget(tree, share, (limit, own), known)

    def _check_options(self) -> None:
        """Refuse unknown options, and a changed number of trees."""
        self._validate_params()
        check_decision(self.decision)
        if self._limit is not None:
            self._check_limited()
        planted = len(getattr(self, "trees_", ()))
        if planted and planted != self.n_trees:
            raise changed_too_late("n_trees", planted, self.n_trees)

    def _check_limited(self) -> None:
        """Refuse a memory budget for parts of a forest that have no limit."""
        if self.random_features:
            raise ValueError(
                "max_bytes cannot limit the discriminant on random features: use "
                f"random_features=0, got {self.random_features}, or max_bytes=None"
            )
        tree = self._tree()
        refuse_candidate_splits(tree.split_test)

    def _settings(self) -> dict[str, Any]:
        """Return the parameters that all trees have in common."""
        tree = self._tree()
        settings = tree.get_params(deep=False)
        split_test = as_object("split_test", tree.split_test)
        settings["split_test"] = shortened(split_test.replace(max_features=self.max_features))
        settings["adapt"] = None if self.adapt is None else "classes"
        if self._limit is not None:
            settings["max_bytes"] = None  # the forest has the budget
        del settings["random_state"]
        return settings

    def _init_trees(self) -> None:
        """Create the trees, each with its own seed, and the discriminant if there is one."""
        seed = seed_of(self.random_state)
        self.trees_ = [self.new_tree() for _ in range(self.n_trees)]
        self._share_lock()
        for number, tree in enumerate(self.trees_):
            tree.random_state = int(draw(seed, TREES, number, 0, 0)) >> 1
        self._head: RandomFeatureHead | None = None
        if self.random_features > 0:
            head_seed = int(draw(seed, TREES, self.n_trees, 0, 0)) >> 1
            prior = self.trees_[0].class_prior
            self._head = RandomFeatureHead(int(self.random_features), prior, head_seed)
        self._masses = np.zeros(0)
        self._n_rows = 0

    def _init_expectation(self) -> None:
        """Create what predicts the next row of the stream, once the columns are known."""
        first = self.trees_[0]
        if first._state.began is None:
            self._expectation, self._restarted = self._new_experts()

    def _new_experts(self) -> tuple[Expectation | None, RestartedTrees | None]:
        """Return what predicts the next row of the stream, if that is asked for."""
        if self.adapt != "stream":
            return None, None
        first = self.trees_[0]
        n_numeric, n_columns = first._state.options.n_numeric, len(first._order)
        expectation = Expectation(n_columns, 1 + self._restarts * len(LIFETIMES))
        return expectation, RestartedTrees(n_numeric, n_columns) if self._restarts else None

    def _widen_experts(self, indicators: Mapping[Any, Any], n_before: int) -> None:
        """Let what predicts the next row, and the discriminant, follow new columns."""
        first, restarted = self.trees_[0], self._restarted
        order, n_numeric = first._order, first._state.options.n_numeric
        siblings = siblings_of(first._names(), indicators, n_before)
        if self._head is not None:
            self._head.add_indicators(siblings)
        expectation = self._expectation
        if expectation is None or expectation.n_columns == len(order):
            return
        if len(siblings) < len(order) - expectation.n_columns:
            expectation.widen(len(order))
            if restarted is not None:
                restarted.widen(n_numeric, len(order))
        else:
            places = inside(siblings.values(), order)
            expectation.add_indicators(places)
            if restarted is not None:
                restarted.add_indicators(places)

    def _learn(
        self, batch: CheckedRows, predict: bool = False, guesses: Array | None = None
    ) -> list[Any]:
        """Learn with every tree; with ``predict`` returns the probabilities before that."""
        n, k = len(batch.X), len(self.classes_)

        def learn(tree: MistClassifier) -> Array | None:
            codes = np.empty(n, dtype=np.int64) if predict else None
            shares = np.zeros((n, k)) if predict else None
            mine = batch
            if self.bootstrap:
                mine = batch._replace(weights=np.empty(n))
                resample(tree.random_state, self._n_rows, batch.weights, mine.weights)
            tree._learn_batch(mine, codes, shares, guesses)
            return shares

        posteriors = self._each(learn)
        self._masses = _added(self._masses, batch)
        self._n_rows += int(np.count_nonzero(batch.weights))
        return posteriors

    def _fit_head(self, batch: CheckedRows) -> None:
        """Learn with the discriminant, if there is one."""
        if self._head is not None:
            self._head.learn(batch.X, batch.codes, batch.weights, self.trees_[0]._order)

    def _with_features(self, means: Array, batch: CheckedRows) -> Array:
        """Pool the probabilities of trees and discriminant, then let the latter learn the rows."""
        if self._head is None:
            return means
        shares, trust = self._head.learn_after(batch.X, batch.codes, batch.weights, *self._places())
        return blend(means, shares, self.feature_weight * trust)

    def _places(self) -> tuple[Array, Array, int]:
        """Return the order of columns, the rank of each class code, and the number of labels."""
        return self.trees_[0]._order, self._labels.ranks, len(self.classes_)

    def _each(self, task: Callable[[MistClassifier], _Answer]) -> list[_Answer]:
        """Return the results of a task for all trees, in their order."""
        return in_threads(task, self.trees_, self.n_jobs)

    def _rows_at_once(self) -> int:
        """Return how many rows fit in memory with the probabilities of all trees."""
        shares = len(self.trees_) * len(self.classes_)
        return max(1, min(_MOST_ROWS, _MOST_SHARES // shares))

    def _frequencies(self, masses: Array) -> Array:
        """Return the share of each label in the rows learnt; 0 without rows."""
        return self._by_label(masses / (masses.sum() or 1.0))

    def _totals(self) -> Array:
        return self._by_label(self._masses)

    # --- answering --------------------------------------------------------------------------

    def _answers(self, X: Array, complete: bool = False, next_in_stream: bool = False) -> Array:
        if self.decision is not None:
            shares = self._proba(X, complete, next_in_stream)
            return self.classes_[self._decide(shares, self._totals())]
        parts = [means.argmax(axis=1) for means in self._means(X, next_in_stream)]
        return self.classes_[np.concatenate(parts)]

    def _proba(self, X: Array, complete: bool = False, next_in_stream: bool = False) -> Array:
        shares = np.concatenate(list(self._means(X, next_in_stream)))
        if next_in_stream and self._expectation is not None:
            return shares
        return self._calibrated(shares, self._totals(), self._calibration())

    def _calibration(self) -> Array | None:
        return None if self._expectation is None else self._expectation.state.calibration

    def _is_balanced(self) -> bool:
        return self.trees_[0].class_prior == "balanced"

    def _rows_to_predict(self, X: Any) -> tuple[Any, bool]:
        first = self._fitted()[0]
        return first._ready(check_rows(self, X, reset=False, blocks=True)), False

    def _table_to_predict(self, X: Any) -> Array:
        return self._fitted()[0]._table_to_predict(X)

    def _row_to_predict(self, x: Any) -> Array:
        return self.trees_[0]._row_to_predict(x)

    def _means(self, X: Array, next_in_stream: bool = False) -> Iterator[Array]:
        """Yield class probabilities of checked rows, block by block."""
        for rows in gen_batches(len(X), self._rows_at_once()):
            means, votes = mean_posterior(self._each(methodcaller("_predict_proba", X[rows])))
            means[votes == 0] = self._frequencies(self._masses)
            if self._head is not None:
                shares, trust = self._head.answer(X[rows], *self._places())
                means = blend(means, shares, self.feature_weight * trust)
            yield self._expected(X[rows], means) if next_in_stream else means

    def _expected(self, X: Array, means: Array) -> Array:
        """Class probabilities of rows that may each come next in the stream."""
        if self._expectation is None:
            return means
        models = self._models(means)
        if self._restarted is not None:
            self._restarted.predict(X, self._labels.ranks, models[1:])
        return self._expectation.predict(X, self._labels.ranks, models)[1]

    def _models(self, means: Array) -> Array:
        """Class probabilities of all models for the next row; those of restarted trees are 0."""
        models = np.zeros((1 if self._restarted is None else 1 + len(LIFETIMES), *means.shape))
        models[0] = means
        return models

    def _has_learnt(self) -> bool:
        return hasattr(self, "trees_") and self._n_rows > 0

    def _fitted(self) -> list[MistClassifier]:
        if not self._has_learnt():
            raise unfitted(self)
        return self.trees_

    # --- looking inside ---------------------------------------------------------------------

    def new_tree(self) -> MistClassifier:
        """Return an unfitted tree with the settings of all trees, without a seed.

        Returns
        -------
        MistClassifier

        Examples
        --------
        >>> MistForest(max_features=0.3).new_tree()
        MistClassifier(adapt='classes', grace_period=100,
                       split_test=SplitTest('schedule', max_features=0.3))
        """
        kind = MistClassifier if self.estimator is None else type(self.estimator)
        return kind(**self._settings())

    @property
    def n_rows_(self) -> int:
        """Rows learnt."""
        self._fitted()
        return self._n_rows

    @property
    def n_leaves_(self) -> int:
        """Number of leaves of all trees."""
        return sum(self._of_trees("n_leaves_"))

    @property
    def n_splits_(self) -> int:
        """Number of splits made by all trees."""
        return sum(self._of_trees("n_splits_"))

    @property
    def depth_(self) -> int:
        """Depth of the deepest tree."""
        return max(self._of_trees("depth_"), default=0)

    @property
    def leaf_impurity_(self) -> float:
        """Mean over the trees of the Gini impurity of their leaves."""
        return _mean(self._of_trees("leaf_impurity_"))

    @property
    def classes_per_leaf_(self) -> float:
        """Mean over the trees of the mean number of classes with mass at a leaf."""
        return _mean(self._of_trees("classes_per_leaf_"))

    @property
    def changes_(self) -> list[Change]:
        """Changes that more than half of the trees have found, see `MistClassifier`."""
        return agreed([tree.changes_ for tree in self._fitted() if tree._has_learnt()])

    @property
    def feature_importances_(self) -> Array:
        """Mean over the trees of the share of each column in the total gain of the splits."""
        importances = self._of_trees("feature_importances_")
        return mean_importances(importances, self.n_features_in_)

    @property
    def nbytes(self) -> int:
        """Exact bytes of all arrays that hold what was learnt."""
        trees = getattr(self, "trees_", [])
        head = self._head.nbytes if trees and self._head is not None else 0
        for part in (self._expectation, self._restarted):
            head += 0 if part is None else part.nbytes
        return sum(tree.nbytes for tree in trees) + (self._masses.nbytes if trees else 0) + head

    def _of_trees(self, name: str) -> list[Any]:
        """Return an attribute of every tree that has learnt a row (not all, with bootstrap)."""
        return [getattr(tree, name) for tree in self._fitted() if tree._has_learnt()]

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text = super().__repr__(N_CHAR_MAX)
        return f"{text}  # {size_of(self)}" if self._has_learnt() else text

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        # Models pickled before the option existed do not have it.
        self.__dict__.setdefault("adapt", None)
        self.__dict__.setdefault("max_bytes", None)
        if self._expectation is not None:
            self._expectation.make_writable()
        self._share_lock()

    def _check_loaded(self) -> None:
        from mist.persistence.validate import check_forest

        check_forest(self)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        trees = get_tags(self.new_tree())
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = trees.input_tags.allow_nan
        tags.classifier_tags.poor_score = trees.classifier_tags.poor_score
        return tags


def _added(masses: Array, batch: CheckedRows) -> Array:
    """Add rows to class masses, by code: one by one, so the sum does not depend on batches."""
    learnt = batch.weights > 0
    masses = masses.copy()
    np.add.at(masses, batch.codes[learnt], batch.weights[learnt])
    return masses


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan
