"""Learning on a Dask cluster beside learning one row after another: accuracy and time.

    python benchmarks/cluster.py [--dataset covertype] [--models mist,mist-k] [--workers 2]
                                 [--parts 2,4,8,16] [--rows N] [--kill] [--json FILE]

The rows of a data set, in random order, are written to Parquet files; a tenth is held out. Each
model learns them alone, and then on a cluster of processes on this machine with as many parts a
round as asked for. With ``--kill``, the last run on the cluster loses a worker after its third
round. Seconds are those of the clock, the reading of the files included, and code is compiled
before; the load of the machine is told beside them, as they mean little on a busy one.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from mist.datasets import load
from mist.presets import make_model

HELD_OUT = 0.1
GROUP = 20_000
FILES = 4
WARM = 12_000


def write_files(folder, X, y):
    """Write rows to a few Parquet files; returns them."""
    import pandas as pd

    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(label=y)
    paths = []
    for number, rows in enumerate(np.array_split(np.arange(len(X)), FILES)):
        paths.append(folder / f"{number}.parquet")
        frame.iloc[rows].to_parquet(paths[-1], row_group_size=GROUP, index=False)
    return paths


def learn_alone(model, paths):
    from pyarrow.parquet import ParquetFile

    for path in paths:
        file = ParquetFile(path)
        for group in range(file.num_row_groups):
            rows = file.read_row_group(group).to_pandas()
            model.partial_fit(rows.drop(columns="label"), rows["label"].to_numpy())
    return model


def killer(cluster, after):
    """A callback that kills a worker after so many rounds."""
    rounds = []

    def progress(done, total):
        rounds.append(done)
        if len(rounds) == after:
            os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)

    return progress


def timed(work):
    begin, load_before = time.perf_counter(), os.getloadavg()[0]
    model = work()
    return model, time.perf_counter() - begin, max(load_before, os.getloadavg()[0])


def measure(name, paths, test, cluster, client, parts, kill):
    """Yield a row of figures for each way of learning."""
    from mist.interop.dask import fit_stream

    def record(way, outcome, alone=None):
        model, seconds, load_average = outcome
        accuracy = model.score(*test)
        row = {"model": name, "run": way, "accuracy": accuracy, "seconds": seconds}
        row |= {"leaves": model.n_leaves_, "load": load_average}
        if alone is not None:
            row |= {"difference": accuracy - alone["accuracy"], "ratio": seconds / alone["seconds"]}
        return row

    warm = dict(target="label", client=client, first_round=WARM, parts=cluster_size(cluster))
    fit_stream(make_model(name), paths[:1], **warm)
    learn_alone(make_model(name), paths[:1])
    alone = record("alone", timed(lambda: learn_alone(make_model(name), paths)))
    yield alone
    runs = [(n, False) for n in parts] + ([(parts[-1], True)] if kill else [])
    for n, killed in runs:
        progress = killer(cluster, 3) if killed else None
        way = f"{n} parts, a worker killed" if killed else f"{n} parts"
        options = dict(target="label", client=client, parts=n, progress=progress)
        work = timed(lambda options=options: fit_stream(make_model(name), paths, **options))
        yield record(way, work, alone)


def cluster_size(cluster):
    return len(cluster.workers)


def shown(records):
    table = Table("model", "run", "accuracy", "difference", "seconds", "ratio", "leaves", "load")
    for r in records:
        table.add_row(
            r["model"],
            r["run"],
            f"{r['accuracy']:.4f}",
            f"{r['difference']:+.4f}" if "difference" in r else "",
            f"{r['seconds']:.1f}",
            f"{r['ratio']:.2f}" if "ratio" in r else "",
            str(r["leaves"]),
            f"{r['load']:.1f}",
        )
    return table


def main():
    import distributed
    import pandas as pd

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="covertype")
    parser.add_argument("--models", default="mist,mist-k")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--parts", default="2,4,8,16")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()

    data = load(options.dataset)
    order = np.random.default_rng(0).permutation(len(data.X))[: options.rows]
    cut = round(len(order) * (1 - HELD_OUT))
    learnt, held_out = order[:cut], order[cut:]
    records = []
    with tempfile.TemporaryDirectory() as folder:
        paths = write_files(Path(folder), data.X[learnt], data.y[learnt])
        names = [f"x{j}" for j in range(data.X.shape[1])]
        test = pd.DataFrame(data.X[held_out], columns=names), data.y[held_out]
        cluster = distributed.LocalCluster(
            n_workers=options.workers, threads_per_worker=1, dashboard_address=None
        )
        with cluster, distributed.Client(cluster) as client:
            parts = [int(n) for n in options.parts.split(",")]
            for name in options.models.split(","):
                for row in measure(name, paths, test, cluster, client, parts, options.kill):
                    records.append(row)
                    print(row["model"], row["run"], f"{row['accuracy']:.4f}", flush=True)
    Console().print(shown(records))
    if options.json is not None:
        options.json.write_text(json.dumps(records, indent=1) + "\n")


if __name__ == "__main__":
    main()
