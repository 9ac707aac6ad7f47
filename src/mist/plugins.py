"""Extensions from other installed packages, declared by entry points of four groups.

- ``mist.commands``: a `typer.Typer` with one command, which runs as ``mist NAME``
- ``mist.presets``: a mapping of names to `mist.presets.Preset`, for ``mist run --model``
- ``mist.datasets``: an iterable of `mist.datasets.Entry`, for `mist.datasets.load`
- ``mist.classes``: a class that model files may contain, by its name in them

Nothing is imported until it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["HINT", "added"]

HINT = "pip install 'mist-tree[bench]' (in a checkout: pip install ./bench)"
"""Installs the package that holds the benchmark, its methods and its data sets."""


@cache
def added(group: str) -> Mapping[str, EntryPoint]:
    """Entry points of a group.

    Parameters
    ----------
    group : str
        Name of the group without ``mist.``.

    Returns
    -------
    mapping of str to EntryPoint
        By name, not loaded yet.

    Examples
    --------
    >>> added("nothing")
    {}
    """
    # Reading the list of installed packages takes a while: `mist --help` does without it.
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=f"mist.{group}")}
