"""Compiled code that comes with the package, so that a first start need not compile.

A wheel may have a folder of it (``make wheel``). It is made for one version of Python and of Numba,
and for a stated processor, which lacks the newest instructions; a processor must have all of them.
It is used where a user's own folder has nothing, and only if the code of the package is, apart from
comments, that from which it was made. Whatever is not there is compiled as usual.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

__all__ = ["FOLDER", "TARGET", "VARIABLE", "ReadyCode", "Target", "find_ready_code"]

VARIABLE = "MIST_READY_CODE"
"""Environment variable: with ``0`` everything is compiled for the processor at hand."""

FOLDER = Path(__file__).parent.parent / "ready_code"
"""Where a wheel has compiled code: a folder for each folder of sources."""

TARGET = "target.json"
"""The file in it that says for what the code is."""

Target = tuple[str, str, str]
"""What machine code is made for: system, processor, and features such as ``+avx2,+fma``."""


class ReadyCode(NamedTuple):
    """A folder of compiled code."""

    folder: Path
    target: Target

    def of(self, source: Path) -> Path:
        """The folder of compiled code for a folder of sources of this package."""
        return self.folder / source.relative_to(FOLDER.parent)


def find_ready_code(host: Target, folder: Path = FOLDER) -> ReadyCode | None:
    """Return the compiled code that came with the package, if it can run here.

    Parameters
    ----------
    host : Target
        What Numba compiles for here.
    folder : Path
        Where to look.

    Returns
    -------
    ReadyCode or None
        None if there is none, if the processor lacks a feature, or if nobody wants it.
    """
    if os.environ.get(VARIABLE) == "0":
        return None
    with suppress(OSError, ValueError):
        system, processor, features = json.loads((folder / TARGET).read_text())
        if system == host[0] and _needed(features) <= _needed(host[2]):
            return ReadyCode(folder, (system, processor, features))
    return None


def _needed(features: str) -> set[str]:
    """Features that must be there; those with a minus sign are absent."""
    return {name for name in features.split(",") if name.startswith("+")}
