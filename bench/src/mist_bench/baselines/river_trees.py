"""EFDT, HAT and adaptive random forests: river's models with scikit-learn's interface."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from mist.baselines.base import UnweightedStreamClassifier
from mist.options import seed_of
from mist.rows import Array, categorical_columns

_NEVER = sys.maxsize
_SINGLE_TREE = {"grace_period": 50, "delta": 1e-7, "tau": 0.05, "split_criterion": "gini"}


def load_river() -> ModuleType:
    """Import river and its modules used here.

    Raises
    ------
    ImportError
        If it is not installed; the message says how to install it.
    """
    try:
        import river.drift
        import river.forest
        import river.tree
    except ImportError as error:
        raise ImportError(
            "EFDT, HAT and ARF need river: pip install 'mist-tree[bench]'", name="river"
        ) from error
    return river


def make_efdt(no_reset: bool, nominal: list[int], seed: int) -> Any:
    """River's extremely fast decision tree, which uses no random numbers."""
    options: dict[str, Any] = {"min_samples_reevaluate": _NEVER} if no_reset else {}
    return load_river().tree.ExtremelyFastDecisionTreeClassifier(
        **_SINGLE_TREE, nominal_attributes=nominal, **options
    )


def make_hat(no_reset: bool, nominal: list[int], seed: int) -> Any:
    """River's Hoeffding adaptive tree."""
    river = load_river()
    return river.tree.HoeffdingAdaptiveTreeClassifier(
        **_SINGLE_TREE,
        nominal_attributes=nominal,
        drift_detector=river.drift.NoDrift() if no_reset else None,
        seed=seed,
    )


def make_arf(no_reset: bool, nominal: list[int], seed: int) -> Any:
    """River's adaptive random forest of ten trees."""
    river = load_river()
    return river.forest.ARFClassifier(
        n_models=10,
        nominal_attributes=nominal,
        drift_detector=river.drift.NoDrift() if no_reset else None,
        warning_detector=river.drift.NoDrift() if no_reset else None,
        seed=seed,
    )


_MAKERS = {"efdt": make_efdt, "hat": make_hat, "arf": make_arf}


class RiverClassifier(UnweightedStreamClassifier):
    """A tree or forest of the river library: EFDT, HAT or ARF, with or without resets.

    Needs river: ``pip install 'mist-tree[bench]'``. River learns and
    predicts; this class checks rows, adds new labels, and makes probabilities sum to 1.

    Parameters
    ----------
    kind : {"efdt", "hat", "arf"}, default="efdt"
        Extremely fast decision tree, Hoeffding adaptive tree, or adaptive random forest of
        10 trees. EFDT and HAT use the Gini criterion, grace period 50, delta 1e-7 and tie
        threshold 0.05; all other settings are river's defaults.
    no_reset : bool, default=False
        Keep everything learnt: EFDT never reconsiders a split, and river's ``NoDrift`` replaces
        the drift detectors of HAT and ARF.
    categorical_features : None, array-like of int, str or bool, default=None
        Columns that river treats as nominal, as indices, names or mask.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the resampling in HAT and ARF; None means 0. EFDT uses no random numbers.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
        Labels seen or declared so far, sorted; may grow at every call.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        Column names; only if the rows came with names.
    n_leaves_ : int
        Leaves of the tree, or of all trees of the forest; alternate and background trees are
        left out.
    nbytes : int
        Bytes as river counts them.

    Notes
    -----
    `predict_proba` gives river's votes divided by their sum; where river has no vote, all
    classes learnt are equally probable. Ties go to the label that sorts first.

    Three traits of river 0.26 decide how these models do on classes that arrive in turn:

    - New leaves get the class weights of their parent but no feature statistics, so a split
      forgets the feature statistics. A class without a row since the split pays no
      penalty in naive Bayes there.
    - If one class has more than 99 % of the weight of a leaf with several classes when the
      leaf is examined, the leaf ignores the features from then on and predicts its majority
      class.
    - EFDT with the Gini criterion compares the bound with one minus the impurity after the
      split, not with the gain: it splits early, whatever the gain.

    River's EFDT has no drift detector; it resets a subtree whose split attribute is no longer
    the best. Row weights are not supported, since river's forest ignores them.

    Learning n rows in one call equals n calls with one row.

    References
    ----------
    Manapragada, Webb and Salehi, "Extremely Fast Decision Tree", KDD 2018.
    Bifet and Gavalda, "Adaptive Learning from Evolving Data Streams", IDA 2009.
    Gomes et al., "Adaptive random forests for evolving data stream classification", Machine
    Learning 106, 2017.
    Montiel et al., "River: machine learning for streaming data in Python", JMLR 22, 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mist_bench.baselines import RiverClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RiverClassifier("hat", no_reset=True)
    >>> model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kind": [StrOptions(set(_MAKERS))],
        "no_reset": ["boolean"],
    }
    _compiled: ClassVar[bool] = False

    def __init__(
        self,
        kind: str = "efdt",
        *,
        no_reset: bool = False,
        categorical_features: Any = None,
        random_state: Any = None,
    ) -> None:
        self.kind = kind
        self.no_reset = no_reset
        self.categorical_features = categorical_features
        self.random_state = random_state

    @property
    def n_leaves_(self) -> int:
        """Leaves of the tree, or of all trees of the forest."""
        check_is_fitted(self)
        trees = self._state if self.kind == "arf" else [self._state]
        return sum(tree.n_leaves or 0 for tree in trees)

    @property
    def nbytes(self) -> int:
        """Bytes of all objects of the model, as river's ``_raw_memory_usage`` counts them.

        It adds up the sizes of all Python objects that the model refers to, including the
        generators of random numbers in every Gaussian, and counts the buffer of a
        NumPy array twice. The ``nbytes`` of this library's own models, which count arrays
        only, are another measure.
        """
        check_is_fitted(self)
        return int(self._state._raw_memory_usage)

    def _new_state(self, n_features: int) -> Any:
        nominal = categorical_columns(self, self.categorical_features, n_features).tolist()
        return _MAKERS[self.kind](bool(self.no_reset), nominal, seed_of(self.random_state))

    def _grown(self, state: Any, n_codes: int) -> Any:
        return state

    def _run(self, X: Array, codes: Array, weights: Array, n_known: int, scores: Array) -> None:
        # Labels, not codes: river breaks ties by their order.
        labels = self._labels.classes[self._labels.ranks].tolist()
        for i, (row, code) in enumerate(zip(X.tolist(), codes.tolist(), strict=True)):
            x = dict(enumerate(row))
            if len(scores) and n_known:
                votes = self._state.predict_proba_one(x)
                scores[i, :n_known] = _log_shares(votes, labels[:n_known])
            if code >= 0:
                n_known = max(n_known, code + 1)
                self._state.learn_one(x, labels[code])

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A river model has no arrays that could be read-only.
        BaseEstimator.__setstate__(self, state)


def _log_shares(votes: Mapping[Any, float], labels: Sequence[Any]) -> Array:
    """Logarithm of each label's share of the votes; equal shares where there is no vote."""
    total = sum(votes.values())
    if not 0.0 < total < math.inf:
        return np.zeros(len(labels))
    with np.errstate(divide="ignore"):
        return np.log([votes.get(label, 0.0) / total for label in labels])
