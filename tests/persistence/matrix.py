"""Models of every kind, learnt without compiled code: each is saved in the midst and goes on.

Run as a script by `test_saved_models`, with NUMBA_DISABLE_JIT=1: compiling so many kinds takes
minutes. It prints the name of every model that came through, or what went wrong.
"""

import copy
import sys
import traceback
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from alike import assert_alike

import mist
from mist import MistClassifier, MistForest, MistReplayForest, SplitTest, baselines
from mist.persistence import load_with_attachment, save
from mist_bench import baselines as more

EAGER = {"grace_period": 10, "split_test": "gain", "union_bound": False, "tie_threshold": 1.0}
EAGER["delta"] = 0.5
TRIALS = {"grace_period": 10, "split_test": "eprocess", "rows_per_split": 30, "delta": 0.9}
FOREST = MistClassifier(
    "gaussian", split_test=SplitTest("schedule", rows_per_split=20), grace_period=10
)

MODELS = {
    "gaussian": partial(MistClassifier.from_settings, leaf="gaussian", **EAGER),
    "gaussian without a split": partial(MistClassifier, "gaussian"),
    "gaussian without sketches": partial(
        MistClassifier.from_settings,
        leaf="gaussian",
        thresholds="gaussian",
        open_world=True,
        **EAGER,
    ),
    "sketch": partial(
        MistClassifier.from_settings, leaf="sketch", sketch_size=8, inheritance="sketch", **EAGER
    ),
    "sketch of single precision": partial(
        MistClassifier.from_settings,
        leaf="sketch",
        sketch_dtype="float32",
        max_classes_per_leaf=2,
        **EAGER,
    ),
    "majority without inheritance": partial(
        MistClassifier.from_settings, leaf="majority", inheritance=None, **EAGER
    ),
    "full": partial(MistClassifier.from_settings, leaf="full", **EAGER),
    "mixture": partial(MistClassifier.from_settings, max_components=3, open_world=True, **EAGER),
    "trials": partial(
        MistClassifier.from_settings, leaf="gaussian", class_prior="counts", **TRIALS
    ),
    "trials of mixtures": partial(MistClassifier.from_settings, max_components=2, **TRIALS),
    "low rank": partial(MistClassifier),
    "forest": partial(MistForest, FOREST, 2, bootstrap=True, random_features=4),
    "replay": partial(
        MistReplayForest, FOREST, replay_trees=2, memory_trees=2, replayed_rows=60, max_bytes=30_000
    ),
    "NCM": baselines.NCM,
    "GaussianNB": baselines.GaussianNB,
    "SLDA": baselines.SLDA,
    "SQDA": baselines.SQDA,
    "RLS": baselines.RLS,
    "RandomFeatureRLS": partial(more.RandomFeatureRLS, n_features=4),
    "RandomFeatureLDA": partial(baselines.RandomFeatureLDA, n_features=4),
    "PEC": partial(more.PEC, width=2, teacher_width=4, n_outputs=3),
}


def rows(n=60, d=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.sort(rng.integers(3, size=n))
    return rng.normal(2.0 * y[:, None], 1.0, (n, d)), y


def kinds_of_rows():
    """Rows and labels by name, and what a classifier has to be told of them."""
    X, y = rows()
    holes = np.where(np.random.default_rng(1).random(X.shape) < 0.15, np.nan, X)
    binary = np.column_stack([X[:, 0], X[:, 1] > 2.0])
    return {
        "": (X, y, {}),
        "missing": (holes, y, {}),
        "0/1 column": (binary, y.astype(str), {"categorical_features": [1]}),
    }


def check(model, X, y, path):
    """Save and read the model in the midst; both copies must learn the rest alike."""
    half = len(X) // 2
    model.partial_fit(X[:half], y[:half])
    save(model, path, attachment={"row": half})
    other, attachment = load_with_attachment(path)
    assert attachment == {"row": half}
    assert_alike(model, other)
    for each in (model, other):
        each.partial_fit(X[half:], y[half:])
    assert_alike(model, other)
    assert model.predict_proba(X).tobytes() == other.predict_proba(X).tobytes()
    save(other, path)
    assert_alike(other, mist.load(path))


def check_fork(model, X, y, path):
    """A fork that was in a file adds the same to its model."""
    half = len(X) // 2
    models = [model, copy.deepcopy(model.partial_fit(X[:half], y[:half]))]
    fork = model.fork().partial_fit(X[half:-9], y[half:-9])
    fork.save(path)
    for each, part in zip(models, (fork, mist.load(path)), strict=True):
        each.merge(part.partial_fit(X[-9:], y[-9:]))
    assert_alike(*models)


FORKED = ("gaussian", "mixture")


def main(folder):
    warnings.simplefilter("ignore")
    for name, make in MODELS.items():
        for kind, (X, y, options) in kinds_of_rows().items():
            model = make()
            if kind and not isinstance(model, MistClassifier):
                continue
            if name == "low rank":  # hundreds of columns take seconds
                if kind != "missing":
                    continue
                X, y = np.hstack([X, rows(d=101, seed=2)[0]])[::15], y[::15]
            elif name == "gaussian without a split":
                X, y = X[:2], y[:2]
            label = f"{name}, {kind}" if kind else name
            try:
                check(model.set_params(**options), X, y, folder / "model.mist")
                if name in FORKED and kind == "missing":
                    check_fork(make(), X, y, folder / "model.mist")
            except Exception:
                print(f"{label}: {traceback.format_exc()!r}")
            else:
                print(f"{label}: ok")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
