"""Linear discriminant analysis on a fixed random layer."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.linalg import cholesky
from scipy.linalg.blas import dsyrk, dtrsm
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from mist.baselines import ncm
from mist.baselines.base import WeightedStreamClassifier, widened
from mist.engine.arrays import wider
from mist.engine.compiled import exact
from mist.engine.gaussians import oracle_shrinkage
from mist.options import seed_of
from mist.rows import Array

_EVERY = 50.0
_GROWTH = 1.05
_AGES = 2.0 ** np.arange(1, 9)
"""The head is solved at every integer total weight up to the first number, then whenever the total
weight has grown by the factor, and at these weights of all rows since a class appeared."""

_TINY = 1e-7
"""Features with a smaller share of the mean within-class variance are left out."""

_LEAST_SHRINKAGE = 1e-5
_FARTHEST = 1e100
"""Limit of standardised values, so that sums of squares stay finite."""

_PAIRS = 200
"""Pairs of draws that replace the first rows of a class."""

_FLAT = 1e-10
"""Directions with a smaller share of the largest variance count as flat."""


class RandomFeatureLDAState(NamedTuple):
    """The random layer, its scale, class means and scatter of the features, and the head."""

    projection: Array
    """Random weights, shape (d, m)."""

    offsets: Array
    """Random constants, shape (m,)."""

    centre: Array
    """Mean of each column over the first rows, shape (d,)."""

    spread: Array
    """Standard deviation of each column over the first rows; 0 while a column is constant,
    shape (d,)."""

    scaled_at: Array
    """Total weight at which the scale will be set; 0 once it is set, shape (1,)."""

    seed: Array
    """Seed of the draws, int64, shape (1,)."""

    progress: Array
    """Total weight, and the total weight at which growth next requires a solve, shape (2,)."""

    born: Array
    """Total weight before the first row of each class, shape (K,)."""

    mass: Array
    """Weight of each class, shape (K,)."""

    means: Array
    """Mean features of each class, shape (K, p), with p = d + m. Before the scale is set the
    features are the unscaled columns, and zeros."""

    scatter: Array
    """Within-class scatter of the features, upper triangle, shape (p, p)."""

    units: Array
    """Inverse within-class standard deviation of each feature at the last solve, 0 for a feature
    left out, shape (p,)."""

    factor: Array
    """U of the shrunk correlation matrix U'U at the last solve, upper triangle, shape (p, p)."""


def random_layer(d: int, m: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw weights, shape (d, m), and constants of random features: half dense, half sparse."""
    projection, offsets = rng.normal(size=(d, m)), rng.normal(size=m)
    dense = m // 2
    projection[:, :dense] /= math.sqrt(d)
    offsets[:dense] /= 2.0
    for k in range(dense, m):
        unread = rng.permutation(d)[rng.integers(1, 4) :]
        projection[unread, k] = 0.0
        projection[:, k] /= math.sqrt(float(projection[:, k] @ projection[:, k]))
    return projection, offsets


def with_zeros(state: RandomFeatureLDAState, n_more: int, spread: float) -> RandomFeatureLDAState:
    """Return the state with further columns that were 0 in all rows; ``spread`` is their scale.

    All features but those of the columns themselves stay the same, so it is exact. The half of the
    random features that read all columns draw weights for the new ones; the sparse half does not
    read them.
    """
    d, dense = len(state.centre), len(state.offsets) // 2
    rng = np.random.default_rng([int(state.seed[0]), d])
    weights = np.zeros((n_more, len(state.offsets)))
    weights[:, :dense] = rng.normal(size=(n_more, dense)) / math.sqrt(d + n_more)
    factor = wider(wider(state.factor, n_more, d), n_more, d, axis=0)
    factor[range(d, d + n_more), range(d, d + n_more)] = 1.0
    return state._replace(
        projection=np.vstack([state.projection, weights]),
        centre=wider(state.centre, n_more, d),
        spread=wider(state.spread, n_more, d, fill=spread),
        means=wider(state.means, n_more, d),
        scatter=wider(wider(state.scatter, n_more, d), n_more, d, axis=0),
        units=wider(state.units, n_more, d),
        factor=factor,
    )


def n_active(state: RandomFeatureLDAState) -> int:
    """Return the number of features in use: only the columns before the scale is set."""
    return len(state.centre) if state.scaled_at[0] else len(state.scatter)


def features_of(state: RandomFeatureLDAState, X: Array) -> Array:
    """Return standardised columns (0 if constant so far) and the random features."""
    if state.scaled_at[0]:
        return np.hstack([X, np.zeros((len(X), len(state.offsets)))])
    z = np.zeros_like(X)
    with np.errstate(over="ignore"):
        np.divide(X - state.centre, state.spread, out=z, where=state.spread > 0.0)
    return features_of_standardised(state, np.clip(z, -_FARTHEST, _FARTHEST))


def features_of_standardised(state: RandomFeatureLDAState, z: Array) -> Array:
    """Return the features of standardised rows."""
    return np.hstack([z, np.maximum(z @ state.projection + state.offsets, 0.0)])


def end_constants(state: RandomFeatureLDAState, x: Array) -> None:
    """Set the scale of columns that were constant so far from a row with another value."""
    state.spread[:] = np.where(state.spread > 0.0, state.spread, np.abs(x - state.centre))


@exact
def learn_means(mass: Array, means: Array, rows: Array, codes: Array, weights: Array) -> None:
    """Update the class means; rows are overwritten by the roots of their scatter updates."""
    for i in range(len(rows)):
        c = codes[i]
        if c < 0:
            rows[i] = 0.0
            continue
        before = mass[c]
        mass[c] += weights[i]
        share = weights[i] / mass[c]
        length = math.sqrt(weights[i] * (before / mass[c]))
        for j in range(rows.shape[1]):
            deviation = rows[i, j] - means[c, j]
            means[c, j] += share * deviation
            rows[i, j] = length * deviation


def learn_features(
    state: RandomFeatureLDAState, features: Array, codes: Array, weights: Array
) -> None:
    """Add rows to the class means and the scatter; overwrites the features."""
    if (codes >= 0).any():
        learn_means(state.mass, state.means, features, codes, weights)
        # BLAS is column-major: the upper triangle of rows is the lower triangle of columns.
        dsyrk(1.0, features.T, beta=1.0, c=state.scatter.T, lower=1, overwrite_c=1)


def add_class(state: RandomFeatureLDAState, code: int, more: float, mean: Array) -> None:
    """Add rows of a weight and mean to a class, and to the scatter what their mean adds to it."""
    before = state.mass[code]
    deviation = mean - state.means[code]
    state.mass[code] = before + more
    state.means[code] += deviation * (more / (before + more))
    state.scatter[:] += np.triu(np.outer(deviation, deviation) * (before * more / (before + more)))


def growth_weights(due: float, total: float) -> tuple[list[float], float]:
    """Return the weights up to a total at which growth requires a solve, and the next one."""
    reached = []
    while due <= total:
        reached.append(due)
        due = due + 1.0 if due < _EVERY else float(math.ceil(_GROWTH * due))
    return reached, due


def last_in_each_row(weights: Array, totals: Array) -> Array:
    """Return the last of the weights that each row reaches; row i ends at totals[i + 1]."""
    rows = np.searchsorted(totals, weights)
    return weights[np.diff(rows, append=len(totals)) > 0]


def make_scale(state: RandomFeatureLDAState) -> None:
    """Fix the scale of the columns, and transfer the learnt state to the random features.

    Only class means and scatter of the columns are known of the rows so far. Draws from Gaussian
    classes with these moments replace the rows. Draws come in pairs on either side of the class
    mean, which keeps the mean unchanged.
    """
    d, total = len(state.centre), state.mass.sum()
    # Relative to one of the means a constant column is exactly 0.
    origin = state.means[0, :d].copy()
    shifts = state.means[:, :d] - origin
    shift = state.mass @ shifts / total
    scatter = np.triu(state.scatter[:d, :d])
    squares = scatter.diagonal() + state.mass @ (shifts - shift) ** 2
    state.centre[:] = origin + shift
    state.spread[:] = np.sqrt(squares / total)
    state.scaled_at[0] = 0.0

    inverse = np.divide(1.0, state.spread, out=np.zeros(d), where=state.spread > 0.0)
    means = (shifts - shift) * inverse
    variances, basis = np.linalg.eigh(scatter * (inverse / total) * inverse[:, None], UPLO="U")
    variances[variances < _FLAT * variances.max()] = 0.0
    root = (basis * np.sqrt(variances)) @ basis.T
    draws = np.random.default_rng(state.seed).normal(size=(_PAIRS, d)) @ root
    draws = np.vstack([draws, -draws])

    mass = state.mass.copy()
    for array in (state.mass, state.means, state.scatter):
        array[:] = 0.0
    state.units[:] = 1.0
    state.factor[:] = np.identity(len(state.factor))
    for c in np.flatnonzero(mass):
        codes, weights = np.full(len(draws), c), np.full(len(draws), mass[c] / len(draws))
        learn_features(state, features_of_standardised(state, means[c] + draws), codes, weights)
    state.mass[:] = mass


def solve(state: RandomFeatureLDAState, n: float) -> None:
    """Compute the head, `units` and `factor`, from the scatter of n rows."""
    p, degrees = n_active(state), max(n - np.count_nonzero(state.mass), 1.0)
    squares = state.scatter.diagonal()[:p]
    kept = squares > 0.0
    if p == len(state.scatter):
        kept &= squares >= _TINY * squares.mean()
    if not kept.any():  # no two rows of a class differ: keep the nearest class mean
        return
    inverse = np.divide(1.0, np.sqrt(squares), out=np.zeros(p), where=kept)
    state.units[:p] = inverse * math.sqrt(degrees)
    factor = state.scatter[:p, :p] * inverse
    factor *= inverse[:, None]
    factor.flat[:: p + 1] = 0.0
    n_kept = int(kept.sum())
    squared = 2.0 * float(np.einsum("ij,ij", factor, factor)) + n_kept
    shrinkage = oracle_shrinkage(squared, float(n_kept), float(n), _LEAST_SHRINKAGE)
    factor *= 1.0 - shrinkage
    factor.flat[:: p + 1] = 1.0
    state.factor[:p, :p] = cholesky(factor, check_finite=False)


def whitened(state: RandomFeatureLDAState, features: Array) -> Array:
    """Return rows in the basis in which the covariance of the head is the identity."""
    p = n_active(state)
    rows = features[:, :p] * state.units[:p]
    return dtrsm(1.0, state.factor[:p, :p].T, rows.T, lower=1, overwrite_b=1).T


class RandomFeatureLDA(WeightedStreamClassifier):
    r"""Linear discriminant analysis on a random layer that is drawn once and never trained.

    The features of a row, with z its standardised columns, are

    .. math::
        \phi(x) = \left[ z, \max(0, W^\top z + b), \max(0, V^\top z + c) \right], \quad
        W_{jk} \sim N(0, 1 / d), \quad b_k \sim N(0, 1 / 4), \quad c_k \sim N(0, 1),

    where each column of V has one to three normal entries, scaled to length 1, and is zero
    otherwise. With the class means :math:`\mu_k` of the features and the scatter S within the K
    classes of n rows, the score of class k is

    .. math::
        \phi^\top \Lambda \mu_k - \tfrac{1}{2} \mu_k^\top \Lambda \mu_k, \qquad
        \Lambda = D^{-1/2} \left[ (1 - s) R + s I \right]^{-1} D^{-1/2}, \qquad
        S / (n - K) = D^{1/2} R D^{1/2},

    up to a term common to all classes. D is diagonal, R is the correlation matrix, and s is the
    share of oracle approximating shrinkage (OAS), at least 1e-5. `predict_proba` is the softmax
    of the scores: the posterior of Gaussian classes.

    Parameters
    ----------
    n_features : int, default=1000
        Number m of random features, 1 or more; half of them read all columns, half one to three.
        More features add accuracy and cost time and memory.
    scale_rows : int, default=50
        Number of first rows that set the scale of the columns permanently. Use 0 for rows that are
        already standardised: the columns are then not scaled.
    class_prior : {"balanced", "counts"}, default="balanced"
        ``"balanced"`` treats all classes as equally frequent, as in `SLDA` and `SQDA`;
        ``"counts"`` adds :math:`\log n_k / n` to the score.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the layer; None means 0.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
        Labels seen or declared so far, sorted; may grow at every call.
    n_features_in_ : int
        Number of columns d.
    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        Column names; only if the rows came with names.
    nbytes : int
        Exact bytes of the state with the random layer: about 16 (d + m)^2, and 8 (d + m) per class.

    Notes
    -----
    Scale. The first `scale_rows` rows set the scale, which is then fixed. No rows are kept: until
    then the model is a linear discriminant on the columns, which needs only means and a scatter.
    Their information is then transferred to the random features, by draws from Gaussian classes
    with these moments; other information in the first rows is lost. A column that is constant so
    far gets its scale from its first other value, the distance from the constant. This is exact,
    as the column was 0 until then. Means and scatter are sums over rows: before the scale is set,
    and after it, they do not depend on the order of rows, up to rounding.

    Refreshes. Means change with every row. :math:`\Lambda` changes with every row up to n = 50,
    then when n has grown by 5 %, and 2, 4, 8, ..., 256 rows after the arrival of each class.
    These n do not depend on how rows were divided into calls. `predict` also uses the last
    :math:`\Lambda`, so `prequential` equals a prediction before each row. A new class can be
    predicted after its first row. A weight counts as copies: if part of the weight of a row
    reaches such an n, :math:`\Lambda` has learnt that part.

    Cost. With p = d + m, a row costs :math:`O(p^2)` to learn or predict, mostly in matrix products
    of many rows, and a refresh costs :math:`p^3 / 3`. Without predictions there is at most one
    refresh for 1024 rows of a call. Features whose within-class variance is below 1e-7 of the mean
    are left out.

    Learning n rows in one call equals n calls with one row to rounding: the rounding of a matrix
    product depends on the number of rows.

    References
    ----------
    McDonnell et al., "RanPAC: Random Projections and Pre-trained Models for Continual
    Learning", NeurIPS 2023. Rahimi and Recht, "Random Features for Large-Scale Kernel
    Machines", NeurIPS 2007. Chen, Wiesel, Eldar and Hero, "Shrinkage Algorithms for MMSE
    Covariance Estimation", IEEE Transactions on Signal Processing 58, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from mist.baselines import RandomFeatureLDA
    >>> angle = np.linspace(0.0, 6.0, 25)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> model = RandomFeatureLDA(n_features=100, scale_rows=0)
    >>> model = model.partial_fit(0.1 * ring, ["core"] * 25)
    >>> model = model.partial_fit(ring, ["ring"] * 25)
    >>> model.predict([[0.1, 0.0], [0.0, -1.0]])
    array(['core', 'ring'], dtype='<U4')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "scale_rows": [Interval(Integral, 0, None, closed="left")],
        "class_prior": [StrOptions({"balanced", "counts"})],
    }

    def __init__(
        self,
        *,
        n_features: int = 1000,
        scale_rows: int = 50,
        class_prior: str = "balanced",
        random_state: Any = None,
    ) -> None:
        self.n_features = n_features
        self.scale_rows = scale_rows
        self.class_prior = class_prior
        self.random_state = random_state

    def merge(self, other: RandomFeatureLDA) -> Self:
        """Add the state of another model, as if this model had learnt its rows.

        The result is exact up to rounding and symmetric: means and scatter are sums over rows.

        Parameters
        ----------
        other : RandomFeatureLDA
            A fitted model with equal parameters and seed, and ``scale_rows=0``, as otherwise each
            model is scaled by its own first rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the features or scales differ. The model is then unchanged.

        Examples
        --------
        >>> import numpy as np
        >>> from mist.baselines import RandomFeatureLDA
        >>> X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
        >>> X[:, 0] += 3 * y
        >>> parts = [RandomFeatureLDA(n_features=20, scale_rows=0) for _ in range(2)]
        >>> for part, rows in zip(parts, (slice(0, 30), slice(30, 60))):
        ...     part = part.partial_fit(X[rows], y[rows])
        >>> bool((parts[0].merge(parts[1]).predict(X) == y).mean() > 0.9)
        True
        """
        return self._lock.write(lambda: self._merge(other))

    def _merge(self, other: RandomFeatureLDA) -> Self:
        check_is_fitted(self)
        check_is_fitted(other)
        mine, theirs = self._state, other._state
        alike = mine.scatter.shape == theirs.scatter.shape and all(
            np.array_equal(getattr(mine, name), getattr(theirs, name))
            for name in ("projection", "offsets", "centre", "spread", "scaled_at")
        )
        if not alike or mine.scaled_at[0] or self.class_prior != other.class_prior:
            raise ValueError(
                "models can be merged only with equal columns, n_features, class_prior and "
                "random_state, and scale_rows=0: standardise the rows before"
            )
        labels = other._labels.plain(other.classes_[other._labels.ranks])
        self._labels.add(self._labels.plain(labels))
        self.classes_ = self._labels.classes
        state = self._state = self._grown(mine, len(self._labels.ranks))
        total = state.progress[0]
        for theirs_code, code in enumerate(self._labels.encode(labels)):
            if state.mass[code] == 0.0:
                state.born[code] = total
            add_class(state, code, theirs.mass[theirs_code], theirs.means[theirs_code])
        state.scatter[:] += np.triu(theirs.scatter)
        state.progress[0] = total + theirs.progress[0]
        state.progress[1] = growth_weights(state.progress[1], state.progress[0])[1]
        solve(state, state.progress[0])
        return self

    def _new_state(self, n_features: int) -> RandomFeatureLDAState:
        rng = np.random.default_rng(seed_of(self.random_state))
        d, m = n_features, int(self.n_features)
        p = d + m
        projection, offsets = random_layer(d, m, rng)
        return RandomFeatureLDAState(
            projection=projection,
            offsets=offsets,
            centre=np.zeros(d),
            spread=np.ones(d),
            scaled_at=np.array([float(self.scale_rows)]),
            seed=rng.integers(2**63, size=1),
            progress=np.array([0.0, 1.0]),
            born=np.zeros(0),
            mass=np.zeros(0),
            means=np.zeros((0, p)),
            scatter=np.zeros((p, p)),
            units=np.ones(p),
            factor=np.identity(p),
        )

    def _add_zeros(self, n_more: int) -> None:
        """Add columns behind all others that were 0 in all rows learnt so far."""
        # Once the rows have set a scale, columns that were constant have none.
        scaled = self.scale_rows > 0 and not self._state.scaled_at[0]
        self._state = with_zeros(self._state, n_more, 0.0 if scaled else 1.0)
        self.n_features_in_ += n_more

    def _grown(self, state: RandomFeatureLDAState, n_codes: int) -> RandomFeatureLDAState:
        return state._replace(
            born=widened(state.born, n_codes),
            mass=widened(state.mass, n_codes),
            means=widened(state.means, n_codes),
        )

    def _run(self, X: Array, codes: Array, weights: Array, n_known: int, scores: Array) -> None:
        state = self._state
        learnt = np.where(codes >= 0, weights, 0.0)
        totals = np.cumsum(np.append(state.progress[0], learnt))
        n_then = max(n_known, 1 + int(codes.max()))
        for c in range(n_known, n_then):
            state.born[c] = totals[np.argmax(codes == c)]
        grown, following = growth_weights(state.progress[1], totals[-1])
        due = np.union1d(grown, np.add.outer(state.born[:n_then], _AGES))
        due = due[(due > totals[0]) & (due <= totals[-1])]
        due = last_in_each_row(due, totals if len(scores) else totals[[0, -1]])
        scaled_at = state.scaled_at[0]
        scaled = [scaled_at] if 0.0 < scaled_at <= totals[-1] else []
        level, row = totals[0], 0
        for stop in [*np.union1d(due, scaled).tolist(), math.inf]:
            # Learn up to the stop: an earlier stop may have learnt part of the first row, and the
            # last row may be learnt in part.
            end = min(int(np.searchsorted(totals, stop)), len(X))
            rows, parts = slice(row, end), learnt[row:end].copy()
            if row < end:
                begun = level > totals[row]
                answers = scores[row : row + begun].copy()
                parts[0] -= level - totals[row]
                parts[-1] -= max(0.0, totals[end] - stop)
                known = np.where(parts > 0.0, codes[rows], -1)
                self._pass(X[rows], known, parts, n_known, scores[rows])
                scores[row : row + begun] = answers
                n_known = max(n_known, 1 + int(known.max()))
            if stop in scaled:
                make_scale(state)
            if stop in due or stop in scaled:
                solve(state, stop)
            level, row = stop, end - int(totals[end] > stop)
        state.progress[:] = totals[-1], following

    def _pass(self, X: Array, codes: Array, weights: Array, n_known: int, scores: Array) -> None:
        """Test-then-train on rows with the same head."""
        state, start = self._state, 0
        while start < len(X):
            # Rows before the end of a constant column have the same features.
            constant = np.flatnonzero(state.spread == 0.0)
            ends = (codes >= 0) & (X[:, constant] != state.centre[constant]).any(axis=1)
            ends[:start] = False
            stop = int(ends.argmax()) if ends.any() else len(X)
            for rows in (slice(start, stop), slice(stop, stop + 1)):
                if len(X[rows]):
                    block = codes[rows], weights[rows]
                    features = features_of(state, X[rows])
                    if len(scores) and n_known:
                        self._score(features, *block, n_known, scores[rows])
                    if rows.start == stop:
                        end_constants(state, X[stop])
                        features = features_of(state, X[rows])
                    learn_features(state, features, *block)
                    n_known = max(n_known, 1 + int(block[0].max()))
            start = stop + 1

    def _score(
        self, features: Array, codes: Array, weights: Array, n_known: int, scores: Array
    ) -> None:
        """Score each row, with means updated by the rows before it.

        For whitened features the score is that of the nearest class mean.
        """
        state = self._state
        mass, means = state.mass.copy(), whitened(state, state.means)
        rows = whitened(state, features)
        ncm.run(mass, means, rows, codes, weights, n_known, scores)
        if self.class_prior == "counts":
            gained = np.zeros_like(scores)
            learnt = np.flatnonzero(codes[:-1] >= 0)
            gained[learnt + 1, codes[learnt]] = weights[learnt]
            mass = state.mass + np.cumsum(gained, axis=0)
            with np.errstate(divide="ignore"):
                scores += np.log(mass / mass.sum(axis=1, keepdims=True))
