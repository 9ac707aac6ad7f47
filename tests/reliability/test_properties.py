"""What every estimator promises, asked with streams drawn at random."""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from subjects import ASKED, SUBJECTS, Drawn, drawn_for, each, held, made, streams

import mist
from material import most_probable
from mist import MistClassifier, QuantileSketch
from mist.engine.inheritance import LEAST_MASS
from mist.engine.kll import total_weight
from mist.engine.leaf_rules import leaf_masses
from mist.engine.state import leaf_cells
from mist.flat_settings import set_settings
from mist.limits import LARGEST
from mist.persistence import save
from published import rank_error

CLEAR = 1e-6
"""Where two classes are nearer than this in probability, rounding decides which is answered."""


def learnt(name, stream, **options):
    """An estimator that has learnt a stream."""
    weights = {"sample_weight": stream.weights} if SUBJECTS[name].weighted else {}
    model = made(name)
    if options and isinstance(model, MistClassifier):
        set_settings(model, **options)
    elif options:
        model.set_params(**options)
    return model.partial_fit(stream.X, stream.y, **weights)


def clear(proba):
    """Rows whose answer is not a matter of rounding."""
    if proba.shape[1] < 2:
        return np.full(len(proba), True)
    first = np.sort(proba, axis=1)
    return first[:, -1] - first[:, -2] > CLEAR


# -- batches -----------------------------------------------------------------------------------


@each()
@ASKED
@given(data=st.data())
def test_sizes_of_batches_do_not_matter(name, data):
    stream, subject = drawn_for(name, data), SUBJECTS[name]
    borders = data.draw(st.lists(st.integers(1, len(stream.y)), max_size=8))
    whole, parts, told = learnt(name, stream), made(name), made(name)
    for rows in np.split(np.arange(len(stream.y)), sorted(borders)):
        weights = {"sample_weight": stream.weights[rows]} if subject.weighted else {}
        if len(rows) and (stream.weights[rows].any() or not subject.weighted):
            parts.partial_fit(stream.X[rows], stream.y[rows], **weights)
            told.prequential(stream.X[rows], stream.y[rows], **weights)
    for other in (parts, told):
        if subject.bitwise:
            assert held(other) == held(whole)
        np.testing.assert_allclose(
            other.predict_proba(stream.asked),
            whole.predict_proba(stream.asked),
            rtol=1e-6,
            atol=1e-9,
        )


# -- columns, units, labels --------------------------------------------------------------------


@each(permuted=True)
@ASKED
@given(data=st.data(), order=st.permutations(range(3)))
def test_the_order_of_columns_plays_no_part(name, data, order):
    # Equal gains go to the first column; those from Gaussians of drawn values are not equal, and
    # a tree of sketches is asked without splits.
    stream = drawn_for(name, data, ties=False)
    options = {"sketch": {"max_leaves": 1}, "default": {"max_leaves": 1}}.get(name, {})
    if name in ("gaussian", "majority"):
        options = {"thresholds": "gaussian"}
    elif name == "forest":
        options = {"estimator__split_test__thresholds": "gaussian"}
    elif name == "pipeline":
        options = {"model__split_test__thresholds": "gaussian"}
    moved = Drawn(stream.X[:, order], stream.y, stream.weights, stream.asked[:, order])
    one, other = learnt(name, stream, **options), learnt(name, moved, **options)
    np.testing.assert_allclose(
        other.predict_proba(moved.asked), one.predict_proba(stream.asked), rtol=1e-6, atol=1e-7
    )


@each()
@ASKED
@given(data=st.data(), words=st.permutations(["", "nan", "Z", "<b>", "ä"]))
def test_names_of_labels_play_no_part(name, data, words):
    stream = drawn_for(name, data)
    named = Drawn(stream.X, np.array(words)[stream.y], stream.weights, stream.asked)
    one, other = learnt(name, stream), learnt(name, named)
    assert other.classes_.tolist() == sorted(words[label] for label in one.classes_)
    columns = [other.classes_.tolist().index(words[label]) for label in one.classes_]
    proba = one.predict_proba(stream.asked)
    np.testing.assert_allclose(
        other.predict_proba(stream.asked)[:, columns], proba, rtol=1e-9, atol=1e-12
    )
    sure = clear(proba)
    assert (
        other.predict(stream.asked)[sure].tolist()
        == np.array(words)[one.predict(stream.asked)][sure].tolist()
    )


@pytest.mark.parametrize("name", [n for n, s in SUBJECTS.items() if s.units != "none"])
@ASKED
@given(
    data=st.data(),
    exponents=st.tuples(*[st.integers(-40, 40)] * 3),
    shifts=st.tuples(*[st.integers(-50, 50)] * 3),
)
def test_units_and_origins_of_columns_play_no_part(name, data, exponents, shifts):
    # Powers of two scale without rounding.
    stream = drawn_for(name, data, ties=False)
    # A column with one value so far has no unit yet.
    learnt_rows = stream.X[stream.weights > 0] if SUBJECTS[name].weighted else stream.X
    assume(
        (
            np.nan_to_num(learnt_rows, nan=np.inf).min(axis=0)
            < np.nan_to_num(learnt_rows, nan=-np.inf).max(axis=0)
        ).all()
    )
    if SUBJECTS[name].units == "whole":
        exponents = exponents[:1] * 3
    factors = np.ldexp(1.0, exponents)

    def changed(X, shift):
        return (X + shift) * factors

    def with_shift(shift):
        return Drawn(
            changed(stream.X, shift), stream.y, stream.weights, changed(stream.asked, shift)
        )

    one, scaled, moved = stream, with_shift(0.0), with_shift(np.array(shifts))
    model = learnt(name, one)
    proba = model.predict_proba(one.asked)
    sure = clear(proba)
    expected = model.predict(one.asked)[sure]
    assert (learnt(name, scaled).predict(scaled.asked)[sure] == expected).all()
    # Rounding may decide which of two splits is better, or how many rows are drawn.
    if name not in ("default", "sketch", "replay"):
        assert (learnt(name, moved).predict(moved.asked)[sure] == expected).all()


# -- weights -----------------------------------------------------------------------------------


@each(weighted=True)
@ASKED
@given(data=st.data())
def test_a_row_of_weight_0_is_absent_and_one_of_weight_2_there_twice(name, data):
    stream = drawn_for(name, data)
    keep = stream.weights > 0
    some = made(name).partial_fit(
        stream.X[keep], stream.y[keep], sample_weight=stream.weights[keep]
    )
    assert held(learnt(name, stream)) == held(some)

    # One leaf: attempts to split are counted in rows. Sketches take copies up to their error.
    options = {"max_leaves": 1} if name in ("gaussian", "majority") else {}
    if name in ("sketch", "forest", "replay", "default"):
        return
    times = np.ceil(stream.weights[keep]).astype(int)
    twice = made(name).set_params(**options)
    twice.partial_fit(np.repeat(stream.X[keep], times, axis=0), np.repeat(stream.y[keep], times))
    once = made(name).set_params(**options)
    once.partial_fit(stream.X[keep], stream.y[keep], sample_weight=times.astype(float))
    np.testing.assert_allclose(
        once.predict_proba(stream.asked), twice.predict_proba(stream.asked), rtol=1e-6, atol=1e-8
    )


# -- answers -----------------------------------------------------------------------------------


@each()
@ASKED
@given(
    data=st.data(),
    far=st.lists(
        st.tuples(*[st.floats(-LARGEST, LARGEST) | st.sampled_from([0.0, 5e-324, -1e-300])] * 3),
        max_size=5,
    ),
)
def test_probabilities_are_sound_and_asking_changes_nothing(name, data, far):
    stream = drawn_for(name, data)
    model = learnt(name, stream)
    before = held(model)
    asked = np.vstack([stream.X, stream.asked, np.array(far).reshape(-1, 3)])
    proba = model.predict_proba(asked)
    assert proba.shape == (len(asked), len(model.classes_))
    assert np.isfinite(proba).all()
    assert ((proba >= 0.0) & (proba <= 1.0)).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-9)
    best = model.classes_[proba.argmax(axis=1)]
    answers = most_probable(model, asked)
    sure = clear(proba)
    assert (answers[sure] == best[sure]).all()
    of_answer = proba[np.arange(len(asked)), np.searchsorted(model.classes_, answers)]
    np.testing.assert_allclose(of_answer, proba.max(axis=1), atol=CLEAR)
    if name in ("default", "gaussian", "sketch", "majority"):
        model.explain(asked[0])
        model.export_text()
        model.leaf_summary()
        model.apply(asked)
        model.predict_one(asked[0])
        _ = model.tree_, model.leaf_impurity_, model.feature_importances_
    repr(model)
    assert held(model) == before
    np.testing.assert_array_equal(model.predict_proba(asked), proba)


# -- files -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in SUBJECTS if name != "river"])
@ASKED
@given(data=st.data())
def test_a_model_goes_on_from_its_file_as_if_never_away(name, data, tmp_path_factory):
    stream = drawn_for(name, data)
    cut = data.draw(st.integers(1, len(stream.y)))
    folder = tmp_path_factory.getbasetemp()
    model = made(name).partial_fit(stream.X[:cut], stream.y[:cut])
    save(model, folder / "model.mist")
    back = mist.load(folder / "model.mist")
    assert held(back) == held(model)
    if cut < len(stream.y):
        for each_one in (model, back):
            each_one.partial_fit(stream.X[cut:], stream.y[cut:])
        assert held(back) == held(model)
    np.testing.assert_array_equal(
        back.predict_proba(stream.asked), model.predict_proba(stream.asked)
    )


# -- merging -----------------------------------------------------------------------------------


def totals(model):
    """Rows, labels, and the mass of every class in each tree."""
    trees = model.trees_ if hasattr(model, "trees_") else [model]
    masses = []
    for tree in trees:
        of_code = leaf_masses(tree._state).sum(axis=0)
        masses.append(of_code[np.argsort(tree._labels.ranks[: len(of_code)])])
    return model.n_rows_, model.classes_.tolist(), masses


@each(merged=True)
@ASKED
@given(data=st.data(), order=st.permutations(range(3)), bracket=st.booleans())
def test_neither_order_nor_brackets_of_merging_matter(name, data, order, bracket):
    stream = drawn_for(name, data)
    base = learnt(name, stream)
    more = [drawn_for(name, data) for _ in range(3)]
    parts = [
        base.fork(number).partial_fit(part.X, part.y, sample_weight=part.weights)
        for number, part in enumerate(more)
    ]
    a, b, c = (copy.deepcopy(parts[i]) for i in order)
    straight, other = copy.deepcopy(base), copy.deepcopy(base)
    for part in copy.deepcopy(parts):
        straight.merge(part)
    other.merge(a.merge(b.merge(c))) if bracket else other.merge(a.merge(b)).merge(c)
    one, two = totals(straight), totals(other)
    assert one[:2] == two[:2]
    for mine, theirs in zip(one[2], two[2], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)
    proba = straight.predict_proba(stream.asked)
    if name in ("gaussian", "majority"):
        np.testing.assert_allclose(other.predict_proba(stream.asked), proba, rtol=1e-6, atol=1e-7)


@ASKED
@given(
    parts=st.lists(st.lists(st.integers(-30, 30), max_size=300), min_size=3, max_size=3),
    order=st.permutations(range(3)),
    size=st.sampled_from([32, 64]),
)
def test_sketches_merged_in_any_order_hold_all_values(parts, order, size):
    def sketched(number):
        values = np.array(parts[number], dtype=float)
        return QuantileSketch(size, random_state=number).update(values)

    values = np.sort(np.array([v for part in parts for v in part], dtype=float))
    a, b, c = (sketched(i) for i in order)
    for whole in (a.merge(b).merge(c), sketched(order[0]).merge(sketched(order[1]).merge(c))):
        assert whole.n == len(values)
        if len(values):
            assert whole.quantile([0.0, 1.0]).tolist() == [values[0], values[-1]]
            ranks = np.searchsorted(values, values, side="right") / len(values)
            assert np.abs(whole.rank(values) - ranks).max() < 3 * rank_error(size)


# -- missing values ----------------------------------------------------------------------------


@each(gaps=True)
@ASKED
@given(data=st.data())
def test_a_missing_value_is_an_absent_key(name, data):
    stream = drawn_for(name, data)
    keys = ["a", "b", "c"]
    with_nan, without = made(name), made(name)
    rows = [dict(zip(keys, row.tolist(), strict=True)) for row in stream.X]
    # All keys are met in the first row, so that the columns stand in the same order.
    rows[0] = dict(zip(keys, np.nan_to_num(stream.X[0]).tolist(), strict=True))
    for row, label in zip(rows, stream.y.tolist(), strict=True):
        with_nan.learn_one(row, label)
        without.learn_one({key: v for key, v in row.items() if v == v}, label)
    assert held(without) == held(with_nan)
    for row in stream.asked:
        keyed = dict(zip(keys, row.tolist(), strict=True))
        absent = {key: v for key, v in keyed.items() if v == v}
        assert with_nan.predict_proba_one(keyed) == without.predict_proba_one(absent)


# -- what is kept ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["default", "gaussian", "sketch", "majority"])
@pytest.mark.parametrize("discount", [1.0, 0.6])
@ASKED
@given(stream=streams(gaps=True))
def test_leaves_hold_the_mass_that_came_and_cells_the_rows_of_their_leaf(name, discount, stream):
    joint = name == "default"
    model = set_settings(made(name), discount=discount)
    keep = stream.weights > 0
    total = 0.0
    for x, label, weight in zip(stream.X[keep], stream.y[keep], stream.weights[keep], strict=True):
        at_leaf, n_cells, n_leaves = 0.0, 1, 1
        if total:
            leaf = model._state.tree.nodes.leaf[model.apply(x[None])[0]]
            held_there = leaf_masses(model._state)[leaf]
            at_leaf, n_cells = held_there.sum(), 1 + np.count_nonzero(held_there)
            n_leaves = model.n_leaves_
        model.partial_fit(x[None], [label], sample_weight=[weight])
        total += weight
        if model.n_leaves_ > n_leaves:
            # The paper's discount is on what children inherit; crumbs of a class are dropped, and
            # a side without any class is given the masses of its parent.
            arrived = at_leaf + weight
            total -= 0.0 if joint else (1 - discount) * arrived
            now = leaf_masses(model._state).sum()
            orphans = model._state.tree.leaves.prior_only[: model.n_leaves_].any()
            lost = total - now
            assert orphans or -1e-9 * total <= lost <= 2 * n_cells * LEAST_MASS
            total = now
        assert total == pytest.approx(leaf_masses(model._state).sum(), rel=1e-12)
    state = model._state
    tree = state.tree
    for leaf in range(model.n_leaves_):
        cells = leaf_cells(tree, leaf)
        np.testing.assert_allclose(tree.cells.count[cells].sum(), tree.leaves.weight_seen[leaf])
        if model.settings()["leaf"] in (
            "gaussian",
            "sketch",
        ):  # those that renew their cells now and then
            assert tree.cells.steps[cells].sum() == tree.leaves.n_updates[leaf]
        if not tree.leaves.prior_only[leaf]:
            np.testing.assert_allclose(tree.cells.weight[cells].sum(), tree.leaves.weight[leaf])
    np.testing.assert_allclose(
        sum(row.rows for row in model.leaf_summary()),
        tree.leaves.weight_seen[: model.n_leaves_].sum(),
    )
    assert model.n_rows_ == keep.sum()


@ASKED
@given(stream=streams(gaps=True), size=st.sampled_from([8, 16]), whole=st.booleans())
def test_weights_in_sketches_sum_to_the_rows_of_their_cell(stream, size, whole):
    model = set_settings(made("sketch"), sketch_size=size)
    weights = np.ceil(stream.weights) if whole else np.ones(len(stream.y))
    for _, rows in itertools.groupby(range(len(stream.y)), key=lambda i: i // 7):
        part = list(rows)
        model.partial_fit(stream.X[part], stream.y[part], sample_weight=weights[part])
    state = model._state
    for leaf in range(model.n_leaves_):
        for cell in leaf_cells(state.tree, leaf):
            if state.tree.cells.start[cell] >= 0:
                assert total_weight(state.sketch, cell) == state.tree.cells.count[cell]
