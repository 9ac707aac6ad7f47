"""Leaves with full covariances: the engine against its slow twin, and what must always hold."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.special import softmax

from mist import MistClassifier
from mist.engine.gaussians import factorise
from mist.engine.inheritance import split_leaf
from mist.engine.mixture_upkeep import components_of, on_cell_due
from naive_mixture import NaiveMixtureLeaf, covariance
from published import paper_tree

LEAVES = ["full", "mixture"]
NEVER = 10**9


class Stream(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    categorical: list[int]


def unsplit(leaf: str, categorical: list[int] | None = None, **options: Any) -> MistClassifier:
    """A model that stays one leaf."""
    options = {"grace_period": NEVER, "categorical_features": categorical or None, **options}
    return paper_tree(leaf, **options)


def unpacked(packed: np.ndarray, a: int) -> np.ndarray:
    S = np.zeros((a, a))
    S[np.tril_indices(a)] = packed
    return S + np.tril(S, -1).T


class Part(NamedTuple):
    """A component as the engine holds it."""

    mass: float
    n: float
    mean: np.ndarray
    S: np.ndarray  # covariance


def known_weights(model: MistClassifier, k: int) -> np.ndarray:
    """Weights of the columns in a component."""
    state = model._state
    if state.observed is not None:
        return state.observed.model.own.weight[k]
    return np.full(state.n_features, state.model.own.head.weight[k])


def components(model: MistClassifier, leaf: int = 0) -> dict[Any, list[Part]]:
    """Components of every class at a leaf."""
    tree, mixture, a = model._state.tree, model._state.model, model._state.options.n_numeric
    out = {}
    cell = int(tree.leaves.first[leaf])
    while cell >= 0:
        label = model._labels.decode(np.array([tree.cells.code[cell]])).tolist()[0]
        out[label] = [
            Part(
                float(mixture.components.mass[k]),
                float(mixture.own.head.weight[k]),
                mixture.own.mean[k],
                covariance(unpacked(mixture.own.m2[k], a), known_weights(model, k)[:a]),
            )
            for k in components_of(mixture, cell)
        ]
        cell = int(tree.cells.next[cell])
    return out


def rows(
    seed: int,
    n: int = 500,
    d: int = 2,
    classes: int = 3,
    *,
    modes: int = 1,
    distance: float = 4.0,
    binary: int = 0,
    constant: bool = False,
    copied: bool = False,
    repeated: bool = False,
    weights: tuple[float, ...] = (1.0,),
    blocks: bool = False,
    offset: float = 0.0,
    scale: float = 1.0,
    holes: float = 0.0,
    late: bool = False,
    never: bool = False,
) -> Stream:
    """Rows of classes with correlated columns and several modes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    mode = rng.integers(0, modes, n)
    centres = rng.normal(size=(classes, modes, d)) * distance
    mixing = rng.normal(size=(classes, modes, d, d)) + np.eye(d)
    X = centres[y, mode] + np.einsum("nij,nj->ni", mixing[y, mode], rng.normal(size=(n, d)))
    X = X * scale * 3.0 ** rng.integers(-3, 4, d) + offset
    categorical = sorted(rng.permutation(d)[:binary].tolist())
    chances = rng.random((classes, modes, d))
    X[:, categorical] = (rng.random((n, d)) < chances[y, mode])[:, categorical]
    numeric = [j for j in range(d) if j not in categorical]
    if constant:
        X[:, numeric[0]] = 3.1
    if copied:
        X[:, numeric[-1]] = X[:, numeric[-2]]
    if repeated:
        later = rng.integers(n // 2, n, n // 3)
        X[later], y[later] = X[later - n // 2], y[later - n // 2]
    if blocks:
        order = np.argsort(y, kind="stable")
        X, y = X[order], y[order]
    X[rng.random((n, d)) < holes * rng.random(d) * 2] = np.nan
    if late:
        X[: n // 3, numeric[0]] = X[: n // 2, -1] = np.nan
    if never:
        X[np.ix_(y == 0, [numeric[0], d - 1])] = np.nan
    w = rng.choice(weights, n)
    w[0] = 1.0  # a model that learnt nothing has no answer
    return Stream(X, y, w, categorical)


# --- the twin ---------------------------------------------------------------------------------


def close(ours: np.ndarray, theirs: np.ndarray, size: np.ndarray | float) -> None:
    """Equal to a millionth of the size of what is compared."""
    assert (np.abs(ours - theirs) <= 1e-6 * size).all()


def same_components(model: MistClassifier, twin: NaiveMixtureLeaf) -> None:
    ours = components(model)
    assert ours.keys() == twin.classes.keys()
    a = twin.width
    for label, parts in ours.items():
        c = twin.classes[label]
        assert len(parts) == len(c.components)
        # Columns are compared in the units of the class.
        unit = np.ones(c.moments.mean.size)
        unit[:a] = np.sqrt(np.where(c.variances() > 0, c.variances(), 1.0))
        # Which of two halves comes first hangs on the sign of an eigenvector.
        parts = sorted(parts, key=lambda part: part.mass)
        for part, k in zip(parts, sorted(c.components, key=lambda k: k.mass), strict=True):
            close(part.mass, k.mass, k.mass)
            close(part.n, k.own.n, k.own.n)
            close(part.mean, k.own.mean, unit)
            close(part.S, k.own.covariance(), np.outer(unit[:a], unit[:a]))


def same_answers(model: MistClassifier, twin: NaiveMixtureLeaf, X: np.ndarray) -> None:
    for x, shares in zip(X, model.predict_proba(X), strict=True):
        scores = twin.scores(x)
        values = np.array([scores[label] for label in model.classes_.tolist()])
        # A row far from all classes has scores of 1e6 and more, known to so many digits.
        tolerance = 1e-6 * max(1.0, 1e-6 * np.abs(values).max())
        np.testing.assert_allclose(shares, softmax(values), rtol=0, atol=tolerance)


def agree(s: Stream, leaf: str, **options: Any) -> NaiveMixtureLeaf:
    """Compare engine and twin all along a stream; returns the twin."""
    model = unsplit(leaf, s.categorical, **options)
    most = 1 if leaf == "full" else options.get("max_components", 16)
    twin = NaiveMixtureLeaf(s.X.shape[1], s.categorical, most)
    rng = np.random.default_rng(0)
    for batch in np.array_split(np.arange(len(s.X)), [1, 2, 5, 20, len(s.X) // 2]):
        model.partial_fit(s.X[batch], s.y[batch], sample_weight=s.weights[batch])
        for i in batch:
            if s.weights[i] > 0:
                twin.learn(s.X[i], s.y[i], s.weights[i])
        same_components(model, twin)
        asked = s.X[rng.integers(0, len(s.X), 8)]
        swapped = rng.random(asked.shape) < 0.3
        asked[swapped] = s.X[rng.integers(0, len(s.X), 8)][swapped]
        asked[:3][rng.random((3, asked.shape[1])) < 0.3] = np.nan
        same_answers(model, twin, asked)
    return twin


def counts(twin: NaiveMixtureLeaf) -> list[int]:
    return [len(c.components) for c in twin.classes.values()]


TRAITS: dict[str, dict[str, Any]] = {
    "one column": {"d": 1, "modes": 3, "distance": 8.0},
    "plain": {"modes": 2},
    "one class": {"classes": 1, "modes": 3, "d": 5},
    "many classes": {"classes": 40, "d": 5},
    "twelve columns": {"d": 12, "modes": 2, "n": 600, "classes": 2},
    "0/1 columns": {"d": 5, "binary": 3, "modes": 3, "distance": 8.0},
    "0/1 columns alone": {"d": 4, "binary": 4},
    "constant column": {"d": 3, "constant": True, "modes": 2},
    "nothing but a constant": {"d": 1, "constant": True},
    "copied column": {"d": 3, "copied": True, "modes": 2, "distance": 8.0},
    "repeated rows": {"repeated": True, "modes": 2},
    "weights": {"weights": (0.0, 0.3, 1.0, 2.5, 40.0), "modes": 2},
    "classes in turn": {"blocks": True, "modes": 2, "d": 5},
    "far from 0": {"offset": 1e6, "modes": 2, "distance": 8.0},
    "tiny": {"scale": 1e-9, "modes": 2, "distance": 8.0},
    "tiny and far": {"scale": 1e-3, "offset": 1e3, "d": 5, "modes": 2},
    "holes": {"holes": 0.25, "d": 4, "modes": 2, "distance": 8.0},
    "holes in 0/1 columns": {"holes": 0.25, "d": 5, "binary": 2, "modes": 2, "distance": 8.0},
    "mostly holes": {"holes": 0.6, "d": 3, "modes": 2, "distance": 8.0, "n": 900},
    "holes in few rows": {"holes": 0.004, "d": 5, "modes": 2, "distance": 8.0},
    "late columns": {"late": True, "d": 5, "binary": 1, "modes": 2, "distance": 8.0},
    "columns of some classes": {"never": True, "d": 5, "modes": 2, "distance": 8.0},
    "all kinds of holes": {"never": True, "late": True, "holes": 0.1, "d": 6, "modes": 2},
    "holes and a copied column": {"holes": 0.2, "d": 3, "copied": True, "modes": 2},
    "holes in tiny values": {"holes": 0.2, "scale": 1e-90, "d": 3, "modes": 2},
    "huge": {"scale": 1e90, "d": 3, "modes": 2},
}
ALONE = {"many classes", "0/1 columns alone", "nothing but a constant"}
"""Streams too short, or too poor, for a class to divide."""


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("name", TRAITS)
def test_engine_and_twin_agree(name, leaf):
    twin = agree(rows(1, **TRAITS[name]), leaf)
    assert (max(counts(twin)) > 1) == (leaf == "mixture" and name not in ALONE)


def test_engine_and_twin_agree_on_random_streams():
    rng = np.random.default_rng(0)
    sizes: Counter[int] = Counter()
    for seed in range(16):
        d = int(rng.choice([1, 2, 3, 5]))
        s = rows(
            seed,
            int(rng.integers(100, 600)),
            d,
            int(rng.choice([1, 2, 5])),
            modes=int(rng.integers(1, 6)),
            distance=float(rng.choice([2.0, 8.0])),
            binary=int(rng.integers(0, d)) if d != 3 else 0,
            copied=d == 3,
            repeated=bool(rng.random() < 0.3),
            holes=float(rng.choice([0.0, 0.0, 0.2])),
            weights=((1.0,), (0.0, 0.5, 1.0, 3.0))[rng.integers(2)],
            blocks=bool(rng.random() < 0.3),
        )
        twin = agree(s, "mixture", max_components=int(rng.choice([1, 2, 3, 16])))
        sizes.update(counts(twin))
    assert len(sizes) >= 3


# --- factors ----------------------------------------------------------------------------------


def factor(S: np.ndarray) -> tuple[np.ndarray, float]:
    """The inverse of the Cholesky factor, and the sum of the logarithms of its diagonal."""
    n = len(S)
    packed = S[np.tril_indices(n)].copy()
    out = np.full(packed.size, np.nan)
    logs = factorise(packed, out, np.empty(n), n)
    full = np.zeros((n, n))
    full[np.tril_indices(n)] = out
    return full, logs


def test_factor_is_that_of_numpy():
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 7, 20):
        root = rng.normal(size=(n, n + 2)) * 10.0 ** rng.integers(-4, 5, (n, 1))
        S = root @ root.T
        L, logs = factor(S)
        units = np.sqrt(np.diag(S))
        wanted = np.linalg.inv(np.linalg.cholesky(S / np.outer(units, units)))
        np.testing.assert_allclose(L * units, wanted, rtol=1e-7, atol=1e-7 * np.abs(wanted).max())
        assert logs == pytest.approx(-0.5 * np.linalg.slogdet(S)[1], rel=1e-9)


def test_columns_without_variance_stand_alone_in_a_factor():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 5))
    S = np.zeros((5, 5))
    vary = np.array([0, 2, 3])
    S[np.ix_(vary, vary)] = root @ root.T
    L, logs = factor(S)
    inner, inner_logs = factor(root @ root.T)
    wanted = np.eye(5)
    wanted[np.ix_(vary, vary)] = inner
    np.testing.assert_array_equal(L, wanted)
    assert logs == inner_logs
    np.testing.assert_array_equal(factor(np.zeros((4, 4)))[0], np.eye(4))


@pytest.mark.parametrize("corner", [1.0, 1.0 - 1e-14, 1.0 + 1e-14])
def test_of_an_indefinite_matrix_the_diagonal_is_used(corner):
    S = np.array([[4.0, 1.0, 2.0], [1.0, 9.0, 0.5], [2.0, 0.5, corner]])
    L, logs = factor(S)
    np.testing.assert_allclose(L, np.diag(1 / np.sqrt(np.diag(S))), rtol=1e-15)
    assert logs == pytest.approx(-0.5 * np.log(np.diag(S)).sum(), rel=1e-15)


# --- dividing ---------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [2, 5])
def test_a_gaussian_hardly_ever_divides(d):
    divided = 0
    for seed in range(60):
        s = rows(seed, 1000, d, classes=1)
        divided += len(components(unsplit("mixture").partial_fit(s.X, s.y))[0]) > 1
    print(f"d={d}: {divided} of 60 Gaussians divided")
    assert divided <= 5


@pytest.mark.parametrize("d", [1, 2, 5])
def test_far_modes_part(d):
    rng = np.random.default_rng(d)
    for _ in range(5):
        at = rng.normal(size=d)
        at *= 5 / np.linalg.norm(at)
        side = rng.choice([-1.0, 1.0], (600, 1))
        X = rng.normal(size=(600, d)) + side * at
        parts = components(unsplit("mixture").partial_fit(X, np.zeros(600)))[0.0]
        assert len(parts) >= 2
        # Each lies on one of the modes, and each mode has its share.
        sides = [part.mean @ at / 25 for part in parts]
        assert all(0.8 < abs(t) < 1.2 for t in sides)
        share = sum(part.mass for part, t in zip(parts, sides, strict=True) if t > 0) / 600
        assert abs(share - (side > 0).mean()) < 0.05


def test_rounding_proposes_no_direction():
    """Across equal columns there is no spread, whatever their units make of it."""
    x = np.random.default_rng(0).normal(size=200) * 3.7
    for X in (np.column_stack([x, x, x]), np.column_stack([x, x / 3, x * 7])):
        model = unsplit("mixture").partial_fit(X[:30], np.zeros(30))  # the last row proposes
        mixture = model._state.model
        trial = mixture.components.proposal[components_of(mixture, 0)[0]]
        # The first axis, the columns, but no other axis.
        assert (mixture.evidence[trial] == -np.inf).tolist() == [False, False, True, False, False]


@pytest.mark.parametrize("most", [1, 2, 3, 5])
def test_no_class_has_more_components_than_allowed(most):
    s = rows(0, 1500, 2, classes=2, modes=12, distance=20.0)
    model = unsplit("mixture", max_components=most)
    for part in np.array_split(np.arange(len(s.X)), 30):
        model.partial_fit(s.X[part], s.y[part])
        assert max(map(len, components(model).values())) <= most
    assert set(map(len, components(model).values())) == {most}
    # Nothing is tried any more, and no mass is lost but for the least responsibilities.
    assert not any(trials(model, cell).any() for cell in (0, 1))
    mass = sum(part.mass for part in components(model)[0])
    assert mass == pytest.approx((s.y == 0).sum(), rel=1e-3)


def test_two_components_that_have_earned_the_last_place_on_the_same_row():
    s = rows(0, 200, 2, classes=1, modes=2, distance=20.0)
    model, at = unsplit("mixture", max_components=3), 0
    while at == 0 or trials(model, 0).sum() < 2 or not seen_by_trials(model, 0) > 30:
        model.partial_fit(s.X[at : at + 1], s.y[at : at + 1])
        at += 1
    mixture = model._state.model
    ks = components_of(mixture, 0)
    assert len(ks) == 2
    mixture.evidence[mixture.components.proposal[ks], 4] = 100.0
    mixture.components.due[ks] = 1
    on_cell_due(model._state, 0)
    model.partial_fit(s.X, s.y)
    assert len(components(model)[0]) == 3
    assert not trials(model, 0).any()


def test_components_are_found_without_a_linear_algebra_library(monkeypatch):
    """Its threads would cost more than the small matrices, and decide on last digits."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a library was asked")

    for name in ("eigh", "eigvalsh", "svd", "cholesky", "inv", "solve"):
        monkeypatch.setattr(np.linalg, name, refuse)
    s = rows(0, 600, 3, classes=2, modes=3, distance=20.0)
    model = MistClassifier().fit(s.X, s.y)
    assert min(map(len, components(model).values())) > 1


def test_the_more_rows_without_a_winner_the_rarer_are_proposals():
    X = np.random.default_rng(5).normal(size=(12_000, 3))
    model, opened = unsplit("mixture"), []
    tried = 0
    for at in range(0, len(X), 100):
        model.partial_fit(X[at : at + 100], np.zeros(100))
        # Each trial goes on in the list of directions; with 6 of them and 4 a trial, none is alike.
        number = int(model._state.model.components.tried[0])
        if number != tried:
            opened.append(at)
        tried = number
    assert len(components(model)[0]) == 1
    # Each rest is a quarter of the rows so far, so the last three quarters have few.
    late = sum(row >= 3000 for row in opened)
    assert 1 <= late <= math.log(4) / math.log(1.25) + 1
    assert len(opened) <= math.log(12_000 / 30) / math.log(1.25) + 1


def trials(model: MistClassifier, cell: int) -> np.ndarray:
    """Which components of a cell have a trial."""
    mixture = model._state.model
    return mixture.components.proposal[components_of(mixture, cell)] >= 0


def seen_by_trials(model: MistClassifier, cell: int) -> float:
    """Least weight that a trial of the cell has seen."""
    mixture = model._state.model
    return float(mixture.components.seen[components_of(mixture, cell)].min())


# --- what the order of rows, classes and columns may change ---------------------------------------


@pytest.mark.parametrize("leaf", LEAVES)
def test_a_class_does_not_feel_the_others(leaf):
    """On one leaf its components are the same bit for bit, whatever comes between its rows."""
    s = rows(3, 900, 3, classes=3, modes=2, distance=8.0, binary=1)
    orders = [np.arange(900), np.argsort(s.y, kind="stable"), np.argsort(-s.y, kind="stable")]
    first, *others = (
        components(unsplit(leaf, s.categorical).partial_fit(s.X[order], s.y[order]))
        for order in orders
    )
    if leaf == "mixture":
        assert max(map(len, first.values())) > 1
    for other in others:
        for label, parts in first.items():
            for one, two in zip(parts, other[label], strict=True):
                assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_the_order_of_columns_does_not_matter_to_full_leaves():
    s = rows(4, 600, 5, binary=2)
    order = np.array([3, 0, 4, 2, 1])
    there = unsplit("full", s.categorical).partial_fit(s.X, s.y)
    moved = unsplit("full", [int(np.flatnonzero(order == j)[0]) for j in s.categorical])
    moved.partial_fit(s.X[:, order], s.y)
    np.testing.assert_allclose(
        moved.predict_proba(s.X[:, order]), there.predict_proba(s.X), rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("leaf", LEAVES)
def test_units_and_origins_of_columns_do_not_matter(leaf):
    s = rows(5, 800, 3, modes=2, distance=6.0)
    plain = unsplit(leaf).partial_fit(s.X, s.y)
    for factors, shift in (
        ([1e-3, 7.0, 1e5], [0.0, 0.0, 0.0]),
        ([1.0, 0.3, 1.0], [1e3, -20.0, 0.1]),
        ([1e90, 1e-90, 3e40], [0.0, 0.0, 0.0]),
    ):
        X = s.X * factors + shift
        other = unsplit(leaf).partial_fit(X, s.y)
        np.testing.assert_allclose(
            other.predict_proba(X), plain.predict_proba(s.X), rtol=0, atol=1e-6
        )
        np.testing.assert_array_equal(other.predict(X), plain.predict(s.X))
    assert leaf == "full" or max(map(len, components(plain).values())) > 1


# --- what children inherit ------------------------------------------------------------------------


def split(leaf: str, s: Stream, feature: int, v: float) -> tuple[list[Part], ...]:
    """Components of class 0 before a split, and of its parts on the left and on the right."""
    model = unsplit(leaf, s.categorical).partial_fit(s.X, s.y)
    whole = [Part(k.mass, k.n, k.mean.copy(), k.S) for k in components(model)[0]]
    split_leaf(model._state, 0, feature, v, "gaussian", 1.0)
    left, right = components(model, 0), components(model, 1)
    return whole, left.get(0, []), right.get(0, [])


def moments(parts: list[Part], a: int) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, mean and covariance of all parts together."""
    mass = sum(part.mass for part in parts)
    mean = sum(part.mass * part.mean for part in parts) / mass
    spread = sum(
        part.mass * (part.S + np.outer(part.mean - mean, part.mean - mean)[:a, :a])
        for part in parts
    )
    return mass, mean, spread / mass


@pytest.mark.parametrize("v", [-3.0, -0.4, 0.0, 1.5, 2.5])
def test_both_parts_together_are_the_whole(v):
    s = rows(6, 2000, 4, classes=1)
    for feature in range(4):
        at = s.X[:, feature].mean() + v * s.X[:, feature].std()
        whole, left, right = split("full", s, feature, at)
        assert (len(whole), len(left), len(right)) == (1, 1, 1)
        size = np.sqrt(np.diag(whole[0].S))
        mass, mean, S = moments([*left, *right], 4)
        assert mass == pytest.approx(whole[0].mass, rel=1e-12)
        assert left[0].n + right[0].n == pytest.approx(whole[0].n, rel=1e-12)
        assert (np.abs(mean - whole[0].mean) <= 1e-12 * (size + np.abs(mean))).all()
        assert (np.abs(S - whole[0].S) <= 1e-12 * np.outer(size, size)).all()


def test_both_parts_of_a_zero_one_column_share_the_mass():
    s = rows(7, 400, 3, classes=1, binary=1)
    whole, left, right = split("full", s, 2, 0.5)
    ones = s.X[:, s.categorical[0]].mean()
    assert [k[0].mass for k in (left, right)] == pytest.approx([400 * (1 - ones), 400 * ones])
    assert (left[0].mean[2], right[0].mean[2]) == (0.0, 1.0)
    for part in (left[0], right[0]):
        np.testing.assert_array_equal(part.mean[:2], whole[0].mean[:2])
        np.testing.assert_allclose(part.S, whole[0].S, rtol=1e-12)


def test_parts_are_those_of_a_gaussian_that_is_cut():
    s = rows(8, 500, 3, classes=1)
    draws = None
    for feature, v in ((0, 0.3), (2, -1.0), (1, 2.0)):
        at = s.X[:, feature].mean() + v * s.X[:, feature].std()
        (whole,), left, right = split("full", s, feature, at)
        if draws is None:
            rng = np.random.default_rng(0)
            draws = rng.multivariate_normal(whole.mean, whole.S, 2_000_000)
        size = np.sqrt(np.diag(whole.S))
        low = draws[:, feature] <= at
        for part, kept in ((left[0], draws[low]), (right[0], draws[~low])):
            error = 6 / np.sqrt(len(kept))
            assert abs(part.mass / whole.mass - len(kept) / len(draws)) < 0.002
            assert (np.abs(part.mean - kept.mean(axis=0)) < error * size).all()
            assert (np.abs(part.S - np.cov(kept.T)) < 2 * error * np.outer(size, size)).all()


def test_parts_of_less_than_half_a_row_are_dropped_but_for_the_heaviest():
    s = rows(9, 1200, 2, classes=1, modes=2, distance=0.0)
    s.X[:, 0] += 1000 * s.X[:, 0].std() * (np.arange(1200) % 2)
    middle = (s.X[:, 0].min() + s.X[:, 0].max()) / 2
    whole, left, right = split("mixture", s, 0, middle)
    assert len(whole) == len(left) + len(right) > 1
    assert all(part.mean[0] <= middle for part in left)
    assert all(part.mean[0] > middle for part in right)
    assert [sum(k.mass for k in side) for side in (left, right)] == pytest.approx(
        [600, 600], rel=1e-3
    )


def test_without_variance_in_the_split_column_a_component_goes_to_one_side():
    s = rows(10, 300, 2, classes=2, constant=True)
    s.X[s.y == 1, 0] = 5.0
    whole, left, right = split("full", s, 0, 4.0)
    assert (len(left), len(right)) == (1, 0)
    for before, after in zip(whole[0], left[0], strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-12)
