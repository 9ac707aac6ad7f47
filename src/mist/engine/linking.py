"""Compiled code that is only a part of other compiled code.

Numba optimises every function by itself and makes machine code of it, though a function that others
call is linked into each of them, and optimised and made machine code of there once more. Where
loops, rows, leaves and cells are five functions deep, that is most of what a first call costs. A
*part* is compiled as far as its callers need it: typed, lowered and linked, and no further.

This stands on the inside of Numba's compiler. What it changes is how long compilation takes.
"""

from __future__ import annotations

from typing import Any

from numba._dynfunc import make_function
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class _SumLibrary(JITCodeLibrary):
    """Code that waits to be linked, and is optimised before.

    Sums that may be reordered get their order here: it must be the same in all callers.
    """

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class _PartLibrary(_SumLibrary):
    """Code that waits to be linked, and is optimised there."""

    def _optimize_final_module(self) -> None:
        pass


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):
    """Lowering into a library of its own kind, without an entry from Python."""

    _name = "mist_part_lowering"

    def run_pass(self, state: Any) -> bool:
        kind = _SumLibrary if state.flags.fastmath else _PartLibrary
        state.library = kind(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        changed: bool = super().run_pass(state)
        lowered = state["cr"]
        what, keep = lowered.fndesc, (state.library,)
        # Callers know a function by its entry, which here leads nowhere.
        entry = make_function(what.lookup_module(), what.qualname, "", 0, lowered.env, keep)
        state.targetctx.insert_user_function(entry, what, [state.library])
        state["cr"] = lowered._replace(cfunc=entry)
        return changed


class PartCompiler(CompilerBase):
    """The steps of Numba's compiler with another last one; an option of ``njit``."""

    def define_pipelines(self) -> list[Any]:
        """Return the one pipeline."""
        steps = DefaultPassBuilder.define_nopython_pipeline(self.state)
        steps.passes = [
            (_PartLowering if step is NativeLowering else step, told) for step, told in steps.passes
        ]
        steps._finalized = False
        steps.finalize()
        return [steps]
