"""Tables of any library are the same rows, and errors name the column."""

import datetime
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from mist import MistForest
from mist.baselines import NCM
from mist.cells import cells_of, is_category
from mist.tables import as_frame, numbers
from published import paper_tree

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

NAN = np.nan
COLUMNS = {
    "whole": [1, None, 3, 4],
    "real": [0.5, 1.5, None, 2.5],
    "flag": [True, None, False, True],
    "price": [Decimal("1.25"), None, Decimal("-3"), Decimal("0.5")],
}
ROWS = np.array([[1, 0.5, 1, 1.25], [NAN, 1.5, NAN, NAN], [3, NAN, 0, -3], [4, 2.5, 1, 0.5]])
FULL = np.array([[1.0, 0.5], [2.0, 1.5], [8.0, 9.0], [9.0, 8.5]])
Y = np.array(["a", "b", "a", "b"])


def pandas_nullable(columns):
    kinds = {"whole": "Int64", "real": "Float64", "flag": "boolean", "price": object}
    return pd.DataFrame({n: pd.array(c, dtype=kinds[n]) for n, c in columns.items()})


FRAMES = {
    "pandas nullable": pandas_nullable,
    "pandas objects": lambda columns: pd.DataFrame(columns, dtype=object),
    "pandas of arrow": lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.DataFrame,
    "pyarrow table": pa.table,
    "pyarrow batch": pa.RecordBatch.from_pydict,
}


@pytest.fixture(params=FRAMES.values(), ids=FRAMES.keys())
def frame_of(request):
    return request.param


def test_frames_of_every_library_are_the_same_numbers(frame_of):
    model = paper_tree().partial_fit(frame_of(COLUMNS), Y)
    assert model.feature_names_in_.tolist() == list(COLUMNS)
    assert model.n_features_in_ == 4
    plain = paper_tree().partial_fit(ROWS, Y)
    np.testing.assert_array_equal(model.predict_proba(frame_of(COLUMNS)), plain.predict_proba(ROWS))


def test_frames_of_every_library_keep_names_and_order(frame_of):
    model = paper_tree().partial_fit(frame_of(COLUMNS), Y)
    turned = frame_of(dict(reversed(COLUMNS.items())))
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        model.predict(turned)
    fewer = frame_of({name: COLUMNS[name] for name in ("whole", "real")})
    with pytest.raises(ValueError, match="names seen at fit time, yet now missing"):
        model.partial_fit(fewer, Y)


@pytest.mark.parametrize("model", [MistForest(paper_tree(), n_trees=1), NCM()], ids=repr)
def test_forests_and_baselines_take_the_same_tables(model):
    table = pa.table({"u": FULL[:, 0], "v": FULL[:, 1]})
    labels = pa.chunked_array([Y[:2], Y[2:]])
    model.partial_fit(table, labels)
    assert model.feature_names_in_.tolist() == ["u", "v"]
    proba = model.predict_proba(pl.DataFrame({"u": FULL[:, 0], "v": FULL[:, 1]}))
    np.testing.assert_array_equal(proba, model.predict_proba(table))


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series(Y, dtype="category"),
        pl.Series(Y),
        pl.Series(Y, dtype=pl.Categorical),
        pa.array(Y),
        pa.chunked_array([Y[:1], Y[1:]]).dictionary_encode(),
    ],
    ids=lambda labels: f"{type(labels).__module__} {getattr(labels, 'dtype', '')}",
)
def test_labels_of_every_library_are_the_same_labels(labels):
    assert paper_tree().fit(FULL, labels).classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series(["a", None, "b", "a"], dtype="category"),
        pl.Series(["a", None, "b", "a"]),
        pa.array(["a", None, "b", "a"]).dictionary_encode(),
    ],
    ids=lambda labels: type(labels).__module__,
)
def test_missing_labels_of_every_library_are_refused(labels):
    with pytest.raises(ValueError, match=r"missing value|NA|NaN"):
        paper_tree().fit(FULL, labels)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_text_is_refused_by_column_row_and_with_the_way_out(library):
    frame = library({"size": [1.0, 2.0], "colour": [None, "red"]})
    model = paper_tree()
    before = dict(vars(model))
    with pytest.raises(ValueError, match=r"column 'colour' .*'red' at row 1.*StreamEncoder"):
        model.partial_fit(frame, ["a", "b"])
    assert vars(model) == before


@pytest.mark.parametrize("form", [list, np.array, lambda rows: np.array(rows, dtype=object)])
def test_text_in_arrays_is_refused_by_column_too(form):
    with pytest.raises(ValueError, match=r"column 1 .*'red' at row 1.*StreamEncoder"):
        paper_tree().partial_fit(form([["1", "2"], ["3", "red"]]), ["a", "b"])


def test_text_in_single_rows_is_refused_by_column():
    model = paper_tree().learn_one({"size": 1.0, "colour": pd.NA}, "a")
    with pytest.raises(ValueError, match=r"column 'colour' .*'red'.*StreamEncoder"):
        model.learn_one({"size": 1.0, "colour": "red"}, "a")


@pytest.mark.parametrize(
    ("cells", "match"),
    [
        ([datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)], "'when'.*(date|datetime)"),
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), "'when' holds dates"),
        ([{"a": 1}, {"a": 2}], "'when' holds a cell of type 'dict'.* at row 0"),
        (pd.Series([10**400, 1], dtype=object), "'when' holds a number at row 0.*too large"),
        ([1j, 2j], "Complex data not supported: column 'when'"),
    ],
)
def test_what_is_no_number_is_refused_by_column(cells, match):
    with pytest.raises((ValueError, TypeError), match=match):
        paper_tree().partial_fit(pd.DataFrame({"when": cells}), ["a", "b"])


def test_categories_that_are_numbers_are_numbers():
    cells = [3, None, 5]
    for column in (
        pd.Series(cells, dtype="category"),
        pa.array(cells).dictionary_encode(),
        pa.chunked_array([cells]).dictionary_encode(),
    ):
        assert is_category(column)
        np.testing.assert_array_equal(numbers([column], ["c"], 3), [[3], [NAN], [5]])
    assert is_category(pl.Series(["a"], dtype=pl.Enum(["a", "b"])))
    for column in (pd.Series(cells), pl.Series(cells), pa.array(cells), pl.Series(["a"])):
        assert not is_category(column)


def test_cells_of_lists_stay_what_they_are():
    assert cells_of([1, "a", None, 2.5], "c").tolist() == [1, "a", None, 2.5]
    assert cells_of([1, 2], "c").dtype.kind == "i"
    assert numbers([[Fraction(1, 2), True]], ["c"], 2).tolist() == [[0.5], [1.0]]
    for scalar in (1.5, "text", {"a": 1}):
        with pytest.raises(ValueError, match=r"column 'c' has shape \(\)"):
            cells_of(scalar, "c")


def test_frames_are_told_without_importing_their_libraries(monkeypatch):
    assert as_frame(pd.DataFrame({"a": [1]})) is not None
    frame = pl.DataFrame({"a": [1]})
    for name in ("pandas", "polars", "pyarrow"):
        monkeypatch.delitem(sys.modules, name)
    assert as_frame(frame) is None
    assert not {"pandas", "polars", "pyarrow"} & set(sys.modules)
