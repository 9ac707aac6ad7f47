"""What a model that follows its stream predicts after a change, and what stays as it was."""

import numpy as np
import pytest

from adaptation_streams import CENTRES, OFFSET, draw, eventful, follower_arrays, recall, shuffled
from material import EAGER, by_trees
from mist import MistClassifier

KINDS = [("gaussian", "stream"), ("gaussian", "classes"), ("mixture", "stream")]
kinds = pytest.mark.parametrize(("leaf", "adapt"), KINDS)
leaves = pytest.mark.parametrize("leaf", ["gaussian", "mixture"])


def four_classes(leaf="gaussian", adapt="classes", n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = shuffled(rng, [0, 1, 2, 3], n)
    return rng, MistClassifier(leaf, adapt=adapt).partial_fit(draw(rng, y), y)


def moved(*classes, by=(0.0, 0.0, 9.0)):
    centres = CENTRES.copy()
    centres[list(classes)] += by
    return centres


def held_out(rng, centres=CENTRES, n=100):
    y = np.repeat(np.arange(4), n)
    return draw(rng, y, centres), y


@kinds
def test_a_class_that_moves_is_found_and_learnt_again(leaf, adapt):
    rng, model = four_classes(leaf, adapt)
    centres = moved(1)
    y = shuffled(rng, [0, 1], 60)
    for start in range(0, 120, 10):
        part = y[start : start + 10]
        model.partial_fit(draw(rng, part, centres), part)
        if model.changes_:
            break
    assert [(change.kind, change.label) for change in model.changes_] == [("class moved", 1)]
    assert np.sum(y[: start + 10] == 1) <= 50
    model.partial_fit(draw(rng, y, centres), y)
    assert len(model.changes_) == 1
    assert min(recall(model, *held_out(rng, centres)).values()) > 0.97


def four_rows(seed, n=200):
    rng = np.random.default_rng(seed)
    y = shuffled(rng, [0, 1, 2, 3], n)
    return draw(rng, y), y


@leaves
def test_recall_of_a_class_that_moved_away(leaf):
    rng, model = four_classes(leaf)
    centres = moved(1, by=(0.0, 4.5, 0.0))  # between 1 and 3
    y = shuffled(rng, [1, 3], 80)
    model.partial_fit(draw(rng, y, centres), y)
    assert [change.label for change in model.changes_] == [1]
    assert min(recall(model, *held_out(rng, centres)).values()) > 0.95


@leaves
def test_labels_that_are_exchanged(leaf):
    rng, model = four_classes(leaf)
    centres = CENTRES[[1, 0, 2, 3]]
    y = shuffled(rng, [0, 1], 80)
    model.partial_fit(draw(rng, y, centres), y)
    assert {change.label for change in model.changes_} == {0, 1}
    assert min(recall(model, *held_out(rng, centres)).values()) > 0.97


@leaves
def test_a_class_of_which_half_moves_raises_no_alarm(leaf):
    rng, model = four_classes(leaf)
    y = shuffled(rng, [0, 1], 200)
    X = draw(rng, y)
    X[np.flatnonzero(y == 1)[::2]] += [0.0, 0.0, 9.0]
    model.partial_fit(X, y)
    assert model.changes_ == []
    assert min(recall(model, *held_out(rng)).values()) > 0.9


@kinds
def test_a_common_offset_puts_absent_classes_right(leaf, adapt):
    rng = np.random.default_rng(4)
    centres = CENTRES / 3.0  # close together, so that an offset matters
    y, offset = shuffled(rng, [0, 1, 2, 3], 160), np.full(3, 1.3)
    model = MistClassifier(leaf, adapt=adapt).partial_fit(draw(rng, y, centres), y)
    plain = MistClassifier(leaf, adapt=None).partial_fit(draw(rng, y, centres), y)
    later = shuffled(rng, [0, 1], 120)
    X = draw(rng, later, centres + offset)
    model.partial_fit(X, later)
    plain.partial_fit(X, later)
    assert "common shift" in {change.kind for change in model.changes_}
    found = recall(model, *held_out(rng, centres + offset, 400))
    stale = recall(plain, *held_out(rng, centres + offset, 400))
    assert found[2] > stale[2] + 0.1
    assert np.linalg.norm(model._follower.common.shift - offset) < 0.6
    sizes = [change.size for change in model.changes_ if change.kind == "common shift"]
    assert all(0.5 < size < 4.0 for size in sizes)
    assert {change.label for change in model.changes_ if change.kind == "common shift"} == {None}


def test_every_view_of_the_model_is_without_the_shift():
    X, y = eventful()
    model = MistClassifier.from_settings(leaf="gaussian", **EAGER).partial_fit(X, y)
    assert model.n_leaves_ > 1
    shift = model._follower.common.shift
    assert shift.any()
    query = X[-40:]
    tree = model.tree_
    for x, node in zip(query, model.apply(query), strict=True):
        at = 0
        while tree.feature[at] >= 0:
            value = (x - shift)[tree.feature[at]]
            at = tree.left[at] if value <= tree.threshold[at] else tree.right[at]
        assert at == node
        explained = model.explain(x, top=None)
        assert explained.leaf == node
        assert explained.values.tolist() == x.tolist()
        shares = explained.probabilities
        assert list(shares.values()) == model.predict_proba([x])[0].tolist()
        # The evidence adds up to these probabilities.
        scores = explained.prior + explained.evidence.sum(axis=1) + explained.together
        odds = scores - scores[0]
        with np.errstate(divide="ignore"):
            wanted = np.log([shares[label] for label in explained.classes])
        known = wanted > -30
        np.testing.assert_allclose(odds[known], (wanted - wanted[0])[known], atol=1e-6)
    unmoved = MistClassifier("gaussian", adapt=None).partial_fit(X[:600], y[:600])
    assert np.isfinite(model.score_samples(query)).all()
    assert unmoved.changes_ == []


@leaves
def test_a_class_relabelled_in_error_is_followed_back(leaf):
    rng, model = four_classes(leaf)
    wrong = shuffled(rng, [0, 1], 200)
    model.partial_fit(draw(rng, wrong, CENTRES[[2, 1, 0, 3]]), wrong)  # class 0 looks like class 2
    assert [change.label for change in model.changes_] == [0]
    right = shuffled(rng, [0, 1], 70)
    model.partial_fit(draw(rng, right), right)
    assert [change.label for change in model.changes_] == [0, 0]
    assert min(recall(model, *held_out(rng)).values()) > 0.97


@kinds
def test_a_class_that_does_not_arrive_changes_in_nothing(leaf, adapt):
    rng, model = four_classes(leaf, adapt)
    parts = ("rows", "weight", "mean", "factor", "constant", "long_weight", "long_mean")

    def of_class(code):
        follower = model._follower
        out = [follower.moved.evidence[code], follower.moved.read[code]]
        out += [follower.common.weight[code], *follower.common.mean[code]]
        if follower.expectation is not None:
            recent = follower.expectation.state.recent
            out += [getattr(recent, name)[code] for name in parts]
        conformity = model._state.conformity
        out += [conformity.scores[code], conformity.scored[code], conformity.seen[code]]
        return [np.array(each).tobytes() for each in out]

    code = model._labels.codes[3]
    before, arrives = of_class(code), model._labels.codes[1]
    moving = of_class(arrives)
    y = shuffled(rng, [0, 1], 100)
    model.partial_fit(draw(rng, y, moved(1)), y)
    assert len(model.changes_) == 1
    assert of_class(code) == before
    assert of_class(arrives) != moving


@pytest.mark.parametrize("seed", range(3))
@kinds
def test_a_stationary_class_incremental_stream_has_no_changes(leaf, adapt, seed):
    rng = np.random.default_rng(seed)
    y = np.concatenate([shuffled(rng, pair, 200) for pair in ([0, 1], [2, 3], [1, 2], [0, 3])])
    X = draw(rng, y, CENTRES / 4.0)
    model = MistClassifier(leaf, adapt=adapt).partial_fit(X, y)
    plain = MistClassifier(leaf, adapt=None).partial_fit(X, y)
    queries, _ = held_out(rng, CENTRES / 4.0, 200)
    assert model.changes_ == []
    assert np.array_equal(model.predict(queries), plain.predict(queries))
    # Apart from how sure it may be, which `adapt="stream"` learns.
    assert np.array_equal(by_trees(model, queries), by_trees(plain, queries))
    assert model.split_log_ == plain.split_log_


def test_the_next_row_follows_the_labels_before_it():
    # Labels in runs of 30, and rows that say little.
    rng = np.random.default_rng(0)
    y = np.repeat(rng.integers(3, size=60), 30)
    X = rng.normal(size=(len(y), 2)) + 0.5 * y[:, None]
    model, plain = MistClassifier("gaussian"), MistClassifier("gaussian", adapt=None)
    following, tree = np.mean(model.prequential(X, y) == y), np.mean(plain.prequential(X, y) == y)
    assert following > 0.9 > tree + 0.2
    # A row from elsewhere knows of no stream.
    assert np.array_equal(model.predict(X), plain.predict(X))
    last = model.predict(np.zeros((1, 2)), next_in_stream=True)[0]
    assert last == y[-1] == model.predict_one([0.0, 0.0])
    assert model.predict_proba_one([0.0, 0.0])[y[-1]] > 0.8


def test_next_in_stream_without_it():
    X, y = four_rows(0, 30)
    for adapt in ("classes", None):
        model = MistClassifier("gaussian", adapt=adapt).partial_fit(X, y)
        assert np.array_equal(model.predict(X, next_in_stream=True), model.predict(X))
        same = model.predict_proba(X, next_in_stream=True)
        assert np.array_equal(same, model.predict_proba(X))


def test_majority_leaves_only_predict_from_labels():
    X, y = eventful()
    model = MistClassifier("majority").partial_fit(X, y)
    assert model.changes_ == []
    assert len(follower_arrays(model)) > 0
    assert MistClassifier("majority", adapt="classes").partial_fit(X, y)._follower is None


def test_what_adapt_may_be():
    with pytest.raises(ValueError, match="adapt"):
        MistClassifier(adapt="moves").fit([[0.0]], [1])
    model = MistClassifier("gaussian").partial_fit([[0.0]], [1])
    model.set_params(adapt=None)
    with pytest.raises(ValueError, match="adapt"):
        model.partial_fit([[1.0]], [1])


def test_novelty_needs_open_world():
    X, y = four_rows(0, 50)
    model = MistClassifier("gaussian").partial_fit(X, y)
    with pytest.raises(ValueError, match="open_world=True"):
        model.novelty(X)


def test_novelty_next_to_changes():
    X, y = eventful()
    model = MistClassifier("gaussian", open_world=True).partial_fit(X, y)
    closed = MistClassifier("gaussian").partial_fit(X, y)
    assert model.changes_ == closed.changes_
    assert np.array_equal(model.predict_proba(X), closed.predict_proba(X))
    rng = np.random.default_rng(0)
    p = model.novelty(draw(rng, np.repeat([2, 3], 100), CENTRES + OFFSET))
    assert np.mean(p < 0.05) < 0.2
    assert (model.novelty([[50.0, 50.0, 50.0]]) < 0.05).all()


def test_a_split_that_is_tried_beforehand_does_not_bring_the_old_place_back():
    rng = np.random.default_rng(0)
    options = {"split_test": "eprocess", "rows_per_split": 100, "grace_period": 50}
    y = shuffled(rng, [0, 1, 2, 3], 150)
    model = MistClassifier.from_settings(leaf="gaussian", adapt="classes", **options)
    model.partial_fit(draw(rng, y, CENTRES / 4.0), y)
    assert model._state.candidate_splits
    y = shuffled(rng, [0, 1], 60)
    X = draw(rng, y, moved(1, by=(0.0, 0.0, 24.0)) / 4.0)
    model.partial_fit(X, y)
    assert 1 in {change.label for change in model.changes_}
    code = model._labels.codes[1]
    for batch in model._state.candidate_splits.values():
        for candidate in batch.candidates:
            cells = candidate.state.tree.cells
            rows = cells.weight[(cells.leaf >= 0) & (cells.code == code)].sum()
            assert rows <= 60
