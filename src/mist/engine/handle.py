"""A state laid out in memory in the format of compiled code, to be passed as an address.

Every call of a compiled function from Python unpacks its arguments, array by array. A state has
about thirty arrays, and unpacking them takes longer than a row. A `Handle` does it once. It has the
addresses of the arrays that it was made of: when an array is replaced, another handle must be made.
Without Numba's internals a handle passes the parts themselves, at every call.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import typeof, types

from mist.engine.compiled import exact, inlined
from mist.engine.numba_access import internals

WORD = 8
"""Bytes of a word; memory for a layout is reserved in words."""


@exact
def _lay_out(address, value):
    """Write the parts of a handle. References are not counted, so none is stored either."""
    _store(address, value)


def _as_they_are(handle):
    return handle


_store: Any = internals.store if internals else None
parts_of: Any = internals.load if internals else inlined(_as_they_are)
"""The parts at an address; without Numba's internals the address is the tuple of parts itself."""


class Layout:
    """Entry points compiled for handles whose parts have the same types."""

    def __init__(self, parts: Any) -> None:
        value = typeof(parts)
        self.type = internals.Address(value)
        self.words = -(-internals.bytes_at_address(value) // WORD)
        self.lay_out = internals.entry_point(_lay_out.standalone, (self.type, value))
        self.entries: dict[Any, Any] = {}

    def entry(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        """The entry point of a compiled function that takes a handle before its other arguments."""
        key = (function, *map(kind_of_value, arguments))
        if key not in self.entries:
            self.entries[key] = internals.entry_point(function.standalone, self._types(arguments))
        return self.entries[key]

    def address(self, function: Any, arguments: tuple[Any, ...]) -> int:
        """Address of such a function, for compiled code that is not linked with it."""
        return int(internals.address_of(function.standalone, self._types(arguments)))

    def _types(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        return self.type, *map(_type_of, arguments)


_LAYOUTS: dict[Any, Layout] = {}
"""Layouts by the kind of their parts: models with the same types share compiled code."""


class Handle:
    """The parts of a state, laid out at an address for compiled code.

    Parameters
    ----------
    parts : tuple
        Named tuples of arrays, numbers and None. The handle keeps them alive.
    kinds : list or None
        `kind_of_value` of each part, if known.

    Attributes
    ----------
    address : int or tuple
        What compiled functions take; see `parts_of`.
    layout : Layout or None
        None without Numba's internals.
    """

    __slots__ = ("address", "layout", "memory", "parts")

    def __init__(self, parts: tuple[Any, ...], kinds: list[Any] | None = None) -> None:
        self.parts = parts
        self.address: Any = parts
        self.layout: Any = None
        if internals is None:
            return
        kind = kind_of_value(parts) if kinds is None else (type(parts), *kinds)
        layout = _LAYOUTS.get(kind) or _LAYOUTS.setdefault(kind, Layout(parts))
        self.layout = layout
        self.memory = np.empty(layout.words, np.int64)
        self.address = self.memory.ctypes.data
        layout.lay_out(self.address, parts)

    def __reduce__(self) -> Any:
        raise TypeError("a handle is an address in this process: it cannot be copied")

    def call(self, function: Any, *arguments: Any) -> Any:
        """Call a compiled function that takes a handle before other arguments."""
        if self.layout is None:
            return function(self.address, *arguments)
        return self.layout.entry(function, arguments)(self.address, *arguments)


def kind_of_value(value: Any) -> Any:
    """A key for the type that Numba gives to a value: quicker to find than that type."""
    if isinstance(value, np.ndarray):
        return type(value), value.dtype, value.ndim, value.flags.c_contiguous
    if isinstance(value, tuple):
        return type(value), *map(kind_of_value, value)
    return type(value)


def _type_of(value: Any) -> Any:
    """Numba's type of a value, with read-only arrays as writable: one compiled code reads both."""
    found = typeof(value)
    return found.copy(readonly=False) if isinstance(found, types.Array) else found
