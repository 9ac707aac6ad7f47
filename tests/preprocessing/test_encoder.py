"""The encoder: texts become 0/1 columns, in any batches, by place or by name."""

import pickle
import subprocess
import sys
from enum import Enum
from pathlib import PurePosixPath

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_selector
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mist.preprocessing import StreamEncoder

NAN = np.nan


def names(encoder):
    return encoder.get_feature_names_out().tolist()


@parametrize_with_checks([StreamEncoder(), StreamEncoder(standardise=True)])
def test_estimator_checks(estimator, check):
    check(estimator)


def test_new_categories_add_columns_behind_all_others():
    encoder = StreamEncoder().partial_fit([["red", 1.0], ["blue", 2.0]])
    assert names(encoder) == ["x0=red", "x0=blue", "x1"]
    encoder.partial_fit([["green", 3.0], ["red", 4.0]])
    assert names(encoder) == ["x0=red", "x0=blue", "x1", "x0=green"]
    assert encoder.categorical_features_ == ["x0=red", "x0=blue", "x0=green"]
    rows = [["blue", 1], [None, 2.5], ["pink", None], ["green", NAN]]
    np.testing.assert_array_equal(
        encoder.transform(rows),
        [[0, 1, 1, 0], [NAN, NAN, 2.5, NAN], [0, 0, NAN, 0], [0, 0, NAN, 1]],
    )


def test_the_answer_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    rows = np.empty((50, 2), dtype=object)
    rows[:, 0], rows[:, 1] = rng.choice(["x", "y", "z"], 50), rng.normal(size=50)
    encoder = StreamEncoder(standardise=True)
    out = encoder.fit_transform(rows)
    order = [names(encoder).index(f"x0={text}") for text in "xyz"]
    hot = OneHotEncoder(sparse_output=False).fit_transform(rows[:, :1])
    np.testing.assert_array_equal(out[:, order], hot)
    scaled = StandardScaler().fit_transform(rows[:, 1:].astype(float))
    np.testing.assert_allclose(out[:, names(encoder).index("x1")], scaled[:, 0], rtol=1e-12)


CELLS = {
    "size": st.one_of(st.none(), st.floats(-1e3, 1e3), st.integers(-5, 5), st.just(NAN)),
    "coat": st.one_of(st.none(), st.sampled_from(["short", "long", "", "3", "ä"])),
    "code": st.one_of(st.none(), st.integers(0, 3), st.sampled_from([0.0, 2.0])),
    "site": st.one_of(st.none(), st.text(max_size=3)),
}


@st.composite
def tables(draw):
    parts = []
    for n_rows in draw(st.lists(st.integers(1, 5), min_size=1, max_size=5)):
        columns = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, unique=True))
        cells = {name: st.lists(CELLS[name], min_size=n_rows, max_size=n_rows) for name in columns}
        parts.append({name: draw(cells[name]) for name in columns})
    return parts


@settings(max_examples=60, deadline=None)
@given(tables())
def test_a_batch_teaches_what_its_rows_teach(parts):
    batch = StreamEncoder(["code"], hashing={"site": 4}, standardise=True)
    single = clone(batch)
    for table in parts:
        batch.learn_many(table)
        for cells in zip(*table.values(), strict=True):
            single.learn_one(dict(zip(table, cells, strict=True)))
    # Columns stand in order of appearance, which is by rows here and by columns there.
    assert sorted(names(batch)) == sorted(names(single))
    assert batch.feature_names_in_.tolist() == single.feature_names_in_.tolist()
    order = [names(single).index(name) for name in names(batch)]
    for table in parts:
        encoded = batch.transform_many(table)
        np.testing.assert_array_equal(encoded, single.transform_many(table)[:, order])
        for j, name in enumerate(names(batch)):
            column, _, text = name.partition("=")
            if text and column in table:
                expected = [NAN if c is None else float(c == text) for c in table[column]]
                if column == "coat":
                    np.testing.assert_array_equal(encoded[:, j], expected)


def test_columns_appear_vanish_and_change_places_by_name():
    encoder = StreamEncoder().learn_many({"a": [1.0], "b": ["x"]})
    encoder.learn_many({"c": ["u"], "a": [2.0]})
    assert names(encoder) == ["a", "b=x", "c=u"]
    assert encoder.n_features_in_ == 3
    assert encoder.feature_names_in_.tolist() == ["a", "b", "c"]
    out = encoder.transform_many({"unknown": [1, 2], "c": ["u", "v"], "a": [3, None]})
    np.testing.assert_array_equal(out, [[3, NAN, 1], [NAN, NAN, 0]])
    assert encoder.transform_one({"b": "x"})["b=x"] == 1.0
    assert np.isnan(encoder.transform_one({"b": "x"})["a"])


def test_frames_of_every_library_give_the_same():
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    table = {"size": [1.5, None, 2.0], "coat": ["long", None, "short"], "wet": [True, None, False]}
    expected = StreamEncoder().learn_many(table)
    frames = [
        pd.DataFrame(table),
        pd.DataFrame(table).convert_dtypes(),
        pd.DataFrame(table).astype({"coat": "category"}),
        pl.DataFrame(table),
        pl.DataFrame(table).with_columns(pl.col("coat").cast(pl.Categorical)),
        pa.table(table),
        pa.table({**table, "coat": pa.array(table["coat"]).dictionary_encode()}),
        pa.RecordBatch.from_pydict(table),
    ]
    for frame in frames:
        encoder = StreamEncoder()
        np.testing.assert_array_equal(encoder.fit_transform(frame), expected.transform_many(table))
        assert names(encoder) == names(expected) == ["size", "coat=long", "coat=short", "wet"]
        np.testing.assert_array_equal(
            expected.transform_many(frame), expected.transform_many(table)
        )


def test_output_may_be_a_frame():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"size": [1.0, 2.0], "coat": ["long", "short"]}, index=[7, 3])
    out = StreamEncoder().set_output(transform="pandas").fit_transform(frame)
    assert out.columns.tolist() == ["size", "coat=long", "coat=short"]
    assert out.index.tolist() == [7, 3]
    assert make_column_selector("=")(out) == ["coat=long", "coat=short"]
    polars = StreamEncoder().set_output(transform="polars").fit(frame).transform(frame)
    assert polars["coat=short"].to_list() == [0.0, 1.0]


def test_numbers_may_be_categories():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"code": [3.0, NAN, 10.0]})
    assert names(StreamEncoder().fit(frame)) == ["code"]
    encoder = StreamEncoder(["code"]).fit(frame)
    assert names(encoder) == ["code=3", "code=10"]
    assert encoder.transform(pd.DataFrame({"code": [3, 10, 4]})).tolist() == [
        [1, 0],
        [0, 1],
        [0, 0],
    ]
    assert names(StreamEncoder().fit(frame.astype("category"))) == ["code=3", "code=10"]
    assert names(StreamEncoder([1]).fit([[3, 4], [5, 6]])) == ["x0", "x1=4", "x1=6"]


def test_categories_known_in_advance_are_there_from_the_first_row():
    encoder = StreamEncoder(categories={"coat": ["long", "short"]}).learn_one({"coat": None})
    assert names(encoder) == ["coat=long", "coat=short"]
    encoder.learn_one({"coat": "curly"})
    assert encoder.transform_one({"coat": "short"}) == {
        "coat=long": 0.0,
        "coat=short": 1.0,
        "coat=curly": 0.0,
    }


def test_a_column_without_a_value_has_no_kind_yet():
    encoder = StreamEncoder().learn_many({"a": [None, NAN], "b": [1, 2]})
    assert names(encoder) == ["b"]
    encoder.learn_many({"a": ["x", None]})
    assert names(encoder) == ["b", "a=x"]


def test_hashes_are_the_same_in_every_process():
    texts = [f"user-{i}" for i in range(200)]
    encoder = StreamEncoder(hashing={"user": 16}).learn_one({"user": "someone"})
    assert names(encoder) == [f"user#{bucket}" for bucket in range(16)]
    out = encoder.transform_many({"user": [*texts, None]})
    assert (out[:-1].sum(axis=1) == 1).all()
    assert np.isnan(out[-1]).all()
    assert (out[:-1].sum(axis=0) > 0).all()
    code = (
        "from mist.preprocessing import StreamEncoder\n"
        "encoder = StreamEncoder(hashing={'user': 16}).learn_one({'user': 'a'})\n"
        "rows = encoder.transform_many({'user': [f'user-{i}' for i in range(200)]})\n"
        "print(rows.argmax(axis=1).tolist())"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert other.stdout.strip() == str(out[:-1].argmax(axis=1).tolist())
    again = encoder.learn_many({"user": texts})
    assert len(names(again)) == 16


def test_running_standardisation_goes_on_over_batches():
    rng = np.random.default_rng(0)
    values = rng.normal(1e6, 3.0, size=(300, 1))
    values[::7] = NAN
    encoder = StreamEncoder(standardise=True)
    for part in np.split(values, [1, 40, 250]):
        encoder.partial_fit(part)
    expected = StandardScaler().fit_transform(values)
    np.testing.assert_allclose(encoder.transform(values), expected, rtol=1e-7)
    constant = StreamEncoder(standardise=True).fit([[4.0], [4.0]])
    assert constant.transform([[5.0]]).tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("table", "match"),
    [
        ({"size": [2.0, "huge"]}, "'size' held numbers so far but holds the text 'huge' at row 1"),
        ({"size": [2.0, np.inf]}, "infinity at row 1, column 'size'"),
        ({"size": [1e200]}, "too large to be squared, at row 0, column 'size'"),
        ({"coat": ["b", "c", "d"]}, r"'coat' has more than 3 different texts at row 2.*hashing="),
        ({"coat=a": [1.0]}, "'coat=a' would add a second column 'coat=a'"),
        ({"day": np.array(["2020-01-01"], dtype="datetime64[D]")}, "'day' holds dates"),
        ({"coat": ["b"], "size": [1, 2]}, "'size' has 2 rows, but column 'coat' has 1"),
    ],
)
def test_a_refused_table_leaves_no_trace(table, match):
    encoder = StreamEncoder(max_categories=3).learn_many({"size": [1.0], "coat": ["a"]})
    before = pickle.dumps(encoder)
    with pytest.raises(ValueError, match=match):
        encoder.learn_many(table)
    assert pickle.dumps(encoder) == before


def test_columns_of_other_names_or_places_are_refused_by_the_strict_methods():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"size": [1.0], "coat": ["long"]})
    encoder = StreamEncoder().fit(frame)
    for call in (encoder.transform, encoder.partial_fit):
        with pytest.raises(ValueError, match="same order"):
            call(frame[["coat", "size"]])
    with pytest.raises(ValueError, match="learnt columns without names"):
        StreamEncoder().fit([[1.0]]).learn_many({"size": [1.0]})
    with pytest.raises(ValueError, match="learnt columns without names"):
        StreamEncoder().fit([[1.0]]).transform_many({"size": [1.0]})
    numbered = StreamEncoder().learn_many({7: [1.0]}).learn_many({8: [2.0]})
    assert numbered.transform_many({8: [3.0], 9: [1.0]})[0, 1] == 3.0
    for empty in (frame[:0], frame[[]]):
        with pytest.raises(ValueError, match="while a minimum of 1 is required"):
            StreamEncoder().fit(empty)
    with pytest.raises(NotFittedError):
        StreamEncoder().transform_many({"size": [1.0]})
    with pytest.raises(NotFittedError):
        StreamEncoder().get_feature_names_out()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"hashing": {"a": 0}}, "hashing of column 'a' is 0"),
        ({"hashing": {"a": 8}, "categories": {"a": ["x"]}}, "'a' is in both hashing and categ"),
        ({"max_categories": 0}, "max_categories"),
        ({"categorical_features": ["b"]}, r"categorical_features names \['b'\], which X does not"),
        ({"categories": {"b": ["x"]}}, r"categories names \['b'\]"),
    ],
)
def test_bad_options_are_refused_by_name(options, match):
    pd = pytest.importorskip("pandas")
    encoder = StreamEncoder(**options)
    before = dict(vars(encoder))
    with pytest.raises(ValueError, match=match):
        encoder.partial_fit(pd.DataFrame({"a": ["x"]}))
    assert vars(encoder) == before


def test_names_are_told_only_if_all_are_texts():
    encoder = StreamEncoder().learn_many({"size": [1.0]})
    assert encoder.feature_names_in_.tolist() == ["size"]
    assert not hasattr(encoder.learn_many({3: [1.0]}), "feature_names_in_")


def test_names_may_be_given_to_columns_without_any():
    encoder = StreamEncoder().fit([["x", 1.0]])
    assert encoder.get_feature_names_out(["coat", "size"]).tolist() == ["coat=x", "size"]
    with pytest.raises(ValueError, match="input_features"):
        encoder.get_feature_names_out(["coat"])


def test_fit_forgets_what_was_learnt_before():
    encoder = StreamEncoder().fit([["a", 1.0, 2.0]]).fit([["b"]])
    assert names(encoder) == ["x0=b"]
    assert encoder.n_features_in_ == 1


class Odd:
    pass


@pytest.mark.parametrize(
    "cell", [b"red", bytearray(b"red"), ["red"], ("red",), {"hue": "red"}, {"red"}, Odd(), Odd, len]
)
def test_cells_that_are_neither_numbers_nor_texts_are_refused(cell):
    encoder = StreamEncoder().learn_one({"size": 1.0, "hue": "red"})
    places = [("hue", lambda: encoder.learn_one({"size": 1.0, "hue": cell}))]
    places.append(("hue", lambda: encoder.transform_many({"size": [1.0], "hue": [cell]})))
    rows = np.empty((1, 2), dtype=object)
    rows[0] = [1.0, None]
    rows[0, 1] = cell
    places.append((1, lambda: StreamEncoder().partial_fit(rows)))
    for name, call in places:
        with pytest.raises(TypeError, match=f"column {name!r} holds .* at row 0"):
            call()
    assert encoder.get_feature_names_out().tolist() == ["size", "hue=red"]


def test_cells_of_other_types_with_a_text_are_texts():
    hue = Enum("Hue", "RED BLUE")
    rows = {"hue": [hue.RED, hue.BLUE], "file": [PurePosixPath("a"), PurePosixPath("b")]}
    encoder = StreamEncoder().learn_many(rows)
    assert encoder.get_feature_names_out().tolist() == [
        "hue=Hue.RED",
        "hue=Hue.BLUE",
        "file=a",
        "file=b",
    ]
