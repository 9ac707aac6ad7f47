"""``mist versions``: the versions of a model in a folder, compared, tagged and gone back to."""

from __future__ import annotations

from pathlib import Path

from rich import box
from rich.table import Table

from mist.commands.output import make_console, print_facts
from mist.persistence import Store, Version
from mist.texts import printable

__all__ = ["compare_versions", "list_versions", "roll_back", "tag_version"]

_HEADINGS = ("version", "saved", "rows", "classes", "leaves", "MB", "accuracy", "parent", "tags")


def list_versions(folder: Path) -> None:
    """Print a table of the versions, the current one with an asterisk."""
    store = _store(folder)
    current = store.current
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for place, heading in enumerate(_HEADINGS):
        right = 2 <= place < len(_HEADINGS) - 1
        table.add_column(heading, justify="right" if right else "left", no_wrap=place < 2)
    for version in store.list():
        mark = "*" if version.number == current else ""
        table.add_row(f"{version.number}{mark}", *_cells(version))
    console = make_console()
    console.print(table)
    console.print("* the current version, from which a server starts and `Store.load` reads")


def compare_versions(folder: Path, old: str, new: str | None) -> None:
    """Print what has changed from one version to another; None is the current version."""
    store = _store(folder)
    found = store.diff(_which(old), None if new is None else _which(new))
    print_facts(
        make_console(),
        [
            ("classes added", _names(found.classes_added)),
            ("classes gone", _names(found.classes_gone)),
            ("rows", _signed(found.rows)),
            ("leaves", _signed(found.leaves)),
            ("bytes", _signed(found.nbytes)),
            ("accuracy", "unknown" if found.accuracy is None else f"{found.accuracy:+.4f}"),
        ],
    )


def roll_back(folder: Path, which: str) -> None:
    """Make an earlier version the current one.

    Raises
    ------
    ValueError
        If there is no such version, or a server or a run writes to the folder.
    """
    store = _store(folder)
    version = store.rollback(_which(which))
    make_console().print(f"version {version.number} is the current one")


def tag_version(folder: Path, which: str, name: str) -> None:
    """Give a version a tag, with which it is never removed.

    Raises
    ------
    ValueError
        If there is no such version, or a server or a run writes to the folder.
    """
    store = _store(folder)
    if name.isdecimal():
        raise ValueError(f"{name!r} is a number: give a tag that is not taken for a version")
    store.tag(name, _which(which))
    make_console().print(f"version {which} has the tag {printable(name)}", markup=False)


def _store(folder: Path) -> Store:
    if folder.exists() and not folder.is_dir():
        raise ValueError(
            f"{folder}: it is not a folder, give the folder of mist run --store, or the folder "
            "MODEL.state of mist serve"
        )
    store = Store(folder)
    if not store.list():
        raise ValueError(
            f"{folder} has no versions: give the folder of mist run --store, or the folder "
            "MODEL.state of mist serve"
        )
    return store


def _which(text: str) -> int | str:
    """A number or a tag."""
    return int(text) if text.isdecimal() else text


def _cells(version: Version) -> list[str]:
    megabytes = None if version.nbytes is None else f"{version.nbytes / 2**20:.2f}"
    accuracy = None if version.accuracy is None else f"{version.accuracy:.4f}"
    cells = (
        version.saved.replace("+00:00", "Z"),
        None if version.rows is None else f"{version.rows:,}",
        len(version.classes),
        version.leaves,
        megabytes,
        accuracy,
        version.parent,
    )
    return [
        *("" if cell is None else str(cell) for cell in cells),
        printable(", ".join(version.tags)),
    ]


def _names(labels: tuple[str, ...]) -> str:
    return printable(", ".join(labels)) or "none"


def _signed(count: int | None) -> str:
    return "unknown" if count is None else f"{count:+,}"
