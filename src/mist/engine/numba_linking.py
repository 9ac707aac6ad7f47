"""A compiler for inline-only functions, which are only called from other compiled code.

Numba optimises every function and makes machine code of it. A function that others call is also
linked into each of them, and optimised and translated there again. Where loops, rows, leaves and
cells are five functions deep, that is most of the time of a first call. An inline-only function
(`mist.engine.compiled.Compiled.part`) is compiled as far as its callers need it: typed, lowered and
linked, and no further.

This depends on internals of Numba's compiler. It changes the time that compilation takes and
nothing else.
"""

from __future__ import annotations

from typing import Any

from numba._dynfunc import make_function
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


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


class InlineOnlyCompiler(CompilerBase):
    """Numba's compiler with `_InlineOnlyLowering` as its lowering pass; an option of ``njit``."""

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
