import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mist
from mist import MistClassifier, MistForest
from mist.baselines import NCM
from mist.io import open_table
from mist.preprocessing import StreamEncoder, StreamPipeline
from mist.serving.learner import Learner
from mist.serving.limits import Limits, Refused
from mist.serving.options import LearnerOptions, ServiceOptions
from mist.serving.served_model import ServedModel, pipeline_of
from mist.serving.service import Service, shares_to_keep
from mist.streaming.runs.checkpoint import save_run
from served import bytes_of, empty_pipeline, make_service


def learn(rows, labels, time=0.0, **more):
    return {"do": "learn", "rows": rows, "labels": labels, "time": time, **more}


CELLS = st.none() | st.floats(-1e3, 1e3).map(lambda x: round(x, 3)) | st.integers(-9, 9)
ROWS = st.fixed_dictionaries(
    {"a": CELLS}, optional={"b": CELLS, "hue": st.sampled_from(["red", "blue", "green", None])}
).filter(lambda row: any(cell is not None for cell in row.values()))
LABELS = st.sampled_from(["x", "y", "z"])


@st.composite
def calls(draw):
    """Calls of all kinds, some of which are refused."""
    found = []
    for step in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(["learn", "learn", "keep", "label"]))
        rows = draw(st.lists(ROWS, min_size=1, max_size=3))
        if draw(st.integers(0, 9)) == 0:
            rows[-1] = {"a": "not a number"}
        call = {"do": kind, "time": 10.0 * step}
        ids = [draw(st.sampled_from("123456")) for _ in rows]
        if kind != "label":
            call["rows"] = rows
        if kind == "keep":
            call |= {"ids": ids, "shares": [["x", [["x", 0.75], ["y", 0.25]]]] * len(rows)}
        else:
            call["labels"] = [draw(LABELS) for _ in rows]
        if kind == "label":
            call["ids"] = ids = list(dict.fromkeys(ids))
            call["labels"] = call["labels"][: len(ids)]
        if kind != "keep" and draw(st.booleans()):
            call |= {"key": draw(st.sampled_from("kl")), "digest": draw(st.sampled_from("dd e"))}
        found.append(call)
    return found


def apply(service, call):
    try:
        return service.apply(call)
    except Refused as refused:
        return str(refused)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(calls=calls(), data=st.data())
def test_calls_applied_again_after_a_checkpoint_give_the_same(calls, data, tmp_path):
    quiet = make_service(keep_rows=4, keep_seconds=45.0)
    results = [apply(quiet, call) for call in calls]
    at = data.draw(st.integers(0, len(calls)))
    before = make_service(keep_rows=4, keep_seconds=45.0)
    found = [apply(before, call) for call in calls[:at]]
    path = tmp_path / "checkpoint.mist"
    mist.persistence.save(before.served.model, path, attachment=before.state())
    model, state = mist.persistence.load_with_attachment(path)
    after = Service(ServedModel(model, Limits()), before.options, state)
    # As they come from the log.
    found += [apply(after, json.loads(json.dumps(call))) for call in calls[at:]]
    assert found == results
    assert bytes_of(after.served.model, tmp_path) == bytes_of(quiet.served.model, tmp_path)
    assert str(after.state()) == str(quiet.state())


def test_nothing_of_a_refused_call_is_learnt(tmp_path):
    service = make_service()
    service.apply(learn([{"a": 1.0}, {"a": 2.0}], ["x", "y"]))
    before = bytes_of(service.served.model, tmp_path), str(service.state())
    with pytest.raises(Refused, match="row 1: column 'a' holds 'big'") as caught:
        service.admit(learn([{"a": 3.0}, {"a": "big"}], ["x", "y"]))
    assert (caught.value.row, caught.value.column) == (1, "a")
    with pytest.raises(Refused, match="'big'"):
        service.apply(learn([{"a": 3.0, "new": "text"}, {"a": "big"}], ["x", "y"]))
    assert (bytes_of(service.served.model, tmp_path), str(service.state())) == before


def test_a_key_is_learnt_once():
    service = make_service()
    call = learn([{"a": 1.0}], ["x"], key="k", digest="d")
    assert service.apply(call) == {"learnt": 1, "rows": 1}
    repeated = {"learnt": 1, "rows": 1, "repeated": True}
    assert service.admit(call).result == service.apply(call) == repeated
    with pytest.raises(Refused, match="used for another body"):
        service.admit({**call, "digest": "e"})


def test_a_late_label_is_scored_by_the_prediction_of_then():
    service = make_service()
    service.apply(learn([{"a": 0.0}, {"a": 9.0}], ["x", "y"]))
    (then,) = service.predict([{"a": 4.0}])
    shares = [shares_to_keep(then)]
    keep = {"do": "keep", "ids": ["1"], "rows": [{"a": 4.0}], "shares": shares, "time": 0.0}
    assert service.apply(keep) == {"kept": 1}
    service.apply(learn([{"a": 4.0}] * 9, ["y"] * 9))
    rows, hits = service.watch.rows, service.watch.figures()["accuracy"] * service.watch.rows
    call = {"do": "label", "ids": ["1", "2"], "labels": ["y", "y"], "time": 1.0}
    assert service.apply(call) == {"learnt": 1, "rows": 12, "unknown": ["2"]}
    now = service.watch.figures()["accuracy"] * service.watch.rows
    assert service.watch.rows == rows + 1
    assert round(now - hits) == (then.label == "y")
    assert service.unknown == 1


def test_limits_of_columns_and_classes_name_the_row():
    service = make_service(limits=Limits(columns=4, classes=2))
    service.apply(learn([{"a": 1.0, "hue": "red"}], ["x"]))
    assert service.admit(learn([{"a": 1.0, "hue": "blue", "b": 2}], ["y"])).grows
    assert not service.admit(learn([{"a": 2.0, "hue": "red"}], ["x"])).grows
    with pytest.raises(Refused, match="more than 4 columns"):
        # One text makes texts of the numbers, too.
        service.admit(learn([{"b": 1}, {"b": 2}, {"b": "text"}], ["x"] * 3))
    assert service.admit(learn([{"b": 1}, {"b": 2}, {"b": 3}], ["x"] * 3)).grows
    with pytest.raises(Refused, match="more than 4 columns") as caught:
        service.admit(learn([{"a": 1}, {"hue": "blue", "b": 2, "c": 3}], ["x", "x"]))
    assert (caught.value.row, caught.value.column) == (1, "c")
    with pytest.raises(Refused, match="would be class 3") as caught:
        service.admit(learn([{"a": 1}] * 3, ["x", "y", "z"]))
    assert (caught.value.row, caught.value.column) == (2, "label")
    with pytest.raises(Refused, match="the label 3 is a number") as caught:
        service.admit(learn([{"a": 1}] * 2, ["x", 3]))
    assert (caught.value.row, caught.value.column) == (1, "label")


def test_limits_hold_for_calls_that_come_together():
    service = make_service(limits=Limits(columns=3, classes=3))
    service.apply(learn([{"a": 1.0, "hue": "red"}], ["x"]))
    keep = {"do": "keep", "ids": ["1"], "rows": [{"b": 1}], "shares": [["x", [["x", 1.0]]]]}
    group = [
        *({"do": "learn", "rows": [{"hue": f"new {k}"}], "labels": ["x"]} for k in range(4)),
        keep,
        {"do": "label", "ids": ["1"], "labels": ["x"]},
        *({"do": "learn", "rows": [{"a": 1}], "labels": [label]} for label in "xyxzxw"),
    ]
    learner = Learner(service, LearnerOptions())
    futures = [learner.submit(call) for call in group]
    learner.start()
    learner.stop()
    refused = [place for place, future in enumerate(futures) if future.exception()]
    assert refused == [1, 2, 3, 5, 11]
    assert len(service.served.model.encoder_.get_feature_names_out()) == 3
    assert service.served.classes() == ["x", "y", "z"]


# --- kinds of models -----------------------------------------------------------------------------


def table(n=200):
    rng = np.random.default_rng(0)
    y = np.array(["x", "y"])[np.arange(n) % 2]
    return {"a": rng.normal(size=n) + 4 * (y == "x"), "b": rng.normal(size=n)}, y


def rows_of(X):
    return [
        dict(zip(X, map(float, values), strict=True)) for values in zip(*X.values(), strict=True)
    ]


@pytest.mark.parametrize(
    "model",
    [
        lambda: MistClassifier.paper("G"),
        lambda: MistForest(MistClassifier.paper("G"), n_trees=2, random_state=0),
        lambda: StreamPipeline(model=MistClassifier.paper("G")),
    ],
)
def test_a_served_model_is_the_model(model, tmp_path):
    X, y = table()
    plain = model().learn_many(X, y)
    served = ServedModel(model(), Limits())
    rows = rows_of(X)
    for begin in range(0, 100, 10):
        served.learn(rows[begin : begin + 10], y[begin : begin + 10].tolist())
    for place in range(100, 200):
        served.learn([rows[place]], [y[place].item()])
    if isinstance(plain, MistForest):  # its arrays have room for more rows after large calls
        found = served.model.predict_proba_many(X)
        assert (found == plain.predict_proba_many(X)).all()
    else:
        assert bytes_of(served.model, tmp_path) == bytes_of(plain, tmp_path)
    found = served.predict(rows[:20])
    assert found == [served.predict([row])[0] for row in rows[:20]]
    assert [each.label for each in found] == [plain.predict_one(row) for row in rows[:20]]
    assert served.rows == 200
    assert served.columns() == ["a", "b"]


def test_columns_of_a_model_of_arrays_are_numbers():
    X, y = table()
    served = ServedModel(MistClassifier.paper().fit(np.column_stack([*X.values()]), y), Limits())
    assert served.columns() == ["0", "1"]
    row = {"0": 4.0, "1": None}
    assert served.predict([row])[0].label == "x"
    assert served.predict([row, row])[1].label == "x"
    served.learn([row], ["z"])
    assert served.classes() == ["x", "y", "z"]
    with pytest.raises(Refused, match="no column 'a'"):
        served.check([{"a": 1.0}])


def test_other_models_are_refused():
    with pytest.raises(TypeError, match="got a NCM"):
        ServedModel(NCM(), Limits())


@pytest.mark.parametrize("piped", [False, True])
def test_novel_rows_are_found_by_an_open_world(piped):
    X, y = table(400)
    model = MistClassifier.paper(open_world=True)
    served = ServedModel(StreamPipeline(model=model) if piped else model, Limits())
    served.learn(rows_of(X), y.tolist())
    # The order of the keys is not that of the columns.
    found = served.novel([{"b": 0.0, "a": 4.0}, {"b": 50.0, "a": -50.0}])
    assert found == [False, True]


def test_a_file_of_a_run_becomes_a_pipeline(tmp_path):
    path = tmp_path / "pets.csv"
    lines = [
        f"{k % 7},{'short' if k % 2 else 'long'},{'cat' if k % 2 else 'cow'}" for k in range(80)
    ]
    path.write_text("size,coat,pet\n" + "\n".join(lines) + "\n")
    opened = open_table([str(path)], "pet")
    model = MistClassifier.paper(categorical_features=opened.categorical)
    for chunk in opened:
        model.partial_fit(chunk.X, chunk.y)
    model.feature_names_in_ = np.array(opened.names, dtype=object)
    save_run(tmp_path / "pets.mist", model, opened.plain())
    loaded, attachment = mist.persistence.load_with_attachment(tmp_path / "pets.mist")
    served = ServedModel(pipeline_of(loaded, attachment["encoding"], "pets.mist"), Limits())
    assert served.columns() == ["size", "coat"]
    assert served.predict([{"size": 1, "coat": "short"}])[0].label == "cat"
    served.learn([{"size": 2, "coat": "curly", "age": 3}], ["dog"])
    assert served.classes() == ["cat", "cow", "dog"]
    (tmp_path / "again.mist").write_bytes(bytes_of(served.model, tmp_path))
    assert mist.load(tmp_path / "again.mist").predict_one({"size": 1, "coat": "short"}) == "cat"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=st.lists(st.tuples(ROWS, LABELS), min_size=1, max_size=30))
def test_single_rows_of_a_pipeline_take_a_fast_path_to_the_same_model(rows, tmp_path):
    one, many = empty_pipeline(), empty_pipeline()
    for row, label in rows:
        one.learn_one(row, label)
        many.learn_many({name: [cell] for name, cell in row.items()}, [label])
        slow = dict(
            zip(many.classes_.tolist(), many.predict_proba_many(_column(row))[0], strict=True)
        )
        assert one.predict_proba_one(row) == pytest.approx(slow, abs=1e-12)
    assert bytes_of(one, tmp_path) == bytes_of(many, tmp_path)


def _column(row):
    return {name: [cell] for name, cell in row.items()}


def test_standardised_columns_take_the_slow_path():
    model = StreamPipeline(StreamEncoder(standardise=True), MistClassifier.paper())
    model.learn_many({"a": [1.0, 3.0]}, ["x", "y"])
    assert model.predict_one({"a": 3.0}) == "y"


def test_options_have_defaults():
    assert ServiceOptions().limits == Limits()
