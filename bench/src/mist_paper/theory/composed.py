"""Theorem "Composed Split Error": gains from sketches against those of all rows and the true ones.

The theorem needs a rank error. The paper takes 1/k, which no theorem gives; the one published for
these sketches is more than twice that, and meant to be exceeded by one sketch in a hundred.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mist.plotting.theme import ink, line_styles
from mist_bench.record import Experiment
from mist_bench.result_tables import Table
from mist_paper.drawing import Drawing
from mist_paper.exhibit import Exhibit, Item, Records, Scope, results_of
from mist_paper.theory.checks import FAILS, HOLDS, NO_GUARANTEE, interval, proportion, verdict
from mist_paper.theory.leaves import gini_gains
from mist_paper.theory.sketches import class_sketches, rank_error, stored_column, summarise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DISTRIBUTIONS", "ITEM", "composed_error"]

Floats = NDArray[np.float64]

N_CLASSES, N_COLUMNS = 3, 20
DELTA = 0.1
_SIZES = (16, 32, 64, 128, 256)
_ROWS = (1_000, 5_000, 20_000)
_SHOWN = 64


def _normal(z: Any) -> Any:
    from scipy.special import ndtr

    return ndtr(z)


def _stepped(x: Any) -> Any:
    return np.round(np.asarray(x) * 2) / 2


DISTRIBUTIONS: Mapping[str, tuple[Callable[..., Any], Callable[..., Any], float, str]] = {
    "gaussian": (lambda rng, n: rng.normal(size=n), _normal, 0.0, "Gaussian"),
    "lognormal": (
        lambda rng, n: rng.lognormal(size=n),
        lambda x: _normal(np.log(np.maximum(x, 1e-300))),
        1.0,
        "log-normal",
    ),
    "pareto": (
        lambda rng, n: rng.pareto(1.5, size=n),
        lambda x: 1 - (1 + np.maximum(x, 0)) ** -1.5,
        2 ** (1 / 1.5) - 1,
        "Pareto, exponent 1.5",
    ),
    "exponential": (
        lambda rng, n: rng.exponential(size=n),
        lambda x: 1 - np.exp(-np.maximum(x, 0)),
        math.log(2),
        "exponential",
    ),
    "ties": (
        lambda rng, n: _stepped(rng.normal(size=n)),
        lambda x: _normal(np.floor(np.asarray(x) * 2) / 2 + 0.25),
        0.0,
        "Gaussian in steps of 0.5",
    ),
}
"""By name: how values are drawn, their distribution function, their median, and a title.

Each class is shifted by 1 from the one before.
"""


def composed_error(distribution: str, k: int, n: int, leaves: int, seed: int) -> dict[str, Any]:
    """Compare the gains that sketches give with exact and true ones.

    Parameters
    ----------
    distribution : str
        A key of `DISTRIBUTIONS`.
    k : int
        Size of the sketches.
    n : int
        Rows of a leaf.
    leaves : int
        Leaves, of 3 classes and 20 columns each.
    seed : int
        Seed of rows and sketches.

    Returns
    -------
    dict
        ``sketches`` and ``columns``: their numbers; ``rank``: the largest rank error of each
        sketch as ``largest``, ``mean``, and how often it is ``above`` 1/k and the published one;
        ``fixed`` and ``anywhere``: the same of the difference between the sketched and the exact
        gain, at the midpoints of the true medians and at any value, against 4 times these;
        ``slope``: the largest difference over the mean rank error of the classes there;
        ``within``: leaves all of whose gains at the midpoints are as close to the true ones as the
        theorem says with either rank error; ``bounds`` and ``total``: the two bounds and the
        largest difference.

    Examples
    --------
    >>> result = composed_error("gaussian", 64, 60, 2, 0)
    >>> result["rank"]["largest"], result["within"]
    (0.0, [2, 2])
    """
    sample, cumulative, median, _ = DISTRIBUTIONS[distribution]
    rng, classes = np.random.default_rng(seed), np.arange(N_CLASSES)
    fixed = median + classes[:-1] + 0.5
    shares = cumulative(fixed[None, :] - classes[:, None]) / N_CLASSES
    true = gini_gains(np.full(N_CLASSES, 1 / N_CLASSES), shares)
    epsilons = np.array([1 / k, rank_error(k)])
    statistical = math.sqrt(8 * math.log(2 * N_COLUMNS * len(fixed) / DELTA) / n)
    bounds = statistical + 4 * epsilons
    ranks, at_fixed, anywhere, total = [], [], [], []
    slope, within = 0.0, np.zeros(2, int)
    for _ in range(leaves):
        y = rng.integers(0, N_CLASSES, n)
        y[:N_CLASSES] = classes
        X = sample(rng, (n, N_COLUMNS)) + y[:, None]
        state = class_sketches(X, y, k, int(rng.integers(2**31)))
        known = np.bincount(y).astype(float)
        worst = 0.0
        for j in range(N_COLUMNS):
            places = np.concatenate([fixed, np.unique(X[:, j])])
            exact, sketched = np.empty((2, N_CLASSES, len(places)))
            for c in range(N_CLASSES):
                mine = np.sort(X[y == c, j])
                exact[c] = np.searchsorted(mine, places, side="right") / len(mine)
                values, reached = stored_column(state, c, j)
                below = np.searchsorted(values, places, side="right")
                sketched[c] = np.concatenate([[0.0], reached])[below]
            errors = np.abs(sketched - exact)
            gains = [gini_gains(known, known[:, None] * side) for side in (sketched, exact)]
            apart = np.abs(gains[0] - gains[1])
            ranks.append(errors.max(axis=1))
            at_fixed.append(apart[: len(fixed)].max())
            anywhere.append(apart.max())
            routed = known @ errors / n
            far = routed > 1e-9
            slope = max(slope, float((apart[far] / routed[far]).max(initial=0.0)))
            error = float(np.abs(gains[0][: len(fixed)] - true).max())
            total.append(error)
            worst = max(worst, error)
        within += worst <= bounds

    return {
        "sketches": leaves * N_COLUMNS * N_CLASSES,
        "columns": leaves * N_COLUMNS,
        "leaves": leaves,
        "rank": summarise(ranks, epsilons),
        "fixed": summarise(at_fixed, 4 * epsilons),
        "anywhere": summarise(anywhere, 4 * epsilons),
        "slope": slope,
        "within": within.tolist(),
        "bounds": bounds.tolist(),
        "total": float(max(total)),
    }


def plan(scope: Scope) -> list[Experiment]:
    """Plan every distribution, size of sketch and number of rows."""
    leaves, sizes = scope.some(10, 1), _SIZES if not scope.fast else (16, 64, 256)
    return [
        Experiment.of(composed_error, distribution=name, k=k, n=n, leaves=leaves, seed=number)
        for k in sizes
        for n in _ROWS[: scope.some(3, 2)]
        for number, name in enumerate(DISTRIBUTIONS)
    ]


def show(scope: Scope, records: Records) -> Exhibit:
    """Show rank errors, gain errors and the composed bound with both rank errors."""
    results: list[tuple[Experiment, Any]] = list(results_of(plan(scope), records))
    if not results:
        return Exhibit()
    groups: dict[tuple[int, int], list[Any]] = {}
    for experiment, result in results:
        given = dict(experiment.arguments)
        groups.setdefault((given["k"], given["n"]), []).append(result)
    tables = [_rank_table(groups), _gain_table(groups), _bound_table(groups)]
    by_distribution = _distribution_table(results)
    if by_distribution is not None:
        tables.append(by_distribution)
    return Exhibit(tables=tuple(tables), drawings=(_draw(groups),), notes=_notes(groups))


def _summed(group: Sequence[Any], key: str) -> tuple[float, list[int]]:
    largest = max(float(result[key]["largest"]) for result in group)
    return largest, [sum(int(result[key]["above"][i]) for result in group) for i in (0, 1)]


def _rank_table(groups: Mapping[tuple[int, int], Sequence[Any]]) -> Table:
    rows = []
    for (k, n), group in groups.items():
        largest, (above, beyond) = _summed(group, "rank")
        sketches = sum(int(result["sketches"]) for result in group)
        kept = interval(beyond, sketches)[0] <= 0.01
        rows.append(
            (
                str(k),
                f"{n:,}",
                f"{largest:.4f}",
                f"{1 / k:.4f}",
                f"{above:,} of {sketches:,}",
                f"{rank_error(k):.4f}",
                proportion(beyond, sketches),
                NO_GUARANTEE + (", exceeded" if above else ", not exceeded"),
                HOLDS if kept else FAILS,
            )
        )
    return Table(
        name="composed-rank",
        title="Largest rank error of a class's sketch",
        caption=(
            f"Sketches of {N_CLASSES} classes in {N_COLUMNS} columns, over five distributions "
            f"(about n / {N_CLASSES} rows a sketch; columns of a leaf share the random bits of "
            "their compactions). 1/k is the paper's rank error, eps(k) = 2.296 / k^0.9723 that of "
            "Apache DataSketches, a fitted 99th percentile: it holds if the 95 % interval of the "
            "share above it reaches down to 0.01."
        ),
        headings=(
            *("k", "rows n", "largest", "1/k", "above 1/k", "eps(k)", "share above eps(k)"),
            *("1/k", "eps(k)"),
        ),
        rows=tuple(rows),
        n_text=0,
    )


def _gain_table(groups: Mapping[tuple[int, int], Sequence[Any]]) -> Table:
    rows = []
    for (k, n), group in groups.items():
        fixed, _ = _summed(group, "fixed")
        anywhere, above = _summed(group, "anywhere")
        columns = sum(int(result["columns"]) for result in group)
        slope = max(float(result["slope"]) for result in group)
        rows.append(
            (
                str(k),
                f"{n:,}",
                f"{fixed:.4f}",
                f"{anywhere:.4f}",
                f"{4 / k:.4f}",
                f"{above[0]:,} of {columns:,}",
                f"{4 * rank_error(k):.4f}",
                f"{above[1]:,} of {columns:,}",
                f"{slope:.3f}",
                NO_GUARANTEE + (", exceeded" if above[0] else ", not exceeded"),
                HOLDS if interval(above[1], columns)[0] <= 0.01 else FAILS,
                verdict(slope <= 4.0),
            )
        )
    return Table(
        name="composed-gain",
        title="Gain from sketches against the gain of all rows",
        caption=(
            "The largest |sketched - exact gain| at the midpoints of the true medians and at any "
            "value of the column. The slope is the largest such difference over the share of rows "
            "that the sketches put on the wrong side there, which the lemma on routing counts "
            "limits to 4."
        ),
        headings=(
            *("k", "rows n", "at midpoints", "anywhere", "4/k", "columns above 4/k"),
            *("4 eps(k)", "columns above 4 eps(k)", "slope", "4/k", "4 eps(k)", "slope at most 4"),
        ),
        rows=tuple(rows),
        n_text=0,
    )


def _bound_table(groups: Mapping[tuple[int, int], Sequence[Any]]) -> Table:
    rows = []
    for (k, n), group in groups.items():
        leaves = sum(int(result["leaves"]) for result in group)
        within = [sum(int(result["within"][i]) for result in group) for i in (0, 1)]
        total = max(float(result["total"]) for result in group)
        bounds = [float(bound) for bound in group[0]["bounds"]]
        # The rank error may be exceeded by one sketch in a hundred.
        kept = [interval(count, leaves)[1] >= 1 - DELTA - 0.01 for count in within]
        rows.append(
            (
                str(k),
                f"{n:,}",
                f"{total:.4f}",
                *(f"{bound:.4f}" for bound in bounds),
                f"{bounds[1] / total:.1f}",
                *(proportion(count, leaves) for count in within),
                NO_GUARANTEE if kept[0] else f"{NO_GUARANTEE}, exceeded",
                HOLDS if kept[1] else FAILS,
                "yes" if bounds[1] < 1 / N_CLASSES else "no",
            )
        )
    return Table(
        name="composed-error",
        title="Gain from sketches against the true gain",
        caption=(
            f"Largest |sketched - true gain| at {N_CLASSES - 1} fixed thresholds in each of "
            f"{N_COLUMNS} columns, beside sqrt(8 ln(2 d m / delta) / n) + 4 eps with delta = "
            f"{DELTA:g}, and the share of leaves with all gains within it, with the 95 % interval "
            "of Clopper and Pearson. The true gain is that of the distributions. A bound above "
            f"1/{N_CLASSES}, the largest gain there can be, says nothing."
        ),
        headings=(
            *("k", "rows n", "largest error", "bound, 1/k", "bound, eps(k)", "bound / error"),
            *("within, 1/k", "within, eps(k)", "1/k", "eps(k)", "bound below largest gain"),
        ),
        rows=tuple(rows),
        n_text=0,
    )


def _distribution_table(results: Sequence[tuple[Experiment, Any]]) -> Table | None:
    rows = []
    for experiment, result in results:
        given = dict(experiment.arguments)
        if given["k"] != _SHOWN:
            continue
        rank, gain = result["rank"], result["anywhere"]
        rows.append(
            (
                DISTRIBUTIONS[given["distribution"]][3],
                f"{given['n']:,}",
                f"{result['columns']:,}",
                f"{rank['mean']:.4f}",
                f"{rank['largest']:.4f}",
                f"{gain['mean']:.4f}",
                f"{gain['largest']:.4f}",
                f"{4 / _SHOWN / gain['largest']:.1f}" if gain["largest"] > 0 else "",
                f"{gain['above'][0]:,}",
            )
        )
    if not rows:
        return None
    return Table(
        name="composed-distributions",
        title=f"Errors of sketches with k = {_SHOWN} by distribution",
        caption=(
            "Largest rank error of each class's sketch and largest difference of the gain in each "
            f"column, at any value: mean and maximum. The ratio is 4/{_SHOWN} over the maximum."
        ),
        headings=(
            *("distribution", "rows n", "columns", "rank, mean", "rank, largest"),
            *("gain, mean", "gain, largest", "ratio", f"columns above 4/{_SHOWN}"),
        ),
        rows=tuple(rows),
    )


def _notes(groups: Mapping[tuple[int, int], Sequence[Any]]) -> tuple[str, ...]:
    everything = [result for group in groups.values() for result in group]
    sketches = sum(int(result["sketches"]) for result in everything)
    columns = sum(int(result["columns"]) for result in everything)
    _, rank = _summed(everything, "rank")
    _, gain = _summed(everything, "anywhere")
    slope = max(float(result["slope"]) for result in everything)
    return (
        f"The rank error is above 1/k in {rank[0]:,} of {sketches:,} sketches, so that the premise "
        f"of a bound of 4/k is not met; the gain's error is above 4/k in {gain[0]:,} of "
        f"{columns:,} columns. 4/k is therefore no guarantee, whether or not it is exceeded: "
        "where it is kept, the lemma's slack does it, not the theorem.",
        f"The largest slope is {slope:.2f}. A row that only changes sides moves n times the gain "
        "by less than 2 (the cross-side case of the sensitivity), so that 2 eps would do where "
        "the theorem has 4 eps.",
        f"The rank error is above the published eps(k) in {rank[1]:,} of {sketches:,} sketches.",
    )


def _draw(groups: Mapping[tuple[int, int], Sequence[Any]]) -> Drawing:
    most = max(n for _, n in groups)
    return Drawing(
        "composed-error",
        "Errors of sketches and their bounds",
        (lambda ax: _draw_lines(ax, groups, most),),
        "All lines fall with k. The largest rank error lies above 1/k, near the published one; "
        "the largest error of the gain lies below 4/k.",
        f"Largest errors over five distributions at {most:,} rows a leaf.",
        height=3.6,
        legend="right",
    )


def _draw_lines(ax: Axes, groups: Mapping[tuple[int, int], Sequence[Any]], most: int) -> None:
    sizes = [k for k, n in groups if n == most]
    lines = line_styles(4)
    of_size = [groups[k, most] for k in sizes]
    drawn = (
        ("largest rank error", [_summed(group, "rank")[0] for group in of_size], "o"),
        ("largest error of the gain", [_summed(group, "anywhere")[0] for group in of_size], "^"),
        ("eps(k)", [rank_error(k) for k in sizes], ""),
        ("1/k", [1 / k for k in sizes], ""),
    )
    for (label, values, marker), line in zip(drawn, lines, strict=True):
        ax.plot(sizes, values, marker=marker, markersize=5, label=label, **line)
    ax.plot(sizes, [4 / k for k in sizes], color=ink(), linewidth=0.8, label="4/k")
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xticks(sizes, [str(k) for k in sizes])
    ax.set_xlabel("size of the sketch k")
    ax.set_ylabel("error (share of rows, gain)")


ITEM = Item("Error of gains from sketches", "theory", "thm:composed", plan, show)
