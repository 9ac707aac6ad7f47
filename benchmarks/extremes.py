"""How long, and how much memory, streams at the ends take: many classes, columns, equal rows.

    python benchmarks/extremes.py [--only classes|columns|equal] [--leaf gaussian]

Each case is learnt by a fresh model, then asked for some of its rows; answers must be right and
probabilities finite. Seconds are CPU time, and those of the first case hold compiling.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from rich.console import Console
from soak import resident

from mist import MistClassifier

ASKED = 50
"""Rows that are asked for after learning."""


def many_classes(n):
    """As many classes as rows."""
    X = np.random.default_rng(0).permutation(n)[:, None] * [1.0, -3.0]
    return X, np.arange(n)


def many_columns(d):
    """Three classes in many columns."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    return rng.normal(size=(200, d)) + y[:, None], y


def equal_rows(n):
    """Rows of one value, and of another one in the second class."""
    y = np.zeros(n, dtype=np.int64)
    y[::1000] = 1
    return np.where(y == 0, 3.25, 4.0)[:, None], y


def measured(leaf, X, y):
    """Seconds to learn and to answer a row, bytes, and the share of right answers."""
    model = MistClassifier(leaf)
    start = time.process_time()
    model.partial_fit(X, y)
    learnt = time.process_time()
    some = np.linspace(0, len(y) - 1, ASKED).astype(int)
    proba = model.predict_proba(X[some])
    answered = time.process_time()
    if not (np.isfinite(proba).all() and np.allclose(proba.sum(axis=1), 1.0)):
        raise ValueError(f"leaf={leaf!r} gave probabilities that are none")
    return {
        "learnt": learnt - start,
        "each": (answered - learnt) / ASKED,
        "model": model.nbytes,
        "right": float((model.classes_[proba.argmax(axis=1)] == y[some]).mean()),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])

    def number(text):
        return int(text.replace("_", ""))

    parser.add_argument("--only", choices=["classes", "columns", "equal"])
    parser.add_argument("--leaf", default="gaussian")
    parser.add_argument("--classes", type=number, default=100_000)
    parser.add_argument("--columns", type=number, default=20_000)
    parser.add_argument("--rows", type=number, default=1_000_000, help="equal ones")
    given = parser.parse_args()
    cases = {
        "classes": (many_classes, given.classes),
        "columns": (many_columns, given.columns),
        "equal": (equal_rows, given.rows),
    }
    console = Console()
    for name in [given.only] if given.only else list(cases):
        make, size = cases[name]
        got = measured(given.leaf, *make(size))
        memory = resident()
        console.print(
            f"{name:<8} {size:>10,}  learnt in {got['learnt']:,.1f} s  "
            f"{1000 * got['each']:,.2f} ms an answer  {got['right']:.0%} right  "
            f"model {got['model'] / 2**20:,.1f} MiB  "
            f"resident {'unknown' if memory is None else f'{memory / 2**20:,.0f} MiB'}",
            highlight=False,
            soft_wrap=True,
        )


if __name__ == "__main__":
    main()
