"""`MistReplayForest`: a forest grown on rows that class memories replay, blended with a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval

from mist.adaptation.changes import CLASS_MOVED
from mist.adaptation.follower import parts
from mist.classifier import MistClassifier
from mist.engine.random import TREES, draw
from mist.forest import MistForest
from mist.inspection.replay_votes import ReplayExplanation, explain_votes
from mist.locking import uninterrupted
from mist.onehot import siblings_of
from mist.options import changed_too_late, seed_of
from mist.pooling import blend_votes, reweighted
from mist.relabelling import MovedCodes
from mist.replay import Growth, Replay, period
from mist.rows import Array, CheckedRows, inside

__all__ = ["MistReplayForest"]

_MEMORY_SEED, _GROWTH_SEED = 2**30, 2**30 + 1
"""Counters of the seeds of memories and trees; those of the streaming trees start at 0."""


class MistReplayForest(MistForest):
    """Forest grown on rows that class memories replay, blended with a streaming tree.

    It learns row by row in one pass, like `MistForest`, of which it is a kind: ``trees_`` holds one
    `MistClassifier` by default. In addition, each class has a *memory*: several trees of cells, cut
    from the rows of this class only, where a cell keeps the weight, the mean and the covariance of
    the rows that came to it. For predictions, a forest of ordinary decision trees is grown on rows
    drawn from the memories of all classes (generative replay, or pseudo-rehearsal), so that old
    classes take part in every split, however long ago they arrived. Its votes are pooled with the
    probabilities of the streaming tree. It is more accurate than a single tree where the borders of
    classes are fine; the forest takes a second or two to grow, again and again while rows arrive.

    Parameters
    ----------
    estimator : MistClassifier or None, default=None
        Settings of the streaming trees, as for `MistForest`. None means the defaults of
        `MistClassifier`.
    n_trees : int, default=1
        Number of streaming trees; fixed once a row is learnt. 10, with ``max_features=0.5``, add
        some accuracy, time and memory.
    replay_trees : int, default=50
        Number of trees grown on replayed rows.
    memory_trees : int, default=10
        Trees of cells in the memory of a class. Memory grows in proportion; with fewer the
        predictions depend more on the seed. Fixed once a row is learnt.
    rows_per_cell : int, default=7
        Rows of its own after which a cell is cut, at least 2; classes with fewer than 448 rows need
        fewer, but at least 3. A smaller value keeps finer detail of the rows and takes more memory.
        Fixed once a row is learnt.
    inherited_rows : float, default=1.0
        Weight, in rows, of the moments that a cell inherits when it is cut out of another one. With
        0 a cell may hold the values of a single row, which is slightly more accurate: use it only
        if the model file may reveal rows. Fixed once a row is learnt.
    replayed_rows : int, default=30000
        Most rows that are drawn for a tree. Otherwise they are as many as the rows learnt, or three
        times as many up to 10,000.
    base_weight : float, default=0.07
        Weight of the log probabilities of the streaming trees relative to those of the votes.
    max_bytes : int or None, default=2**26
        Most bytes of memories, snapshot and replay trees (64 MB), at any time; None sets no limit.
        If there are too many cells, memory trees are given up, all but two, then cells with the
        smallest shares of their classes are joined; replay trees end early. Each class keeps a cell
        in each memory tree, whatever the limit. The streaming trees are not counted.
    max_features : float or None, default=None
        Share of the columns that an attempt to split a streaming tree examines.
    bootstrap : bool, default=False
        Whether each streaming tree multiplies the weight of every row by its own Poisson(1) number.
    random_features : int, default=0
        Number of features of a linear discriminant on random features, pooled with the streaming
        trees, as for `MistForest`.
    feature_weight : float, default=0.25
        Weight of the log probabilities of the discriminant.
    adapt : {"stream", "classes", None}, default="stream"
        How the model follows a stream that changes, as for `MistClassifier`. A class that has moved
        is forgotten by its memory, too. With ``"stream"``, what is expected of the next row
        reweights the pooled probabilities.
    decision : {"balanced", "counts"}, mapping of label to float, or None, default=None
        How a label is chosen from the probabilities, as for `MistForest`.
    n_jobs : int or None, default=None
        Threads that learn streaming trees and grow replay trees. Results do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed; None means 0. It is read at the first row.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, trees_, n_rows_, changes_
        As for `MistForest`. The attributes that describe trees (``n_leaves_``, ``n_splits_``,
        ``depth_``, ``leaf_impurity_``, ``classes_per_leaf_``, ``feature_importances_``) are those
        of the streaming trees.
    n_cells_ : int
        Cells of all memories.
    nbytes : int
        Exact bytes of all arrays that hold what was learnt, and of the replay trees if they have
        been grown since the last snapshot.

    Notes
    -----
    The replay trees are grown on a snapshot of the memories. A snapshot is due when a class has
    twice as many rows as in the last one (and at least 2), or all classes together 25 % more; this
    is checked every 50 rows, among the first 500 rows every 10. Trees are grown only when a
    prediction is made. So predictions depend on the rows learnt, not on how they came in batches or
    on earlier predictions. A class that is not in the snapshot yet is predicted by the streaming
    trees alone. Replay trees are not saved: the first prediction of a loaded model grows them.

    A cell has a covariance for up to 24 numeric columns, otherwise variances. Rows are drawn from
    its Gaussian, narrowed to 0.6 standard deviations and limited to the region of the cell; no
    value of a row is kept as such. A missing value counts as the mean of its cell; in a column in
    which its class never had a value the drawn rows have none either. Weights count as for
    `MistForest`, but a cell is cut by its number of rows. With ``class_prior="balanced"`` of the
    streaming trees all classes are drawn equally often.

    `merge` puts the memories of both models next to each other, so the memory of a class that both
    know takes as much space as before in both.

    Threads may share a model as they may share a `MistClassifier`.

    References
    ----------
    Robins, "Catastrophic Forgetting, Rehearsal and Pseudorehearsal", Connection Science 7, 1995;
    Shin, Lee, Kim and Kim, "Continual Learning with Deep Generative Replay", NIPS 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mist import MistReplayForest
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MistReplayForest()
    >>> for label in range(3):  # one class after the other
    ...     model = model.partial_fit(X[y == label], y[y == label])
    >>> model.classes_
    array([0, 1, 2])
    >>> round(model.score(X, y), 2)
    0.98
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MistForest._parameter_constraints,
        "replay_trees": [Interval(Integral, 1, None, closed="left")],
        "memory_trees": [Interval(Integral, 1, None, closed="left")],
        "rows_per_cell": [Interval(Integral, 2, None, closed="left")],
        "inherited_rows": [Interval(Real, 0, None, closed="left")],
        "replayed_rows": [Interval(Integral, 1, None, closed="left")],
        "base_weight": [Interval(Real, 0, None, closed="left")],
        "max_bytes": [Interval(Integral, 1, None, closed="left"), None],
    }
    _learnt = (*MistForest._learnt, "_replay")
    _tree_settings: ClassVar[Mapping[str, Any]] = {}
    _restarts = False  # they would take half of the time to learn
    _replay: Replay

    def __init__(
        self,
        estimator: MistClassifier | None = None,
        n_trees: int = 1,
        *,
        replay_trees: int = 50,
        memory_trees: int = 10,
        rows_per_cell: int = 7,
        inherited_rows: float = 1.0,
        replayed_rows: int = 30_000,
        base_weight: float = 0.07,
        max_bytes: int | None = 2**26,
        max_features: float | None = None,
        bootstrap: bool = False,
        random_features: int = 0,
        feature_weight: float = 0.25,
        adapt: str | None = "stream",
        decision: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            estimator,
            n_trees,
            max_features=max_features,
            bootstrap=bootstrap,
            random_features=random_features,
            feature_weight=feature_weight,
            adapt=adapt,
            decision=decision,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.replay_trees = replay_trees
        self.memory_trees = memory_trees
        self.rows_per_cell = rows_per_cell
        self.inherited_rows = inherited_rows
        self.replayed_rows = replayed_rows
        self.base_weight = base_weight
        self.max_bytes = max_bytes

    # --- learning ---------------------------------------------------------------------------

    @property
    def _limit(self) -> int | None:
        return None  # ``max_bytes`` is that of the memories

    def _check_options(self) -> None:
        super()._check_options()
        if not hasattr(self, "_replay"):
            return
        for name, before in zip(_MEMORY_OPTIONS, self._replay.options, strict=True):
            if getattr(self, name) != before:
                raise changed_too_late(name, before, getattr(self, name))

    def _validate_batch(
        self,
        check: Callable[[MistClassifier], CheckedRows],
        indicators: Mapping[Any, Any] = MappingProxyType({}),
    ) -> CheckedRows:
        batch = super()._validate_batch(check, indicators)
        self._make_replay()
        return batch

    def _widen_experts(self, indicators: Mapping[Any, Any], n_before: int) -> None:
        super()._widen_experts(indicators, n_before)
        first = self.trees_[0]
        siblings = siblings_of(first._names(), indicators, n_before)
        places = inside(siblings.values(), first._order)
        self._replay.widen(first._state.options.n_numeric, places)

    def _follow_labels(self, moved: MovedCodes | None) -> None:
        super()._follow_labels(moved)
        if moved is not None:
            self._replay.relabel(*moved)

    def _make_replay(self) -> None:
        """Create the memories once the columns are known, and let them take new classes."""
        tree = self.trees_[0]
        if not hasattr(self, "_replay"):
            seed = int(draw(seed_of(self.random_state), TREES, _MEMORY_SEED, 0, 0)) >> 1
            n_numeric = tree._state.options.n_numeric
            options = self.memory_trees, self.rows_per_cell, self.inherited_rows
            self._replay = Replay(n_numeric, len(tree._order), *options, seed)
        self._replay.max_bytes = None if self.max_bytes is None else int(self.max_bytes)
        self._replay.reserve_codes(len(self._labels.ranks))

    def _learn(
        self, batch: CheckedRows, predict: bool = False, guesses: Array | None = None
    ) -> list[Any]:
        pieces = []
        for rows in parts(batch.weights, self._n_rows, period(self._n_rows)):
            part = batch.part(rows)
            # As the trees see them, which may find a change after these rows.
            X = self.trees_[0]._without_shift(part.X)
            before = self._n_rows
            pieces.append(super()._learn(part, predict, None if guesses is None else guesses[rows]))
            self._replay.learn(X, part.codes, part.weights)
            self._follow_changes(before)
        return [np.concatenate(tree) for tree in zip(*pieces, strict=True)] if predict else []

    def _follow_changes(self, before: int) -> None:
        """Forget classes that have moved, and take a snapshot where that is due."""
        follower = self.trees_[0]._follower
        if follower is not None and follower.rows > before:
            for change in follower.changes:
                if change.kind == CLASS_MOVED and change.row > before and change.label is not None:
                    self._replay.forget(change.label)
        checked = self._n_rows > before and self._n_rows % period(self._n_rows) == 0
        if checked and self._replay.is_due():
            self._replay.take_snapshot()

    def _parts_then_train(self, batch: CheckedRows) -> Iterator[tuple[slice, Array, Array]]:
        for rows in parts(batch.weights, self._n_rows, period(self._n_rows)):
            part, before = batch.part(rows), self._totals()
            with uninterrupted():
                shares = self._blended_after(part)
            yield rows, *self._chosen(shares, before, part)

    def _blended_after(self, part: CheckedRows) -> Array:
        """Learn rows between two checks for snapshots; returns the probabilities before that."""
        votes, replayed = self._votes(part.X)
        expectation = self._expectation
        if expectation is None:
            means = self._learn_after(part)
            return blend_votes(means, votes, replayed, self.base_weight)
        expectation.reserve_codes(len(self._labels.ranks))
        asked = expectation.asked(part.weights, True)
        out, expected = np.empty(len(part.X), np.int64), np.zeros((len(part.X), len(self.classes_)))
        means = self._learn_next(expectation, part, asked, out, expected)
        blended = blend_votes(means, votes, replayed, self.base_weight)
        return reweighted(blended, means, expected)

    def _calibration(self) -> Array | None:
        # The exponent is that of the streaming trees alone; votes are not too sure.
        return None

    def _votes(self, X: Array) -> tuple[Array, Array]:
        """Return the votes of the replay trees, and which labels they know."""
        growth = Growth(
            int(self.replay_trees),
            int(self.replayed_rows),
            self.trees_[0].class_prior == "balanced",
            int(draw(seed_of(self.random_state), TREES, _GROWTH_SEED, 0, 0)) >> 1,
        )
        framed = self.trees_[0]._without_shift(X)
        by_code = self._replay.votes(framed, growth, self.n_jobs)
        votes = np.zeros((len(X), len(self.classes_)))
        replayed = np.zeros(len(self.classes_), bool)
        ranks = self._labels.ranks[: by_code.shape[1]]
        votes[:, ranks], replayed[ranks] = by_code, self._replay.replayed
        return votes, replayed

    def _means(self, X: Array, next_in_stream: bool = False) -> Iterator[Array]:
        start = 0
        for means in super()._means(X):
            rows = slice(start, start + len(means))
            blended = blend_votes(means, *self._votes(X[rows]), self.base_weight)
            if next_in_stream and self._expectation is not None:
                blended = reweighted(blended, means, self._expected(X[rows], means))
            yield blended
            start += len(means)

    # --- merging ----------------------------------------------------------------------------

    def _fork(self, number: int, share: float = 0.0) -> Self:
        out = super()._fork(number, share)
        out._make_replay()
        out._renumber_memory(number)
        return out

    def _renumber(self, number: int) -> None:
        super()._renumber(number)
        self._renumber_memory(number)

    def _renumber_memory(self, number: int) -> None:
        self._replay.seed = int(draw(self._replay.seed, TREES, number, 1, 0)) >> 1

    def _merge(self, other: Self) -> Self:
        if hasattr(other, "_replay"):
            for name in _MEMORY_OPTIONS:
                if getattr(self, name) != getattr(other, name):
                    raise ValueError(
                        f"forests to be merged differ in {name}: {getattr(self, name)} and "
                        f"{getattr(other, name)}"
                    )
        super()._merge(other)
        if hasattr(other, "_replay"):
            self._make_replay()
            self._replay.merge(other._replay, self._labels.encode(list(other._labels.codes)))
        return self

    # --- looking inside ---------------------------------------------------------------------

    def explain(self, x: Any) -> ReplayExplanation:
        """Explain the prediction for one row: votes, streaming trees, and the cells at the row.

        Parameters
        ----------
        x : array-like, shape (d,), or mapping
            The row. Absent names are missing; names never learnt are ignored.

        Returns
        -------
        ReplayExplanation
            For each class its probability, the share of the votes, its probability by the streaming
            trees, and how much of its memory is near the row; printed as a table.

        Raises
        ------
        NotFittedError
            If nothing was learnt yet.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> explanation = MistReplayForest().fit(X, y).explain(X[60])
        >>> explanation.prediction, [vote.label for vote in explanation.classes][0]
        (1, 1)
        """
        self._fitted()
        return self._lock.read(lambda: self._explain(self.trees_[0]._row_to_predict(x)))

    def _explain(self, X: Array) -> ReplayExplanation:
        (base,) = super()._means(X)
        votes, replayed = self._votes(X)
        blended = blend_votes(base, votes, replayed, self.base_weight)
        shares = self._calibrated(blended, self._totals())
        chosen = blended.argmax(axis=1)
        if self.decision is not None:
            chosen = self._decide(shares, self._totals())
        codes = np.full(len(self.classes_), -1)
        codes[self._labels.ranks] = np.arange(len(self._labels.ranks))
        return explain_votes(
            self.classes_.tolist(),
            self.classes_.tolist()[chosen[0]],
            shares[0],
            votes[0] / self.replay_trees,
            base[0],
            codes,
            self._replay.memory,
            self.trees_[0]._without_shift(X),
        )

    @property
    def n_cells_(self) -> int:
        """Cells of all memories."""
        self._fitted()
        return self._replay.n_cells

    @property
    def nbytes(self) -> int:
        """Exact bytes of all arrays that hold what was learnt, and of the trees grown so far."""
        return super().nbytes + (self._replay.nbytes if hasattr(self, "_replay") else 0)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "_replay"):
            self._replay.make_writable()

    def _check_loaded(self) -> None:
        from mist.persistence.memories import check_replay_forest

        check_replay_forest(self)


_MEMORY_OPTIONS = ("memory_trees", "rows_per_cell", "inherited_rows")
