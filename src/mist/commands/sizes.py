"""Sizes of memory in options: ``--max-memory 50MB``."""

from __future__ import annotations

import re

__all__ = ["parse_size"]

_UNITS = {"": 1, "B": 1} | {
    f"{letter}{mark}B": base**power
    for power, letter in enumerate("KMGT", start=1)
    for mark, base in (("", 1000), ("I", 1024))
}
_FORM = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z]*)", re.ASCII)


def parse_size(option: str, text: str) -> int:
    """Return a size in bytes.

    Parameters
    ----------
    option : str
        The option, for messages.
    text : str
        A number with a unit: ``B``, ``KB``, ``MB``, ``GB`` and ``TB`` are powers of 1,000, ``KiB``,
        ``MiB``, ``GiB`` and ``TiB`` powers of 1,024, in either case. Without a unit, bytes.

    Returns
    -------
    int
        Whole bytes, rounded down.

    Raises
    ------
    ValueError
        If the text has another form.

    Examples
    --------
    >>> parse_size("--max-memory", "50MB"), parse_size("--max-memory", "1.5 GiB")
    (50000000, 1610612736)
    """
    found = _FORM.fullmatch(text.strip())
    unit = None if found is None else _UNITS.get(found[2].upper())
    if found is None or unit is None:
        raise ValueError(f"{option} {text!r} is not a size such as 50MB, 1.5GiB or 400000 (bytes)")
    return int(float(found[1]) * unit)
