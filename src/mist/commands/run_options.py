"""Options of ``mist run`` and ``mist predict``: names, defaults and help, each written once."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from mist.commands.declared import (
    ChunkRows,
    FormatOption,
    HeaderOption,
    Order,
    SeparatorOption,
    Unlabelled,
)
from mist.serving.options import LearnerOptions, ServiceOptions

__all__ = ["PredictOptions", "RunOptions"]

_MODELS = (
    "mist; mist-g and mist-k, the paper's trees; mist-features, with a discriminant on random "
    "features; mist-forest, ten trees; mist-forest-features, both. mist-tree-bench adds others."
)
_KEEP, _KEEP_VERSIONS = ServiceOptions.keep_rows, LearnerOptions.keep_versions


@dataclass(frozen=True)
class RunOptions:
    """Options of ``mist run``.

    Examples
    --------
    >>> RunOptions(["bank.csv"], "y").models
    ['mist']
    """

    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="CSV, TSV, JSON lines, ARFF, Parquet or NPZ; text files also as .gz or .zst. "
            "Several files, a pattern such as 'logs/*.csv.gz' or a folder of Parquet files form "
            "one table. `-` is standard input, kafka://HOST:PORT/TOPIC is a Kafka topic.",
            show_default=False,
        ),
    ]
    target: Annotated[
        str | None,
        typer.Option(
            help="Column with the labels: its name, or its position from 0 (-1: the last). "
            "For an NPZ file the name of the array, by default 'y'.",
            show_default=False,
        ),
    ] = None
    order: Annotated[
        Order, typer.Option(help="Order of rows; class-incremental reads the file into memory.")
    ] = Order.FILE
    models: Annotated[
        list[str],
        typer.Option(
            "--model",
            help=f"Model to run, repeatable: {_MODELS}  (default: mist)",
            show_default=False,
        ),
    ] = field(default_factory=lambda: ["mist"])
    predictions: Annotated[
        Path | None,
        typer.Option(help="CSV file for the predictions of all rows.", show_default=False),
    ] = None
    events: Annotated[
        Path | None,
        typer.Option(
            help="JSON lines file for the changes found in the stream: classes that moved, and "
            "shifts of all classes.",
            show_default=False,
        ),
    ] = None
    report: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("mist-run.html")
    limit: Annotated[
        int | None, typer.Option(min=1, help="Stop after this many rows.", show_default=False)
    ] = None
    chunk_rows: ChunkRows = 10_000
    header: HeaderOption = None
    separator: SeparatorOption = None
    text_columns: Annotated[
        list[str],
        typer.Option(
            "--text",
            metavar="COLUMN",
            help="Treat a column of numbers as text (categories); repeatable.",
            show_default=False,
        ),
    ] = field(default_factory=list)
    ignore: Annotated[
        list[str],
        typer.Option(metavar="COLUMN", help="Leave out a column; repeatable.", show_default=False),
    ] = field(default_factory=list)
    hashed: Annotated[
        list[str],
        typer.Option(
            "--hash",
            metavar="COLUMN",
            help="Divide the texts of a column into 64 groups by their hash, a 0/1 column each; "
            "repeatable.",
            show_default=False,
        ),
    ] = field(default_factory=list)
    missing: Annotated[
        list[str],
        typer.Option(
            metavar="WORD",
            help="A word that means a missing value, repeatable; replaces the default words. Empty "
            "cells are always missing.  (default: ? - NA N/A n/a #N/A NaN nan null NULL)",
            show_default=False,
        ),
    ] = field(default_factory=list)
    renames: Annotated[
        list[str],
        typer.Option(
            "--rename",
            metavar="OLD=NEW",
            help="Read a label as another one, such as a word typed wrong; repeatable. Classes of "
            "a checkpoint are joined so, too.",
            show_default=False,
        ),
    ] = field(default_factory=list)
    decision: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="How labels are chosen: `counts`, the most probable class, or `balanced`, as if "
            "all classes were equally frequent.  (default: in a stream the most probable class)",
            show_default=False,
        ),
    ] = None
    costs: Annotated[
        list[str],
        typer.Option(
            "--cost",
            metavar="LABEL=COST",
            help="Cost of missing a row of a class, in place of --decision; 1 for classes that "
            "are not named; repeatable.",
            show_default=False,
        ),
    ] = field(default_factory=list)
    max_memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Most memory that each model may take, such as 50MB or 1GiB.  (default: no limit)",
            show_default=False,
        ),
    ] = None
    decimal: Annotated[
        str | None,
        typer.Option(
            metavar="MARK",
            help="Decimal mark, . or ,  (default: found in the first rows of each column)",
            show_default=False,
        ),
    ] = None
    kind: FormatOption = None
    unlabelled: Annotated[
        Unlabelled | None,
        typer.Option(
            help="Rows without a label: predict them without learning, or stop with an error.  "
            "(default: predict in a stream, error in files)",
            show_default=False,
        ),
    ] = None
    id: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Labels come later: a row with an id in this column and no label waits, and is "
            "learnt when a row with the same id has the label.",
            show_default=False,
        ),
    ] = None
    keep: Annotated[
        int | None,
        typer.Option(
            metavar="ROWS",
            min=1,
            help=f"Most rows that wait for labels, with --id.  (default: {_KEEP})",
            show_default=False,
        ),
    ] = None
    keep_for: Annotated[
        int | None,
        typer.Option(
            metavar="ROWS",
            min=1,
            help="Rows of the table after which a row no longer waits, with --id.  (default: no "
            "limit)",
            show_default=False,
        ),
    ] = None
    save: Annotated[
        Path | None,
        typer.Option(help="File for the trained model, for `mist predict`.", show_default=False),
    ] = None
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="File for progress: after a stop the same command continues from it.",
            show_default=False,
        ),
    ] = None
    every: Annotated[int, typer.Option(min=1, help="Rows between two checkpoints or versions.")] = (
        100_000
    )
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder for versions of the model, one every --every rows and at the end; `mist "
            "versions` shows them.",
            show_default=False,
        ),
    ] = None
    keep_versions: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help=f"Versions to keep in --store.  (default: {_KEEP_VERSIONS})",
            show_default=False,
        ),
    ] = None
    skip_learnt: Annotated[
        bool,
        typer.Option(
            "--skip-learnt",
            help="The pipe starts again from its first row: skip rows the checkpoint has learnt.",
        ),
    ] = False
    seed: Annotated[int, typer.Option(min=0, help="Seed of the split, order and models.")] = 42

    @property
    def renamed(self) -> dict[str, str]:
        """Labels that are read as others."""
        from mist.commands.renames import parse_renames

        return parse_renames(self.renames)

    @property
    def rule(self) -> str | dict[Any, float] | None:
        """Parameter ``decision`` of the models."""
        from mist.commands.decisions import parse_decision

        return parse_decision(self.decision, self.costs)

    @property
    def max_bytes(self) -> int | None:
        """Parameter ``max_bytes`` of the models."""
        from mist.commands.sizes import parse_size

        return None if self.max_memory is None else parse_size("--max-memory", self.max_memory)

    @property
    def kept_rows(self) -> int:
        """Most rows that wait for labels."""
        return _KEEP if self.keep is None else self.keep

    @property
    def kept_versions(self) -> int:
        """Versions to keep."""
        return _KEEP_VERSIONS if self.keep_versions is None else self.keep_versions

    @property
    def live(self) -> bool:
        """Whether the rows come from a live stream, which can be read only once."""
        from mist.io import is_live

        return is_live(self.files)


@dataclass(frozen=True)
class PredictOptions:
    """Options of ``mist predict``.

    Examples
    --------
    >>> PredictOptions(Path("model.mist"), ["new.csv"]).out is None
    True
    """

    model: Annotated[
        Path, typer.Argument(help="Model file from `mist run --save`.", show_default=False)
    ]
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="As for `mist run`.", show_default=False)
    ]
    out: Annotated[
        Path | None,
        typer.Option(help="CSV file to write; default: standard output.", show_default=False),
    ] = None
    kind: FormatOption = None
    chunk_rows: ChunkRows = 10_000
    header: HeaderOption = None
    separator: SeparatorOption = None
