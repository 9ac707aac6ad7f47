"""A model that learns for long: rows per second and memory after each million of rows.

    python benchmarks/soak.py [--rows 10_000_000] [--model MIST-G] [--every 1_000_000] [--json FILE]

Fifty Gaussian classes of ten columns that arrive two at a time, generated in chunks, so that the
process holds no more of the stream than one of them. Seconds are CPU time of test-then-train, the
generator's left out; those of the first report, and of the one with the first split, hold some of
compiling. Memory is what the process has resident; Linux tells it.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from speed.ours import MODELS
from speed.streams import SHAPES

CHUNK = 50_000
SHAPE = SHAPES["S3"]


def chunks(n_rows, seed=20240, size=CHUNK):
    """The stream S3, as long as one likes: rows and labels, part by part."""
    rng = np.random.default_rng(seed + SHAPE.number)
    means = rng.uniform(0.0, 5.0, size=(SHAPE.classes, SHAPE.columns))
    n_tasks = SHAPE.classes // 2
    for first in range(0, n_rows, size):
        at = np.arange(first, min(first + size, n_rows))
        y = 2 * (at * n_tasks // n_rows) + rng.integers(0, 2, len(at))
        yield means[y] + SHAPE.sigma * rng.standard_normal((len(y), SHAPE.columns)), y


def resident():
    """Bytes of memory that the process has resident, or None where that is not told."""
    try:
        with open("/proc/self/status", encoding="utf-8") as file:
            line = next(line for line in file if line.startswith("VmRSS"))
    except OSError:
        return None
    return int(line.split()[1]) * 1024


def soak(model, n_rows, every):
    """A report after so many rows each, and at the end."""
    done = hits = 0
    part, seconds = 0, 0.0
    for X, y in chunks(n_rows, size=min(CHUNK, every)):
        start = time.process_time()
        hits += int(np.sum(model.prequential(X, y) == y))
        seconds += time.process_time() - start
        done, part = done + len(y), part + len(y)
        if part >= every or done == n_rows:
            yield {
                **{"rows": done, "rows_per_second": part / seconds, "accuracy": hits / done},
                **{"model_bytes": model.nbytes, "resident": resident()},
                **{"classes": len(model.classes_), "leaves": model.n_leaves_},
            }
            part, seconds = 0, 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--every", type=int, default=1_000_000, help="rows of a report")
    parser.add_argument("--model", choices=list(MODELS), default="MIST-G")
    parser.add_argument("--json", type=Path, help="file for the reports")
    options = parser.parse_args()
    if options.rows < 1 or options.every < 1:
        parser.error("--rows and --every must be above 0")
    model = MODELS[options.model]({})
    reports, console = [], Console()
    for report in soak(model, options.rows, options.every):
        reports.append(report)
        memory = report["resident"]
        console.print(
            f"{report['rows']:>12,} rows  {report['rows_per_second']:>10,.0f} rows/s  "
            f"resident {'unknown' if memory is None else f'{memory / 2**20:,.0f} MiB'}  "
            f"model {report['model_bytes'] / 2**10:,.0f} KiB  {report['leaves']} leaves  "
            f"{report['classes']} classes  prequential {report['accuracy']:.4f}",
            highlight=False,
            soft_wrap=True,
        )
        if options.json:
            text = json.dumps({"model": options.model, "reports": reports}, indent=1)
            options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
