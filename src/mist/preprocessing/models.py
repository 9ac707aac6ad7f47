"""What a pipeline checks and sets of its model."""

from __future__ import annotations

from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

__all__ = ["declare_categorical", "has_learnt", "takes_indicators"]


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
