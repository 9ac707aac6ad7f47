"""Labels, rows and weights in the types of other libraries are read exactly, or refused."""

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from mist import MistForest
from mist.baselines import NCM
from mist.preprocessing import StreamEncoder, StreamPipeline
from mist.rows import check_labels, check_weights
from published import paper_tree

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")

BIG = 2**53
X = np.array([[0.0, 0.0], [9.0, 9.0], [0.1, 0.0], [9.0, 9.1]])
TABLE = {"a": X[:, 0], "b": X[:, 1]}
MODELS = {
    "tree": paper_tree,
    "forest": lambda: MistForest(paper_tree(), n_trees=1),
    "baseline": NCM,
    "pipeline": lambda: StreamPipeline(model=paper_tree()),
}
BY_NAME = [name for name in MODELS if name != "baseline"]

LABELS = {
    "Int64": pd.Series([BIG, BIG + 1] * 2, dtype="Int64"),
    "Int64 array": pd.array([BIG, BIG + 1] * 2, dtype="Int64"),
    "Int64 index": pd.Index([BIG, BIG + 1] * 2, dtype="Int64"),
    "int64[pyarrow]": pd.Series([BIG, BIG + 1] * 2, dtype="int64[pyarrow]"),
    "arrow": pa.array([BIG, BIG + 1] * 2),
    "arrow in chunks": pa.chunked_array([[BIG, BIG + 1]] * 2),
    "polars": pl.Series([BIG, BIG + 1] * 2),
    "objects": np.array([BIG, BIG + 1] * 2, dtype=object),
    "a frame": pd.DataFrame({"y": pd.array([BIG, BIG + 1] * 2, dtype="Int64")}),
    "masked, none hidden": np.ma.array([BIG, BIG + 1] * 2, mask=[0, 0, 0, 0]),
    "boolean": pd.Series([True, False] * 2, dtype="boolean"),
    "bool[pyarrow]": pd.Series([True, False] * 2, dtype="bool[pyarrow]"),
    "arrow bools": pa.array([True, False] * 2),
    "polars bools": pl.Series([True, False] * 2),
    "string": pd.Series(["x", "y"] * 2, dtype="string"),
    "string[pyarrow]": pd.Series(["x", "y"] * 2, dtype="string[pyarrow]"),
    "UInt8": pd.Series([200, 7] * 2, dtype="UInt8"),
    "Float64": pd.Series([1.0, 2.0] * 2, dtype="Float64"),
}


def plain(labels):
    """The labels as a list of Python."""
    values = labels["y"] if isinstance(labels, pd.DataFrame) else labels
    if hasattr(values, "to_pylist"):
        return values.to_pylist()
    return values.to_list() if hasattr(values, "to_list") else values.tolist()


@pytest.mark.filterwarnings("ignore:A column-vector y")
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS.keys())
def test_labels_keep_value_and_type(labels):
    expected = plain(labels)
    found = check_labels(X, labels)
    assert found.tolist() == expected
    assert {type(label) for label in found.tolist()} == {type(label) for label in expected}
    model = paper_tree().partial_fit(X, labels)
    assert model.classes_.tolist() == sorted(set(expected))
    assert model.predict(X).tolist() == expected
    assert model.predict_one(X[0]) == expected[0]
    assert model.score(X, labels) == 1.0


def ways_in(make):
    """Calls that learn or score labels, by name."""
    model = make().partial_fit(X, [1, 2] * 2)
    ways = {
        "fit": lambda y: make().fit(X, y).classes_.tolist(),
        "partial_fit": lambda y: make().partial_fit(X, y).classes_.tolist(),
        "prequential": lambda y: sorted(set(make().prequential(X, y).tolist())),
        "score": lambda y: model.score(X, y) and [BIG, BIG + 1],
        "classes": lambda y: make().partial_fit(X[:1], y[:1], classes=y[:2]).classes_.tolist(),
    }
    if hasattr(model, "learn_many"):
        ways |= {
            "learn_many": lambda y: make().learn_many(TABLE, y).classes_.tolist(),
            "prequential_many": lambda y: sorted(set(make().prequential_many(TABLE, y).tolist())),
        }
    return ways


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
def test_every_way_in_reads_labels_exactly(make):
    labels = LABELS["Int64"]
    for name, way in ways_in(make).items():
        if name != "score":
            assert way(labels) == [BIG, BIG + 1], name
    model = make().partial_fit(X, labels)
    assert model.score(X, labels) == 1.0
    # As numbers of 53 bits, the two labels are the same.
    assert model.score(X, pd.Series([BIG] * 4, dtype="Int64")) == 0.5
    assert model.score(X, labels, np.ma.array([1.0, 0, 2, 0])) == 1.0


MISSING = {
    "Int64": pd.Series([1, 2, None, 2], dtype="Int64"),
    "boolean": pd.Series([True, False, None, True], dtype="boolean"),
    "string": pd.Series(["x", "y", None, "y"], dtype="string"),
    "arrow": pa.array([1, 2, None, 2]),
    "int64[pyarrow]": pd.Series([1, 2, None, 2], dtype="int64[pyarrow]"),
    "polars": pl.Series([1, 2, None, 2]),
    "floats": np.array([1.0, 2.0, np.nan, 2.0]),
    "objects": np.array([1, 2, pd.NA, 2], dtype=object),
    "a list": ["x", "y", None, "y"],
    "masked numbers": np.ma.array([1, 2, 1, 2], mask=[0, 0, 1, 0]),
    "masked text": np.ma.array(["x", "y"] * 2, mask=[0, 0, 1, 0]),
    "a masked constant": [1, 2, np.ma.masked, 2],
    "dates": pd.Series([1, 2, pd.NaT, 2], dtype=object),
}


@pytest.mark.parametrize("labels", MISSING.values(), ids=MISSING.keys())
def test_a_missing_label_is_refused_by_its_row(labels):
    with pytest.raises(ValueError, match="y holds a missing value as a label at row 2;"):
        paper_tree().partial_fit(X, labels)


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
def test_every_way_in_refuses_a_missing_label(make):
    labels = pd.Series([None, 1, 2, 2], dtype="Int64")
    for way in ways_in(make).values():
        with pytest.raises(ValueError, match="missing value as a label at row 0"):
            way(labels)


@pytest.mark.parametrize(
    "label", [pd.NA, None, np.nan, pd.NaT, np.ma.masked, np.datetime64("NaT")], ids=repr
)
@pytest.mark.parametrize("name", BY_NAME)
def test_learn_one_refuses_a_missing_label(name, label):
    with pytest.raises(ValueError, match="y holds a missing value"):
        MODELS[name]().learn_one({"a": 1.0}, label)


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        ([b"x", b"y"] * 2, r"b'x' as a label at row 0"),
        ([1, 2, Decimal(1), 2], r"Decimal\('1'\) as a label at row 2"),
        ([1, 1j, 1, 2], r"1j as a label at row 1"),
        (np.array(["2024-01-01"] * 4, dtype="datetime64[ns]"), "datetime64"),
        (pd.Series([1, 2, 2**70, 2], dtype=object), "does not fit into 64 bits"),
        ((label for label in "abab"), "y is a generator: give a list"),
        ({"a", "b"}, "y is a set: give a list"),
        ({0: "a"}, "y is a dict: give a list"),
        (pl.LazyFrame({"y": [1, 2, 1, 2]}), r"y is lazy.*\.collect\(\)"),
    ],
    ids=["bytes", "decimal", "complex", "dates", "too large", "generator", "set", "dict", "lazy"],
)
def test_what_is_not_a_label_is_refused_in_words(labels, match):
    with pytest.raises((ValueError, TypeError), match=match):
        paper_tree().partial_fit(X, labels)


def test_whole_numbers_and_floats_mixed_keep_large_values():
    assert check_labels(None, [BIG + 1, 1.0]).tolist() == [BIG + 1, 1]
    assert check_labels(None, [1.0, 2.0]).dtype == np.float64


# --- rows --------------------------------------------------------------------------------------

HIDDEN = np.array([[0, 1], [0, 0], [0, 0], [1, 0]], dtype=bool)


@pytest.mark.parametrize(
    "rows",
    [
        np.ma.array(np.where(HIDDEN, -999.0, X), mask=HIDDEN),
        np.ma.array(np.where(HIDDEN, -999.0, X), mask=HIDDEN).astype(np.float32),
        list(np.ma.array(np.where(HIDDEN, -999.0, X), mask=HIDDEN)),
        np.ma.array(np.where(HIDDEN, -999, X).astype(object), mask=HIDDEN),
    ],
    ids=["floats", "float32", "a list of rows", "objects"],
)
@pytest.mark.parametrize("name", BY_NAME)
def test_masked_cells_are_missing(name, rows):
    wanted = np.where(HIDDEN, np.nan, X)
    plain_rows = wanted.astype(np.float32) if "float32" in repr(rows) else wanted
    expected = MODELS[name]().partial_fit(plain_rows, [0, 1] * 2).predict_proba(X)
    model = MODELS[name]().partial_fit(rows, [0, 1] * 2)
    np.testing.assert_array_equal(model.predict_proba(X), expected)


def test_masked_cells_by_name_and_in_single_rows():
    column = np.ma.array([5, 7], mask=[0, 1])
    by_name = paper_tree().learn_many({"a": column, "b": [1.0, 2.0]}, [0, 1])
    one_by_one = paper_tree()
    one_by_one.learn_one({"a": 5, "b": 1.0}, 0).learn_one({"a": np.ma.masked, "b": 2.0}, 1)
    by_place = paper_tree()
    by_place.learn_one([5.0, 1.0], 0).learn_one(np.ma.array([7.0, 2.0], mask=[1, 0]), 1)
    plain_rows = paper_tree().partial_fit([[5, 1], [np.nan, 2]], [0, 1])
    for model in (one_by_one, by_place, plain_rows):
        assert model.predict_proba(X).tolist() == by_name.predict_proba(X).tolist()
    asked = np.ma.array([5.0, 999.0], mask=[0, 1])
    assert by_place.predict_proba_one(asked) == by_place.predict_proba_one([5.0, np.nan])


def test_masked_texts_are_missing():
    texts = np.ma.array(["red", "hidden", "blue"], mask=[0, 1, 0])
    encoder = StreamEncoder().learn_many({"hue": texts})
    assert encoder.get_feature_names_out().tolist() == ["hue=red", "hue=blue"]
    assert np.isnan(encoder.transform_many({"hue": texts})[1]).all()


def test_a_baseline_refuses_masked_cells_as_missing():
    with pytest.raises(ValueError, match="NaN at row 0, column 1"):
        NCM().partial_fit(np.ma.array(X, mask=HIDDEN), [0, 1] * 2)


@pytest.mark.parametrize(
    ("weights", "row"),
    [
        (np.ma.array([1.0, 2.0, 3.0, 4.0], mask=[0, 1, 0, 0]), 1),
        (pd.Series([1, 2, None, 4], dtype="Int64"), 2),
        ([1.0, 1.0, 1.0, pd.NA], 3),
        (pa.array([None, 1.0, 1.0, 1.0]), 0),
        (pl.Series([1, None, 1, 1]), 1),
    ],
)
def test_a_missing_weight_is_refused_by_its_row(weights, row):
    with pytest.raises(ValueError, match=rf"sample_weight of row {row} is NaN \(missing\)"):
        paper_tree().partial_fit(X, [0, 1] * 2, sample_weight=weights)


def test_weights_of_other_types():
    for weights in (pd.array([1, 2, 3, 4], dtype="Int64"), pa.array([1, 2, 3, 4]), range(1, 5)):
        assert check_weights(X, weights).tolist() == [1.0, 2.0, 3.0, 4.0]
    with pytest.raises(ValueError, match="sample_weight of row 1 is 'b', not a number"):
        check_weights(X, np.array([1, "b", 1, 1], dtype=object))


MOMENTS = {
    "datetime": datetime.datetime(2024, 1, 1),
    "date": datetime.date(2024, 1, 1),
    "time": datetime.time(12),
    "timedelta": datetime.timedelta(1),
    "Timestamp": pd.Timestamp("2024-01-01"),
    "nanoseconds": np.datetime64("2024-01-01", "ns"),
    "days": np.datetime64("2024-01-01"),
    "difference": np.timedelta64(3, "ns"),
}
DATES = "column 't' holds dates or times; convert them to numbers first"


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS.keys())
@pytest.mark.parametrize("name", BY_NAME)
def test_dates_are_refused_alike_in_tables_and_rows(name, moment):
    make = MODELS[name]
    taught = make().learn_one({"t": 1.0}, 0).learn_one({"t": 2.0}, 1).learn_one({"t": 2.0}, 1)
    for call in (
        lambda: make().partial_fit(pd.DataFrame({"t": [moment] * 2}), [0, 1]),
        lambda: make().learn_many({"t": [moment, None]}, [0, 1]),
        lambda: make().learn_one({"t": moment}, 0),
        lambda: taught.learn_one({"t": moment}, 0),
        lambda: taught.predict_one({"t": moment}),
        lambda: taught.predict_proba_one({"t": moment}),
        lambda: taught.predict_many({"t": [moment]}),
    ):
        with pytest.raises(ValueError, match=DATES):
            call()


@pytest.mark.parametrize("dtype", ["datetime64[ns]", "datetime64[D]", "timedelta64[s]"])
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
def test_arrays_of_dates_are_refused(make, dtype):
    days = np.arange(4).astype(dtype)
    days[1] = "NaT"
    objects = np.empty((4, 1), dtype=object)
    objects[:, 0] = list(days)
    for rows in (days[:, None], [[day] for day in days], objects):
        with pytest.raises(ValueError, match="column 0 holds dates or times"):
            make().partial_fit(rows, [0, 1] * 2)


def test_a_missing_date_in_a_row_is_missing():
    for moment in (pd.NaT, np.datetime64("NaT", "ns")):
        model = paper_tree().learn_one({"t": moment, "a": 1.0}, 0)
        assert model.predict_one({"t": moment, "a": 1.0}) == 0
        assert np.isnan(model.explain({"t": moment, "a": 1.0}).values[0])


CONTAINERS = [[1.0, 2.0], (1.0, 2.0), {"x": 1.0}, {1.0}, frozenset({"x"}), np.array([1.0, 2.0])]


@pytest.mark.parametrize("cell", CONTAINERS, ids=lambda cell: type(cell).__name__)
@pytest.mark.parametrize("name", BY_NAME)
def test_a_container_in_a_cell_is_refused_by_its_column(name, cell):
    make = MODELS[name]
    taught = make().learn_one({"a": 1.0}, 0).learn_one({"a": 2.0}, 1).learn_one({"a": 2.0}, 1)
    kind = type(cell).__name__
    match = f"column 'a' holds a cell of type '{kind}'.*give each of its values a column"
    objects = np.array([None, None], dtype=object)
    objects[0] = cell
    for call in (
        lambda: make().learn_one({"a": cell}, 0),
        lambda: make().learn_many({"a": [cell, None]}, [0, 1]),
        lambda: make().partial_fit(pd.DataFrame({"a": objects}), [0, 1]),
        lambda: taught.learn_one({"a": cell}, 0),
        lambda: taught.predict_one({"a": cell}),
        lambda: taught.predict_many({"a": [cell]}),
    ):
        with pytest.raises(TypeError, match=match):
            call()


def test_a_container_in_an_array_is_refused_by_its_column():
    for rows in ([[1.0, [2.0]], [1.0, 2.0]], np.array([[1.0, {"x": 1}]], dtype=object)):
        with pytest.raises(TypeError, match=r"column 1 holds a cell of type .* at row 0"):
            paper_tree().partial_fit(rows, [0] * len(rows))
    with pytest.raises(TypeError, match="column 1 holds a cell of type 'list'"):
        paper_tree().learn_one([1.0, [2.0, 3.0]], 0)


def test_bytes_are_refused_by_the_encoder():
    for cells in ([b"red", b"blue"], np.array([b"red", b"blue"])):
        with pytest.raises(TypeError, match=r"'hue' holds .*b'red'.* at row 0: decode it"):
            StreamEncoder().learn_many({"hue": cells})


LAZY = [
    (pl.LazyFrame(TABLE), r"X is lazy, a LazyFrame .*\.collect\(\)"),
    (pa.RecordBatchReader.from_batches(pa.schema([("a", pa.float64())]), []), r"\.read_all\(\)"),
    ({1.0, 2.0}, "X is a set"),
]


@pytest.mark.parametrize(("frame", "match"), LAZY, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
def test_lazy_tables_are_refused_with_the_way_out(make, frame, match):
    model = make().partial_fit(X, [0, 1] * 2)
    calls = [lambda: make().partial_fit(frame, [0, 1] * 2), lambda: model.predict(frame)]
    if hasattr(model, "learn_many"):
        calls += [lambda: make().learn_many(frame, [0, 1] * 2)]
    for call in calls:
        with pytest.raises(TypeError, match=match):
            call()


def test_lazy_frames_of_dask_are_refused_and_its_arrays_computed():
    array = pytest.importorskip("dask.array")
    frame = pytest.importorskip("dask.dataframe").from_pandas(pd.DataFrame(TABLE), npartitions=2)
    for call in (paper_tree().partial_fit, paper_tree().learn_many, MODELS["pipeline"]().fit):
        with pytest.raises(TypeError, match=r"X is lazy, a DataFrame .*\.compute\(\)"):
            call(frame, [0, 1] * 2)
    assert paper_tree().partial_fit(array.from_array(X), [0, 1] * 2).n_rows_ == 4


def test_generators_and_lists_of_rows_by_name_are_refused():
    with pytest.raises(TypeError, match="X is a generator: give a list"):
        paper_tree().partial_fit((row for row in X), [0, 1] * 2)
    with pytest.raises(TypeError, match="column 'a' is a generator: give a list"):
        paper_tree().learn_many({"a": (value for value in X[:, 0])}, [0, 1] * 2)
    rows = np.array([(1.0, 2.0)], dtype=[("a", float), ("b", float)])
    for make in MODELS.values():
        with pytest.raises(TypeError, match="row 0 of X is a dict: give rows by name to learn_one"):
            make().partial_fit([{"a": 1.0}, {"a": 2.0}], [0, 1])
        with pytest.raises(TypeError, match=r"structured array.*pandas\.DataFrame"):
            make().partial_fit(rows, [0])
        with pytest.raises(ValueError, match="row 1 of X has 1 values, but row 0 has 2"):
            make().partial_fit([[1.0, 2.0], [3.0]], [0, 1])


NUMBERS = {
    "large whole numbers": (BIG + 1, float(BIG)),
    "Decimal": (Decimal("1.5"), 1.5),
    "Fraction": (Fraction(1, 4), 0.25),
    "bool": (True, 1.0),
    "NumPy's bool": (np.True_, 1.0),
    "int8": (np.int8(-3), -3.0),
    "longdouble": (np.longdouble("1.5"), 1.5),
    "an array without dimensions": (np.array(2.5), 2.5),
    "NA": (pd.NA, np.nan),
    "Decimal NaN": (Decimal("NaN"), np.nan),
}


@pytest.mark.parametrize(("cell", "value"), NUMBERS.values(), ids=NUMBERS.keys())
def test_numbers_of_all_types_are_the_same_number(cell, value):
    expected = paper_tree().partial_fit([[value, 1.0], [4.0, 2.0]], [0, 1])
    objects = np.empty((2, 2), dtype=object)
    objects[:] = [[0, 1.0], [4.0, 2.0]]
    objects[0, 0] = cell
    for model in (
        paper_tree().partial_fit(objects, [0, 1]),
        paper_tree().partial_fit([[cell, 1.0], [4.0, 2.0]], [0, 1]),
        paper_tree().learn_many({"a": [cell, 4.0], "b": [1.0, 2.0]}, [0, 1]),
        paper_tree().learn_one({"a": cell, "b": 1.0}, 0).learn_one({"a": 4.0, "b": 2.0}, 1),
        paper_tree().learn_one([cell, 1.0], 0).learn_one([4.0, 2.0], 1),
    ):
        assert model.predict_proba(X).tolist() == expected.predict_proba(X).tolist()


@pytest.mark.parametrize(
    ("cell", "match"),
    [
        (10**400, "'a' holds a number at row 0 that is too large"),
        (1j, "Complex data not supported: column 'a'"),
        (np.complex128(1.0), "Complex data not supported: column 'a'"),
        (object(), "'a' holds a cell of type 'object'.*not a number"),
    ],
    ids=["huge", "complex", "complex128", "object"],
)
def test_what_is_not_a_number_is_refused_alike(cell, match):
    taught = paper_tree().learn_one({"a": 1.0}, 0).learn_one({"a": 2.0}, 1)
    objects = np.array([cell, 1.0], dtype=object)
    for call in (
        lambda: paper_tree().learn_one({"a": cell}, 0),
        lambda: taught.learn_one({"a": cell}, 0),
        lambda: taught.predict_one({"a": cell}),
        lambda: paper_tree().learn_many({"a": objects}, [0, 1]),
        lambda: paper_tree().partial_fit(pd.DataFrame({"a": objects}), [0, 1]),
    ):
        with pytest.raises((ValueError, TypeError), match=match):
            call()
    with pytest.raises((ValueError, TypeError), match=match.replace("'a'", "0")):
        paper_tree().partial_fit([[cell], [1.0]], [0, 1])
    with pytest.raises((ValueError, TypeError), match=match.replace("'a'", "0")):
        paper_tree().learn_one([cell], 0)
    assert taught.n_rows_ == 2
