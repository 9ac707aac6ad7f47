"""``mist run``: test-then-train on a file of the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console

from mist.commands.output import (
    check_output,
    live_rate,
    make_console,
    make_progress,
    print_summary,
    write_report,
)
from mist.commands.predictions import open_predictions
from mist.commands.tasks import make_stream, task_section
from mist.commands.trial import Recorder, Trial
from mist.commands.warmup import warm_up
from mist.evaluation import evaluate
from mist.io import Table, open_table
from mist.presets import PRESETS, find_preset, make_model
from mist.report import Section

__all__ = ["RunOptions", "run"]

_STEP = 1000
"""Rows between two checkpoints; chunks of the file may be larger."""


@dataclass(frozen=True)
class RunOptions:
    """The options of ``mist run``, named as on the command line.

    Examples
    --------
    >>> RunOptions(Path("bank.csv"), "y").order
    'file'
    """

    file: Path
    target: str | None
    order: str = "file"
    models: Sequence[str] = ("mist",)
    chunk_rows: int = 10_000
    limit: int | None = None
    header: bool = True
    text_columns: Sequence[str] = ()
    ignore: Sequence[str] = ()
    predictions: Path | None = None
    report: Path = Path("mist-run.html")
    seed: int = 42


def run(options: RunOptions) -> None:
    """Test and train the models on the file, print the table, write the report.

    Parameters
    ----------
    options : RunOptions
        What to do.

    Raises
    ------
    ValueError
        If an option is wrong or the file cannot be read (`mist.io.TableError`).
    """
    names = list(dict.fromkeys(options.models))
    for name in names:
        find_preset(name)
    check_output(options.report, options.file)
    check_output(options.predictions, options.file)
    console = make_console()
    table = _open(options, console)
    warm_up(names, categorical=bool(table.categorical))
    in_file_order = options.order == "file"
    section = (_in_file_order if in_file_order else _by_class)(options, names, table, console)
    print_summary(console, section.results)
    if options.predictions is not None:
        console.print(f"Predictions: {options.predictions}", soft_wrap=True)
    write_report(
        console,
        options.report,
        f"MIST on {options.file.name}",
        "One pass over the file, each row predicted before it is learnt; "
        + ("rows in the order of the file. " if in_file_order else "task after task. ")
        + f"Target {table.target}, seed {options.seed}.",
        [section],
        {PRESETS[name].title: _make(name, options, table).get_params() for name in names},
    )


def _open(options: RunOptions, console: Console) -> Table:
    with make_progress() as progress:
        task = progress.add_task("collecting categories", total=1.0, note="", visible=False)
        table = open_table(
            options.file,
            options.target,
            chunk_rows=options.chunk_rows,
            header=options.header,
            limit=options.limit,
            text_columns=options.text_columns,
            ignore=options.ignore,
            on_scan=lambda share: progress.update(task, completed=share, visible=True),
        )
    if table.text_columns:
        console.print(
            f"First pass over {table.scanned:,} rows: {len(table.text_columns)} text "
            f"column{'s' if len(table.text_columns) > 1 else ''} "
            f"({', '.join(table.text_columns)}) became {len(table.categorical)} columns of 0/1.",
            soft_wrap=True,
            markup=False,
        )
    return table


def _make(name: str, options: RunOptions, table: Table) -> Any:
    return make_model(name, seed=options.seed, categorical_features=table.categorical)


def _in_file_order(
    options: RunOptions, names: Sequence[str], table: Table, console: Console
) -> Section:
    trials = {name: Trial(_make(name, options, table), PRESETS[name].title) for name in names}
    first_rows: dict[Any, int] = {}
    done = 0
    start = perf_counter()
    with open_predictions(options.predictions, names) as write, make_progress() as progress:
        task = progress.add_task(options.file.name, total=1.0, note="")
        whole = True
        for chunk in table:
            if whole and np.isnan(chunk.X).any():
                whole = False
                warm_up(names, categorical=bool(table.categorical), missing=True)
            for begin in range(0, len(chunk.y), _STEP):
                part = slice(begin, begin + _STEP)
                X, y = chunk.X[part], chunk.y[part]
                for label, row in zip(*np.unique(y, return_index=True), strict=True):
                    first_rows.setdefault(label, done + int(row))
                predictions = [trial.advance(X, y).tolist() for trial in trials.values()]
                if done == 0:
                    for column in predictions:
                        column[0] = ""
                write(chunk.rows[part], y, predictions)
                done += len(y)
                progress.update(task, note=_note(done, perf_counter() - start, trials))
            progress.update(task, completed=chunk.fraction)
    borders = sorted((row, str(label)) for label, row in first_rows.items() if row)
    return Section(
        options.file.name,
        f"{done:,} rows, {len(table.names)} columns, {len(first_rows)} classes.",
        [trial.result(options.file.name, options.seed) for trial in trials.values()],
        np.array([row for row, _ in borders], dtype=np.int64),
        [label for _, label in borders],
    )


def _note(done: int, seconds: float, trials: Mapping[str, Trial]) -> str:
    shares = "  ".join(f"{name} {trial.hits / done:.3f}" for name, trial in trials.items())
    return f"{done:,} rows  {done / seconds:,.0f} rows/s  accuracy {shares}"


def _by_class(options: RunOptions, names: Sequence[str], table: Table, console: Console) -> Section:
    with make_progress() as progress:
        task = progress.add_task(f"reading {options.file.name}", total=1.0, note="")
        data = table.load(lambda share: progress.update(task, completed=share))
    console.print(
        f"Class-incremental order holds the whole file in memory: {len(data.y):,} rows x "
        f"{len(data.names)} columns of float64, {data.X.nbytes / 2**20:,.1f} MB."
    )
    if np.isnan(data.X).any():
        warm_up(names, categorical=bool(table.categorical), missing=True)
    stream = make_stream(data.X, data.y, options.seed)
    # The split depends on labels and seed alone: a stream of row numbers tells where rows went.
    order = make_stream(data.rows[:, None], data.y, options.seed).X_train[:, 0]
    results = []
    recorders = []
    with open_predictions(options.predictions, names) as write, make_progress() as progress:
        for name in names:
            title = PRESETS[name].title
            recorders.append(Recorder(_make(name, options, table)))
            results.append(
                evaluate(
                    recorders[-1],
                    stream,
                    model_name=title,
                    dataset=options.file.name,
                    chunk=_STEP,
                    progress=live_rate(progress, title, perf_counter),
                )
            )
            recorders[-1].predictions[0] = ""
        write(
            order.astype(np.int64),
            stream.y_train,
            [recorder.predictions for recorder in recorders],
        )
    return task_section(options.file.name, stream, results)
