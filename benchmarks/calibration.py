"""Expected calibration error and log loss of class probabilities, written as a Markdown table.

Each set is learnt in class-incremental order, two classes at a time, or with ``--shuffled`` in
random order. The held-out rows of all classes are then asked about, with seeds of the comparison.
Rows for imbalanced classes are drawn: two Gaussians in five dimensions, with means two standard
deviations apart.

    python benchmarks/calibration.py              # all sets, five seeds
    python benchmarks/calibration.py letter --seeds 42 123 --shuffled
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

import numpy as np

from mist import MistClassifier, MistForest
from mist.baselines import GaussianNB
from mist.datasets import load
from mist.evaluation import ClassIncrementalStream
from mist_bench.methods import METHODS
from mist_bench.suites import SEEDS, SUITES, find_setting

Array = np.ndarray[Any, Any]

MODELS = {
    "MistClassifier": MistClassifier,
    "adapt=None": lambda: MistClassifier(adapt=None),
    "MistForest": MistForest,
    "naive Bayes": GaussianNB,
}
RARE = (100, 10_000)
_LEARNT, _HELD_OUT = 200_000, 200_000


def calibration_error(shares: Array, places: Array, bins: int = 15) -> float:
    """Expected calibration error of the most probable class (Guo et al., 2017)."""
    sure, right = shares.max(axis=1), shares.argmax(axis=1) == places
    number = np.minimum((sure * bins).astype(int), bins - 1)
    away = np.bincount(number, sure - right, minlength=bins)
    return float(np.abs(away).sum() / len(places))


def log_loss(shares: Array, places: Array) -> float:
    """Mean negative log probability of the labels, none taken as less than 1e-12."""
    return float(-np.log(np.maximum(shares[np.arange(len(places)), places], 1e-12)).mean())


def stream_of(name: str, seed: int) -> tuple[Iterable[tuple[Array, Array]], Array, Array]:
    """Training rows of each task, and the held-out rows."""
    if name.startswith("1 in "):
        return imbalanced(int(name.split()[-1].replace(",", "")), seed)
    setting = find_setting(name)
    table = load(setting.dataset, **setting.load_options(seed, "honest"))
    options = setting.stream_options("honest", METHODS["mist"])
    tasks = list(ClassIncrementalStream(table.X, table.y, seed=seed, **options))
    held_out = [np.concatenate([getattr(t, part) for t in tasks]) for part in ("X_test", "y_test")]
    return [(t.X_train, t.y_train) for t in tasks], held_out[0], held_out[1]


def binary_columns(name: str, seed: int) -> list[int] | None:
    """Numbers of the columns that hold only 0 and 1; None without one."""
    if name.startswith("1 in "):
        return None
    setting = find_setting(name)
    table = load(setting.dataset, **setting.load_options(seed, "honest"))
    return np.flatnonzero(table.categorical).tolist() or None


def imbalanced(rare: int, seed: int) -> tuple[list[tuple[Array, Array]], Array, Array]:
    """Rows of two classes, one of which has one row in ``rare``."""
    rng = np.random.default_rng(seed)
    y = (rng.random(_LEARNT + _HELD_OUT) < 1.0 / rare).astype(np.int64)
    X = rng.normal(size=(len(y), 5))
    X[:, 0] += 2.0 * y
    return [(X[:_LEARNT], y[:_LEARNT])], X[_LEARNT:], y[_LEARNT:]


def shuffled(tasks: Iterable[tuple[Array, Array]], seed: int) -> list[tuple[Array, Array]]:
    """All training rows in random order."""
    X, y = (np.concatenate(parts) for parts in zip(*tasks, strict=True))
    order = np.random.default_rng(seed).permutation(len(y))
    return [(X[order], y[order])]


def measure(model: Any, name: str, seed: int, mixed: bool) -> tuple[float, float, float]:
    """Calibration error, log loss, and accuracy of the most probable class."""
    tasks, X, y = stream_of(name, seed)
    if mixed:
        tasks = shuffled(tasks, seed)
    if isinstance(model, MistClassifier):
        model.set_params(categorical_features=binary_columns(name, seed))
    elif isinstance(model, MistForest):
        model.set_params(estimator__categorical_features=binary_columns(name, seed))
    for rows, labels in tasks:
        model.partial_fit(rows, labels)
    known = np.isin(y, model.classes_)
    places = np.searchsorted(model.classes_, y[known])
    shares = model.predict_proba(X[known])
    right = float((shares.argmax(axis=1) == places).mean())
    return calibration_error(shares, places), log_loss(shares, places), right


def main() -> None:
    """Write the table."""
    names = [*SUITES["real"], "electricity", "outdoor", *(f"1 in {n:,}" for n in RARE)]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=names)
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--shuffled", action="store_true", help="learn the rows in random order")
    given = parser.parse_args()
    print("| set |", " | ".join(f"{m}: ECE | log loss | accuracy" for m in given.models), "|")
    print("|---|", "--:|" * (3 * len(given.models)), sep="")
    for name in given.names:
        cells = []
        for kind in given.models:
            found = np.array(
                [measure(MODELS[kind](), name, seed, given.shuffled) for seed in given.seeds]
            )
            mean, spread = found.mean(axis=0), found.std(axis=0)
            cells += [f"{m:.3f} ± {s:.3f}" for m, s in zip(mean, spread, strict=True)]
        print("|", " | ".join([name, *cells]), "|", flush=True)


if __name__ == "__main__":
    main()
