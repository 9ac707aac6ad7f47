"""Text columns of a row, which a model has as 0/1 columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

__all__ = ["TextColumn", "text_columns"]


class TextColumn(NamedTuple):
    """A text column of a row and its 0/1 columns.

    Attributes
    ----------
    name : str
        The column.
    text : str
        Its text in the row; empty if it is missing.
    columns : tuple of int
        Its 0/1 columns in the model.
    """

    name: str
    text: str
    columns: tuple[int, ...]


def text_columns(
    columns: Sequence[str], values: Sequence[float], names: Iterable[Any]
) -> tuple[TextColumn, ...]:
    """Find the 0/1 columns of text columns by their names, ``"column=text"``.

    Parameters
    ----------
    columns : sequence of str
        Columns of the model.
    values : sequence of float
        The row.
    names : iterable
        Names of the text columns; those without a 0/1 column are left out.

    Examples
    --------
    >>> text_columns(["size", "hue=blue", "hue=red"], [2.0, 0.0, 1.0], ["hue"])
    (TextColumn(name='hue', text='red', columns=(1, 2)),)
    """
    found = []
    for name in names:
        start = f"{name}="
        own = tuple(j for j, column in enumerate(columns) if column.startswith(start))
        missing = any(values[j] != values[j] for j in own)
        texts = [columns[j].removeprefix(start) for j in own if values[j] == 1.0]
        if own:
            text = "" if missing else next(iter(texts), "a text never learnt")
            found.append(TextColumn(str(name), text, own))
    return tuple(found)
