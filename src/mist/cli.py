"""Command-line interface ``mist``: the options of its subcommands.

The work of a subcommand is in :mod:`mist.commands`, which is imported when the subcommand runs, so
that ``--help`` is fast. `_SIBLINGS` are in a package of their own, found by entry points.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mist import plugins
from mist._version import __version__
from mist.texts import printable

__all__ = ["app", "main", "tidy_errors"]

_SIBLINGS = {
    "bench": "Compare methods over data sets and seeds; write tables, plots and a report.",
    "paper": "Run the paper's tables, figures and theorems again, next to what is printed.",
}
_MODELS = (
    "mist; mist-g and mist-k, the paper's trees; mist-features, with a discriminant on random "
    "features; mist-forest, ten trees; mist-forest-features, both. mist-tree-bench adds others."
)

_WRONG = 2
_INTERRUPTED = 130
_NO_READER = 141

app = typer.Typer(
    name="mist",
    help="Streaming decision trees that learn new classes as they arrive.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
data_app = typer.Typer(help="List, fetch and describe data sets.", no_args_is_help=True)
app.add_typer(data_app, name="data")


class Order(StrEnum):
    """Order in which the rows of a file are learnt."""

    FILE = "file"
    CLASS_INCREMENTAL = "class-incremental"


class Format(StrEnum):
    """Format of a file or a pipe."""

    CSV = "csv"
    TSV = "tsv"
    JSONL = "jsonl"
    ARFF = "arff"
    PARQUET = "parquet"
    NPZ = "npz"


class Unlabelled(StrEnum):
    """Treatment of rows without a label."""

    PREDICT = "predict"
    ERROR = "error"


_FormatOption = Annotated[
    Format | None,
    typer.Option(
        help="Format of the files.  (default: from the end of their names, or start of a pipe)",
        show_default=False,
    ),
]

_HeaderOption = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first row has the names; without names columns are 0, 1, ...  "
        "(default: it has, and is refused if it looks like data)",
        show_default=False,
    ),
]
_SeparatorOption = Annotated[
    str | None,
    typer.Option(
        help="Between the cells of a line: a character, or comma, semicolon, tab or space (any "
        "run of spaces and tabs).  (default: found in the first lines)",
        show_default=False,
    ),
]


def main() -> None:
    """Run the command line; the entry point of the script ``mist``."""
    app(prog_name="mist")


@contextmanager
def tidy_errors() -> Iterator[None]:
    """Print one line and exit with a code instead of a traceback."""
    try:
        yield
        # A reader that has gone away is noticed here, not at exit.
        sys.stdout.flush()
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)
        raise typer.Exit(_INTERRUPTED) from None
    except MemoryError:
        typer.echo("error: not enough memory (mist run --order file reads in chunks)", err=True)
        raise typer.Exit(_WRONG) from None
    except BrokenPipeError:
        # The reader, such as `head`, has enough. Python writes what is left at exit: to nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(_NO_READER) from None
    except (ValueError, OSError, ImportError) as error:
        message = str(error)
        if isinstance(error, OSError) and error.filename is not None:
            message = f"{error.filename}: {error.strerror}"
        typer.echo(f"error: {printable(' '.join(message.split()))}", err=True)
        raise typer.Exit(_WRONG) from None


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mist {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    report: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("mist-demo.html"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of splits, orders and models.")] = 42,
    quick: Annotated[bool, typer.Option("--quick", help="At most 400 rows of each set.")] = False,
) -> None:
    """Run four models on four small data sets whose classes arrive in pairs, or one by one."""
    with tidy_errors():
        from mist.commands.demo import demo as run_demo

        run_demo(report, seed, quick)


@app.command()
def run(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="CSV, TSV, JSON lines, ARFF, Parquet or NPZ; text files also as .gz or .zst. "
            "Several files, a pattern such as 'logs/*.csv.gz' or a folder of Parquet files form "
            "one table. `-` is standard input, kafka://HOST:PORT/TOPIC is a Kafka topic.",
            show_default=False,
        ),
    ],
    target: Annotated[
        str | None,
        typer.Option(
            help="Column with the labels: its name, or its position from 0 (-1: the last). "
            "For an NPZ file the name of the array, by default 'y'.",
            show_default=False,
        ),
    ] = None,
    order: Annotated[
        Order, typer.Option(help="Order of rows; class-incremental reads the file into memory.")
    ] = Order.FILE,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Model to run, repeatable: {_MODELS}  (default: mist)", show_default=False
        ),
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(help="CSV file for the predictions of all rows.", show_default=False),
    ] = None,
    events: Annotated[
        Path | None,
        typer.Option(
            help="JSON lines file for the changes found in the stream: classes that moved, and "
            "shifts of all classes.",
            show_default=False,
        ),
    ] = None,
    report: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("mist-run.html"),
    limit: Annotated[
        int | None, typer.Option(min=1, help="Stop after this many rows.", show_default=False)
    ] = None,
    chunk_rows: Annotated[int, typer.Option(min=1, help="Rows read at a time.")] = 10_000,
    header: _HeaderOption = None,
    separator: _SeparatorOption = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Treat a column of numbers as text (categories); repeatable.",
            show_default=False,
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Leave out a column; repeatable.", show_default=False),
    ] = None,
    hash: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Divide the texts of a column into 64 groups by their hash, a 0/1 column each; "
            "repeatable.",
            show_default=False,
        ),
    ] = None,
    missing: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORD",
            help="A word that means a missing value, repeatable; replaces the default words. Empty "
            "cells are always missing.  (default: ? - NA N/A n/a #N/A NaN nan null NULL)",
            show_default=False,
        ),
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OLD=NEW",
            help="Read a label as another one, such as a word typed wrong; repeatable. Classes of "
            "a checkpoint are joined so, too.",
            show_default=False,
        ),
    ] = None,
    decimal: Annotated[
        str | None,
        typer.Option(
            metavar="MARK",
            help="Decimal mark, . or ,  (default: found in the first rows of each column)",
            show_default=False,
        ),
    ] = None,
    format: _FormatOption = None,
    unlabelled: Annotated[
        Unlabelled | None,
        typer.Option(
            help="Rows without a label: predict them without learning, or stop with an error.  "
            "(default: predict in a stream, error in files)",
            show_default=False,
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(help="File for the trained model, for `mist predict`.", show_default=False),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="File for progress: after a stop the same command continues from it.",
            show_default=False,
        ),
    ] = None,
    every: Annotated[int, typer.Option(min=1, help="Rows between two checkpoints.")] = 100_000,
    skip_learnt: Annotated[
        bool,
        typer.Option(
            "--skip-learnt",
            help="The pipe starts again from its first row: skip rows the checkpoint has learnt.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the split, order and models.")] = 42,
) -> None:
    """Predict, then learn each row of a table or a stream, in one pass and in bounded memory."""
    with tidy_errors():
        from mist.commands.run import RunOptions
        from mist.commands.run import run as run_file

        run_file(
            RunOptions(
                files=files,
                target=target,
                order=order.value,
                models=model or ["mist"],
                chunk_rows=chunk_rows,
                limit=limit,
                header=header,
                separator=separator,
                text_columns=text or [],
                ignore=ignore or [],
                missing=missing or None,
                decimal=decimal,
                hashed=hash or [],
                renames=rename or [],
                kind=None if format is None else format.value,
                unlabelled=None if unlabelled is None else unlabelled.value,
                predictions=predictions,
                events=events,
                report=report,
                save=save,
                checkpoint=checkpoint,
                every=every,
                skip_learnt=skip_learnt,
                seed=seed,
            )
        )


@app.command()
def predict(
    model: Annotated[
        Path, typer.Argument(help="Model file from `mist run --save`.", show_default=False)
    ],
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="As for `mist run`.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="CSV file to write; default: standard output.", show_default=False),
    ] = None,
    format: _FormatOption = None,
    chunk_rows: Annotated[int, typer.Option(min=1, help="Rows read at a time.")] = 10_000,
    header: _HeaderOption = None,
    separator: _SeparatorOption = None,
) -> None:
    """Predict rows with a saved model: the most probable class and its probability."""
    with tidy_errors():
        from mist.commands.predict import PredictOptions
        from mist.commands.predict import predict as predict_files

        predict_files(
            PredictOptions(
                model=model,
                files=files,
                out=out,
                header=header,
                separator=separator,
                kind=None if format is None else format.value,
                chunk_rows=chunk_rows,
            )
        )


@app.command()
def inspect(
    file: Annotated[Path, typer.Argument(help="Model file.", show_default=False)],
    tree: Annotated[
        bool, typer.Option("--tree", help="Show the tree, or every tree of a forest, as text.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Validate a model file and show its content."""
    with tidy_errors():
        from mist.commands.inspect import inspect as inspect_file

        inspect_file(file, tree=tree, as_json=as_json)


@app.command()
def explain(
    model: Annotated[
        Path,
        typer.Argument(
            help="Model file from `mist run --save`, or a saved MistClassifier or StreamPipeline.",
            show_default=False,
        ),
    ],
    row: Annotated[
        str | None,
        typer.Option(
            help="The row as JSON: an object of values by column, or a list.", show_default=False
        ),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(help="CSV file with the row.", show_default=False)
    ] = None,
    line: Annotated[
        int,
        typer.Option(min=1, help="Line of the row in the CSV file; line 1 often has the names."),
    ] = 2,
    header: _HeaderOption = None,
    separator: _SeparatorOption = None,
    top: Annotated[int, typer.Option(min=1, help="Most probable classes to compare.")] = 3,
) -> None:
    """Explain the prediction of a saved model for one row."""
    with tidy_errors():
        from mist.commands.compile_first import reporting
        from mist.commands.explain import explain_row, row_of_csv, row_of_text

        if (row is None) == (csv is None):
            raise ValueError("mist explain needs a row: give either --row or --csv")
        given = row_of_text(row or "") if csv is None else row_of_csv(csv, line, header, separator)
        with reporting():
            explanation = explain_row(model, given, top, strict=csv is None)
        typer.echo(str(explanation))


@app.command()
def relabel(
    model: Annotated[Path, typer.Argument(help="Model file.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write.", show_default=False)],
    rename: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OLD=NEW",
            help="Rename a class, or join it with the class NEW; repeatable.",
            show_default=False,
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL",
            help="Remove a class and what was learnt of it; repeatable.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Rename, join and drop classes of a saved model."""
    with tidy_errors():
        from mist.commands.relabel import relabel as relabel_file

        relabel_file(model, out, rename or [], drop or [])


@data_app.command("list")
def data_list() -> None:
    """List all data sets and their locations."""
    with tidy_errors():
        from mist.commands.data import list_sets

        list_sets()


@data_app.command("get")
def data_get(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="Data sets.", show_default=False)
    ],
) -> None:
    """Download data sets that are not stored yet."""
    with tidy_errors():
        from mist.commands.data import get

        get(names)


@data_app.command("info")
def data_info(name: Annotated[str, typer.Argument(help="Data set.", show_default=False)]) -> None:
    """Show the details of a data set."""
    with tidy_errors():
        from mist.commands.data import info

        info(name)


def _add_sibling(name: str, text: str) -> None:
    """Add a command of the package of the benchmark, which reads the options itself."""

    @app.command(
        name,
        help=text,
        add_help_option=False,
        rich_help_panel="In a package of their own, mist-tree-bench",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )
    def forward(context: typer.Context) -> None:
        with tidy_errors():
            point = plugins.added("commands").get(name)
            if point is None:
                raise ImportError(f"mist {name} is in a package of its own: {plugins.HINT}")
            command = point.load()
        command(args=context.args, prog_name=f"mist {name}")


for _name, _text in _SIBLINGS.items():
    _add_sibling(_name, _text)


if __name__ == "__main__":
    main()
