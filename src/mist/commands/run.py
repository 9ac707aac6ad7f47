"""``mist run``: test-then-train on tables of the user, and on endless streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from shlex import quote
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console

from mist.commands.checkpoint import Checkpoint, Kept, save_run
from mist.commands.compile_first import warm_up
from mist.commands.events import Events, open_events, summary
from mist.commands.output import (
    check_output,
    live_rate,
    make_console,
    make_progress,
    print_path,
    print_summary,
    write_report,
)
from mist.commands.predictions import Predictions, open_predictions
from mist.commands.prequential_run import Recorder
from mist.commands.records import count_rows
from mist.commands.renames import parse_renames, rename_classes
from mist.commands.screen import Screen
from mist.commands.session import Session
from mist.commands.stopping import stopping
from mist.commands.tasks import make_stream, task_section
from mist.evaluation import evaluate
from mist.evaluation.changes import changes_after
from mist.evaluation.runner import Progress
from mist.io import Chunk, LiveTable, Table, TableError, find_files, is_live, open_live, open_table
from mist.io.growing import MOST_TEXTS
from mist.io.numerals import BUCKETS
from mist.io.source import DOUBTFUL
from mist.io.table import join
from mist.presets import find_preset, make_model
from mist.report import Section

__all__ = ["RunOptions", "run"]

_STEP = 1000
"""Rows between two counts of the leaves; chunks of the file may be larger."""


@dataclass(frozen=True)
class RunOptions:
    """Options of ``mist run``, named as on the command line.

    Examples
    --------
    >>> RunOptions(["bank.csv"], "y").order
    'file'
    """

    files: Sequence[str]
    target: str | None
    order: str = "file"
    models: Sequence[str] = ("mist",)
    chunk_rows: int = 10_000
    limit: int | None = None
    header: bool | None = None
    separator: str | None = None
    kind: str | None = None
    text_columns: Sequence[str] = ()
    ignore: Sequence[str] = ()
    missing: Sequence[str] | None = None
    decimal: str | None = None
    hashed: Sequence[str] = ()
    renames: Sequence[str] = ()
    unlabelled: str | None = None
    predictions: Path | None = None
    events: Path | None = None
    report: Path = Path("mist-run.html")
    save: Path | None = None
    checkpoint: Path | None = None
    every: int = 100_000
    skip_learnt: bool = False
    seed: int = 42

    @property
    def renamed(self) -> dict[str, str]:
        """Labels that are read as others."""
        return parse_renames(self.renames)

    @property
    def live(self) -> bool:
        """Whether the rows come from a live stream, which can be read only once."""
        return is_live(self.files)


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
    table = _open_live(options) if options.live else _open(options, console)
    # In a stream columns appear later, and earlier rows lack them.
    warm_up(names, categorical=bool(table.categorical), missing=options.live)
    fault: TableError | None = None
    continued = options.checkpoint is not None and options.checkpoint.exists()
    if isinstance(table, LiveTable) or options.order == "file":
        run_over = _Run(options, names, table, console)
        fault = run_over.go()
        section, models = run_over.section(), run_over.session.models
    else:
        section, models = _by_class(options, names, table, console)
    print_summary(console, [section])
    _report_unmet(table, options.renamed, continued)
    if found := summary(section.results):
        console.print(found, soft_wrap=True)
    if options.predictions is not None:
        print_path(console, "Predictions", options.predictions)
    if options.events is not None:
        print_path(console, "Changes", options.events)
    if options.save is not None:
        model = models[names[0]]
        if isinstance(table, Table):
            _name_columns(model, table.names)
        save_run(options.save, model, table.plain())
        print_path(console, "Model", options.save)
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


def _report_unmet(table: Table | LiveTable, renames: Mapping[str, str], continued: bool) -> None:
    """Note labels to rename that no row had; earlier runs may have read them."""
    for old in () if continued else sorted(table.unmet):
        text = f"note: no row has the label {old!r} (--rename {old}={renames[old]})"
        Screen(stderr=True).print(text, soft_wrap=True)


def _name_columns(model: Any, names: Sequence[str]) -> None:
    """Add column names to a model that learnt arrays, so that a loaded model has them."""
    for part in (model, *getattr(model, "trees_", ())):
        part.feature_names_in_ = np.array(names, dtype=object)


def _check(options: RunOptions, names: Sequence[str]) -> None:
    """Refuse incompatible or invalid options, and files that cannot be written."""
    _ = options.renamed
    if options.live and options.order != "file":
        raise ValueError(f"--order {options.order} needs all rows at once: save them to a file")
    if options.unlabelled == "predict" and options.order != "file":
        raise ValueError(f"--unlabelled predict cannot be used with --order {options.order}")
    if options.checkpoint is not None and options.order != "file":
        raise ValueError(f"--checkpoint cannot be used with --order {options.order}")
    if options.skip_learnt and not (options.live and options.checkpoint is not None):
        raise ValueError(
            "--skip-learnt is for a pipe that starts again, and needs --checkpoint; omit it for "
            "files, where the rows that a checkpoint has learnt are always skipped"
        )
    if options.save is not None and len(names) > 1:
        raise ValueError("--save writes one model: give one --model, or run the others separately")
    sources = [] if options.live else [found.path for found in find_files(options.files)]
    taken: dict[Path, str] = {}
    for option in ("report", "predictions", "events", "save", "checkpoint"):
        path = getattr(options, option)
        check_output(path, sources)
        other = option if path is None else taken.setdefault(path.resolve(), option)
        if other != option:
            raise ValueError(f"--{other} and --{option} both name {path}: give each its own file")


def _open(options: RunOptions, console: Console) -> Table:
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
            missing=options.missing,
            decimal=options.decimal,
            separator=options.separator,
            hashed=options.hashed,
            renamed=options.renamed,
            unlabelled=options.unlabelled == "predict",
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
        Screen(stderr=True).print(f"note: {_doubt(name)}", markup=False, soft_wrap=True)
    return table


def _doubt(name: str) -> str:
    return (
        f"{DOUBTFUL!r} means a missing value in the text column {name!r}. If it is a text, give "
        "the words that mean missing values without it: --missing '?'"
    )


def _open_live(options: RunOptions) -> LiveTable:
    return open_live(
        options.files[0],
        options.target,
        kind=options.kind,
        header=options.header,
        limit=options.limit,
        text_columns=options.text_columns,
        ignore=options.ignore,
        unlabelled=options.unlabelled != "error",
        missing=options.missing,
        decimal=options.decimal,
        separator=options.separator,
        hashed=options.hashed,
        renamed=options.renamed,
    )


def _make(name: str, options: RunOptions, table: Table | LiveTable) -> Any:
    return make_model(name, seed=options.seed, categorical_features=table.categorical)


class _Run:
    """One pass over the rows in their order, with its checkpoint."""

    def __init__(
        self, options: RunOptions, names: Sequence[str], table: Table | LiveTable, console: Console
    ) -> None:
        self._options = options
        self._names = names
        self._table = table
        self._console = console
        self._whole = not options.live
        self._notes: set[str] = set()
        self._checkpoint: Checkpoint | None = None
        kept = None
        if options.checkpoint is not None:
            self._checkpoint = Checkpoint(options.checkpoint, options.every, _settings(options))
            kept = self._checkpoint.load()
        self._kept = kept
        if kept is None:
            self.session = Session({name: _make(name, options, table) for name in names})
        else:
            self.session = Session(kept.models, kept.session)
            table.restore(kept.encoding)
            console.print(
                f"Going on after {self.session.done:,} rows, from {options.checkpoint} "
                "(delete it to start again)",
                markup=False,
                soft_wrap=True,
            )
            self._rename_classes(options.renamed)

    def _rename_classes(self, renames: Mapping[str, str]) -> None:
        """Rename or join classes that the models have learnt before."""
        found = [rename_classes(model, renames) for model in self.session.models.values()]
        for old in dict.fromkeys(chain.from_iterable(found)):
            self._console.print(
                f"The class {old} of the checkpoint is {renames[old]} now", soft_wrap=True
            )

    def go(self) -> TableError | None:
        """Learn all rows; for a live stream an error ends the run and is returned."""
        options, table, kept = self._options, self._table, self._kept
        can_stop = options.live or self._checkpoint is not None
        with (
            open_predictions(
                options.predictions, self._names, None if kept is None else kept.predictions
            ) as predictions,
            open_events(
                options.events, self._names, None if kept is None else kept.events
            ) as events,
            make_progress() as progress,
            stopping(can_stop) as stop,
        ):
            task = progress.add_task(table.name, total=None if options.live else 1.0, note="")
            fault = None
            try:
                for chunk in self._chunks():
                    if len(chunk.y):
                        self._learn(chunk, predictions, events)
                        self._warn()
                    progress.update(task, note=self.session.note(), completed=chunk.fraction)
                    if stop.wanted and table.settled:
                        break
            except TableError as error:
                if not (options.live and self.session.done):
                    raise
                fault = error
            if self._checkpoint is not None:
                self._keep(predictions, events)
        if stop.wanted and not (options.live and self.session.done):
            raise KeyboardInterrupt
        if not self.session.done:
            raise TableError(f"{table.name} has no rows")
        if not self.session.learnt:
            raise TableError(
                f"{table.name}: no row has a label in column {table.target!r} and a value in "
                "another column, so nothing was learnt"
            )
        return fault

    def section(self) -> Section:
        """Return the results for the report."""
        return self.session.section(self._table.name, self._table.names, self._options.seed)

    def _chunks(self) -> Iterator[Chunk]:
        if isinstance(self._table, LiveTable):
            position = None if self._kept is None else self._kept.position
            skip = self.session.done if self._options.skip_learnt else 0
            return self._table.chunks(_STEP, position, skip)
        return (
            chunk.part(slice(begin, begin + _STEP))
            for chunk in self._table.chunks(self.session.done)
            for begin in range(0, len(chunk.y), _STEP)
        )

    def _learn(self, chunk: Chunk, predictions: Predictions, events: Events) -> None:
        if self._whole and chunk.has_missing():
            self._whole = False
            warm_up(self._names, categorical=bool(self._table.categorical), missing=True)
        answers = self.session.learn(chunk)
        predictions.write(chunk.places(), chunk.labels(), answers)
        for name, changes in self.session.found.items():
            events.write(name, changes)
        live = isinstance(self._table, LiveTable)
        if live:
            predictions.flush()
        if self._checkpoint is None:
            self._table.acknowledge()
        elif self._checkpoint.due(self.session.done) and self._table.settled:
            self._keep(predictions, events)

    def _warn(self) -> None:
        """Print one note for each column of a stream that may be read wrongly."""
        if not isinstance(self._table, LiveTable):
            return
        for name, example in self._table.crowded.items():
            self._note(
                f"column {name!r} has more than {MOST_TEXTS} different texts; from {example!r} on "
                "new ones get no 0/1 column. If it names rows rather than groups of them, leave it "
                f"out: --ignore {quote(name)} (--hash {quote(name)} makes {BUCKETS} groups of them)"
            )
        for name in self._table.doubtful:
            self._note(_doubt(name))

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.add(text)
            Screen(stderr=True).print(f"note: {text}", markup=False, soft_wrap=True)

    def _keep(self, predictions: Predictions, events: Events) -> None:
        assert self._checkpoint is not None
        table, session = self._table, self.session
        self._checkpoint.save(
            Kept(
                session.models,
                session.state(),
                predictions.length(),
                table.plain(),
                table.position(),
                events.length(),
            )
        )
        table.acknowledge()


def _settings(options: RunOptions) -> dict[str, Any]:
    """Return the options that must not change when a run continues, by option name."""
    return {
        "FILE": list(options.files),
        "--target": options.target,
        "--model": list(dict.fromkeys(options.models)),
        "--chunk-rows": options.chunk_rows,
        "--no-header": options.header is False,
        "--header": options.header or None,
        "--separator": options.separator,
        "--missing": None if options.missing is None else list(options.missing),
        "--decimal": options.decimal,
        "--hash": list(options.hashed) or None,
        "--format": options.kind,
        "--text": list(options.text_columns),
        "--ignore": list(options.ignore),
        "--unlabelled": options.unlabelled,
        "--predictions": None if options.predictions is None else str(options.predictions),
        "--events": None if options.events is None else str(options.events),
        "--seed": options.seed,
    }


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
            recorders[name] = Recorder(_make(name, options, table))
            results.append(
                evaluate(
                    recorders[name],
                    stream,
                    model_name=title,
                    dataset=table.name,
                    chunk=_STEP,
                    progress=_writing(events, name, live_rate(progress, title, perf_counter)),
                )
            )
            recorders[name].predictions[0] = ""
        predictions.write(
            [places[int(row)] for row in order],
            stream.y_train.tolist(),
            [recorder.predictions for recorder in recorders.values()],
        )
    counted = count_rows(
        stream.X_train,
        stream.y_train,
        table.names,
        [(recorder.predictions, recorder.cost) for recorder in recorders.values()],
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
