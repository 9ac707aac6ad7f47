"""All items of the paper by name, and the runs behind those that are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mist.presets import unknown_name
from mist_bench.record import Run, Task
from mist_paper import (
    accuracy_curves,
    choices,
    claims,
    dynamics,
    inheritance_effect,
    run_settings,
    sketch_error,
    split_counts,
    stress_views,
    tried,
)
from mist_paper.exhibit import Item, Scope
from mist_paper.printed import PRINTED
from mist_paper.theory import THEORY

__all__ = ["GROUPS", "ITEMS", "choose", "plan_of"]

ITEMS: Mapping[str, Item] = {
    **PRINTED,
    "sketch-bound-k64": sketch_error.BY_SET,
    "sketch-bound-kscale": sketch_error.BY_SIZE,
    "hyperparams": run_settings.ITEM,
    "claims": claims.ITEM,
    "split-counts": split_counts.ITEM,
    "other-settings": tried.ITEM,
    "inheritance-effect": inheritance_effect.ITEM,
    "tree-size": dynamics.ITEM,
    "tasks": accuracy_curves.TASKS,
    "prequential": accuracy_curves.PREQUENTIAL,
    "stress-vis": stress_views.ITEM,
    "bandwidth": choices.BANDWIDTH,
    "variance-prior": choices.VARIANCE_PRIOR,
    **THEORY,
}
"""Every item by its name on the command line."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "all": tuple(ITEMS),
    **{
        f"{kind}s" if kind != "theory" else kind: tuple(
            name for name, item in ITEMS.items() if item.kind == kind
        )
        for kind in ("table", "figure", "theory")
    },
}
"""Names that stand for several items."""


def choose(names: Iterable[str]) -> list[str]:
    """Resolve names on the command line.

    Parameters
    ----------
    names : iterable of str
        Keys of `ITEMS` and `GROUPS`, or labels of the paper such as ``tab:klocal``.

    Returns
    -------
    list of str
        Keys of `ITEMS`, each once, in the order of the catalogue.

    Raises
    ------
    ValueError
        If there is no such item; the message names the nearest.

    Examples
    --------
    >>> choose(["tab:stress", "memory"])
    ['stress', 'memory']
    """
    labels = {item.label: name for name, item in ITEMS.items() if item.label}
    chosen: set[str] = set()
    for name in names:
        if name in GROUPS:
            chosen.update(GROUPS[name])
        elif name in ITEMS:
            chosen.add(name)
        elif name in labels:
            chosen.add(labels[name])
        else:
            raise unknown_name("table, figure or theorem", name, [*GROUPS, *ITEMS])
    return [name for name in ITEMS if name in chosen]


def plan_of(names: Sequence[str], scope: Scope) -> list[Task]:
    """List the runs that some items need.

    Parameters
    ----------
    names : sequence of str
        Keys of `ITEMS`.
    scope : Scope
        How much is run.

    Returns
    -------
    list of Run or Experiment
        Each once. Runs on one stream are adjacent, so that a worker can keep the stream.

    Examples
    --------
    >>> len(plan_of(["tree-results", "nontree-results"], Scope((42,))))
    120
    """
    found = list(dict.fromkeys(task for name in names for task in ITEMS[name].plan(scope)))
    grid = [task for task in found if isinstance(task, Run)]
    place = {dataset: i for i, dataset in enumerate(dict.fromkeys(run.dataset for run in grid))}
    grid.sort(key=lambda run: (place[run.dataset], scope.seeds.index(run.seed)))
    return [*grid, *(task for task in found if not isinstance(task, Run))]
