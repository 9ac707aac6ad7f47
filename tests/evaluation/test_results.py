import ast
import dataclasses
import inspect
import json
from itertools import pairwise

import numpy as np
import pytest

from mist.evaluation import StreamResult


@pytest.fixture
def result():
    return StreamResult(
        model="tree",
        dataset="rows",
        seed=42,
        accuracy_matrix=np.array([[1.0, np.nan], [0.5, 0.75]]),
        final_accuracy=0.625,
        mean_class_recall=float("nan"),
        average_forgetting=np.float64(0.5),
        backward_transfer=-0.5,
        prequential_accuracy=0.5,
        correct=np.array([False, True]),
        boundaries=np.array([1, 2]),
        n_leaves=np.array([1, 3]),
        n_splits=np.array([0, 2]),
        checkpoints=np.array([1, 2]),
        leaves_curve=np.array([1, 3]),
        nbytes=800,
        seconds=0.5,
        rows_per_second=4.0,
    )


def test_to_dict_goes_through_strict_json(result):
    back = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert list(back) == [field.name for field in dataclasses.fields(StreamResult)]
    assert back["accuracy_matrix"] == [[1.0, None], [0.5, 0.75]]
    assert back["mean_class_recall"] is None
    assert back["average_forgetting"] == 0.5
    assert back["correct"] == [False, True]
    assert back["n_leaves"] == [1, 3]
    assert (back["model"], back["seed"], back["nbytes"]) == ("tree", 42, 800)


def test_a_result_cannot_be_changed(result):
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.final_accuracy = 1.0


def test_every_field_is_documented_below_it():
    (body,) = (node.body for node in ast.parse(inspect.getsource(StreamResult)).body)
    undocumented = [
        node.target.id
        for node, below in pairwise(body)
        if isinstance(node, ast.AnnAssign)
        and not (isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant))
    ]
    assert undocumented == []
