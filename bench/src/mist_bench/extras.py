"""Which optional libraries are here."""

from __future__ import annotations

import importlib.util

__all__ = ["EXTRAS", "installed"]

EXTRAS = {"bench": "river"}
"""What the extra of a method brings."""


def installed(extra: str) -> bool:
    """Whether the library of an extra can be imported.

    Parameters
    ----------
    extra : str
        A key of `EXTRAS`.

    Returns
    -------
    bool
        True if it is there.
    """
    return importlib.util.find_spec(EXTRAS[extra]) is not None
