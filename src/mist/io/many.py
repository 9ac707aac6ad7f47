"""Several files as one stream, and columns that are constant in each file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from mist.io.bounds import check_width
from mist.io.source import MISSING, Cells, Column, RawRows, Source, TableError, as_number

__all__ = ["ManySource", "PartitionedSource", "arrange", "check_same_columns", "partitions"]

_NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"
_NAMES_SHOWN = 8


class ManySource(Source):
    """Files that are read one after another as if they were one.

    Columns are matched by name. Except for JSON lines, all files must have the same columns.

    Parameters
    ----------
    sources : sequence of Source
        The files, at least one.

    Raises
    ------
    TableError
        If a file has other columns than the first one.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self.path = Path(f"{sources[0].path.name} and {len(sources) - 1} more")
        self.sparse = all(source.sparse for source in sources)
        self.label = sources[0].label
        columns: dict[str, Column] = {}
        for source in sources:
            names = [column.name for column in source.columns]
            if columns and not self.sparse:
                check_same_columns(list(columns), names, sources[0].path, source.path)
            for column in source.columns:
                columns[column.name] = _join(columns.get(column.name, column), column)
            check_width(len(columns), sources[0].path.name)
        self.columns = tuple(columns.values())
        self._sizes = [source.path.stat().st_size for source in sources]

    def batches(self, size: int) -> Iterator[RawRows]:
        """Yield the rows of all files, at most `size` at a time and none from two files."""
        names = [column.name for column in self.columns]
        total, before = sum(self._sizes), 0
        for source, weight in zip(self._sources, self._sizes, strict=True):
            own = [column.name for column in source.columns]
            file = str(source.path)
            try:
                for batch in source.batches(size):
                    share = (before + batch.fraction * weight) / total
                    yield RawRows(batch.rows, arrange(batch, own, names), share, file)
            except TableError as error:
                raise TableError(f"{file}, {error}") from error
            before += weight


def arrange(batch: RawRows, own: Sequence[str], wanted: Sequence[str]) -> list[Cells]:
    """Reorder the columns of a batch; absent columns are filled with missing values.

    Parameters
    ----------
    batch : Batch
        Some rows.
    own : sequence of str
        Names of its columns.
    wanted : sequence of str
        Names of the columns to return.

    Returns
    -------
    list of Cells
        One entry for each wanted name.

    Examples
    --------
    >>> batch = RawRows(np.array([1, 2]), [["x", "y"], ["1", "2"]], 1.0)
    >>> arrange(batch, ["a", "b"], ["b", "c"])
    [['1', '2'], array([nan, nan])]
    """
    place = {name: i for i, name in enumerate(own)}
    return [
        batch.columns[place[name]] if name in place else np.full(len(batch.rows), np.nan)
        for name in wanted
    ]


def check_same_columns(first: Sequence[str], names: Sequence[str], path: Path, other: Path) -> None:
    """Refuse two files that have other columns; their order does not count.

    Parameters
    ----------
    first, names : sequence of str
        The columns of the two files.
    path, other : Path
        The two files, for the message.

    Raises
    ------
    TableError
        If a column is in one file only; the message names the file and the columns.

    Examples
    --------
    >>> check_same_columns(["a", "b"], ["b", "a"], Path("1.csv"), Path("2.csv"))
    >>> check_same_columns(["a", "b"], ["b"], Path("1.csv"), Path("2.csv"))
    Traceback (most recent call last):
    mist.io.source.TableError: 2.csv has no column 'a', which 1.csv has; files that are read as one
    must have the same columns
    """
    for here, there, has, lacks in ((first, names, path, other), (names, first, other, path)):
        known = set(there)
        only = [repr(name) for name in here if name not in known]
        if only:
            shown = ", ".join(only[:_NAMES_SHOWN]) + ", ..." * (len(only) > _NAMES_SHOWN)
            raise TableError(
                f"{lacks} has no column{'s' * (len(only) > 1)} {shown}, which {has} has; files "
                "that are read as one must have the same columns"
            )


def _join(one: Column, other: Column) -> Column:
    """Merge the declarations of a column in two files; drop those that differ."""
    if one.kind == "open" or other.kind == "open":
        return other if one.kind == "open" else one
    if one.kind != other.kind:
        return Column(one.name)
    if one.categories is None or other.categories is None:
        return Column(one.name, one.kind)
    return one._replace(categories=tuple(dict.fromkeys(one.categories + other.categories)))


class PartitionedSource(Source):
    """A file with additional columns that are constant in the file.

    Parameters
    ----------
    source : Source
        The file.
    constants : sequence of (Column, str)
        The columns and the value of each.
    """

    def __init__(self, source: Source, constants: Sequence[tuple[Column, str]]) -> None:
        self._source = source
        self.path = source.path
        here = {column.name for column in source.columns}
        # As in other readers, a column of the file has priority over one in its path.
        self._constants = [pair for pair in constants if pair[0].name not in here]
        self.columns = (*source.columns, *(column for column, _ in self._constants))

    def batches(self, size: int) -> Iterator[RawRows]:
        """Yield the rows from the first one on, at most `size` at a time."""
        for batch in self._source.batches(size):
            further = [[cell] * len(batch.rows) for _, cell in self._constants]
            yield batch._replace(columns=[*batch.columns, *further])


def partitions(folders: Sequence[Sequence[str]]) -> list[list[tuple[Column, str]]]:
    """Read columns from folders named ``column=value``, as Hive and Spark write them.

    Parameters
    ----------
    folders : sequence of sequence of str
        For each file, the folders that it is in.

    Returns
    -------
    list of list of (Column, str)
        Columns and values of each file. A column is numeric if all its values are numbers.

    Examples
    --------
    >>> partitions([("year=2024", "kind=a%20b"), ()])
    [[(Column(name='year', kind='number', categories=None), '2024'),
      (Column(name='kind', kind='text', categories=None), 'a b')], []]
    """
    found = [
        [(name, unquote(value)) for name, sign, value in map(_divide, parts) if sign]
        for parts in folders
    ]
    cells: dict[str, list[str]] = {}
    for pairs in found:
        for name, value in pairs:
            cells.setdefault(name, []).append(value)
    columns = {
        name: Column(name, "number" if _all_numbers(c) else "text") for name, c in cells.items()
    }
    return [
        [(columns[name], "" if value == _NO_PARTITION else value) for name, value in pairs]
        for pairs in found
    ]


def _divide(part: str) -> tuple[str, str, str]:
    return part.partition("=")


def _all_numbers(cells: Sequence[str]) -> bool:
    given = (cell for cell in cells if cell not in MISSING and cell != _NO_PARTITION)
    return all(as_number(cell) is not None for cell in given)
