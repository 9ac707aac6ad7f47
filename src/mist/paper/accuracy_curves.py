"""Accuracy over the stream, before rows are learnt and task by task (appendix on forgetting)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mist.bench.curves import draw_curves
from mist.bench.outcomes import heading_of, title_of
from mist.bench.record import Run, Task
from mist.bench.suites import SUITES
from mist.paper.exhibit import Drawing, Exhibit, Item, Records, Scope, runs
from mist.paper.panels import borders_of, curves_of, new_panels, share_legend
from mist.report.style import line_styles, style

__all__ = ["PREQUENTIAL", "TASKS"]

STREAMED = ("mist-g", "mist-k", "vfdt", "rutkowski", "slda")

SPLITTING = "mist-g-gain-test-no-union"
BY_TASK = ("mist-g", "mist-g-no-inheritance", SPLITTING, f"{SPLITTING}+inheritance=None")
BY_TASK_SETS = ("synth10", "covertype", "mnist")


def _plan_prequential(scope: Scope) -> Sequence[Task]:
    return runs(STREAMED, SUITES["standard"], scope.seeds)


@style()
def _show_prequential(scope: Scope, records: Records) -> Exhibit:
    figure, axes = new_panels(5, 2, 1.9)
    for ax, dataset in zip(axes.flat, SUITES["standard"], strict=True):
        curves = curves_of(records, STREAMED, dataset, scope.seeds, "rows", "windowed_accuracy")
        ax.set_title(heading_of(dataset), fontsize=9)
        ax.set_ylim(-0.02, 1.02)
        if curves:
            draw_curves(ax, curves, borders_of(records, dataset))
    handles = max(axes.flat, key=lambda ax: len(ax.get_legend_handles_labels()[0]))
    if not handles.get_legend_handles_labels()[0]:
        return Exhibit()
    for ax in axes[-1]:
        ax.set_xlabel("rows learnt", fontsize=9)
    for ax in axes[:, 0]:
        ax.set_ylabel("windowed accuracy", fontsize=9)
    share_legend(figure, handles)
    return Exhibit(
        drawings=(
            Drawing(
                "prequential",
                "Prequential accuracy",
                figure,
                "Windowed accuracy over the ten standard streams, each row predicted before it is "
                "learnt. It falls when a task begins and rises as its classes are learnt.",
                "Every row is predicted before it is learnt; mean over a window of rows and over "
                "seeds, band: ± standard deviation; dotted lines: ends of tasks. Rows come task by "
                "task, so forgotten classes do not show here: see the accuracy by task.",
            ),
        )
    )


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


@style()
def _draw_tasks(dataset: str, scope: Scope, records: Records) -> Drawing | None:
    figure, axes = new_panels(2, 2, 2.2)
    told = []
    for ax, method in zip(axes.flat, BY_TASK, strict=True):
        found = [records.get(Run(dataset, method, seed, "paper")) for seed in scope.seeds]
        matrices = [
            np.array(record.accuracy_matrix, dtype=np.float64)
            for record in found
            if record is not None and not record.failed
        ]
        if not matrices:
            return None
        mean = np.mean(matrices, axis=0)
        n_tasks = len(mean)
        for task, line in zip(range(n_tasks), line_styles(n_tasks), strict=True):
            after = np.arange(task, n_tasks) + 1
            label = f"task {task + 1}"
            ax.plot(after, mean[task:, task], label=label, marker="o", markersize=3, **line)
        ax.set_title(title_of(method), fontsize=9)
        ax.set_ylim(-0.02, 1.02)
        ax.set_xticks(np.arange(n_tasks) + 1)
        told.append(f"{title_of(method)} {np.nanmean(mean[-1]):.2f}")
    for ax in axes[-1]:
        ax.set_xlabel("tasks learnt", fontsize=9)
    for ax in axes[:, 0]:
        ax.set_ylabel("accuracy on the task", fontsize=9)
    share_legend(figure, axes[0, 0])
    title = heading_of(dataset)
    return Drawing(
        f"tasks-{dataset}",
        title,
        figure,
        f"Accuracy on each task of {title} after each further task. Mean at the end: "
        f"{', '.join(told)}.",
        "Accuracy on the held-out rows of each task after each further task, mean over seeds.",
    )


PREQUENTIAL = Item(
    "Accuracy before learning", "figure", "app:prequential", _plan_prequential, _show_prequential
)
TASKS = Item("Accuracy task by task", "figure", "app:forgetting-full", _plan_tasks, _show_tasks)
