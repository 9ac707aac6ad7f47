"""How the engine's functions are compiled, and saved on disk.

The decorators at the end (`exact`, `allocating`, `undivided`, `inlined`, `summed`) mark compiled
functions and choose the options of Numba. Under NUMBA_DISABLE_JIT they return the plain function.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, update_wrapper
from inspect import getfile
from pathlib import Path
from threading import RLock
from typing import Any

from numba import njit, typeof
from numba.extending import typeof_impl

from mist.engine.compilations import log_compilations
from mist.engine.compiled_sources import PACKAGE, digest_of_code
from mist.engine.numba_access import COMPILES, internals

log_compilations()


def _undocumented(*names: str) -> dict[str, Any]:
    """Options of Numba that only `mist.engine.numba_internals` knows; none without it."""
    found: dict[str, Any] = {}
    for name in names if internals else ():
        found |= getattr(internals, name)
    return found


_COUNTED, _UNCOUNTED = _undocumented("COUNTED"), _undocumented("UNCOUNTED")
_INLINED = _undocumented("INLINED", "UNCOUNTED")

OVERLOADED: Any = {"error_model": "numpy", **_INLINED}
"""Options of overloads that are compiled like `inlined` functions."""

OVERLOADED_ALLOCATING: Any = {"error_model": "numpy", **_COUNTED}
"""Options of overloads that are compiled like `allocating` functions."""


@cache
def _tell_that_nothing_is_kept(why: str) -> None:
    """Warn, once for each reason, that compiled code is not saved."""
    warnings.warn(
        f"compiled code cannot be saved on disk ({why}), so every process compiles again, which "
        "takes minutes: set NUMBA_CACHE_DIR to a folder that can be written to",
        stacklevel=2,
    )


def _saved(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Numba's dispatcher of a function; saves what it compiles if a folder can be written to."""
    folder = Path(getfile(function)).parent
    try:
        if internals is None:
            dispatcher = _dispatcher(function, cache=True, **options)
            digest_of_code(dispatcher.stats.cache_path, folder)
        else:
            dispatcher = _dispatcher(function, **options)
            internals.SavedCode(
                dispatcher,
                lambda saved: digest_of_code(saved, folder),
                _tell_that_nothing_is_kept,
                internals.ready if folder.is_relative_to(PACKAGE) else None,
            )
    except RuntimeError:
        _tell_that_nothing_is_kept("no folder for it can be written to")
        return _dispatcher(function, **options)
    return dispatcher


_ONE_AT_A_TIME = RLock()
"""Held while a dispatcher is made: two threads may call a function for the first time together."""


def _dispatcher(function: Callable[..., Any], **options: Any) -> Any:
    """Numba's dispatcher of a function."""
    compile_with: Any = njit
    return compile_with(**options)(function)


class Compiled:
    """A function that is compiled at its first call with arguments of new types.

    Called from Python it is compiled as an entry point of its own (`standalone`) and saved on disk.
    Called from compiled code it is compiled for inlining only (`inline_only`), or without Numba's
    internals as any other function. Neither dispatcher is made before it is needed: of hundreds of
    functions few are called.

    Parameters
    ----------
    function : callable
        The function.
    **options
        Options of ``numba.njit``.
    """

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._options = options
        self._standalone: Any = None
        self._inline_only: Any = None

    @property
    def standalone(self) -> Any:
        """Numba's dispatcher for calls from Python."""
        with _ONE_AT_A_TIME:
            if self._standalone is None:
                self._standalone = _saved(self.py_func, self._options | _undocumented("STANDALONE"))
        return self._standalone

    @property
    def inline_only(self) -> Any:
        """Numba's dispatcher for calls from compiled code."""
        with _ONE_AT_A_TIME:
            if self._inline_only is None:
                self._inline_only = _dispatcher(
                    self.py_func, **self._options, **_undocumented("INLINE_ONLY")
                )
        return self._inline_only

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the function from Python."""
        if internals is None:
            return self._call(*arguments, **named)
        return self.standalone(*arguments, **named)

    def _call(self, *arguments: Any, **named: Any) -> Any:
        """Call the function where Numba itself saves what it compiles."""
        try:
            return self.standalone(*arguments, **named)
        except OSError as error:
            # Compiled functions know no files. It was saved before the call, which was not made.
            _tell_that_nothing_is_kept(str(error.strerror))
            self._standalone = _dispatcher(self.py_func, **self._options)
            return self._standalone(*arguments, **named)


@typeof_impl.register(Compiled)
def _type_of_compiled(function: Compiled, purpose: Any) -> Any:
    """Type of a function that compiled code names."""
    return typeof(function.inline_only)


def compiles() -> bool:
    """Whether functions are compiled: False under NUMBA_DISABLE_JIT."""
    return COMPILES


def _compiled(**options: Any) -> Callable[[Any], Any]:
    """A decorator that compiles with these options."""
    options = {"nogil": True, "error_model": "numpy", **options}

    def decorate(function: Any) -> Any:
        return Compiled(function, **options) if COMPILES else function

    return decorate


exact = _compiled(**_UNCOUNTED)
"""IEEE arithmetic in the written order: for everything that is learnt.

Such functions neither make nor return arrays, so references need not be counted.
"""

allocating = _compiled(**_COUNTED)
"""As `exact`, for functions that make arrays or call others that do: not for every row."""

undivided = _compiled(nogil=False, **_COUNTED)
"""As `allocating`, but Python's global lock is kept: no other thread runs during the call."""

inlined = _compiled(**_INLINED)
"""As `exact`, for functions that run for every row."""

summed = _compiled(**_INLINED, fastmath={"reassoc", "nsz", "contract"})
"""Inlined sums that may be reordered, so that they vectorise.

The flags "nnan" and "ninf" are left out, so that NaN and infinity keep their meaning. The order is
fixed once for all callers: Numba optimises a function before it links it into others, and so does
`mist.engine.numba_internals` for sums.
"""
