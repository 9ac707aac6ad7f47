"""Classes that are renamed, joined and dropped after they were learnt."""

import numpy as np
import pytest

from adaptation_streams import everything
from material import EAGER, mixed_rows
from mist import MistClassifier, load
from mist.engine.state import leaf_cells
from mist.persistence.validate import check_state

LEAVES = ("gaussian", "sketch", "full", "mixture", "majority")
ADAPTS = (None, "classes", "stream")


def named(y):
    return np.array(["a", "b", "c", "d", "e"])[y]


def learnt(leaf, y, X, **options):
    options = {**EAGER, "categorical_features": [1], "random_state": 0, **options}
    return MistClassifier.from_settings(leaf=leaf, **options).partial_fit(X, y)


def valid(model):
    check_state(model._state, len(model.classes_))
    if model._follower is not None:
        for part in (model._follower.moved.read, model._follower.common.weight):
            assert len(part) <= len(model.classes_)


def masses(model):
    """Mass of each label over all leaves."""
    tree, out = model._state.tree, dict.fromkeys(model.classes_.tolist(), 0.0)
    for leaf in range(model.n_leaves_):
        cells = leaf_cells(tree, leaf)
        for label, mass in zip(
            model._labels.decode(tree.cells.code[cells]).tolist(),
            tree.cells.mass[cells],
            strict=True,
        ):
            out[label] += mass
    return out


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("adapt", ADAPTS)
def test_a_new_name_changes_nothing_else(leaf, adapt):
    X, y = mixed_rows(0)
    model = learnt(leaf, named(y), X, adapt=adapt)
    shares = model.predict_proba(X)
    assert model.rename_class("b", "z") is model
    assert model.classes_.tolist() == ["a", "c", "d", "z"]
    # Probabilities are divided by their sum in the order of the labels.
    np.testing.assert_allclose(model.predict_proba(X), shares[:, [0, 2, 3, 1]], rtol=1e-12)
    other = learnt(leaf, np.where(named(y) == "b", "z", named(y)), X, adapt=adapt)
    assert everything(model) == everything(other)
    model.partial_fit(X, np.where(named(y) == "b", "z", named(y)))
    valid(model)


@pytest.mark.parametrize("leaf", ["gaussian", "majority", "full"])
@pytest.mark.parametrize("adapt", ADAPTS)
@pytest.mark.parametrize("prior", ["balanced", "counts"])
def test_a_joined_class_is_as_if_it_had_always_had_the_label(leaf, adapt, prior):
    X, y = mixed_rows(1, holes=0.0)
    rng = np.random.default_rng(0)
    wrong = np.where(rng.random(len(y)) < 0.3, "a typo", named(y))
    wrong = np.where(named(y) == "a", wrong, named(y))
    options = {"adapt": adapt, "class_prior": prior, "max_leaves": 1}
    model = learnt(leaf, wrong, X, **options).rename_class("a typo", "a")
    wanted = learnt(leaf, named(y), X, **options)
    assert model.classes_.tolist() == wanted.classes_.tolist()
    assert masses(model) == pytest.approx(masses(wanted))
    np.testing.assert_allclose(model.predict_proba(X), wanted.predict_proba(X), atol=0.02)
    valid(model)
    model.partial_fit(X, named(y))
    valid(model)


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("adapt", ADAPTS)
@pytest.mark.parametrize("holes", [0.0, 0.1])
def test_any_class_can_be_joined_or_dropped(leaf, adapt, holes, tmp_path):
    X, y = mixed_rows(2, 500, 5, holes)
    for label in "ace":
        model = learnt(leaf, named(y), X, adapt=adapt)
        before, others = masses(model), [each for each in "abcde" if each != label]
        model.drop_class(label)
        assert model.classes_.tolist() == others
        assert masses(model) == pytest.approx({each: before[each] for each in others})
        valid(model)
        assert model.predict_proba(X).shape == (len(X), 4)
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
        assert [s.node for s in model.split_log_] == sorted(
            {s.node for s in model.split_log_}, key=[s.node for s in model.split_log_].index
        )
        model.save(tmp_path / "model.mist")
        again = load(tmp_path / "model.mist")
        assert everything(again) == everything(model)
        for each in (model, again):
            each.partial_fit(X, named(y))
            each.rename_class("b", label)
            assert each.classes_.tolist() == [name for name in "abcde" if name != "b"]
            valid(each)
            each.prequential(X, named(y))
            valid(each)
        assert everything(again) == everything(model)


def test_a_dropped_class_is_not_answered_and_may_come_again():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 600)
    centres = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
    X = rng.normal(centres[y], 1.0)
    model = MistClassifier().partial_fit(X, y)
    model.drop_class(0)
    assert set(model.predict(X).tolist()) == {1, 2}
    assert model.n_rows_ == 600
    model.partial_fit(X, y)
    assert np.mean(model.predict(X) == y) > 0.99


def test_predictions_of_the_next_row_go_on():
    rng = np.random.default_rng(0)
    y = np.repeat(rng.integers(0, 4, 60), 20)
    X = rng.normal(size=(1200, 2)) + y[:, None]
    model = MistClassifier().partial_fit(X[:1000], named(y[:1000]))
    model.rename_class("d", "a").drop_class("b")
    rest = np.where(named(y) == "d", "a", named(y))
    kept = np.flatnonzero((np.arange(1200) >= 1000) & (rest != "b"))
    predicted = model.prequential(X[kept], rest[kept])
    assert np.mean(predicted == rest[kept]) > 0.85


@pytest.mark.parametrize("adapt", ADAPTS)
def test_refusals(adapt):
    X, y = mixed_rows(0, holes=0.0)
    model = MistClassifier("gaussian", adapt=adapt).partial_fit(X, named(y), classes=["a", "q"])
    before = everything(model)
    with pytest.raises(ValueError, match=r"no class has the label 'x'; classes_ holds 'a', 'b'"):
        model.drop_class("x")
    with pytest.raises(ValueError, match="no class has the label"):
        model.rename_class("x", "a")
    with pytest.raises(ValueError, match="mixes text labels with numbers"):
        model.rename_class("a", 3)
    with pytest.raises(ValueError, match="a fork cannot"):
        model.fork().drop_class("a")
    assert everything(model) == before
    model.drop_class("q")
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    for label in "bcd":
        model.drop_class(label)
    with pytest.raises(ValueError, match="'a' is the only class with rows"):
        model.drop_class("a")
    assert (model.predict(X) == "a").all()


def test_a_declared_label_is_renamed():
    model = MistClassifier("gaussian").partial_fit([[1.0]], ["a"], classes=["a", "q"])
    assert model.rename_class("q", "r").classes_.tolist() == ["a", "r"]
    assert model.rename_class("r", "a").classes_.tolist() == ["a"]
    model.partial_fit([[1.0]], ["a"], classes=["q"])
    assert model.rename_class("a", "q").classes_.tolist() == ["q"]
