import numpy as np
import pytest

from material import BINARY, EAGER, fingerprint, mixed_rows
from published import paper_tree

X, Y = mixed_rows(2)
NAMES = ["width", "wet", "height", "depth"]
LEAVES = pytest.mark.parametrize("leaf", ["gaussian", "sketch", "majority", "full", "mixture"])


def mapping(x, names=NAMES):
    return {name: v for name, v in zip(names, x, strict=True) if not np.isnan(v)}


def answers(model, rows):
    """Probabilities from the one-row face as a table."""
    return np.array([list(model.predict_proba_one(x).values()) for x in rows])


@LEAVES
def test_learning_arrays_one_by_one_equals_learning_the_table(leaf):
    options = {**EAGER, "categorical_features": [BINARY]}
    table = paper_tree(leaf, **options).partial_fit(X, Y)
    one = paper_tree(leaf, **options)
    for x, label in zip(X, Y, strict=True):
        assert one.learn_one(x, label) is one
    assert one.n_splits_ > 2
    assert fingerprint(one) == fingerprint(table)
    assert [one.predict_one(x) for x in X] == table.predict(X).tolist()
    np.testing.assert_array_equal(answers(one, X), table.predict_proba(X))


@LEAVES
def test_learning_mappings_equals_learning_a_frame(leaf):
    pd = pytest.importorskip("pandas")
    options = {**EAGER, "categorical_features": ["wet"]}
    frame = pd.DataFrame(X, columns=NAMES)
    table = paper_tree(leaf, **options).partial_fit(frame, Y)
    one = paper_tree(leaf, **options)
    for x, label in zip(X, Y, strict=True):
        one.learn_one(dict(zip(NAMES, x, strict=True)), label)
    assert fingerprint(one) == fingerprint(table)
    assert one.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(answers(one, [mapping(x) for x in X]), table.predict_proba(frame))
    assert [one.predict_one(mapping(x)) for x in X] == table.predict(frame).tolist()
    assert one.partial_fit(frame, Y).n_rows_ == 2 * len(X)


def test_order_of_the_keys_does_not_matter():
    forth, back = paper_tree(**EAGER), paper_tree(**EAGER)
    for i, (x, label) in enumerate(zip(X, Y, strict=True)):
        row = dict(zip(NAMES, x, strict=True))
        forth.learn_one(row, label)
        back.learn_one(dict(reversed(row.items())) if i else row, label)
    assert fingerprint(forth) == fingerprint(back)


@LEAVES
def test_keys_may_come_and_go(leaf):
    present = paper_tree(leaf, **EAGER)
    absent = paper_tree(leaf, **EAGER)
    for i, (x, label) in enumerate(zip(X, Y, strict=True)):
        row = dict(zip(NAMES, x, strict=True))
        if 50 < i < 100:
            row["depth"] = np.nan
        present.learn_one(row, label)
        absent.learn_one({k: v for k, v in row.items() if k != "depth" or not 50 < i < 100}, label)
    assert fingerprint(present) == fingerprint(absent)


@LEAVES
@pytest.mark.parametrize("binary", [None, ["wet"]], ids=["numeric", "0/1"])
def test_a_new_key_adds_a_column_that_was_missing_so_far(leaf, binary):
    options = {"max_leaves": 1, "categorical_features": binary}
    first, later = ["wet", "width"], ["height", "depth"]
    growing = paper_tree(leaf, **options)
    whole = paper_tree(leaf, **options)
    names = [*first, *later]
    for i, (x, label) in enumerate(zip(X, Y, strict=True)):
        row = dict(zip(NAMES, x, strict=True))
        n = 2 if i < 100 else 3 if i < 150 else 4
        growing.learn_one({name: row[name] for name in names[:n]}, label)
        whole.learn_one({name: row[name] if name in names[:n] else np.nan for name in names}, label)
        assert growing.n_features_in_ == n
    assert growing.feature_names_in_.tolist() == names
    rows = [mapping(x) for x in X]
    np.testing.assert_allclose(answers(growing, rows), answers(whole, rows), atol=1e-12)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_model_with_splits_takes_new_keys():
    model = paper_tree("sketch", categorical_features=["wet"], **EAGER)
    for x, label in zip(X[:, :2], Y, strict=True):
        model.learn_one(mapping(x, NAMES[:2]), label)
    rules = [row.rule for row in model.leaf_summary()]
    assert model.n_splits_ > 1
    leaves = model.apply(X[:, :2])
    known = model.predict_proba(X[:, :2])
    model.learn_one({"colour": 1.0}, Y[0])
    assert [row.rule for row in model.leaf_summary()] == rules
    wide = np.column_stack([X[:, :2], np.full(len(X), np.nan)])
    np.testing.assert_array_equal(model.apply(wide), leaves)
    np.testing.assert_allclose(model.predict_proba(wide), known, atol=0.1)
    for x, label in zip(X, Y, strict=True):
        model.learn_one({**mapping(x[:2], NAMES[:2]), "colour": 5.0 * label}, label)
    assert "colour" in " ".join(row.rule for row in model.leaf_summary())


def test_names_never_learnt_are_ignored_in_questions():
    model = paper_tree().learn_one({"a": 0.0}, "x").learn_one({"a": 9.0}, "y")
    before = fingerprint(model)
    assert model.predict_proba_one({"a": 1.0, "new": 5.0}) == model.predict_proba_one({"a": 1.0})
    assert model.predict_one({"new": 5.0}) == model.predict_one({})
    assert fingerprint(model) == before


@LEAVES
def test_an_empty_mapping_is_a_row_of_missing_values(leaf):
    model = paper_tree(leaf, **EAGER).partial_fit(X, Y)
    twin = paper_tree(leaf, **EAGER).partial_fit(X, Y)
    expected = model.predict_proba(np.full((1, 4), np.nan))
    np.testing.assert_array_equal(answers(model, [{}]), expected)
    assert model.predict_one({}) == model.classes_[expected[0].argmax()]
    model.learn_one({}, 2)
    assert fingerprint(model) == fingerprint(twin.partial_fit(np.full((1, 4), np.nan), [2]))


def test_nothing_learnt_gives_no_answer():
    model = paper_tree()
    for x in ([1.0, 2.0], {"a": 1.0}, {}):
        assert model.predict_one(x) is None
        assert model.predict_proba_one(x) == {}
    assert set(vars(model)) == set(model.get_params(deep=False))


def test_integer_keys_are_column_numbers():
    by_key, by_array = paper_tree(**EAGER), paper_tree(**EAGER)
    for x, label in zip(X, Y, strict=True):
        by_key.learn_one(dict(enumerate(x.tolist())), label)
        by_array.learn_one(x, label)
    assert fingerprint(by_key) == fingerprint(by_array)
    assert not hasattr(by_key, "feature_names_in_")
    np.testing.assert_array_equal(
        answers(by_key, [dict(enumerate(x)) for x in X]), answers(by_array, X)
    )
    # A model that learnt arrays answers mappings by column number as well.
    np.testing.assert_array_equal(
        answers(by_array, [{2: x[2]} for x in X]),
        by_array.predict_proba(np.where(np.arange(4) == 2, X, np.nan)),
    )


def test_keys_need_not_be_of_one_kind():
    model = paper_tree(**EAGER)
    for x, label in zip(X, Y, strict=True):
        model.learn_one({"a": x[0]}, label)
    for x, label in zip(X, Y, strict=True):
        model.learn_one({"a": x[0], 3: 5.0 * label}, label)
    assert model.n_features_in_ == 2
    assert len(getattr(model, "feature_names_in_", [0, 0])) == 2
    assert "3 <=" in model.export_text()
    with pytest.raises(ValueError, match="column 3"):
        model.predict_one({3: np.inf})


def test_none_in_a_mapping_is_missing():
    model = paper_tree().learn_one({"a": 1.0, "b": 2.0}, 0)
    other = paper_tree().learn_one({"a": 1.0, "b": 2.0}, 0)
    model.learn_one({"a": None, "b": 3.0}, 1)
    other.learn_one({"b": 3.0}, 1)
    assert fingerprint(model) == fingerprint(other)


def test_plain_numpy_and_python_labels_are_the_same_label():
    model = paper_tree().learn_one([0.0], 1).learn_one([0.5], np.int8(1))
    model.learn_one([9.0], np.int64(2))
    assert model.classes_.tolist() == [1, 2]
    text = paper_tree().learn_one([0.0], "a").learn_one([0.5], np.str_("a"))
    assert text.classes_.tolist() == ["a"]


def test_a_row_without_names_fits_a_model_with_names(recwarn):
    pd = pytest.importorskip("pandas")
    model = paper_tree(**EAGER).partial_fit(pd.DataFrame(X, columns=NAMES), Y)
    same = paper_tree(**EAGER).partial_fit(pd.DataFrame(X, columns=NAMES), Y)
    for x, label in zip(X[:50], Y[:50], strict=True):
        assert model.predict_one(x) == same.predict_one(mapping(x))
        model.learn_one(x, label)
        same.learn_one(mapping(x), label)
    assert fingerprint(model) == fingerprint(same)
    assert not recwarn.list


def test_a_row_may_be_a_list_or_a_table_of_one_row():
    model = paper_tree().partial_fit(X, Y)
    one = np.nan_to_num(X[0])
    assert model.predict_one(one.tolist()) == model.predict_one(one[None])
    for bad in ([one, one], np.zeros((1, 1, 4)), 3.0, []):
        with pytest.raises(ValueError, match=r"shape|values"):
            model.predict_one(bad)
        with pytest.raises(ValueError, match=r"shape|values|dim"):
            model.learn_one(bad, 0)


def test_a_row_of_weight_0_is_no_row():
    model = paper_tree().partial_fit(X, Y)
    before = fingerprint(model)
    model.learn_one(X[0], 99, sample_weight=0.0)
    assert fingerprint(model) == before


def test_weights_of_single_rows_equal_weights_of_the_table():
    weights = np.random.default_rng(0).uniform(0.1, 3, len(X))
    one = paper_tree("sketch", **EAGER)
    for x, label, w in zip(X, Y, weights, strict=True):
        one.learn_one(x, label, sample_weight=w)
    table = paper_tree("sketch", **EAGER).partial_fit(X, Y, sample_weight=weights)
    assert fingerprint(one) == fingerprint(table)


# -- refused rows ------------------------------------------------------------------------------

REFUSED = {
    "no label": ({"new": 1.0}, None, 1.0),
    "label NaN": ({"new": 1.0}, np.nan, 1.0),
    "continuous label": ({"new": 1.0}, 0.5, 1.0),
    "text label": ({"new": 1.0}, "a", 1.0),
    "list as label": ({"new": 1.0}, [1, 2], 1.0),
    "negative weight": ({"new": 1.0}, 1, -1.0),
    "weight NaN": ({"new": 1.0}, 1, np.nan),
    "too large a weight": ({"new": 1.0}, 1, 2.0**32),
    "infinity": ({"new": np.inf}, 1, 1.0),
    "infinity in a known column": ({"new": 1.0, "height": -np.inf}, 1, 1.0),
    "bad 0/1 value": ({"new": 1.0, "wet": 7.0}, 1, 1.0),
    "text value": ({"new": "tall"}, 1, 1.0),
}


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
@pytest.mark.parametrize(("x", "label", "weight"), REFUSED.values(), ids=REFUSED.keys())
def test_a_refused_row_leaves_no_trace(x, label, weight):
    model = paper_tree("sketch", categorical_features=["wet"], **EAGER)
    for row, known in zip(X, Y, strict=True):
        model.learn_one(dict(zip(NAMES, row, strict=True)), known)
    before = fingerprint(model), set(vars(model)) - {"_fast_path"}, repr(model)
    with pytest.raises(ValueError, match=r".{10}"):
        model.learn_one(x, label, sample_weight=weight)
    assert (fingerprint(model), set(vars(model)) - {"_fast_path"}, repr(model)) == before
    assert model.predict_proba_one({"height": 1.0}).keys() == set(range(4))


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
@pytest.mark.parametrize(
    ("x", "label", "weight"),
    [refused for name, refused in REFUSED.items() if name != "text label"],
    ids=[name for name in REFUSED if name != "text label"],
)
def test_a_refused_first_row_leaves_no_trace(x, label, weight):
    model = paper_tree(categorical_features=["wet"])
    before = dict(vars(model))
    with pytest.raises(ValueError, match=r".{10}"):
        model.learn_one({"wet": 1.0, **x}, label, sample_weight=weight)
    assert vars(model) == before
    model.learn_one({"other": 1.0, "wet": 0.0}, "a")
    assert model.feature_names_in_.tolist() == ["other", "wet"]


def test_refused_arrays_and_empty_first_rows_leave_no_trace():
    model = paper_tree()
    before = dict(vars(model))
    for x, label in (([1.0, np.inf], 0), ([1.0, 2.0], None), (["tall"], 0), ({}, 0)):
        with pytest.raises(ValueError, match=r".{10}"):
            model.learn_one(x, label)
        assert vars(model) == before


def test_names_are_refused_where_columns_have_none():
    model = paper_tree().partial_fit(np.eye(3), [0, 1, 0])
    for call in (lambda: model.learn_one({"a": 1.0}, 0), lambda: model.predict_one({"a": 1.0})):
        with pytest.raises(ValueError, match=r"'a'.*without names.*0 to 2"):
            call()
    assert model.n_features_in_ == 3
    assert model.predict_one({0: 1.0, 2: 0.0}) in (0, 1)
