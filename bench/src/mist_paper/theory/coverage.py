"""Corollary "Operational McDiarmid Radius": how often a split test takes a wrong column.

A leaf is tested once, as in the corollary, or after every grace period, as in a tree. Thresholds
are fixed in advance, one per column, and counts are exact, so that no error comes from sketches or
from thresholds that depend on the rows. The effect of the latter on a gain is measured separately.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mist.engine.criterion import TIE, radius
from mist.plotting.theme import ink, line_styles
from mist_bench.record import Experiment
from mist_bench.result_tables import Table
from mist_paper.drawing import Drawing
from mist_paper.exhibit import Exhibit, Item, Records, Scope, results_of
from mist_paper.theory.checks import FAILS, HOLDS, NO_GUARANTEE, interval, proportion
from mist_paper.theory.leaves import NOISE, Case, Floats, columns, draw_counts, gini_gains

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CASES", "ITEM", "many_looks", "one_look", "own_thresholds"]

_EQUAL = ((0.8, 0.2), (0.8, 0.2))
_SMALL = ((0.8, 0.2), (0.77, 0.23))
_LARGE = ((0.9, 0.1), (0.7, 0.3))

CASES: Mapping[str, Case] = {
    "equal-2": Case("2 classes, equal columns", columns(2, *_EQUAL)),
    "small-2": Case("2 classes, 0.8/0.2 against 0.77/0.23", columns(2, *_SMALL)),
    "large-2": Case("2 classes, 0.9/0.1 against 0.7/0.3", columns(2, *_LARGE)),
    "equal-10": Case("10 classes, equal columns", columns(10, *_EQUAL)),
    "small-10": Case("10 classes, 0.8/0.2 against 0.77/0.23", columns(10, *_SMALL)),
    "large-10": Case("10 classes, 0.9/0.1 against 0.7/0.3", columns(10, *_LARGE)),
    "noise": Case("2 classes, 20 noise columns", columns(2, *[NOISE] * 20)),
    "among-noise": Case(
        "2 classes, one 0.7/0.3 among 19 noise columns", columns(2, (0.7, 0.3), *[NOISE] * 19)
    ),
}
"""Simulated leaves by name, with the shares of the even and odd classes left of the threshold."""

STATISTICS = ("gap", "gain")
BOUNDS = ("mcdiarmid", "rutkowski", "hoeffding")
DELTAS = (0.1, 0.01)
TIE_THRESHOLD = 0.05
_ROWS = (200, 1_000, 5_000, 20_000, 100_000)
_EVERY = 200
_TITLES = {"mcdiarmid": "McDiarmid", "rutkowski": "Rutkowski", "hoeffding": "Hoeffding"}

Counts = Sequence[Sequence[Sequence[Sequence[int]]]]


def _radii(case: Case, rows: Any) -> Floats:
    """Radii of all bounds and deltas, shape (bounds, deltas, ...)."""
    d = case.shares.shape[1]
    one = [
        [radius(bound, 1.0, delta, n_features=d, n_thresholds=1) for delta in DELTAS]
        for bound in BOUNDS
    ]
    return np.multiply.outer(np.array(one), 1 / np.sqrt(np.asarray(rows, float)))


def _leaders(gains: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Column with the largest gain, the first of ties, and both statistics on the last axis."""
    top = gains.max(axis=-1, keepdims=True)
    best = (gains >= top - TIE).argmax(axis=-1)
    second = np.partition(gains, -2, axis=-1)[..., -2]
    return best, np.stack([top[..., 0] - second, top[..., 0]], axis=-1)


def _fires(statistics: Floats, radii: Floats) -> NDArray[np.bool_]:
    """Whether each test splits, shape (statistics, bounds, tie rule, deltas, ...).

    The last axis of `statistics` is the statistic; its other axes are the last axes of `radii`.
    """
    above = np.moveaxis(statistics, -1, 0)[:, None, None] > radii
    # A column without a gain is never split.
    tied = (radii < TIE_THRESHOLD) & (statistics[..., 1] > 0.0)
    return np.stack([above, above | tied], axis=2)


def _count(case: Case, fired: NDArray[np.bool_], where: NDArray[np.int64]) -> dict[str, Any]:
    """Leaves that split, that split a wrong column, and that split another column than the best.

    Both arguments have the leaves on their last axis and the tests on the others.
    """
    gains = case.gains().round(12)
    right = np.array([case.right(statistic) for statistic in STATISTICS])
    wrong = np.stack([~right[s][where[s]] for s in range(len(STATISTICS))])
    return {
        "leaves": fired.shape[-1],
        "split": fired.sum(axis=-1).tolist(),
        "wrong": (fired & wrong).sum(axis=-1).tolist(),
        "lesser": (fired & (gains < gains.max())[where]).sum(axis=-1).tolist(),
    }


def one_look(case: str, n: int, leaves: int, seed: int) -> dict[str, Any]:
    """Test leaves once.

    Parameters
    ----------
    case : str
        A key of `CASES`.
    n : int
        Rows of a leaf.
    leaves : int
        Leaves.
    seed : int
        Seed of the rows.

    Returns
    -------
    dict
        ``leaves``; ``split``, ``wrong`` and ``lesser``: leaves that split, that split a wrong
        column, and that split one that gains less than the best, for each statistic, bound,
        without and with the tie rule, and delta; ``deviation`` and ``gap_deviation``: for each
        delta, the (1 - delta) quantile of the largest deviation of a gain from its mean, and of
        that of the difference between the first two columns; ``radii`` of bounds and deltas.

    Examples
    --------
    >>> result = one_look("large-2", 20_000, 50, 0)
    >>> result["split"][0][0][0][0], result["wrong"][0][0][0][0]
    (50, 0)
    """
    leaf, rng = CASES[case], np.random.default_rng(seed)
    n_classes = len(leaf.shares)
    known = rng.multinomial(n, np.full(n_classes, 1 / n_classes), leaves)
    gains = gini_gains(known, rng.binomial(known[..., None], leaf.shares))
    best, statistics = _leaders(gains)
    radii = _radii(leaf, np.full(leaves, n))
    fired = _fires(statistics, radii)
    deviation = np.abs(gains - gains.mean(axis=0)).max(axis=1)
    gap = gains[:, 0] - gains[:, 1]
    levels = 1 - np.array(DELTAS)
    return _count(leaf, fired, np.broadcast_to(best, fired.shape)) | {
        "deviation": np.quantile(deviation, levels).tolist(),
        "gap_deviation": np.quantile(np.abs(gap - gap.mean()), levels).tolist(),
        "radii": radii[..., 0].tolist(),
    }


def many_looks(case: str, rows: int, leaves: int, seed: int) -> dict[str, Any]:
    """Test leaves after every 200 rows, until each test has split.

    Parameters
    ----------
    case : str
        A key of `CASES`.
    rows : int
        Rows of a leaf at the last look.
    leaves, seed : int
        Leaves, and seed of their rows.

    Returns
    -------
    dict
        ``leaves``, ``split``, ``wrong`` and ``lesser`` as of `one_look`.

    Examples
    --------
    >>> result = many_looks("equal-2", 20_000, 5, 0)
    >>> result["split"][0][2][1][0], result["wrong"][0][2][1][0]
    (5, 5)
    """
    leaf = CASES[case]
    radii = _radii(leaf, np.arange(_EVERY, rows + 1, _EVERY))
    fired, where = [], []
    for child in np.random.SeedSequence(seed).spawn(leaves):
        counts = draw_counts(leaf, rows, _EVERY, np.random.default_rng(child))
        best, statistics = _leaders(gini_gains(*counts))
        fires = _fires(statistics, radii)
        fired.append(fires.any(axis=-1))
        where.append(best[fires.argmax(axis=-1)])
    return _count(leaf, np.stack(fired, axis=-1), np.stack(where, axis=-1))


def own_thresholds(n_classes: int, apart: float, n: int, leaves: int, seed: int) -> dict[str, Any]:
    """Compare gains at thresholds made from the same rows with the true gains there.

    Parameters
    ----------
    n_classes : int
        Classes, Gaussian with standard deviation 1, equally frequent.
    apart : float
        Distance from the mean of one class to the next; 0 for noise.
    n : int
        Rows of a leaf.
    leaves, seed : int
        Leaves, of one column, and seed of their rows.

    Returns
    -------
    dict
        ``leaves``; for each delta ``deviation``, the (1 - delta) quantile of the largest
        difference over the midpoints of the classes' medians, ``radius``, and ``beyond``, leaves
        in which it is larger.

    Examples
    --------
    >>> own_thresholds(2, 0.5, 500, 20, 0)["beyond"]
    [0, 0]
    """
    from scipy.special import ndtr

    rng, means = np.random.default_rng(seed), apart * np.arange(n_classes)
    whole = np.full(n_classes, 1 / n_classes)
    deviations = np.empty(leaves)
    for i in range(leaves):
        y = rng.integers(0, n_classes, n)
        x = rng.normal(size=n) + means[y]
        parts = [np.sort(x[y == c]) for c in range(n_classes)]
        middle = np.sort([part[(len(part) - 1) // 2] for part in parts if len(part)])
        places = (middle[1:] + middle[:-1]) / 2
        left = np.array([np.searchsorted(part, places, side="right") for part in parts])
        found = gini_gains(np.array([len(part) for part in parts]), left)
        true = gini_gains(whole, whole[:, None] * ndtr(places - means[:, None]))
        deviations[i] = np.abs(found - true).max()
    m = n_classes - 1
    radii = [radius("mcdiarmid", n, delta, n_features=1, n_thresholds=m) / 2 for delta in DELTAS]
    return {
        "leaves": leaves,
        "deviation": np.quantile(deviations, 1 - np.array(DELTAS)).tolist(),
        "radius": radii,
        "beyond": [int((deviations > r).sum()) for r in radii],
    }


def plan(scope: Scope) -> list[Experiment]:
    """Plan leaves tested once and repeatedly, and leaves with thresholds from their own rows."""
    return [*_plan_once(scope), *_plan_often(scope), *_plan_thresholds(scope)]


def _plan_thresholds(scope: Scope) -> list[Experiment]:
    cases = [
        (k, apart, n) for k in (2, 10) for apart in (0.0, 0.5, 2.0) for n in (200, 1_000, 5_000)
    ]
    leaves = scope.some(5_000, 100)
    return [
        Experiment.of(own_thresholds, n_classes=k, apart=apart, n=n, leaves=leaves, seed=seed)
        for seed, (k, apart, n) in enumerate(cases)
    ]


def _plan_once(scope: Scope) -> list[Experiment]:
    leaves = scope.some(20_000, 2_000)
    return [
        Experiment.of(one_look, case=case, n=n, leaves=leaves, seed=1)
        for case in CASES
        for n in _ROWS
    ]


def _plan_often(scope: Scope) -> list[Experiment]:
    leaves, rows = scope.some(500, 100), scope.some(100_000, 20_000)
    return [
        Experiment.of(many_looks, case=case, rows=rows, leaves=leaves, seed=seed)
        for case in CASES
        for seed in range(scope.some(4, 1))
    ]


def _judge(statistic: str, bound: str, tied: bool, often: bool, counts: Any, case: Case) -> str:
    """Verdict on the shares of leaves that split a wrong column, (wrong, leaves) per delta."""
    pairs = zip(counts, DELTAS, strict=True)
    kept = all(interval(*pair)[0] <= delta for pair, delta in pairs)
    claimed = bound != "hoeffding" and not tied and not often
    if not claimed or case.right(statistic).all():
        return NO_GUARANTEE if kept else f"{NO_GUARANTEE}, above delta"
    return HOLDS if kept else FAILS


def _merge(results: Sequence[Mapping[str, Any]]) -> tuple[int, dict[str, NDArray[np.int64]]]:
    leaves = sum(int(result["leaves"]) for result in results)
    keys = ("split", "wrong", "lesser")
    return leaves, {key: sum(np.array(r[key]) for r in results) for key in keys}  # type: ignore[misc]


def _table(
    statistic: str, by_case: Mapping[str, Sequence[tuple[int, Mapping[str, Any]]]], often: bool
) -> Table:
    """One row per case and bound; for leaves tested once, at the worst number of rows."""
    s, rules = STATISTICS.index(statistic), []
    rows: list[tuple[str, ...]] = []
    n_leaves, n_rows = 0, 0
    for name, found in by_case.items():
        case = CASES[name]
        rules.append(len(rows))
        for b, bound in enumerate(BOUNDS):
            cells = []
            verdicts = []
            for tied in (0, 1):
                pairs = []
                for a in range(len(DELTAS)):
                    most = max(int(counts["wrong"][s][b][tied][a]) for _, counts in found)
                    n_leaves = int(found[0][1]["leaves"])
                    pairs.append((most, n_leaves))
                n_rows, last = found[-1]
                lesser = max(int(counts["lesser"][s][b][tied][0]) for _, counts in found)
                split = int(last["split"][s][b][tied][0])
                cells += [
                    *(proportion(*pair) for pair in pairs[: 2 - tied]),
                    f"{lesser / n_leaves:.3f}",
                    f"{split / n_leaves:.3f}",
                ]
                verdicts.append(_judge(statistic, bound, bool(tied), often, pairs, case))
            rows.append((case.title, _TITLES[bound], *cells, *verdicts))
    looks = (
        f"looked at after every {_EVERY} rows up to {n_rows:,}"
        if often
        else "looked at once; shares of wrong columns are the largest of "
        + ", ".join(f"{n:,}" for n, _ in next(iter(by_case.values())))
        + f" rows, shares of leaves that split are those of {n_rows:,} rows"
    )
    means = {
        "gap": "a column is wrong unless it alone gains the most",
        "gain": "a column is wrong if it gains nothing",
    }[statistic]
    return Table(
        name=f"coverage-{statistic}-{'often' if often else 'once'}",
        title=f"Splits on a wrong column, {statistic} test, "
        + ("many looks" if often else "one look"),
        caption=(
            f"{n_leaves:,} leaves a case, {looks}. In this test {means}; the lesser column is one "
            "that gains less than the best. Shares of leaves, in brackets the 95 % interval of "
            "Clopper and Pearson; delta = 0.1 where nothing is said. The tie rule splits as soon "
            f"as the radius is below {TIE_THRESHOLD:g}. A test holds if neither interval, of "
            "delta = 0.1 and 0.01, lies above delta; no theorem covers Hoeffding's radius, the tie "
            "rule"
            + (", more than one look," if often else "")
            + " or, for the gain test, a choice between columns that gain."
        ),
        headings=(
            *("case", "radius", "wrong", "wrong, delta = 0.01", "lesser column", "split"),
            *("tie rule: wrong", "tie rule: lesser column", "tie rule: split"),
            *("verdict", "verdict, tie rule"),
        ),
        rows=tuple(rows),
        n_text=2,
        rules=frozenset(rules[1:]),
    )


def _looseness(results: Sequence[tuple[Experiment, Any]]) -> Table:
    rows: list[tuple[str, ...]] = []
    rules: list[int] = []
    last = ""
    for experiment, result in results:
        given = dict(experiment.arguments)
        case = CASES[given["case"]]
        if case.title != last:
            rules.append(len(rows))
            last = case.title
        epsilon = result["radii"][0][0]
        most = 1 / len(case.shares)
        rows.append(
            (
                case.title,
                f"{given['n']:,}",
                f"{result['deviation'][0]:.4f}",
                f"{epsilon / 2:.4f}",
                f"{epsilon / 2 / result['deviation'][0]:.1f}",
                f"{result['gap_deviation'][0]:.4f}",
                f"{epsilon:.4f}",
                f"{epsilon / result['gap_deviation'][0]:.1f}",
                f"{most:.2f}",
                "no" if epsilon >= most else "yes",
            )
        )
    leaves = dict(results[0][0].arguments)["leaves"]
    return Table(
        name="coverage-looseness",
        title="Deviation of gains and of their gap, and the radius made for it",
        caption=(
            f"{leaves:,} leaves each. The 0.9 quantile of the largest deviation of any column's "
            "gain from its mean, beside sqrt(8 ln(2 d m / delta) / n), and of the deviation of "
            "the difference between two columns, beside sqrt(32 ln(2 d m / delta) / n); "
            "delta = 0.1, m = 1. Equally frequent classes can gain no more than one over their "
            "number: where the radius is no smaller, no leaf can be split but by the tie rule."
        ),
        headings=(
            *("case", "rows n", "gain: quantile", "gain: radius", "radius / quantile"),
            *("gap: quantile", "gap: radius", "radius / quantile, gap"),
            *("largest possible gain", "split possible"),
        ),
        rows=tuple(rows),
        rules=frozenset(rules[1:]),
    )


def _threshold_table(results: Sequence[tuple[Experiment, Any]]) -> Table:
    rows = []
    for experiment, result in results:
        given = dict(experiment.arguments)
        counts = [(beyond, result["leaves"]) for beyond in result["beyond"]]
        pairs = zip(counts, DELTAS, strict=True)
        kept = all(interval(*pair)[0] <= delta for pair, delta in pairs)
        rows.append(
            (
                str(given["n_classes"]),
                f"{given['apart']:g}",
                f"{given['n']:,}",
                f"{result['deviation'][0]:.4f}",
                f"{result['radius'][0]:.4f}",
                f"{result['radius'][0] / result['deviation'][0]:.1f}",
                *(proportion(*pair) for pair in counts),
                NO_GUARANTEE if kept else f"{NO_GUARANTEE}, above delta",
            )
        )
    return Table(
        name="coverage-thresholds",
        title="Gains at thresholds made from the same rows",
        caption=(
            f"{results[0][1]['leaves']:,} leaves a line, one column, Gaussian classes whose means "
            "are so many standard deviations apart. The 0.9 quantile of the largest difference "
            "between a gain and the true one over the midpoints of the classes' medians, beside "
            "sqrt(8 ln(2 d m / delta) / n), and the share of leaves beyond it, with the 95 % "
            "interval of Clopper and Pearson."
        ),
        headings=(
            *("classes", "means apart", "rows n", "quantile", "radius", "radius / quantile"),
            *("beyond, delta = 0.1", "beyond, delta = 0.01", "verdict"),
        ),
        rows=tuple(rows),
        n_text=0,
    )


def show(scope: Scope, records: Records) -> Exhibit:
    """Compare the shares of wrong splits with delta, and show how loose the radius is."""
    once: list[tuple[Experiment, Any]] = list(results_of(_plan_once(scope), records))
    often: list[tuple[Experiment, Any]] = list(results_of(_plan_often(scope), records))
    tables, notes, drawings = [], [], []
    if once:
        by_case: dict[str, list[tuple[int, Any]]] = {}
        for experiment, result in once:
            given = dict(experiment.arguments)
            by_case.setdefault(given["case"], []).append((given["n"], result))
        tables += [_table(statistic, by_case, False) for statistic in STATISTICS]
        tables.append(_looseness(once))
        drawings = [_draw(once)]
        slack = [
            result["radii"][0][0] / result["gap_deviation"][0]
            for experiment, result in once
            if CASES[dict(experiment.arguments)["case"]].right("gain").all()
        ]
        notes.append(
            f"Where both columns gain, the radius is {min(slack):.0f} to {max(slack):.0f} times "
            "the deviation of the gap that occurs at this level; between noise columns it is far "
            "more. The test keeps delta because it hardly ever fires, and the price is paid in "
            "rows."
        )
    if often:
        merged: dict[str, list[Any]] = {}
        for experiment, result in often:
            merged.setdefault(dict(experiment.arguments)["case"], []).append(result)
        rows = dict(often[0][0].arguments)["rows"]
        together = {}
        for name, results in merged.items():
            leaves, counts = _merge(results)
            together[name] = [(rows, {"leaves": leaves, **counts})]
        tables += [_table(statistic, together, True) for statistic in STATISTICS]
    if own := list(results_of(_plan_thresholds(scope), records)):
        tables.append(_threshold_table(own))
        notes.append(
            "Thresholds in a tree are made from the same rows that are then counted, while the "
            "union bound over m candidates is for thresholds fixed in advance. No theorem of the "
            "paper covers this; the last table has what it does to a gain."
        )
    return Exhibit(tables=tuple(tables), drawings=tuple(drawings), notes=tuple(notes))


def _draw(results: Sequence[tuple[Experiment, Any]]) -> Drawing:
    return Drawing(
        "coverage",
        "Radii and the deviation of the gap",
        (lambda ax: _draw_lines(ax, results),),
        "On logarithmic axes all lines fall with the square root of n. McDiarmid's radius lies far "
        "above the quantiles of the deviation that occurs.",
        "Radii at delta = 0.1 for two columns, and the 0.9 quantile of the deviation of the gap "
        "between two equal columns from its mean.",
        height=3.8,
        legend="right",
    )


def _draw_lines(ax: Axes, results: Sequence[tuple[Experiment, Any]]) -> None:
    found = {(dict(t.arguments)["case"], dict(t.arguments)["n"]): result for t, result in results}
    names = [name for name in ("equal-2", "equal-10") if any(case == name for case, _ in found)]
    first = names[0] if names else ""
    rows = [n for n in _ROWS if (first, n) in found]
    lines = line_styles(len(BOUNDS) + len(names))
    for b, bound in enumerate(BOUNDS):
        radii = [found[first, n]["radii"][b][0] for n in rows]
        ax.plot(rows, radii, label=f"radius, {_TITLES[bound]}", **next(lines))
    for name in names:
        quantiles = [(n, found[name, n]["gap_deviation"][0]) for n in rows if (name, n) in found]
        label = f"0.9 quantile, {CASES[name].title}"
        ax.plot(*zip(*quantiles, strict=True), marker="o", markersize=4, label=label, **next(lines))
    ax.axhline(0.5, color=ink(), linewidth=0.8, linestyle=":", label="largest gain of 2 classes")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("rows n at the leaf")
    ax.set_ylabel("gap between two gains")


ITEM = Item("Coverage of the split test", "theory", "cor:radius", plan, show)
