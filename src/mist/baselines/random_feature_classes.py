"""Classes of a `RandomFeatureLDA` that are joined, dropped or given another label."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from mist.baselines.random_feature_lda import (
    RandomFeatureLDA,
    RandomFeatureLDAState,
    add_class,
    growth_weights,
    solve,
)
from mist.engine.arrays import without_entry

__all__ = ["relabelled"]

_BY_CODE = ("born", "mass", "means")


def relabelled(model: RandomFeatureLDA, gone: int, into: int | None, last: int) -> RandomFeatureLDA:
    """Join a class with another one, or drop it, then rename another one.

    Joined classes are exact: means and scatter are sums over rows. The rows of a dropped class
    stay in the covariance that all classes share.

    Parameters
    ----------
    model : RandomFeatureLDA
        A fitted model whose labels are whole numbers; changed in place.
    gone : int
        Label of the class that goes; it need not be known.
    into : int or None
        Label of the class that it is joined with; None drops it.
    last : int
        The class with this label gets the label ``gone``, if it is known.

    Returns
    -------
    RandomFeatureLDA
        The model, or an unfitted one if it has learnt no class but the one that is dropped.
    """
    labels = model._labels
    if gone in labels.codes and into is not None and into not in labels.codes:
        labels.rename(gone, into)
    elif gone in labels.codes:
        if into is None and len(labels.codes) == 1:
            return clone(model)
        code = labels.codes[gone]
        if into is None:
            state = _without_rows(model._state, code)
        else:
            state = _joined(model._state, code, labels.codes[into])
        kept = {name: without_entry(getattr(state, name), code) for name in _BY_CODE}
        model._state = state._replace(**kept)
        labels.remove(gone)
        solve(model._state, float(model._state.progress[0]))
    if last in labels.codes:
        labels.rename(last, gone)
    model.classes_ = labels.classes
    return model


def _joined(state: RandomFeatureLDAState, old: int, new: int) -> RandomFeatureLDAState:
    """Add the rows of a class to those of another one."""
    add_class(state, new, state.mass[old], state.means[old])
    state.born[new] = min(state.born[old], state.born[new])
    return state


def _without_rows(state: RandomFeatureLDAState, code: int) -> RandomFeatureLDAState:
    """Count the rows of the other classes only; the covariance within classes stays."""
    left = float(np.delete(state.mass, code).sum())
    return state._replace(
        scatter=state.scatter * (left / state.mass.sum()),
        progress=np.array([left, growth_weights(1.0, left)[1]]),
        born=np.minimum(state.born, left),
    )
