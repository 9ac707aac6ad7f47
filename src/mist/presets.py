"""Named settings of the classifier: models to use, and ablations for comparison."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from mist.variants import Variants, entitle

if TYPE_CHECKING:
    from mist.classifier import MistClassifier
    from mist.forest import MistForest

__all__ = [
    "FOREST_TREE",
    "GIVEN",
    "PAPER_LEAVES",
    "PAPER_SETTINGS",
    "PRESETS",
    "Preset",
    "check_known",
    "find_preset",
    "make_model",
    "unknown_name",
]

PAPER = (
    "Pham et al., MIST: Reliable Streaming Decision Trees for Online Class-Incremental Learning "
    "via McDiarmid Bound, 2026"
)

PAPER_SETTINGS: Mapping[str, Any] = {
    "leaf": "gaussian",
    "grace_period": 200,
    "delta": 0.1,
    "tie_threshold": 0.05,
    "sketch_size": 64,
    "inheritance": "gaussian",
    "discount": 0.6,
    "bound": "mcdiarmid",
    "split_test": "gap",
    "union_bound": True,
    "criterion": "gini",
    "thresholds": "medians",
    "n_thresholds": 10,
    # The formula in the paper, taken literally, has 1; 0.2 was chosen on training rows.
    "bandwidth": 0.2,
    "smoothing": 1e-3,
    # The paper gives none, but then a class with one row would have no variance.
    "variance_prior": 1.0,
    "class_prior": "counts",
}
"""Every setting of the tree as published, MIST-G; MIST-K has ``leaf="sketch"``."""

PAPER_LEAVES: Mapping[str, str] = {"G": "gaussian", "K": "sketch"}
"""The leaf of each tree of the paper, by its letter in the paper."""

# VFDT and Rutkowski's tree keep no sketches, and their children start empty.
_BEFORE_MIST = {**PAPER_SETTINGS, "thresholds": "gaussian", "inheritance": None}

GIVEN = ("categorical_features", "random_state")
"""Arguments that come from a run (its data set and seed), not from a preset."""

FOREST_TREE: Mapping[str, Any] = {"split_test": "schedule", "grace_period": 100}
"""Default parameters of the trees of a forest, where they differ from the classifier's."""


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


def _ablation(title: str, **parameters: Any) -> Preset:
    return Preset(title, {**PAPER_SETTINGS, **parameters})


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
    "mist-full": Preset(
        "MIST-F",
        {**PAPER_SETTINGS, "leaf": "full", "class_prior": "balanced"},
        "ours",
        "The paper's tree with a full covariance for each class at a leaf, see the "
        "documentation: Method",
    ),
    "mist-mixture": Preset(
        "MIST-M",
        {**PAPER_SETTINGS, "leaf": "mixture", "class_prior": "balanced"},
        "ours",
        "The paper's tree with a growing Gaussian mixture for each class at a leaf, see the "
        "documentation: Method",
    ),
    "mist-features": Preset(
        "MIST + features",
        {},
        "ours",
        "MIST with a discriminant on random features, see the documentation: Method",
        {
            "n_trees": 1,
            "max_features": None,
            "random_features": 1000,
            "feature_weight": 0.25,
        },
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
    "vfdt": Preset(
        "VFDT",
        # The paper's "confidence 0.95" is the probability of a right choice, 1 - delta.
        {**_BEFORE_MIST, "bound": "hoeffding", "delta": 0.05},
        "tree",
        "Domingos and Hulten, Mining High-Speed Data Streams, KDD 2000; naive Bayes leaves: "
        "Gama, Rocha and Medas, Accurate Decision Trees for Mining High-Speed Data Streams, "
        "KDD 2003",
    ),
    "rutkowski": Preset(
        "Rutkowski",
        {**_BEFORE_MIST, "bound": "rutkowski"},
        "tree",
        "Rutkowski, Pietruczuk, Duda and Jaworski, Decision Trees for Mining Data Streams Based "
        "on the McDiarmid's Bound, IEEE TKDE 25, 2013",
    ),
    "mist-g-no-inheritance": _ablation("MIST-G without inheritance", inheritance=None),
    "mist-g-no-sketching": _ablation("MIST-G without sketching", thresholds="gaussian"),
    "mist-g-hoeffding": _ablation("MIST-G with Hoeffding", bound="hoeffding"),
    "majority": _ablation("Majority leaf", leaf="majority"),
    "mist-g-sample-split": _ablation("MIST-G with SampleSplit", thresholds="sampled"),
    "mist-g-dense-10": _ablation(
        "MIST-G with DenseThreshold 10", thresholds="dense", n_thresholds=10
    ),
    "mist-g-dense-20": _ablation(
        "MIST-G with DenseThreshold 20", thresholds="dense", n_thresholds=20
    ),
    "mist-g-gain-test": _ablation("MIST-G with GainTest", split_test="gain"),
    "mist-g-gain-test-no-union": _ablation(
        "MIST-G with GainTestNoUnion", split_test="gain", union_bound=False
    ),
    "mist-g-gaussian-inheritance": _ablation("MIST-G with GaussianInheritance", inheritance="mass"),
    "mist-g-sketch-inherit": _ablation("MIST-G with SketchInherit", inheritance="sketch"),
}


def _vary(name: str, preset: Preset, options: Mapping[str, Any]) -> Preset:
    """Change parameters of a preset: those of the forest if it has the name, else of its trees."""
    from inspect import signature

    from mist.classifier import MistClassifier  # compiled code: imported only when needed

    of_tree, of_forest = [*signature(MistClassifier).parameters], []
    if preset.forest is not None:
        from mist.forest import MistForest

        of_forest = [*signature(MistForest).parameters]
    # A run gives the data set and the seed.
    check_known(name, options, [o for o in dict.fromkeys([*of_forest, *of_tree]) if o not in GIVEN])
    forest = {k: v for k, v in options.items() if k in of_forest}
    tree = {k: v for k, v in options.items() if k not in forest}
    return replace(
        preset,
        title=entitle(preset.title, options),
        parameters={**preset.parameters, **tree},
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


PRESETS: Mapping[str, Preset] = Variants(_PRESETS, _vary)
"""Every preset by the name used on the command line; ``mist-g+delta=0.01`` is a variant of one."""


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
    """Look up a preset.

    Parameters
    ----------
    name : str
        A key of `PRESETS`, or a variant of one.

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
    try:
        return PRESETS[name]
    except KeyError:
        raise unknown_name("model", name, PRESETS) from None


def make_model(
    name: str, *, seed: int | None = None, categorical_features: Sequence[int] | None = None
) -> MistClassifier | MistForest:
    """Build the classifier of a preset.

    Parameters
    ----------
    name : str
        A key of `PRESETS`.
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
    >>> make_model("mist-g-no-inheritance", seed=7).inheritance is None
    True
    """
    preset = find_preset(name)
    from mist.classifier import MistClassifier  # compiled code: imported only when needed

    tree = MistClassifier(
        **preset.parameters,
        categorical_features=list(categorical_features) if categorical_features else None,
    )
    if preset.forest is not None:
        from mist.forest import MistForest

        return MistForest(tree, **preset.forest, random_state=seed)
    return tree.set_params(random_state=seed)
