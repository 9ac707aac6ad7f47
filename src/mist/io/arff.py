"""ARFF, the format of Weka and MOA, read line by line."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from shlex import quote

from mist.io.bounds import check_width
from mist.io.source import Column, RawRows, Source, TableError
from mist.io.text import batch_records, open_text

__all__ = ["ArffSource"]

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
# Possessive, as otherwise a long run of spaces would be tried at every length.
_CELL = re.compile(rf"""\s*+({_QUOTED}|(?:[^,'"\s][^,]*)?)\s*(,|$)""")
_WORD = re.compile(rf"""({_QUOTED}|[^\s,'"]+)(?:\s+|$)""")
_NOMINAL = re.compile(rf"""\{{((?:{_QUOTED}|[^'"}}])*+)\}}\s*(?:%.*)?""")
_ATTRIBUTE = re.compile(rf"""@attribute\s+({_QUOTED}|[^\s{{]+)\s*(.+)""", re.IGNORECASE)


class ArffSource(Source):
    """A dense ARFF file.

    Numeric attributes are numbers; nominal and string attributes are texts.

    Parameters
    ----------
    path : Path
        The file.
    ignore : container of str
        Attributes that are not read, whatever their type.

    Raises
    ------
    TableError
        If the header cannot be read or has dates or relations.
    """

    def __init__(self, path: Path, ignore: Container[str] = ()) -> None:
        self.path = path
        with open_text(path) as text:
            self.columns = tuple(_read_header(_lines(text.lines), path, ignore))

    def batches(self, size: int) -> Iterator[RawRows]:
        """Yield the rows from the first one on, at most `size` at a time."""
        with open_text(self.path) as text:
            lines = _lines(text.lines)
            for _, line in lines:
                if line.lower() == "@data":
                    break
            yield from batch_records(self._records(lines), size, text)

    def _records(self, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
        width = len(self.columns)
        for number, line in lines:
            if line.startswith("{"):
                raise TableError(
                    f"row {number}: sparse ARFF rows are not supported; write every value out"
                )
            cells = _divide(line, number, width)
            if len(cells) != width:
                noun = "cell" if len(cells) == 1 else "cells"
                raise TableError(
                    f"row {number}: {len(cells)} {noun}, but the file declares {width} attributes"
                )
            yield number, cells


def _lines(handle: Iterable[str]) -> Iterator[tuple[int, str]]:
    for number, raw in enumerate(handle, start=1):
        line = raw.strip()
        if line and not line.startswith("%"):
            yield number, line


def _read_header(
    lines: Iterator[tuple[int, str]], path: Path, ignore: Container[str]
) -> Iterator[Column]:
    names: set[str] = set()
    number = 0
    for number, line in lines:
        word = line.split(maxsplit=1)[0].lower()
        if word == "@data":
            if not names:
                raise TableError(f"row {number}: {path.name} declares no @attribute")
            return
        if word == "@relation":
            continue
        match = _ATTRIBUTE.fullmatch(line)
        if match is None:
            raise TableError(f"row {number}: expected '@attribute NAME TYPE', found {line[:60]!r}")
        column = _read_attribute(_unquote(match[1]), match[2].strip(), number, ignore)
        if column.name in names:
            raise TableError(f"row {number}: the attribute {column.name!r} occurs twice")
        names.add(column.name)
        check_width(len(names), path.name)
        yield column
    if number == 0:
        raise TableError(f"{path.name} is empty")
    raise TableError(f"{path.name} has no @data line")


def _read_attribute(name: str, kind: str, number: int, ignore: Container[str]) -> Column:
    if kind.startswith("{"):
        values = _NOMINAL.fullmatch(kind)
        if values is None:
            raise TableError(
                f"row {number}: the values of {name!r} have no closing brace on the same line"
            )
        return Column(name, "text", tuple(_split(values[1].strip(), number)))
    word = kind.split(maxsplit=1)[0].lower()
    if word in {"numeric", "real", "integer"}:
        return Column(name, "number")
    if word == "string" or (name in ignore and word != "relational"):
        return Column(name, "text")
    raise TableError(
        f"row {number}: attribute {name!r} has type {word!r}; only numeric, nominal and string "
        f"attributes are read: leave it out: --ignore {quote(name)}"
    )


def _divide(line: str, number: int, width: int) -> list[str]:
    """The cells of a row, apart by commas, or by spaces and tabs if there is no comma."""
    if width > 1 and "," not in line:
        words = [_unquote(word) for word in _WORD.findall(line)]
        if len(words) == width:
            return words
    return _split(line, number)


def _split(line: str, number: int) -> list[str]:
    if "'" not in line and '"' not in line:
        return [cell.strip() for cell in line.split(",")]
    cells = []
    start = 0
    while True:
        match = _CELL.match(line, start)
        if match is None:
            raise TableError(f"row {number}: a quote is left open or misplaced")
        cells.append(_unquote(match[1].strip()))
        if not match[2]:
            return cells
        start = match.end()


def _unquote(cell: str) -> str:
    if cell[:1] in {"'", '"'}:
        return re.sub(r"\\(.)", r"\1", cell[1:-1])
    return cell
