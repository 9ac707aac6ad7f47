"""The named settings of the classifier, and those that installed packages add."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from mist import plugins
from mist.flat_settings import flat, varied
from mist.option_refusals import given_options, refuse_without_effect
from mist.settings import FOREST_TREE, PAPER_LEAVES, PAPER_SETTINGS
from mist.variants import Variants, entitle

if TYPE_CHECKING:
    from mist.classifier import MistClassifier
    from mist.forest import MistForest

__all__ = [
    "GIVEN",
    "PAPER_SETTINGS",
    "PRESETS",
    "Preset",
    "check_known",
    "find_preset",
    "make_model",
    "unknown_name",
    "vary",
]

PAPER = (
    "Pham et al., MIST: Reliable Streaming Decision Trees for Online Class-Incremental Learning "
    "via McDiarmid Bound, 2026"
)


GIVEN = ("categorical_features", "random_state")
"""Arguments that come from a run (its data set and seed), not from a preset."""


@dataclass(frozen=True)
class Preset:
    """Named parameters of :class:`mist.MistClassifier`, for one tree or all trees of a forest.

    Examples
    --------
    >>> PRESETS["mist"].title, PRESETS["mist"].parameters
    ('MIST', {})
    >>> PRESETS["mist-k"].title, PRESETS["mist-k"].parameters["leaf"]
    ('MIST-K', 'sketch')
    """

    title: str
    """Display name."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the classifier; all others keep their defaults."""

    group: Literal["ours", "tree", "ablation"] = "ablation"
    """A model of this library, a tree from the literature, or MIST with one part exchanged."""

    reference: str = PAPER
    """Publication of the method or the ablation."""

    forest: Mapping[str, Any] | None = None
    """Arguments of a :class:`mist.MistForest` of such trees; None for a single tree."""

    replay: bool = False
    """Whether the forest is a :class:`mist.MistReplayForest`."""


def _forest_of(preset: Preset) -> type[MistForest]:
    # Compiled code: imported only when needed.
    if preset.replay:
        from mist.replay_forest import MistReplayForest

        return MistReplayForest
    from mist.forest import MistForest

    return MistForest


_PRESETS: Mapping[str, Preset] = {
    "mist": Preset(
        "MIST",
        {},
        "ours",
        "MIST with mixture leaves, joint inheritance and balanced classes, see the documentation: "
        "Method",
    ),
    "mist-g": Preset("MIST-G", PAPER_SETTINGS, "ours"),
    "mist-k": Preset("MIST-K", {**PAPER_SETTINGS, "leaf": PAPER_LEAVES["K"]}, "ours"),
    "mist-features": Preset(
        "MIST + features",
        {},
        "ours",
        "MIST with a discriminant on random features, see the documentation: Method",
        {"n_trees": 1, "max_features": None, "random_features": 1000, "feature_weight": 0.25},
    ),
    "mist-forest": Preset(
        "MIST forest",
        FOREST_TREE,
        "ours",
        "Ten trees that draw half of the columns at each attempt to split, see the "
        "documentation: Method",
        {},
    ),
    "mist-forest-features": Preset(
        "MIST forest + features",
        FOREST_TREE,
        "ours",
        "The forest with a discriminant on random features, see the documentation: Method",
        {"random_features": 1000},
    ),
    "mist-replay": Preset(
        "MIST replay forest",
        {},
        "ours",
        "Trees grown on rows that class memories replay, pooled with MIST, see the documentation: "
        "Replay",
        {},
        replay=True,
    ),
}


def vary(name: str, preset: Preset, options: Mapping[str, Any]) -> Preset:
    """Change parameters of a preset: those of the forest if it has the name, else of its trees.

    Parameters
    ----------
    name : str
        Name of the preset, for messages.
    preset : Preset
        The preset to vary.
    options : mapping of str to object
        Parameters and their values.

    Returns
    -------
    Preset
        With a title that names the options.

    Raises
    ------
    ValueError
        If there is no such parameter, a run gives it (`GIVEN`), or it has no effect.

    Examples
    --------
    >>> vary("mist-g", PRESETS["mist-g"], {"delta": 0.2}).title
    'MIST-G, delta=0.2'
    """
    from inspect import signature

    # Compiled code: imported only when needed.
    from mist.classifier import MistClassifier
    from mist.options import check_options

    of_tree, of_forest = [*MistClassifier().settings()], []
    if preset.forest is not None:
        of_forest = [*signature(_forest_of(preset)).parameters]
    # A run gives the data set and the seed.
    check_known(name, options, [o for o in dict.fromkeys([*of_forest, *of_tree]) if o not in GIVEN])
    forest = {k: v for k, v in options.items() if k in of_forest}
    own = {k: v for k, v in options.items() if k not in forest}
    tree = varied(preset.parameters, own)
    refuse_without_effect(given_options(own), flat(tree))
    check_options(MistClassifier.from_settings(**tree).settings())
    return replace(
        preset,
        title=entitle(preset.title, options),
        parameters=tree,
        forest=None if preset.forest is None else {**preset.forest, **forest},
    )


def check_known(name: str, options: Iterable[str], known: Iterable[str]) -> None:
    """Refuse options that a model does not have.

    Parameters
    ----------
    name : str
        Name of the model.
    options, known : iterable of str
        Options to check, and all options of the model.

    Raises
    ------
    ValueError
        Names the option and the nearest known one.

    Examples
    --------
    >>> check_known("mist-g", ["delta"], ["delta", "discount"])
    """
    names = list(known)
    for option in options:
        if option not in names:
            raise unknown_name(f"option of {name}", option, names)


PRESETS: Mapping[str, Preset] = Variants(_PRESETS, vary)
"""The library's presets by their names on the command line; ``mist-g+delta=0.01`` is a variant."""


def unknown_name(what: str, name: str, known: Iterable[str]) -> ValueError:
    """Return the error for an unknown name: it lists all names, and the nearest if one is near.

    Parameters
    ----------
    what : str
        Kind of thing that the names belong to, such as "model".
    name : str
        The unknown name. The search for the nearest ignores case, hyphens and underscores.
    known : iterable of str
        All names.

    Returns
    -------
    ValueError
        The error, for the caller to raise.

    Examples
    --------
    >>> print(unknown_name("model", "mistg", ["mist-g", "mist-k"]))
    no model called 'mistg': choose one of mist-g, mist-k. The nearest is 'mist-g'.
    """
    names = {_letters(each): each for each in known}
    nearest = difflib.get_close_matches(_letters(name), names, n=1)
    hint = f" The nearest is {names[nearest[0]]!r}." if nearest else ""
    return ValueError(
        f"no {what} called {name!r}: choose one of {', '.join(names.values())}.{hint}"
    )


def _letters(name: str) -> str:
    return str(name).casefold().replace("-", "").replace("_", "")


def find_preset(name: str) -> Preset:
    """Look up a preset, here and in installed packages (`mist.plugins`).

    Parameters
    ----------
    name : str
        Name of a preset, or a variant of one.

    Returns
    -------
    Preset
        Its title and parameters.

    Raises
    ------
    ValueError
        If the name is unknown.

    Examples
    --------
    >>> find_preset("mist-g").title
    'MIST-G'
    """
    if name in PRESETS:
        return PRESETS[name]
    more: list[Mapping[str, Preset]] = [each.load() for each in plugins.added("presets").values()]
    for presets in more:
        if name in presets:
            return presets[name]
    error = unknown_name("model", name, dict.fromkeys(chain(PRESETS, *more)))
    if not more:
        error = ValueError(f"{error} Ablations and others' trees: {plugins.HINT}")
    raise error


def make_model(
    name: str | Preset,
    *,
    seed: int | None = None,
    categorical_features: Sequence[int] | None = None,
) -> MistClassifier | MistForest:
    """Build the classifier of a preset.

    Parameters
    ----------
    name : str or Preset
        A preset, or a name as for `find_preset`.
    seed : int or None, default=None
        The classifier's ``random_state``.
    categorical_features : sequence of int or None, default=None
        Positions of the 0/1 columns.

    Returns
    -------
    MistClassifier or MistForest
        An unfitted classifier.

    Raises
    ------
    ValueError
        If the name is unknown.

    Examples
    --------
    >>> make_model("mist-g+inheritance=None", seed=7).inheritance is None
    True
    """
    preset = name if isinstance(name, Preset) else find_preset(name)
    from mist.classifier import MistClassifier  # compiled code: imported only when needed

    tree = MistClassifier.from_settings(
        **preset.parameters,
        categorical_features=list(categorical_features) if categorical_features else None,
    )
    if preset.forest is not None:
        return _forest_of(preset)(tree, **preset.forest, random_state=seed)
    return tree.set_params(random_state=seed)
