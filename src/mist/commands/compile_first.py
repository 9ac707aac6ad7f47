"""Compile models before a run, with a message while it takes time."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from mist import evaluation
from mist.presets import Preset, make_model

__all__ = ["warm_up"]


def warm_up(
    names: Sequence[str | Preset], *, categorical: bool = False, missing: bool = False
) -> None:
    """Compile every model: learn, split and predict once on a few rows.

    Parameters
    ----------
    names : sequence of str or Preset
        Presets, or their names.
    categorical : bool, default=False
        Whether the rows have 0/1 columns.
    missing : bool, default=False
        Whether the rows have missing values, which need other kernels.
    """
    with Console(stderr=True).status("compiling (once; later starts are quick)"):
        for name in names:
            model = make_model(name, seed=0, categorical_features=[1] if categorical else None)
            evaluation.warm_up(model, n_features=2, missing=missing)
