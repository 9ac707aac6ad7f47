"""``mist data``: list, download and describe data sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from mist.commands.output import make_console, print_facts
from mist.datasets.cache import DatasetError, expected_places, locate, read, verify
from mist.datasets.catalogue import Entry, all_entries, find_entry
from mist.datasets.download import download

__all__ = ["get", "info", "list_sets"]


def list_sets() -> None:
    """Print the table of all data sets."""
    console = make_console()
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    for heading in ("name", "rows", "columns", "classes", "where", "licence"):
        numeric = heading in {"rows", "columns", "classes"}
        table.add_column(
            heading, justify="right" if numeric else "left", no_wrap=heading in {"name", "where"}
        )
    previous = None
    for entry in all_entries().values():
        if previous not in (None, entry.kind):
            table.add_section()
        previous = entry.kind
        table.add_row(
            entry.name,
            f"{entry.rows:,}",
            str(entry.columns),
            str(entry.n_classes),
            _where(entry),
            entry.licence,
        )
    console.print(table)


def get(names: Sequence[str]) -> None:
    """Download data sets that are not stored yet.

    Parameters
    ----------
    names : sequence of str
        Names from the registry.

    Raises
    ------
    ValueError
        If a name is unknown; then nothing is downloaded.
    DatasetError
        If some sets could not be downloaded; the others were.
    """
    entries = [find_entry(name) for name in names]
    console = make_console()
    failures = []
    for entry in entries:
        found = None if entry.kind != "file" else locate(entry)
        if entry.kind != "file" or found is not None:
            where = _where(entry) if found is None else str(found[1])
            _say(console, f"{entry.name}: nothing to fetch ({where})")
            continue
        try:
            _say(console, f"{entry.name}: fetched into {download(entry)}")
        except DatasetError as error:
            failures.append(str(error))
    if failures:
        raise DatasetError("; ".join(failures))


def info(name: str) -> None:
    """Print the details of a data set.

    Parameters
    ----------
    name : str
        A name from the registry.

    Raises
    ------
    ValueError
        If the name is unknown.
    """
    print_facts(make_console(), _facts(find_entry(name)))


def _say(console: Console, text: str) -> None:
    console.print(text, soft_wrap=True, markup=False)


def _where(entry: Entry) -> str:
    if entry.kind != "file":
        return entry.kind
    found = locate(entry)
    return "not here" if found is None else found[0]


def _facts(entry: Entry) -> Iterator[tuple[str, str]]:
    yield "name", entry.name
    yield "title", entry.title
    yield "rows", f"{entry.rows:,}"
    yield "columns", _columns(entry)
    yield "classes", str(entry.n_classes)
    yield "class counts", _counts(entry)
    if entry.n_train is not None:
        yield "training part", f"the first {entry.n_train:,} rows"
    yield "source", entry.source
    yield "licence", entry.licence
    if entry.citation:
        yield "citation", entry.citation
    if entry.note:
        yield "note", entry.note
    if entry.version is not None:
        yield "version", str(entry.version)
    if entry.kind == "file":
        yield "download", entry.download or "no public copy that scikit-learn knows"
        yield from _file_facts(entry)
    else:
        yield "where", entry.kind


def _file_facts(entry: Entry) -> Iterator[tuple[str, str]]:
    found = locate(entry)
    if found is None:
        yield "path", f"not here; expected as {entry.file} in {expected_places(entry)}"
        yield "sha256", f"{entry.sha256 or 'not known'}"
        return
    place, path = found
    yield "path", f"{path} ({place})"
    try:
        wrong = verify(entry, path, read(path))
    except DatasetError as error:
        wrong = [str(error)]
    yield "check", "; ".join(wrong) if wrong else "as in the registry"
    yield "sha256", f"{entry.sha256 or 'not known'}"


def _columns(entry: Entry) -> str:
    if not entry.columns_0_1:
        return str(entry.columns)
    return f"{entry.columns}, of which {len(entry.columns_0_1)} hold 0 and 1"


def _counts(entry: Entry) -> str:
    if entry.counts is None:
        return "as equal as can be" if entry.kind == "generated" else "not known"
    named = zip(entry.labels, entry.class_names, entry.counts, strict=True)
    return "; ".join(
        f"{label}: {count:,}" if name == str(label) else f"{label} ({name}): {count:,}"
        for label, name, count in named
    )
