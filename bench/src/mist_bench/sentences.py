"""Sentences of a report: the method that ranks first, the runs, the sizes of the data sets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mist_bench.inventory import shape_of
from mist_bench.outcomes import Outcomes, group_of, heading_of, title_of
from mist_bench.ranks import cliques, critical_difference
from mist_bench.record import MEASURES
from mist_bench.scores import Scores, ranks_of

__all__ = ["describe", "headline", "plural", "state", "write_hours"]


def headline(outcomes: Outcomes, figures: Scores) -> str:
    """Write which method ranks first, from how many it differs, and the rank of our best method.

    Parameters
    ----------
    outcomes : Outcomes
        The grid.
    figures : Scores
        Means of the measure of the ranks without gaps.

    Returns
    -------
    str
        A sentence or more.

    Examples
    --------
    >>> from mist_bench.outcomes import arrange
    >>> from mist_bench.record import Record, Run
    >>> run = Run("wine", "slda", 42, "honest")
    >>> records = [Record(run, measures={"final_accuracy": 0.9})]
    >>> outcomes = arrange(records, datasets=["wine"], planned=[run])
    >>> from mist_bench.scores import scores
    >>> headline(outcomes, scores(outcomes))
    'SLDA reaches a final accuracy of 0.900 on Wine.'
    """
    what = MEASURES[figures.measure].title
    if not figures.methods:
        return f"There is no {what} to report."
    several = len(figures.datasets) > 1
    where = (
        f"over {len(figures.datasets)} data sets"
        if several
        else f"on {heading_of(figures.datasets[0])}"
    )
    means = [MEASURES[figures.measure].write(float(mean)) for mean in figures.matrix.mean(axis=0)]
    if len(figures.methods) == 1:
        mean = "mean " if several else ""
        return f"{title_of(figures.methods[0])} reaches a {mean}{what} of {means[0]} {where}."
    ranks = ranks_of(figures).mean(axis=0)
    first = np.flatnonzero(ranks == ranks.min())
    names = " and ".join(title_of(figures.methods[i]) for i in first)
    verb = "rank" if len(first) > 1 else "ranks"
    accuracies = " and ".join(dict.fromkeys(means[i] for i in first))
    how = (
        f": mean rank {ranks.min():.2f}, mean {what} {accuracies}."
        if several
        else f" with a {what} of {accuracies}."
    )
    sentence = f"{names} {verb} first of {len(figures.methods)} methods {where}{how}"
    if outcomes.n_missing:
        sentence = f"So far, {sentence}"
    if several and len(first) < len(ranks):
        sentence = f"{sentence} {_tell_apart(ranks, len(first), len(figures.datasets))}"
    ours = [i for i, method in enumerate(figures.methods) if group_of(method) == "ours"]
    if not ours or set(ours) & set(first):
        return sentence
    best = min(ours, key=lambda i: ranks[i])
    place = 1 + int((ranks < ranks[best]).sum())
    return f"{sentence} {title_of(figures.methods[best])} has rank {place} with {means[best]}."


def _tell_apart(ranks: NDArray[np.float64], n_first: int, n_datasets: int) -> str:
    joined = cliques(ranks, critical_difference(len(ranks), n_datasets))
    last = next((last for first, last in joined if first == 0), 0)
    n_alike, n_others = last + 1 - n_first, len(ranks) - n_first
    verb = "they are" if n_first > 1 else "it is"
    if n_alike == 0:
        what = "significantly different from every other method"
    elif n_alike == n_others:
        what = "not significantly different from any other method"
    else:
        what = f"not significantly different from {n_alike} of the {n_others} others"
    return f"At the 5 % level (Nemenyi test) {verb} {what}."


def state(outcomes: Outcomes, figures: Scores) -> str:
    """Write what the grid is, how much of it was run and how many runs failed.

    Parameters
    ----------
    outcomes : Outcomes
        The grid.
    figures : Scores
        Means of the measure of the ranks without gaps.

    Returns
    -------
    str
        A sentence or more.

    Examples
    --------
    >>> from mist_bench.outcomes import arrange
    >>> from mist_bench.record import Record, Run
    >>> run = Run("wine", "slda", 42, "honest")
    >>> outcomes = arrange([Record(run)], datasets=["wine"], planned=[run])
    >>> from mist_bench.scores import scores
    >>> state(outcomes, scores(outcomes, "leaves"))
    '1 method, 1 data set, 1 seed (42); 1 run, none failed. Without a rank, as figures are missing:
    Wine (no figure: SLDA).'
    """
    n_planned, n_seeds = outcomes.n_planned, len(outcomes.seeds)
    made = n_planned - outcomes.n_missing
    grid = (
        f"{plural(len(outcomes.methods), 'method')}, "
        f"{plural(len(outcomes.datasets), 'data set')}, {plural(n_seeds, 'seed')} "
        f"({', '.join(map(str, outcomes.seeds))})"
    )
    done = (
        f"{plural(n_planned, 'run')}"
        if not outcomes.n_missing
        else f"unfinished: {made:,} of {plural(n_planned, 'run')} made"
    )
    failed = f"{outcomes.n_failed:,} failed" if outcomes.n_failed else "none failed"
    sentence = f"{grid}; {done}, {failed}."
    if not figures.left_out:
        return sentence
    return f"{sentence} Without a rank, as figures are missing: {'; '.join(figures.left_out)}."


def describe(outcomes: Outcomes, dataset: str) -> str:
    """Write how large a data set is.

    Parameters
    ----------
    outcomes : Outcomes
        The grid.
    dataset : str
        Key of the data set.

    Returns
    -------
    str
        A sentence or more.

    Examples
    --------
    >>> from mist_bench.outcomes import arrange
    >>> from mist_bench.record import Record, Run
    >>> run = Run("wine", "slda", 42, "honest")
    >>> outcomes = arrange([], datasets=["wine"], planned=[run])
    >>> describe(outcomes, "wine")
    'No run went through.'
    """
    shape = shape_of(outcomes, dataset)
    if not shape:
        return "No run went through."
    if "drifts" in shape:
        how = f"in their own order, {plural(shape['drifts'], 'known drift')}"
    else:
        how = f"in {plural(shape['tasks'], 'task')}"
    return (
        f"{plural(shape['classes'], 'class')} {how}, {plural(shape['columns'], 'column')}; "
        f"{shape['rows']:,} rows learnt, {shape['held_out']:,} held out."
    )


def write_hours(outcomes: Outcomes) -> str:
    """Write how long all runs took together.

    Parameters
    ----------
    outcomes : Outcomes
        The grid.

    Returns
    -------
    str
        A number with a unit; empty if no run took any time.

    Examples
    --------
    >>> from mist_bench.outcomes import arrange
    >>> from mist_bench.record import Record, Run
    >>> run = Run("wine", "slda", 42, "honest")
    >>> write_hours(arrange([Record(run, seconds=600)], datasets=["wine"], planned=[run]))
    '10 minutes'
    """
    seconds = sum(
        record.seconds for cell in outcomes.cells.values() for record in (*cell.done, *cell.failed)
    )
    if not seconds:
        return ""
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:,.1f} hours"


def plural(number: int, noun: str) -> str:
    """Write a number of things.

    Parameters
    ----------
    number : int
        How many.
    noun : str
        Of what, in the singular.

    Returns
    -------
    str
        Both.

    Examples
    --------
    >>> plural(1, "class"), plural(2, "class"), plural(1000, "run")
    ('1 class', '2 classes', '1,000 runs')
    """
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun}{'es' if noun.endswith('s') else 's'}"
