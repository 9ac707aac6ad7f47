"""How the engine's functions are compiled."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numba import njit

# Nothing is handed to C code as a function pointer, so no wrapper for that is compiled.
_compiled = partial(njit, cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True)

exact: Callable[[Any], Any] = _compiled()
"""IEEE arithmetic in the written order: for everything that is learnt."""

inlined: Callable[[Any], Any] = _compiled(forceinline=True)
"""As `exact`, for what every row goes through: a call would copy all arrays' records."""

summed: Callable[[Any], Any] = _compiled(forceinline=True, fastmath={"reassoc", "nsz", "contract"})
"""Inlined sums that may be reordered, so that they vectorise; NaN keeps its meaning."""
