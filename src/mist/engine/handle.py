"""A state laid out in memory in the format of compiled code, to be passed as an address.

Every call of a compiled function from Python unpacks its arguments, array by array. A state has
about thirty arrays, and unpacking them takes longer than a row. A `Handle` does it once. It has the
addresses of the arrays that it was made of: when an array is replaced, another handle must be made.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import typeof, types
from numba.core.registry import cpu_target
from numba.extending import NativeValue, intrinsic, models, register_model, unbox

from mist.engine.compiled import compiles, exact

WORD = 8
"""Bytes of a word; memory for a layout is reserved in words."""


class Address(types.Type):
    """Type of the address at which a value is laid out; Python passes an int."""

    def __init__(self, value: types.Type) -> None:
        self.value = value
        super().__init__(name=f"Address({value})")


@register_model(Address)
class _AddressModel(models.OpaqueModel):
    pass


@unbox(Address)
def _unbox_address(typ, number, c):
    """Make a pointer of a Python int."""
    return NativeValue(c.pyapi.long_as_voidptr(number))


def _pointer(context, builder, address, value):
    """An address as a pointer to data of the type ``value``."""
    data = context.data_model_manager[value].get_data_type()
    return builder.bitcast(address, data.as_pointer())


@intrinsic
def _load(typingctx, address):
    """The value at an address. No reference is counted: the handle keeps the arrays alive."""

    def generate(context, builder, signature, arguments):
        pointer = _pointer(context, builder, arguments[0], address.value)
        return context.unpack_value(builder, address.value, pointer)

    return address.value(address), generate


@intrinsic
def _store(typingctx, address, value):
    """Write a value to an address, in the layout that `_load` reads."""

    def generate(context, builder, signature, arguments):
        pointer = _pointer(context, builder, arguments[0], value)
        context.pack_value(builder, value, arguments[1], pointer)
        return context.get_dummy_value()

    return types.none(address, value), generate


@exact
def _lay_out(address, value):
    """Write the parts of a handle. References are not counted, so none is stored either."""
    _store(address, value)


def _as_they_are(handle):
    return handle


parts_of = _load if compiles() else _as_they_are
"""The parts at an address; without compiled code the address is the tuple of parts itself."""


class Layout:
    """Entry points compiled for handles whose parts have the same types."""

    def __init__(self, parts: Any) -> None:
        value = typeof(parts)
        context = cpu_target.target_context
        self.type = Address(value)
        self.words = -(-context.get_abi_sizeof(context.get_data_type(value)) // WORD)
        self.lay_out = _lay_out.standalone.compile((self.type, value))
        self.entries: dict[Any, Any] = {}

    def entry(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        """The entry point of a compiled function that takes a handle before its other arguments."""
        key = (function, *map(kind_of_value, arguments))
        if key not in self.entries:
            self.entries[key] = function.standalone.compile(self._types(arguments))
        return self.entries[key]

    def address(self, function: Any, arguments: tuple[Any, ...]) -> int:
        """Address of such a function, for compiled code that is not linked with it."""
        self.entry(function, arguments)
        made = function.standalone.overloads[self._types(arguments)]
        return int(made.library.get_pointer_to_function(made.fndesc.llvm_func_name))

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
    """

    __slots__ = ("address", "layout", "memory", "parts")

    def __init__(self, parts: tuple[Any, ...], kinds: list[Any] | None = None) -> None:
        self.parts = parts
        self.address: Any = parts
        if not compiles():
            return
        kind = kind_of_value(parts) if kinds is None else (type(parts), *kinds)
        self.layout = _LAYOUTS.get(kind) or _LAYOUTS.setdefault(kind, Layout(parts))
        self.memory = np.empty(self.layout.words, np.int64)
        self.address = self.memory.ctypes.data
        self.layout.lay_out(self.address, parts)

    def __reduce__(self) -> Any:
        raise TypeError("a handle is an address in this process: it cannot be copied")

    def call(self, function: Any, *arguments: Any) -> Any:
        """Call a compiled function that takes a handle before other arguments."""
        if not compiles():
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
