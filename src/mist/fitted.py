"""What helpers of `MistClassifier` read of it, so that none of them has to import it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from mist.adaptation.follower import Follower
from mist.engine.growth import Split, SplitRule
from mist.engine.state import State
from mist.labels import Labels
from mist.locking import ReadWriteLock
from mist.rows import Array

__all__ = ["FittedTree"]


class FittedTree(Protocol):
    """A `MistClassifier` that has learnt a row."""

    classes_: Array
    n_features_in_: int
    _follower: Follower | None
    _labels: Labels
    _options: dict[str, Any]
    _order: Array
    _rule: SplitRule
    _splits: list[Split]
    _state: State

    @property
    def _lock(self) -> ReadWriteLock: ...

    @property
    def split_log_(self) -> list[Split]:
        """Splits in order of time."""

    @property
    def tree_(self) -> Any:
        """The nodes, a `mist.classifier.TreeView`."""

    def _column_names(self) -> Sequence[str]: ...

    def _fitted(self) -> State: ...

    def _has_names(self) -> bool: ...

    def _sketch_size(self) -> int | None: ...

    def _names(self) -> list[Any]: ...

    def _predict_proba(self, X: Array) -> Array: ...

    def _answers(self, X: Array, complete: bool = ..., next_in_stream: bool = ...) -> Array: ...

    def _predicts_next(self) -> bool: ...

    def _proba(self, X: Array, complete: bool = ..., next_in_stream: bool = ...) -> Array: ...

    def _row_to_predict(self, x: Any) -> Array: ...

    def _without_shift(self, X: Array) -> Array: ...
