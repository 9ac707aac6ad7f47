"""Accuracy over the stream, before rows are learnt and task by task (appendix on forgetting)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mist.plotting import Curve, plot_curves, plot_forgetting
from mist_bench.outcomes import heading_of, title_of
from mist_bench.record import Run, Task
from mist_bench.suites import SUITES
from mist_paper.drawing import Drawing
from mist_paper.exhibit import Exhibit, Item, Records, Scope, runs
from mist_paper.panels import borders_of, curves_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PREQUENTIAL", "TASKS"]

STREAMED = ("mist-g", "mist-k", "vfdt", "rutkowski", "slda")

SPLITTING = "mist-g-gain-test-no-union"
BY_TASK = ("mist-g", "mist-g-no-inheritance", SPLITTING, f"{SPLITTING}+inheritance=None")
BY_TASK_SETS = ("synth10", "covertype", "mnist")


def _plan_prequential(scope: Scope) -> Sequence[Task]:
    return runs(STREAMED, SUITES["standard"], scope.seeds)


def _show_prequential(scope: Scope, records: Records) -> Exhibit:
    curves = {
        dataset: curves_of(records, STREAMED, dataset, scope.seeds, "rows", "windowed_accuracy")
        for dataset in SUITES["standard"]
    }
    if not any(curves.values()):
        return Exhibit()
    panels = [
        partial(
            _draw_stream,
            title=heading_of(dataset),
            curves=found,
            borders=borders_of(records, dataset),
        )
        for dataset, found in curves.items()
    ]
    return Exhibit(
        drawings=(
            Drawing(
                "prequential",
                "Prequential accuracy",
                panels,
                "Windowed accuracy over the ten standard streams, each row predicted before it is "
                "learnt. It falls when a task begins and rises as its classes are learnt.",
                "Every row is predicted before it is learnt; mean over a window of rows and over "
                "seeds, band: ± standard deviation; dotted lines: ends of tasks. Rows come task by "
                "task, so forgotten classes do not show here: see the accuracy by task.",
                height=1.9,
                n_columns=2,
            ),
        )
    )


def _draw_stream(ax: Axes, title: str, curves: Sequence[Curve], borders: Sequence[float]) -> None:
    ax.set_title(title)
    ax.set_ylim(-0.02, 1.02)
    ax.set_xlabel("rows learnt")
    ax.set_ylabel("windowed accuracy")
    if curves:
        plot_curves(curves, ax, label="windowed accuracy", borders=borders, legend=False)


def _plan_tasks(scope: Scope) -> Sequence[Task]:
    return runs(BY_TASK, BY_TASK_SETS, scope.seeds)


def _show_tasks(scope: Scope, records: Records) -> Exhibit:
    drawings = [
        drawing for dataset in BY_TASK_SETS if (drawing := _draw_tasks(dataset, scope, records))
    ]
    return Exhibit(
        drawings=drawings,
        notes=(
            "The tree as written hardly ever splits, so that inheritance has nothing to do. The "
            "lower pair has a test that does, the gain test without union bound: the same tree "
            "with inheritance and without.",
        ),
    )


def _draw_tasks(dataset: str, scope: Scope, records: Records) -> Drawing | None:
    panels, ends = [], []
    for method in BY_TASK:
        found = [records.get(Run(dataset, method, seed, "paper")) for seed in scope.seeds]
        matrices = [
            np.array(record.accuracy_matrix, dtype=np.float64)
            for record in found
            if record is not None and not record.failed
        ]
        if not matrices:
            return None
        mean = np.mean(matrices, axis=0)
        panels.append(partial(_draw_method, title=title_of(method), matrix=mean))
        ends.append(f"{title_of(method)} {np.nanmean(mean[-1]):.2f}")
    title = heading_of(dataset)
    return Drawing(
        f"tasks-{dataset}",
        title,
        panels,
        f"Accuracy on each task of {title} after each further task. Mean at the end: "
        f"{', '.join(ends)}.",
        "Accuracy on the held-out rows of each task after each further task, mean over seeds.",
        height=2.2,
        n_columns=2,
    )


def _draw_method(ax: Axes, title: str, matrix: NDArray[np.float64]) -> None:
    plot_forgetting(matrix, ax, legend=False)
    ax.set_title(title)


PREQUENTIAL = Item(
    "Accuracy before learning", "figure", "app:prequential", _plan_prequential, _show_prequential
)
TASKS = Item("Accuracy task by task", "figure", "app:forgetting-full", _plan_tasks, _show_tasks)
