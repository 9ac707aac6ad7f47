"""Class-incremental evaluation: streams of tasks, metrics, runner and results."""

from mist.evaluation.drift_metrics import kappa_temporal, recovery_rows
from mist.evaluation.intervals import (
    bootstrap_interval,
    nested_paired_difference,
    paired_difference,
)
from mist.evaluation.metrics import (
    anytime_accuracy,
    average_forgetting,
    backward_transfer,
    class_recall,
    fading_accuracy,
    final_accuracy,
    prequential_accuracy,
    seen_accuracy,
    windowed_accuracy,
)
from mist.evaluation.protocol import ClassIncrementalStream, Task
from mist.evaluation.results import StreamResult
from mist.evaluation.runner import Checkpoint, evaluate, iter_evaluate
from mist.evaluation.warmup import warm_up
from mist.impurity import mean_classes, weighted_impurity

__all__ = [
    "Checkpoint",
    "ClassIncrementalStream",
    "StreamResult",
    "Task",
    "anytime_accuracy",
    "average_forgetting",
    "backward_transfer",
    "bootstrap_interval",
    "class_recall",
    "evaluate",
    "fading_accuracy",
    "final_accuracy",
    "iter_evaluate",
    "kappa_temporal",
    "mean_classes",
    "nested_paired_difference",
    "paired_difference",
    "prequential_accuracy",
    "recovery_rows",
    "seen_accuracy",
    "warm_up",
    "weighted_impurity",
    "windowed_accuracy",
]
