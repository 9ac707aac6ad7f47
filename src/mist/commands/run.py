"""``mist run``: test-then-train on tables of the user, and on endless streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console

from mist.commands.compile_first import warm_up
from mist.commands.decisions import unmet_costs
from mist.commands.output import (
    check_output,
    live_rate,
    make_console,
    make_progress,
    print_path,
    print_summary,
    write_report,
)
from mist.commands.renames import continue_renames
from mist.commands.run_options import RunOptions
from mist.commands.run_store import RunStore
from mist.commands.screen import Screen
from mist.commands.stream_run import STEP, StreamRun, doubt, make, named_columns
from mist.commands.tasks import make_stream, task_section
from mist.evaluation import evaluate
from mist.evaluation.changes import changes_after
from mist.evaluation.runner import Progress
from mist.io import LiveTable, Table, TableError, find_files, open_live, open_table
from mist.io.late_labels import LateLabels
from mist.io.table import join
from mist.presets import find_preset
from mist.report import Section
from mist.streaming.runs.checkpoint import Checkpoint, Kept, save_run
from mist.streaming.runs.events import Events, open_events, summary
from mist.streaming.runs.predictions import open_predictions
from mist.streaming.runs.prequential_run import Recorder
from mist.streaming.runs.records import count_rows

__all__ = ["run"]


def run(options: RunOptions) -> None:
    """Test and train the models on the rows, print the table, write the report.

    Parameters
    ----------
    options : RunOptions
        Options.

    Raises
    ------
    ValueError
        If an option is wrong or the rows cannot be read (`mist.io.TableError`).
    KeyboardInterrupt
        If a run over files was stopped.
    """
    names = list(dict.fromkeys(options.models))
    for name in names:
        find_preset(name)
    _check(options, names)
    console = make_console()
    checkpoint, kept = None, None
    if options.checkpoint is not None:
        checkpoint = Checkpoint(options.checkpoint, options.every, _settings(options))
        kept = checkpoint.load()
    renames = continue_renames({} if kept is None else kept.renames, options.renamed)
    late = _late_labels(options, kept)
    store = None
    if options.store is not None:
        store = RunStore(options.store, options.kept_versions, names[0], kept is not None)
    if options.live:
        table: Table | LiveTable = _open_live(options, renames, late)
    else:
        table = _open(options, renames, late, console)
    fault: TableError | None = None
    said_ids = False
    with ExitStack() as learning:
        if store is not None:
            learning.enter_context(store)
            store.check(table)
        # In a stream columns appear later, and earlier rows lack them.
        warm_up(names, categorical=bool(table.categorical), missing=options.live)
        if isinstance(table, LiveTable) or options.order == "file":
            run_over = StreamRun(
                options, names, table, console, renames, checkpoint, kept, late, store
            )
            fault = run_over.go()
            section, models = run_over.section(), run_over.session.models
            said_ids = run_over.said_ids
        else:
            section, models = _by_class(options, names, table, console)
    print_summary(console, [section])
    if kept is None:
        _report_unmet(table, renames)
    _print_results(console, options, section)
    if late is not None:
        _print_late(console, late, said_ids)
    if options.save is not None:
        model = models[names[0]]
        with named_columns(model, table):
            save_run(options.save, model, table.plain())
    for what, path in _written(options).items():
        if path is not None:
            print_path(console, what, path)
    write_report(
        console,
        options.report,
        f"MIST on {table.name}",
        "One pass over the rows, each predicted before it is learnt; "
        + ("rows in the order of the file. " if options.order == "file" else "task after task. ")
        + f"Target {table.target}, seed {options.seed}.",
        [section],
        {find_preset(name).title: model for name, model in models.items()},
    )
    if fault is not None:
        raise fault


def _print_results(console: Console, options: RunOptions, section: Section) -> None:
    """Print what the table of results does not say."""
    seen = () if section.stream is None else section.stream.labels
    for label, cost in unmet_costs(options.rule, seen).items():
        text = f"note: no row has the label {label!r} (--cost {label}={cost:g})"
        Screen(stderr=True).print(text, markup=False, soft_wrap=True)
    if found := summary(section.results):
        console.print(found, soft_wrap=True)


def _written(options: RunOptions) -> dict[str, Path | None]:
    """Files and folders that a run writes next to its report, by what they are."""
    return {
        "Predictions": options.predictions,
        "Changes": options.events,
        "Model": options.save,
        "Versions": options.store,
    }


def _late_labels(options: RunOptions, kept: Kept | None) -> LateLabels | None:
    """Rows that wait for their labels, from the checkpoint if there is one."""
    if options.id is None:
        return None
    state = None if kept is None else kept.late
    return LateLabels(options.id, options.kept_rows, options.keep_for, state)


def _print_late(console: Console, late: LateLabels, said_ids: bool) -> None:
    console.print(f"Late labels: {late.summary()}", markup=False, soft_wrap=True)
    if not late.asked and not said_ids:
        text = (
            f"note: no row has an id in column {late.column!r} and no label, so none has waited: "
            "name the column of the ids, --id COLUMN"
        )
        Screen(stderr=True).print(text, markup=False, soft_wrap=True)


def _report_unmet(table: Table | LiveTable, renames: Mapping[str, str]) -> None:
    """Note labels to rename that no row had."""
    for old in sorted(table.unmet):
        text = f"note: no row has the label {old!r} (--rename {old}={renames[old]})"
        Screen(stderr=True).print(text, soft_wrap=True)


def _check(options: RunOptions, names: Sequence[str]) -> None:
    """Refuse incompatible or invalid options, and files that cannot be written."""
    _ = options.renamed, options.rule, options.max_bytes
    if options.live and options.order != "file":
        raise ValueError(f"--order {options.order} needs all rows at once: save them to a file")
    if options.unlabelled == "predict" and options.order != "file":
        raise ValueError(f"--unlabelled predict cannot be used with --order {options.order}")
    for option in ("checkpoint", "id", "store"):
        if getattr(options, option) is not None and options.order != "file":
            raise ValueError(f"--{option} cannot be used with --order {options.order}")
    if options.id is not None and options.unlabelled == "error":
        raise ValueError(
            "--id takes rows without a label as rows that wait for it: omit --unlabelled error"
        )
    for option, needed in (("keep", "id"), ("keep_for", "id"), ("keep_versions", "store")):
        if getattr(options, option) is not None and getattr(options, needed) is None:
            raise ValueError(f"--{option.replace('_', '-')} has no effect without --{needed}")
    if options.skip_learnt and not (options.live and options.checkpoint is not None):
        raise ValueError(
            "--skip-learnt is for a pipe that starts again, and needs --checkpoint; omit it for "
            "files, where the rows that a checkpoint has learnt are always skipped"
        )
    for option in ("save", "store"):
        if getattr(options, option) is not None and len(names) > 1:
            raise ValueError(
                f"--{option} writes one model: give one --model, or run the others separately"
            )
    if options.store is not None:
        RunStore(options.store, options.kept_versions, names[0], goes_on=True)
    sources = [] if options.live else [found.path for found in find_files(options.files)]
    taken: dict[Path, str] = {}
    for option in ("report", "predictions", "events", "save", "checkpoint"):
        path = getattr(options, option)
        if path is not None and options.store is not None and _is_within(path, options.store):
            raise ValueError(
                f"--{option} {path} is in the folder of --store, which is for versions only: give "
                "a path outside it"
            )
        check_output(path, sources)
        other = option if path is None else taken.setdefault(path.resolve(), option)
        if other != option:
            raise ValueError(f"--{other} and --{option} both name {path}: give each its own file")


def _is_within(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _open(
    options: RunOptions, renames: Mapping[str, str], late: LateLabels | None, console: Console
) -> Table:
    with make_progress() as progress:
        task = progress.add_task("collecting categories", total=1.0, note="", visible=False)
        table = open_table(
            options.files,
            options.target,
            chunk_rows=options.chunk_rows,
            header=options.header,
            limit=options.limit,
            text_columns=options.text_columns,
            ignore=options.ignore,
            kind=options.kind,
            missing=options.missing or None,
            decimal=options.decimal,
            separator=options.separator,
            hashed=options.hashed,
            renamed=renames,
            unlabelled=options.unlabelled == "predict" or late is not None,
            late=late,
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
    for name in table.doubtful:
        Screen(stderr=True).print(f"note: {doubt(name)}", markup=False, soft_wrap=True)
    return table


def _open_live(
    options: RunOptions, renames: Mapping[str, str], late: LateLabels | None
) -> LiveTable:
    return open_live(
        options.files[0],
        options.target,
        kind=options.kind,
        header=options.header,
        limit=options.limit,
        text_columns=options.text_columns,
        ignore=options.ignore,
        unlabelled=options.unlabelled != "error",
        missing=options.missing or None,
        decimal=options.decimal,
        separator=options.separator,
        hashed=options.hashed,
        renamed=renames,
        late=late,
    )


def _settings(options: RunOptions) -> dict[str, Any]:
    """Return the options that must not change when a run continues, by option name."""
    return {
        "FILE": options.files,
        "--target": options.target,
        "--model": list(dict.fromkeys(options.models)),
        "--chunk-rows": options.chunk_rows,
        "--no-header": options.header is False,
        "--header": options.header or None,
        "--separator": options.separator,
        "--missing": options.missing or None,
        "--decimal": options.decimal,
        "--hash": options.hashed or None,
        "--format": _text(options.kind),
        "--text": options.text_columns,
        "--ignore": options.ignore,
        "--unlabelled": _text(options.unlabelled),
        "--decision": options.decision,
        "--cost": options.costs or None,
        "--max-memory": options.max_bytes,
        "--predictions": _text(options.predictions),
        "--events": _text(options.events),
        "--seed": options.seed,
        "--id": options.id,
        "--keep": None if options.id is None else options.kept_rows,
        "--keep-for": options.keep_for,
    }


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _by_class(
    options: RunOptions, names: Sequence[str], table: Table, console: Console
) -> tuple[Section, dict[str, Any]]:
    with make_progress() as progress:
        task = progress.add_task(f"reading {table.name}", total=1.0, note="")
        chunks = []
        for chunk in table:
            chunks.append(chunk)
            progress.update(task, completed=chunk.fraction)
    places = [place for chunk in chunks for place in chunk.places()]
    data = join(chunks)
    del chunks
    console.print(
        f"Class-incremental order holds the whole file in memory: {len(data.y):,} rows x "
        f"{len(data.names)} columns of float64, {data.X.nbytes / 2**20:,.1f} MB."
    )
    if np.isnan(data.X).any():
        warm_up(names, categorical=bool(table.categorical), missing=True)
    stream = make_stream(data.X, data.y, options.seed)
    # The split depends only on labels and seed, so a stream of row numbers gives the permutation.
    order = make_stream(np.arange(len(data.y))[:, None], data.y, options.seed).X_train[:, 0]
    results = []
    recorders = {}
    with (
        open_predictions(options.predictions, names) as predictions,
        open_events(options.events, names) as events,
        make_progress() as progress,
    ):
        for name in names:
            title = find_preset(name).title
            recorders[name] = Recorder(make(name, options, table))
            results.append(
                evaluate(
                    recorders[name],
                    stream,
                    model_name=title,
                    dataset=table.name,
                    chunk=STEP,
                    progress=_writing(events, name, live_rate(progress, title, perf_counter)),
                )
            )
            recorders[name].predictions[0] = ""
        ordered = [places[int(row)] for row in order]
        predictions.write(
            ordered,
            stream.y_train.tolist(),
            [recorder.predictions for recorder in recorders.values()],
        )
    counted = count_rows(
        stream.X_train,
        stream.y_train,
        table.names,
        ordered,
        [recorder.results() for recorder in recorders.values()],
    )
    section = task_section(table.name, stream, results, counted)
    return section, {name: recorder.model for name, recorder in recorders.items()}


def _writing(events: Events, name: str, show: Progress) -> Progress:
    """Return a callback for `evaluate` that also writes the changes a model has found."""
    before = 0

    def progress(done: int, total: int, hits: int, model: Any) -> None:
        nonlocal before
        events.write(name, changes_after(model, before))
        before = done
        show(done, total, hits, model)

    return progress
