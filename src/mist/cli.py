"""Command-line interface ``mist``: the options of its subcommands.

The work of a subcommand is in :mod:`mist.commands`, whose modules are imported when the subcommand
runs, so that ``--help`` is fast. Subcommands with many options take them as a dataclass.
`_SIBLINGS` are in a package of their own, found by entry points.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from mist import plugins
from mist._version import __version__
from mist.commands.declared import HeaderOption, SeparatorOption, taking
from mist.commands.run_options import PredictOptions, RunOptions
from mist.commands.serve_options import ServeOptions
from mist.texts import printable

__all__ = ["app", "main", "tidy_errors"]

_SIBLINGS = {
    "bench": "Compare methods over data sets and seeds; write tables, plots and a report.",
    "paper": "Run the paper's tables, figures and theorems again, next to what is printed.",
}
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
versions_app = typer.Typer(
    help="List, compare, tag and go back to the versions of a model.", no_args_is_help=True
)
app.add_typer(versions_app, name="versions")

_StoreFolder = Annotated[
    Path,
    typer.Argument(
        help="Folder of `mist run --store`, or the folder MODEL.state of `mist serve`.",
        show_default=False,
    ),
]
_WhichVersion = Annotated[str, typer.Argument(help="Number or tag.", show_default=False)]


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
@taking(RunOptions)
def run(options: RunOptions) -> None:
    """Predict, then learn each row of a table or a stream, in one pass and in bounded memory."""
    with tidy_errors():
        from mist.commands.run import run as run_file

        run_file(options)


@app.command()
@taking(PredictOptions)
def predict(options: PredictOptions) -> None:
    """Predict rows with a saved model: a label by its decision rule, and its probability."""
    with tidy_errors():
        from mist.commands.predict import predict as predict_files

        predict_files(options)


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
    header: HeaderOption = None,
    separator: SeparatorOption = None,
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


@app.command()
@taking(ServeOptions)
def serve(options: ServeOptions) -> None:
    """Serve a model over HTTP: it predicts, learns while it does so, and watches its stream."""
    with tidy_errors():
        from mist.commands.serve import serve as serve_model

        serve_model(options)


@app.command()
def watch(
    events: Annotated[
        Path, typer.Argument(help="File of `mist serve --events`.", show_default=False)
    ],
    follow: Annotated[
        bool, typer.Option("--follow", help="Draw it again as it grows, until Ctrl-C.")
    ] = False,
) -> None:
    """Draw the figures and events of a server in the terminal."""
    with tidy_errors():
        from mist.commands.watch import watch as watch_file

        watch_file(events, follow=follow)


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


@versions_app.command("list")
def versions_list(folder: _StoreFolder) -> None:
    """List the versions."""
    with tidy_errors():
        from mist.commands.versions import list_versions

        list_versions(folder)


@versions_app.command("diff")
def versions_diff(
    folder: _StoreFolder,
    old: _WhichVersion,
    new: Annotated[
        str | None,
        typer.Argument(help="Number or tag; default: the current version.", show_default=False),
    ] = None,
) -> None:
    """Compare two versions: classes, rows, leaves, size and accuracy."""
    with tidy_errors():
        from mist.commands.versions import compare_versions

        compare_versions(folder, old, new)


@versions_app.command("rollback")
def versions_rollback(folder: _StoreFolder, version: _WhichVersion) -> None:
    """Make an earlier version the current one; later ones stay."""
    with tidy_errors():
        from mist.commands.versions import roll_back

        roll_back(folder, version)


@versions_app.command("tag")
def versions_tag(
    folder: _StoreFolder,
    version: _WhichVersion,
    name: Annotated[str, typer.Argument(help="The tag.", show_default=False)],
) -> None:
    """Give a version a tag: it is never removed then."""
    with tidy_errors():
        from mist.commands.versions import tag_version

        tag_version(folder, version, name)


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
