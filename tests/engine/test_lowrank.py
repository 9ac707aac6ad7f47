"""Classes of low rank plus a diagonal: against their slow twin, and what must always hold."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm, truncnorm

from mist.engine.low_rank_gaussians import (
    LAST_SCALE,
    LeafShared,
    LowRank,
    LowRankWorkspace,
    absorb,
    clear,
    learn,
    log_density,
    make_workspace,
    new_common,
    new_low_rank,
    own_factor,
    refresh_leaf,
    sign_matrix,
)
from mist.engine.low_rank_upkeep import class_bytes, copy, cut, merge, weigh
from naive_lowrank import NaiveLowRankLeaf


class Leaf(NamedTuple):
    pool: LowRank
    common: LeafShared
    room: LowRankWorkspace
    members: list[int]  # in the order of their first rows
    total: list[float]


def empty(a: int, b: int = 0, rank: int = 4, classes: int = 3) -> Leaf:
    pool = new_low_rank(classes, a, b, rank)
    return Leaf(pool, new_common(1, pool), make_workspace(pool), [], [0.0])


def chain(leaf: Leaf) -> tuple[int, np.ndarray]:
    """The first class of a leaf, and the one behind each."""
    following = np.full(len(leaf.pool.head), -1)
    following[leaf.members[:-1]] = leaf.members[1:]
    return leaf.members[0], following


def teach(leaf: Leaf, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> Leaf:
    for i, g in enumerate(y.tolist()):
        w = 1.0 if weights is None else float(weights[i])
        if g not in leaf.members:
            leaf.members.append(g)
        leaf.total[0] += w
        learn(leaf.pool, leaf.common, 0, *chain(leaf), g, X, i, w, leaf.total[0], leaf.room)
    return leaf


def densities(leaf: Leaf, X: np.ndarray) -> np.ndarray:
    pool, common, room = leaf.pool, leaf.common, leaf.room
    return np.array(
        [[log_density(pool, common, 0, g, X, i, room) for g in leaf.members] for i in range(len(X))]
    )


def renewed(leaf: Leaf) -> Leaf:
    refresh_leaf(leaf.pool, leaf.common, 0, *chain(leaf), leaf.room)
    return leaf


def rows(
    seed: int,
    n: int = 240,
    a: int = 9,
    b: int = 0,
    *,
    classes: int = 3,
    inner: int = 3,
    noise: float = 0.5,
    holes: float = 0.0,
    scales: bool = False,
    offset: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Classes whose columns hang together through a few inner variables."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    mixing = rng.normal(size=(classes, inner, a))
    X = rng.normal(size=(classes, a))[y] + noise * rng.normal(size=(n, a))
    X += np.einsum("ni,nij->nj", rng.normal(size=(n, inner)), mixing[y])
    if scales:
        X *= 10.0 ** rng.integers(-4, 5, a)
    ones = (rng.random((n, b)) < rng.random((classes, b))[y]).astype(float)
    X = np.hstack([X + offset, ones])
    X[rng.random(X.shape) < holes] = np.nan
    return X, y


def own_products(pool: LowRank, g: int, room: LowRankWorkspace) -> np.ndarray:
    factor = np.empty_like(pool.signs)
    own_factor(pool.sketch[g], pool.scale[g], pool.signs, pool.m2[g], factor, room)
    return factor @ factor.T


# --- the twin ---------------------------------------------------------------------------------


def never_seen(X: np.ndarray, y: np.ndarray) -> None:
    X[np.ix_(y == 1, [2, X.shape[1] - 1])] = np.nan


def constant_at_first(X: np.ndarray, y: np.ndarray) -> None:
    X[:60, 3] = 7.0
    X[:, 4] = -2.0
    X[y == 2, 5] = 1.0


CASES = {
    "plain": ({}, None),
    "scales": ({"scales": True, "offset": 3.0}, None),
    "binary": ({"b": 3}, None),
    "constant": ({}, constant_at_first),
    "holes": ({"holes": 0.2, "b": 2}, None),
    "never": ({"holes": 0.1, "b": 1}, never_seen),
    "many rows": ({"n": 900, "a": 6}, None),
}


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_twin(name: str) -> None:
    options, change = CASES[name]
    X, y = rows(3, **options)
    if change is not None:
        change(X, y)
    b = options.get("b", 0)
    weights = np.random.default_rng(5).choice([0.5, 1.0, 3.0], len(y))
    a = X.shape[1] - b
    leaf = teach(empty(a, b), X, y, weights)
    twin = NaiveLowRankLeaf(a, b, 4)
    for x, g, w in zip(X, y.tolist(), weights.tolist(), strict=True):
        twin.learn(g, x, w)
    for g, k in twin.classes.items():
        assert_allclose(leaf.pool.mean[g], k.mean, rtol=1e-9, atol=1e-9 * np.abs(k.mean).max())
        assert_allclose(leaf.pool.m2[g], k.m2, rtol=1e-7)
        assert_allclose(leaf.pool.weight[g], k.weight, rtol=1e-9)
    probe = rows(4, **{**options, "n": 30, "holes": 0.2})[0]
    probe[:10] = X[:10]
    theirs = [[twin.log_density(g, x) for g in leaf.members] for x in probe]
    assert_allclose(densities(leaf, probe), theirs, rtol=1e-6, atol=1e-5)


# --- sketches ---------------------------------------------------------------------------------


def test_signs_do_not_depend_on_the_number_of_columns() -> None:
    assert (np.abs(sign_matrix(20, 8)) == 1.0).all()
    assert (sign_matrix(40, 8)[:20, :5] == sign_matrix(20, 5)).all()


def test_products_of_low_rank_are_told_exactly() -> None:
    X, y = rows(1, 600, 12, classes=1, noise=0.0)
    leaf = teach(empty(12), X, y)
    later = X[int(leaf.pool.head["rows"][0]) :]
    assert len(later) == 0
    exact = (X - X.mean(axis=0)).T @ (X - X.mean(axis=0))
    # All but the first rows are in the sketch, and it has columns enough.
    ours = own_products(leaf.pool, 0, leaf.room)
    first = X[:8] - X[:8].mean(axis=0)
    assert_allclose(ours, exact - first.T @ first, atol=1e-6 * np.abs(exact).max())


def test_an_estimate_never_exceeds_the_products() -> None:
    X, y = rows(2, 500, 15, classes=1)
    leaf = teach(empty(15), X, y)
    exact = (X - X.mean(axis=0)).T @ (X - X.mean(axis=0))
    rest = exact - own_products(leaf.pool, 0, leaf.room)
    assert np.linalg.eigvalsh(rest).min() > -1e-9 * np.trace(exact)


def test_order_of_rows_is_nothing_once_the_scale_is_kept() -> None:
    X, y = rows(6, 500, classes=1)
    first = int(LAST_SCALE)
    order = np.concatenate(
        [np.arange(first), first + np.random.default_rng(0).permutation(500 - first)]
    )
    one, other = teach(empty(9), X, y), teach(empty(9), X[order], y)
    for name in ("mean", "m2", "scale", "sketch"):
        ours, theirs = getattr(one.pool, name)[0], getattr(other.pool, name)[0]
        assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(ours).max())


def test_classes_keep_what_they_keep_in_any_order_of_classes() -> None:
    X, y = rows(7, holes=0.0)
    order = np.argsort(-y, kind="stable")
    one, other = teach(empty(9), X, y), teach(empty(9), X[order], y[order])
    for name in ("mean", "m2", "scale", "sketch"):
        assert (getattr(one.pool, name) == getattr(other.pool, name)).all()


def test_scale_and_shift_of_columns_change_densities_by_a_constant() -> None:
    X, y = rows(8)
    by = 10.0 ** np.random.default_rng(1).integers(-3, 4, 9)
    one, other = teach(empty(9), X, y), teach(empty(9), X * by + 5 * by, y)
    apart = densities(one, X) - densities(other, X * by + 5 * by)
    assert_allclose(apart, np.log(by).sum(), atol=1e-6)


# --- densities --------------------------------------------------------------------------------


def test_density_integrates_to_one_but_for_its_constant() -> None:
    X, y = rows(9, a=2, inner=1)
    leaf = teach(empty(2, rank=2), X, y)
    axis = np.linspace(-15.0, 15.0, 151)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    masses = np.exp(densities(leaf, grid)).sum(axis=0) * (axis[1] - axis[0]) ** 2
    assert_allclose(masses, 2.0 * np.pi, rtol=1e-3)


def test_a_row_of_missing_values_tells_nothing() -> None:
    X, y = rows(10, b=2, holes=0.1)
    leaf = teach(empty(9, 2), X, y)
    assert_allclose(densities(leaf, np.full((1, 11), np.nan)), 0.0, atol=1e-9)


def test_filling_in_what_depends_on_the_rest_costs_nothing() -> None:
    X, y = rows(11, 600, classes=1, noise=0.01)
    holed = X.copy()
    rng = np.random.default_rng(2)
    holed[np.arange(300, 600), rng.integers(0, 9, 300)] = np.nan
    whole, filled = teach(empty(9), X, y), teach(empty(9), holed, y)
    assert_allclose(filled.pool.m2[0], whole.pool.m2[0], rtol=0.01)
    ours, theirs = (own_products(leaf.pool, 0, leaf.room) for leaf in (filled, whole))
    assert_allclose(ours, theirs, atol=0.01 * np.abs(theirs).max())


@pytest.mark.parametrize("size", [1e-150, 1e-30, 1e30, 1e120, 1e300])
def test_no_size_of_values_gives_nan(size: float) -> None:
    X, y = rows(12, 150)
    X *= size
    leaf = teach(empty(9), X, y)
    for probe in (X, X / size, X * np.where(np.arange(9) == 4, 1e-200, 1.0)):
        scores = densities(leaf, probe)
        assert not np.isnan(scores).any()
        assert not (scores == np.inf).any()
    if 1e-30 <= size <= 1e30:
        assert (densities(leaf, X) > -np.inf).all()


def test_one_huge_value_leaves_the_other_classes_alone() -> None:
    X, y = rows(13, 200)
    X[100, 3], y[100] = 1e300, 0
    leaf = teach(empty(9), X, y)
    scores = densities(leaf, X[101:])
    assert not np.isnan(scores).any()
    others = [leaf.members.index(g) for g in (1, 2)]
    assert (scores[:, others] > -np.inf).all()


def test_any_number_of_columns() -> None:
    X, y = rows(14, 60, 1500)
    leaf = teach(empty(1500, rank=8), X, y)
    assert (np.array(leaf.members)[densities(leaf, X).argmax(axis=1)] == y).mean() > 0.9
    assert class_bytes(leaf.pool) < 1500 * (2 * 8 + 6) * 8


def test_a_cleared_class_is_new() -> None:
    X, y = rows(15, b=1)
    leaf = teach(empty(9, 1), X, y)
    clear(leaf.pool, 0)
    fresh = empty(9, 1)
    one = y == 0
    for pool, common in ((leaf.pool, fresh.common), (fresh.pool, fresh.common)):
        for i in np.flatnonzero(one):
            absorb(pool, common, 0, 0, X, i, 1.0, leaf.room)
    for name in ("head", "mean", "weight", "m2", "scale", "sketch"):
        ours, theirs = getattr(leaf.pool, name)[0], getattr(fresh.pool, name)[0]
        if name == "head":
            ours, theirs = (
                ours[["weight", "rows", "renewal"]],
                theirs[["weight", "rows", "renewal"]],
            )
        assert (ours == theirs).all()


# --- parts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("left", [True, False])
def test_a_cut_class_is_a_truncated_gaussian(left: bool) -> None:
    X, y = rows(16, 4000, 6, classes=1, noise=0.3)
    leaf = teach(empty(6), X, y)
    pool, v = leaf.pool, 0.4
    n, mean, sd = 4000.0, pool.mean[0, 2], np.sqrt(pool.m2[0, 2] / 4000.0)
    share = cut(pool, 0, 2, v, left, None, leaf.room)
    part = truncnorm(-np.inf, (v - mean) / sd, mean, sd)
    if not left:
        part = truncnorm((v - mean) / sd, np.inf, mean, sd)
    assert_allclose(share, norm.cdf((v - mean) / sd * (1 if left else -1)), rtol=1e-9)
    assert_allclose(pool.mean[0, 2], part.mean(), rtol=1e-6)
    assert_allclose(pool.m2[0, 2] / n, part.var(), rtol=1e-6)
    # The other columns go along, as those of the rows do.
    kept = X[(X[:, 2] <= v) == left]
    assert_allclose(pool.mean[0], kept.mean(axis=0), atol=0.1)
    assert_allclose(pool.m2[0] / n, kept.var(axis=0), rtol=0.15)
    products = own_products(pool, 0, leaf.room) / n
    apart = ~np.eye(6, dtype=bool)
    assert_allclose(products[apart], np.cov(kept.T)[apart], atol=0.25)


def test_a_cut_may_be_told_and_may_be_far_away() -> None:
    X, y = rows(17, b=1, classes=1)
    leaf = teach(empty(9, 1), X, y)
    copied = empty(9, 1)
    copy(copied.pool, 0, leaf.pool, 0)
    cut(copied.pool, 0, 1, 0.0, True, (-1.5, 0.25), leaf.room)
    assert_allclose(copied.pool.mean[0, 1], -1.5)
    assert_allclose(copied.pool.m2[0, 1] / len(y), 0.25)
    copy(copied.pool, 0, leaf.pool, 0)
    assert cut(copied.pool, 0, 1, -1e4, True, None, leaf.room) == 0.0
    assert np.isfinite(copied.pool.mean).all()
    assert (copied.pool.m2 >= 0.0).all()
    copy(copied.pool, 0, leaf.pool, 0)
    ones = X[:, 9].mean()
    assert_allclose(cut(copied.pool, 0, 9, 0.5, False, None, leaf.room), ones)
    assert copied.pool.mean[0, 9] == 1.0


def test_a_class_cut_in_two_and_put_together_weighs_the_same() -> None:
    X, y = rows(18, 400, classes=1)
    leaf, other = teach(empty(9), X, y), empty(9)
    copy(other.pool, 0, leaf.pool, 0)
    for pool, left in ((leaf.pool, True), (other.pool, False)):
        weigh(pool, 0, cut(pool, 0, 0, 0.2, left, None, leaf.room))
    mean, m2 = X.mean(axis=0), X.var(axis=0) * 400
    before = own_products(teach(empty(9), X, y).pool, 0, leaf.room)
    merge(leaf.pool, 0, other.pool, 0, leaf.room)
    assert_allclose(leaf.pool.head["weight"][0], 400.0)
    assert_allclose(leaf.pool.mean[0], mean, atol=1e-6)
    assert_allclose(leaf.pool.m2[0], m2, rtol=1e-6)
    assert_allclose(own_products(leaf.pool, 0, leaf.room), before, atol=0.05 * np.abs(before).max())


def test_parts_of_one_class_are_added_exactly() -> None:
    X, y = rows(19, 600, classes=1)
    start, all_of_it = teach(empty(9), X[:300], y[:300]), teach(empty(9), X, y)
    part = empty(9)
    copy(part.pool, 0, start.pool, 0)
    weigh(part.pool, 0, 1e-12)
    part.members.append(0)
    teach(start, X[300:450], y[300:450])
    teach(part, X[450:], y[450:])
    merge(start.pool, 0, part.pool, 0, start.room)
    for name in ("mean", "weight", "m2", "scale", "sketch"):
        ours, theirs = getattr(start.pool, name)[0], getattr(all_of_it.pool, name)[0]
        assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max())


@pytest.mark.parametrize(("n", "m"), [(300, 300), (3, 5), (300, 4), (4, 300), (300, 0), (0, 300)])
def test_strangers_are_added(n: int, m: int) -> None:
    X, y = rows(20, n + m, classes=1)
    one, other = teach(empty(9), X[:n], y[:n]), teach(empty(9), X[n:], y[n:])
    merge(one.pool, 0, other.pool, 0, one.room)
    assert one.pool.head["weight"][0] == n + m
    assert_allclose(one.pool.mean[0], X.mean(axis=0))
    assert_allclose(one.pool.m2[0], X.var(axis=0) * (n + m))
    products = own_products(one.pool, 0, one.room)
    rest = (X - X.mean(axis=0)).T @ (X - X.mean(axis=0)) - products
    assert np.linalg.eigvalsh(rest).min() > -1e-9 * np.trace(rest)
    if max(n, m) == 300:
        assert np.trace(products) > 0.5 * np.trace(rest)
    if 0 not in one.members:
        one.members.append(0)
    assert (densities(renewed(one), X) > -np.inf).all()


def test_a_column_that_is_constant_in_both_but_not_the_same_is_told_after_merging() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(600, 6))
    X[:, 0] = np.repeat([0.0, 3.0], 300)
    one, other, whole = (empty(6, rank=6, classes=1) for _ in range(3))
    teach(one, X[:300], np.zeros(300, np.int64))
    teach(other, X[300:], np.zeros(300, np.int64))
    teach(whole, X[rng.permutation(600)], np.zeros(600, np.int64))
    merge(one.pool, 0, other.pool, 0, one.room)
    assert_allclose(one.pool.m2[0], whole.pool.m2[0], rtol=1e-9)
    assert (one.pool.scale[0] > 0.0).all()
    teach(one, X[:50], np.zeros(50, np.int64))
    told = own_products(one.pool, 0, one.room)[0, 0]
    assert told == pytest.approx(one.pool.m2[0, 0], rel=0.05)
