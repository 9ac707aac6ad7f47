"""Output of the commands: progress bars, the summary table and the report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn
from rich.table import Table

from mist.commands.screen import Screen, Words
from mist.estimator import settings_of
from mist.files import write_text
from mist.report import HEADINGS, Section, compare, render_page, summarise

__all__ = [
    "check_output",
    "live_rate",
    "make_console",
    "make_progress",
    "print_facts",
    "print_path",
    "print_summary",
    "write_report",
]

_PLAIN_WIDTH = 120
_ROOMY_WIDTH = 110


def make_console() -> Console:
    """Return the console for results, wide enough for the table if it is not a terminal."""
    console = Screen()
    return console if console.is_terminal else Screen(width=_PLAIN_WIDTH)


def make_progress() -> Progress:
    """Return progress bars on standard error, disabled if that is not a terminal."""
    console = Screen(stderr=True)
    return Progress(
        Words("{task.description}"),
        BarColumn(bar_width=12),
        TaskProgressColumn(),
        Words("{task.fields[note]}"),
        console=console,
        disable=not console.is_terminal,
    )


def live_rate(
    progress: Progress, description: str, clock: Callable[[], float]
) -> Callable[[int, int, int, Any], None]:
    """Add a bar to `progress` and return the callback that moves it.

    Parameters
    ----------
    progress : Progress
        Running progress bars.
    description : str
        Text before the bar.
    clock : callable
        Returns seconds, such as ``time.perf_counter``.

    Returns
    -------
    callable
        Argument ``progress`` of :func:`mist.evaluation.evaluate`; shows rows/s and accuracy.
    """
    task = progress.add_task(description, total=None, note="")
    start = clock()

    def show(done: int, total: int, hits: int, model: Any) -> None:
        rate = done / max(clock() - start, 1e-9)
        note = f"{rate:>9,.0f} rows/s  accuracy {hits / done:.3f}"
        progress.update(task, total=total, completed=done, note=note)

    return show


def check_output(path: Path | None, sources: Iterable[Path] = ()) -> None:
    """Refuse an invalid output path before any work is done.

    Parameters
    ----------
    path : Path or None
        Output file.
    sources : iterable of Path
        Input files, which must not be overwritten.

    Raises
    ------
    ValueError
        If the folder does not exist or is read-only, or the path is a folder or an input file.
    """
    if path is None:
        return
    if not path.parent.is_dir():
        raise ValueError(f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}")
    if path.is_dir():
        raise ValueError(f"cannot write {str(path)!r}: it is a folder")
    if not os.access(path.parent, os.W_OK):
        raise ValueError(
            f"cannot write {str(path)!r}: no permission to write to the folder {str(path.parent)!r}"
        )
    if path.exists() and any(path.samefile(source) for source in sources if source.exists()):
        raise ValueError(f"cannot write {str(path)!r}: it is an input file, give another name")


def print_facts(console: Console, facts: Iterable[tuple[str, str]]) -> None:
    """Print labels and texts in two columns; brackets are printed as they are.

    Parameters
    ----------
    console : Console
        Output console.
    facts : iterable of (str, str)
        Labels and texts.
    """
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in facts:
        table.add_row(label, text)
    console.print(table)


def print_summary(console: Console, sections: Sequence[Section]) -> None:
    """Print the summary table, with a rule between data sets, and how the baselines did.

    Parameters
    ----------
    console : Console
        Output console.
    sections : sequence of Section
        One per data set; each run is a line.
    """
    table = Table(
        box=box.SIMPLE_HEAD,
        header_style="bold",
        show_edge=False,
        pad_edge=False,
        padding=(0, 1 if console.width >= _ROOMY_WIDTH else 0),
    )
    for i, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="left" if i < 2 else "right")
    for section in sections:
        for result in section.results:
            table.add_row(*summarise(result))
        table.add_section()
    console.print(table)
    several = len(sections) > 1
    for section in sections:
        if text := compare(section.dataset if several else "", section.stream):
            console.print(text, markup=False, soft_wrap=True)


def write_report(
    console: Console,
    path: Path,
    title: str,
    intro: str,
    sections: Sequence[Section],
    models: Mapping[str, Any],
) -> None:
    """Write the HTML report and print its path.

    Parameters
    ----------
    console : Console
        Output console.
    path : Path
        HTML file.
    title, intro, sections
        See :func:`mist.report.render_page`.
    models : mapping of str to model
        The models by their names in the report, for their parameters.
    """
    settings = {name: settings_of(model) for name, model in models.items()}
    defaults = {name: settings_of(type(model)()) for name, model in models.items()}
    write_text(path, render_page(title, intro, sections, settings, defaults))
    print_path(console, "Report", path)


def print_path(console: Console, what: str, path: Path) -> None:
    """Print the path of an output; brackets are printed as they are.

    Parameters
    ----------
    console : Console
        Output console.
    what : str
        Name of the output.
    path : Path
        Its path.
    """
    console.print(f"{what}: {path}", markup=False, soft_wrap=True)
