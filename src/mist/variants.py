"""Names with changed options, such as ``mist-g+delta=0.01``.

They name a model or a data set with any of its options changed: on the command line, in result
files and in the tables of a sweep.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

__all__ = ["Variants", "entitle", "is_variant", "join_name", "split_name", "write_option"]

T = TypeVar("T")

_OPTION = re.compile(r"\+(?=[A-Za-z_]\w*=)")


def split_name(name: str) -> tuple[str, dict[str, Any]]:
    """Split the name of a variant into its base name and its options.

    Parameters
    ----------
    name : str
        A base name and any number of ``+option=value``. A value is read as a Python literal if
        possible, else as text.

    Returns
    -------
    base : str
        Base name.
    options : dict
        Values by option, in the order of the name.

    Raises
    ------
    ValueError
        If an option is given twice.

    Examples
    --------
    >>> split_name("mist-g+inheritance=sketch+delta=0.01")
    ('mist-g', {'inheritance': 'sketch', 'delta': 0.01})
    >>> split_name("mist-g")
    ('mist-g', {})
    """
    base, *parts = _OPTION.split(name)
    options: dict[str, Any] = {}
    for part in parts:
        option, _, text = part.partition("=")
        if option in options:
            raise ValueError(f"{name}: {option} is given twice, give it once")
        try:
            options[option] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            options[option] = text
    return base, options


def write_option(value: Any) -> str:
    """Write the value of an option as text for a name.

    Parameters
    ----------
    value : object
        A number, a text, a bool or None.

    Returns
    -------
    str

    Examples
    --------
    >>> write_option(1e-3), write_option("sketch"), write_option(None)
    ('0.001', 'sketch', 'None')
    """
    return value if isinstance(value, str) else repr(value)


def join_name(base: str, **options: Any) -> str:
    """Name a variant.

    Parameters
    ----------
    base : str
        Base name; it may already have options.
    **options
        Options to add, as for `write_option`.

    Returns
    -------
    str

    Examples
    --------
    >>> join_name("mist-g", sketch_size=16)
    'mist-g+sketch_size=16'
    """
    return base + "".join(f"+{name}={write_option(value)}" for name, value in options.items())


def entitle(title: str, options: Mapping[str, Any]) -> str:
    """Return the display name of a variant.

    Parameters
    ----------
    title : str
        Display name of the base.
    options : mapping of str to object
        As for `write_option`.

    Returns
    -------
    str

    Examples
    --------
    >>> entitle("MIST-G", {"delta": 0.2})
    'MIST-G, delta=0.2'
    """
    return ", ".join([title, *(f"{name}={write_option(v)}" for name, v in options.items())])


def is_variant(name: str) -> bool:
    """Return whether a name has options.

    Parameters
    ----------
    name : str

    Returns
    -------
    bool

    Examples
    --------
    >>> is_variant("mist-g+delta=0.2"), is_variant("mist-g")
    (True, False)
    """
    return _OPTION.search(name) is not None


class Variants(Mapping[str, T]):
    """Mapping of names to entries that also has every variant of an entry.

    Iteration and length cover the base names only; a variant is made on access.

    Parameters
    ----------
    entries : mapping of str to object
        Entries by base name.
    vary : callable
        Called as ``vary(name, entry, options)``; returns the entry with these options.

    Examples
    --------
    >>> sizes = Variants({"small": {"rows": 10}}, lambda name, entry, options: entry | options)
    >>> sizes["small+rows=20"], "small+rows=20" in sizes, "large+rows=20" in sizes, list(sizes)
    ({'rows': 20}, True, False, ['small'])
    """

    def __init__(
        self, entries: Mapping[str, T], vary: Callable[[str, T, dict[str, Any]], T]
    ) -> None:
        self._entries = dict(entries)
        self._vary = vary

    def __getitem__(self, name: str) -> T:
        if name in self._entries or not isinstance(name, str):
            return self._entries[name]
        base, options = split_name(name)
        entry = self._entries[base]
        return self._vary(base, entry, options)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
