"""No-change: the reference of streams whose labels persist."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from mist.baselines.base import UnweightedStreamClassifier
from mist.rows import Array


class NoChangeState(NamedTuple):
    """The code of the last row learnt, shape (1,); -1 before the first."""

    last: Array


class NoChange(UnweightedStreamClassifier):
    """Predict the label of the row that was learnt last, whatever the columns.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
        Labels seen or declared so far, sorted.

    References
    ----------
    Zliobaite et al., "Evaluation methods and decision theory for classification of streaming data
    with temporal dependence", Machine Learning 98, 2015.

    Examples
    --------
    >>> from mist_bench.baselines import NoChange
    >>> NoChange().prequential([[0.0]] * 4, [0, 0, 1, 1]).tolist()
    [0, 0, 0, 1]
    """

    _compiled: ClassVar[bool] = False

    def _new_state(self, n_features: int) -> NoChangeState:
        return NoChangeState(np.array([-1]))

    def _grown(self, state: NoChangeState, n_codes: int) -> NoChangeState:
        return state

    def _run(self, X: Array, codes: Array, weights: Array, n_known: int, scores: Array) -> None:
        last: Any = self._state.last
        for row, code in enumerate(codes.tolist()):
            if len(scores) and last[0] >= 0:
                scores[row, last[0]] = 0.0
            if code >= 0:
                last[0] = code
