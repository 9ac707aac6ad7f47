"""Accuracy around a single split with inheritance and without (fig:inheritance-effect)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mist.plotting import Curve, average_curves, plot_curves
from mist.plotting.theme import ink
from mist_bench.methods import METHODS as ALL
from mist_bench.methods import make
from mist_bench.outcomes import heading_of, title_of
from mist_bench.record import Experiment, Task
from mist_bench.result_tables import Table
from mist_bench.suites import SETTINGS
from mist_paper.comparison import cell_table, compare
from mist_paper.drawing import Drawing
from mist_paper.exhibit import Exhibit, Item, Records, Scope, results_of
from mist_paper.panels import spread_of
from mist_paper.values import cells_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ITEM", "around_a_split"]

METHODS = ("mist-g", "mist-k", "mist-g-no-inheritance")
DATASETS = ("hapt", "pendigits", "mnist")
_TASK = 2  # the third one, as in the paper
_BEFORE, _AFTER, _STEP = 200, 800, 20
# One split, at the first attempt at which the best gain exceeds the radius without union bound.
_SOON = {"split_test": "gain", "union_bound": False}


def around_a_split(dataset: str, method: str, seed: int) -> dict[str, Any]:
    """Measure the accuracy on two tasks around a single split.

    The tree is kept from splitting until the third task begins, and then splits once, as soon as a
    gain exceeds the McDiarmid radius without union bound. Up to that split all variants have
    learnt the same rows and made the same decisions.

    Parameters
    ----------
    dataset : str
        Key of `mist_bench.SETTINGS`.
    method : str
        Key of `mist_bench.methods.METHODS`, one of our trees.
    seed : int
        Of the stream and the model.

    Returns
    -------
    dict
        ``split_at``, rows learnt when the leaf split, or None if it did not; ``rows`` relative to
        it, and the held-out accuracy ``new`` on the third and ``old`` on the first task there.
    """
    from mist.datasets import load
    from mist.evaluation import ClassIncrementalStream
    from mist.flat_settings import set_settings

    setting = SETTINGS[dataset]
    table = load(setting.dataset, **setting.load_options(seed, "paper"))
    options = setting.stream_options("paper", ALL[method])
    stream = ClassIncrementalStream(table.X, table.y, seed=seed, **options)
    model = make(method, seed=seed, categorical_features=np.flatnonzero(table.categorical).tolist())
    set_settings(model, max_leaves=1, **_SOON)
    start = int(stream.boundaries[_TASK - 1])
    tasks = list(stream)
    rows, new, old = [], [], []
    done, split_at = 0, None
    for stop in [start, *range(start + _STEP, stream.n_rows + 1, _STEP)]:
        model.partial_fit(stream.X_train[done:stop], stream.y_train[done:stop])
        done = stop
        if stop == start:
            model.set_params(max_leaves=2)
        elif split_at is None and model.n_splits_:
            split_at = int(model.split_log_[0].seen)
        rows.append(done)
        new.append(float(np.mean(model.predict(tasks[_TASK].X_test) == tasks[_TASK].y_test)))
        old.append(float(np.mean(model.predict(tasks[0].X_test) == tasks[0].y_test)))
        if split_at is not None and done >= split_at + _AFTER:
            break
    if split_at is None:
        return {"split_at": None, "rows": [], "new": [], "old": []}
    first = max(i for i, row in enumerate(rows) if row <= max(split_at - _BEFORE, start))
    return {
        "split_at": split_at,
        "rows": [row - split_at for row in rows[first:]],
        "new": new[first:],
        "old": old[first:],
    }


def plan(scope: Scope) -> Sequence[Task]:
    """List the experiments of the figure."""
    return [
        Experiment.of(around_a_split, dataset=dataset, method=method, seed=seed)
        for dataset in DATASETS
        for method in METHODS
        for seed in scope.seeds
    ]


def show(scope: Scope, records: Records) -> Exhibit:
    """Draw two panels per data set, and tabulate the ends of the window."""
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for experiment, result in results_of(plan(scope), records):
        if result["split_at"] is not None:
            given = dict(experiment.arguments)
            found.setdefault((given["dataset"], given["method"]), []).append(result)
    drawings = [d for dataset in DATASETS if (d := _draw(dataset, found))]
    rows = [
        (
            heading_of(dataset),
            title_of(method),
            str(len(results)),
            spread_of([_at(r, "new", -1) for r in results]),
            spread_of([r["new"][-1] for r in results]),
            spread_of([_at(r, "old", -1) for r in results]),
            spread_of([r["old"][-1] for r in results]),
        )
        for (dataset, method), results in found.items()
    ]
    table = Table(
        "inheritance-effect",
        "Around one split",
        f"Held-out accuracy just before the split and {_AFTER} rows after it, or at the end of the "
        "stream if it comes first: mean ± standard deviation over the seeds that split.",
        (
            *("data set", "method", "splits", "new task before", "new task after"),
            *("old task before", "old task after"),
        ),
        tuple(rows),
        n_text=2,
    )
    comparisons = compare(_figures(scope, records), cells_of("inheritance-effect"))
    return Exhibit(
        tables=(
            *((table,) if rows else ()),
            cell_table("inheritance-effect-cells", "Compared with the paper's panels", comparisons),
        ),
        drawings=drawings,
        comparisons=comparisons,
        notes=(
            "The test as written splits hardly any of these trees, so the split is brought about: "
            "none is allowed until the third task begins, then one, as soon as a gain exceeds the "
            "radius without union bound. Up to the split all trees are the same but for their "
            "leaves. A tree without inheritance then knows the classes of the new task alone, and "
            "so answers them well: the paper's panel has it fall to 0 on them, too.",
        ),
    )


def _figures(scope: Scope, records: Records) -> dict[tuple[str, str, str], dict[int, float]]:
    """Accuracy at the end of the window by method, data set and measure, each by seed."""
    figures: dict[tuple[str, str, str], dict[int, float]] = {}
    for experiment, result in results_of(plan(scope), records):
        if result["split_at"] is not None:
            given = dict(experiment.arguments)
            for key in ("new", "old"):
                place = (given["method"], given["dataset"], f"{key}_task_accuracy")
                figures.setdefault(place, {})[experiment.seed or 0] = result[key][-1]
    return figures


def _at(result: Mapping[str, Any], key: str, before: int) -> float:
    """The last figure before the split."""
    return float([v for row, v in zip(result["rows"], result[key], strict=True) if row < 0][before])


def _windows(
    results: Sequence[Mapping[str, Any]], key: str
) -> list[tuple[list[float], list[float]]]:
    """Rows and figures of each seed, as far as all seeds have them."""
    first = max((result["rows"][0] for result in results), default=0)
    last = min((result["rows"][-1] for result in results), default=0)
    return [
        (
            [row for row in result["rows"] if first <= row <= last],
            [v for row, v in zip(result["rows"], result[key], strict=True) if first <= row <= last],
        )
        for result in results
    ]


def _draw(dataset: str, found: Mapping[tuple[str, str], list[Mapping[str, Any]]]) -> Drawing | None:
    panels, ends = [], []
    for key, label in (("new", "accuracy on the new task"), ("old", "accuracy on the first task")):
        averaged = (
            average_curves(title_of(method), _windows(found.get((dataset, method), []), key))
            for method in METHODS
        )
        curves = [curve for curve in averaged if curve]
        if not curves:
            return None
        panels.append(partial(_draw_panel, curves=curves, label=label))
        ends += [f"{curve.title} {curve.mean[-1]:.2f} on the {key} task" for curve in curves]
    title = heading_of(dataset)
    return Drawing(
        f"inheritance-effect-{dataset}",
        title,
        panels,
        f"Accuracy on the new and the first task of {title} around a split. At the end: "
        f"{'; '.join(ends)}.",
        "Held-out accuracy; mean over seeds, band: ± standard deviation. Line: the split.",
        height=2.8,
        n_columns=2,
    )


def _draw_panel(ax: Axes, curves: Sequence[Curve], label: str) -> None:
    plot_curves(curves, ax, label=label, legend=False)
    ax.set_xlim(min(curve.rows[0] for curve in curves), _AFTER)
    ax.axvline(0, color=ink(), lw=1.2)
    ax.set_xlabel("rows since the split")


ITEM = Item("What one split costs", "figure", "fig:inheritance-effect", plan, show)
