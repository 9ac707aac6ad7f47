"""Classes that a user renames, joins or drops after they were learnt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from mist.adaptation.follower import Follower
from mist.engine.cut_back import renumber
from mist.engine.growth import Split
from mist.engine.relabel import drop_class, holds_only, join_class, move_code
from mist.engine.state import State
from mist.labels import Labels
from mist.locking import ReadWriteLock, uninterrupted

__all__ = ["LearntTree", "MovedCodes", "Relabelled"]

Array = np.ndarray[Any, Any]


class LearntTree(NamedTuple):
    """What a tree has learnt by class code."""

    state: State
    follower: Follower | None
    log: list[Split]


class MovedCodes(NamedTuple):
    """What became of the codes of the classes when one of them went."""

    gone: int
    """Code of the class that went."""

    into: int | None
    """Code, before that, of the class that it was joined with; None if it was dropped."""

    last: int
    """The class with this code now has the code ``gone``."""


class Relabelled:
    """A classifier whose classes can be renamed, joined and dropped."""

    classes_: Array
    _labels: Labels
    _lock: ReadWriteLock

    def rename_class(self, old: Any, new: Any) -> Self:
        """Give a class another label, for example after a label was typed wrong.

        If another class has the new label, the two become one: their statistics are added as if
        all rows had had that label, sketches and mixtures as by `merge`.

        Parameters
        ----------
        old : label
            A label in ``classes_``.
        new : label
            The label that its rows should have had, of the same kind (text or number).

        Returns
        -------
        self

        Raises
        ------
        NotFittedError
            If nothing was learnt yet.
        ValueError
            If no class has the old label, if labels would mix text and numbers, or for a fork.

        Examples
        --------
        >>> from mist import MistClassifier
        >>> X, y = np.array([[0.0], [0.2], [9.0], [8.8]]), np.array(["pump", "pmup", "fan", "fan"])
        >>> model = MistClassifier().fit(X, y)
        >>> model.rename_class("pmup", "pump").classes_
        array(['fan', 'pump'], dtype='<U4')
        """

        def change(trees: Sequence[LearntTree]) -> MovedCodes | None:
            plain = _find_label(self._labels, old)
            (other,) = self._labels.plain([new])
            return _rename(self._labels, trees, plain, other)

        return self._relabel(change)

    def drop_class(self, label: Any) -> Self:
        """Remove a class and what was learnt of it.

        A leaf that holds the class alone is merged with its sibling. The count of rows stays.
        With random features, the covariance that all classes of the discriminant share keeps what
        the rows of the class have added to it.

        Parameters
        ----------
        label : label
            A label in ``classes_``.

        Returns
        -------
        self

        Raises
        ------
        NotFittedError
            If nothing was learnt yet.
        ValueError
            If no class has the label, if it is the only class with rows, or for a fork.

        Examples
        --------
        >>> from mist import MistClassifier
        >>> X, y = np.array([[0.0], [0.2], [9.0], [8.8]]), np.array(["pump", "test", "fan", "fan"])
        >>> MistClassifier().fit(X, y).drop_class("test").classes_
        array(['fan', 'pump'], dtype='<U4')
        """

        def change(trees: Sequence[LearntTree]) -> MovedCodes | None:
            plain = _find_label(self._labels, label)
            _check_others(self._labels, trees, plain)
            return _drop(self._labels, trees, plain)

        return self._relabel(change)

    def _relabel(self, change: Callable[[Sequence[LearntTree]], MovedCodes | None]) -> Self:
        if any(tree.state.began is not None for tree in self._learnt_trees()):
            raise ValueError("a fork cannot rename or drop classes: do so with the model")
        self._fitted()

        def now() -> None:
            with uninterrupted():
                self._follow_labels(change(self._learnt_trees()))

        self._lock.write(now)
        return self

    def _fitted(self) -> Any:
        """Raise an error if nothing was learnt yet."""
        raise NotImplementedError

    def _learnt_trees(self) -> list[LearntTree]:
        """Return what all trees have learnt; nothing before the first row."""
        raise NotImplementedError

    def _follow_labels(self, moved: MovedCodes | None) -> None:
        """Bring what is not in the trees up to date; ``moved`` is None if no code has changed."""
        self.classes_ = self._labels.classes


def _find_label(labels: Labels, label: Any) -> Any:
    """Return a label of a model as a plain value; refuse one that no class has."""
    (plain,) = labels.plain([label])
    if plain not in labels.codes and plain not in labels.declared:
        known = labels.classes.tolist()
        shown = ", ".join(map(repr, known[:5])) + (", ..." if len(known) > 5 else "")
        raise ValueError(f"no class has the label {label!r}; classes_ holds {shown}")
    return plain


def _check_others(labels: Labels, trees: Sequence[LearntTree], label: Any) -> None:
    """Refuse to drop a class if no other one has rows."""
    code = labels.codes.get(label)
    if code is not None and all(holds_only(tree.state, code) for tree in trees):
        raise ValueError(f"{label!r} is the only class with rows: begin a new model instead")


def _rename(labels: Labels, trees: Sequence[LearntTree], old: Any, new: Any) -> MovedCodes | None:
    """Rename a class, or join it with the class that has the new label.

    Parameters
    ----------
    labels, trees : Labels, sequence of LearntTree
        Of the model; changed in place.
    old, new : label
        Plain labels; ``old`` is known.
    """
    if old == new:
        return None
    if old in labels.declared:
        labels.undeclare(old)
        labels.add((), [] if new in labels.codes else [new])
        return None
    if new not in labels.codes:
        labels.rename(old, new)
        return None
    codes = labels.codes[old], labels.codes[new]
    for state, follower, _ in trees:
        join_class(state, *codes)
        if follower is not None:
            follower.join_class(*codes, state)
    return _take_code(labels, trees, old, codes[1])


def _drop(labels: Labels, trees: Sequence[LearntTree], label: Any) -> MovedCodes | None:
    """Remove a class and all that was learnt of it; parameters as for `_rename`."""
    if label in labels.declared:
        labels.undeclare(label)
        return None
    for state, _, log in trees:
        renumber(log, drop_class(state, labels.codes[label]), state)
    return _take_code(labels, trees, label, None)


def _take_code(
    labels: Labels, trees: Sequence[LearntTree], label: Any, into: int | None
) -> MovedCodes:
    """Remove a label whose class is in no leaf; the class with the last code gets its code."""
    last = len(labels.codes) - 1
    code = labels.remove(label)
    for state, follower, _ in trees:
        if code != last:
            move_code(state, last, code)
        if follower is not None:
            follower.drop_code(code, last)
    return MovedCodes(code, into, last)
