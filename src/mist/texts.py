"""Escaping of control characters in texts of users before they are shown."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["one_line", "printable", "without_controls"]

_MOST_SHOWN = 1500
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(value: Any) -> str:
    r"""Escape characters that move the cursor, colour a terminal, break a line or are invisible.

    Parameters
    ----------
    value : object
        A text, label or name.

    Returns
    -------
    str
        Its text, with control and other unprintable characters as ``\x1b`` or ``\u202e``.

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
    r"""Escape control characters, except line ends and tabs.

    Parameters
    ----------
    text : str
        A document that contains texts of users.

    Returns
    -------
    str
        The document with only characters that XML and HTML allow.

    Examples
    --------
    >>> print(without_controls("<b>\x1b[2J</b>\n<i>"))
    <b>\x1b[2J</b>
    <i>
    """
    return _CONTROL.sub(lambda found: printable(found[0]), text)


def one_line(message: str) -> str:
    r"""Turn a message that contains texts from a file into one line of limited length.

    Parameters
    ----------
    message : str
        The message.

    Returns
    -------
    str
        The `printable` message; the middle is left out if it has more than 1500 characters.

    Examples
    --------
    >>> print(one_line("no column\n"), len(one_line("x" * 10**6)))
    no column\n 1505
    """
    text = printable(message)
    half = _MOST_SHOWN // 2
    return text if len(text) <= _MOST_SHOWN else f"{text[:half]} ... {text[-half:]}"
