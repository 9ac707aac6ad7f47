"""The runs of a benchmark."""

from __future__ import annotations

from collections.abc import Sequence

from mist.presets import unknown_name
from mist_bench.methods import METHODS, RIVALS, find_method
from mist_bench.record import Run
from mist_bench.suites import PROTOCOLS, SEEDS, SUITES, find_setting

__all__ = ["check_seeds", "default_methods", "plan"]

_GROUPS = ("ours", "tree", "other")
_FOLLOWING = ("mist", "mist-g", "mist-forest", "hat", "arf", "no-change")
"""Methods of the drift suite."""
_LAST_SEED = 2**32 - 1


def default_methods(suite: str) -> list[str]:
    """Return the methods that a suite compares by default.

    Parameters
    ----------
    suite : str
        A key of `mist_bench.SUITES`.

    Returns
    -------
    list of str
        All methods except the ablations and no-change; in the quick suite, only those without an
        extra. In the drift suite ours, two that adapt, and no-change.

    Examples
    --------
    >>> "slda" in default_methods("quick"), "arf" in default_methods("quick")
    (True, False)
    """
    if suite == "drift":
        return list(_FOLLOWING)
    return [
        name
        for name, method in METHODS.items()
        if method.group in _GROUPS
        and name != "no-change"
        and not (suite == "quick" and method.needs)
    ]


def plan(
    suite: str = "quick",
    *,
    methods: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    seeds: Sequence[int] = SEEDS,
    protocol: str = "honest",
) -> list[Run]:
    """List the runs of a benchmark.

    Parameters
    ----------
    suite : {"quick", "standard", "stress", "real", "unseen", "drift", "all"}, default="quick"
        Source of the methods and data sets that are not named.
    methods : sequence of str or None, default=None
        Keys of `mist_bench.methods.METHODS`, and of `RIVALS` for streams in their own order.
    datasets : sequence of str or None, default=None
        Keys of `mist_bench.SETTINGS`.
    seeds : sequence of int, default=(42, 123, 456, 789, 3330)
        Seeds.
    protocol : {"honest", "paper"}, default="honest"
        Protocol of the streams, see `mist.evaluation.ClassIncrementalStream`.

    Returns
    -------
    list of Run
        Each once. Methods on one stream are adjacent, so that a worker can keep the stream.

    Raises
    ------
    ValueError
        If a name is not known, something is named twice, there is nothing to run, a stream in its
        own order is to be prepared as in the paper, or a rival is to run on a stream of tasks.

    Examples
    --------
    >>> [run.key for run in plan(methods=["ncm", "slda"], datasets=["iris"], seeds=[1])]
    ['honest/iris/ncm/1', 'honest/iris/slda/1']
    """
    if suite not in SUITES:
        raise unknown_name("suite", suite, SUITES)
    if protocol not in PROTOCOLS:
        raise unknown_name("protocol", protocol, PROTOCOLS)
    methods = default_methods(suite) if methods is None else methods
    datasets = SUITES[suite] if datasets is None else datasets
    for name in methods:
        find_method(name)
    rivals = [name for name in methods if name in RIVALS]
    for name in datasets:
        natural = find_setting(name).order == "natural"
        if rivals and not natural:
            raise ValueError(
                f"{rivals[0]} runs on streams in their own order only, and {name} comes in tasks"
            )
        if natural and protocol == "paper":
            raise ValueError(
                f"{name} keeps its own order, the paper has no such stream: use honest"
            )
    check_seeds(seeds)
    _check_once("method", methods)
    _check_once("data set", datasets)
    return [
        Run(dataset, method, seed, protocol)
        for dataset in datasets
        for seed in seeds
        for method in methods
    ]


def check_seeds(seeds: Sequence[int]) -> None:
    """Check that seeds are given, in range and distinct.

    Parameters
    ----------
    seeds : sequence of int
        Seeds.

    Raises
    ------
    ValueError
        If one is out of range or given twice, or there is none.

    Examples
    --------
    >>> check_seeds([42, 123])
    """
    for seed in seeds:
        if not 0 <= seed <= _LAST_SEED:
            raise ValueError(f"seed {seed} must be between 0 and {_LAST_SEED}")
    _check_once("seed", seeds)


def _check_once(what: str, chosen: Sequence[object]) -> None:
    if not chosen:
        raise ValueError(f"no {what} is chosen: name one at least")
    for i, value in enumerate(chosen):
        if value in chosen[:i]:
            raise ValueError(f"{what} {value!r} is chosen twice")
