"""How the engine's functions are compiled, and when compiled code on disk is outdated.

The decorators at the end (`exact`, `allocating`, `undivided`, `inlined`, `summed`) mark compiled
functions and choose the options of Numba. Under NUMBA_DISABLE_JIT they return the plain function.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache, update_wrapper
from hashlib import sha256
from inspect import getfile
from pathlib import Path
from threading import RLock
from typing import Any

from numba import config, njit

from mist.engine.compilations import log_compilations
from mist.engine.numba_linking import InlineOnlyCompiler

log_compilations()

OVERLOADED: Any = {"error_model": "numpy", "forceinline": True, "_nrt": False}
"""Options of overloads that are compiled like `inlined` functions."""

_DECORATED = re.compile(rb"\n@(exact|allocating|undivided|inlined|summed)\n")


@cache
def _package() -> bytes:
    """Digest of the engine, and of all other files of this package with compiled functions."""
    digest, engine = sha256(), Path(__file__).parent
    for file in sorted(engine.parent.rglob("*.py")):
        source = file.read_bytes()
        if engine in file.parents or _DECORATED.search(source):
            digest.update(source)
    return digest.digest()


@cache
def _sources(folder: Path) -> str:
    """Digest of all that code compiled from a file of a folder may have taken in."""
    digest = sha256(_package())
    for file in sorted(folder.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@cache
def forget_old_code(cache_folder: str, source_folder: Path) -> None:
    """Remove code compiled from other sources from a cache folder.

    Numba compiles a function again when its own file changes, but not when a function changes that
    it has inlined from another file.

    Parameters
    ----------
    cache_folder : str
        Where Numba keeps the code compiled from the files of one folder.
    source_folder : Path
        That folder.
    """
    stamp = Path(cache_folder) / f"mist-{_sources(source_folder)}.stamp"
    if stamp.exists() or not stamp.parent.is_dir():
        return
    # In a folder that is read-only, the installation does not change either.
    with suppress(OSError):
        for pattern in ("*.nbi", "*.nbc", "mist-*.stamp"):
            for file in stamp.parent.glob(pattern):
                file.unlink(missing_ok=True)
        stamp.touch()


@cache
def _tell_that_nothing_is_kept(why: str) -> None:
    """Warn, once for each reason, that compiled code is not saved."""
    warnings.warn(
        f"compiled code cannot be saved on disk ({why}), so every process compiles again, which "
        "takes minutes: set NUMBA_CACHE_DIR to a folder that can be written to",
        stacklevel=2,
    )


def _keep(dispatcher: Any) -> None:
    """Save what a dispatcher compiles on disk, if a folder can be written to."""
    try:
        dispatcher.enable_caching()
    except RuntimeError:
        _tell_that_nothing_is_kept("no folder for it can be written to")
        return
    # That the folder is not writable may show only when code is saved: then warn and continue.
    kept = dispatcher._cache
    save = kept.save_overload

    def save_if_possible(signature: Any, compiled: Any) -> None:
        try:
            save(signature, compiled)
        except OSError as error:
            _tell_that_nothing_is_kept(f"{kept.cache_path}: {error.strerror}")

    kept.save_overload = save_if_possible
    forget_old_code(kept.cache_path, Path(getfile(dispatcher.py_func)).parent)


_ONE_AT_A_TIME = RLock()
"""Held while a dispatcher is made: two threads may call a function for the first time together."""


def _dispatcher(function: Callable[..., Any], **options: Any) -> Any:
    """Numba's dispatcher of a function."""
    compile_with: Any = njit
    return compile_with(**options)(function)


class Compiled:
    """A function that is compiled at its first call with arguments of new types.

    Called from Python it is compiled as an entry point of its own (`standalone`) and saved on disk.
    Called from compiled code it is compiled for inlining only (`inline_only`). Neither dispatcher
    is made before it is needed: of hundreds of functions few are called.

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
                self._standalone = _dispatcher(self.py_func, **self._options)
                _keep(self._standalone)
        return self._standalone

    @property
    def inline_only(self) -> Any:
        """Numba's dispatcher for calls from compiled code."""
        with _ONE_AT_A_TIME:
            if self._inline_only is None:
                options = {"no_cpython_wrapper": True, "pipeline_class": InlineOnlyCompiler}
                self._inline_only = _dispatcher(self.py_func, **self._options, **options)
        return self._inline_only

    @property
    def _numba_type_(self) -> Any:
        # Numba reads this when compiled code names the function.
        return self.inline_only._numba_type_

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the function from Python."""
        return self.standalone(*arguments, **named)


def compiles() -> bool:
    """Whether functions are compiled: False under NUMBA_DISABLE_JIT."""
    return not getattr(config, "DISABLE_JIT", False)


def _compiled(**options: Any) -> Callable[[Any], Any]:
    """A decorator that compiles with these options."""
    # No function is passed to C code as a pointer, so no wrapper for that is compiled.
    options = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, **options}

    def decorate(function: Any) -> Any:
        return Compiled(function, **options) if compiles() else function

    return decorate


exact = _compiled(_nrt=False)
"""IEEE arithmetic in the written order: for everything that is learnt.

Such functions neither make nor return arrays. So ``_nrt=False`` (an option that Numba does not
document) can switch reference counting off: at every call it would be done for each array of a
tree, which takes longer than a row.
"""

allocating = _compiled(_nrt=True)
"""As `exact`, for functions that make arrays or call others that do: not for every row."""

undivided = _compiled(_nrt=True, nogil=False)
"""As `allocating`, but Python's global lock is kept: no other thread runs during the call."""

inlined = _compiled(forceinline=True, _nrt=False)
"""As `exact`, for functions that run for every row: a call would copy all array descriptors."""

summed = _compiled(forceinline=True, _nrt=False, fastmath={"reassoc", "nsz", "contract"})
"""Inlined sums that may be reordered, so that they vectorise.

The flags "nnan" and "ninf" are left out, so that NaN and infinity keep their meaning. The order is
fixed once for all callers, see `mist.engine.numba_linking`.
"""
