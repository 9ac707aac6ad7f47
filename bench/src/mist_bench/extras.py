"""Check which optional libraries are installed."""

from __future__ import annotations

import importlib.util

__all__ = ["EXTRAS", "installed"]

EXTRAS = {"bench": "river"}
"""The library that each extra installs."""


def installed(extra: str) -> bool:
    """Return whether the library of an extra can be imported.

    Parameters
    ----------
    extra : str
        A key of `EXTRAS`.

    Returns
    -------
    bool
    """
    return importlib.util.find_spec(EXTRAS[extra]) is not None
