"""Limits on requests, and the error of a request that is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Limits", "Refused"]


@dataclass(frozen=True)
class Limits:
    """What one request and one model may take.

    Attributes
    ----------
    body_bytes : int
        Most bytes of a body.
    rows : int
        Most rows of a request.
    columns : int
        Most columns of a row, and of the model after encoding, with one for each text.
    classes : int
        Most classes of the model.
    text : int
        Most characters of a text, a label, a name or an id.
    seconds : float
        Longest time for a request; after it the answer is 503.
    waiting : int
        Most calls that wait to be learnt; above it the answer is 429.
    waiting_bytes : int
        Most bytes of their bodies together, likewise; also of the bodies of all requests that are
        not yet answered.
    """

    body_bytes: int = 8 << 20
    rows: int = 10_000
    columns: int = 1000
    classes: int = 1000
    text: int = 1000
    seconds: float = 30.0
    waiting: int = 1000
    waiting_bytes: int = 64 << 20


class Refused(ValueError):
    """A request that is refused; nothing of it was learnt.

    Parameters
    ----------
    text : str
        What is wrong, and the way out.
    status : int, default=422
        Status of the response.
    row : int or None, default=None
        Row of the request, from 0.
    column : str or None, default=None
        Its column.

    Examples
    --------
    >>> Refused("row 1: column 'size' holds a list", row=1, column="size").content()
    {'error': "row 1: column 'size' holds a list", 'row': 1, 'column': 'size'}
    """

    def __init__(
        self, text: str, status: int = 422, row: int | None = None, column: str | None = None
    ) -> None:
        super().__init__(text)
        self.status = status
        self.row = row
        self.column = column

    def content(self) -> dict[str, Any]:
        """Return the body of the response."""
        found: dict[str, Any] = {"error": str(self)}
        if self.row is not None:
            found["row"] = self.row
        if self.column is not None:
            found["column"] = self.column
        return found
