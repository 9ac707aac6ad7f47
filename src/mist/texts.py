"""Texts of users where they are shown: no control character gets through."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["one_line", "printable", "without_controls"]

_MOST_SHOWN = 1500
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(value: Any) -> str:
    r"""Escape what would move the cursor, colour a terminal, break a line or show nothing.

    Parameters
    ----------
    value : object
        A text, or a label or name that is shown as one.

    Returns
    -------
    str
        Its text, control characters and their like as ``\x1b`` or ``\u202e``.

    Examples
    --------
    >>> print(printable("a\x1b[31m\né"), printable(3))
    a\x1b[31m\né 3
    """
    text = str(value)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def without_controls(text: str) -> str:
    r"""Write control characters out, other than ends of lines and tabs.

    Parameters
    ----------
    text : str
        A whole document with names of users in it.

    Returns
    -------
    str
        What XML and HTML may hold.

    Examples
    --------
    >>> print(without_controls("<b>\x1b[2J</b>\n<i>"))
    <b>\x1b[2J</b>
    <i>
    """
    return _CONTROL.sub(lambda found: printable(found[0]), text)


def one_line(message: str) -> str:
    r"""Make one line of a message with texts from a file in it, and none that fills the screen.

    Parameters
    ----------
    message : str
        The message.

    Returns
    -------
    str
        It, `printable`; of more than 1500 characters the middle is left out.

    Examples
    --------
    >>> print(one_line("no column\n"), len(one_line("x" * 10**6)))
    no column\n 1505
    """
    text = printable(message)
    half = _MOST_SHOWN // 2
    return text if len(text) <= _MOST_SHOWN else f"{text[:half]} ... {text[-half:]}"
