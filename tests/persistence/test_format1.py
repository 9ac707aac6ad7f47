"""Files of format 1, made once by MIST 0.1.0: every later version has to read them."""

import json
from pathlib import Path

import numpy as np
import pytest

import mist
from material import by_trees
from mist.persistence import load_with_attachment

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")

FOLDER = Path(__file__).parent.parent / "fixtures"
ANSWERS = json.loads((FOLDER / "format1.json").read_text())
NAMES = ["gaussian", "sketch", "mixture", "forest", "methods"]


def file_of(name):
    return FOLDER / f"format1-{name}.mist"


def assert_answers(model, X, wanted):
    assert model.predict(X).tolist() == wanted["labels"]
    shares = model.predict_proba(X)
    if hasattr(model, "trees_"):  # its file has the means over the trees, before frequencies count
        shares = by_trees(model, X)
    np.testing.assert_allclose(shares, wanted["shares"], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_files_of_format_1_answer_as_they_did(name):
    model, attachment = load_with_attachment(file_of(name))
    X = np.array(ANSWERS[name]["queries"], dtype=np.float64)
    assert_answers(model, X, ANSWERS[name])
    if name == "methods":
        assert sorted(attachment) == ["RLS", "SLDA", "SQDA"]
        for key, each in attachment.items():
            assert_answers(each, X, ANSWERS[key])
    if name == "mixture":
        assert attachment["row"] == 64
        assert attachment["seen"] == {(0, "a"): [1, 2.5]}


def test_files_of_format_1_hold_what_they_held():
    assert mist.load(file_of("gaussian")).feature_names_in_.tolist() == ["size", "flag"]
    assert mist.load(file_of("gaussian")).classes_.tolist() == ["blue", "green", "red"]
    assert mist.load(file_of("sketch"))._state.sketch.items.dtype == np.float32
    assert mist.load(file_of("mixture"))._state.conformity.scored.sum() > 0
    assert mist.load(file_of("forest")).classes_.tolist() == [False, True]
    assert [tree.n_splits_ for tree in mist.load(file_of("forest")).trees_] == [1, 1]


@pytest.mark.parametrize("name", ["gaussian", "forest"])
def test_models_of_format_1_learn_on(name):
    model = mist.load(file_of(name))
    before, label = model.n_rows_, model.classes_[0]
    model.partial_fit([[0.5, 1.0], [0.1, 0.0]], [label, label])
    assert model.n_rows_ == before + 2


def test_files_of_format_1_are_small_and_all_there():
    files = sorted(FOLDER.glob("format1-*.mist"))
    assert [each.stem.removeprefix("format1-") for each in files] == sorted(NAMES)
    assert sum(each.stat().st_size for each in files) < 60_000
