"""How the engine's functions are compiled, and when compiled code on disk is too old."""

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

from mist.engine.linking import PartCompiler

OVERLOADED: Any = {"error_model": "numpy", "forceinline": True, "_nrt": False}
"""Options of overloads that are as `inlined`."""

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
    """Remove compiled code of other sources from a cache folder.

    Numba compiles a function again when its own file changes, but not when a function that it
    calls, and has taken in, changes in another file.

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
    # Whatever cannot be removed or written belongs to an installation that does not change.
    with suppress(OSError):
        for pattern in ("*.nbi", "*.nbc", "mist-*.stamp"):
            for file in stamp.parent.glob(pattern):
                file.unlink(missing_ok=True)
        stamp.touch()


@cache
def _tell_that_nothing_is_kept(why: str) -> None:
    warnings.warn(
        f"compiled code cannot be kept on disk ({why}), so every process compiles anew, which "
        "takes minutes: let NUMBA_CACHE_DIR name a folder that can be written to",
        stacklevel=2,
    )


def _keep(dispatcher: Any) -> None:
    """Keep what a dispatcher compiles on disk, where that can be."""
    try:
        dispatcher.enable_caching()
    except RuntimeError:
        _tell_that_nothing_is_kept("no folder for it can be written to")
        return
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


def _dispatcher(function: Callable[..., Any], **options: Any) -> Any:
    compile_with: Any = njit
    return compile_with(**options)(function)


class Compiled:
    """A function that is compiled when it is first called, each time for other types.

    Called from Python it is compiled whole, and kept on disk; called from compiled code, as a part
    of that. Nothing is prepared for either before: of hundreds of functions few are called.

    Parameters
    ----------
    function : callable
        What is compiled.
    **options
        Of ``numba.njit``.
    """

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._options = options
        self._whole: Any = None
        self._part: Any = None

    @property
    def whole(self) -> Any:
        """Numba's dispatcher for calls from Python."""
        with _ONE_AT_A_TIME:
            if self._whole is None:
                self._whole = _dispatcher(self.py_func, **self._options)
                _keep(self._whole)
        return self._whole

    @property
    def part(self) -> Any:
        """Numba's dispatcher for calls from compiled code."""
        with _ONE_AT_A_TIME:
            if self._part is None:
                options = {"no_cpython_wrapper": True, "pipeline_class": PartCompiler}
                self._part = _dispatcher(self.py_func, **self._options, **options)
        return self._part

    @property
    def _numba_type_(self) -> Any:
        return self.part._numba_type_

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the function from Python."""
        return self.whole(*arguments, **named)


def compiles() -> bool:
    """Whether anything is compiled: not so under NUMBA_DISABLE_JIT."""
    return not getattr(config, "DISABLE_JIT", False)


def _compiled(**options: Any) -> Callable[[Any], Any]:
    # Nothing is handed to C code as a function pointer, so no wrapper for that is compiled.
    options = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, **options}

    def decorate(function: Any) -> Any:
        return Compiled(function, **options) if compiles() else function

    return decorate


exact = _compiled(_nrt=False)
"""IEEE arithmetic in the written order: for everything that is learnt.

Arrays are neither made nor returned, so that nobody has to count who holds them: at every call that
would be done for each array of a tree, and take longer than a row. The option is not documented by
Numba.
"""

allocating = _compiled(_nrt=True)
"""As `exact`, for functions that make arrays, or call others that do: not for every row."""

undivided = _compiled(_nrt=True, nogil=False)
"""As `allocating`, but Python's lock is kept: for a few microseconds no other thread comes in."""

inlined = _compiled(forceinline=True, _nrt=False)
"""As `exact`, for what every row goes through: a call would copy all arrays' records."""

summed = _compiled(forceinline=True, _nrt=False, fastmath={"reassoc", "nsz", "contract"})
"""Inlined sums that may be reordered, so that they vectorise; NaN keeps its meaning."""
