"""`MistClassifier`: its parameters, validation, and the mapping of labels and columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if

from mist.adaptation.changes import Change
from mist.adaptation.expectation import Expectation
from mist.adaptation.follower import Follower
from mist.decision import check_decision
from mist.engine import leaf_rules
from mist.engine.capacity import new_state, widen
from mist.engine.compiled import compiles
from mist.engine.conformity import count_masses, new_conformity, write_p_values
from mist.engine.fork import fork, renumber
from mist.engine.growth import Split, SplitRule, learn, split_where_due
from mist.engine.indicators import add_indicators
from mist.engine.inheritance import n_splits
from mist.engine.leafmodel import LeafModel, kind_of
from mist.engine.leaves.kinds import leaf_model
from mist.engine.marginal import write_marginals
from mist.engine.merge import merged
from mist.engine.row_loops import (
    NO_CODES,
    NO_SHARES,
    first_missing,
    leaf_nodes,
    predict_rows,
    write_densities,
)
from mist.engine.state import CLAIM, N_LEARNT, N_LEAVES, N_NODES, Options, State, writable
from mist.estimator import size_of, take_over, without_trace
from mist.fast_path import UNKNOWN, FastPath
from mist.flat_settings import GROUPED, canonical, flat, flattened, nested, varied, with_nested
from mist.following_path import FollowingPath
from mist.impurity import gini_impurity, mean_classes, weighted_impurity
from mist.inspection import Explanation, explain, feature_importances, to_frame
from mist.labels import Labels
from mist.limits import MOST_PAIRED
from mist.locking import uninterrupted
from mist.memory_budget import (
    check_max_bytes,
    give_back,
    keep_budget,
    least_bytes_of,
    refuse_candidate_splits,
    too_small,
)
from mist.merge_checks import check_alike, codes_in
from mist.onehot import siblings_of
from mist.option_refusals import (
    given_options,
    naming_the_object,
    refuse_alone,
    refuse_without_effect,
)
from mist.options import (
    CHOICES,
    COUNTS_OR_NONE,
    RANGES,
    SWITCHES,
    check_change,
    check_options,
    seed_of,
)
from mist.relabelling import LearntTree
from mist.rows import (
    Array,
    CheckedRows,
    categorical_columns,
    check_binary_columns,
    check_classes,
    check_indicators,
    check_labels,
    check_magnitudes,
    check_weights,
    inside,
    one_label,
    survey_rows,
)
from mist.settings import PAPER_LEAVES, PAPER_SETTINGS
from mist.sparse_rows import BlockRows, NamedBlocks, any_block, chosen
from mist.tables import named_columns, numbers, plain_row, row_by_name
from mist.tree_options import Inheritance, SplitTest, TreeOption
from mist.verbs import StreamModel, unfitted

if TYPE_CHECKING:
    from pandas import DataFrame

_Grown = TypeVar("_Grown")

_NO_LIMIT = 2**31 - 1
_PARTS_AT_ONCE = 8
"""Parts of a batch between which Ctrl-C waits, when a model follows its stream."""
_OPTIONS = (*CHOICES, *RANGES, *COUNTS_OR_NONE, *SWITCHES, "max_features")
"""Settings that are checked when one of them has changed."""
_PARAMETERS = tuple({GROUPED.get(name, name): None for name in _OPTIONS})
"""The parameters that have them."""
_LEARNT = (
    "_options",
    "_rule",
    "_state",
    "_order",
    "_labels",
    "_splits",
    "_keys",
    "_follower",
    "classes_",
    "n_features_in_",
    "feature_names_in_",
)


class LeafRow(NamedTuple):
    """One leaf as `MistClassifier.leaf_summary` reports it.

    Attributes
    ----------
    leaf : int
        Node id, as `MistClassifier.apply` returns it.
    rule : str
        Conditions on the path from the root, joined by "and"; empty at a root without a split.
    rows : float
        Weight of the rows learnt at this leaf, without inherited mass.
    classes : int
        Classes with mass at this leaf (K_local).
    impurity : float
        Gini impurity of the leaf's class masses.
    nbytes : int
        Bytes of the class statistics of the leaf.
    """

    leaf: int
    rule: str
    rows: float
    classes: int
    impurity: float
    nbytes: int


class TreeView(NamedTuple):
    """The nodes of a tree, as arrays with one entry per node; copies of the model's own.

    Attributes
    ----------
    feature : ndarray of int64
        Split column; -1 at a leaf.
    threshold : ndarray of float64
        Values <= threshold go left; NaN at a leaf.
    left, right : ndarray of int64
        Children; -1 at a leaf.
    depth : ndarray of int64
        Distance from the root.
    """

    feature: Array
    threshold: Array
    left: Array
    right: Array
    depth: Array


def _rule_of(settings: Mapping[str, Any]) -> SplitRule:
    values = {name: settings[name] for name in SplitRule._fields}
    # Files hold plain values, and numpy's True is none.
    return SplitRule(**{**values, "union_bound": bool(values["union_bound"])})


def _has_missing(rows: Array) -> bool:
    return bool(first_missing(rows, 0) >= 0)


def _has_densities(model: MistClassifier) -> bool:
    if model._leaf_name == "majority":
        raise AttributeError("leaf='majority' has no densities: use another leaf")
    return True


class MistClassifier(StreamModel):
    """Streaming decision tree for class-incremental learning.

    The model learns row by row in one pass and keeps no rows. A new label may appear in any call
    without being declared, and predictions are available at any time. A leaf splits when its split
    test passes; the children inherit the class-conditional statistics of their parent, so a split
    does not erase classes that no longer arrive. `paper` builds the tree as published ("the paper",
    see References). The defaults differ from it in ``leaf``, ``inheritance``, ``discount``,
    ``class_prior`` and ``adapt``; they were chosen on training rows.

    Parameters
    ----------
    leaf : {"gaussian", "sketch", "majority", "full", "mixture"} or object, default="mixture"
        Model of a class at a leaf: a name, or an object with options. ``"mixture"`` (`Mixture`) is
        a mixture of Gaussians that grows with the rows. ``"full"`` (`FullGaussian`) is one Gaussian
        with full covariance; it is faster and smaller. ``"gaussian"`` (`Gaussian`) is Gaussian
        naive Bayes (MIST-G in the paper), the fastest. ``"sketch"`` (`Sketch`) is naive Bayes with
        densities read from quantile sketches (MIST-K in the paper), for columns with several modes
        or long tails. ``"majority"`` (`Majority`) uses the class masses alone.
    split_test : {"gap", "gain", "schedule", "eprocess"} or SplitTest, default="gap"
        When a leaf splits: a name, or a `SplitTest` with options, such as the failure probability,
        the candidate thresholds and the sketches that supply them. ``"gap"`` is the paper's test,
        ``"gain"`` splits sooner, ``"schedule"`` splits after a number of rows, ``"eprocess"`` by a
        comparison of predictions.
    grace_period : int, default=200
        Rows observed at a leaf between two attempts to split it. A smaller value splits earlier
        and costs more time. The default is the paper's.
    inheritance : {"gaussian", "mass", "sketch", "joint"}, Inheritance or None, default="joint"
        Statistics that children start from: a name, or an `Inheritance` with a discount.
        ``"joint"`` uses the covariances of the columns; ``"gaussian"`` is the paper's. None starts
        empty, as Hoeffding trees do.
    class_prior : {"counts", "balanced"}, default="balanced"
        Prior probability of a class, without the values of the row. ``"balanced"`` treats all alike
        and improves the mean recall of the classes; ``"counts"``, the paper's, follows their rows
        so far and improves accuracy.
    decision : {"balanced", "counts"}, mapping of label to float, or None, default=None
        How a label is chosen from the probabilities of `predict_proba`. ``"counts"`` takes the most
        probable class: the fewest errors. ``"balanced"`` takes the class whose probability is
        largest in relation to its frequency: the best mean recall. A mapping gives the costs of
        missing a row of a class, 1 for classes that it does not name; the class with the largest
        product of cost and probability is taken. None stands for ``class_prior`` where rows of a
        table are predicted, and for ``"counts"`` where the row comes next in the stream and
        ``adapt="stream"``. Not in the paper.
    adapt : {"stream", "classes", None}, default="stream"
        How the model follows a stream that changes. ``"classes"``: a class whose own rows show that
        it has moved is learnt anew, and a shift that all classes share is found and subtracted;
        classes that do not arrive lose nothing. ``"stream"`` does so, too, and also predicts the
        *next* row of the stream from the labels before it and from the last rows of each class;
        only `prequential`, `predict_one` and ``next_in_stream=True`` use that. None follows no
        change, as in the paper; it is faster, above all with ``leaf="gaussian"``.
        ``leaf="sketch"`` does not look for moved classes. ``leaf="majority"`` has no densities and
        only predicts from labels.
    open_world : bool, default=False
        Whether to keep what `novelty` needs: each row is also scored before it is learnt, and each
        class remembers its last 256 scores. Predictions do not change. Not in the paper.
    categorical_features : None, array-like of int, str or bool, default=None
        The columns that hold only 0 and 1, as indices, names or mask. They get a Bernoulli
        likelihood and the single threshold 0.5, as in the paper.
    max_leaves : int or None, default=None
        Most leaves of the tree; None sets no limit.
    max_bytes : int or None, default=None
        Memory budget: after every call that learns, ``nbytes`` is at most this. Where it is full,
        the tree gives back open trials of mixtures, then sketches, then joins components of
        mixtures, then takes back splits; no class is lost. A call is refused if not even one leaf
        with one Gaussian a class fits. None sets no limit. Not in the paper.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random bits of the sketches. None means 0, so equal streams always give equal
        models.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
        Labels seen or declared so far, sorted; may grow at every call.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        Column names; only if the rows came with names.
    n_rows_, n_leaves_, n_splits_, depth_ : int
        Rows learnt, and size of the tree.
    leaf_impurity_ : float
        Gini impurity of the leaves, weighted with their masses.
    classes_per_leaf_ : float
        Mean number of classes with mass at a leaf (the paper's K_local).
    nbytes : int
        Exact bytes of all arrays that hold what was learnt, without labels and Python objects.
    tree_ : TreeView
        The nodes.
    split_log_ : list of Split
        Splits of the tree in order of time.
    changes_ : list of Change
        Classes that moved, shifts of all classes and splits taken back since, in order of time; the
        last 1,000.
    feature_importances_ : ndarray of float64, shape (n_features_in_,)
        Share of each column in the total gain of the splits.

    Notes
    -----
    Learning n rows in one call equals n calls with one row, bit for bit. NaN is a missing value:
    the statistics and the likelihood skip it, and the row follows the child with more mass. A
    weight of 2 means a second copy of the row (exact except for results from sketches and for the
    exponent that calibrates probabilities), a weight of 0 that the row is absent.

    `set_params` may change options of the split while the model learns. It cannot change options
    that shape the statistics: ``leaf`` and its options, ``class_prior``, ``grace_period``,
    ``adapt``, ``open_world``, the options of the sketches, whether sketches are kept, and whether
    inheritance is joint. Options of objects are set as in ``set_params(split_test__delta=0.05)``,
    and ``get_params(deep=False)`` returns what the constructor takes.
    ``categorical_features`` and ``random_state`` are read at the first row. A lower ``max_bytes``
    is kept from the next call that learns.

    Threads may share a model. Calls that learn run one after another; a call that reads waits for
    them, so it sees the model between two learning calls.

    References
    ----------
    Pham et al., "MIST: Reliable Streaming Decision Trees for Online Class-Incremental
    Learning via McDiarmid Bound", 2026.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mist import MistClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MistClassifier()
    >>> for label in range(3):  # one class after the other
    ...     model = model.partial_fit(X[y == label], y[y == label])
    >>> model.classes_
    array([0, 1, 2])
    >>> round(model.score(X, y), 2)
    0.98
    """

    _fast_path: FastPath | None = None
    _following_path: FollowingPath | None = None
    _follower: Follower | None = None
    _checked_options: tuple[dict[str, Any], dict[str, Any]] | None = None
    """Parameters that were checked last, and the options made of them."""
    _check_size: Callable[[int, int, int, bool], None] | None = None
    """How a forest checks that classes and columns fit, while it checks rows with this tree."""
    _labels: Labels
    _order: Array  # number of the user's column at each position of the engine's columns
    _splits: list[Split]
    _state: State

    @naming_the_object
    def __init__(
        self,
        leaf: str | TreeOption = "mixture",
        *,
        split_test: str | SplitTest = "gap",
        grace_period: int = 200,
        inheritance: str | Inheritance | None = "joint",
        class_prior: str = "balanced",
        decision: Any = None,
        adapt: str | None = "stream",
        open_world: bool = False,
        categorical_features: Any = None,
        max_leaves: int | None = None,
        max_bytes: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.leaf = leaf
        self.split_test = split_test
        self.grace_period = grace_period
        self.inheritance = inheritance
        self.class_prior = class_prior
        self.decision = decision
        self.adapt = adapt
        self.open_world = open_world
        self.categorical_features = categorical_features
        self.max_leaves = max_leaves
        self.max_bytes = max_bytes
        self.random_state = random_state

    @classmethod
    def paper(cls, kind: str = "G", **options: Any) -> Self:
        """Build the tree as published, with every setting of the paper.

        Parameters
        ----------
        kind : {"G", "K"}, default="G"
            MIST-G, with Gaussian naive Bayes at the leaves, or MIST-K, with densities read from
            quantile sketches.
        **options
            Settings that replace those of the paper: parameters, and options of their objects by
            their own names, such as ``delta=0.05``.

        Returns
        -------
        MistClassifier
            An unfitted classifier. Parameters that the paper does not have keep their defaults.

        Raises
        ------
        ValueError
            If `kind` is unknown, or an option has no effect.
        TypeError
            If the classifier does not have a parameter in `options`.

        Examples
        --------
        >>> MistClassifier.paper()
        MistClassifier(adapt=None, class_prior='counts',
                       inheritance=Inheritance('gaussian', discount=0.6),
                       leaf='gaussian')
        >>> MistClassifier.paper("K", discount=1.0, delta=0.05)
        MistClassifier(adapt=None, class_prior='counts', inheritance='gaussian',
                       leaf='sketch', split_test=SplitTest(delta=0.05))
        """
        if not isinstance(kind, str) or kind not in PAPER_LEAVES:
            raise ValueError(
                f"kind={kind!r} is unknown: choose 'G' (Gaussian leaves) or 'K' (sketch leaves), "
                "the two trees of the paper"
            )
        settings = varied({**PAPER_SETTINGS, "leaf": PAPER_LEAVES[kind]}, options)
        refuse_without_effect(given_options(options), flat(settings))
        return cls.from_settings(**settings)

    @classmethod
    def from_settings(cls, **settings: Any) -> Self:
        """Build a classifier from settings by their own names, as `settings` returns them.

        Parameters
        ----------
        **settings
            Parameters, and options of their objects by their own names, such as ``delta=0.05``.
            Options that have no effect with the others are left out.

        Returns
        -------
        MistClassifier
            An unfitted classifier.

        Raises
        ------
        TypeError
            If the classifier does not have a setting.

        Examples
        --------
        >>> MistClassifier.from_settings(leaf="sketch", bandwidth=0.5, delta=0.01)
        MistClassifier(leaf=Sketch(bandwidth=0.5), split_test=SplitTest(delta=0.01))
        """
        return cls(**nested(settings))

    def settings(self) -> dict[str, Any]:
        """Return all settings by their own names, with the values of options that are not given.

        Returns
        -------
        dict
            Parameters, and all options of their objects.

        Examples
        --------
        >>> settings = MistClassifier().settings()
        >>> settings["split_test"], settings["delta"], settings["max_components"]
        ('gap', 0.1, 16)
        """
        return dict(sorted(flat(self.get_params(deep=False)).items()))

    def set_params(self, **params: Any) -> Self:
        """Change parameters, or options of their objects, as in scikit-learn.

        Parameters
        ----------
        **params
            Parameters, and options of their objects such as ``split_test__delta``. An object is
            replaced by a changed copy, so that other models with the same object keep theirs.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there is no such parameter or option.

        Examples
        --------
        >>> MistClassifier().set_params(split_test__delta=0.05, leaf__max_components=4)
        MistClassifier(leaf=Mixture(max_components=4),
                       split_test=SplitTest(delta=0.05))
        """
        refuse_alone(params, self.get_params(deep=False), change=True)
        changes = with_nested(self.get_params(deep=False), params)
        super().set_params(**changes)
        return self

    # --- learning ---------------------------------------------------------------------------

    def _become(self, fresh: Self) -> None:
        take_over(self, fresh, _LEARNT)

    def _test_then_train(self, batch: CheckedRows) -> Array:
        if self.decision is not None:
            return self._proba_then_train(batch)[0]
        codes = np.empty(len(batch.X), dtype=np.int64)
        self._learn_batch(batch, codes)
        return self._decode_known(codes)

    def _proba_then_train(self, batch: CheckedRows) -> tuple[Array, Array]:
        codes, before = np.empty(len(batch.X), dtype=np.int64), self._totals()
        shares = np.zeros((len(batch.X), len(self.classes_)))
        self._learn_batch(batch, codes, shares)
        known, of_stream = (batch.codes, batch.weights), self._predicts_next()
        shares, totals = self._before_learning(shares, before, *known, of_stream=of_stream)
        if self.decision is None:
            return self._decode_known(codes), shares
        return self.classes_[self._decide(shares, totals)], shares

    def _decode_known(self, codes: Array) -> Array:
        """Return the labels of class codes; the first label where the code is -1."""
        known = np.flatnonzero(codes >= 0)
        out = np.full(len(codes), self.classes_[0], dtype=self.classes_.dtype)
        out[known] = self._labels.decode(codes[known])
        return out

    def _learn_one(self, x: Any, y: Any, sample_weight: float) -> None:
        if self._following_path is not None and self._learn_plain(x, y, sample_weight):
            return
        single = self._fast_path
        left = None if single is None else single.learn(x, y, sample_weight)
        if left is None:
            self._learn_checked(x, y, sample_weight)
        elif single is not None and left:
            self._finish_fast_path(single, left)

    def _learn_checked(self, x: Any, y: Any, sample_weight: float) -> None:
        """Learn one row on the slow path, with all checks."""

        def learn_it() -> None:
            self._learn_batch(self._row_to_learn(x, y, sample_weight))
            self._enable_fast_path(checked=True)

        self._lock.write(learn_it)

    def _learn_plain(self, x: Any, y: Any, weight: Any) -> bool:
        """Learn a plain row of a model that follows its stream; False if it was not learnt."""

        def learn_it(made: list[Split]) -> bool:
            path = self._following_path
            if path is None or not path.holds:
                return False
            with uninterrupted():
                return path.learn(x, y, weight, made)

        return self._lock.write(lambda: self._logging_splits(learn_it))

    def _finish_fast_path(self, single: FastPath, left: int) -> None:
        """Finish the work that a row on the fast path has left."""
        self._lock.write(lambda: self._logging_splits(lambda made: single.follow(left, made)))

    def _learnt_trees(self) -> list[LearntTree]:
        known = hasattr(self, "_state")
        return [LearntTree(self._state, self._follower, self._splits)] if known else []

    # --- merging ----------------------------------------------------------------------------

    def _fork(self, number: int, share: float = 0.0) -> Self:
        out = type(self)(**self.get_params(deep=False))
        copied = {name: vars(self)[name] for name in _LEARNT if name in vars(self)}
        for name, value in deepcopy({**copied, "_state": None, "_splits": []}).items():
            setattr(out, name, value)
        out._state = fork(self._state, number, share)
        return out

    def _renumber(self, number: int) -> None:
        """Give a fork independent random bits from now on."""
        renumber(self._state, number)

    def _merge(self, other: Self) -> Self:
        with without_trace(self):
            self._check_rule()
            if not hasattr(other, "_state"):
                return self
            if not hasattr(self, "_state"):
                self._init_like(other)
            check_alike(self, other)
            self._labels = self._labels.copy()
            codes = codes_in(self._labels, other._labels)
            n_codes, missing = len(self._labels.ranks), other._state.observed is not None
            self._check_own_size(n_codes, len(self._order), 0, missing)
        self.classes_ = self._labels.classes
        self._merge_state(other, codes)
        self._keep_budget(n_codes)
        give_back(self)
        return self

    def _init_like(self, other: Self) -> None:
        """Start an empty state for the columns of another model."""
        for name in ("_keys", "n_features_in_", "feature_names_in_"):
            if name in vars(other):
                setattr(self, name, vars(other)[name])
        self._labels = Labels()
        self._init_state(other._order.copy(), other._state.options.n_numeric)

    def _merge_state(self, other: Self, codes: Array) -> None:
        """Merge with a checked model; ``codes`` maps its class codes to those of this model."""
        before, n_codes = self._state, len(self._labels.ranks)
        before.budget = None  # until all is added
        # Assigned even if it is the same object: that ends the fast path for single rows.
        with before.changing():
            self._state = merged(before, other._state, codes, n_codes, self._options["inheritance"])
        if self._state is not before:
            self._splits = list(other._splits)
        follower, theirs = self._follower, other._follower
        if follower is not None and theirs is not None:
            follower.reserve_codes(n_codes)
            if other._state.began is None:
                follower.merge(theirs, codes, self._state)
            else:
                follower.count_fork(other._state, codes, self._state)

    def _split_where_due(self) -> None:
        """Attempt a split at every leaf that is due, as its next row would."""
        self._logging_splits(lambda made: split_where_due(self._state, self._rule, made))

    def _row_to_learn(self, x: Any, y: Any, sample_weight: float) -> CheckedRows:
        names = self._names_with(x) if isinstance(x, Mapping) else None
        row = self._one_row(x, names)
        checked = hasattr(self, "_state") or names is not None
        return self._rows_to_learn(
            row, one_label(y), None, sample_weight, names=names, checked=checked
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
        rows: Any
        if isinstance(X, NamedBlocks):
            names = self._names_with(X.places)
            rows = X.arranged(names)
            check_magnitudes(self, rows, names)
        else:
            table = named_columns(X, "learning")
            names = self._names_with(table)
            rows = self._rows_of(table, names)
        y = check_labels(rows, y)
        return self._rows_to_learn(
            rows,
            y,
            classes,
            sample_weight,
            predict=predict,
            names=names,
            checked=True,
            indicators=indicators,
        )

    def _rows_to_learn(
        self,
        X: Any,
        y: Any,
        classes: Any,
        sample_weight: Any,
        *,
        predict: bool = False,
        names: list[Any] | None = None,
        checked: bool = False,
        indicators: Mapping[Any, Any] = MappingProxyType({}),
    ) -> CheckedRows:
        """As `StreamModel` says; a refused call does not even change the columns of a first call.

        ``names`` are the names of the columns, if rows have any, and ``indicators`` those of 0/1
        columns as in `learn_many`. With ``checked``, rows and labels are known to be valid.
        """
        if predict:
            self._refuse_fork()
        with without_trace(self):
            self._check_rule()
            first, complete = not hasattr(self, "_state"), False
            check_indicators(indicators)
            if not checked:
                X, complete = survey_rows(self, X, reset=first, blocks=True)
                y = check_labels(X, y)
            weights = check_weights(X, sample_weight)
            if names is not None and not first:
                new = len(names) - len(self._order)
                new -= len(siblings_of(names, indicators, len(self._order)))
                self._check_width(kind_of(self._state.model), self._state.options.n_numeric + new)
            if names is not None:
                self._take_names(names)
            if first:
                self._labels = Labels()
                self._init_columns(X.shape[1], indicators)
            check_binary_columns(self, X, self._order[self._state.options.n_numeric :])
            check_binary_columns(self, X, np.array(list(self._siblings(indicators)), int))
            learnt = weights > 0
            if predict and not len(self._labels.ranks) and not learnt.any():
                raise ValueError("every sample_weight is zero, so there is no class to predict yet")
            declared = check_classes(classes)
            known = len(self._labels.ranks)
            if self.max_bytes is not None or self._check_size is not None:
                self._labels = self._labels.copy()  # a refused call leaves them as they are
            codes = np.full(len(X), -1, dtype=np.int64)
            codes[learnt] = self._labels.take(y[learnt], declared)
            self._refuse_too_many(X, learnt, indicators)
        self._make_columns(X.shape[1], indicators)
        self._keep_budget(known)
        if getattr(self, "classes_", None) is not self._labels.classes:
            self.classes_ = self._labels.classes
        if not (predict or learnt.all()):
            X, codes, weights = chosen(X, learnt), codes[learnt], weights[learnt]
        return CheckedRows(self._engine_order(X), codes, weights, complete)

    def _refuse_too_many(self, X: Any, learnt: Array, indicators: Mapping[Any, Any]) -> None:
        """Refuse rows with more classes or columns than fit into the memory budget."""
        check = self._check_size
        if check is None and self.max_bytes is None:
            return
        n_binary = len(self._siblings(indicators))
        missing = any_block(X, _has_missing) and any_block(chosen(X, learnt), _has_missing)
        sizes = len(self._labels.ranks), X.shape[1], n_binary, missing
        (self._check_own_size if check is None else check)(*sizes)

    def _check_own_size(self, n_classes: int, n_columns: int, n_binary: int, missing: bool) -> None:
        """Refuse a size into which not even the least tree fits; see `least_bytes_of`."""
        if self.max_bytes is None or (hasattr(self, "_state") and self._state.began is not None):
            return
        needed = least_bytes_of(self, n_classes, n_columns, n_binary, missing=missing)
        if needed > self.max_bytes:
            raise too_small(int(self.max_bytes), n_classes, n_columns, needed, "a tree")

    def _keep_budget(self, known: int) -> None:
        """Take over the memory budget, before a call with which classes may come after known ones.

        A tree of a forest that has a budget is given its own by the forest.
        """
        if self._check_size is None:
            most = None if self.max_bytes is None else int(self.max_bytes)
            limit = None if most is None else lambda n_codes: most
            keep_budget(self, limit, most, known)

    def _learn_batch(
        self,
        batch: CheckedRows,
        out: Array | None = None,
        shares: Array | None = None,
        guesses: Array | None = None,
    ) -> None:
        """Learn a batch; ``out`` and ``shares`` receive the predictions made before that.

        ``guesses`` as for `mist.engine.row_loops.run`; a tree that predicts the next label makes
        its own.
        """
        if isinstance(batch.X, BlockRows):
            for rows in batch.X.blocks():
                arrays = (None if each is None else each[rows] for each in (out, shares, guesses))
                self._learn_batch(batch.part(rows), *arrays)
            return
        follower = self._follower
        give_back(self)
        if follower is None:
            self._learn_rows(batch, out, shares, guesses)
        elif self._state.began is not None:
            # A fork learns what is to be merged; the model it is merged into looks for changes.
            self._learn_rows(batch._replace(X=follower.without_shift(batch.X)), out, shares)
        else:
            follower.reserve_codes(len(self._labels.ranks))
            parts = follower.parts(batch.weights)
            while group := list(islice(parts, _PARTS_AT_ONCE)):
                # Ctrl-C waits, so that tree and follower have learnt the same rows.
                with uninterrupted():
                    self._learn_following(follower, batch, group, out, shares, guesses)

    def _learn_following(
        self,
        follower: Follower,
        batch: CheckedRows,
        parts: Sequence[slice],
        out: Array | None,
        answers: Array | None,
        guesses: Array | None,
    ) -> None:
        """Learn parts of a batch that follow each other, each up to the next look for changes."""
        first, end = parts[0].start, parts[-1].stop
        batch = batch.part(slice(first, end))
        out, answers, guesses = (
            None if array is None else array[first:end] for array in (out, answers, guesses)
        )
        expectation, ranks = follower.expectation, self._labels.ranks
        of_tree = (out, answers, guesses)
        if expectation is not None:
            asked = expectation.asked(batch.weights, out is not None)
            shares = np.zeros((len(batch.X), len(self.classes_)))
            guesses = expectation.guesses(batch.X, asked)
            of_tree = np.empty(len(batch.X), np.int64), shares, guesses
        for part in parts:
            at = slice(part.start - first, part.stop - first)
            rows = batch.part(at)
            framed = rows._replace(X=follower.without_shift(rows.X))
            self._learn_rows(framed, *(None if array is None else array[at] for array in of_tree))
            follower.look(self._state, framed.X, *rows[1:3], self._splits)
            give_back(self)
        if expectation is not None:
            # No change of the tree depends on it, so it follows all parts at once.
            given = *batch[:3], asked, ranks, shares[None], out, answers
            expectation.learn(*given, balanced=self._is_balanced())

    def _learn_rows(
        self,
        batch: CheckedRows,
        out: Array | None = None,
        shares: Array | None = None,
        guesses: Array | None = None,
    ) -> None:
        """Learn a batch with the tree alone; ``guesses`` as for `mist.engine.row_loops.run`."""
        state, ranks = self._state, self._labels.ranks
        whole = slice(0, len(batch.X))
        parts = [whole] if state.budget is None else state.budget.parts(state, batch.codes)

        def learn_it(made: list[Split]) -> None:
            for part in parts:
                rows = batch if part == whole else batch.part(part)
                mine, theirs, guessed = (
                    None if each is None else each[part] for each in (out, shares, guesses)
                )
                learn(state, self._rule, *rows, ranks, mine, theirs, guessed, made)

        self._logging_splits(learn_it)

    def _logging_splits(self, grow: Callable[[list[Split]], _Grown]) -> _Grown:
        """Append the splits that `grow` makes to the log, even if it is interrupted."""
        made: list[Split] = []
        if self._state.budget is not None:
            self._state.budget.logs = (self._splits, made)
        try:
            return grow(made)
        finally:
            # The log has the user's columns. It is extended in place to keep the fast path.
            self._splits.extend(s._replace(feature=int(self._order[s.feature])) for s in made)

    def _init_columns(
        self, n_features: int, indicators: Mapping[Any, Any] = MappingProxyType({})
    ) -> None:
        """Start an empty state for rows of ``n_features`` columns."""
        given = self.categorical_features
        if given is None and indicators:
            given = [j for j, name in enumerate(self._names()) if name in indicators]
        categorical = categorical_columns(self, given, n_features)
        numeric = np.setdiff1d(np.arange(n_features), categorical)
        self._init_state(np.concatenate([numeric, categorical]), numeric.size)

    def _init_state(self, order: Array, n_numeric: int) -> None:
        """Start an empty state for columns in the engine's order."""
        self._order = order
        self._splits = []
        self._state = self._new_state(len(order), n_numeric, seed_of(self.random_state))
        if self._follows():
            predicts = self.adapt == "stream"
            # Densities from sketches fall while a sketch fills, where values are tied.
            watches = self._leaf_name != "sketch"
            self._follower = Follower(n_numeric, len(order), predicts=predicts, watches=watches)

    @property
    def _leaf_name(self) -> Any:
        """Name of the leaf, which may be given as an object."""
        return flattened({"leaf": self.leaf})["leaf"]

    def _follows(self) -> bool:
        """Whether the model looks for changes or predicts from labels."""
        return self.adapt == "stream" or (self.adapt == "classes" and self._leaf_name != "majority")

    def _new_state(self, n_features: int, n_numeric: int, seed: int) -> State:
        given = self._options
        limit, kind = given["max_classes_per_leaf"], leaf_model(given["leaf"], n_numeric)
        options = Options(
            seed=seed,
            n_numeric=n_numeric,
            grace_period=int(given["grace_period"]),
            sketched_classes=_NO_LIMIT if limit is None else int(limit),
            bandwidth=float(given["bandwidth"]),
            smoothing=float(given["smoothing"]),
            variance_prior=float(given["variance_prior"]),
            balanced=given["class_prior"] == "balanced",
            products=given["inheritance"] == "joint" and kind.uses_products,
            max_components=int(given["max_components"]),
            single=given["sketch_dtype"] == "float32",
            claim=CLAIM if given["class_prior"] == "balanced" else 0.0,
        )
        self._check_width(kind, n_numeric)
        state = new_state(n_features, options, self._sketch_size(), kind)
        if self.open_world or (self.adapt is not None and given["leaf"] != "majority"):
            state.conformity = new_conformity()
        return state

    def _check_width(self, kind: LeafModel, n_numeric: int) -> None:
        """Refuse more numeric columns than the leaf model takes."""
        most, given = kind.most_columns, self._options
        if most is not None and n_numeric > most:
            raise ValueError(
                f"leaf={given['leaf']!r} takes at most {most} numeric "
                f"columns, got {n_numeric}: use leaf='gaussian' "
                "(command line: --model mist-g), or fewer columns"
            )
        if given["inheritance"] == "joint" and kind.uses_products and n_numeric > MOST_PAIRED:
            raise ValueError(
                f"inheritance='joint' with leaf={given['leaf']!r} takes "
                f"at most {MOST_PAIRED} numeric columns, got {n_numeric}: use leaf='mixture', "
                "inheritance='gaussian', or fewer columns"
            )

    def _sketch_size(self) -> int | None:
        given = self._options
        return None if given["thresholds"] == "gaussian" else int(given["sketch_size"])

    def _check_rule(self) -> None:
        """Check all options if one of them has changed, and make the split rule from them."""
        check_decision(self.decision)
        check_max_bytes(self.max_bytes)
        if self.max_bytes is not None:
            refuse_candidate_splits(self.split_test)
        parameters = {name: vars(self)[name] for name in _PARAMETERS}
        before = getattr(self, "_options", None)
        checked = self._checked_options
        # `fit` replaces the options by those of another model.
        if checked is not None and checked[1] is before and checked[0] == parameters:
            return
        settings = flat(parameters)
        refuse_without_effect(given_options(parameters), settings)
        given = {name: settings[name] for name in _OPTIONS}
        if given != before:
            check_options(given)
            if before is not None:
                check_change(before, given)
            self._options = given
            self._rule = _rule_of(given)
        self.__dict__["_checked_options"] = (parameters, self._options)  # keeps the fast path

    def _engine_order(self, X: Any) -> Any:
        """Rows with their columns in the engine's order."""
        if self._state.options.n_numeric == X.shape[1]:
            return X
        if isinstance(X, BlockRows):
            return X.in_order(self._order)
        return np.ascontiguousarray(X[:, self._order])

    # --- answering --------------------------------------------------------------------------

    def _predict_one(self, x: Any) -> Any:
        if self._fast_path is not None and self.decision is None:
            known = self._fast_path.predict(x)
            if known is not UNKNOWN:
                return known
        return super()._predict_one(x)

    def _label_of(self, x: Any) -> Any:
        if self.decision is None and self._has_learnt():
            self._enable_fast_path()
            for path in (self._following_path, self._fast_path):
                known = UNKNOWN if path is None else path.predict(x)
                if known is not UNKNOWN:
                    return known
        return super()._label_of(x)

    @available_if(_has_densities)
    def score_samples(self, X: Any) -> Array:
        """Return the natural logarithm of the marginal density of each row.

        The density is the sum over the classes at the leaf of the row of P(class, leaf)
        p(row | class, leaf), in the units of the columns. With ``class_prior="balanced"`` all
        classes are equally probable.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, d)
            Numbers; NaN is missing. The density of such a row is that of its other columns.

        Returns
        -------
        ndarray of float64, shape (n,)
            Comparable between rows that have values in the same columns. Numeric columns that
            never varied are left out; 0/1 columns enter with their probabilities.

        Raises
        ------
        NotFittedError
            If nothing was learnt yet.
        AttributeError
            With ``leaf="majority"``, which has no densities.

        Examples
        --------
        >>> model = MistClassifier().fit([[-1.0], [1.0]], ["a", "a"])
        >>> model.score_samples([[0.0], [3.0]]).round(3)
        array([-1.122, -4.122])
        """
        return self._lock.read(lambda: self._for_each(X, self._marginals))

    def _marginals(self, X: Array, complete: bool) -> Array:
        densities, held = self._densities(X, complete)
        balanced = self._state.options.balanced
        shares = (held > 0.0).astype(np.float64) if balanced else held
        out = np.empty(len(X))
        write_marginals(densities, shares / shares.sum(), out)
        return out

    def novelty(self, X: Any) -> Array:
        """Return the p-value of each row belonging to a known class; a small one means novel.

        The score of a row is its density in its class just before it is learnt; each class
        remembers its last scores. The p-value of a row in a class is the share of these scores that
        are no better than its own, ``(1 + below) / (1 + all)``. The result is the largest p-value
        over the classes. If rows of known classes keep their distribution, no more than about a
        share ``p`` of them has a result of ``p`` or less (conformal prediction).

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, d)
            Numbers; NaN is missing.

        Returns
        -------
        ndarray of float64, shape (n,)
            In (0, 1], and never below 1/257 with weights of 1. A class counts once it has 20
            scores, which begin with its eleventh row; rows of rarer classes are novel. The result
            is 1 before any class has 20 scores, and at a leaf that holds only prior masses.

        Raises
        ------
        NotFittedError
            If nothing was learnt yet.
        ValueError
            If the model was not made with ``open_world=True``.

        Examples
        --------
        >>> X = np.random.default_rng(0).normal(size=(300, 1))
        >>> model = MistClassifier(open_world=True).fit(X, ["known"] * 300)
        >>> model.novelty([[0.0], [9.0]]).round(2)
        array([0.79, 0.  ])
        """
        return self._lock.read(lambda: self._for_each(X, self._p_values))

    def _p_values(self, X: Array, complete: bool) -> Array:
        if not self.open_world:
            raise ValueError(
                "novelty needs open_world=True while the model learns: create the model with it "
                "and learn the rows again"
            )
        p = np.empty(len(X))
        write_p_values(self._state.conformity, self._densities(X, complete)[0], p)
        tree = self._state.tree
        p[tree.leaves.prior_only[tree.nodes.leaf[self._leaves_of(X)]] == 1] = 1.0
        return p

    def _densities(self, X: Array, complete: bool) -> tuple[Array, Array]:
        """Return log p(row, leaf | class) by class code, and the mass of each class."""
        held = np.empty(len(self._labels.ranks))
        count_masses(self._state.tree, held)
        densities = np.full((len(X), len(held)), -np.inf)
        X = self._without_shift(X)
        self._state.handle.call(write_densities, X, held, densities, self._has_nan(X, complete))
        return densities, held

    def apply(self, X: Any) -> Array:
        """Return the leaf of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, d)
            Numbers; NaN is missing.

        Returns
        -------
        ndarray of int64, shape (n,)
            Node ids.
        """
        return self._lock.read(lambda: self._for_each(X, self._leaves_of))

    def _leaves_of(self, X: Array, complete: bool = False) -> Array:
        out = np.empty(len(X), dtype=np.int64)
        leaf_nodes(self._state.tree.nodes, self._without_shift(X), out)
        return out

    def _has_learnt(self) -> bool:
        return hasattr(self, "_state") and bool(self._state.tree.counters[N_LEARNT] > 0)

    def _fitted(self) -> State:
        if not self._has_learnt():
            raise unfitted(self)
        return self._state

    def _refuse_fork(self) -> None:
        if hasattr(self, "_state") and self._state.began is not None:
            raise ValueError(
                "a fork has only what it learnt itself and cannot predict: merge it into the "
                "model that it is a fork of, and predict with that model"
            )

    def _rows_to_predict(self, X: Any) -> tuple[Any, bool]:
        self._fitted()
        X, complete = survey_rows(self, X, reset=False, blocks=True)
        return self._ready(X), complete

    # Without a check that rows were learnt: the first tree of a forest may have drawn none.

    def _row_to_predict(self, x: Any) -> Array:
        return self._ready(self._one_row(x))

    def _table_to_predict(self, X: Any) -> Array:
        table = named_columns(X, "predicting")
        names = self._names() if self._has_names() else self._names_with(table)
        return self._ready(self._rows_of(table, names))

    def _ready(self, X: Any) -> Any:
        """Check 0/1 columns of rows for prediction, and put columns in the engine's order."""
        self._refuse_fork()
        check_binary_columns(self, X, self._order[self._state.options.n_numeric :])
        return self._engine_order(X)

    def _answers(self, X: Array, complete: bool = False, next_in_stream: bool = False) -> Array:
        if self.decision is not None:
            shares = self._proba(X, complete, next_in_stream)
            return self.classes_[self._decide(shares, self._totals())]
        if next_in_stream and self._predicts_next():
            codes = self._predict_next(X, complete)[0]
        else:
            codes = self._predict(X, complete)
        return self._labels.decode(codes)

    def _proba(self, X: Array, complete: bool = False, next_in_stream: bool = False) -> Array:
        if next_in_stream and self._predicts_next():
            return self._predict_next(X, complete)[1]
        shares = self._predict_proba(X, complete)
        return self._calibrated(shares, self._totals(), self._calibration())

    def _calibration(self) -> Array | None:
        expectation = self._next_expected()
        return None if expectation is None else expectation.state.calibration

    def _is_balanced(self) -> bool:
        return bool(self._state.options.balanced)

    def _totals(self) -> Array:
        expectation, n = self._next_expected(), len(self._labels.ranks)
        if expectation is not None:
            return self._by_label(expectation.state.labels.count)
        if self._is_balanced():
            return self._by_label(self._state.tree.totals[:n])
        weights = np.empty(n)
        count_masses(self._state.tree, weights)
        return self._by_label(weights)

    def _next_expected(self) -> Expectation | None:
        """Return what predicts the next row of the stream, if the model does."""
        return None if self._follower is None else self._follower.expectation

    def _predicts_next(self) -> bool:
        return self._next_expected() is not None

    def _predict_next(self, X: Array, complete: bool = False) -> tuple[Array, Array]:
        """Class codes and probabilities of checked rows, each as the next of the stream."""
        expectation = self._next_expected()
        assert expectation is not None
        shares = self._predict_proba(X, complete)
        return expectation.predict(X, self._labels.ranks, shares[None])

    def _predict(self, X: Array, complete: bool = False) -> Array:
        """Class codes of checked rows; ``complete`` as in `CheckedRows`."""
        out, has_nan = np.empty(len(X), dtype=np.int64), self._has_nan(X, complete)
        X = self._without_shift(X)
        self._state.handle.call(predict_rows, X, self._labels.ranks, out, NO_SHARES, has_nan)
        return out

    def _without_shift(self, X: Array) -> Array:
        """Checked rows as the tree sees them: without the shift that all classes share."""
        return X if self._follower is None else self._follower.without_shift(X)

    def _predict_proba(self, X: Array, complete: bool = False) -> Array:
        """Class probabilities of checked rows; ``complete`` as in `CheckedRows`."""
        shares, has_nan = np.zeros((len(X), len(self.classes_))), self._has_nan(X, complete)
        X = self._without_shift(X)
        self._state.handle.call(predict_rows, X, self._labels.ranks, NO_CODES, shares, has_nan)
        return shares

    def _has_nan(self, X: Array, complete: bool) -> bool | None:
        """Return True if missing values can matter, else None, which selects faster code."""
        complete = complete or first_missing(X, 0) < 0
        return None if complete and self._state.observed is None else True

    # --- single rows ------------------------------------------------------------------------

    def _names(self) -> list[Any]:
        """Return the keys of rows given as mappings: column names, or else column numbers."""
        given = getattr(self, "_keys", getattr(self, "feature_names_in_", None))
        return list(range(self.n_features_in_)) if given is None else list(given)

    def _has_names(self) -> bool:
        return hasattr(self, "_keys") or hasattr(self, "feature_names_in_")

    def _names_with(self, x: Mapping[Any, Any]) -> list[Any]:
        """Return the names so far, followed by the new names in this row."""
        names = self._names() if hasattr(self, "_state") else []
        known = set(names)
        new = [name for name in x if name not in known]
        if new and names and not self._has_names():
            raise ValueError(
                f"the row has a column named {new[0]!r}, but this model learnt columns without "
                f"names: give the row as a list, or with the keys 0 to {len(names) - 1}"
            )
        names += new
        if not names:
            raise ValueError("the row is empty: give at least one column by name")
        return names

    def _one_row(self, x: Any, names: list[Any] | None = None) -> Array:
        """Return one row, given by position or by name, as a checked array of shape (1, d)."""
        if isinstance(x, Mapping):
            if names is None:
                names = self._names() if self._has_names() else self._names_with(x)
            row = row_by_name(x, names)
        else:
            row = np.array(plain_row(x), dtype=np.float64, ndmin=2)
            if row.ndim != 2 or len(row) != 1:
                raise ValueError(f"a single row must have shape (d,), got shape {np.shape(x)}")
            if hasattr(self, "_state") and row.shape[1] != self.n_features_in_:
                raise ValueError(
                    f"the row has {row.shape[1]} values, {type(self).__name__} expects "
                    f"{self.n_features_in_} features"
                )
        check_magnitudes(self, row, names)
        return row

    def _rows_of(self, table: Mapping[Any, Any], names: list[Any]) -> Array:
        """Return the named columns of a table as a checked array."""
        n_rows = len(next(iter(table.values())))
        rows = numbers([table.get(name) for name in names], names, n_rows)
        check_magnitudes(self, rows, names)
        return rows

    def _enable_fast_path(self, *, checked: bool = False) -> None:
        """Switch single rows to the fast path until an attribute of the model is assigned.

        The fast path can learn rows only if the options have been ``checked``.
        """
        if self._follower is not None:
            self._enable_following_path(self._follower, checked)
            return
        single = self._fast_path
        enough = single is not None and single.holds and single.checked >= checked
        if not enough and compiles() and self._has_learnt() and self._state.began is None:
            single = self._fast_path = FastPath(self, checked)
        if single is not None and single.holds:
            single.ready(checked)

    def _enable_following_path(self, follower: Follower, checked: bool) -> None:
        """Switch single rows of a model that follows its stream to their fast path."""
        path = self._following_path
        enough = path is not None and path.holds and path.checked >= checked
        if not enough and self._has_learnt() and self._state.began is None:
            self._following_path = FollowingPath(self, follower, checked)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name not in ("_fast_path", "_following_path"):
            self.__dict__.pop("_fast_path", None)
            self.__dict__.pop("_following_path", None)

    def _take_names(self, names: list[Any]) -> None:
        """Store the names of the columns."""
        if names == getattr(self, "_keys", None):
            return
        self._keys = names
        self.n_features_in_ = len(names)
        if all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(names, dtype=object)
        else:
            self.__dict__.pop("feature_names_in_", None)

    def _siblings(self, indicators: Mapping[Any, Any]) -> dict[int, list[int]]:
        """New columns that are 0/1 columns, with known ones of the same text column."""
        old = len(self._order)
        return siblings_of(self._names(), indicators, old) if old < self.n_features_in_ else {}

    def _make_columns(self, n_features: int, indicators: Mapping[Any, Any]) -> None:
        """Add columns to the state until it has ``n_features``."""
        old = len(self._order)
        if n_features > old:
            siblings = self._siblings(indicators)
            numeric = np.array([j for j in range(old, n_features) if j not in siblings], np.int64)
            with self._state.changing():
                if numeric.size:
                    self._add_numeric(numeric)
                if siblings:
                    self._add_indicators(siblings)

    def _add_numeric(self, new: Array) -> None:
        """Add numeric columns, which are missing in all earlier rows."""
        at = self._state.options.n_numeric
        widen(self._state, len(new), self._sketch_size())
        self._order = np.concatenate([self._order[:at], new, self._order[at:]])
        if self._follower is not None:
            self._follower.widen(self._state.options.n_numeric, len(self._order))

    def _add_indicators(self, siblings: dict[int, list[int]]) -> None:
        """Add 0/1 columns, which were 0 in rows that had a value in their siblings."""
        places = inside(siblings.values(), self._order)
        add_indicators(self._state, places)
        self._order = np.concatenate([self._order, np.array(list(siblings), self._order.dtype)])
        if self._follower is not None:
            self._follower.add_indicators(places)

    # --- looking inside ---------------------------------------------------------------------

    @property
    def n_rows_(self) -> int:
        """Rows learnt."""
        return int(self._fitted().tree.counters[N_LEARNT])

    @property
    def n_leaves_(self) -> int:
        """Number of leaves."""
        return int(self._fitted().tree.counters[N_LEAVES])

    @property
    def n_splits_(self) -> int:
        """Number of splits made."""
        return n_splits(self._fitted())

    @property
    def depth_(self) -> int:
        """Largest distance of a leaf from the root."""
        state = self._fitted()
        return int(state.tree.nodes.depth[: state.tree.counters[N_NODES]].max())

    @property
    def leaf_impurity_(self) -> float:
        """Gini impurity of the leaves, each weighted with its mass.

        The masses are those used for prediction: of rows learnt at the leaf and inherited. A leaf
        that inherited nothing has the masses of its parent until it learns a row.

        Examples
        --------
        >>> model = MistClassifier().fit([[0.0], [1.0], [2.0], [9.0]], ["a", "a", "a", "b"])
        >>> model.leaf_impurity_
        0.375
        """
        return self._lock.read(lambda: weighted_impurity(leaf_rules.leaf_masses(self._fitted())))

    @property
    def classes_per_leaf_(self) -> float:
        """Mean number of classes with mass at a leaf (mean K_local).

        Examples
        --------
        >>> model = MistClassifier().fit([[0.0], [1.0], [2.0], [9.0]], ["a", "a", "a", "b"])
        >>> model.classes_per_leaf_
        2.0
        """
        return self._lock.read(lambda: mean_classes(leaf_rules.leaf_masses(self._fitted())))

    @property
    def nbytes(self) -> int:
        """Exact bytes of all arrays that hold what was learnt."""
        if not hasattr(self, "_state"):
            return 0
        return self._state.nbytes + (0 if self._follower is None else self._follower.nbytes)

    @property
    def tree_(self) -> TreeView:
        """The tree's nodes as arrays (copies)."""
        return self._lock.read(self._view)

    def _view(self) -> TreeView:
        state = self._fitted()
        nodes, n = state.tree.nodes, int(state.tree.counters[N_NODES])
        inner = nodes.feature[:n] >= 0
        feature = np.where(inner, self._order[nodes.feature[:n]], -1)
        return TreeView(
            feature=feature.astype(np.int64),
            threshold=np.where(inner, nodes.threshold[:n], np.nan),
            left=nodes.left[:n].astype(np.int64),
            right=nodes.right[:n].astype(np.int64),
            depth=nodes.depth[:n].astype(np.int64),
        )

    @property
    def split_log_(self) -> list[Split]:
        """Splits of the tree in order of time; those that were taken back are not among them."""
        self._fitted()
        return list(self._splits)

    @property
    def changes_(self) -> list[Change]:
        """Classes that moved, shifts of all classes and splits taken back, in order of time.

        At most 1,000, the last ones. A split is taken back if it no longer separates the classes
        after some have moved; its two sides are merged, so that no class is lost.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.normal(size=(600, 2)), np.tile(["a", "b"], 300)
        >>> X[y == "b"] += 9.0
        >>> X[300:][y[300:] == "a"] -= 9.0  # one class moves, the other stays
        >>> model = MistClassifier().fit(X, y)
        >>> [(change.kind, change.label) for change in model.changes_]
        [('class moved', 'a')]
        """
        self._fitted()
        found = [] if self._follower is None else self._follower.changes
        return [change._replace(label=self._label_at(change.label)) for change in found]

    def _label_at(self, code: int | None) -> Any:
        return None if code is None else self._labels.decode(np.array([code])).tolist()[0]

    @property
    def feature_importances_(self) -> Array:
        """Share of each column in the total gain of the splits, see `mist.inspection`."""
        return self._lock.read(lambda: feature_importances(self))

    def explain(self, x: Any, *, top: int | None = 5) -> Explanation:
        """Explain the prediction for one row: the path to its leaf, and the evidence of each value.

        See `mist.inspection.evidence` for parameters, return value and errors.

        Examples
        --------
        >>> model = MistClassifier("gaussian").fit([[0.0], [1.0], [8.0], [9.0]], list("aabb"))
        >>> model.explain([2.0]).prediction
        'a'
        """
        return self._lock.read(lambda: explain(self, x, top=top))

    def to_frame(self) -> DataFrame:
        """Return all nodes as a data frame, see `mist.inspection.to_frame`."""
        return self._lock.read(lambda: to_frame(self))

    def leaf_summary(self) -> list[LeafRow]:
        """Return one record per leaf, from left to right.

        Returns
        -------
        list of LeafRow
            ``pandas.DataFrame(model.leaf_summary())`` makes a data frame of it.

        Examples
        --------
        >>> model = MistClassifier().fit([[0.0], [1.0], [9.0]], ["a", "a", "b"])
        >>> [(row.leaf, row.rows, row.classes) for row in model.leaf_summary()]
        [(0, 3.0, 2)]
        """
        return self._lock.read(self._leaf_rows)

    def _leaf_rows(self) -> list[LeafRow]:
        state, tree = self._fitted(), self.tree_
        rules = leaf_rules.rules(tree, self._column_names())
        rows = []
        for node, rule in rules:
            leaf = int(state.tree.nodes.leaf[node])
            masses = leaf_rules.class_masses(state, leaf)[1]
            rows.append(
                LeafRow(
                    leaf=node,
                    rule=" and ".join(rule),
                    rows=float(state.tree.leaves.weight_seen[leaf]),
                    classes=len(masses),
                    impurity=float(gini_impurity(masses)),
                    nbytes=leaf_rules.leaf_bytes(state, leaf),
                )
            )
        return rows

    def export_text(self, *, max_classes: int = 5) -> str:
        """Return the tree as indented text.

        Parameters
        ----------
        max_classes : int
            Classes listed at a leaf, heaviest first.

        Returns
        -------
        str
            One line per node.

        Examples
        --------
        >>> model = MistClassifier().fit([[0.0], [1.0], [9.0]], ["a", "a", "b"])
        >>> print(model.export_text())
        leaf 0: 3 rows; a 2, b 1
        """
        return self._lock.read(lambda: self._text(max_classes))

    def _text(self, max_classes: int) -> str:
        state = self._fitted()
        labels = self.classes_[self._labels.ranks].tolist()
        return leaf_rules.text(state, self.tree_, self._column_names(), labels, max_classes)

    def _column_names(self) -> Sequence[str]:
        names = getattr(self, "_keys", getattr(self, "feature_names_in_", None))
        if names is None:
            return [f"x{j}" for j in range(self.n_features_in_)]
        return [str(name) for name in names]

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text = super().__repr__(N_CHAR_MAX)
        return f"{text}  # {size_of(self)}" if self._has_learnt() else text

    def _kept(self) -> dict[str, Any]:
        if hasattr(self, "_state"):
            self._state.check_intact()
        return super()._kept()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        # Models pickled before the option existed do not have it.
        self.__dict__.setdefault("adapt", None)
        self.__dict__.setdefault("max_bytes", None)
        if "_options" in state and "adapt" not in state["_options"]:
            # Learnt before the option existed.
            self._options = {**self._options, "adapt": None}
        if "_options" in state and canonical(self._options) != self._options:
            # Learnt when options without effect were allowed.
            self._options = canonical(self._options)
            self._rule = _rule_of(self._options)
        if hasattr(self, "_state"):
            # joblib may pass read-only memory.
            self._state = writable(self._state)
        if self._follower is not None:
            self._follower.make_writable()

    def _parameters_in_file(self) -> dict[str, Any]:
        return self.settings()

    @classmethod
    def _parameters_from_file(cls, settings: dict[str, Any]) -> dict[str, Any]:
        return nested(settings)

    def _check_loaded(self) -> None:
        from mist.persistence.validate import check_classifier

        check_classifier(self)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = self._leaf_name == "majority"
        return tags
