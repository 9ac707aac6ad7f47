"""Proposition "Post-Split Variance Reduction": what a child inherits, and how accurate it is.

The proposition gives variances of a posterior. A small variance does not mean a small error, so
children are also split off with the engine, and their estimates are compared with the truth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mist import MistClassifier
from mist.engine.inheritance import split_leaf, truncated_moments
from mist.engine.state import MEAN, State, leaf_cells
from mist.plotting.theme import line_styles
from mist_bench.record import Experiment
from mist_bench.result_tables import Table
from mist_paper.drawing import Drawing
from mist_paper.exhibit import Exhibit, Item, Records, Scope, results_of
from mist_paper.theory.checks import FAILS, HOLDS, NO_GUARANTEE, verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ITEM", "SCENARIOS", "child_errors", "class_variance", "mean_variance"]

Floats = NDArray[np.float64]

_NEVER = 10**9
_DISCOUNTS = (0.2, 0.6, 1.0)
_METHODS: tuple[float | None, ...] = (None, *_DISCOUNTS)
_ROWS = (0, 1, 5, 20, 100, 500)
_SHARES = np.array([0.5, 0.3, 0.2])
_CUT = 2.0
_CORRELATION = 0.8

SCENARIOS: Mapping[str, str] = {
    "independent": "Gaussian, independent columns",
    "correlated": "Gaussian, columns correlated by 0.8 within a class",
    "skewed": "exponential, independent columns",
}
"""How rows are distributed within a class, by name; standard deviations are 1 in all of them."""


def _parent(X: Floats, y: NDArray[np.int64], discount: float | None, cut: float) -> MistClassifier:
    """Return a tree that has learnt the rows, has split once on column 0, and splits no more."""
    given = {"grace_period": _NEVER, "random_state": 0}
    model = MistClassifier.paper("G", **given).partial_fit(X, y)
    inheritance = None if discount is None else "gaussian"
    split_leaf(model._state, 0, 0, cut, inheritance, 1.0 if discount is None else discount)
    return model


def _masses(state: State, leaf: int, n_classes: int) -> Floats:
    cells, out = leaf_cells(state.tree, leaf), np.zeros(n_classes)
    out[state.tree.cells.code[cells]] = state.tree.cells.mass[cells]
    return out


def class_variance(
    discount: float, n_parent: int, rows: int, draws: int, seed: int
) -> dict[str, Any]:
    """Draw class probabilities from the posterior of a child that holds half of its parent.

    Parameters
    ----------
    discount : float
        The inheritance discount alpha.
    n_parent : int
        Rows of the parent, of two equally frequent classes.
    rows : int
        Rows of the child's own.
    draws, seed : int
        Draws from the posterior, and their seed.

    Returns
    -------
    dict
        ``inherited``: the child's pseudo-counts after the split; ``drawn`` and ``exact``: the
        larger variance of the two probabilities; ``error``: the difference in standard errors;
        ``stated`` and ``own``: 1 / (4 (S + 1)) with S = alpha n_parent and with S as inherited.

    Examples
    --------
    >>> result = class_variance(0.6, 200, 0, 1000, 0)
    >>> round(result["inherited"]), result["exact"] <= result["own"]
    (60, True)
    """
    rng = np.random.default_rng(seed)
    y = np.arange(n_parent) % 2
    # Both classes have the same values: the side carries no information on the class.
    x = np.repeat(rng.normal(size=(n_parent + 1) // 2), 2)[:n_parent]
    model = _parent(x[:, None], y, discount, float(x.mean()))
    inherited = _masses(model._state, 0, 2)
    beta = inherited + np.bincount(np.arange(rows) % 2, minlength=2)
    total = beta.sum()
    exact = float((beta * (total - beta)).max() / (total**2 * (total + 1)))
    squares = (rng.dirichlet(beta, draws)[:, 0] - beta[0] / total) ** 2
    return {
        "inherited": float(inherited.sum()),
        "drawn": float(squares.mean()),
        "exact": exact,
        "error": float((squares.mean() - exact) / squares.std() * math.sqrt(draws)),
        "stated": 1 / (4 * (discount * n_parent + 1)),
        "own": float(1 / (4 * (inherited.sum() + 1))),
    }


def mean_variance(discount: float, n_class: int, draws: int, seed: int) -> dict[str, Any]:
    """Draw a class mean from the posterior, with the proposition's pseudo-counts and a child's.

    Parameters
    ----------
    discount : float
        The inheritance discount alpha.
    n_class : int
        Rows of the class at the parent; its variance is 1.
    draws, seed : int
        Draws from the posterior, and their seed.

    Returns
    -------
    dict
        ``stated``: 1 / (alpha n - 2); ``drawn`` with alpha n pseudo-observations, and ``error`` in
        standard errors; ``half`` with half as many, which must be more than 2.

    Examples
    --------
    >>> result = mean_variance(0.6, 100, 100_000, 0)
    >>> abs(result["error"]) < 4, result["half"] > 1.9 * result["stated"]
    (True, True)
    """
    rng = np.random.default_rng(seed)

    def draw(n: float) -> Floats:
        variance = n / rng.chisquare(n, draws)
        mean: Floats = rng.normal(size=draws) * np.sqrt(variance / n)
        return mean**2

    n = discount * n_class
    squares, half = draw(n), n / 2
    stated = 1 / (n - 2)
    return {
        "stated": stated,
        "drawn": float(squares.mean()),
        "error": float((squares.mean() - stated) / squares.std() * math.sqrt(draws)),
        "half": float(draw(half).mean()),
    }


def _draw_rows(scenario: str, n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
    y = rng.choice(len(_SHARES), n, p=_SHARES)
    y[: len(_SHARES)] = np.arange(len(_SHARES))
    if scenario == "skewed":
        X = rng.exponential(size=(n, 2))
    else:
        X = rng.normal(size=(n, 2))
        if scenario == "correlated":
            X[:, 1] = _CORRELATION * X[:, 0] + math.sqrt(1 - _CORRELATION**2) * X[:, 1]
    return X + 0.7 * y[:, None], y


def child_truth(scenario: str) -> tuple[Floats, Floats]:
    """Return the true class probabilities and means left of the threshold.

    Parameters
    ----------
    scenario : str
        A key of `SCENARIOS`.

    Returns
    -------
    shares : ndarray of shape (3,)
        Class probabilities.
    means : ndarray of shape (2, 3)
        Mean of each column in each class.

    Examples
    --------
    >>> shares, means = child_truth("independent")
    >>> shares.round(2), means.round(2)[1]
    (array([0.54, 0.3 , 0.16]), array([0. , 0.7, 1.4]))
    """
    from scipy.special import ndtr

    centres = 0.7 * np.arange(len(_SHARES))
    reach = _CUT - centres
    if scenario == "skewed":
        left = 1 - np.exp(-reach)
        cut_mean = centres + (1 - np.exp(-reach) * (1 + reach)) / left
        other = centres + 1
    else:
        left = ndtr(reach)
        cut_mean, _ = truncated_moments(centres, np.ones(len(centres)), _CUT, True)
        follows = _CORRELATION if scenario == "correlated" else 0.0
        other = centres + follows * (cut_mean - centres)
    shares = _SHARES * left
    return shares / shares.sum(), np.stack([cut_mean, other])


def child_errors(scenario: str, n_parent: int, repetitions: int, seed: int) -> dict[str, Any]:
    """Compare the estimates of a child, with and without inheritance, with the truth.

    Parameters
    ----------
    scenario : str
        A key of `SCENARIOS`.
    n_parent : int
        Rows of the parent, of three classes.
    repetitions, seed : int
        Splits, and seed of their rows.

    Returns
    -------
    dict
        ``split``, ``other`` and ``classes``: mean squared errors of the class means in the split
        column and in the other, and of the class probabilities, after 0, 1, 5, 20, 100 and 500
        rows of the child's own; for each a list of one a method, no inheritance and discounts of
        0.2, 0.6 and 1, None where there is nothing to compare; ``gain`` and ``gain_error``: how
        much less the error is with a discount of 0.6, and its standard error. Class means are
        compared where a child without inheritance has seen the class.

    Examples
    --------
    >>> result = child_errors("independent", 200, 3, 0)
    >>> result["split"]["errors"][0], len(result["classes"]["errors"])
    (None, 6)
    """
    shares, means = child_truth(scenario)
    n_classes = len(shares)
    found = {key: np.full((repetitions, len(_ROWS), len(_METHODS)), np.nan) for key in _QUANTITIES}
    for r, child in enumerate(np.random.SeedSequence(seed).spawn(repetitions)):
        rng = np.random.default_rng(child)
        X, y = _draw_rows(scenario, n_parent, rng)
        models = [_parent(X, y, discount, _CUT) for discount in _METHODS]
        X, y = _draw_rows(scenario, 3 * _ROWS[-1], rng)
        own = (X[:, 0] <= _CUT) & (np.arange(len(y)) >= n_classes)
        X, y = X[own][: _ROWS[-1]], y[own][: _ROWS[-1]]
        before = 0
        for i, rows in enumerate(_ROWS):
            known = np.bincount(y[:rows], minlength=n_classes) > 0
            for m, model in enumerate(models):
                if rows > before:
                    model.partial_fit(X[before:rows], y[before:rows])
                state = model._state
                cells = leaf_cells(state.tree, 0)
                codes = state.tree.cells.code[cells]
                mass = _masses(state, 0, n_classes) + 1.0
                found["classes"][r, i, m] = ((mass / mass.sum() - shares) ** 2).mean()
                if known.any():
                    here = np.full((2, n_classes), np.nan)
                    here[:, codes] = state.tree.stats[cells, MEAN].T
                    apart = ((here - means)[:, known] ** 2).mean(axis=1)
                    found["split"][r, i, m], found["other"][r, i, m] = apart
            before = rows

    def summary(errors: Floats) -> dict[str, Any]:
        out: dict[str, Any] = {"errors": [], "gain": [], "gain_error": []}
        for of_rows in errors.transpose(1, 0, 2):
            if np.isnan(of_rows).all():
                for values in out.values():
                    values.append(None)
                continue
            gain = of_rows[:, 0] - of_rows[:, _METHODS.index(0.6)]
            out["errors"].append(of_rows.mean(axis=0).tolist())
            out["gain"].append(float(gain.mean()))
            out["gain_error"].append(float(gain.std() / math.sqrt(len(gain))))
        return out

    return {key: summary(errors) for key, errors in found.items()}


_QUANTITIES: Mapping[str, str] = {
    "split": "class mean, split column",
    "other": "class mean, other column",
    "classes": "class probability",
}


def plan(scope: Scope) -> list[Experiment]:
    """Plan draws from posteriors, and children split off."""
    draws = scope.some(2_000_000, 100_000)
    repetitions = scope.some(400, 20)
    classes = [(a, n, rows) for a in _DISCOUNTS for n in (50, 1_000) for rows in (0, 10, 1_000)]
    means = [(a, n) for a in _DISCOUNTS for n in (50, 200, 1_000)]
    children = [(scenario, n) for scenario in SCENARIOS for n in (100, 1_000)]
    return [
        *(
            Experiment.of(class_variance, discount=a, n_parent=n, rows=rows, draws=draws, seed=seed)
            for seed, (a, n, rows) in enumerate(classes)
        ),
        *(
            Experiment.of(mean_variance, discount=a, n_class=n, draws=draws, seed=seed)
            for seed, (a, n) in enumerate(means)
        ),
        *(
            Experiment.of(
                child_errors, scenario=scenario, n_parent=n, repetitions=repetitions, seed=seed
            )
            for seed, (scenario, n) in enumerate(children)
        ),
    ]


def show(scope: Scope, records: Records) -> Exhibit:
    """Compare variances of posteriors with their bounds, and show errors of children."""
    of: dict[str, list[tuple[Experiment, Any]]] = {}
    for experiment, result in results_of(plan(scope), records):
        of.setdefault(experiment.function.rpartition(":")[2], []).append((experiment, result))
    tables, drawings = [], []
    if found := of.get("class_variance"):
        tables.append(_class_table(found))
    if found := of.get("mean_variance"):
        tables.append(_mean_table(found))
    if found := of.get("child_errors"):
        tables = [_child_overview(found), *tables, _child_table(found)]
        drawings.append(_draw(found))
    notes = (
        "The proposition counts alpha times the rows of the parent as what a child inherits. The "
        "two children share them: a child holds alpha times its own part, in the engine as in the "
        "paper's algorithm. With what a child does hold, the bound on class probabilities is "
        "right.",
        "A posterior variance says how sure a child is, not how right. Its mean squared error also "
        "has the bias of what it inherits, which stays until its own rows outweigh it.",
    )
    return Exhibit(tables=tuple(tables), drawings=tuple(drawings), notes=notes if tables else ())


def _class_table(results: Sequence[tuple[Experiment, Any]]) -> Table:
    rows = []
    for experiment, result in results:
        given = dict(experiment.arguments)
        rows.append(
            (
                f"{given['discount']:g}",
                f"{given['n_parent']:,}",
                f"{given['rows']:,}",
                f"{result['inherited']:,.1f}",
                f"{result['drawn']:.3e}",
                f"{result['error']:+.1f}",
                f"{result['stated']:.3e}",
                f"{result['own']:.3e}",
                verdict(result["exact"] <= result["stated"]),
                verdict(result["exact"] <= result["own"] and abs(result["error"]) < 4),
            )
        )
    draws = dict(results[0][0].arguments)["draws"]
    return Table(
        name="variance-classes",
        title="Posterior variance of a class probability at a child",
        caption=(
            f"{draws:,} draws from the Dirichlet posterior of a child with half of its parent's "
            "rows, of two equal classes; in brackets the difference from the exact variance in "
            "standard errors. As stated, the bound has S0 = alpha n of the parent; the other one "
            "has what the child inherits. Verdicts compare the exact variance with the bounds."
        ),
        headings=(
            *("alpha", "rows of parent", "own rows", "inherited", "drawn", "(difference)"),
            *("1/(4 (alpha n + 1))", "1/(4 (inherited + 1))", "verdict, as stated"),
            "verdict, as inherited",
        ),
        rows=tuple(rows),
        n_text=0,
    )


def _mean_table(results: Sequence[tuple[Experiment, Any]]) -> Table:
    rows = []
    for experiment, result in results:
        given = dict(experiment.arguments)
        half = result["half"]
        rows.append(
            (
                f"{given['discount']:g}",
                f"{given['n_class']:,}",
                f"{result['stated']:.3e}",
                f"{result['drawn']:.3e}",
                f"{result['error']:+.1f}",
                f"{half:.3e}",
                verdict(abs(result["error"]) < 4),
                verdict(half <= result["stated"]),
            )
        )
    draws = dict(results[0][0].arguments)["draws"]
    return Table(
        name="variance-means",
        title="Posterior variance of a class mean at a child",
        caption=(
            f"{draws:,} draws of the mean from a normal-inverse-gamma posterior, variance of the "
            "class 1. The formula holds if the draws with alpha n pseudo-observations are within 4 "
            "standard errors of it; the last verdict asks whether a child that gets half of the "
            "class has no larger variance than the formula says."
        ),
        headings=(
            *("alpha", "rows of class", "1/(alpha n - 2)", "drawn", "(difference)"),
            *("drawn, half of the class", "verdict, formula", "verdict, for a child"),
        ),
        rows=tuple(rows),
        n_text=0,
    )


def _judge(gain: float, error: float) -> str:
    """Whether inheritance lowers the error, by more than 2 standard errors."""
    return HOLDS if gain > 2 * error else FAILS if gain < -2 * error else NO_GUARANTEE


def _child_overview(results: Sequence[tuple[Experiment, Any]]) -> Table:
    """One line per scenario, parent and quantity; errors without and with inheritance."""
    rows = []
    at = _METHODS.index(0.6)
    for experiment, result in results:
        given = dict(experiment.arguments)
        for key, title in _QUANTITIES.items():
            found = result[key]
            cells = ["" if e is None else f"{e[0]:.4f} / {e[at]:.4f}" for e in found["errors"]]
            failed = [
                own
                for own, gain, error in zip(_ROWS, found["gain"], found["gain_error"], strict=True)
                if gain is not None and _judge(gain, error) == FAILS
            ]
            rows.append(
                (
                    SCENARIOS[given["scenario"]],
                    f"{given['n_parent']:,}",
                    title,
                    *cells,
                    f"{FAILS} from {failed[0]} rows" if failed else HOLDS,
                )
            )
    repetitions = dict(results[0][0].arguments)["repetitions"]
    return Table(
        name="variance",
        title="Error of a child without and with inheritance",
        caption=(
            f"Mean squared errors over {repetitions:,} splits, without inheritance / with "
            "alpha = 0.6, by the rows of the child's own; the last table has all figures. That "
            "inheritance does not raise the error holds unless it is larger by more than 2 "
            "standard errors."
        ),
        headings=(
            *("rows are", "rows of parent", "of"),
            *(f"{own} rows" for own in _ROWS),
            "no larger error",
        ),
        rows=tuple(rows),
        n_text=3,
        rules=frozenset(range(len(_QUANTITIES), len(rows), len(_QUANTITIES))),
    )


def _child_table(results: Sequence[tuple[Experiment, Any]]) -> Table:
    rows: list[tuple[str, ...]] = []
    rules: list[int] = []
    for experiment, result in results:
        given = dict(experiment.arguments)
        for key, title in _QUANTITIES.items():
            rules.append(len(rows))
            for own, errors, gain, error in zip(
                _ROWS,
                *(result[key][part] for part in ("errors", "gain", "gain_error")),
                strict=True,
            ):
                if errors is None:
                    continue
                rows.append(
                    (
                        SCENARIOS[given["scenario"]],
                        f"{given['n_parent']:,}",
                        title,
                        str(own),
                        *(f"{value:.5f}" for value in errors),
                        f"{gain:+.5f} ({error:.5f})",
                        _judge(gain, error),
                    )
                )
    repetitions = dict(results[0][0].arguments)["repetitions"]
    return Table(
        name="variance-children",
        title="Mean squared error of a child with and without inheritance",
        caption=(
            f"{repetitions:,} splits a line with the engine's inheritance; three classes, standard "
            "deviation 1. Class means are those of classes the child has seen, after so many rows "
            "of its own; without inheritance and rows, class probabilities are the parent's. The "
            "gain is the error without inheritance less that with alpha = 0.6, in brackets its "
            "standard error. That inheritance lowers the error holds or fails by more than 2 "
            "standard errors; otherwise there is no guarantee."
        ),
        headings=(
            *("rows are", "rows of parent", "of", "own rows", "none"),
            *(f"alpha {discount:g}" for discount in _DISCOUNTS),
            *("gain, alpha 0.6", "lower error"),
        ),
        rows=tuple(rows),
        n_text=3,
        rules=frozenset(rules[1:]),
    )


def _draw(results: Sequence[tuple[Experiment, Any]]) -> Drawing:
    most = max(dict(experiment.arguments)["n_parent"] for experiment, _ in results)
    return Drawing(
        "variance",
        "Error of a child's class means in the column that is not split",
        (lambda ax: _draw_lines(ax, results, most),),
        "With independent columns the error with inheritance is far lower throughout. With "
        "correlated columns it starts lower, hardly falls and is overtaken.",
        f"Dots without inheritance, triangles with alpha = 0.6, from a parent of {most:,} rows.",
        height=3.8,
        legend="right",
    )


def _draw_lines(ax: Axes, results: Sequence[tuple[Experiment, Any]], most: int) -> None:
    lines = line_styles(2 * len(SCENARIOS))
    for experiment, result in results:
        given = dict(experiment.arguments)
        if given["n_parent"] != most:
            continue
        errors = [(own, e) for own, e in zip(_ROWS, result["other"]["errors"], strict=True) if e]
        rows = [own for own, _ in errors]
        for m, name in ((0, "none"), (_METHODS.index(0.6), "alpha 0.6")):
            values = [e[m] for _, e in errors]
            label = f"{given['scenario']}, {name}"
            ax.plot(rows, values, marker="o^"[m > 0], markersize=4, label=label, **next(lines))
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("rows of the child's own")
    ax.set_ylabel("mean squared error (variances of the class)")


ITEM = Item("Variance of what a child inherits", "theory", "prop:variance", plan, show)
