"""Explanations speak of the text columns of a table, not of their 0/1 columns."""

import numpy as np
import pytest

from mist import MistForest
from mist.inspection import TextColumn
from mist.preprocessing import StreamEncoder, StreamPipeline
from published import paper_tree


@pytest.fixture
def pipeline():
    rng = np.random.default_rng(0)
    hues, sizes = np.array(["blue", "red", "grey"]), [1.0, 5.0, 9.0]
    kinds = rng.integers(0, 3, 60)
    table = {
        "hue": hues[np.where(rng.random(60) < 0.7, kinds, rng.integers(0, 3, 60))].tolist(),
        "size": (np.array(sizes)[kinds] + rng.normal(size=60)).tolist(),
        "maker": [f"m{i % 5}" for i in range(60)],
    }
    model = StreamPipeline(StreamEncoder(hashing={"maker": 4}), paper_tree())
    return model.learn_many(table, np.array(["sky", "rose", "ash"])[kinds])


def test_the_evidence_of_a_text_is_the_sum_over_its_columns(pipeline):
    row = {"size": 5.2, "hue": "red", "maker": "m2"}
    told = pipeline.explain(row)
    plain = pipeline.model_.explain(pipeline.encoder_.transform_one(row))
    assert told.prediction == pipeline.predict_many({n: [v] for n, v in row.items()})[0] == "rose"
    names = pipeline.encoder_.get_feature_names_out().tolist()
    difference = dict(zip(names, plain.evidence[0] - plain.evidence[1], strict=True))
    terms = {term.name: term for term in told.contrast()}
    assert set(terms) == {"hue", "size", "maker", "prior of the classes"}
    assert (terms["hue"].value, terms["maker"].value, terms["size"].value) == ("red", "m2", "5.2")
    for name, start in (("hue", "hue="), ("maker", "maker#"), ("size", "size")):
        expected = sum(e for column, e in difference.items() if column.startswith(start))
        assert terms[name].evidence == pytest.approx(expected, abs=1e-12)
    total = sum(term.evidence for term in told.contrast())
    assert total == pytest.approx(sum(term.evidence for term in plain.contrast()), abs=1e-12)
    assert "  hue = red\n" in str(told)
    assert "hue=" not in str(told)
    labels = [text.get_text() for text in told.plot().get_yticklabels()]
    assert "hue = red" in labels
    assert not any("=red" in label for label in labels)


def test_the_frame_has_a_row_for_each_column_of_the_table(pipeline):
    frame = pipeline.explain({"size": 5.2, "hue": "red"}, top=1).to_frame()
    assert sorted(frame["column"].dropna()) == ["hue", "maker", "size"]
    values = dict(zip(frame["column"], frame["value"], strict=True))
    assert values["hue"] == "red"
    assert values["size"] == 5.2
    scores = pipeline.explain({"size": 5.2, "hue": "red"}, top=1).scores
    assert frame["evidence"].sum() == pytest.approx(scores[0], abs=1e-12)


def test_missing_and_unknown_texts(pipeline):
    terms = {term.name: term for term in pipeline.explain({"size": 5.2, "hue": None}).contrast()}
    assert "hue" not in terms
    terms = {term.name: term for term in pipeline.explain({"hue": "pink"}).contrast()}
    assert terms["hue"].value == "pink (never learnt)"


def test_a_split_on_a_text_is_read_as_one():
    model = StreamPipeline(model=paper_tree(grace_period=10, tie_threshold=9.0))
    table = {"size": [1.0] * 60, "hue": ["blue", "red"] * 30}
    model.learn_many(table, ["cold", "warm"] * 30)
    (step,) = model.explain({"size": 1.0, "hue": "red"}).path
    assert (step.column, step.left) == ("hue=blue", True)
    for hue, line in (
        ("red", "  hue is not blue\n"),
        ("blue", "  hue is blue\n"),
        (None, "  hue is missing: to the heavier side, "),
    ):
        assert line in str(model.explain({"size": 1.0, "hue": hue}))


def test_columns_of_arrays_have_numbers():
    model = StreamPipeline(model=paper_tree())
    model.partial_fit([["blue", 1.0], ["red", 9.0]] * 9, ["a", "b"] * 9)
    told = model.explain({0: "red", 1: 9.0})
    assert told.texts == (TextColumn("x0", "red", (0, 1)),)


def test_what_cannot_be_explained_is_refused():
    model = StreamPipeline(model=MistForest(paper_tree(), n_trees=2))
    model.learn_many({"hue": ["a", "b"]}, [0, 1])
    with pytest.raises(TypeError, match=r"forest\.trees_\[0\]"):
        model.explain({"hue": "a"})
    with pytest.raises(TypeError, match="mapping"):
        StreamPipeline(model=paper_tree()).learn_many({"a": [1.0]}, [0]).explain([1.0])
