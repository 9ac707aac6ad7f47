"""Files of models with each byte changed in turn, and cut at every length: none is a model."""

from pathlib import Path

import numpy as np
import pytest

import mist
from mist.baselines import NCM
from mist.persistence import load_with_attachment
from mist.streaming.runs.checkpoint import Checkpoint, Kept
from mist.streaming.runs.session import Session

FIXTURES = Path(__file__).parent.parent / "fixtures"
SETTINGS = {"FILE": ["pets.csv"], "--seed": 42}
RENAMES = {"pup": "dog"}
ENCODING = {"target": "y", "columns": ["size", "flag"], "texts": {"flag": ["no"]}, "integers": True}


def kept(model):
    """What a run over a file keeps once the model has learnt."""
    models = {"mist-g": model}
    session = Session(models).state()
    return Kept(models, session, 0, ENCODING, None, 0, RENAMES)


def make(kind, path):
    """Write a small file of a kind."""
    if kind == "baseline":
        NCM().fit([[0.0], [9.0]], ["a", "b"]).save(path)
    elif kind == "unfitted":
        mist.MistClassifier().save(path)
    elif kind == "tree":
        path.write_bytes((FIXTURES / "format1-gaussian.mist").read_bytes())
    else:
        model = mist.load(FIXTURES / "format1-gaussian.mist")
        Checkpoint(path, 1, SETTINGS).save(kept(model))


def other_files(data):
    """The file with one bit of each byte flipped in turn, then cut at each length."""
    altered = bytearray(data)
    for at, before in enumerate(data):
        altered[at] = before ^ 1 << at % 8
        yield bytes(altered), f"byte {at} is {altered[at]}"
        altered[at] = before
    for length in range(len(data)):
        yield data[:length], f"cut to {length} bytes"
    yield data + b"\0", "a byte more"


def read(kind, path):
    if kind == "checkpoint":
        return Checkpoint(path, 1, SETTINGS).load()
    return load_with_attachment(path)


@pytest.mark.parametrize("kind", ["unfitted", "baseline", "tree", "checkpoint"])
def test_no_file_with_an_altered_byte_or_cut_short_is_taken_for_a_model(tmp_path, kind):
    path = tmp_path / "model.mist"
    make(kind, path)
    data = path.read_bytes()
    read(kind, path)
    taken = []
    for other, what in other_files(data):
        path.write_bytes(other)
        try:
            read(kind, path)
        except ValueError as error:
            named = str(error).startswith(f"{path}: ")
        else:
            named = False
        if not named:
            taken.append(what)
    assert taken == []
    path.write_bytes(data)
    read(kind, path)


def test_a_checkpoint_is_taken_up_as_it_was(tmp_path):
    path = tmp_path / "check.mist"
    make("checkpoint", path)
    model = mist.load(FIXTURES / "format1-gaussian.mist")
    found = Checkpoint(path, 1, SETTINGS).load()
    assert found.encoding == ENCODING
    assert found.renames == RENAMES
    assert found.session["trials"]["mist-g"]["answers"]["rows_each"] == 1
    assert found.predictions == 0
    arrays = zip(model._state.tree, found.models["mist-g"]._state.tree, strict=True)
    assert all(np.array_equal(one, other) for one, other in arrays)


def put(part, key, value):
    """Change what a checkpoint keeps."""
    return lambda attachment: part(attachment).__setitem__(key, value)


def whole(attachment):
    return attachment


def session(attachment):
    return attachment["session"]


def trial(attachment):
    return attachment["session"]["trials"]["mist-g"]


ODD = {
    "no models": put(whole, "models", None),
    "a model of no known name": put(whole, "models", [("mist-x", None)]),
    "a name that is none": put(whole, "models", [(3, None)]),
    "a model that is none": put(whole, "models", [("mist-g", "text")]),
    "no model": put(whole, "models", []),
    "models that are no pairs": put(whole, "models", [1]),
    "no session": lambda attachment: attachment.pop("session"),
    "no place in the predictions": lambda attachment: attachment.pop("predictions"),
    "a place before the predictions": put(whole, "predictions", -1),
    "a position that is none": put(whole, "position", {"rows": 3}),
    "offsets that are none": put(whole, "position", {"rows": 3, "offsets": {"0": "a"}}),
    "partitions that are none": put(whole, "position", {"rows": 3, "offsets": {0: 1}}),
    "renames to no text": put(whole, "renames", {"a": 3}),
    "a session without rows": lambda attachment: session(attachment).pop("done"),
    "a number of rows that is none": put(session, "done", "12"),
    "fewer rows than none": put(session, "done", -5),
    "first rows that are none": put(session, "first_rows", {1: "a"}),
    "other trials": put(session, "trials", {"mist-k": {}}),
    "no counts of sureness": put(session, "sureness", {}),
    "hits that are none": put(trial, "hits", 1.5),
    "answers of nothing": put(trial, "answers", {}),
    "blocks of no row": lambda attachment: trial(attachment)["answers"].update(rows_each=0),
    "shares that are none": lambda attachment: trial(attachment)["answers"].update(shares="ab"),
    "shares in a square": lambda attachment: trial(attachment)["answers"].update(rest=np.eye(2)),
    "a last point that is none": lambda attachment: trial(attachment)["leaves"].update(last=("a",)),
}


@pytest.mark.parametrize("change", ODD.values(), ids=ODD)
def test_a_checkpoint_of_somebody_else_is_refused_as_a_whole(tmp_path, change):
    path = tmp_path / "check.mist"
    make("checkpoint", path)
    model, attachment = load_with_attachment(path)
    change(attachment)
    mist.persistence.save(model, path, attachment=attachment)
    with pytest.raises(ValueError, match=r"check\.mist is not a valid checkpoint; del"):
        Checkpoint(path, 1, SETTINGS).load()


ODD_ENCODINGS = {
    "none": None,
    "a text": "a",
    "no target": {"columns": ["a"], "texts": {}, "integers": None},
    "a target that is none": {**ENCODING, "target": 3},
    "columns that are none": {**ENCODING, "columns": "ab"},
    "a column twice": {**ENCODING, "columns": ["flag", "flag"]},
    "texts of no column": {**ENCODING, "texts": {"odd": []}},
    "texts that are none": {**ENCODING, "texts": {"flag": [1]}},
    "integers of another kind": {**ENCODING, "integers": "yes"},
    "columns of a stream without texts": {"target": "y", "names": [], "seen": []},
    "texts of a column never seen": {
        "target": "y",
        "names": ["a"],
        "seen": ["a"],
        "texts": [["b", None]],
    },
    "texts of a stream that are none": {
        "target": "y",
        "names": ["a"],
        "seen": ["a"],
        "texts": [["a", 3]],
    },
}


@pytest.mark.parametrize("encoding", ODD_ENCODINGS.values(), ids=ODD_ENCODINGS)
def test_a_model_with_an_odd_encoding_is_not_applied(tmp_path, encoding):
    from mist.streaming.runs.checkpoint import load_run

    path = tmp_path / "model.mist"
    attachment = {"encoding": encoding}
    mist.persistence.save(NCM(), path, attachment=attachment)
    with pytest.raises(ValueError, match=r"model\.mist has a model, but no encoding of tables"):
        load_run(path)


@pytest.mark.parametrize("settings", [None, [], "ab"])
def test_settings_that_are_none_make_no_checkpoint(tmp_path, settings):
    path = tmp_path / "model.mist"
    attachment = {"encoding": ENCODING, "settings": settings}
    mist.persistence.save(NCM(), path, attachment=attachment)
    with pytest.raises(ValueError, match=r"model\.mist is a model, not a checkpoint"):
        Checkpoint(path, 1, SETTINGS).load()
