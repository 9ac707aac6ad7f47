"""All that MIST uses of Numba beyond its public interface.

Other modules take these names from `mist.engine.numba_access`, which imports this one only if it is
wanted, and gives it up if an import, a call or `check` fails. Then the engine uses the public
interface: results are the same, but compiling and single rows take longer. So a trick belongs here
only if a plain function of Numba can replace it.

Each trick says what it buys, and what happens where Numba does not do as expected.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit, typeof, types
from numba._dynfunc import make_function
from numba.core import cgutils
from numba.core.caching import Cache, CompileResultCacheImpl, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.event import Listener, install_listener, register, trigger_event
from numba.core.registry import cpu_target
from numba.core.typed_passes import NativeLowering
from numba.extending import NativeValue, intrinsic, models, register_model, unbox

from mist.engine.ready_code import ReadyCode, Target, find_ready_code

# --- functions that are compiled for inlining only ------------------------------------------------
#
# Numba optimises every function and makes machine code of it. A function that others call is also
# linked into each of them, and optimised and translated there again. Where loops, rows, leaves and
# cells are five functions deep, that is most of the time of a first call. An inline-only function
# is compiled as far as its callers need it: typed, lowered and linked, and no further.
#
# This halves the first start. If the steps of Numba's compiler change, compiling fails. If sums
# were not optimised before they are linked, their order could depend on the caller, and so could
# the last bits of results.


class _SumLibrary(JITCodeLibrary):
    """A library that is optimised, but not made machine code, before it is linked into callers.

    For sums that may be reordered (`mist.engine.compiled.summed`): they get their order here, so
    that it is the same in all callers.
    """

    def _finalize_final_module(self) -> None:
        # Numba's method without its last step, which makes machine code.
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class _InlineOnlyLibrary(_SumLibrary):
    """A library that is optimised in its callers only."""

    def _optimize_final_module(self) -> None:
        pass


@register_pass(mutates_CFG=True, analysis_only=False)
class _InlineOnlyLowering(NativeLowering):
    """Lowering into one of the libraries above, without an entry point for Python."""

    _name = "mist_part_lowering"

    def run_pass(self, state: Any) -> bool:
        kind = _SumLibrary if state.flags.fastmath else _InlineOnlyLibrary
        state.library = kind(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        changed: bool = super().run_pass(state)
        lowered = state["cr"]
        what, keep = lowered.fndesc, (state.library,)
        # Numba finds a callee by its entry point. This one has the address 0 and is never called.
        entry = make_function(what.lookup_module(), what.qualname, "", 0, lowered.env, keep)
        state.targetctx.insert_user_function(entry, what, [state.library])
        state["cr"] = lowered._replace(cfunc=entry)
        return changed


class _InlineOnlyCompiler(CompilerBase):
    """Numba's compiler with `_InlineOnlyLowering` as its lowering pass."""

    def define_pipelines(self) -> list[Any]:
        """Return the one pipeline."""
        steps = DefaultPassBuilder.define_nopython_pipeline(self.state)
        steps.passes = [
            (_InlineOnlyLowering if step is NativeLowering else step, name)
            for step, name in steps.passes
        ]
        steps._finalized = False
        steps.finalize()
        return [steps]


# --- options of ``njit`` that Numba does not document ---------------------------------------------

STANDALONE: Any = {"no_cfunc_wrapper": True}
"""For calls from Python: no function is passed to C code as a pointer, so no wrapper for that."""

INLINE_ONLY: Any = {
    **STANDALONE,
    "no_cpython_wrapper": True,
    "pipeline_class": _InlineOnlyCompiler,
}
"""For calls from compiled code."""

UNCOUNTED: Any = {"_nrt": False}
"""References to arrays are not counted.

At every call that would be done for each array of a tree, which takes longer than a row. If such a
function counted after all, it would release arrays from `load` that it never took, and crash.
"""

COUNTED: Any = {"_nrt": True}
"""Said explicitly: otherwise a function has the setting of the first one that calls it."""

INLINED: Any = {"forceinline": True}
"""Inlined in all callers: a call would copy all array descriptors. Without it rows take longer."""


# --- values at an address -------------------------------------------------------------------------
#
# A call from Python unpacks its arguments, array by array. For a state that takes longer than a
# row. So its parts are laid out in memory once, as compiled code has them, and calls pass the
# address. If Numba changed that layout between `store` and `load`, arrays would be read from wrong
# places; both ask Numba's data models for it, and `check` compares values.


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
def load(typingctx, address):
    """The value at an address. No reference is counted: the handle keeps the arrays alive."""

    def generate(context, builder, signature, arguments):
        pointer = _pointer(context, builder, arguments[0], address.value)
        return context.unpack_value(builder, address.value, pointer)

    return address.value(address), generate


@intrinsic
def store(typingctx, address, value):
    """Write a value to an address, in the layout that `load` reads."""

    def generate(context, builder, signature, arguments):
        pointer = _pointer(context, builder, arguments[0], value)
        context.pack_value(builder, value, arguments[1], pointer)
        return context.get_dummy_value()

    return types.none(address, value), generate


def bytes_at_address(value: types.Type) -> int:
    """Bytes that a value of a type takes in the layout of `store`."""
    context = cpu_target.target_context
    return int(context.get_abi_sizeof(context.get_data_type(value)))


# --- entry points ---------------------------------------------------------------------------------


def entry_point(dispatcher: Any, signature: tuple[Any, ...]) -> Any:
    """The compiled function for a signature, which takes no time to find types of arguments.

    It does not check types either: other arguments than those of the signature may crash.
    """
    return dispatcher.compile(signature)


def address_of(dispatcher: Any, signature: tuple[Any, ...]) -> int:
    """Address of a compiled function, for compiled code that is not linked with it."""
    entry_point(dispatcher, signature)
    made = dispatcher.overloads[signature]
    return int(made.library.get_pointer_to_function(made.fndesc.llvm_func_name))


def calling(result: types.Type) -> Any:
    """An intrinsic that calls a compiled function, of this result type, by its address.

    So the checks of single rows are compiled once for all models, and one call from Python does
    everything. A function of another type at the address would crash, and so would another
    convention of calls; both sides of the call are compiled with the same one.
    """

    @intrinsic
    def call(typingctx, address, arguments):
        def generate(context, builder, signature, given):
            convention = context.call_conv
            called = convention.get_function_type(result, arguments.types).as_pointer()
            status, out = convention.call_function(
                builder,
                builder.inttoptr(given[0], called),
                result,
                arguments.types,
                cgutils.unpack_tuple(builder, given[1]),
            )
            with cgutils.if_unlikely(builder, status.is_error):
                convention.return_status_propagate(builder, status)
            return out

        return result(address, arguments), generate

    return call


# --- compiled code on disk ------------------------------------------------------------------------


class _Files(CompileResultCacheImpl):
    """Files named without the line of the function, which changes with any line above it."""

    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        name = fullname.replace("<", "").replace(">", "")
        return f"{name}.py{sys.version_info[0]}{sys.version_info[1]}{abiflags}"


class SavedCode(Cache):
    """Compiled code of a function on disk, valid for a digest of all code that it may contain.

    Numba's own cache compiles again when the file of the function changes, even in a comment, and
    raises an error where code cannot be saved. If Numba changed the class, code would not be saved,
    or ``MIST_NUMBA=public`` would be needed. Wrong code cannot be loaded, because the digest is
    compared by Numba.

    Parameters
    ----------
    dispatcher : numba dispatcher
        The function; from now on, what it compiles is saved and read.
    digest : callable
        Maps the folder of the saved code to the digest.
    tell : callable
        Is called with a text if code cannot be saved.
    ready : ReadyCode or None
        Code that is read, and never written, where the folder has none.

    Raises
    ------
    RuntimeError
        If there is no folder that can be written to.
    """

    _impl_class: Any = None

    def __init__(
        self,
        dispatcher: Any,
        digest: Callable[[str], str],
        tell: Callable[[str], None],
        ready: ReadyCode | None = None,
    ) -> None:
        function = dispatcher.py_func
        # Functions in notebooks and in archives are not in files of which a digest was made.
        in_file = Path(function.__code__.co_filename).is_file()
        self._impl_class = _Files if in_file else CompileResultCacheImpl
        super().__init__(function)
        files, stamp = self._cache_file, digest(self.cache_path)
        files._source_stamp = stamp if in_file else (stamp, files._source_stamp)
        self._ready, self._ready_files = ready, None
        if ready is not None and in_file:
            folder = ready.of(Path(function.__code__.co_filename).parent)
            self._ready_files = IndexDataCacheFile(
                str(folder), self._impl.filename_base, files._source_stamp
            )
        self._tell = tell
        dispatcher._cache = self

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Read what was compiled for a signature: here, else by those who made the package."""
        found = super().load_overload(sig, target_context)
        if found is not None or self._ready is None or self._ready_files is None:
            return found
        signature, _, code = self._index_key(sig, target_context.codegen())
        data = self._ready_files.load((signature, self._ready.target, code))
        return None if data is None else self._impl.rebuild(target_context, data)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save what was compiled for a signature; that it cannot may show only now."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            self._tell(f"{self.cache_path}: {error.strerror}")


def host_target() -> Target:
    """What machine code is made for here."""
    system, processor, features = cpu_target.target_context.codegen().magic_tuple()
    return system, processor, features


ready = find_ready_code(host_target())
"""Compiled code that came with this package, if it can be used."""


# --- compilations ---------------------------------------------------------------------------------

_KIND = "numba:compile"


class _Listener(Listener):
    """Passes the Python function of each event on. If events changed, nothing would be reported."""

    def __init__(self, start: Callable[[Any], None], end: Callable[[Any], None]) -> None:
        self._start, self._end = start, end

    def on_start(self, event: Any) -> None:
        self._start(event.data["dispatcher"].py_func)

    def on_end(self, event: Any) -> None:
        self._end(event.data["dispatcher"].py_func)


@contextmanager
def listening(start: Callable[[Any], None], end: Callable[[Any], None]) -> Iterator[None]:
    """Call functions at the start and the end of each compilation in the block."""
    with install_listener(_KIND, _Listener(start, end)):
        yield


def listen(start: Callable[[Any], None], end: Callable[[Any], None]) -> None:
    """Call functions at the start and the end of each compilation from now on."""
    register(_KIND, _Listener(start, end))


# --- whether all of that works --------------------------------------------------------------------

_EXACT = {"error_model": "numpy", "nogil": True, **UNCOUNTED}


@njit(**_EXACT, **INLINED, **INLINE_ONLY, fastmath={"reassoc", "nsz", "contract"})
def _sum(values):
    total = 0.0
    for k in range(values.size):
        total += values[k]
    return total


@njit(**_EXACT, **INLINE_ONLY)
def _scaled(values, nothing, factor):
    return 0.0 if nothing is not None else _sum(values) * factor


@njit(**_EXACT, **STANDALONE)
def _write(address, value):
    store(address, value)


@njit(**_EXACT, **STANDALONE)
def _evaluate(address, more):
    values, nothing, factor = load(address)
    return _scaled(values, nothing, factor) + more


_call_float = calling(types.float64)


@njit(error_model="numpy", **STANDALONE, **COUNTED)
def _call_twice(at, address):
    more = np.ones(1)
    return _call_float(at, (address, _call_float(at, (address, more[0]))))


def _listens() -> bool:
    """Whether events arrive."""
    heard: list[Any] = []
    with (
        listening(heard.append, heard.append),
        trigger_event(_KIND, data={"dispatcher": _evaluate}),
    ):
        pass
    return heard == [_evaluate.py_func] * 2


def check(digest: Callable[[str], str]) -> None:
    """Try every trick on a small example.

    What it compiles is saved, so that it takes milliseconds at later starts.

    Parameters
    ----------
    digest : callable
        As for `SavedCode`.

    Raises
    ------
    Exception
        Of any kind, if a trick does not work.
    """
    for dispatcher in (_write, _evaluate, _call_twice):
        try:
            SavedCode(dispatcher, digest, lambda _: None, ready)
        except RuntimeError:  # no folder can be written to
            break
    parts = (np.arange(1.0, 5.0), None, 0.5)
    value = typeof(parts)
    memory = np.empty(-(-bytes_at_address(value) // 8), np.int64)
    kind, place = Address(value), memory.ctypes.data
    held = sys.getrefcount(parts[0])
    entry_point(_write, (kind, value))(place, parts)
    at = address_of(_evaluate, (kind, types.float64))
    found = entry_point(_call_twice, (types.int64, kind))(at, place)
    if found != 11.0 or sys.getrefcount(parts[0]) != held:
        raise RuntimeError("values at an address are not what was written there")
    if not _listens():
        raise RuntimeError("compilations are not reported")
