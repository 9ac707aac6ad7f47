"""Encoder and model in one: new categories, new columns and new labels as they come."""

import pickle
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from mist import MistClassifier, MistForest, load
from mist.baselines import NCM
from mist.preprocessing import StreamEncoder, StreamPipeline
from published import paper_tree

KNOWN = {"coat": ["short", "long", "wool"]}


def animals(n=240, seed=0):
    """Sizes that tell two of three classes, coats that tell the third, some cells missing."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(3, size=n)
    size = rng.normal(np.array([1.0, 8.0, 8.0])[codes], 0.5)
    coat = np.array(["short", "long", "wool"], dtype=object)[codes]
    size[rng.random(n) < 0.05] = np.nan
    coat[rng.random(n) < 0.05] = None
    return {"size": size, "coat": coat}, np.array(["cat", "cow", "sheep"])[codes]


X, Y = animals()
TEST, TEST_Y = animals(seed=1)


def part(rows, table=X):
    return {name: column[rows] for name, column in table.items()}


@parametrize_with_checks(
    [StreamPipeline(None, paper_tree()), StreamPipeline(StreamEncoder(), NCM())]
)
def test_estimator_checks(estimator, check):
    name = getattr(check, "func", check).__name__
    if name == "check_positive_only_tag_during_fit" and sklearn.__version__.startswith("1.6."):
        pytest.skip("scikit-learn 1.6 gives this check whole numbers where it means to subtract 1")
    check(estimator)


def complete(table, y):
    rows = ~np.isnan(table["size"]) & np.array([coat is not None for coat in table["coat"]])
    return part(rows, table), y[rows]


@pytest.mark.parametrize(
    "model",
    [paper_tree(), MistForest(paper_tree(), n_trees=1), NCM(), SGDClassifier(random_state=0)],
    ids=lambda model: type(model).__name__,
)
def test_mixed_columns_are_learnt(model):
    table, y = complete(X, Y)
    test, test_y = complete(TEST, TEST_Y)
    line = StreamPipeline(StreamEncoder(standardise=True), model)
    rows = part(slice(0, 100), table), part(slice(100, None), table)
    line.learn_many(rows[0], y[:100], classes=["cat", "cow", "sheep"])
    line.learn_many(rows[1], y[100:])
    assert np.mean(line.predict_many(test) == test_y) > 0.95
    if hasattr(model, "predict_proba"):
        proba = line.predict_proba_many(test)
        assert proba.shape == (len(test_y), 3)
        np.testing.assert_array_equal(line.classes_[proba.argmax(axis=1)], line.predict_many(test))


def test_a_batch_equals_its_rows_if_the_categories_are_known():
    encoder = StreamEncoder(categories=KNOWN)
    batch = StreamPipeline(encoder, paper_tree())
    single, tested = clone(batch), clone(batch)
    answers = []
    for rows in (slice(0, 60), slice(60, 240)):
        batch.learn_many(part(rows), Y[rows])
        for size, coat, label in zip(X["size"][rows], X["coat"][rows], Y[rows], strict=True):
            answers.append(single.predict_one({"coat": coat, "size": size}))
            single.learn_one({"size": size, "coat": coat}, label)
    assert tested.prequential_many(X, Y).tolist()[1:] == answers[1:]
    for other in (single, tested):
        np.testing.assert_array_equal(
            other.predict_proba_many(TEST), batch.predict_proba_many(TEST)
        )
    shares = single.predict_proba_one({"coat": "wool"})
    assert list(shares) == ["cat", "cow", "sheep"]
    assert max(shares, key=shares.get) == "sheep"


def test_new_categories_and_columns_widen_the_model_by_name():
    line = StreamPipeline(None, paper_tree()).learn_many(part(Y != "sheep"), Y[Y != "sheep"])
    assert sorted(line.model_.feature_names_in_) == ["coat=long", "coat=short", "size"]
    assert sorted(line.model_.categorical_features) == ["coat=long", "coat=short"]
    sheep = part(Y == "sheep")
    sheep["horns"] = np.full(len(sheep["size"]), "two")
    line.learn_many(sheep, Y[Y == "sheep"])
    assert line.model_.feature_names_in_.tolist()[3:] == ["coat=wool", "horns=two"]
    assert line.feature_names_in_.tolist() == ["size", "coat", "horns"]
    test, test_y = complete(TEST, TEST_Y)
    assert np.mean(line.predict_many(test) == test_y) > 0.95


def test_strict_methods_take_frames_and_arrays():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X)
    by_name = StreamPipeline(None, paper_tree()).learn_many(frame, Y)
    strict = StreamPipeline(None, paper_tree()).fit(frame, pd.Series(Y))
    np.testing.assert_array_equal(strict.predict_proba(frame), by_name.predict_proba_many(frame))
    framed = StreamPipeline(StreamEncoder().set_output(transform="pandas"), paper_tree())
    np.testing.assert_array_equal(
        framed.fit(frame, Y).predict_proba(frame), strict.predict_proba(frame)
    )
    with pytest.raises(ValueError, match="same order"):
        strict.predict(frame[["coat", "size"]])
    rows = frame.to_numpy(dtype=object)
    plain = StreamPipeline(None, paper_tree())
    answers = plain.prequential(rows, Y)
    np.testing.assert_array_equal(plain.predict_proba(rows), by_name.predict_proba_many(frame))
    assert answers.tolist() == StreamPipeline(None, paper_tree()).prequential(frame, Y).tolist()
    assert np.mean(answers == Y) > 0.9


def test_methods_for_arrays_point_to_those_for_columns_by_name():
    model = StreamPipeline(model=paper_tree()).learn_many(X, Y)
    for call in (model.predict, model.predict_proba, lambda X: model.score(X, Y)):
        with pytest.raises(TypeError, match=r"got a dict.*predict_many"):
            call(X)
    with pytest.raises(TypeError, match="learn_many"):
        paper_tree().partial_fit({"size": [1.0, 2.0]}, [0, 1])


def test_a_model_in_the_place_of_the_encoder_is_refused():
    model = StreamPipeline(paper_tree())
    with pytest.raises(TypeError, match=r"MistClassifier.*StreamPipeline\(model="):
        model.learn_many(X, Y)
    assert not hasattr(model, "encoder_")


def test_models_of_fixed_width_name_the_column_that_came():
    table, y = complete(X, Y)
    line = StreamPipeline(None, NCM()).learn_many(table, y)
    before = pickle.dumps(line)
    new = {"size": [1.0], "coat": ["curly"]}
    with pytest.raises(ValueError, match=r"add the columns \['coat=curly'\], but NCM learns only"):
        line.learn_many(new, ["cat"])
    assert pickle.dumps(line) == before
    hashed = StreamPipeline(StreamEncoder(hashing={"coat": 8}), NCM()).learn_many(table, y)
    assert hashed.learn_many(new, ["dog"]).classes_.tolist() == ["cat", "cow", "dog", "sheep"]


@pytest.mark.parametrize(
    ("table", "y", "match"),
    [
        ({"size": ["big"], "coat": ["new"]}, ["cat"], "holds the text 'big'"),
        ({"size": [1.0], "coat": ["new"]}, [3], "mixes text labels with numbers"),
        ({"size": [1.0], "coat": ["new"]}, ["cat", "cow"], "1 rows, but y has 2"),
    ],
)
def test_a_refused_call_leaves_no_trace(table, y, match):
    line = StreamPipeline(None, paper_tree()).learn_many(X, Y)
    columns = line.encoder_.get_feature_names_out().tolist()
    before = line.predict_proba_many(TEST)
    for call in (line.learn_many, line.prequential_many):
        with pytest.raises(ValueError, match=match):
            call(table, y)
    assert line.encoder_.get_feature_names_out().tolist() == columns
    np.testing.assert_array_equal(line.predict_proba_many(TEST), before)
    fresh = StreamPipeline(None, paper_tree())
    if match != "mixes text labels with numbers" and "big" not in match:
        with pytest.raises(ValueError, match=match):
            fresh.learn_many(table, y)
        assert set(vars(fresh)) == {"encoder", "model"}


@pytest.mark.parametrize(
    "model",
    [paper_tree(), MistForest(paper_tree(), n_trees=1), NCM()],
    ids=lambda model: type(model).__name__,
)
def test_a_file_holds_encoder_and_model(model, tmp_path):
    table, y = complete(X, Y)
    encoder = StreamEncoder(categories=KNOWN, standardise=True)
    line = StreamPipeline(encoder, model).learn_many(part(slice(0, 50), table), y[:50])
    line.save(tmp_path / "line.mist")
    line.encoder_.save(tmp_path / "encoder.mist")
    copy, alone = load(tmp_path / "line.mist"), load(tmp_path / "encoder.mist")
    np.testing.assert_array_equal(alone.transform_many(table), line.encoder_.transform_many(table))
    for later in (line, copy):
        later.learn_many(part(slice(50, None), table), y[50:])
    np.testing.assert_array_equal(copy.predict_many(table), line.predict_many(table))


def test_only_models_that_test_then_train_are_asked_to():
    line = StreamPipeline(None, SGDClassifier())
    with pytest.raises(TypeError, match="SGDClassifier has no prequential: call predict"):
        line.prequential_many(X, Y)
    with pytest.raises(TypeError, match="no prequential_proba: call predict_proba, then partial"):
        line.prequential_proba_many(X, Y)
    assert set(vars(line)) == {"encoder", "model"}


def test_probabilities_of_rows_before_they_are_learnt():
    line = StreamPipeline(StreamEncoder(categories=KNOWN), paper_tree())
    twin = clone(line)
    half = len(Y) // 2
    line.learn_many(part(slice(half)), Y[:half])
    twin.learn_many(part(slice(half)), Y[:half])
    alone = load_again(line)
    labels, shares = line.prequential_proba_many(part(slice(half, None)), Y[half:])
    assert labels.tolist() == twin.prequential_many(part(slice(half, None)), Y[half:]).tolist()
    assert shares.shape == (len(Y) - half, len(line.classes_))
    for place, (size, coat) in enumerate(zip(X["size"][half:], X["coat"][half:], strict=True)):
        one = alone.predict_proba_one({"size": size, "coat": coat})
        found = dict(zip(line.classes_.tolist(), shares[place].tolist(), strict=True))
        assert found == {label: pytest.approx(one.get(label, 0.0), abs=2e-5) for label in found}
        alone.learn_one({"size": size, "coat": coat}, Y[half + place])
    np.testing.assert_array_equal(line.predict_proba_many(TEST), twin.predict_proba_many(TEST))
    rows = np.array([[size, coat] for size, coat in zip(*X.values(), strict=True)], dtype=object)
    by_place, by_name = StreamPipeline(None, paper_tree()), StreamPipeline(None, paper_tree())
    _, of_array = by_place.prequential_proba(rows, Y)
    _, of_table = by_name.prequential_proba_many(X, Y)
    np.testing.assert_array_equal(of_array, of_table)


def load_again(model):
    """A copy by way of a file."""
    with TemporaryDirectory() as folder:
        model.save(Path(folder, "model.mist"))
        return load(Path(folder, "model.mist"))


def test_rows_by_name_are_no_answer_where_columns_had_none():
    line = StreamPipeline(None, paper_tree()).fit([[1.0], [9.0]], ["cat", "cow"])
    with pytest.raises(ValueError, match="learnt columns without names"):
        line.predict_many({"size": [9.0]})


def test_nothing_learnt_is_told():
    line = StreamPipeline(None, paper_tree())
    assert line.predict_one({"size": 1.0}) is None
    assert line.predict_proba_one({"size": 1.0}) == {}
    with pytest.raises(NotFittedError):
        line.predict_many(X)
    assert not hasattr(line, "classes_")
    with pytest.raises(TypeError, match="one row must be a mapping"):
        line.learn_one([1.0, "short"], "cat")


def test_parameters_reach_encoder_and_model_and_stay_as_they_were():
    line = StreamPipeline(StreamEncoder(), paper_tree())
    line.set_params(encoder__max_categories=7, model__grace_period=50)
    line.fit(part(slice(0, 20)) and np.array([["a", 1.0], ["b", 2.0]], dtype=object), ["x", "y"])
    assert line.encoder_.max_categories == 7
    assert line.model_.grace_period == 50
    assert line.model.categorical_features is None
    assert not hasattr(line.encoder, "n_features_in_")


def test_rows_without_any_value():
    model = StreamPipeline(model=paper_tree())
    with pytest.raises(ValueError, match="no column has had a value yet"):
        model.partial_fit([[np.nan, np.nan]], ["a"])
    with pytest.raises(ValueError, match="no columns"):
        model.learn_one({}, "a")
    model.learn_one({"size": 1.0}, "a").learn_one({}, "b").learn_one({}, "b")
    assert model.n_features_in_ == 1
    assert model.predict_one({}) in ("a", "b")
    assert sum(model.predict_proba_one({}).values()) == pytest.approx(1.0)
    by_place = StreamPipeline(model=paper_tree()).fit([[0.0, 1.0], [9.0, 2.0]], ["a", "b"])
    assert by_place.learn_one({}, "b").predict_one({}) == "b"


def test_one_row_is_the_next_of_the_stream_and_many_are_not():
    line, plain = StreamPipeline(StreamEncoder(categories=KNOWN)), MistClassifier()
    line.learn_many(part(slice(200)), Y[:200])
    names = line.encoder_.get_feature_names_out().tolist()
    rows = dict(zip(names, line.encoder_.transform_many(X).T, strict=True))
    plain.set_params(categorical_features=line.encoder_.categorical_features_)
    plain.learn_many(part(slice(200), rows), Y[:200])
    row = {"size": 4.5, "coat": None}  # between the classes: the labels before it decide
    encoded = line.encoder_.transform_one(row)
    of_table = line.predict_proba_many({name: [value] for name, value in row.items()})[0]
    assert of_table.tolist() == plain.predict_proba_many(_columns(encoded))[0].tolist()
    as_next = line.predict_proba_one(row)
    assert as_next == plain.predict_proba_one(encoded)
    assert as_next != dict(zip(line.classes_.tolist(), of_table.tolist(), strict=True))
    assert line.predict_one(row) == plain.predict_one(encoded) == max(as_next, key=as_next.get)
    rest = line.prequential_many(part(slice(200, 240)), Y[200:])
    assert rest.tolist() == plain.prequential_many(part(slice(200, 240), rows), Y[200:]).tolist()


def _columns(row):
    return {name: [value] for name, value in row.items()}


def test_changes_are_those_of_the_model():
    line = StreamPipeline(model=MistClassifier("gaussian"))
    with pytest.raises(NotFittedError):
        line.changes_  # noqa: B018
    table, y = animals(1200)
    line.learn_many(part(slice(600), table), y[:600])
    table["size"][y == "cow"] += 60.0
    line.learn_many(part(slice(600, None), table), y[600:])
    assert [(change.kind, change.label) for change in line.changes_] == [("class moved", "cow")]
    assert not hasattr(
        StreamPipeline(model=NCM()).learn_many({"a": [1.0, 2.0]}, [0, 1]), "changes_"
    )


def payments(n, late, text="new"):
    """Amounts, and shops of which one has cells in a few late rows only."""
    rng = np.random.default_rng(8)
    y = rng.integers(0, 3, n)
    shop = np.where(rng.random(n) < 0.5, y, rng.integers(0, 3, n)).astype(str).astype(object)
    shop[late] = text
    shop[rng.random(n) < 0.1] = None
    return {"amount": rng.normal(3.0 * y), "hour": rng.normal(size=n), "shop": shop}, y


@pytest.mark.parametrize("way", ["by name", "arrays", "one by one"])
def test_a_late_text_equals_one_that_was_declared(way):
    late = np.flatnonzero(np.random.default_rng(1).random(600) < 0.1)
    table, y = payments(600, late[late > 300])
    # On a schedule, so that the number of columns does not change when a leaf may split.
    model = paper_tree(split_test="schedule", rows_per_split=150)
    shops = list(dict.fromkeys(shop for shop in table["shop"] if shop is not None))
    lines = [StreamPipeline(None, model)]
    declared = {"shop": shops} if way != "arrays" else {2: shops}
    lines.append(StreamPipeline(StreamEncoder(categories=declared), model))
    for line in lines:
        if way == "one by one":
            for row, label in zip(zip(*table.values(), strict=True), y, strict=True):
                line.learn_one(dict(zip(table, row, strict=True)), label)
            continue
        for rows in (slice(0, 200), slice(200, 400), slice(400, None)):
            if way == "by name":
                line.learn_many({name: cells[rows] for name, cells in table.items()}, y[rows])
            else:
                line.partial_fit(np.column_stack(list(table.values()))[rows], y[rows])
    shares = [
        line.predict_proba(np.column_stack(list(table.values())))
        if way == "arrays"
        else line.predict_proba_many(table)
        for line in lines
    ]
    assert lines[0].model_.n_splits_ > 0
    np.testing.assert_allclose(*shares, atol=1e-9)


def test_three_cells_of_a_new_text_cost_nothing():
    hits = {}
    for text in ("new", None):
        table, y = payments(600, [440, 470, 505], text)
        line = StreamPipeline(None, paper_tree())
        line.learn_many({name: cells[:400] for name, cells in table.items()}, y[:400])
        answers = [
            line.prequential_many({n: c[i : i + 1] for n, c in table.items()}, y[i : i + 1])[0]
            for i in range(400, 600)
        ]
        hits[text] = np.mean(answers == y[400:])
    assert hits["new"] > 0.85
    assert abs(hits["new"] - hits[None]) <= 0.01


@pytest.mark.parametrize("model", [paper_tree(), MistForest(paper_tree(), n_trees=1, adapt=None)])
def test_classes_are_renamed_and_dropped(model):
    wrong = np.where(np.arange(len(Y)) % 9 == 0, "kat", Y)
    line = StreamPipeline(model=model).learn_many(X, np.where(Y == "cat", wrong, Y))
    assert line.classes_.tolist() == ["cat", "cow", "kat", "sheep"]
    assert line.rename_class("kat", "cat") is line
    assert line.drop_class("sheep") is line
    assert line.classes_.tolist() == ["cat", "cow"]
    assert line.encoder_.get_feature_names_out().tolist()[0] == "size"
    kept = TEST_Y != "sheep"
    assert np.mean(line.predict_many(part(kept, TEST)) == TEST_Y[kept]) > 0.95
    line.learn_many(X, Y)
    assert line.classes_.tolist() == ["cat", "cow", "sheep"]
    with pytest.raises(ValueError, match="no class has the label 'kat'"):
        line.drop_class("kat")


def test_classes_of_other_models_keep_their_names():
    with pytest.raises(NotFittedError):
        StreamPipeline().rename_class("a", "b")
    line = StreamPipeline(model=NCM()).fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(TypeError, match="NCM has no drop_class: use MistClassifier or MistForest"):
        line.drop_class("a")
