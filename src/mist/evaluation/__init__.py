"""Class-incremental evaluation: the stream of tasks, the metrics, the runner and its result."""

from mist.evaluation.metrics import (
    average_forgetting,
    backward_transfer,
    class_recall,
    fading_accuracy,
    final_accuracy,
    prequential_accuracy,
    windowed_accuracy,
)
from mist.evaluation.protocol import ClassIncrementalStream, Task
from mist.evaluation.results import StreamResult
from mist.evaluation.runner import evaluate

__all__ = [
    "ClassIncrementalStream",
    "StreamResult",
    "Task",
    "average_forgetting",
    "backward_transfer",
    "class_recall",
    "evaluate",
    "fading_accuracy",
    "final_accuracy",
    "prequential_accuracy",
    "windowed_accuracy",
]
