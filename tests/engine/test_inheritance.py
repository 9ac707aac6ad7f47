"""What two children get from their parent."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import naive
from mist import MistClassifier
from mist.engine.inheritance import (
    LEAST_MASS,
    fractions,
    n_splits,
    split_leaf,
    truncated_moments,
)
from mist.engine.state import M2, MEAN, N_LEAVES, PREC, State, leaf_cells
from published import paper_tree

NAN = math.nan
NEVER = 10**9  # grace period of a tree that does not split by itself


def grown(X, y, weights=None, **options: Any) -> MistClassifier:
    options = {"grace_period": NEVER, **options}
    return paper_tree(**options).partial_fit(X, y, sample_weight=weights)


def blobs(n: int, seed: int = 0, missing: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Three overlapping classes in two numeric columns and one 0/1 column."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 3)) + y[:, None] * [0.5, 1.0, 0.3]
    X[:, 2] = X[:, 2] > 0.5
    X[rng.random(X.shape) < missing] = NAN
    return X, y


def children(state: State) -> list[dict[int, int]]:
    """Cells of the two leaves by class code, left leaf first."""
    return [
        {int(state.tree.cells.code[c]): int(c) for c in leaf_cells(state.tree, leaf)}
        for leaf in (0, 1)
    ]


def truncated(mean: float, variance: float, v: float, side: str) -> tuple[float, float]:
    """The engine's truncated moments of one Gaussian."""
    got = truncated_moments(np.array([mean]), np.array([variance]), v, side == "left")
    return float(got[0][0]), float(got[1][0])


# --- truncated moments ------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("zeta", [-6.0, -2.5, -1.0, -0.1, 0.0, 0.5, 2.0, 6.0])
def test_truncated_moments_match_numerical_integration(zeta, side):
    mean, sd = -3.0, 1.7
    low, high = (-14.0, zeta) if side == "left" else (zeta, 14.0)
    peak = norm.logpdf(min(max(0.0, low), high))

    def moment(power: int, centre: float) -> float:
        def density(z: float) -> float:
            return (z - centre) ** power * math.exp(norm.logpdf(z) - peak)

        inside = [min(max(p, low), high) for p in (-2.0, 0.0, 2.0)]
        return quad(density, low, high, epsabs=1e-13, epsrel=1e-12, limit=300, points=inside)[0]

    mass = moment(0, 0.0)
    centre = moment(1, 0.0) / mass
    got = truncated(mean, sd**2, mean + zeta * sd, side)
    assert got[0] == pytest.approx(mean + sd * centre, abs=1e-9)
    assert got[1] == pytest.approx(sd**2 * moment(2, centre) / mass, rel=1e-7)


def test_truncated_moments_stay_in_range_far_out():
    for variance in (1.0, 1e-12, 1e12):
        sd = math.sqrt(variance)
        for zeta in np.linspace(-40.0, 40.0, 321):
            v = 2.0 + zeta * sd
            for side in ("left", "right"):
                mean, var = truncated(2.0, variance, v, side)
                assert math.isfinite(mean)
                assert 0.0 <= var <= variance
                slack = 1e-9 * (sd + abs(v))
                assert (
                    mean <= min(v, 2.0) + slack if side == "left" else mean >= max(v, 2.0) - slack
                )


def test_tails_follow_the_series_of_mills_ratio():
    for z in (10.0, 20.0, 40.0):
        mean, var = truncated(0.0, 1.0, z, "right")
        assert mean == pytest.approx(z + 1 / z - 2 / z**3 + 10 / z**5, abs=80 / z**7)
        assert var == pytest.approx(1 / z**2 - 6 / z**4 + 50 / z**6, abs=600 / z**8)
        assert truncated(0.0, 1.0, -z, "left") == (-mean, var)
        assert truncated(0.0, 1.0, z, "left") == pytest.approx((0.0, 1.0), abs=1e-20)


def mills(x: float) -> tuple[float, float]:
    """Of what lies beyond x: how far from x the mean is, and the variance; sixty digits.

    The hazard is x + 1/(x + 2/(x + 3/...)), a continued fraction.
    """
    with localcontext(prec=60):
        rest = Decimal(0)
        for k in range(4000, 0, -1):
            rest = k / (Decimal(x) + rest)
        return float(rest), float(1 - (Decimal(x) + rest) * rest)


@pytest.mark.parametrize(
    "z", [0.5, 1.0, 3.0, 6.0, 7.999, 8.0, 8.001, 12.0, 50.0, 1e3, 1e6, 1e8, 1e12, 1e15]
)
def test_truncated_moments_have_their_digits_however_far_out(z):
    beyond, spread = mills(z)
    for sd in (1e-140, 1.0, 1e130):
        for left in (False, True):
            side = -1.0 if left else 1.0
            v = np.array([side * z * sd])
            with np.errstate(all="raise", under="ignore"):
                mean, variance = truncated_moments(np.zeros(1), np.array([sd**2]), v, left)
            assert variance[0] == pytest.approx(sd**2 * spread, rel=1e-11)
            assert mean[0] == pytest.approx(side * (z + beyond) * sd, rel=1e-14)
            assert side * (mean[0] - v[0]) >= 0.0
    # Where the threshold is the origin, what is beyond it is all there is to see.
    mean, _ = truncated_moments(np.array([-z]), np.ones(1), 0.0, left=False)
    assert mean[0] == pytest.approx(beyond, rel=1e-13 * (1.0 if z > 8.0 else 100.0))


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("variance", [5e-324, 1e-300, 1.0, 1e300])
def test_truncation_at_any_threshold_is_finite_and_on_its_side(variance, left):
    for mean in (-1e150, 0.0, 1e-300, 1e150):
        for v in (-1e150, -1.0, 0.0, 5e-324, 1e12, 1e150):
            with np.errstate(all="raise", under="ignore"):
                kept = truncated_moments(np.array([mean]), np.array([variance]), v, left)
                shares = fractions(np.array([mean]), np.array([variance]), v)
            assert 0.0 <= kept[1][0] <= variance
            slack = 1e-12 * math.sqrt(variance)
            if left:
                assert kept[0][0] <= min(mean, v) + slack
            else:
                assert kept[0][0] >= max(mean, v) - slack
            assert shares[0] + shares[1] == pytest.approx(1.0)


def test_truncated_moments_are_the_twins():
    rng = np.random.default_rng(0)
    mean, variance = rng.normal(size=200), rng.lognormal(0.0, 2.0, 200)
    variance[::10] = 0.0
    for v in (-3.0, 0.0, 2.0):
        for side in ("left", "right"):
            got = truncated_moments(mean, variance, v, side == "left")
            both = zip(mean.tolist(), variance.tolist(), strict=True)
            expected = [naive.truncated_moments(m, s, v, side) for m, s in both]
            np.testing.assert_allclose(np.transpose(got), expected, rtol=1e-9, atol=1e-12)


def test_truncated_moments_without_variance_are_unchanged():
    assert truncated(2.0, 0.0, 1.0, "right") == truncated(2.0, 0.0, 1.0, "left") == (2.0, 0.0)


# --- children ---------------------------------------------------------------------------------


@pytest.mark.parametrize("discount", [0.2, 0.6, 1.0])
@pytest.mark.parametrize("inheritance", ["gaussian", "mass", "sketch"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize(("feature", "v"), [(0, 0.7), (2, 0.5)])
def test_children_hold_the_discounted_mass_and_the_parents_moments(
    feature, v, missing, inheritance, discount
):
    X, y = blobs(600, missing=missing)
    options = {"categorical_features": [2], "thresholds": "medians"}
    state = grown(X, y, **options)._state
    cells, stats = state.tree.cells.copy(), state.tree.stats.copy()
    known = state.observed.cell.copy() if missing else np.repeat(cells.weight[:, None], 3, 1)
    split_leaf(state, 0, feature, v, inheritance, discount)
    sides = children(state)
    tree = state.tree
    assert tree.nodes.mass[1:3].sum() == pytest.approx(discount * 600)
    for parent in range(3):
        code = int(cells.code[parent])
        born = [side[code] for side in sides]
        assert tree.cells.weight[born].sum() == pytest.approx(discount * cells.weight[parent])
        assert tree.cells.count[born].tolist() == [0.0, 0.0]
        assert tree.cells.start[born].tolist() == [-1, -1]  # sketches are not inherited
        if missing:
            seen = state.observed.cell[born]
        else:
            assert state.observed is None
            seen = np.repeat(tree.cells.weight[born][:, None], 3, 1)
        np.testing.assert_allclose(seen.sum(axis=0), discount * known[parent], rtol=1e-9)
        mean = (seen * tree.stats[born, MEAN]).sum(axis=0) / seen.sum(axis=0)
        between = (seen * (tree.stats[born, MEAN] - mean) ** 2).sum(axis=0)
        total = tree.stats[born, M2].sum(axis=0) + between
        # Laws of total mean and variance: the two parts make up the whole.
        by_sketch = inheritance == "sketch" and feature == 0
        exact = [1, 2] if by_sketch else [0, 1, 2]
        np.testing.assert_allclose(mean[exact], stats[parent, MEAN][exact], rtol=1e-9)
        if feature == 2:
            exact.remove(2)  # the children's 0/1 column does not vary
        np.testing.assert_allclose(total[exact], discount * stats[parent, M2][exact], rtol=1e-9)
        left, right = tree.stats[born, MEAN, feature]
        if feature == 2:
            assert (left, right) == (0.0, 1.0)
        elif inheritance == "mass":
            assert left == right == stats[parent, MEAN, 0]
        else:
            assert left < v < right
    for leaf in (0, 1):
        born = leaf_cells(tree, leaf)
        assert tree.leaves.weight[leaf] == pytest.approx(tree.cells.weight[born].sum())
        np.testing.assert_allclose(tree.spread[leaf], tree.stats[born, M2].sum(axis=0), rtol=1e-9)
        assert (
            tree.leaves.weight_seen[leaf]
            == tree.leaves.n_updates[leaf]
            == tree.leaves.tried[leaf]
            == 0
        )
        assert not tree.leaves.prior_only[leaf]
        assert (tree.stats[born, PREC, :2] > 0.0).all()  # refreshed at birth


@pytest.mark.parametrize("inheritance", ["gaussian", "mass", "sketch", None])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("prior", [1.0, 30.0])
def test_children_answer_as_the_twins(prior, missing, inheritance):
    X, y = blobs(400, seed=3, missing=missing)
    options = {"categorical_features": [2], "inheritance": inheritance, "discount": 0.5}
    options["variance_prior"] = prior
    for feature, v in ((0, -0.4), (1, 2.5), (2, 0.5)):
        model = grown(X, y, **options)
        twin = naive.NaiveMist(grace_period=NEVER, **options)
        for x, label in zip(X.tolist(), y.tolist(), strict=True):
            twin.learn_row(x, label)
        split_leaf(model._state, 0, feature, v, inheritance, 0.5)
        twin.split(0, feature, v)
        for x, p in zip(X[:40].tolist(), model.predict_proba(X[:40]), strict=True):
            shares = twin.predict_proba(x)
            assert [shares[c] for c in range(3)] == pytest.approx(p.tolist(), abs=1e-9)


def test_gaussian_parts_are_those_of_the_distribution():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(500, 1))
    state = grown(X, np.zeros(500, int))._state
    mean, sd = X.mean(), X.std()
    split_leaf(state, 0, 0, 0.3, "gaussian", 1.0)
    (left,), (right,) = (side.values() for side in children(state))
    share = norm.cdf(0.3, mean, sd)
    assert state.tree.cells.weight[[left, right]].tolist() == pytest.approx(
        [500 * share, 500 * (1 - share)]
    )
    for cell, side in ((left, "left"), (right, "right")):
        expected = naive.truncated_moments(mean, sd**2, 0.3, side)
        weight = state.tree.cells.weight[cell]
        assert state.tree.stats[cell, MEAN, 0] == pytest.approx(expected[0])
        assert state.tree.stats[cell, M2, 0] / weight == pytest.approx(expected[1])


def test_0_1_columns_give_the_counts_of_co_occurrence():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 4, 500)
    X = np.column_stack([rng.normal(size=500), rng.random(500) < 0.2 + 0.2 * y])
    X[y == 3, 1] = 1.0  # class 3 never goes left
    model = grown(X, y, categorical_features=[1])
    split_leaf(model._state, 0, 1, 0.5, "gaussian", 1.0)
    codes = {code: label for code, label in enumerate(dict.fromkeys(y.tolist()))}
    for value, side in enumerate(children(model._state)):
        weights = {codes[code]: model._state.tree.cells.weight[c] for code, c in side.items()}
        counts = {c: np.sum((y == c) & (X[:, 1] == value)) for c in range(4)}
        assert weights == pytest.approx({c: n for c, n in counts.items() if n})


@pytest.mark.parametrize("side", [0, 1])
def test_rows_without_a_value_follow_the_larger_side(side):
    v = 1.5 if side == 0 else -1.5  # most of the known mass is on that side
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(300, 2)), np.arange(300) % 3
    X[y == 1, 0] = NAN  # class 1 has no value in the split column
    X[(y == 2) & (rng.random(300) < 0.5), 0] = NAN
    model = grown(X, y)
    unknown = np.isnan(X[y == 2, 0]).sum()
    split_leaf(model._state, 0, 0, v, "gaussian", 0.5)
    state = model._state
    larger, smaller = children(state)[side], children(state)[1 - side]
    assert 1 not in smaller
    assert state.tree.cells.weight[larger[1]] == pytest.approx(50.0)
    assert state.observed.cell[larger[1]].tolist() == pytest.approx([0.0, 50.0])
    assert state.tree.stats[larger[1], :2, 0].tolist() == [0.0, 0.0]
    known = state.observed.cell[[larger[2], smaller[2]], 0]
    assert known.sum() == pytest.approx(0.5 * (100 - unknown))
    assert state.tree.cells.weight[larger[2]] == pytest.approx(known[0] + 0.5 * unknown)
    assert state.tree.cells.weight[smaller[2]] == pytest.approx(known[1])
    assert model.apply([[NAN, 0.0]]).tolist() == [1 + side]


def test_rows_without_a_value_go_left_when_both_sides_are_equal():
    X = np.r_[np.zeros(10), np.ones(10), np.full(5, NAN)][:, None]
    for y in (np.zeros(25, int), np.arange(25) % 5):
        model = grown(X, y, categorical_features=[0])
        split_leaf(model._state, 0, 0, 0.5, "gaussian", 1.0)
        assert model._state.tree.nodes.mass[1:3].tolist() == pytest.approx([15.0, 10.0])


@pytest.mark.parametrize("discount", [0.1, 0.5, 1.0])
def test_no_cell_below_half_a_row(discount):
    rng = np.random.default_rng(7)
    y = rng.integers(0, 12, 400)
    X = rng.normal(size=(400, 1)) + 0.7 * y[:, None]
    state = grown(X, y)._state
    codes, weight = state.tree.cells.code.copy(), state.tree.cells.weight.copy()
    mean, m2, _ = state.tree.stats[:12, :, 0].T
    share = norm.cdf((4.0 - mean) / np.sqrt(m2 / weight[:12]))
    split_leaf(state, 0, 0, 4.0, "gaussian", discount)
    dropped = 0
    for side, part in zip(children(state), (share, 1.0 - share), strict=True):
        expected = {int(codes[i]): discount * part[i] * weight[i] for i in range(12)}
        expected = {code: w for code, w in expected.items() if w >= LEAST_MASS}
        got = {code: state.tree.cells.weight[c] for code, c in side.items()}
        assert list(got) == list(expected)  # in the parent's order
        assert got == pytest.approx(expected)
        assert min(got.values()) >= 0.5
        dropped += 12 - len(got)
    assert dropped > 0


def test_a_child_below_half_a_row_in_every_class_is_an_orphan():
    X, y = np.random.default_rng(8).normal(size=(60, 1)), np.repeat([0, 1, 2], [10, 20, 30])
    model = grown(X, y)
    split_leaf(model._state, 0, 0, -9.0, "gaussian", 0.6)
    tree = model._state.tree
    assert tree.leaves.prior_only[:2].tolist() == [1, 0]
    assert tree.nodes.mass[1] == 0.0
    np.testing.assert_allclose(model.predict_proba([[-9.5]])[0], np.array([11, 21, 31]) / 63)
    assert tree.nodes.mass[2] == pytest.approx(0.6 * 60)


@pytest.mark.parametrize("leaf", ["gaussian", "sketch", "majority"])
def test_without_inheritance_the_class_masses_answer_until_the_first_row(leaf):
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(100, 2)), np.repeat([0, 1, 2], [20, 30, 50])
    model = grown(X, y, leaf=leaf)
    split_leaf(model._state, 0, 0, 0.0, None, 0.6)
    expected = np.array([21.0, 31.0, 51.0]) / 103.0
    for x in ([-1.0, 0.0], [1.0, 99.0], [NAN, NAN]):
        np.testing.assert_allclose(model.predict_proba([x])[0], expected)
    assert model._state.tree.nodes.mass[1:3].tolist() == [0.0, 0.0]
    model.partial_fit([[-1.0, 0.0]], [1])  # from here on the left leaf knows its own rows only
    assert model.predict_proba([[-2.0, 5.0]])[0].tolist() == [0.0, 1.0, 0.0]
    np.testing.assert_allclose(model.predict_proba([[2.0, 5.0]])[0], expected)
    assert model._state.tree.nodes.mass[1:3].tolist() == [1.0, 0.0]
    model.partial_fit([[-1.0, 0.0], [-2.0, 1.0]], [0, 1])
    tree = model._state.tree
    assert tree.leaves.prior_only[:2].tolist() == [0, 1]
    assert tree.leaves.weight_seen[:2].tolist() == [3.0, 0.0]
    assert sorted(tree.cells.weight[leaf_cells(tree, 0)].tolist()) == [1.0, 2.0]


def test_sketch_inheritance_takes_the_medians_of_the_parts():
    state = grown(np.arange(40.0)[:, None], np.zeros(40, int), sketch_size=100)._state
    split_leaf(state, 0, 0, 19.5, "sketch", 1.0)
    (left,), (right,) = (side.values() for side in children(state))
    assert state.tree.stats[[left, right], MEAN, 0].tolist() == [9.0, 29.0]


def test_means_of_a_class_without_a_sketch_are_those_of_the_gaussian():
    X, y = np.random.default_rng(10).normal(size=(200, 1)), np.arange(200) % 2
    by_sketch, by_gaussian = (grown(X, y, max_classes_per_leaf=1)._state for _ in range(2))
    split_leaf(by_sketch, 0, 0, 0.2, "sketch", 1.0)
    split_leaf(by_gaussian, 0, 0, 0.2, "gaussian", 1.0)
    for a, b in zip(children(by_sketch), children(by_gaussian), strict=True):
        means = [
            state.tree.stats[[side[0], side[1]], MEAN, 0]
            for state, side in ((by_sketch, a), (by_gaussian, b))
        ]
        assert means[0][0] != means[1][0]
        assert means[0][1] == means[1][1]


def test_a_split_is_a_node_with_two_leaves():
    X, y = blobs(200)
    model = grown(X, y, categorical_features=[2])
    assert n_splits(model._state) == 0
    split_leaf(model._state, 0, 1, 0.25, "gaussian", 0.6)
    split_leaf(model._state, 1, 2, 0.5, "gaussian", 0.6)  # the right leaf
    state, nodes = model._state, model._state.tree.nodes
    assert n_splits(state) == 2
    assert state.tree.counters[N_LEAVES] == 3
    assert nodes.feature[:5].tolist() == [1, -1, 2, -1, -1]
    assert nodes.threshold[[0, 2]].tolist() == [0.25, 0.5]
    assert nodes.left[:5].tolist() == [1, -1, 3, -1, -1]
    assert nodes.right[:5].tolist() == [2, -1, 4, -1, -1]
    assert nodes.depth[:5].tolist() == [0, 1, 1, 2, 2]
    assert nodes.leaf[:5].tolist() == [-1, 0, -1, 1, 2]
    assert state.tree.leaves.node[:3].tolist() == [1, 3, 4]
