"""The settings of all methods here and in the paper (tab:hyperparams and its text)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mist.estimator import settings_of
from mist_bench.methods import make
from mist_bench.outcomes import title_of
from mist_bench.record import Task
from mist_bench.result_tables import Table
from mist_paper.exhibit import Exhibit, Item, Records, Scope

__all__ = ["ITEM"]

# Method, parameter here, the text in the paper, and its value here.
PRINTED: tuple[tuple[str, str, str, Any], ...] = (
    *(
        (method, parameter, text, value)
        for method in ("mist-g", "mist-k")
        for parameter, text, value in (
            ("grace_period", "grace=200", 200),
            ("delta", "delta=0.10", 0.1),
            ("tie_threshold", "tie=0.05", 0.05),
            ("sketch_size", "k=64", 64),
            ("discount", "alpha=0.6", 0.6),
        )
    ),
    ("mist-k", "bandwidth", "beta=1.0", 1.0),
    ("mist-k", "smoothing", "eps_s=1.0 in the listing, 1e-5 to 1e-1 in the table", None),
    ("vfdt", "grace_period", "grace=200", 200),
    ("vfdt", "delta", "confidence=0.95", 0.05),
    ("vfdt", "tie_threshold", "tie=0.05", 0.05),
    ("rutkowski", "grace_period", "grace=200", 200),
    ("rutkowski", "delta", "delta=0.10", 0.1),
    ("rutkowski", "tie_threshold", "tie=0.05", 0.05),
    *(
        (method, parameter, text, value)
        for method in ("efdt-no-reset", "hat-no-reset")
        for parameter, text, value in (
            ("grace_period", "grace=50", 50),
            ("delta", "split conf=1e-7", 1e-7),
            ("tau", "tie=0.05", 0.05),
        )
    ),
    ("slda", "shrinkage", "shrinkage=1e-4", 1e-4),
    ("sqda", "shrinkage", "shrinkage=1e-4", 1e-4),
    ("arf-no-reset", "n_models", "10 trees", 10),
)

_REASONS = {
    ("mist-k", "bandwidth"): "chosen on training rows, see the sweep",
    ("mist-k", "smoothing"): "the paper contradicts itself",
}


def _value_of(method: str, parameter: str) -> Any:
    """A parameter of the method, or of the model of another library within it."""
    model = make(method)
    own = settings_of(model)
    return own[parameter] if parameter in own else getattr(model._new_state(1), parameter)


def plan(scope: Scope) -> Sequence[Task]:
    """Nothing is run: settings are read."""
    return ()


def show(scope: Scope, records: Records) -> Exhibit:
    """List every setting that the paper prints, and ours."""
    rows = []
    for method, parameter, text, value in PRINTED:
        try:
            ours = _value_of(method, parameter)
        except ImportError:
            rows.append((title_of(method), parameter, "", text, "needs river"))
            continue
        same = value is not None and ours == value
        reason = "" if same else _REASONS.get((method, parameter), "differs")
        rows.append((title_of(method), parameter, f"{ours:g}", text, "same" if same else reason))
    return Exhibit(
        tables=(
            Table(
                "hyperparams",
                "Settings here and in the paper",
                "NCM, RLS and PEC have 'implementation defaults' in the paper, which does not say "
                "of which implementation.",
                ("method", "parameter", "ours", "paper", "verdict"),
                tuple(rows),
                n_text=5,
            ),
        )
    )


ITEM = Item("Fixed default configurations", "table", "tab:hyperparams", plan, show)
