"""Compiling before the clock runs, so that rows/s measures learning and not the compiler."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.console import Console

from mist.presets import make_model

__all__ = ["warm_up"]

_ROWS = 400


def warm_up(names: Sequence[str], *, categorical: bool = False, missing: bool = False) -> None:
    """Let every model learn, split and predict once on a handful of rows.

    Parameters
    ----------
    names : sequence of str
        Presets.
    categorical : bool, default=False
        Whether there will be 0/1 columns.
    missing : bool, default=False
        Whether there are missing values: the kernels for them are others.
    """
    rng = np.random.default_rng(0)
    y = np.arange(_ROWS) % 2
    X = np.column_stack([20.0 * y + rng.normal(size=_ROWS), rng.integers(0, 2, _ROWS)])
    if missing:
        X[::7] = np.nan
    with Console(stderr=True).status("compiling (once; later starts are quick)"):
        for name in names:
            model = make_model(name, seed=0, categorical_features=[1] if categorical else None)
            # Evidence is cheap here: the trees have to pass their test and split, too.
            model.set_params(
                grace_period=50,
                delta=0.9,
                tie_threshold=0.0,
                split_test="gain",
                union_bound=False,
            )
            model.prequential(X, y)
            model.predict(X)
