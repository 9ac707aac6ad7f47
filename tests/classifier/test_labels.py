import numpy as np
import pytest

from material import EAGER, fingerprint
from mist.labels import _distinct
from published import paper_tree


def rows(y, seed=0):
    """Rows around a point of their own for every distinct label."""
    _, code = np.unique(np.asarray(y), return_inverse=True)
    noise = np.random.default_rng(seed).normal(size=(len(code), 2))
    return 10.0 * np.column_stack([code, -code]) + noise


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, 2],
        [-7, 0, 4],
        [3, 1000, 2**40],
        [2**53, 2**53 + 1, 2**53 + 2],
        ["cat", "dog", "zebra"],
        ["", "ä", "日本"],
        [False, True],
        [1.0, 2.0, 5.0],
        np.array([1, 2, 255], dtype=np.uint8),
        np.array(["x", "yy"], dtype=object),
    ],
    ids=lambda labels: str(labels[-1]),
)
def test_labels_come_back_as_they_went_in(labels):
    y = np.tile(np.asarray(labels), 30)
    X = rows(y)
    model = paper_tree().partial_fit(X, y)
    assert model.classes_.tolist() == list(labels)
    assert model.predict(X).tolist() == y.tolist()
    assert model.classes_.dtype.kind == {"u": "i", "O": "U"}.get(y.dtype.kind, y.dtype.kind)
    assert model.predict_one(X[0]) == y[0]
    assert list(model.predict_proba_one(X[0])) == list(labels)


def test_classes_grow_sorted_and_old_columns_keep_their_values():
    X = rows([0, 1, 2])
    model = paper_tree()
    known = []
    for label, at in (("m", 1), ("z", 2), ("a", 0)):
        model.partial_fit(X[[at]], [label])
        known = sorted([*known, label])
        assert model.classes_.tolist() == known
        proba = model.predict_proba(X)
        assert proba.shape == (3, len(known))
        np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
        assert model.predict(X[[at]]) == [label]
    assert model.predict(X).tolist() == ["a", "m", "z"]


def test_later_labels_may_be_longer():
    X = rows(["a", "b"] * 20)
    model = paper_tree().partial_fit(X[::2], ["a"] * 20)
    assert model.predict(X[:2]).tolist() == ["a", "a"]
    model.partial_fit(X[1::2], ["a very long label"] * 20)
    assert model.predict(X[:2]).tolist() == ["a", "a very long label"]


def test_prequential_returns_text_labels_whole():
    y = np.array(["a", "bcd", "a very long label"] * 20)
    out = paper_tree().prequential(rows(y), y)
    assert out[10:].tolist() == y[10:].tolist()


def test_prequential_answers_before_it_learns():
    y = [5, 3, 5, 3, 4]
    out = paper_tree().prequential(rows(y), y)
    # Nothing known: the first of all classes. Then 5 only; the newcomers are never foreseen.
    assert out[0] == 3
    assert out[1] == 5
    assert out[2:4].tolist() == [5, 3]
    assert out[4] != 4


def test_declared_classes_have_columns_but_no_probability():
    X = rows(["b", "d"] * 20)
    model = paper_tree(**EAGER).partial_fit(X, ["b", "d"] * 20, classes=["e", "a", "d", "c"])
    assert model.classes_.tolist() == ["a", "b", "c", "d", "e"]
    proba = model.predict_proba(np.random.default_rng(1).normal(0, 30, (200, 2)))
    assert (proba[:, [0, 2, 4]] == 0).all()
    assert (proba[:, [1, 3]].sum(axis=1) > 1 - 1e-12).all()
    assert np.isneginf(model.predict_log_proba(X)[:, [0, 2, 4]]).all()
    assert model.predict_proba_one(X[0])["a"] == 0.0
    assert set(model.predict(X)) == {"b", "d"}


def test_a_declared_class_becomes_an_ordinary_one_when_it_arrives():
    X = rows([0, 1, 2] * 20)
    y = np.array([0, 1, 2] * 20)
    declared = paper_tree().partial_fit(X[y < 2], y[y < 2], classes=[2, 0, 1])
    plain = paper_tree().partial_fit(X[y < 2], y[y < 2])
    for model in (declared, plain):
        model.partial_fit(X[y == 2], y[y == 2])
    assert fingerprint(declared) == fingerprint(plain)


def test_classes_may_be_declared_at_any_call():
    model = paper_tree().partial_fit([[0.0], [1.0]], [1, 1])
    model.partial_fit([[0.0]], [1], classes=[-1])
    model.partial_fit([[0.0]], [1], classes=[1, 3])
    assert model.classes_.tolist() == [-1, 1, 3]
    assert model.predict([[0.0]]).tolist() == [1]
    assert model.predict_proba([[0.0]]).tolist() == [[0.0, 1.0, 0.0]]


def test_an_integer_written_as_a_float_is_the_same_label():
    model = paper_tree().partial_fit([[0.0], [9.0]], [1, 2])
    model.partial_fit([[0.1], [9.1]], [1.0, 2.0])
    assert model.classes_.dtype.kind == "i"
    assert model.classes_.tolist() == [1, 2]


BAD_LABELS = {
    "continuous": [0.5, 1.25],
    "NaN": [0.0, np.nan],
    "infinity": [0.0, np.inf],
    "None": [0, None],
    "only None": [None, None],
    "text and None": ["a", None],
    "text and NaN": ["a", np.nan],
    "text and number": ["a", 1],
    "number and text": [1, "a"],
    "object text and number": np.array(["a", 1], dtype=object),
    "too many": [0, 1, 1],
    "too few": [0],
    "two columns": [[0, 1], [1, 0]],
    "no labels": None,
}


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
@pytest.mark.parametrize("y", BAD_LABELS.values(), ids=BAD_LABELS.keys())
@pytest.mark.parametrize("call", ["fit", "partial_fit", "prequential"])
def test_refused_labels_leave_a_fresh_model_untouched(call, y):
    model = paper_tree()
    before = dict(vars(model))
    with pytest.raises(ValueError, match=r"(?i)label|y |inconsistent|1d array"):
        getattr(model, call)([[0.0], [1.0]], y)
    assert vars(model) == before


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
@pytest.mark.parametrize("y", BAD_LABELS.values(), ids=BAD_LABELS.keys())
@pytest.mark.parametrize("known", [[0, 1] * 30, ["a", "b"] * 30], ids=["numbers", "text"])
def test_nothing_is_learnt_from_refused_labels(known, y):
    X = rows(known)
    model = paper_tree(**EAGER).partial_fit(X, known)
    before = fingerprint(model), model.predict_proba(X).tobytes()
    for call in (model.partial_fit, model.prequential, model.fit):
        with pytest.raises(ValueError, match=r"(?i)label|y |inconsistent|1d array"):
            call([[0.0, 1.0], [1.0, 0.0]], y)
        assert (fingerprint(model), model.predict_proba(X).tobytes()) == before


@pytest.mark.parametrize(("known", "later"), [([0, 1], "a"), (["a", "b"], 1), ([True, False], "a")])
def test_text_after_numbers_and_numbers_after_text_are_refused(known, later):
    model = paper_tree().partial_fit([[0.0], [1.0]], known)
    before = fingerprint(model)
    for kind in ({"y": [later]}, {"y": known[:1], "classes": [later]}):
        with pytest.raises(ValueError, match="mixes text labels with numbers"):
            model.partial_fit([[0.0]], **kind)
        assert fingerprint(model) == before


@pytest.mark.parametrize(
    "classes",
    [["a", "b"], [0, np.nan], [0.5, 1.5], [0, None], [[0, 1], [2, 3]]],
    ids=["text", "NaN", "continuous", "None", "two rows"],
)
def test_refused_declarations_leave_no_trace(classes):
    model = paper_tree()
    before = dict(vars(model))
    with pytest.raises(ValueError, match=r"(?i)label|classes"):
        model.partial_fit([[0.0], [1.0]], [0, 1], classes=classes)
    assert vars(model) == before


def test_ties_go_to_the_label_that_sorts_first():
    # The same single row for every class, the highest label first.
    for leaf in ("gaussian", "sketch", "majority"):
        model = paper_tree(leaf).partial_fit([[1.0]] * 3, ["c", "a", "b"])
        proba = model.predict_proba([[1.0], [5.0]])
        assert np.ptp(proba) == 0.0
        assert model.predict([[1.0], [5.0]]).tolist() == ["a", "a"]
        assert model.predict_one([1.0]) == "a"
        assert model.prequential([[1.0]], ["c"]).tolist() == ["a"]


@pytest.mark.parametrize("leaf", ["gaussian", "sketch", "majority"])
def test_predictions_are_the_first_largest_probability(leaf):
    y = np.random.default_rng(0).integers(5, size=400)
    X = rows(y) * 0.2
    model = paper_tree(leaf, **EAGER).partial_fit(X, y)
    proba = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])


@pytest.mark.parametrize("leaf", ["gaussian", "sketch", "majority"])
def test_order_of_arrival_does_not_matter_for_the_columns(leaf):
    y = np.repeat(["a", "b", "c"], 30)
    X = rows(y) * 0.2
    results = []
    for order in (["a", "b", "c"], ["c", "a", "b"], ["b", "c", "a"]):
        model = paper_tree(leaf)
        for label in order:
            model.partial_fit(X[y == label], y[y == label])
        assert model.classes_.tolist() == ["a", "b", "c"]
        results.append(model.predict_proba(X))
    np.testing.assert_allclose(results[1], results[0], atol=1e-9)
    np.testing.assert_allclose(results[2], results[0], atol=1e-9)


def test_whole_numbers_beyond_64_bits_are_refused():
    for label in (2**63, 2**70, -(2**63) - 1):
        with pytest.raises(ValueError, match=r"64 bits.*text"):
            paper_tree().partial_fit([[0.0], [1.0]], [label, 1])
    model = paper_tree().partial_fit([[0.0], [9.0]], [2**63 - 1, -(2**63)])
    assert model.classes_.tolist() == [-(2**63), 2**63 - 1]


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        (np.int8, -128, 128),
        (np.uint8, 0, 256),
        (np.int16, -300, 300),
        (np.int64, -(2**63), -(2**63) + 50),
        (np.int64, 2**63 - 50, 2**63),
        (np.int64, -(2**63), 2**63),
        (np.uint64, 2**64 - 50, 2**64),
        (np.int64, 7, 8),
    ],
)
@pytest.mark.parametrize("n", [0, 1, 400])
def test_whole_numbers_are_told_apart_as_numpy_does(dtype, low, high, n):
    y = np.random.default_rng(n).integers(low, high, n, dtype=dtype)
    for got, expected in zip(
        _distinct(y), np.unique(y, return_index=True, return_inverse=True), strict=True
    ):
        np.testing.assert_array_equal(got, expected)
        assert got.dtype == expected.dtype
