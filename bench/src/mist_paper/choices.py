"""The two constants that the paper leaves open, chosen on training rows of development seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mist.plotting.theme import ink, line_styles
from mist.presets import PAPER_SETTINGS
from mist_bench.outcomes import heading_of
from mist_bench.record import Experiment, Task
from mist_bench.result_tables import Table
from mist_bench.suites import SETTINGS
from mist_paper.drawing import Drawing
from mist_paper.exhibit import Exhibit, Item, Records, Scope, results_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["BANDWIDTH", "VARIANCE_PRIOR", "recalls"]

DEVELOPMENT_SEEDS = (1, 2, 3, 4, 5)
DATASETS = (
    *("wine", "iris", "pendigits", "letter", "satimage", "optdigits"),
    *("shuttle", "outdoor", "electricity", "covertype", "hapt", "isolet_1_5"),
)
_SMALL = ("wine", "iris", "pendigits", "letter", "satimage", "optdigits")
BANDWIDTHS = (0.03, 0.06, 0.1, 0.15, 0.2, 0.25, 0.35, 0.5, 0.7, 1.0, 2.0)
PRIORS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
_MOST_ROWS, _MOST_ROWS_WIDE, _WIDE = 6000, 2500, 100
_FEWEST_ROWS = 5
# Early in a stream, where a prior counts.
_FEW_ROWS = 300


def recalls(dataset: str, leaf: str, option: str, seed: int, few: bool = False) -> dict[str, Any]:
    """Mean class recall for each value of an option, on training rows only.

    The training rows of the split with this seed are split again: MIST learns a class-incremental
    stream of one part and is tested on the other. The held-out rows of the first split are not
    used. Other seeds hold out other rows, so the choice has seen rows that are held out in the
    comparison of methods, though never as held-out rows.

    Parameters
    ----------
    dataset : str
        Key of `mist_bench.SETTINGS`.
    leaf : {"G", "K"}
        Leaf of the paper's tree.
    option : {"bandwidth", "variance_prior"}
        The option that is swept.
    seed : int
        Seed of both splits and of the stream; not one of the seeds of the comparison.
    few : bool, default=False
        Learn 300 rows at most.

    Returns
    -------
    dict
        ``values`` and the ``recall`` of each.
    """
    from sklearn.model_selection import train_test_split

    from mist import MistClassifier
    from mist.datasets import load
    from mist.evaluation import class_recall

    table = load(SETTINGS[dataset].dataset)
    X, _, y, _ = train_test_split(
        table.X, table.y, test_size=0.2, random_state=seed, stratify=table.y
    )
    most = _MOST_ROWS if X.shape[1] < _WIDE else _MOST_ROWS_WIDE
    kept = np.random.default_rng(seed).permutation(len(y))[:most]
    X, y = _common(X[kept], y[kept])
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)
    if few:
        X, y = _common(X[:_FEW_ROWS], y[:_FEW_ROWS], 1)
        known = np.isin(y_test, y)
        X_test, y_test = X_test[known], y_test[known]
    order = np.argsort(y, kind="stable")
    values = BANDWIDTHS if option == "bandwidth" else PRIORS
    recall = []
    for value in values:
        model = MistClassifier.paper(leaf, **{option: value})
        answers = model.partial_fit(X[order], y[order]).predict(X_test)
        recall.append(float(class_recall(y_test, answers)[1].mean()))
    return {"values": list(values), "recall": recall}


def _common(
    X: NDArray[Any], y: NDArray[Any], fewest: int = _FEWEST_ROWS
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The rows of classes that have at least so many rows."""
    labels, counts = np.unique(y, return_counts=True)
    common = np.isin(y, labels[counts >= fewest])
    return X[common], y[common]


def _plan(scope: Scope, leaf: str, option: str) -> list[Experiment]:
    datasets = _SMALL if scope.fast else DATASETS
    seeds = DEVELOPMENT_SEEDS[: scope.some(5, 2)]
    return [
        Experiment.of(recalls, dataset=dataset, leaf=leaf, option=option, seed=seed, **given)
        for given in ({}, {"few": True})[: 2 if option == "variance_prior" else 1]
        for dataset in datasets
        for seed in seeds
    ]


def _show(scope: Scope, records: Records, leaf: str, option: str, chosen: float) -> Exhibit:
    found: dict[tuple[bool, str], list[NDArray[Any]]] = {}
    values: Sequence[float] = ()
    for experiment, result in results_of(_plan(scope, leaf, option), records):
        given = dict(experiment.arguments)
        values = result["values"]
        key = (bool(given.get("few")), given["dataset"])
        found.setdefault(key, []).append(np.array(result["recall"]))
    if not found:
        return Exhibit()
    means = {key: np.mean(rows, axis=0) for key, rows in found.items()}
    name = option.replace("_", "-")
    tables, curves = [], {}
    for few in sorted({few for few, _ in means}):
        rows = {dataset: mean for (f, dataset), mean in means.items() if f == few}
        label = f"{_FEW_ROWS} rows" if few else "all rows"
        curves[label] = np.array(list(rows.values()))
        overall = curves[label].mean(axis=0)
        lines = [(heading_of(d), *(f"{v:.3f}" for v in mean)) for d, mean in rows.items()]
        lines.append(("mean", *(f"{v:.3f}" for v in overall)))
        tables.append(
            Table(
                f"{name}-{label.replace(' ', '-')}",
                f"Choice of the {_NAMES[option]}, {label} learnt",
                f"Mean class recall on training rows put aside, mean over "
                f"{scope.some(5, 2)} development seeds. Default: {chosen:g}.",
                ("data set", *(f"{value:g}" for value in values)),
                tuple(lines),
                best=frozenset(
                    (i, 1 + int(np.argmax(row))) for i, row in enumerate([*curves[label], overall])
                ),
                rules=frozenset({len(rows)}),
            )
        )
    return Exhibit(tables, (_draw(option, values, curves, chosen),), notes=_NOTES[option])


def _draw(
    option: str, values: Sequence[float], curves: Mapping[str, NDArray[Any]], chosen: float
) -> Drawing:
    best = ", ".join(
        f"{label}: {values[int(np.argmax(rows.mean(axis=0)))]:g}" for label, rows in curves.items()
    )
    return Drawing(
        option.replace("_", "-"),
        f"Choice of the {_NAMES[option]}",
        (lambda ax: _draw_recalls(ax, option, values, curves, chosen),),
        f"Mean class recall against the {_NAMES[option]}. Highest mean: {best}.",
        "Mean class recall on training rows put aside. Faint: each data set; dotted: the default.",
        height=3.4,
        legend="none",
    )


def _draw_recalls(
    ax: Axes,
    option: str,
    values: Sequence[float],
    curves: Mapping[str, NDArray[Any]],
    chosen: float,
) -> None:
    for (label, rows), line in zip(curves.items(), line_styles(len(curves)), strict=True):
        for row in rows:
            ax.plot(values, row, color=line["color"], alpha=0.25, lw=0.8)
        mean = rows.mean(axis=0)
        ax.plot(values, mean, label=f"mean, {label} learnt", marker="o", ms=4, **line)
    ax.axvline(chosen, color=ink(), lw=1, linestyle=(0, (2, 3)))
    ax.set_xscale("log")
    ax.set_xticks(values, [f"{value:g}" for value in values])
    ax.minorticks_off()
    ax.set_xlabel(f"{_NAMES[option]} ({option})")
    ax.set_ylabel("mean class recall")
    ax.legend(loc="lower left", fontsize=9)


_NAMES = {"bandwidth": "bandwidth of MIST-K", "variance_prior": "variance prior of MIST-G"}
_NOTES = {
    "bandwidth": (
        "The multiple of the local distance between quantiles over which a sketch leaf takes its "
        "density. The paper's formula read literally has 1.",
    ),
    "variance_prior": (
        "The number of pseudo-observations by which the variance of a class is drawn towards that "
        "pooled over the classes of its leaf. The paper does not say how it treats a class of few "
        "rows.",
    ),
}


def _item(leaf: str, option: str) -> Item:
    chosen = PAPER_SETTINGS[option]

    def plan(scope: Scope) -> Sequence[Task]:
        return _plan(scope, leaf, option)

    def show(scope: Scope, records: Records) -> Exhibit:
        return _show(scope, records, leaf, option, chosen)

    return Item(f"Choice of the {_NAMES[option]}", "figure", "", plan, show)


BANDWIDTH = _item("K", "bandwidth")
VARIANCE_PRIOR = _item("G", "variance_prior")
