"""Batches whose columns come by name equal their rows as mappings, one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from material import EAGER, fingerprint, mixed_rows
from mist import MistClassifier, MistForest
from published import paper_tree

NAMES = ("width", "wet", "height", "depth")
X, Y = mixed_rows(3)


def one_by_one(model, table, y, weights=None):
    """The same rows as mappings; returns what the model answered to each before."""
    answers = []
    for i in range(len(y)):
        row = {name: column[i] for name, column in table.items()}
        answers.append(model.predict_one(row))
        model.learn_one(row, y[i], 1.0 if weights is None else weights[i])
    return answers


@st.composite
def calls(draw):
    """Tables with some of the columns in some order, each with the labels of its rows."""
    parts, start = [], 0
    for size in draw(st.lists(st.integers(1, 60), min_size=1, max_size=6)):
        columns = draw(st.lists(st.sampled_from(range(4)), min_size=1, max_size=4, unique=True))
        if not parts and 1 not in columns:
            columns.append(1)
        rows = slice(start, start + size)
        parts.append(({NAMES[j]: X[rows, j] for j in columns}, Y[rows]))
        start = min(start + size, len(X) - 60)
    return parts


@settings(max_examples=25, deadline=None)
@given(calls(), st.booleans())
def test_a_batch_equals_its_rows_bit_for_bit(parts, binary):
    options = {"categorical_features": ["wet"] if binary else None, **EAGER}
    batch, single, tested = (paper_tree(**options) for _ in range(3))
    for table, y in parts:
        batch.learn_many(table, y)
        answers = one_by_one(single, table, y)
        together = tested.prequential_many(table, y).tolist()
        # A model that knows no class yet answers a batch with some class, and a row with None.
        assert [a if b is not None else None for a, b in zip(together, answers, strict=True)] == (
            answers
        )
    assert fingerprint(batch) == fingerprint(single) == fingerprint(tested)
    for table, _ in parts:
        shares = batch.predict_proba_many(table)
        for i, share in enumerate(shares):
            row = {name: column[i] for name, column in table.items()}
            assert list(single.predict_proba_one(row).values()) == share.tolist()
        labels = batch.predict_many(table)
        assert labels.tolist() == batch.classes_[shares.argmax(axis=1)].tolist()


def test_a_forest_equals_its_rows_bit_for_bit():
    batch, single = (MistForest(paper_tree(**EAGER), n_trees=2, adapt=None) for _ in range(2))
    first = {"width": X[:60, 0], "height": X[:60, 2]}
    later = {"depth": X[60:120, 3], "width": X[60:120, 0]}
    weights = np.tile([1.0, 2.0, 0.0], 20)
    for table, y in ((first, Y[:60]), (later, Y[60:120])):
        batch.learn_many(table, y, sample_weight=weights)
        one_by_one(single, table, y, weights)
    assert batch.feature_names_in_.tolist() == ["width", "height", "depth"]
    for one, other in zip(batch.trees_, single.trees_, strict=True):
        assert fingerprint(one) == fingerprint(other)
    shares = batch.predict_proba_many(later)
    assert shares[7].tolist() == list(
        single.predict_proba_one({name: c[7] for name, c in later.items()}).values()
    )
    assert batch.predict_many(later).tolist() == batch.classes_[shares.argmax(axis=1)].tolist()
    answers = single.prequential_many(later, Y[60:120])
    assert answers.tolist() == one_by_one(batch, later, Y[60:120])


def test_a_forest_answers_though_its_first_tree_has_drawn_no_row():
    forest = MistForest(MistClassifier("gaussian"), n_trees=2, bootstrap=True, random_state=2)
    forest.learn_one({"size": 1.0}, "a")
    assert [tree._has_learnt() for tree in forest.trees_] == [False, True]
    assert forest.predict_many({"size": [2.0]}).tolist() == ["a"]
    assert forest.predict_one({"size": 2.0}) == "a"


def test_frames_come_by_name_as_mappings_do():
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    table = {"width": X[:80, 0], "depth": X[:80, 3]}
    expected = fingerprint(paper_tree().learn_many(table, Y[:80]))
    for frame in (pd.DataFrame(table), pl.DataFrame(table), pa.table(table)):
        model = paper_tree().learn_many(frame, Y[:80])
        assert fingerprint(model) == expected
        turned = {"unknown": np.zeros(80), "depth": X[:80, 3], "width": X[:80, 0]}
        assert model.predict_many(turned).tolist() == model.predict_many(frame).tolist()


def test_strict_methods_stay_strict_after_learning_by_name():
    pd = pytest.importorskip("pandas")
    model = paper_tree().learn_many({"width": X[:9, 0], "depth": X[:9, 3]}, Y[:9])
    frame = pd.DataFrame({"depth": [1.0], "width": [2.0]})
    with pytest.raises(ValueError, match="same order"):
        model.predict(frame)
    assert model.predict(frame[["width", "depth"]]) == model.predict_many(frame)


def test_classes_may_be_declared():
    for model in (paper_tree(), MistForest(paper_tree(), n_trees=1)):
        model.learn_many({"width": [1.0, 2.0]}, ["b", "c"], classes=["a", "d"])
        assert model.classes_.tolist() == ["a", "b", "c", "d"]
        assert model.predict_proba_many({"width": [1.0]})[0, [0, 3]].tolist() == [0.0, 0.0]


def test_columns_without_names_go_by_their_numbers():
    model = paper_tree().partial_fit(X[:50], Y[:50])
    proba = model.predict_proba_many({3: X[:50, 3], 0: X[:50, 0], 1: X[:50, 1], 2: X[:50, 2]})
    np.testing.assert_array_equal(proba, model.predict_proba(X[:50]))
    for call in (model.predict_many, lambda table: model.learn_many(table, [0])):
        with pytest.raises(ValueError, match="has a column named 'width', but this model"):
            call({"width": [1.0]})


@pytest.mark.parametrize(
    ("table", "y", "match"),
    [
        (X[:2], Y[:2], "by name and got ndarray.*partial_fit|'_many'"),
        ({}, [], "no columns"),
        ({"a": []}, [], "no rows"),
        ({"a": [1.0, 2.0], "b": [1.0]}, [0, 1], "column 'b' has 1 rows, but column 'a' has 2"),
        ({"a": 1.0}, [0], r"column 'a' has shape \(\).*learn_one"),
        ({"a": [1.0, "red"]}, [0, 1], "column 'a' holds the text 'red' at row 1"),
        ({"a": [1.0, np.inf]}, [0, 1], "infinity at row 1, column 'a'"),
        ({"a": [1.0, 2.0]}, [0], "2 rows, but y has 1 labels"),
        ({"width": [1.0], "new": [2.0]}, [None], "missing value"),
    ],
)
def test_refused_tables_leave_no_trace(table, y, match):
    fresh, model = paper_tree(), paper_tree().learn_many({"width": X[:9, 0]}, Y[:9])
    before, untouched = fingerprint(model), dict(vars(fresh))
    for learner in (fresh, model):
        with pytest.raises((ValueError, TypeError), match=match):
            learner.learn_many(table, y)
    assert fingerprint(model) == before
    assert vars(fresh) == untouched


def test_a_name_that_comes_twice_is_refused():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame([[1.0, 2.0]], columns=["a", "a"])
    with pytest.raises(ValueError, match="two columns named 'a'"):
        paper_tree().learn_many(frame, [0])


def devices(seed, kinds):
    """Rows of devices: a voltage that tells nothing, and one sensor for each kind of device."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(kinds, size=400)
    table = {"volt": rng.normal(5.0, 1.0, 400)}
    for kind in range(kinds):
        own = np.where(codes == kind, rng.normal(20.0 + 300.0 * kind, 2.0, 400), np.nan)
        table[f"sensor{kind}"] = own
    return table, codes


@pytest.mark.parametrize("leaf", ["gaussian", "sketch", "full", "mixture"])
@pytest.mark.parametrize("kinds", [2, 3])
def test_a_class_that_never_reports_a_column_does_not_take_the_rows_that_do(leaf, kinds):
    model = MistClassifier(leaf, adapt=None).learn_many(*devices(0, kinds))
    table, codes = devices(1, kinds)
    # A value within its expected distance speaks for its class: 68 % of the rows, not of 2 classes.
    assert np.mean(model.predict_many(table) == codes) > 0.5
