"""Appendix "Truncated-Gaussian Moment Updates": a child's part of a Gaussian, by integration."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mist.engine.inheritance import truncated_moments
from mist.plotting.theme import line_styles
from mist_bench.record import Experiment
from mist_bench.result_tables import Table
from mist_paper.drawing import Drawing
from mist_paper.exhibit import Exhibit, Item, Records, Scope, results_of
from mist_paper.theory.checks import verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ITEM", "drawn_moments", "integrated_moments", "moment_errors", "wrong_sign"]

SIDES = ("left", "right")
_LIMIT = 1e-6
"""Largest relative error that passes; integration itself is accurate to about 1e-10."""

_BINS = ((0, 2), (2, 5), (5, 10), (10, 20), (20, 40))


def integrated_moments(zeta: float) -> tuple[float, float]:
    """Integrate over the part of a standard Gaussian left of a threshold.

    Parameters
    ----------
    zeta : float
        The threshold.

    Returns
    -------
    distance, variance : float
        Distance of the mean to the left of the threshold, and the variance.

    Examples
    --------
    >>> distance, variance = integrated_moments(0.0)
    >>> round(distance, 6), round(variance, 6)
    (0.797885, 0.36338)
    """
    from scipy.integrate import quad

    # The density at distance u left of the threshold, over its largest value.
    peak = max(zeta, 0.0)
    scale = max(1.0, -zeta)

    def density(u: float) -> float:
        return math.exp(zeta * u - u * u / 2 - zeta * peak + peak * peak / 2)

    reach = peak + 40 / scale
    bends = (peak - 6, peak - 2, peak, peak + 2, peak + 6, 1 / scale, 4 / scale, 12 / scale)
    places = [place for place in bends if 0 < place < reach]

    def integral(of: Callable[[float], float]) -> float:
        value = quad(of, 0, reach, epsabs=0, epsrel=1e-12, limit=500, points=places)[0]
        return float(value)

    mass = integral(density)
    distance = integral(lambda u: u * density(u)) / mass
    return distance, integral(lambda u: (u - distance) ** 2 * density(u)) / mass


def moment_errors(side: str, low: float, high: float, steps: int) -> dict[str, Any]:
    """Compare the engine's moments with integration, at thresholds on both sides of the mean.

    Parameters
    ----------
    side : {"left", "right"}
        Which part is kept.
    low, high : float
        Smallest and largest distance of the threshold from the mean, in standard deviations.
    steps : int
        Thresholds, as many below the mean as above it.

    Returns
    -------
    dict
        ``zeta``; the relative errors ``mean``, of the kept mean's distance from the threshold, and
        ``variance``, one each; and ``shrinks``, whether no variance exceeds the untruncated one.

    Examples
    --------
    >>> errors = moment_errors("left", 0.0, 2.0, 3)
    >>> max(errors["mean"]) < 1e-10, errors["shrinks"]
    (True, True)
    """
    at = np.linspace(low, high, steps)
    zeta = np.concatenate([-at[::-1], at])
    kept = truncated_moments(np.zeros_like(zeta), np.ones_like(zeta), zeta, side == "left")
    # The right part is the left part of the mirrored Gaussian.
    mirror = 1.0 if side == "left" else -1.0
    exact = np.array([integrated_moments(mirror * z) for z in zeta])
    distance = mirror * (zeta - kept[0])
    return {
        "zeta": zeta.tolist(),
        "mean": np.abs(distance / exact[:, 0] - 1).tolist(),
        "variance": np.abs(kept[1] / exact[:, 1] - 1).tolist(),
        "shrinks": bool((kept[1] <= 1).all()),
    }


def drawn_moments(n: int, seed: int) -> dict[str, Any]:
    """Compare the engine's moments with those of Gaussian values on either side of thresholds.

    Parameters
    ----------
    n : int
        Values drawn.
    seed : int
        Their seed.

    Returns
    -------
    dict
        ``zeta``, and for ``left`` and ``right`` the errors of ``mean`` and ``variance`` in standard
        errors of the values kept; ``kept`` is their number.

    Examples
    --------
    >>> errors = drawn_moments(10_000, 0)
    >>> max(abs(z) for z in errors["left"]["mean"]) < 5
    True
    """
    z = np.random.default_rng(seed).normal(size=n)
    zeta = np.arange(-3.0, 3.5, 0.5)
    result: dict[str, Any] = {"zeta": zeta.tolist()}
    for side in SIDES:
        found: dict[str, list[float]] = {"kept": [], "mean": [], "variance": []}
        for v in zeta:
            part = z[z <= v] if side == "left" else z[z >= v]
            mean, variance = truncated_moments(np.zeros(1), np.ones(1), float(v), side == "left")
            squares = (part - part.mean()) ** 2
            root = math.sqrt(len(part))
            found["kept"].append(len(part))
            found["mean"].append(float((mean[0] - part.mean()) / part.std() * root))
            found["variance"].append(float((variance[0] - squares.mean()) / squares.std() * root))
        result[side] = found
    return result


def wrong_sign() -> dict[str, Any]:
    """Evaluate the variance of the right part with the sign of the left one.

    Returns
    -------
    dict
        ``at_zero`` and ``correct_at_zero``: both variances at the mean, over the untruncated one;
        ``negative_from``: where the wrong one becomes negative; ``largest_below``: the largest
        value of the wrong one below the mean.

    Examples
    --------
    >>> result = wrong_sign()
    >>> round(result["at_zero"], 3), round(result["negative_from"], 3)
    (0.363, 0.178)
    """
    from scipy.optimize import brentq
    from scipy.special import erfcx

    def wrong(zeta: float) -> float:
        hazard = math.sqrt(2 / math.pi) / float(erfcx(zeta / math.sqrt(2)))
        return 1 - zeta * hazard - hazard**2

    _, correct = truncated_moments(np.zeros(1), np.ones(1), 0.0, False)
    return {
        "at_zero": wrong(0.0),
        "correct_at_zero": float(correct[0]),
        "negative_from": float(brentq(wrong, 0.0, 3.0)),
        "largest_below": max(wrong(z) for z in np.linspace(-6.0, 0.0, 601).tolist()),
    }


def plan(scope: Scope) -> list[Experiment]:
    """Plan integration at each distance and side, values drawn, and the wrong sign."""
    steps, n = scope.some(81, 9), scope.some(20_000_000, 1_000_000)
    return [
        *(
            Experiment.of(moment_errors, seed=None, side=side, low=low, high=high, steps=steps)
            for side in SIDES
            for low, high in _BINS
        ),
        Experiment.of(drawn_moments, n=n, seed=1),
        Experiment.of(wrong_sign, seed=None),
    ]


def show(scope: Scope, records: Records) -> Exhibit:
    """Show the largest errors, and check the paper's remark on the wrong sign."""
    results: list[tuple[Experiment, Any]] = list(results_of(plan(scope), records))
    of: dict[str, list[tuple[Experiment, Any]]] = {}
    for experiment, result in results:
        of.setdefault(experiment.function.rpartition(":")[2], []).append((experiment, result))
    tables, drawings = [], []
    if integrated := of.get("moment_errors"):
        tables.append(_error_table(integrated))
        drawings.append(_draw(integrated))
    if drawn := of.get("drawn_moments"):
        tables.append(_drawn_table(*drawn[0]))
    if signs := of.get("wrong_sign"):
        tables.append(_sign_table(signs[0][1]))
    return Exhibit(tables=tuple(tables), drawings=tuple(drawings))


def _error_table(results: Sequence[tuple[Experiment, Any]]) -> Table:
    rows = []
    for experiment, result in results:
        given = dict(experiment.arguments)
        mean, variance = max(result["mean"]), max(result["variance"])
        rows.append(
            (
                given["side"],
                f"{given['low']:g} to {given['high']:g}",
                str(len(result["zeta"])),
                f"{mean:.1e}",
                f"{variance:.1e}",
                verdict(max(mean, variance) <= _LIMIT),
                verdict(result["shrinks"]),
            )
        )
    return Table(
        name="truncation",
        title="Moments of a truncated Gaussian against numerical integration",
        caption=(
            "Largest relative error of the mean's distance from the threshold and of the variance "
            "over as many thresholds, half of them below the mean and half above. A line holds "
            f"up to {_LIMIT:g}; the last column says whether the variance is never above that of "
            "the whole."
        ),
        headings=(
            *("part kept", "|zeta|", "thresholds", "error of the mean", "error of the variance"),
            *("moments", "variance shrinks"),
        ),
        rows=tuple(rows),
        n_text=2,
    )


def _drawn_table(experiment: Experiment, result: Any) -> Table:
    n = dict(experiment.arguments)["n"]
    n_checks = 4 * len(result["zeta"])
    rows = []
    for side in SIDES:
        found = result[side]
        worst = [max(abs(z) for z in found[key]) for key in ("mean", "variance")]
        rows.append(
            (
                side,
                f"{min(found['kept']):,}",
                *(f"{z:.2f}" for z in worst),
                verdict(max(worst) <= 4),
            )
        )
    return Table(
        name="truncation-drawn",
        title="Moments of a truncated Gaussian against values drawn",
        caption=(
            f"{n:,} values, thresholds from -3 to 3 in steps of 0.5. Largest error in standard "
            f"errors; of {n_checks} such errors one above 4 is to be expected in "
            f"{1 / (n_checks * 6.3e-5):,.0f} runs, and a side holds up to there."
        ),
        headings=("part kept", "fewest values kept", "mean", "variance", "verdict"),
        rows=tuple(rows),
    )


def _sign_table(result: Any) -> Table:
    rows = (
        (
            "at zeta = 0 the bracket is 1 - 1/(2 pi), about 0.84",
            f"{result['at_zero']:.4f}",
            verdict(abs(result["at_zero"] - 0.84) < 0.005),
        ),
        (
            "at zeta = 0 the wrong sign gives the right value",
            f"{result['at_zero'] - result['correct_at_zero']:.1e} apart",
            verdict(abs(result["at_zero"] - result["correct_at_zero"]) < 1e-12),
        ),
        (
            "with the wrong sign it is negative for large zeta",
            f"from zeta = {result['negative_from']:.4f} on",
            verdict(math.isfinite(result["negative_from"])),
        ),
        (
            "not in the paper: with the wrong sign it exceeds 1 for some zeta < 0",
            f"up to {result['largest_below']:.4f}",
            verdict(result["largest_below"] > 1),
        ),
    )
    return Table(
        name="truncation-sign",
        title="The remark on the sign of the right part's variance",
        caption=(
            "The variance of the right part over that of the whole, were the sign of the left part "
            "taken. At 0 the bracket is 1 - (phi/Phi)^2 = 1 - 2/pi = 0.3634; 1/(2 pi) is phi^2 "
            "alone."
        ),
        headings=("statement", "found", "verdict"),
        rows=rows,
        n_text=2,
    )


def _draw(results: Sequence[tuple[Experiment, Any]]) -> Drawing:
    return Drawing(
        "truncation",
        "Relative errors of truncated moments",
        (lambda ax: _draw_lines(ax, results),),
        "The errors are near rounding where the kept part is large and grow towards the tail that "
        "is kept, where the variance is a small difference of large numbers.",
        "Errors of the mean are those of its distance from the threshold.",
        height=3.2,
        legend="right",
    )


def _draw_lines(ax: Axes, results: Sequence[tuple[Experiment, Any]]) -> None:
    lines = line_styles(4)
    for side in SIDES:
        mine = [
            result for experiment, result in results if dict(experiment.arguments)["side"] == side
        ]
        if not mine:
            continue
        zeta = np.concatenate([result["zeta"] for result in mine])
        order = zeta.argsort()
        for key in ("mean", "variance"):
            errors = np.concatenate([result[key] for result in mine])
            shown = np.maximum(errors[order], 1e-17)
            ax.plot(zeta[order], shown, label=f"{key}, {side} part", **next(lines))
    ax.set_yscale("log")
    ax.set_xlabel("threshold zeta (standard deviations from the mean)")
    ax.set_ylabel("relative error")


ITEM = Item("Moments of truncated Gaussians", "theory", "app:truncgauss", plan, show)
