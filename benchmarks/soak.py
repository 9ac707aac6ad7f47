"""A model that learns for long: speed, memory and accuracy as it goes, and counters at the end.

    python benchmarks/soak.py [--rows 10_000_000] [--model MIST-G] [--every 1_000_000]
                              [--one-class | --moving] [--json FILE]

Fifty Gaussian classes of ten columns that arrive two at a time, generated in chunks, so that the
process holds no more of the stream than one of them. Seconds are CPU time of test-then-train, the
generator's left out; those of the first report, and of the one with the first split, hold some of
compiling. Memory is what the process has resident; Linux tells it. Accuracy is that of the last
part, test-then-train, and that on 20,000 held-out rows of all classes met so far.

At the end the model is asked what it has counted: rows, rows of every class, the mass that reached
the root and the leaves. All are whole numbers below 2**53, so each must be exact; else it fails.
With ``--one-class`` every row has the same label, so that single counters grow largest. With
``--moving`` all classes arrive all the time, one of them moves every 20,000 rows, each in turn, and
the model follows its stream (``adapt="stream"``); held-out rows are those of the classes where they
are now. Such a model forgets rows, so that only the rows and the mass of the root are checked.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from speed.ours import MODELS
from speed.streams import SHAPES

from mist.engine.state import N_LEARNT, N_LEAVES, leaf_cells

CHUNK = 50_000
SHAPE = SHAPES["S3"]
N_HELD_OUT = 20_000
ROWS_PER_MOVE = 20_000


def means(seed=20240):
    """Centres of the classes."""
    rng = np.random.default_rng(seed + SHAPE.number)
    return rng.uniform(0.0, 5.0, size=(SHAPE.classes, SHAPE.columns))


def around(centres, y, rng):
    return centres[y] + SHAPE.sigma * rng.standard_normal((len(y), SHAPE.columns))


def chunks(n_rows, centres, size=CHUNK, one_class=False, seed=1):
    """The stream S3, as long as one likes: rows and labels, part by part."""
    rng = np.random.default_rng(seed)
    n_tasks = SHAPE.classes // 2
    for first in range(0, n_rows, size):
        at = np.arange(first, min(first + size, n_rows))
        y = 2 * (at * n_tasks // n_rows) + rng.integers(0, 2, len(at))
        y = np.zeros_like(y) if one_class else y
        yield around(centres, y, rng), y


def moving_chunks(n_rows, centres, size=CHUNK, seed=1):
    """A stream of all classes, part by part; the centres are changed as classes move."""
    rng = np.random.default_rng(seed)
    for first in range(0, n_rows, min(size, ROWS_PER_MOVE)):
        if first and first % ROWS_PER_MOVE == 0:
            centres[first // ROWS_PER_MOVE % len(centres)] = rng.uniform(0.0, 5.0, SHAPE.columns)
        y = rng.integers(0, len(centres), min(first + min(size, ROWS_PER_MOVE), n_rows) - first)
        yield around(centres, y, rng), y


def resident():
    """Bytes of memory that the process has resident, or None where that is not told."""
    try:
        with open("/proc/self/status", encoding="utf-8") as file:
            line = next(line for line in file if line.startswith("VmRSS"))
    except OSError:
        return None
    return int(line.split()[1]) * 1024


def held_out_accuracy(model, centres):
    """Accuracy on rows of all classes met so far that are not learnt."""
    rng = np.random.default_rng(0)
    y = rng.choice(model.classes_, N_HELD_OUT)
    return float(np.mean(model.predict(around(centres, y, rng)) == y))


def soak(model, stream, centres, every, counts):
    """A report after so many rows each, and at the end; counts the rows of each class."""
    done = part = hits = 0
    seconds = 0.0

    def report():
        return {
            **{"rows": done, "rows_per_second": part / seconds, "accuracy": hits / part},
            **{"held_out": held_out_accuracy(model, centres)},
            **{"model_bytes": model.nbytes, "resident": resident()},
            **{"classes": len(model.classes_), "leaves": model.n_leaves_},
        }

    for X, y in stream:
        start = time.process_time()
        hits += int(np.sum(model.prequential(X, y) == y))
        seconds += time.process_time() - start
        done, part = done + len(y), part + len(y)
        counts += np.bincount(y, minlength=len(counts))
        if part >= every:
            yield report()
            part = hits = 0
            seconds = 0.0
    if part:
        yield report()


def miscounted(model, counts, moving):
    """What the model has counted otherwise than the stream had it, in words."""
    state, tree = model._state, model._state.tree
    n = int(counts.sum())
    told = {
        "rows learnt": model.n_rows_,
        "rows learnt by the engine": int(tree.counters[N_LEARNT]),
        "mass at the root": float(tree.nodes.mass[0]),
    }
    wrong = [f"{name}: {value!r} in place of {n}" for name, value in told.items() if value != n]
    if moving:
        return wrong
    inner = np.flatnonzero(model.tree_.feature >= 0)
    for node in inner:
        # Rows went on to one child each; what they inherited was there before the first.
        below = sum(tree.nodes.mass[child[node]] for child in (tree.nodes.left, tree.nodes.right))
        if not np.isfinite(below) or below > (1 + 1e-9) * tree.nodes.mass[node]:
            wrong.append(f"node {node}: children with mass {below!r} of {tree.nodes.mass[node]!r}")
    for leaf in range(int(tree.counters[N_LEAVES])):
        cells = leaf_cells(tree, leaf)
        rows, observed = float(tree.leaves.weight_seen[leaf]), float(tree.cells.count[cells].sum())
        if rows != observed or rows != np.floor(rows):
            wrong.append(f"leaf {leaf}: {rows!r} rows, {observed!r} in its cells")
        if (tree.cells.steps[cells] != tree.cells.count[cells]).any():
            wrong.append(f"leaf {leaf}: other counts of rows than weights of rows")
    if state.options.balanced:
        totals = tree.totals[model._labels.encode(model.classes_)]
        if totals.tolist() != counts[model.classes_].tolist():
            wrong.append("rows of each class")
    if model.n_leaves_ == 1:
        cells = leaf_cells(tree, 0)
        labels = model._labels.decode(tree.cells.code[cells])
        if tree.cells.count[cells].tolist() != counts[labels].tolist():
            wrong.append("rows of each class at the only leaf")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--every", type=int, default=1_000_000, help="rows of a report")
    parser.add_argument("--model", choices=list(MODELS), default="MIST-G")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--one-class", action="store_true", help="every row has the same label")
    kind.add_argument("--moving", action="store_true", help="classes move all the time")
    parser.add_argument("--json", type=Path, help="file for the reports")
    options = parser.parse_args()
    if options.rows < 1 or options.every < 1:
        parser.error("--rows and --every must be above 0")
    model = MODELS[options.model]({"adapt": "stream"} if options.moving else {})
    reports, console, centres = [], Console(), means()
    size = min(CHUNK, options.every)
    if options.moving:
        stream = moving_chunks(options.rows, centres, size)
    else:
        stream = chunks(options.rows, centres, size, options.one_class)
    counts = np.zeros(SHAPE.classes, dtype=np.int64)
    for report in soak(model, stream, centres, options.every, counts):
        reports.append(report)
        memory = report["resident"]
        console.print(
            f"{report['rows']:>12,} rows  {report['rows_per_second']:>10,.0f} rows/s  "
            f"resident {'unknown' if memory is None else f'{memory / 2**20:,.0f} MiB'}  "
            f"model {report['model_bytes'] / 2**10:,.0f} KiB  {report['leaves']} leaves  "
            f"{report['classes']} classes  prequential {report['accuracy']:.4f}  "
            f"held out {report['held_out']:.4f}",
            highlight=False,
            soft_wrap=True,
        )
        if options.json:
            text = json.dumps({"model": options.model, "reports": reports}, indent=1)
            options.json.write_text(text + "\n", encoding="utf-8")
    wrong = miscounted(model, counts, options.moving)
    for line in wrong:
        console.print(f"wrong: {line}", highlight=False, markup=False)
    if not wrong:
        console.print(f"all counters are exact after {counts.sum():,} rows", highlight=False)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
