"""Texts of users where they are shown: no control character gets through."""

from __future__ import annotations

__all__ = ["printable"]


def printable(text: str) -> str:
    r"""Escape what would move the cursor, colour a terminal, break a line or show nothing.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        The same, control characters and their like as ``\x1b`` or ``\u202e``.

    Examples
    --------
    >>> print(printable("a\x1b[31m\né"))
    a\x1b[31m\né
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
