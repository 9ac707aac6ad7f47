"""How sure a run was of its predictions, and the rows it lists, against slow loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from mist.cli import app
from mist.io import open_table
from mist.persistence import load_with_attachment, save
from mist.presets import make_model
from mist.streaming.runs.column_history import FAR, Columns
from mist.streaming.runs.prequential_run import PrequentialRun
from mist.streaming.runs.session import Session
from mist.streaming.runs.sureness import FIRST_ROWS, MOST_ROWS, NotedRows, Sureness

BINS = 15


def rows_of(n, seed=0):
    """Places, labels, predictions and their probabilities, one in ten of them unknown."""
    rng = np.random.default_rng(seed)
    chances = np.where(rng.random(n) < 0.1, np.nan, rng.random(n))
    labels = rng.integers(0, 3, n).tolist()
    predicted = np.where(rng.random(n) < 0.5, labels, rng.integers(0, 3, n)).tolist()
    return list(range(1, n + 1)), labels, predicted, chances


def fed(parts, seed=0, stop=1):
    """A recorder that has got rows in parts, and went through a file after one of them."""
    sureness, start = Sureness(), 0
    rows = rows_of(sum(parts), seed)
    for i, n in enumerate(parts):
        if i == stop:
            sureness = Sureness(sureness.state())
        sureness.add(*(each[start : start + n] for each in rows), [], [])
        start += n
    return sureness, rows


@given(st.lists(st.integers(0, 90), min_size=1, max_size=6), st.integers(0, 5), st.integers(0, 9))
def test_reliability_and_unsure_rows_are_those_of_a_loop(parts, stop, seed):
    sureness, (places, labels, predicted, chances) = fed(parts, seed, stop)
    reliability = sureness.reliability()
    counts = np.zeros((BINS, 3))
    for label, answer, chance in zip(labels, predicted, chances, strict=True):
        if not np.isnan(chance):
            counts[int(chance * BINS)] += 1, chance, label == answer
    assert reliability.rows.tolist() == counts[:, 0].tolist()
    assert reliability.probability == pytest.approx(counts[:, 1])
    assert reliability.right.tolist() == counts[:, 2].tolist()
    error = sum(abs(said - right) for _, said, right in counts) / max(counts[:, 0].sum(), 1)
    assert reliability.error == pytest.approx(error)
    later = [row for row in range(FIRST_ROWS, len(places)) if not np.isnan(chances[row])]
    least = sorted(later, key=lambda row: chances[row])[:MOST_ROWS]
    assert [
        (row.place, row.label, row.predicted, row.probability) for row in sureness.unsure()
    ] == [(places[row], labels[row], predicted[row], chances[row]) for row in least]


def test_each_row_and_each_key_is_noted_once():
    noted = NotedRows()
    for place, key, rank in ((1, 0, 5.0), (2, 0, 4.0), (1, 1, 6.0), (3, 0, 7.0), (4, 2, 1.0)):
        noted.add(place, "a", "b", 0.5, rank, key=key)
        noted = NotedRows(noted.state())
    assert [row.place for row in noted.rows()] == [3, 1, 4]
    for place in range(10, 40):
        noted.add(place, "a", "b", 0.5, float(place))
    assert [row.place for row in noted.rows()] == list(range(39, 39 - MOST_ROWS, -1))


def test_outliers_are_far_from_the_mean_of_the_rows_before():
    rng = np.random.default_rng(3)
    before, X = rng.normal(5.0, 2.0, (400, 4)), rng.normal(5.0, 2.0, (30, 4))
    before[:, 2], X[:, 2], before[:50, 3] = 0.0, 0.0, np.nan
    X[7, 0], X[9, 2], X[11, 3], X[12, 3] = 40.0, 1.0, -60.0, np.nan
    columns = Columns()
    columns.add(before, np.arange(400) % 3)
    found = columns.outliers(X, ["a", "b", "wool", "d"])
    slow = []
    for j in range(4):
        known = before[~np.isnan(before[:, j]), j]
        distances = []
        for value in X[:, j]:
            column = np.append(known, value)
            far = abs(value - known.mean()) * len(known) / len(column)
            distances.append(far / column.std() if column.std() > 0 else -1.0)
        slow.append((int(np.nanargmax(distances)), j, np.nanmax(distances)))
    slow = sorted((each for each in slow if each[2] >= FAR), key=lambda each: -each[2])
    assert [each[:2] for each in found] == [each[:2] for each in slow] == [(9, 2), (11, 3), (7, 0)]
    assert [each.distance for each in found] == pytest.approx([each[2] for each in slow])
    assert found[0].reason == "wool = 1, 20 SD from the mean 0"
    by_name = Columns()
    by_name.add(dict(zip("abcd", before.T, strict=True)), np.arange(400) % 3)
    again = by_name.outliers(dict(zip("dcbae", [*X.T[::-1], X[:, 0]], strict=True)), ())
    assert [(each.row, each.distance) for each in again] == [
        (each.row, pytest.approx(each.distance)) for each in found
    ]


def test_nothing_is_an_outlier_of_few_rows():
    columns = Columns()
    assert columns.outliers(np.array([[1e9]]), ["a"]) == []
    columns.add(np.ones((99, 1)), np.zeros(99, dtype=np.int64))
    assert columns.outliers(np.array([[1e9]]), ["a"]) == []


def table(path, n=700):
    """Two classes, then a third one; a value far away."""
    rng = np.random.default_rng(1)
    labels = np.array(["left", "right"])[rng.integers(0, 2, n)]
    labels[400::5] = "top"
    centres = {"left": (0, 0), "right": (1, 0), "top": (1, 9)}
    X = np.array([centres[label] for label in labels]) + rng.normal(size=(n, 2))
    X[500] = 4000.0, 0.0
    labels[500] = "right"
    lines = [f"{a:.4f},{b:.4f},{label}" for (a, b), label in zip(X, labels, strict=True)]
    path.write_text("\n".join(["a,b,side", *lines]) + "\n")


def noted_by(session):
    (record,) = session.section("t", ["a", "b"], 0).models
    return record


@pytest.mark.parametrize("model", ["mist-g", "mist-g+adapt=stream"])
def test_rows_that_are_noted_in_a_run(tmp_path, model):
    table(tmp_path / "t.csv")
    chunks = list(open_table(str(tmp_path / "t.csv"), "side", chunk_rows=100))
    whole = Session({model: make_model(model, seed=0)})
    for chunk in chunks:
        whole.learn(chunk)
    record = noted_by(whole)
    novel = {row.place: row for row in record.novel}
    assert novel[402].reason == "first row of its class"
    assert (novel[402].label, novel[402].predicted != "top") == ("top", True)
    assert novel[502].reason.startswith("a = 4000, ")
    assert all(row.place > FIRST_ROWS for row in (*record.novel, *record.unsure))
    assert len(record.unsure) == MOST_ROWS
    assert record.reliability.n_rows == 699

    model_again, state = make_model(model, seed=0), None
    for chunk in chunks:
        session = Session({model: model_again}, state)
        session.learn(chunk)
        state = session.state()
    again = noted_by(session)
    assert again.novel == record.novel
    assert again.unsure == record.unsure
    assert again.reliability.error == record.reliability.error


def test_probabilities_are_those_before_each_row_is_learnt():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.integers(0, 3, 200)
    known = np.arange(200) % 4 > 0
    run, single = PrequentialRun(make_model("mist-g", seed=0), "MIST-G"), make_model("mist-g")
    for part in (slice(0, 70), slice(70, 200)):
        answers = run.advance(X[part], y[part], known[part])
        for i, (answer, chance) in enumerate(zip(answers, run.chances, strict=True), part.start):
            if answer == "":
                assert np.isnan(chance)
            else:
                shares = single.predict_proba_one(X[i])
                assert chance == pytest.approx(shares[answer], abs=1e-5)
            if known[i]:
                single.learn_one(X[i], y[i])


def test_with_very_many_classes_probabilities_are_not_computed(monkeypatch):
    monkeypatch.setattr("mist.streaming.runs.prequential_run._MOST_SHARES", 10)
    run = PrequentialRun(make_model("mist-g", seed=0), "MIST-G")
    assert run.advance(np.eye(4), np.arange(4))[1:] == [0, 0, 0]
    assert np.isnan(run.chances).all()


def test_a_report_shows_them_and_an_older_checkpoint_goes_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "t.csv")
    command = ["run", "t.csv", "--target", "side", "--model", "mist-g", "--checkpoint", "c.mist"]
    outcome = CliRunner().invoke(app, [*command, "--limit", "200"])
    assert outcome.exit_code == 0, outcome.output
    model, attachment = load_with_attachment(tmp_path / "c.mist")
    del attachment["session"]["sureness"]
    save(model, tmp_path / "c.mist", attachment=attachment)
    outcome = CliRunner().invoke(app, command)
    assert outcome.exit_code == 0, outcome.output
    text = (tmp_path / "mist-run.html").read_text()
    assert "<h3>Calibration</h3>" in text
    assert "Without 200 rows whose probability is not known." in " ".join(text.split())
    assert "<h3>Rows predicted with least confidence</h3>" in text
    assert "<h3>Novel rows</h3>" in text
