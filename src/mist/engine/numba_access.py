"""Which way MIST uses Numba: with its internals, through its public interface only, or not at all.

The way is chosen when this module is imported:

``"internals"``
    With `mist.engine.numba_internals`, if its names can be imported and its `check` passes. What
    counts is what Numba can do, not its version.
``"public"``
    Without, if that fails or the environment variable ``MIST_NUMBA`` is ``public``. Results are the
    same bit for bit. Compiling takes longer, and so do calls, most of all for single rows.
``"python"``
    Nothing is compiled, under NUMBA_DISABLE_JIT.

With ``MIST_NUMBA=internals`` the import fails with the reason why internals cannot be used.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from numba import config

from mist.engine.compiled_sources import digest_of_code

__all__ = ["COMPILES", "WAY", "WHY", "internals"]

VARIABLE = "MIST_NUMBA"
"""Environment variable that chooses the way."""

COMPILES = not getattr(config, "DISABLE_JIT", False)
"""Whether functions are compiled."""


def _checked() -> Any:
    """The module with internals, if everything in it works."""
    from mist.engine import numba_internals

    folder = Path(__file__).parent
    numba_internals.check(lambda saved: digest_of_code(saved, folder))
    return numba_internals


def _choose(wanted: str) -> tuple[str, Any, str]:
    """The way, the module with internals or None, and the reason why they are not used."""
    if wanted not in ("", "public", "internals"):
        raise ValueError(f"{VARIABLE} must be public, internals or empty, but is {wanted!r}")
    if not COMPILES:
        return "python", None, "NUMBA_DISABLE_JIT is set"
    if wanted == "public":
        return "public", None, f"{VARIABLE} is {wanted}"
    try:
        return "internals", _checked(), ""
    except Exception as error:
        if wanted:
            raise
        return "public", None, f"{type(error).__name__}: {error}"


WAY: str
"""``"internals"``, ``"public"`` or ``"python"``."""

internals: Any
"""`mist.engine.numba_internals`, or None."""

WHY: str
"""Why internals are not used; empty if they are."""

WAY, internals, WHY = _choose(os.environ.get(VARIABLE, ""))

if WAY == "public":
    logging.getLogger("mist").info("Numba is used without its internals: %s", WHY)
