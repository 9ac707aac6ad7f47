"""A text that comes late: its 0/1 column was 0 in earlier rows, not missing."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agreeing import same_label, same_tree, twin_answer
from mist import MistClassifier, MistForest, SplitTest
from mist.baselines import RandomFeatureLDA
from mist.engine.mixture_upkeep import components_of
from mist.engine.state import MEAN
from mist.persistence import load
from naive import NaiveMist
from published import paper_tree

SOURCES = {f"{column}={k}": column for column in "st" for k in range(4)}


def stream(seed, n, missing=0.0, d=2):
    """Numbers and two text columns; two texts of ``t`` come in the second half only."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, d))
    X[:, 0] += 2.0 * y
    late = (np.arange(n) > n // 2) & (rng.random(n) < 0.3)
    texts = {
        "s": (rng.random(n) < 0.3 + 0.2 * y).astype(int),
        "t": np.where(late, 2 + (y == 1), (rng.random(n) < 0.2 + 0.3 * y).astype(int)),
    }
    lost = {column: rng.random(n) < missing for column in texts}
    return X, texts, lost, y


def one_hot(X, texts, lost, known):
    """Columns by name, those of ``known`` texts only."""
    table = {f"x{j}": column for j, column in enumerate(X.T)}
    for name in known:
        column, k = name.split("=")
        table[name] = np.where(lost[column], np.nan, texts[column] == int(k))
    return table


def batches(X, texts, lost, y):
    """Rows as a pipe brings them: a column begins with the first row that has its text."""
    begins = {}
    for name, column in SOURCES.items():
        rows = np.flatnonzero((texts[column] == int(name[-1])) & ~lost[column])
        if rows.size:
            begins[name] = int(rows[0])
    borders = sorted({0, len(y), *begins.values()})
    known = sorted(begins, key=lambda name: (begins[name], name))
    for begin, end in pairwise(borders):
        rows = slice(begin, end)
        here = [name for name in known if begins[name] <= begin]
        gone = {column: values[rows] for column, values in lost.items()}
        part = {column: values[rows] for column, values in texts.items()}
        yield one_hot(X[rows], part, gone, here), y[rows]


def part(table, rows):
    return {name: column[rows] for name, column in table.items()}


def late_and_early(make, seed, n, missing=0.0, d=2):
    """A model that meets texts late, one that has their columns from the start, and new rows."""
    given = stream(seed, n, missing, d)
    late, early = make(), make()
    for table, y in batches(*given):
        late.learn_many(table, y, indicators=SOURCES)
    *rows, y = given
    names = [name for name in late.feature_names_in_.tolist() if name in SOURCES]
    early.learn_many(one_hot(*rows, names), y, indicators=SOURCES)
    fresh = one_hot(*stream(seed + 1, 100, missing, d)[:3], names)
    return late, early, fresh


@settings(max_examples=15, deadline=None)
@given(
    leaf=st.sampled_from(["gaussian", "majority", "sketch"]),
    inheritance=st.sampled_from(["gaussian", "joint", None]),
    discount=st.sampled_from([0.6, 1.0]),
    missing=st.sampled_from([0.0, 0.3]),
    seed=st.integers(0, 2**16),
)
@example(leaf="gaussian", inheritance="gaussian", discount=0.6, missing=0.3, seed=1)
def test_a_late_text_agrees_with_a_twin_that_had_its_column(
    leaf, inheritance, discount, missing, seed
):
    # On a schedule, a column of zeros cannot change which split is made.
    options = {"grace_period": 20, "split_test": "schedule", "rows_per_split": 20}
    options |= {"inheritance": inheritance, "discount": discount}
    model = paper_tree(leaf, **options)
    X, texts, lost, y = stream(seed, 80, missing)
    for table, labels in batches(X, texts, lost, y):
        model.learn_many(table, labels, indicators=SOURCES)
    names = model.feature_names_in_.tolist()
    table = one_hot(X, texts, lost, [name for name in names if name in SOURCES])
    columns = np.column_stack([table[name] for name in names])
    binary = [j for j, name in enumerate(names) if name in SOURCES]
    twin = NaiveMist(leaf, categorical_features=binary, **options)
    for x, label in zip(columns.tolist(), y.tolist(), strict=True):
        twin.learn_row(x, label, 1.0)
    same_tree(twin, model)
    for x in columns[::7]:
        shares, tolerance = twin_answer(twin, x.tolist())
        named = dict(zip(names, x.tolist(), strict=True))
        assert same_label(shares, tolerance, model.predict_one(named))
        mine = model.predict_proba_one(named)
        assert mine == pytest.approx(shares, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize(
    ("options", "d"),
    [
        ({"leaf": "gaussian"}, 2),
        ({"leaf": "full"}, 2),
        ({"leaf": "mixture"}, 101),
        ({"leaf": "gaussian", "split_test": "eprocess"}, 2),
    ],
    ids=["gaussian", "full", "low-rank", "candidates"],
)
def test_a_late_text_leaves_what_a_column_of_zeros_would(options, d, missing):
    given = {"split_test": "schedule", "rows_per_split": 150, "grace_period": 50, "adapt": None}
    late, early, fresh = late_and_early(
        lambda: MistClassifier.from_settings(**given | options), 3, 600, missing, d
    )
    assert late.n_splits_ == early.n_splits_
    np.testing.assert_array_equal(late._order, early._order)
    mine, theirs = late._state, early._state
    assert (mine.observed is None) == (missing == 0.0)
    np.testing.assert_allclose(mine.tree.stats[:, MEAN], theirs.tree.stats[:, MEAN], rtol=1e-9)
    if mine.observed is not None:
        np.testing.assert_allclose(mine.observed.cell, theirs.observed.cell, rtol=1e-9)
    # Missing values are filled in by factors; those differ a little until they are renewed.
    near = 1e-9 if missing == 0.0 else 0.02
    np.testing.assert_allclose(
        late.predict_proba_many(fresh), early.predict_proba_many(fresh), atol=near
    )
    if options.get("split_test") == "eprocess":
        assert any(batch.candidates for batch in mine.candidate_splits.values())


def test_components_of_mixtures_learn_the_new_columns():
    """Components divide by evidence, which was collected without the columns: they may differ."""
    given = stream(3, 700)
    given[0][::2, 1] += 9.0
    tables = list(batches(*given))
    model = MistClassifier(split_test=SplitTest("schedule", rows_per_split=10**6), adapt=None)
    for table, y in tables[:-1]:
        model.learn_many(table, y, indicators=SOURCES)
    table, y = tables[-1]
    model.learn_many(part(table, slice(0, 1)), y[:1], indicators=SOURCES)
    mixture = model._state.model
    assert mixture.cells.n.max() > 1
    late = slice(len(model._order) - 1, None)
    means, odds = mixture.own.mean[:, late], mixture.own.odds[:, -1]
    # Log odds of a text that only one row has had, by the weight behind each.
    zero = [k for k in range(len(odds)) if mixture.own.head.weight[k] and means[k, 0] == 0.0]
    assert zero
    fresh = mixture.own.head.fresh[zero]
    np.testing.assert_allclose(odds[zero], np.log(0.5 / (fresh + 0.5)), rtol=1e-9)
    model.learn_many(part(table, slice(1, None)), y[1:], indicators=SOURCES)
    mixture, stats = model._state.model, model._state.tree.stats
    # The components of a class together know what the tree knows of it.
    for cell in range(3):
        own = components_of(mixture, cell)
        mean = np.average(mixture.own.mean[own, -6:], axis=0, weights=mixture.own.head.weight[own])
        np.testing.assert_allclose(mean, stats[cell, MEAN, -6:], atol=0.03)


def test_a_forest_and_all_its_experts_follow_late_texts(tmp_path):
    # Components of mixtures divide by evidence, which was collected without the columns.
    tree = MistClassifier("full", split_test="schedule", grace_period=100)

    def make():
        return MistForest(tree, 2, max_features=None, random_features=20, random_state=5)

    late, early, fresh = late_and_early(make, 4, 700)
    assert late._restarted.n_columns == len(late.feature_names_in_)
    # The discriminant reads the late columns, too; its layer was drawn without them.
    assert late._head.columns.tolist() == list(range(len(late.feature_names_in_)))
    for mine, theirs in zip(late.trees_, early.trees_, strict=True):
        shares = [tree._predict_proba(tree._table_to_predict(fresh)) for tree in (mine, theirs)]
        np.testing.assert_allclose(*shares, atol=1e-9)
    recent = [model._expectation.state.recent for model in (late, early)]
    np.testing.assert_allclose(*(each.mean for each in recent), atol=1e-9)
    np.testing.assert_allclose(*(each.overall for each in recent), atol=1e-9)
    np.testing.assert_allclose(
        late.predict_proba_many(fresh), early.predict_proba_many(fresh), atol=0.05
    )
    # A number that comes late is not read by the discriminant, a text after it is.
    late.learn_many(fresh | {"x2": np.ones(100)}, np.arange(100) % 3, indicators=SOURCES)
    late.learn_many(
        fresh | {"s=9": np.ones(100)}, np.arange(100) % 3, indicators={"s=9": "s", **SOURCES}
    )
    assert late._head.columns.tolist()[-2:] == [len(fresh) - 1, len(fresh) + 1]
    late.save(tmp_path / "late.mist")
    other = load(tmp_path / "late.mist")
    np.testing.assert_array_equal(late.predict_proba_many(fresh), other.predict_proba_many(fresh))


def test_texts_of_a_model_that_took_their_columns_for_numbers():
    """Pipes did so in earlier versions; a checkpoint of one goes on with columns of both kinds."""
    X, texts, lost, y = stream(7, 300, 0.2)
    model = MistClassifier("gaussian", adapt=None)
    model.learn_many(one_hot(X, texts, lost, ["t=0", "t=1"]), y)
    table = {"x0": X[:1, 0], "x1": X[:1, 1], "t=0": [0.0], "t=1": [0.0], "t=2": [1.0]}
    model.learn_many(table, y[:1], indicators=SOURCES)
    state = model._state
    assert (state.options.n_numeric, state.n_features) == (4, 5)
    old = model.feature_names_in_.tolist().index("t=0")
    np.testing.assert_array_equal(state.observed.cell[:, 4], state.observed.cell[:, old])
    assert state.tree.scale[MEAN, 4] == pytest.approx(1.0 / ((~lost["t"]).sum() + 1.0))


def test_merging_with_late_texts():
    X, texts, lost, y = stream(9, 400)
    first = slice(0, 200)
    whole = one_hot(X, texts, lost, ["t=0", "t=1", "t=2", "t=3"])
    early = {name: column for name, column in whole.items() if name < "t=2" or name[0] == "x"}
    model, fewer = MistClassifier("gaussian", adapt=None), MistClassifier("gaussian", adapt=None)
    model.learn_many(part(early, first), y[first], indicators=SOURCES)
    fewer.learn_many(part(early, first), y[first], indicators=SOURCES)
    model.learn_many(part(whole, slice(200, 201)), y[200:201], indicators=SOURCES)
    fork = model.fork().learn_many(part(whole, slice(201, 400)), y[201:], indicators=SOURCES)
    model.merge(fork)
    straight = MistClassifier("gaussian", adapt=None)
    straight.learn_many(whole, y, indicators=SOURCES)
    mine, theirs = model._state.tree, straight._state.tree
    np.testing.assert_allclose(mine.scale, theirs.scale, rtol=1e-9)
    with pytest.raises(ValueError, match="differ in their columns: 6 and 4"):
        model.merge(fewer)


def test_a_random_layer_takes_a_column_of_zeros():
    X, _, _, y = stream(6, 400, d=3)
    z = np.where(np.arange(400) > 300, y == 1, 0).astype(float)
    late, early = (RandomFeatureLDA(n_features=30, random_state=2) for _ in range(2))
    late.partial_fit(X[:300], y[:300])
    late._add_zeros(1)
    early.partial_fit(np.column_stack([X, z])[:1], y[:1])
    early._state.projection[:] = late._state.projection
    early._state.offsets[:] = late._state.offsets
    early.partial_fit(np.column_stack([X, z])[1:300], y[1:300])
    for name in ("centre", "spread"):
        np.testing.assert_allclose(getattr(late._state, name), getattr(early._state, name))
    late.partial_fit(np.column_stack([X, z])[300:], y[300:])
    early.partial_fit(np.column_stack([X, z])[300:], y[300:])
    assert late._state.spread[3] == early._state.spread[3] == 1.0
    # The draws that replace the first rows know of a column without spread in one of them.
    rows = np.column_stack([X, z])
    assert (late.predict(rows) == early.predict(rows)).mean() > 0.95


def test_what_indicators_must_be():
    model = MistClassifier("gaussian")
    model.learn_many({"a": [1.0, 2.0], "t=u": [1, 0]}, [0, 1], indicators={"t=u": "t"})
    before = model.nbytes
    with pytest.raises(TypeError, match="indicators must map"):
        model.learn_many({"a": [1.0]}, [0], indicators=["t=u"])
    with pytest.raises(ValueError, match=r"'t=v' holds 3\.0 at row 0"):
        model.learn_many({"a": [1.0], "t=v": [3.0]}, [0], indicators=SOURCES | {"t=v": "t"})
    assert model.nbytes == before
    assert model.feature_names_in_.tolist() == ["a", "t=u"]
