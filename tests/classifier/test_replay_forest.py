"""`MistReplayForest`: what a user sees of it."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import mist
from material import by_trees
from mist import MistClassifier, MistForest, MistReplayForest
from mist.engine.class_memory_upkeep import trimmed

SMALL = {"replay_trees": 7, "memory_trees": 2, "replayed_rows": 2000}


def fine(n=1200, seed=0, n_classes=2):
    """A board of 6 by 6 squares, whose colours are the classes, one class after the other."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2)) * 6
    y = X.astype(int).sum(axis=1) % n_classes
    order = np.argsort(y, kind="stable")
    return X[order], y[order]


def made(**options):
    return MistReplayForest(MistClassifier("gaussian"), **{**SMALL, **options})


_BY_ROWS = "a cell is cut, and a snapshot is due, by numbers of rows and not by their weights"


@parametrize_with_checks(
    [MistReplayForest(MistClassifier("gaussian"), **SMALL)],
    expected_failed_checks=lambda _: {
        f"check_sample_weight_equivalence_on_{kind}_data": _BY_ROWS for kind in ("dense", "sparse")
    },
)
def test_estimator_checks(estimator, check):
    check(estimator)


def test_trees_on_replayed_rows_find_borders_that_the_streaming_tree_misses():
    (X, y), (asked, wanted) = fine(3000), fine(500, 1)
    model = made(replay_trees=30, memory_trees=5).partial_fit(X, y)
    assert model.trees_[0].score(asked, wanted) < 0.6
    assert model.score(asked, wanted) > 0.8
    assert model.n_cells_ > 500


def test_predictions_depend_on_rows_and_not_on_when_they_were_asked_for():
    X, y = fine(300, n_classes=3)
    asked = fine(40, 2)[0]
    at_once, often, one_by_one = made().partial_fit(X, y), made(), made()
    labels = []
    for start in range(0, 300, 23):
        rows = slice(start, start + 23)
        labels += often.prequential(X[rows], y[rows]).tolist()
        often.predict(asked)
    for x, label in zip(X, y, strict=True):
        expected = one_by_one.predict_one(x)
        if expected is not None:
            assert expected == labels[one_by_one.n_rows_]
        one_by_one.learn_one(x, label)
    for model in (often, one_by_one):
        np.testing.assert_array_equal(model.predict_proba(asked), at_once.predict_proba(asked))
    assert at_once.nbytes == often.nbytes == one_by_one.nbytes


def test_a_class_without_a_snapshot_is_predicted_by_the_streaming_tree():
    X, y = fine(400)
    model = made().partial_fit(X, y)
    new = np.array([[20.0, 20.0], [21.0, 20.5], [20.3, 21.0]])
    tree = MistForest(MistClassifier("gaussian"), 1, max_features=None).partial_fit(X, y)
    for learner in (model, tree):
        learner.partial_fit(new, [7, 7, 7])
    asked = np.vstack([new, X[::50]])
    shares = [by_trees(each, asked) for each in (model, tree)]
    np.testing.assert_allclose(shares[0][:, 2], shares[1][:, 2], rtol=1e-9, atol=1e-12)
    assert (model.predict(new) == 7).all()
    before = MistReplayForest(MistClassifier("gaussian"), **SMALL).partial_fit(X[:5], y[:5])
    np.testing.assert_array_equal(
        before.predict_proba(asked), before.trees_[0].predict_proba(asked)
    )


def test_no_cell_reproduces_a_row():
    X, y = fine(2000)
    rng = np.random.default_rng(5)
    X = np.hstack([X, rng.normal(size=(len(X), 1))])
    model = made(memory_trees=4).partial_fit(X, y)
    means = model._replay.memory.mean[: model.n_cells_]
    # Of two values that agree to six digits among some millions of pairs there are a few.
    equal = np.abs(means[:, None] - X[None]) < 1e-9
    assert not equal.any()
    bare = made(memory_trees=4, inherited_rows=0.0, rows_per_cell=3).partial_fit(X, y)
    found = np.abs(bare._replay.memory.mean[: bare.n_cells_, None] - X[None]) < 1e-9
    assert found.all(axis=2).any()


@pytest.mark.parametrize("copied", ["file", "pickle", "deepcopy"])
def test_copies_predict_and_learn_on_alike(copied, tmp_path):
    X, y = fine(300)
    model = made().partial_fit(X[:200], y[:200]).set_params(max_bytes=2**24)
    expected = model.predict_proba(X)
    if copied == "file":
        model.save(tmp_path / "model.mist")
        other = mist.load(tmp_path / "model.mist")
    else:
        other = pickle.loads(pickle.dumps(model)) if copied == "pickle" else copy.deepcopy(model)
    np.testing.assert_array_equal(other.predict_proba(X), expected)
    for each in (model, other):
        each.partial_fit(X[200:], y[200:])
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda memory: memory.nodes.first.__setitem__(0, 0),
        lambda memory: memory.nodes.feature.__setitem__(0, 9),
        lambda memory: memory.cells.code.__setitem__(0, 5),
        lambda memory: memory.roots.__setitem__((0, 0), 4),
        lambda memory: memory.counters.__setitem__(1, 10**6),
        lambda memory: memory.cells.node.__setitem__(1, 0),
    ],
    ids=["child", "column", "class", "root", "count", "node"],
)
def test_files_with_invalid_memories_are_refused(spoil, tmp_path):
    X, y = fine(300)
    model = made().partial_fit(X, y)
    spoil(model._replay.memory)
    model.save(tmp_path / "model.mist")
    with pytest.raises(ValueError, match=r"the model in the file is not valid"):
        mist.load(tmp_path / "model.mist")


def test_models_of_different_classes_merge_to_one_that_knows_all():
    (X, y), (asked, wanted) = fine(3000, n_classes=3), fine(500, 1, n_classes=3)
    options = {"replay_trees": 20, "memory_trees": 5}
    parts = [made(**options).partial_fit(X[y == c], y[y == c]) for c in range(3)]
    merged = parts[0].merge(parts[1]).merge(parts[2])
    together = made(**options).partial_fit(X, y)
    assert merged.n_rows_ == together.n_rows_
    assert merged.score(asked, wanted) > together.score(asked, wanted) - 0.05 > 0.6
    # Each memory learns on where it was.
    again = merged.partial_fit(asked, wanted)
    assert again.n_rows_ == 3500
    with pytest.raises(ValueError, match="differ in rows_per_cell: 7 and 5"):
        made().merge(made(rows_per_cell=5).partial_fit(X, y))


def test_forks_learn_parts_of_the_rows():
    (X, y), (asked, wanted) = fine(3000), fine(500, 1)
    options = {"replay_trees": 20, "memory_trees": 5}
    model = made(**options).partial_fit(X[::3], y[::3])
    forks = [model.fork(k).partial_fit(X[k::3], y[k::3]) for k in (1, 2)]
    cells = model.n_cells_
    for fork in forks:
        model.merge(fork)
    assert model.n_rows_ == 3000
    assert model.n_cells_ == cells + sum(fork._replay.n_cells for fork in forks)
    assert model.score(asked, wanted) > 0.75


def test_a_class_that_has_moved_is_forgotten_by_its_memory():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1200, 2)), np.tile([0, 1], 600)
    X[y == 1] += 9.0
    X[600:][y[600:] == 0] -= 9.0  # one class moves, the other stays
    model = made(adapt="classes").partial_fit(X, y)
    assert [change.label for change in model.changes_] == [0]
    rows = model._replay.memory.rows
    assert rows[1] == 600
    assert rows[0] < 590
    halves = made(adapt="classes")
    for part in np.array_split(np.arange(1200), 7):
        halves.partial_fit(X[part], y[part])
    np.testing.assert_array_equal(halves.predict_proba(X), model.predict_proba(X))


def test_missing_values_and_new_columns():
    X, y = fine(600)
    rng = np.random.default_rng(1)
    holes = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    model = made()
    for rows in (slice(0, 400), slice(400, 600)):
        model.learn_many({"a": holes[rows, 0], "b": holes[rows, 1]}, y[rows])
    before = model.predict_proba_many({"a": X[:, 0], "b": X[:, 1]})
    assert np.isfinite(before).all()
    more = {"a": X[:, 0], "b": X[:, 1], "c": y + 0.01 * rng.random(600)}
    model.learn_many(more, y)
    assert np.mean(model.predict_many(more) == y) > 0.95
    assert np.isfinite(model.predict_proba_many({"b": X[:, 1]})).all()


def test_an_explanation_gives_votes_and_the_cells_at_the_row():
    X, y = fine(600)
    model = made().partial_fit(X, y).partial_fit([[20.0, 20.0]], [5])
    explanation = model.explain(X[0])
    shares = model.predict_proba(X[:1])[0]
    assert explanation.prediction == model.predict(X[:1])[0] == explanation.classes[0].label
    by_label = {each.label: each for each in explanation.classes}
    assert [by_label[label].probability for label in (0, 1, 5)] == pytest.approx(shares.tolist())
    assert sum(each.votes for each in explanation.classes) == pytest.approx(1.0)
    np.testing.assert_allclose(
        [by_label[label].base for label in (0, 1, 5)], by_trees(model.trees_[0], X[:1])[0]
    )
    near, far = by_label[0], by_label[5]
    assert near.distance < 0.5
    assert np.isnan(far.distance)  # a class of one row has no spread
    assert model.explain([20.0, 20.0]).classes[-1].distance > 5.0
    assert 0.0 < near.rows < 0.2
    assert far.votes == 0.0
    lines = str(explanation).splitlines()
    assert lines[0] == f"prediction: {explanation.prediction}"
    assert len(lines) == 5


@pytest.mark.parametrize("limit", [20_000, 100_000])
def test_the_limit_on_bytes_holds_after_every_call(limit):
    X, y = fine(1500, n_classes=3)
    model, free = made(max_bytes=limit, memory_trees=5), made(max_bytes=None, memory_trees=5)
    start = 0
    for size in (1, 7, 40, 300, 52, 600, 500):
        rows = slice(start, start + size)
        model.partial_fit(X[rows], y[rows])
        assert model._replay.nbytes <= limit
        model.predict(X[:3])
        assert model._replay.nbytes <= limit
        start += size
    at_once = made(max_bytes=limit, memory_trees=5).partial_fit(X, y)
    np.testing.assert_array_equal(at_once.predict_proba(X), model.predict_proba(X))
    free.partial_fit(X, y)
    assert free._replay.nbytes > limit
    assert set(model.predict(X)) == {0, 1, 2}
    other = made(max_bytes=limit, memory_trees=5).partial_fit(X[y == 1], y[y == 1])
    assert model.merge(other)._replay.nbytes <= limit
    assert model.n_rows_ == 1500 + np.count_nonzero(y == 1)


def test_a_larger_limit_is_more_accurate():
    (X, y), (asked, wanted) = fine(4000), fine(800, 1)
    scores = [
        made(max_bytes=limit, replay_trees=20).partial_fit(X, y).score(asked, wanted)
        for limit in (20_000, 60_000, 2_000_000)
    ]
    assert scores == sorted(scores)
    assert scores[-1] > scores[0] + 0.1


def test_threads_change_nothing():
    X, y = fine(300)
    one, two = made().partial_fit(X, y), made(n_jobs=2).partial_fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_other_seeds_and_priors_give_other_trees():
    X, y = fine(600)
    keep = (y == 0) | (np.arange(600) % 4 == 0)
    X, y = X[keep], y[keep]
    model = made().partial_fit(X, y)
    assert not np.array_equal(
        made(random_state=1).partial_fit(X, y).predict_proba(X), model.predict_proba(X)
    )
    counts = MistReplayForest(MistClassifier("gaussian", class_prior="counts"), **SMALL)
    shares = counts.partial_fit(X, y).predict_proba(X)[:, 0]
    assert shares.mean() > by_trees(model, X)[:, 0].mean() + 0.02


def test_options_of_the_memories_are_fixed_once_a_row_is_learnt():
    X, y = fine(60)
    model = made().partial_fit(X, y)
    shares = model.predict_proba(X)
    model.set_params(memory_trees=3)
    with pytest.raises(ValueError, match="memory_trees was changed from 2 to 3"):
        model.partial_fit(X, y)
    model.set_params(memory_trees=2, replay_trees=9)
    assert not np.array_equal(model.predict_proba(X), shares)
    with pytest.raises(ValueError, match="rows_per_cell"):
        made(rows_per_cell=1).fit(X, y)


def test_a_mistyped_label_is_taken_back():
    X, y = fine(1500)
    typed = np.where(np.arange(1500) % 4 == 0, y + 10, y)
    model, right = made().partial_fit(X, typed), made().partial_fit(X, y)
    cells = model.n_cells_
    model.rename_class(10, 0).rename_class(11, 1)
    assert model.classes_.tolist() == [0, 1]
    assert model.n_cells_ == cells
    for name in ("rows", "weight", "centre"):
        mine, wanted = (
            getattr(each._replay.memory, name)[np.argsort(each._labels.ranks)]
            for each in (model, right)
        )
        np.testing.assert_allclose(mine, wanted)
    asked, wanted = fine(500, 1)
    assert model.score(asked, wanted) > right.score(asked, wanted) - 0.05
    model.partial_fit(*fine(600, 3))
    assert model.score(asked, wanted) > right.score(asked, wanted) - 0.03


def test_a_dropped_class_leaves_the_others_as_they_were():
    X, y = fine(900, n_classes=3)
    without = made(adapt=None).partial_fit(X[y < 2], y[y < 2])
    model = made(adapt=None).partial_fit(X, y).drop_class(2)
    assert model.classes_.tolist() == [0, 1]
    for name in ("mean", "m2", "roots", "rows", "seen"):
        mine, wanted = (getattr(trimmed(m._replay.memory), name) for m in (model, without))
        np.testing.assert_array_equal(mine, wanted)
    first = made(adapt=None).partial_fit(X, y).drop_class(0)
    assert set(first.predict(X).tolist()) == {1, 2}
    assert first.score(X[y > 0], y[y > 0]) > 0.8


@pytest.mark.parametrize("adapt", ["stream", None])
@pytest.mark.parametrize("decision", ["balanced", "counts", {1: 3.0}])
def test_labels_follow_from_the_probabilities_and_the_decision(decision, adapt):
    X, y = fine(400)
    order = np.random.default_rng(0).permutation(400)
    X, y = X[order], np.where(order % 3 == 0, 1, y[order])
    model, single = (made(decision=decision, adapt=adapt) for _ in range(2))
    found = model.prequential(X, y).tolist()
    one_by_one, before = found[:1], np.zeros((400, 2))
    for i, (row, label) in enumerate(zip(X, y, strict=True)):
        if i:
            one_by_one.append(single.predict_one(row))
            before[i, single.classes_] = list(single.predict_proba_one(row).values())
        single.learn_one(row, int(label))
    assert found == one_by_one
    labels, at_once = made(decision=decision, adapt=adapt).prequential_proba(X, y)
    assert labels.tolist() == found
    np.testing.assert_allclose(at_once, before, rtol=0, atol=1e-5)
    shares, often = model.predict_proba(X), np.bincount(y)
    weights = {"balanced": 1.0 / often, "counts": np.ones(2)}.get(str(decision), [1.0, 3.0])
    assert np.array_equal(model.predict(X), (shares * weights).argmax(axis=1))


def test_a_late_text_was_0_in_the_memories():
    rng = np.random.default_rng(0)
    size, hue = rng.normal(size=90), (rng.random(90) < 0.5).astype(float)
    hue[:5] = np.nan
    y = np.repeat([0, 1, 2], 30)
    model = made(adapt=None).learn_many(
        {"size": size, "hue=red": hue}, y, indicators={"hue=red": "hue"}
    )
    more = {"size": [0.0], "hue=red": [0.0], "hue=blue": [1.0], "shade=dark": [1.0]}
    told = {"hue=red": "hue", "hue=blue": "hue", "shade=dark": "shade"}
    model.learn_many(more, [2], indicators=told)
    memory = model._replay.memory
    assert memory.seen[:, 2].tolist() == [25.0, 30.0, 31.0]
    assert memory.seen[:, 3].tolist() == [0.0, 0.0, 1.0]
    np.testing.assert_allclose(memory.centre[:, 2], [0.0, 0.0, 1 / 31])
    known = trimmed(memory)
    other = known.cells.code < 2
    assert not known.mean[other, 2].any()
    assert np.isnan(known.mean[other, 3]).all()
    assert model.predict_many({"size": [0.0], "hue=blue": [1.0]}).tolist() == [2]


def test_a_snapshot_before_a_class_does_not_know_that_it_follows_in_the_batch():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.repeat([0, 1, 2], 10)

    def snapshot(*borders):
        model = MistReplayForest(replay_trees=2, memory_trees=1)
        for rows in np.split(np.arange(30), borders):
            model.partial_fit(X[rows], y[rows], sample_weight=(rows < 20).astype(float))
        return model._replay.snapshot

    whole, parts = snapshot(), snapshot(20)
    assert len(whole.rows) == 2
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
