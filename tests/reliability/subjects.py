"""Every public estimator, what of the promises applies to it, and streams drawn at random.

`MIST_TEST_EXAMPLES` sets how many streams each promise is asked with; the tests take few.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from material import EAGER
from mist import MistClassifier, MistForest, MistReplayForest, baselines
from mist.persistence.codec import Encoder
from mist.preprocessing import StreamPipeline
from mist_bench import baselines as more
from published import paper_tree

EXAMPLES = int(os.environ.get("MIST_TEST_EXAMPLES", "12"))
ASKED = settings(deadline=None, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])

MADE_FOR_ANSWERS = {"coefs", "biases", "factors", "log_dets", "stale"}
"""Parts of a baseline's state that are worked out when it is asked."""


@dataclass(frozen=True)
class Subject:
    """An estimator and the promises that it does not give.

    Attributes
    ----------
    make : callable
        Makes a fresh one.
    bitwise : bool
        A batch equals its rows one by one to the last bit, not only but for rounding.
    weighted, gaps, permuted, merged : bool
        Whether weights are taken, missing values are, the order of columns plays no part, and
        forks can be merged.
    units : {"columns", "whole", "none"}
        Whether each column may be measured in a unit of its own, all in another one, or in
        none but its own. With both the origin of each column is free.
    """

    make: Callable[[], Any]
    bitwise: bool = True
    weighted: bool = True
    gaps: bool = False
    permuted: bool = True
    merged: bool = False
    units: str = "none"


def _forest() -> MistForest:
    tree = paper_tree(split_test="schedule", grace_period=20, rows_per_split=30)
    return MistForest(tree, 2, max_features=None, random_state=3)


def _replay_forest() -> MistReplayForest:
    tree = paper_tree(split_test="schedule", grace_period=20, rows_per_split=30)
    return MistReplayForest(
        tree, replay_trees=5, memory_trees=2, rows_per_cell=4, replayed_rows=100, random_state=3
    )


def _pipeline() -> StreamPipeline:
    return StreamPipeline(model=paper_tree("gaussian", **EAGER))


def _river() -> Any:
    return more.RiverClassifier("efdt")


_TREE: dict[str, Any] = {"gaps": True, "merged": True, "units": "columns"}

SUBJECTS = {
    "default": Subject(lambda: MistClassifier.from_settings(max_components=3, **EAGER), **_TREE),
    "gaussian": Subject(lambda: paper_tree("gaussian", **EAGER), **_TREE),
    "sketch": Subject(lambda: paper_tree("sketch", sketch_size=8, **EAGER), **_TREE),
    "majority": Subject(lambda: paper_tree("majority", **EAGER), **_TREE),
    "forest": Subject(_forest, **_TREE),
    # Columns have random bits of their own.
    "replay": Subject(_replay_forest, permuted=False, **_TREE),
    # A column comes to the model once it has had a value, be it in a row of weight 0.
    "pipeline": Subject(_pipeline, bitwise=False, weighted=False, gaps=True, units="columns"),
    "NCM": Subject(baselines.NCM, units="whole"),
    "SLDA": Subject(baselines.SLDA),
    "SQDA": Subject(baselines.SQDA),
    "RLS": Subject(baselines.RLS),
    "GaussianNB": Subject(baselines.GaussianNB, units="whole"),
    "RandomFeatureRLS": Subject(
        lambda: more.RandomFeatureRLS(n_features=20), bitwise=False, permuted=False
    ),
    "RandomFeatureLDA": Subject(
        lambda: baselines.RandomFeatureLDA(n_features=20), bitwise=False, permuted=False
    ),
    "PEC": Subject(lambda: more.PEC(teacher_width=30, n_outputs=8), weighted=False, permuted=False),
    "river": Subject(_river, bitwise=False, weighted=False),
}


def each(**wanted: Any) -> pytest.MarkDecorator:
    """The estimators that give a promise, as a parameter `name`."""
    names = [
        name
        for name, subject in SUBJECTS.items()
        if all(getattr(subject, key) == value for key, value in wanted.items())
    ]
    return pytest.mark.parametrize("name", names)


def made(name: str) -> Any:
    """A fresh estimator, or a skipped test where what it stands on is not installed."""
    if name == "river":
        pytest.importorskip("river")
    return SUBJECTS[name].make()


@dataclass(frozen=True)
class Drawn:
    """A stream: rows, labels and weights."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    asked: np.ndarray
    """Rows to be asked, near those that are learnt."""


@st.composite
def streams(draw: Any, *, gaps: bool = False, ties: bool = True) -> Drawn:
    """Streams of 3 to 90 rows with 3 columns and up to 5 classes, which may arrive one by one."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_classes = draw(st.integers(3, 90)), draw(st.integers(1, 5))
    y = rng.integers(n_classes, size=n)
    if draw(st.booleans()):
        y = np.sort(y)
    centres = rng.uniform(0, draw(st.sampled_from([1.0, 6.0])), (n_classes, 3))
    X, asked = rng.normal(centres[y]), rng.normal(3.0, 3.0, (20, 3))
    if ties and draw(st.booleans()):
        X = np.round(X)
    if gaps:
        X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.1, 0.6]))] = np.nan
        asked[rng.random(asked.shape) < 0.2] = np.nan
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], n)
    weights[rng.integers(n)] = 1.0
    return Drawn(X, y, weights, asked)


def drawn_for(name: str, data: Any, **options: Any) -> Drawn:
    """A stream that the estimator takes."""
    stream: Drawn = data.draw(streams(gaps=SUBJECTS[name].gaps, **options))
    if name == "pipeline":  # without any value there is no column to learn
        stream.X[0] = np.nan_to_num(stream.X[0])
    return stream


def held(model: Any) -> Any:
    """All that a model has learnt, comparable bit for bit.

    It is what a file would hold; what baselines work out when they are asked is left out.
    """
    state = getattr(model, "_state", None)
    if isinstance(model, more.RiverClassifier):
        return pickle.dumps(model)
    if hasattr(state, "_fields"):
        return [
            (field, np.asarray(value).tobytes())
            for field, value in state._asdict().items()
            if field not in MADE_FOR_ANSWERS
        ]
    encoder = Encoder()
    encoded = encoder.encode(model, "model")

    def with_bytes(value: Any) -> Any:
        # Arrays are numbered as they are met, which hangs on the order of attributes.
        if isinstance(value, dict):
            if value.get("is") in ("array", "records"):
                array = encoder.arrays[value["of"]]
                return array.dtype.str, array.shape, array.tobytes()
            return {key: with_bytes(part) for key, part in value.items()}
        return [with_bytes(part) for part in value] if isinstance(value, list) else value

    return with_bytes(encoded)
