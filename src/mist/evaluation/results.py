"""The result of one class-incremental run."""

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray


def _nothing() -> NDArray[Any]:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class StreamResult:
    """Everything measured in one run of a model over a class-incremental stream.

    T is the number of tasks, n the number of training rows, K of classes, m of checkpoints (one
    after each chunk of rows) and E of evaluations on held-out rows. Accuracies are shares between 0
    and 1; rates are rows a second.

    Examples
    --------
    >>> from mist import MistClassifier
    >>> from mist.datasets import load_toy
    >>> from mist.evaluation import ClassIncrementalStream, evaluate
    >>> iris = load_toy("iris")
    >>> stream = ClassIncrementalStream(iris.X, iris.y, classes_per_task=1)
    >>> result = evaluate(MistClassifier(), stream, dataset=iris.name)
    >>> result.model, result.dataset, result.accuracy_matrix.shape, result.boundaries
    ('MistClassifier', 'iris', (3, 3), array([ 40,  80, 120]))
    >>> result.to_dict()["accuracy_matrix"][0]
    [1.0, None, None]
    """

    model: str
    """Name of the model."""

    dataset: str
    """Name of the data set; empty when not given."""

    seed: int
    """Seed of the stream."""

    accuracy_matrix: NDArray[np.float64]
    """``R[i, j]``: accuracy on the held-out rows of task j after task i was learnt, any class seen
    so far being a possible answer. Shape (T, T); NaN above the diagonal and in the column of a task
    without held-out rows."""

    final_accuracy: float
    """``mean_j R[T, j]``, see `mist.evaluation.final_accuracy`."""

    mean_class_recall: float
    """``mean_k recall(k)`` over the classes of all held-out rows after the last task, see
    `mist.evaluation.class_recall`."""

    average_forgetting: float
    """``mean_{j < T} (max_{j <= i < T} R[i, j] - R[T, j])``, see
    `mist.evaluation.average_forgetting`."""

    backward_transfer: float
    """``mean_{j < T} (R[T, j] - R[j, j])``, see `mist.evaluation.backward_transfer`."""

    prequential_accuracy: float
    """``mean_t correct[t]``, see `mist.evaluation.prequential_accuracy`."""

    correct: NDArray[Any]
    """Was row t predicted right before it was learnt? Shape (n,), bools. The first row of a fresh
    model counts as wrong: there was nothing to predict it from. Of a stream too long for that, the
    shares in blocks of `rows_per_answer` rows."""

    boundaries: NDArray[np.int64]
    """Training rows up to the end of each task, shape (T,)."""

    n_leaves: NDArray[np.int64]
    """Leaves after each task, shape (T,); zeros when the model has none."""

    n_splits: NDArray[np.int64]
    """Splits made up to the end of each task, shape (T,); zeros when the model makes none."""

    checkpoints: NDArray[np.int64]
    """Training rows learnt at each checkpoint, shape (m,)."""

    leaves_curve: NDArray[np.int64]
    """Leaves at each checkpoint, shape (m,); zeros when the model has none."""

    nbytes: int
    """Bytes of the model's state at the end; 0 when the model does not report it."""

    seconds: float
    """Seconds of test-then-train alone: neither compiling nor the held-out tests are in it."""

    rows_per_second: float
    """Rate of test-then-train, ``n / seconds``."""

    predict_rows_per_second: float = float("nan")
    """Rate of ``predict`` on held-out rows, over all evaluations."""

    learn_rows_per_second: float = float("nan")
    """Rate of learning alone; NaN when it was not measured."""

    compile_seconds: float = float("nan")
    """Seconds `warm_up` took before the run, to compile or to load compiled code; 0 for a model
    that is not compiled."""

    classes: tuple[Any, ...] = ()
    """The K labels in label order."""

    evaluations: NDArray[Any] = field(default_factory=_nothing)
    """Training rows learnt at each evaluation, shape (E,)."""

    recall: NDArray[np.float64] = field(default_factory=_nothing)
    """Recall of each class on held-out rows at each evaluation, shape (E, K); NaN for a class that
    had not arrived or has no held-out rows."""

    seen_accuracy: NDArray[np.float64] = field(default_factory=_nothing)
    """Accuracy on the held-out rows of all classes seen so far, shape (E,)."""

    anytime_accuracy: float = float("nan")
    """Mean of `seen_accuracy`, see `mist.evaluation.anytime_accuracy`."""

    depth: NDArray[Any] = field(default_factory=_nothing)
    """Depth of the tree after each task, shape (T,); zeros when the model has none."""

    leaf_impurity: NDArray[np.float64] = field(default_factory=_nothing)
    """Gini impurity of the leaves, weighted by their masses, after each task, shape (T,); NaN when
    the model does not report it."""

    classes_per_leaf: NDArray[np.float64] = field(default_factory=_nothing)
    """Mean number of classes a leaf knows (mean K_local) after each task, shape (T,); NaN when the
    model does not report it."""

    rows_per_answer: int = 1
    """Rows that one entry of `correct` stands for."""

    @property
    def n_rows(self) -> int:
        """Rows that were answered; of a very long stream up to one block more."""
        return len(self.correct) * self.rows_per_answer

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain Python values, ready for JSON.

        Returns
        -------
        dict
            One entry a field, in order of definition; arrays as nested lists, NaN as None.

        Examples
        --------
        >>> import json
        >>> from mist import MistClassifier
        >>> from mist.datasets import load_toy
        >>> from mist.evaluation import ClassIncrementalStream, evaluate
        >>> iris = load_toy("iris")
        >>> result = evaluate(MistClassifier(), ClassIncrementalStream(iris.X, iris.y))
        >>> json.loads(json.dumps(result.to_dict(), allow_nan=False))["boundaries"]
        [120]
        """
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if value != value else value
