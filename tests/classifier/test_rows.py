import re

import numpy as np
import pytest
from scipy import sparse

from material import BINARY, EAGER, fingerprint, mixed_rows
from mist import MistClassifier
from mist.baselines import NCM
from published import paper_tree

X, Y = mixed_rows(0)
WHOLE, WHOLE_Y = mixed_rows(1, holes=0.0)
NAMES = ["width", "wet", "height", "depth"]


def learnt(rows=X, labels=Y, **options):
    return paper_tree(**EAGER, **options).partial_fit(rows, labels)


# -- missing values ----------------------------------------------------------------------------


@pytest.mark.parametrize("leaf", ["gaussian", "sketch", "majority", "full", "mixture"])
def test_nan_equals_an_absent_key(leaf):
    by_array = paper_tree(leaf, **EAGER)
    by_mapping = paper_tree(leaf, **EAGER)
    full = np.where(np.isnan(X[0]), 0.0, X[0])
    for x, label in zip([full, *X], [0, *Y], strict=True):
        by_array.partial_fit([x], [label])
        known = {f"x{j}": v for j, v in enumerate(x) if not np.isnan(v)}
        by_mapping.learn_one(known, label)
    assert by_array.n_splits_ > 2
    np.testing.assert_array_equal(
        [list(by_mapping.predict_proba_one(_known(x)).values()) for x in X],
        by_array.predict_proba(X),
    )


def _known(x):
    return {f"x{j}": v for j, v in enumerate(x) if not np.isnan(v)}


def test_a_missing_value_leaves_its_column_out_of_the_likelihood():
    both = paper_tree().fit(WHOLE[:, [0, 2]], WHOLE_Y)
    alone = paper_tree().fit(WHOLE[:, [0]], WHOLE_Y)
    holed = np.column_stack([WHOLE[:, 0], np.full(len(WHOLE), np.nan)])
    np.testing.assert_allclose(both.predict_proba(holed), alone.predict_proba(WHOLE[:, [0]]))


def test_a_missing_split_value_follows_the_heavier_child():
    X = np.r_[np.zeros(30), np.full(10, 9.0)][:, None] + np.linspace(0, 1, 40)[:, None]
    model = paper_tree(**EAGER).partial_fit(X, X[:, 0] > 5)
    assert model.n_splits_ == 1
    left = int(model.tree_.left[0])
    assert model.apply([[np.nan]]).tolist() == [left]
    model.partial_fit(np.linspace(9, 10, 19)[:, None], [True] * 19)
    assert model.apply([[np.nan]]).tolist() == [int(model.tree_.right[0])]


# -- refused values ----------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e200, -1e200])
@pytest.mark.parametrize("call", ["fit", "partial_fit", "prequential"])
def test_values_that_cannot_be_squared_are_refused_and_nothing_is_learnt(call, value):
    model = learnt()
    before = fingerprint(model)
    bad = X.copy()
    bad[17, 2] = value
    with pytest.raises(ValueError, match=r"row 17, column 2\b") as refusal:
        getattr(model, call)(bad, Y)
    assert ("infinity" if np.isinf(value) else "1e+200") in str(refusal.value)
    assert fingerprint(model) == before
    fresh = paper_tree()
    untouched = dict(vars(fresh))
    with pytest.raises(ValueError, match=r"row 17, column 2\b"):
        getattr(fresh, call)(bad, Y)
    assert vars(fresh) == untouched


@pytest.mark.parametrize("call", ["predict", "predict_proba", "predict_log_proba", "apply"])
def test_values_that_cannot_be_squared_are_refused_in_questions_too(call):
    bad = X.copy()
    bad[3, 0] = -np.inf
    with pytest.raises(ValueError, match=r"infinity at row 3, column 0\b"):
        getattr(learnt(), call)(bad)


def test_refusals_name_columns_by_name():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=NAMES)
    model = paper_tree().partial_fit(frame, Y)
    frame.loc[5, "height"] = np.inf
    with pytest.raises(ValueError, match="infinity at row 5, column 'height'"):
        model.partial_fit(frame, Y)
    with pytest.raises(ValueError, match="infinity at row 5, column 'height'"):
        paper_tree().partial_fit(frame, Y)
    with pytest.raises(ValueError, match="infinity at row 0, column 'height'"):
        model.learn_one({"height": np.inf}, 0)
    with pytest.raises(ValueError, match="infinity at row 0, column 'depth'"):
        model.predict_one({"depth": -np.inf})


def test_the_largest_values_allowed_give_probabilities():
    rows = np.array([[1e150], [-1e150], [1e149], [-1e149]])
    for leaf in ("gaussian", "sketch"):
        model = paper_tree(leaf).fit(rows, [0, 1, 0, 1])
        proba = model.predict_proba(rows)
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        assert model.predict(rows[:2]).tolist() == [0, 1]


@pytest.mark.parametrize("rows", [X[:, :3], X[:, :1], np.column_stack([X, X])])
def test_another_width_is_refused(rows):
    model = learnt()
    before = fingerprint(model)
    for call in (model.partial_fit, model.prequential):
        with pytest.raises(ValueError, match=rf"{rows.shape[1]} features.*4 features"):
            call(rows, Y)
    for call in (model.predict, model.predict_proba, model.apply):
        with pytest.raises(ValueError, match=rf"{rows.shape[1]} features.*4 features"):
            call(rows)
    for call in (lambda x: model.learn_one(x, 0), model.predict_one, model.predict_proba_one):
        with pytest.raises(ValueError, match=rf"{rows.shape[1]} (values|features).*\b4 features"):
            call(rows[0])
    assert fingerprint(model) == before


@pytest.mark.parametrize("empty", [np.empty((0, 4)), np.empty((3, 0)), []])
def test_empty_tables_are_refused(empty):
    model = learnt()
    before = fingerprint(model)
    for start in (model, paper_tree()):
        with pytest.raises(ValueError, match=r"0 sample|0 feature|minimum of 1|2D array"):
            start.partial_fit(empty, [0] * len(empty))
    with pytest.raises(ValueError, match=r"0 sample|0 feature|minimum of 1|2D array"):
        model.predict(empty)
    assert fingerprint(model) == before


@pytest.mark.parametrize("rows", [5.0, [1.0, 2.0], np.zeros((2, 2, 2)), [["a"], ["b"]]])
def test_what_is_no_table_of_numbers_is_refused(rows):
    model = paper_tree()
    before = dict(vars(model))
    with pytest.raises(ValueError, match=r"2D array|dim|convert"):
        model.partial_fit(rows, [0, 1])
    assert vars(model) == before


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_tables_are_tables_with_their_zeros(form):
    model = learnt(form(WHOLE), WHOLE_Y)
    assert fingerprint(model) == fingerprint(learnt(WHOLE, WHOLE_Y))
    np.testing.assert_array_equal(model.predict_proba(form(X)), model.predict_proba(X))
    by_prequential = paper_tree(**EAGER)
    by_prequential.prequential(form(WHOLE), WHOLE_Y)
    assert fingerprint(by_prequential) == fingerprint(model)


def test_sparse_tables_that_would_fill_the_memory_are_refused():
    wide = sparse.csr_array((300_000, 5_000))
    with pytest.raises(ValueError, match=r"\(300000, 5000\).*11.2 GiB.*at most 26843 rows"):
        NCM().partial_fit(wide, np.zeros(300_000))


def test_faults_in_sparse_tables_are_told_by_row_and_column():
    bad = sparse.csr_array(WHOLE)
    bad[17, 2] = np.inf
    with pytest.raises(ValueError, match=r"infinity at row 17, column 2\b"):
        paper_tree().partial_fit(bad, WHOLE_Y)


# -- forms -------------------------------------------------------------------------------------


def _read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


def _strided(a):
    wide = np.full((2 * len(a), 3 * a.shape[1]), 1e9)
    wide[::2, ::3] = a
    return wide[::2, ::3]


FORMS = {
    "read-only": _read_only,
    "Fortran": np.asfortranarray,
    "strided": _strided,
    "reversed": lambda a: a[::-1].copy()[::-1],
    "list": lambda a: a.tolist(),
    "list of arrays": list,
    "object": lambda a: a.astype(object),
    "big-endian": lambda a: a.astype(">f8"),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_form_of_the_table_does_not_matter(form):
    given = form(X)
    model = learnt(given)
    assert fingerprint(model) == fingerprint(learnt())
    np.testing.assert_array_equal(model.predict_proba(given), learnt().predict_proba(X))
    by_prequential = paper_tree(**EAGER)
    by_prequential.prequential(given, Y)
    assert fingerprint(by_prequential) == fingerprint(model)


@pytest.mark.parametrize(
    "dtype", [np.float16, np.float32, np.longdouble, np.int8, np.uint16, np.int64, bool]
)
def test_type_of_the_numbers_does_not_matter(dtype):
    rows = np.abs(WHOLE).astype(dtype)
    as_double = rows.astype(np.float64)
    model = learnt(rows, WHOLE_Y)
    assert fingerprint(model) == fingerprint(learnt(as_double, WHOLE_Y))
    np.testing.assert_array_equal(model.predict_proba(rows), model.predict_proba(as_double))


def test_the_callers_arrays_stay_as_they_were():
    rows, labels, weights = X.copy(), Y.copy(), np.ones(len(Y))
    model = paper_tree("sketch", categorical_features=[BINARY], **EAGER)
    model.partial_fit(rows, labels, sample_weight=weights)
    model.prequential(rows, labels, sample_weight=weights)
    model.predict(rows)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(labels, Y)
    assert (weights == 1).all()


def test_what_is_learnt_does_not_hang_on_the_callers_arrays():
    rows = X.copy()
    model = learnt(rows)
    before = fingerprint(model)
    rows[:] = 0.0
    assert fingerprint(model) == before


def test_nullable_columns_of_pandas_are_columns_with_nan():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, None, 3, 4, None, 2] * 10, dtype="Int64"),
            "real": pd.array([0.5, 1.5, None, 2.5, 0.1, None] * 10, dtype="Float64"),
            "flag": pd.array([True, None, False, True, False, None] * 10, dtype="boolean"),
        }
    )
    plain = frame.astype("float64")
    y = [0, 1, 1, 1, 0, 0] * 10
    model = learnt(frame, y, categorical_features=["flag"])
    assert fingerprint(model) == fingerprint(learnt(plain, y, categorical_features=["flag"]))
    np.testing.assert_array_equal(
        model.predict_proba(frame), model.predict_proba(plain.astype("float64"))
    )


def test_frames_must_keep_the_order_of_their_columns():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=NAMES)
    model = learnt(frame)
    before = fingerprint(model)
    for bad in (frame[NAMES[::-1]], frame.rename(columns={"wet": "dry"})):
        with pytest.raises(ValueError, match="feature names"):
            model.partial_fit(bad, Y)
        with pytest.raises(ValueError, match="feature names"):
            model.predict(bad)
    assert fingerprint(model) == before


# -- 0/1 columns -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        [1, 3],
        [3, 1, 3],
        (1, -1),
        np.array([-3, 3]),
        [False, True, False, True],
        np.array([0, 1, 0, 1], dtype=bool),
        ["wet", "red"],
        np.array(["red", "wet"], dtype=object),
    ],
    ids=str,
)
@pytest.mark.parametrize("leaf", ["gaussian", "sketch"])
def test_0_1_columns_may_be_given_by_index_name_or_mask(given, leaf):
    pd = pytest.importorskip("pandas")
    rows = X.copy()
    rows[:, 3] = np.where(np.isnan(X[:, 3]), np.nan, X[:, 3] > 3)
    frame = pd.DataFrame(rows, columns=["width", "wet", "height", "red"])
    model = learnt(frame, leaf=leaf, categorical_features=given)
    expected = learnt(frame, leaf=leaf, categorical_features=[1, 3])
    assert fingerprint(model) == fingerprint(expected)
    numeric = learnt(frame, leaf=leaf)
    assert not np.allclose(model.predict_proba(frame), numeric.predict_proba(frame))
    splits = {s.feature: s.threshold for s in model.split_log_ if s.feature in (1, 3)}
    assert set(splits.values()) <= {0.5}


def test_probability_of_a_0_1_column_is_laplace_smoothed():
    rows = [[1.0]] * 7 + [[0.0]] * 1 + [[1.0]] * 2 + [[0.0]] * 6
    y = ["a"] * 8 + ["b"] * 8
    model = paper_tree(categorical_features=[0]).fit(rows, y)
    odds = np.divide(*model.predict_proba([[1.0]])[0])
    assert odds == pytest.approx((8 / 10) / (3 / 10), rel=1e-12)
    odds = np.divide(*model.predict_proba([[0.0]])[0])
    assert odds == pytest.approx((2 / 10) / (7 / 10), rel=1e-12)
    np.testing.assert_allclose(model.predict_proba([[np.nan]]), [[0.5, 0.5]])


def test_no_0_1_columns_may_be_given_as_an_empty_list():
    assert fingerprint(learnt(categorical_features=[])) == fingerprint(learnt())


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ([4], r"indices below 4.*\[4\]"),
        ([-5], r"indices below 4.*\[-5\]"),
        ([0.5], r"indices below 4.*\[0.5\]"),
        ([True, False], r"mask of shape \(2,\).*4 columns"),
        (["wet"], r"names \['wet'\], which X does not have"),
    ],
)
def test_bad_categorical_features_are_refused(given, match):
    model = paper_tree(categorical_features=given)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="categorical_features.*" + match):
        model.partial_fit(X, Y)
    assert vars(model) == before


@pytest.mark.parametrize("value", [2.0, -1.0, 0.5, 1e-300])
def test_other_values_than_0_and_1_are_refused_by_row_and_column(value):
    model = learnt(categorical_features=[BINARY])
    before = fingerprint(model)
    bad = X.copy()
    bad[[9, 30], BINARY] = value
    match = rf"categorical column 1 holds .*{re.escape(repr(float(value)))}.* at row 9\b"
    for call in (model.fit, model.partial_fit, model.prequential):
        with pytest.raises(ValueError, match=match):
            call(bad, Y)
    for call in (model.predict, model.predict_proba, model.apply):
        with pytest.raises(ValueError, match=match):
            call(bad)
    for call in (lambda x: model.learn_one(x, 0), model.predict_one, model.predict_proba_one):
        with pytest.raises(ValueError, match=r"categorical column 1 holds .* at row 0"):
            call(bad[9])
    assert fingerprint(model) == before


def test_other_values_than_0_and_1_are_refused_by_name():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=NAMES)
    frame.loc[4, "wet"] = 3.0
    model = paper_tree(categorical_features=["wet"])
    before = dict(vars(model))
    with pytest.raises(ValueError, match=r"categorical column 'wet' holds .* at row 4"):
        model.partial_fit(frame, Y)
    assert vars(model) == before


def test_rows_without_names_replace_the_names_of_rows_before():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"width": [0.0, 1.0], "height": [1.0, 0.0], "depth": [1.0, 1.0]})
    model = MistClassifier().fit(frame, [0, 1])
    assert model.feature_names_in_.tolist() == ["width", "height", "depth"]
    model.fit(np.array([[0.0, 1.0], [1.0, 0.0]]), [0, 1])
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 2
    assert model.predict([[0.0, 1.0]]).tolist() == [0]


@pytest.mark.parametrize("shape", [(0, 2), (2, 0), (4,), (2, 2, 1)])
def test_rows_of_no_use_are_refused_at_the_start(shape):
    model = MistClassifier()
    with pytest.raises(ValueError, match=r"array|sample|feature"):
        model.partial_fit(np.zeros(shape), np.zeros(shape[0], int))
    assert not hasattr(model, "n_features_in_")
