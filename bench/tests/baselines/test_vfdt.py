"""VFDT and Rutkowski are settings of the engine; VFDT is compared with river's Hoeffding tree."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mist_bench.methods import make

GRACE = 200
ORDERS = ["mixed", "incremental"]


def draw(means, classes, n, rng, sd=1.0):
    y = rng.choice(classes, n)
    return means[y] + sd * rng.normal(size=(n, means.shape[1])), y


def stream(order, seed, n=4000, n_classes=6, d=5):
    """Gaussian classes, all at once or pair after pair."""
    rng = np.random.default_rng(seed)
    means = 2.0 * rng.normal(size=(n_classes, d))
    if order == "mixed":
        return draw(means, np.arange(n_classes), n, rng)
    parts = [draw(means, [c, c + 1], 3 * n // n_classes, rng) for c in range(0, n_classes, 2)]
    X, y = zip(*parts, strict=True)
    return np.concatenate(X), np.concatenate(y)


class RiverTree:
    """River's Hoeffding tree without its extensions of the plain VFDT."""

    def __init__(self, delta):
        tree = pytest.importorskip("river.tree", reason="river is what VFDT is compared with")
        self.model = tree.HoeffdingTreeClassifier(
            grace_period=GRACE,
            delta=delta,
            tau=0.05,
            split_criterion="gini",
            leaf_prediction="nb",
            binary_split=True,
            merit_preprune=False,
            max_share_to_split=1.0,
            min_branch_fraction=0.01,
            splitter=tree.splitter.GaussianSplitter(n_splits=10),
        )

    def learn(self, X, y):
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            self.model.learn_one(dict(enumerate(row)), label)
        return self

    def learn_to_first_split(self, X, y):
        """Number of rows that it took."""
        for i in range(len(X)):
            self.learn(X[i : i + 1], y[i : i + 1])
            if self.model.n_branches:
                return i + 1
        raise AssertionError("no split")

    def predict(self, X):
        rows = (dict(enumerate(row)) for row in X.tolist())
        return np.array([self.model.predict_one(x) for x in rows])

    def gains(self):
        """Of every feature at the root, up to the same constant."""
        criterion = self.model._new_split_criterion()
        best = self.model._root.best_split_suggestions(criterion, self.model)
        return {branch.feature: branch.merit for branch in best}

    def leaves(self):
        return list(self.model._root.iter_leaves())


@pytest.mark.parametrize(
    ("name", "bound", "delta"), [("vfdt", "hoeffding", 0.05), ("rutkowski", "rutkowski", 0.1)]
)
def test_fixed_defaults(name, bound, delta):
    options = make(name).settings()
    assert (options["bound"], options["delta"]) == (bound, delta)
    assert (options["criterion"], options["split_test"]) == ("gini", "gap")
    assert (options["grace_period"], options["tie_threshold"]) == (GRACE, 0.05)
    assert options["inheritance"] is None
    model = make(name).fit(*stream("mixed", 0))
    assert model._state.sketch is None


def test_vfdt_splits_where_the_gap_or_the_tie_threshold_says_so():
    def radius(n):
        return math.sqrt(math.log(20) / (2 * n))

    assert radius(400) > 0.05 > radius(600)
    for seed in range(5):
        model = make("vfdt").fit(*stream("mixed", seed))
        assert len(model.split_log_) > 3
        for split in model.split_log_:
            assert split.radius == pytest.approx(radius(split.rows))
            assert split.gain > split.radius or split.rows >= 600


def test_rutkowski_needs_a_gap_of_eight_hoeffding_radii():
    def radius(n):
        return 8 * math.sqrt(math.log(10) / (2 * n))

    # One column separates two equally frequent classes: the gap is one half.
    rng = np.random.default_rng(0)
    X, y = draw(np.array([[-9.0, 0.0], [9.0, 0.0]]), [0, 1], 600, rng)
    assert radius(200) > 0.5 > radius(400)
    (split,) = make("rutkowski").fit(X, y).split_log_
    assert (split.feature, split.seen) == (0, 400)
    assert split.radius == pytest.approx(radius(400))
    assert make("vfdt").fit(X, y).split_log_[0].seen == 200
    assert make("rutkowski").fit(*stream("mixed", 0)).n_splits_ == 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("order", ORDERS)
def test_before_the_first_split_fresh_rows_get_the_same_answers_from_river(order, seed):
    X, y = stream(order, seed)
    rival = RiverTree(0.05)
    n = min(make("vfdt").fit(X, y).split_log_[0].seen, rival.learn_to_first_split(X, y)) - 1
    model, rival = make("vfdt").fit(X[:n], y[:n]), RiverTree(0.05).learn(X[:n], y[:n])
    assert model.n_leaves_ == rival.model.n_leaves == 1
    rows = X[n : n + 1000]
    assert (model.predict(rows) == rival.predict(rows)).mean() >= 0.99


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("order", ORDERS)
def test_before_the_first_split_row_by_row_answers_equal_rivers(order, seed):
    # With delta as small as river has it the root lasts longer, so the start counts less.
    X, y = stream(order, seed)
    model, rival = make("vfdt").set_params(split_test__delta=1e-7), RiverTree(1e-7)
    ours = model.prequential(X, y)
    n = model.split_log_[0].seen
    theirs, settled, counts = [], [], {}
    for i in range(n):
        theirs.append(rival.predict(X[i : i + 1])[0])
        settled.append(bool(counts) and min(counts.values()) >= 10 and y[i] in counts)
        rival.learn(X[i : i + 1], y[i : i + 1])
        counts[y[i]] = counts.get(y[i], 0) + 1
        if rival.model.n_branches:
            break
    equal, settled = ours[: len(theirs)] == np.array(theirs), np.array(settled)
    # While a class has a handful of rows, variances are guesses: river counts none for one row,
    # ours borrows from the other classes. From ten rows of every class on nothing is left of it.
    assert settled.sum() > 90
    assert equal[settled].mean() >= 0.99
    if len(equal) > 3000:
        assert equal.mean() >= 0.99


@pytest.mark.parametrize("order", ORDERS)
def test_first_split_on_the_feature_of_river_within_one_grace_period(order):
    same = []
    for seed in range(21):
        X, y = stream(order, seed)
        split, rival = make("vfdt").fit(X, y).split_log_[0], RiverTree(0.05)
        seen = rival.learn_to_first_split(X, y)
        assert abs(split.seen - seen) <= GRACE
        chosen = rival.model._root.feature
        same.append(split.feature == chosen)
        if not same[-1]:
            # Ten places between the extremes against one between each two class means: where
            # the tie threshold decides among features that are as good, either may come first.
            assert split.seen == seen == 600
            gains = RiverTree(0.05).learn(X[: seen - 1], y[: seen - 1]).gains()
            assert gains[chosen] - gains[split.feature] < 0.02
    assert np.mean(same) >= 0.9


def test_where_river_goes_wrong_before_the_split_and_ours_does_not():
    # One row has no variance; river then leaves the feature out, and the class pays for nothing.
    rng = np.random.default_rng(0)
    means = np.array([[0.0] * 5, [10.0] * 5, [1000.0] * 5])
    X, y = draw(means, [0, 1], 150, rng, sd=10.0)
    rows, labels = draw(means, [0, 1], 400, rng, sd=10.0)
    model, rival = make("vfdt").fit(X, y), RiverTree(0.05).learn(X, y)
    assert (model.predict(rows) == rival.predict(rows)).mean() >= 0.99
    before = model.score(rows, labels)
    model.partial_fit(means[2:], [2])
    rival.learn(means[2:], np.array([2]))
    assert (rival.predict(rows) == 2).all()
    assert model.score(rows, labels) == pytest.approx(before, abs=0.01)


def test_what_differs_after_a_split_is_what_children_know():
    # Two classes on either side of column 0, then a third on the left, apart in column 1.
    rng = np.random.default_rng(0)
    means = np.array([[-50.0, 0.0], [50.0, 0.0], [-50.0, 60.0]])
    X, y = draw(means, [0, 1], GRACE, rng, sd=10.0)
    model, rival = make("vfdt").fit(X, y), RiverTree(0.05).learn(X, y)
    assert model.n_leaves_ == rival.model.n_leaves == 2
    assert model.split_log_[0].feature == rival.model._root.feature == 0

    # Features start from nothing in both trees; river's children divide the class weights and
    # count them as rows seen in the next radius, ours have seen none.
    left, right = rival.leaves()
    assert left.splitters == right.splitters == {}
    assert left.total_weight + right.total_weight == pytest.approx(GRACE)
    assert [leaf.rows for leaf in model.leaf_summary()] == [0.0, 0.0]

    # River keeps class 0 in its left leaf as a prior without features: no density speaks
    # against it, so the class that arrives is never answered. Ours knows only what it saw there.
    X_new, y_new = draw(means, [2], 150, rng, sd=10.0)
    model.partial_fit(X_new, y_new)
    rival.learn(X_new, y_new)
    rows, _ = draw(means, [2], 400, rng, sd=10.0)
    assert not (rival.predict(rows) == 2).any()
    assert (model.predict(rows) == 2).all()


def test_vfdt_forgets_at_a_split_and_an_inheriting_tree_with_its_bound_does_not():
    rng = np.random.default_rng(3)
    means = 3.0 * rng.normal(size=(4, 5))
    X, y = draw(means, np.arange(4), 600, rng)
    rows, labels = draw(means, np.arange(4), 400, rng)
    for inheritance, least, most in ((None, 0.0, 0.5), ("gaussian", 0.9, 1.0)):
        model = make(f"vfdt+inheritance={inheritance}").fit(X[:-1], y[:-1])
        assert (model.n_leaves_, model.score(rows, labels) > 0.95) == (1, True)
        model.partial_fit(X[-1:], y[-1:])
        assert model.n_leaves_ == 2
        assert least <= model.score(rows, labels) <= most
