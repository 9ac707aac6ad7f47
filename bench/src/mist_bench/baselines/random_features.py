"""Ridge regression on a fixed random layer."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval

from mist.baselines import rls
from mist.options import seed_of
from mist.rows import Array


class RandomFeatureRLSState(NamedTuple):
    """The random layer, and ridge regression on its outputs."""

    projection: Array
    """Random weights, shape (d, m)."""

    offsets: Array
    """Random constants, shape (m,)."""

    factor: Array
    """As in `mist.baselines.rls.RandomFeatureRLSState`, shape (m + 1, m + 1)."""

    targets: Array
    """As in `mist.baselines.rls.RandomFeatureRLSState`, shape (m + 1, K)."""


class RandomFeatureRLS(rls.RLS):
    r"""Recursive least squares on a random layer that is drawn once and never trained.

    The m features of a row are :math:`\max(0, R^\top x + b)` with
    :math:`R_{jk} \sim N(0, 1 / d)` and :math:`b_k \sim N(0, 1)`; `RLS` learns on them. The
    columns should have about unit scale. `predict_proba` is the softmax of the scores; it is not
    calibrated.

    Parameters
    ----------
    n_features : int, default=1500
        Number m of random features, 1 or more. More features cost time and memory.
    ridge : float, default=1.0
        Penalty of the regression, greater than 0.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the layer; None means 0.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
        Labels seen or declared so far, sorted; may grow at every call.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        Column names; only if the rows came with names.
    nbytes : int
        Exact bytes of the state with the random layer: about 8 m^2.

    Notes
    -----
    Learning n rows in one call equals n calls with one row up to rounding: the random features
    are a matrix product, whose rounding depends on the number of rows.

    References
    ----------
    McDonnell et al., "RanPAC: Random Projections and Pre-trained Models for Continual
    Learning", NeurIPS 2023. Zhuang et al., "ACIL: Analytic Class-Incremental Learning with
    Absolute Memorization and Privacy Protection", NeurIPS 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from mist_bench.baselines import RandomFeatureRLS
    >>> angle = np.linspace(0.0, 6.0, 25)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> model = RandomFeatureRLS(n_features=100).partial_fit(0.1 * ring, ["core"] * 25)
    >>> model = model.partial_fit(ring, ["ring"] * 25)
    >>> model.predict([[0.1, 0.0], [0.0, -1.0]])
    array(['core', 'ring'], dtype='<U4')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **rls.RLS._parameter_constraints,
        "n_features": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self, *, n_features: int = 1500, ridge: float = 1.0, random_state: Any = None
    ) -> None:
        super().__init__(ridge=ridge)
        self.n_features = n_features
        self.random_state = random_state

    def _new_state(self, n_features: int) -> Any:
        rng = np.random.default_rng(seed_of(self.random_state))
        shape = (n_features, int(self.n_features))
        return RandomFeatureRLSState(
            rng.normal(scale=n_features**-0.5, size=shape),
            rng.normal(size=shape[1]),
            *super()._new_state(shape[1]),
        )

    def _design(self, X: Array) -> Array:
        outputs = X @ self._state.projection + self._state.offsets
        return super()._design(np.maximum(outputs, 0.0))
