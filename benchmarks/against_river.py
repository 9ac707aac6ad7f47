"""Test-then-train speed of the paper's trees against river's Hoeffding tree, in one run, in turn.

    python benchmarks/against_river.py [--rounds 3] [--streams S1 S2 S3 S4] [--json FILE]

CPU seconds of the process for the whole stream; the table holds medians, and ratios taken
round by round, since a machine's speed drifts. river gets its dicts ready-made. Held-out is
the accuracy over rows of all classes after the stream.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
from rich.console import Console
from rich.table import Table
from river import tree
from streams import SHAPES, make

from mist import MistClassifier


def _mist(kind):
    def run(stream):
        X, y, X_test, y_test = stream
        model = MistClassifier.paper(kind)
        start = time.process_time()
        hits = (model.prequential(X, y) == y).mean()
        seconds = time.process_time() - start
        return seconds, hits, (model.predict(X_test) == y_test).mean(), model.nbytes

    return run


def _river(stream):
    X, y, X_test, y_test = stream
    rows = [dict(enumerate(x)) for x in X.tolist()]
    labels = y.tolist()
    model = tree.HoeffdingTreeClassifier()
    hits = 0
    start = time.process_time()
    for x, label in zip(rows, labels, strict=True):
        hits += model.predict_one(x) == label
        model.learn_one(x, label)
    seconds = time.process_time() - start
    held_out = [model.predict_one(dict(enumerate(x))) for x in X_test.tolist()]
    return seconds, hits / len(y), (np.array(held_out) == y_test).mean(), model._raw_memory_usage


MODELS = {"MIST-G": _mist("G"), "MIST-K": _mist("K"), "river HT": _river}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--streams", nargs="+", default=list(SHAPES), choices=list(SHAPES))
    parser.add_argument("--json", help="file for all single figures")
    arguments = parser.parse_args()
    table = Table("stream", "model", "rows/s", "times river", "prequential", "held-out", "KB")
    figures = {}
    for name in arguments.streams:
        stream = make(name)
        for model in ("MIST-G", "MIST-K"):
            MODELS[model](stream)  # compiled before the clock runs
        runs = {model: [] for model in MODELS}
        for _ in range(arguments.rounds):
            for model, run in MODELS.items():
                runs[model].append(run(stream))
        figures[name] = runs
        reference = np.array([r[0] for r in runs["river HT"]])
        for model, results in runs.items():
            seconds = np.array([r[0] for r in results])
            _, hits, held_out, nbytes = results[-1]
            ratio = reference / seconds
            table.add_row(
                name,
                model,
                f"{len(stream[1]) / np.median(seconds):,.0f}",
                f"{np.median(ratio):.1f} ({ratio.min():.1f} to {ratio.max():.1f})",
                f"{hits:.3f}",
                f"{held_out:.3f}",
                f"{nbytes / 1024:,.0f}",
            )
        table.add_section()
    Console().print(table)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, default=float)


if __name__ == "__main__":
    main()
