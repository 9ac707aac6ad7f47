"""What a pipeline checks and sets of its model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from mist.locking import ReadWriteLock

__all__ = ["RelabelledModel", "declare_categorical", "has_learnt", "takes_indicators"]


def has_learnt(model: Any) -> bool:
    """Whether a model of any library is fitted."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def declare_categorical(model: Any, names: list[str]) -> None:
    """Set the 0/1 columns as ``categorical_features`` of a model without this option."""
    from mist.forest import MistForest

    tree = model.new_tree() if isinstance(model, MistForest) else model
    if names and getattr(tree, "categorical_features", names) is None:
        tree.set_params(categorical_features=names)
        if tree is not model:
            model.set_params(estimator=tree)


def takes_indicators(model: Any) -> bool:
    """Whether the model takes 0/1 columns of new texts, see `MistClassifier.learn_many`."""
    from mist.classifier import MistClassifier
    from mist.forest import MistForest

    return isinstance(model, MistClassifier | MistForest)


class RelabelledModel:
    """A pipeline that lets its model rename and drop classes."""

    model_: Any
    _lock: ReadWriteLock

    def rename_class(self, old: Any, new: Any) -> Self:
        """Give a class of the model another label, or join it with the class that has that label.

        See `MistClassifier.rename_class` for parameters and errors.

        Raises
        ------
        TypeError
            If the model cannot do so.

        Examples
        --------
        >>> from mist import MistClassifier
        >>> from mist.preprocessing import StreamPipeline
        >>> model = StreamPipeline(model=MistClassifier.paper())
        >>> model = model.learn_many({"hue": ["red", "blue", "red"]}, ["rose", "iris", "rsoe"])
        >>> model.rename_class("rsoe", "rose").classes_
        array(['iris', 'rose'], dtype='<U4')
        """
        check_is_fitted(self)
        self._lock.write(lambda: self._relabelling("rename_class")(old, new))
        return self

    def drop_class(self, label: Any) -> Self:
        """Remove a class of the model and what was learnt of it; the encoder stays as it is.

        See `MistClassifier.drop_class` for parameters and errors.

        Raises
        ------
        TypeError
            If the model cannot do so.
        """
        check_is_fitted(self)
        self._lock.write(lambda: self._relabelling("drop_class")(label))
        return self

    def _relabelling(self, method: str) -> Callable[..., Any]:
        """Return a method of the model that changes its classes."""
        model = self.model_
        if not hasattr(model, method):
            raise TypeError(
                f"{type(model).__name__} has no {method}: use MistClassifier or MistForest as model"
            )
        change: Callable[..., Any] = getattr(model, method)
        return change
