"""Explanations of single rows: against the slow twins, and against what the model answers."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import BINARY, LABELS, grown, rows, tiny, twin
from scipy.special import logsumexp, softmax
from sklearn.exceptions import NotFittedError

from mist import MistClassifier, MistForest
from mist.inspection import Explanation, explain, export_graphviz, plot_tree
from naive_mixture import NaiveMixtureLeaf
from published import paper_tree

ASKED = rows(2, 40, 0.15)[0]

ONE_VALUE = st.one_of(st.just(math.nan), st.floats(-20.0, 20.0))
ONE_ROW = st.tuples(ONE_VALUE, st.sampled_from([0.0, 1.0, math.nan]), ONE_VALUE, ONE_VALUE)


def relative(prior, evidence):
    """Log probabilities against their mean over the classes, weighted with the priors."""
    return evidence - logsumexp(prior + evidence)


def naive_terms(slow, x):
    """Prior and evidence of every class at the leaf of a row, column by column, by label."""
    row = [float(x[c]) for c in slow.order]
    leaf = slow.nodes[slow.route(row)]
    prior = np.array([math.log(cell.mass + 1.0) for cell in leaf.cells.values()])
    prior = prior - logsumexp(prior)
    columns = np.zeros((len(prior), slow.d))
    for j, value in enumerate(row):
        if math.isnan(value):
            continue
        for k, cell in enumerate(leaf.cells.values()):
            if j >= slow.n_numeric:
                term = math.log(cell.prec[j] if value == 1.0 else 1.0 - cell.prec[j])
            elif slow.leaf == "gaussian":
                term = slow.gaussian_term(cell, j, value)
            else:
                term = slow.sketch_term(cell, j, value)
            columns[k, slow.order[j]] = term
        columns[:, slow.order[j]] = relative(prior, columns[:, slow.order[j]])
    labels = [slow.labels[code] for code in leaf.cells]
    return {label: (prior[k], columns[k]) for k, label in enumerate(labels)}


@pytest.mark.parametrize("leaf", ["gaussian", "sketch"])
def test_evidence_is_what_each_column_adds_in_the_slow_twin(leaf):
    model, slow = grown(leaf), twin(leaf)
    assert model.n_leaves_ == (len(slow.nodes) + 1) / 2 > 3
    for x in ASKED:
        told, expected = model.explain(x, top=None), naive_terms(slow, x)
        assert set(told.classes) == set(expected)
        for label, prior, evidence in zip(told.classes, told.prior, told.evidence, strict=True):
            np.testing.assert_allclose(prior, expected[label][0], atol=1e-9)
            np.testing.assert_allclose(evidence, expected[label][1], rtol=1e-9, atol=1e-9)
        assert told.additive
        assert not told.together.any()


def holds_together(model, x):
    """The scores give the probabilities, the prediction comes first."""
    told = model.explain(x, top=None)
    shares = model.predict_proba([x])[0]
    assert told.prediction == model.predict([x])[0] == told.classes[0]
    assert list(told.probabilities) == model.classes_.tolist()
    assert list(told.probabilities.values()) == shares.tolist()
    found = dict(zip(told.classes, softmax(told.scores), strict=True))
    by_tree = model._predict_proba(model._row_to_predict(x))[0]
    expected = [found.get(label, 0.0) for label in model.classes_]
    np.testing.assert_allclose(expected, by_tree, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        told.scores, told.prior + told.evidence.sum(axis=1) + told.together, atol=1e-9
    )
    assert not told.evidence[:, np.isnan(x)].any()
    chances = [told.probabilities[label] for label in told.classes]
    # The first is the one that the model's rule of decision chooses.
    assert chances[1:] == sorted(chances[1:], reverse=True)
    return told


@settings(max_examples=60, deadline=None)
@given(x=ONE_ROW, leaf=st.sampled_from(["gaussian", "sketch"]), balanced=st.booleans())
def test_prior_and_evidence_add_up_to_the_probabilities(x, leaf, balanced):
    told = holds_together(grown(leaf, class_prior="balanced" if balanced else "counts"), list(x))
    assert told.additive


@pytest.mark.parametrize("leaf", ["full", "mixture"])
def test_evidence_of_covariances_is_that_of_the_slow_twin_without_a_value(leaf):
    X, y = rows(3, 300, 0.0)
    X[::2, [0, 2, 3]] += 9.0  # classes of two modes
    X[:, 3] += X[:, 0]
    model = paper_tree(leaf, categorical_features=[BINARY], grace_period=10**9).partial_fit(X, y)
    slow = NaiveMixtureLeaf(4, [BINARY], 1 if leaf == "full" else 16)
    for x, label in zip(X, y.tolist(), strict=True):
        slow.learn(x, label)
    asked = X[:12].copy()
    asked[::3, [0, BINARY]] = np.nan
    most = 0.0
    for x in asked:
        told = holds_together(model, x)
        assert not told.additive
        whole, nothing = slow.scores(x), slow.scores([math.nan] * 4)
        prior = np.array([nothing[label] for label in told.classes])
        prior = prior - logsumexp(prior)
        np.testing.assert_allclose(told.prior, prior, atol=1e-9)
        for j in np.flatnonzero(~np.isnan(x)):
            rest = slow.scores(np.where(np.arange(4) == j, math.nan, x))
            lost = np.array([whole[label] - rest[label] for label in told.classes])
            np.testing.assert_allclose(
                told.evidence[:, j], relative(prior, lost), rtol=1e-6, atol=1e-6
            )
        most = max(most, np.ptp(told.together))
    assert most > 0.5  # two columns that go together say the same


def test_covariances_of_low_rank_can_be_explained():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=60)
    X = rng.normal(size=(60, 104)) + y[:, None] * (np.arange(104) == 7) * 6.0
    model = MistClassifier().partial_fit(X, y)
    told = holds_together(model, X[0])
    assert not told.additive
    assert told.contrast()[0].feature == 7
    assert "94 other columns" in str(told)  # of 104 values ten are named


def test_majority_leaves_have_a_prior_only():
    model = grown("majority")
    for x in ASKED[:10]:
        told = holds_together(model, x)
        assert not told.evidence.any()
        assert not told.together.any()
        assert told.additive


def test_a_leaf_that_inherited_nothing_answers_from_its_prior():
    told = holds_together(tiny(inheritance=None), [2.0, 1.0])
    assert not told.evidence.any()
    assert [(c.label, c.mass, c.rows) for c in told.held] == [
        ("dry", 4.0, 0.0),
        ("soaked", 4.0, 0.0),
    ]


def test_the_path_is_the_way_that_the_tree_sends_the_row():
    model = grown("gaussian")
    tree, went_by_default = model.tree_, 0
    for x in ASKED:
        told, node = model.explain(x), 0
        for step in told.path:
            assert step.node == node
            assert (step.feature, step.threshold) == (tree.feature[node], tree.threshold[node])
            assert step.column == f"x{step.feature}"
            value = x[step.feature]
            assert step.missing == math.isnan(value) == math.isnan(step.value)
            assert step.missing or (step.value == value and step.left == (value <= step.threshold))
            went_by_default += step.missing
            node = (tree.left if step.left else tree.right)[node]
        assert tree.feature[node] < 0
        assert told.leaf == node == model.apply([x])[0]
    assert went_by_default > 3


def test_the_leaf_is_that_of_the_summary():
    model = grown("gaussian")
    summary = {row.leaf: row for row in model.leaf_summary()}
    inherited = 0
    for x in ASKED[:10]:
        told = model.explain(x)
        assert told.rows == summary[told.leaf].rows == sum(c.rows for c in told.held)
        assert len(told.held) == summary[told.leaf].classes
        masses = [c.mass for c in told.held]
        assert masses == sorted(masses, reverse=True)
        assert all(c.mass >= c.rows for c in told.held)
        inherited += sum(c.mass - c.rows for c in told.held)
    assert inherited > 1


def test_rows_by_name_and_columns_that_came_later():
    model = paper_tree(grace_period=10**9)
    for i in range(30):
        model.learn_one({"size": float(i % 2)}, "small" if i % 2 else "large")
    for i in range(30):
        model.learn_one({"size": 0.5 + i % 3, "weight": 9.0 + i % 4}, "heavy")
    told = model.explain({"weight": 10.0, "unheard of": 1.0})
    assert told.columns == ("size", "weight")
    assert math.isnan(told.values[0])
    assert not told.evidence[:, 0].any()
    assert told.prediction == model.predict_one({"weight": 10.0}) == "heavy"
    expected = model.predict_proba_one({"weight": 10.0})
    np.testing.assert_allclose(softmax(told.scores), [expected[c] for c in told.classes], atol=1e-9)


def test_nothing_is_changed_by_looking():
    model = paper_tree("gaussian", categorical_features=[BINARY]).partial_fit(*rows(1, 100, 0.0))
    model.predict_one(ASKED[0])
    before = pickle.dumps(model)
    x = ASKED[0].copy()
    told = model.explain(x)
    told.plot()
    plot_tree(model)
    model.to_frame(), model.feature_importances_, export_graphviz(model)
    assert pickle.dumps(model) == before
    np.testing.assert_array_equal(x, ASKED[0])
    told.values[:], told.evidence[:] = 0.0, 0.0
    assert pickle.dumps(model) == before


def test_evidence_is_told_for_the_most_probable_classes():
    model = grown("gaussian")
    whole, some = model.explain(ASKED[0], top=None), model.explain(ASKED[0], top=2)
    assert some.classes == whole.classes[:2]
    np.testing.assert_array_equal(some.evidence, whole.evidence[:2])
    np.testing.assert_array_equal(some.prior, whole.prior[:2])
    assert some.probabilities == whole.probabilities


def test_evidence_does_not_depend_on_units():
    X, y = rows(1, 100, 0.0)
    plain = paper_tree(categorical_features=[BINARY]).partial_fit(X, y)
    scales = np.array([1024.0, 1.0, 2.0**-10, 1.0])
    scaled = paper_tree(categorical_features=[BINARY]).partial_fit(X * scales, y)
    for x in X[:5]:
        np.testing.assert_allclose(
            plain.explain(x).evidence, scaled.explain(x * scales).evidence, atol=1e-9
        )


# -- streams that change -------------------------------------------------------------------------


def shifted(leaf, **options):
    """A tree with splits that has found a shift of all classes, and rows after the shift."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 3)), rng.integers(0, 2, 2000)
    X += 4.0 * np.eye(3)[y]
    X[1000:] += [3.0, -3.0, 0.0]
    model = MistClassifier.from_settings(
        leaf=leaf, grace_period=50, split_test="schedule", rows_per_split=300, **options
    ).fit(X, np.array(["dry", "soaked"])[y])
    assert [change.kind for change in model.changes_] == ["common shift"]
    assert model.n_leaves_ > 1
    return model, X[1000:1200:10]


@pytest.mark.parametrize("leaf", ["mixture", "gaussian"])
def test_a_row_after_a_common_shift_is_explained_as_it_is_predicted(leaf):
    model, X = shifted(leaf)
    moved = np.zeros(3)  # by how much thresholds shown differ from those of the tree
    for x in [*X, np.array([math.nan, *X[0][1:]])]:
        holds_together(model, x)
        told = model.explain(x)
        np.testing.assert_array_equal(told.values, x)
        assert told.leaf == model.apply([x])[0]
        for step in told.path:
            np.testing.assert_equal(step.value, x[step.feature])
            if not step.missing:
                assert step.left == (step.value <= step.threshold)
                own = step.threshold - model.tree_.threshold[step.node]
                moved[step.feature] = own
    np.testing.assert_allclose(moved[:2], [3.0, -3.0], atol=0.5)


def test_the_prediction_as_the_next_of_the_stream_is_a_line_of_its_own():
    model, X = shifted("gaussian")
    told = model.explain(X[0])
    shares = model.predict_proba(X[:1], next_in_stream=True)[0]
    assert list(told.next_in_stream) == model.classes_.tolist()
    assert list(told.next_in_stream.values()) == shares.tolist()
    assert told.next_in_stream == model.predict_proba_one(X[0])
    lines = str(told).splitlines()
    assert lines[0].startswith(f"prediction for a row of a table: {told.prediction} (")
    label = model.predict_one(X[0])
    assert lines[1] == f"as the next row of the stream: {label} ({shares.max():.3g})"
    rest = shifted("gaussian", adapt="classes")[0].explain(X[0])
    assert rest.next_in_stream is None
    assert str(rest).startswith("prediction: ")
    assert "next row" not in str(rest)


# -- texts and tables --------------------------------------------------------------------------


def test_an_explanation_reads_as_text():
    told = tiny().partial_fit([[2.0, 1.0], [3.0, 1.0], [4.0, 0.0]], ["dry", "dry", "soaked"])
    lines = str(told.explain([math.nan, 0.0])).splitlines()
    assert lines[1:5] == [
        "path to leaf 1:",
        "  x0 is missing: to the heavier side, <= 6",
        "class masses at the leaf (rows learnt there): dry 4.4 (2), soaked 1 (1)",
        f"evidence for {'dry' if lines[0].startswith('prediction: dry') else 'soaked'} against "
        f"{'soaked' if lines[0].startswith('prediction: dry') else 'dry'}, in nats:",
    ]
    assert lines[5].endswith("  x1 = 0")
    assert lines[6].endswith("  prior of the classes")
    first, second, total = (float(line.split()[0]) for line in lines[5:])
    assert total == pytest.approx(first + second, abs=0.011)
    assert str(told.explain([1.0, 1.0])).splitlines()[2] == "  x0 = 1 <= 6"


def test_names_cannot_break_a_text_or_a_page():
    model = paper_tree().partial_fit([[0.0], [1.0], [8.0]], ["<b>", "<b>", "x\x1b[2J\ny"])
    text = str(model.explain([0.5]))
    assert "\x1b" not in text
    assert "x\\x1b[2J\\ny" in text
    page = model.explain([0.5])._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page


def test_the_frame_has_every_part_of_every_score():
    pd = pytest.importorskip("pandas")
    model = grown("gaussian")
    told = model.explain(ASKED[0], top=None)
    frame = told.to_frame()
    assert list(frame.columns) == ["class", "part", "column", "value", "evidence"]
    assert len(frame) == len(told.classes) * 6
    sums = frame.groupby("class")["evidence"].sum()
    for label, score in zip(told.classes, told.scores, strict=True):
        assert sums[label] == pytest.approx(score, abs=1e-12)
    columns = frame[frame["part"] == "column"]
    assert columns["column"].tolist() == ["x0", "x1", "x2", "x3"] * len(told.classes)
    pd.testing.assert_series_equal(
        columns["value"].iloc[:4].reset_index(drop=True), pd.Series(ASKED[0]), check_names=False
    )


def test_contrast_sums_to_the_log_odds():
    told = grown("gaussian").explain(rows(2, 1, 0.0)[0][0])
    chances = [told.probabilities[label] for label in told.classes[:2]]
    odds = math.log(chances[0] / chances[1])
    for most in (None, 1):
        assert sum(t.evidence for t in told.contrast(most)) == pytest.approx(odds, abs=1e-9)
    assert [t.kind for t in told.contrast(1)] == ["column", "columns", "prior"]
    sizes = [abs(t.evidence) for t in told.contrast() if t.kind == "column"]
    assert sizes == sorted(sizes, reverse=True)


def test_bars_show_the_contrast():
    told = grown("gaussian").explain(rows(2, 1, 0.0)[0][0])
    from matplotlib.figure import Figure

    axes = told.plot(Figure().subplots())
    terms = told.contrast()
    assert [bar.get_width() for bar in axes.patches] == [t.evidence for t in terms]
    assert [label.get_text() for label in axes.get_yticklabels()][-1] == "prior of the classes"
    for bar in axes.patches:  # what the colour says, the hatch says without colours
        assert (bar.get_hatch() is not None) == (bar.get_width() < 0)
    assert told.classes[0] in axes.get_xlabel()


def test_a_single_class_has_nothing_to_be_compared_with():
    told = paper_tree().partial_fit([[0.0], [1.0]], ["a", "a"]).explain([0.5])
    assert told.contrast() == []
    assert "no other class" in str(told)
    with pytest.raises(ValueError, match="a is the only class"):
        told.plot()


# -- refusals ----------------------------------------------------------------------------------


def test_what_cannot_be_explained_is_refused():
    model = grown("gaussian")
    with pytest.raises(ValueError, match="top=0 must be at least 1"):
        model.explain(ASKED[0], top=0)
    with pytest.raises(ValueError, match="the row has 2 values"):
        model.explain([1.0, 2.0])
    with pytest.raises(NotFittedError, match="learnt nothing yet"):
        paper_tree().explain([1.0])
    with pytest.raises(TypeError, match=r"forest\.trees_\[0\]"):
        explain(MistForest(), [1.0])
    with pytest.raises(TypeError, match="must be a MistClassifier, got dict"):
        explain({}, [1.0])
    assert isinstance(explain(model, ASKED[0]), Explanation)
    assert set(LABELS) == set(model.classes_)
