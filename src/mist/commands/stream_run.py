"""`StreamRun`: test-then-train over the rows of a table in their order, which can be continued."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from shlex import quote
from typing import Any

import numpy as np
from rich.console import Console

from mist.commands.compile_first import reporting, warm_up
from mist.commands.output import make_progress
from mist.commands.renames import rename_classes
from mist.commands.run_options import RunOptions
from mist.commands.run_store import RunStore
from mist.commands.screen import Screen
from mist.commands.stopping import stopping
from mist.io import Chunk, LiveTable, Table, TableError
from mist.io.growing import MOST_TEXTS
from mist.io.late_labels import LateLabels
from mist.io.numerals import BUCKETS
from mist.io.source import DOUBTFUL
from mist.presets import make_model
from mist.report import Section
from mist.streaming.runs.checkpoint import Checkpoint, Kept
from mist.streaming.runs.events import Events, open_events
from mist.streaming.runs.predictions import Predictions, open_predictions
from mist.streaming.runs.session import Session

__all__ = ["STEP", "StreamRun", "doubt", "make", "named_columns"]

STEP = 1000
"""Rows between two counts of the leaves; chunks of the file may be larger."""

_WITHOUT_ID = 1000
"""Rows of a stream without an id after which the column of the ids may be misspelt."""


def make(name: str, options: RunOptions, table: Table | LiveTable) -> Any:
    """Make a model for a table."""
    model = make_model(name, seed=options.seed, categorical_features=table.categorical)
    given = {"decision": options.rule, "max_bytes": options.max_bytes}
    return model.set_params(**{key: value for key, value in given.items() if value is not None})


def doubt(name: str) -> str:
    """Say of a column of texts that a cell of it may be no missing value."""
    return (
        f"{DOUBTFUL!r} means a missing value in the text column {name!r}. If it is a text, give "
        "the words that mean missing values without it: --missing '?'"
    )


@contextmanager
def named_columns(model: Any, table: Table | LiveTable) -> Iterator[None]:
    """Give a model that learnt arrays the names of its columns while it is saved."""
    parts = [model, *getattr(model, "trees_", ())] if isinstance(table, Table) else []
    for part in parts:
        part.feature_names_in_ = np.array(table.names, dtype=object)
    try:
        yield
    finally:
        # With names a model would compare those of the rows that it learns next.
        for part in parts:
            del part.feature_names_in_


class StreamRun:
    """One pass over the rows in their order, with its checkpoint.

    Parameters
    ----------
    options : RunOptions
        Options of the command.
    names : sequence of str
        Names of the models.
    table : Table or LiveTable
        The rows.
    console : Console
        Where messages are printed.
    renames : mapping of str to str
        Labels that are read as others.
    checkpoint : Checkpoint or None
        The checkpoint file.
    kept : Kept or None
        What an earlier run has left in it.
    late : LateLabels or None
        Rows that wait for their labels; the table fills it.
    store : RunStore or None
        Where versions of the model are kept.

    Attributes
    ----------
    session : Session
        The models and all counts.
    said_ids : bool
        Whether it was noted that rows have no ids.
    """

    def __init__(
        self,
        options: RunOptions,
        names: Sequence[str],
        table: Table | LiveTable,
        console: Console,
        renames: Mapping[str, str],
        checkpoint: Checkpoint | None,
        kept: Kept | None,
        late: LateLabels | None,
        store: RunStore | None,
    ) -> None:
        self._options = options
        self._names = names
        self._table = table
        self._console = console
        self._whole = not options.live
        self._notes: set[str] = set()
        self.said_ids = False
        self._renames, self._checkpoint, self._kept = dict(renames), checkpoint, kept
        self._late, self._store = late, store
        if kept is None:
            self.session = Session({name: make(name, options, table) for name in names})
        else:
            self.session = Session(kept.models, kept.session)
            table.restore(kept.encoding)
            console.print(
                f"Going on after {self.session.done:,} rows, from {options.checkpoint} "
                "(delete it to start again)",
                markup=False,
                soft_wrap=True,
            )
            self._rename_classes(kept.renames)
        self._last_version = self.session.done

    def _rename_classes(self, before: Mapping[str, str]) -> None:
        """Rename or join classes that the models have learnt before, and say what still holds."""
        renames = self._renames
        found = [rename_classes(model, renames) for model in self.session.models.values()]
        for old in dict.fromkeys(chain.from_iterable(found)):
            self._console.print(
                f"The class {old} of the checkpoint is {renames[old]} now", soft_wrap=True
            )
        given = self._options.renamed
        silent = [f"{old} as {new}" for old, new in renames.items() if old in before.keys() - given]
        if silent:
            self._console.print(
                f"Labels are read as in the checkpoint: {', '.join(silent)}", soft_wrap=True
            )

    def go(self) -> TableError | None:
        """Learn all rows; for a live stream an error ends the run and is returned."""
        options, table, kept = self._options, self._table, self._kept
        can_stop = options.live or self._checkpoint is not None
        with (
            open_predictions(
                options.predictions,
                self._names,
                None if kept is None else kept.predictions,
                ids=self._late is not None,
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
            self._save_version()
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
            return self._table.chunks(STEP, position, skip)
        return (
            chunk.part(slice(begin, begin + STEP))
            for chunk in self._table.chunks(self.session.done)
            for begin in range(0, len(chunk.y), STEP)
        )

    def _learn(self, chunk: Chunk, predictions: Predictions, events: Events) -> None:
        if self._store is not None:
            self._store.check(self._table)
        if self._whole and chunk.has_missing():
            self._whole = False
            warm_up(self._names, categorical=bool(self._table.categorical), missing=True)
        # What the warm-up did not need, such as code for the first class that moves.
        with reporting(spinner=False):
            answers = self.session.learn(chunk)
        ids = None if chunk.late is None else [row.id for row in chunk.late]
        predictions.write(chunk.places(), chunk.labels(), answers, ids)
        for name, changes in self.session.found.items():
            events.write(name, changes)
        live = isinstance(self._table, LiveTable)
        if live:
            predictions.flush()
        if self.session.done - self._last_version >= self._options.every and self._table.settled:
            # Before the checkpoint: a run that goes on from it has no version too few.
            self._save_version()
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
            self._note(doubt(name))
        late = self._late
        if late is not None and not late.met and late.without >= _WITHOUT_ID:
            self.said_ids = True
            self._note(
                f"none of the first {_WITHOUT_ID:,} rows has an id in column {late.column!r}, so "
                "none waits for its label: name the column of the ids, --id COLUMN"
            )

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.add(text)
            Screen(stderr=True).print(f"note: {text}", markup=False, soft_wrap=True)

    def _save_version(self) -> None:
        """Add the model to the store, unless it has learnt nothing since the last version."""
        session, table = self.session, self._table
        if self._store is None or not session.learnt or session.done == self._last_version:
            return
        (model,) = session.models.values()
        note = f"after {session.done:,} rows of {table.name}"
        with named_columns(model, table):
            self._store.save(model, table, session.accuracy, note)
        self._last_version = session.done

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
                self._renames,
                None if self._late is None else self._late.state(),
            )
        )
        table.acknowledge()
