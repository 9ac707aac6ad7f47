"""Task set-ups of the grid: data set, number of rows and tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mist.evaluation.protocol import PROTOCOLS
from mist.presets import check_known, unknown_name
from mist.variants import Variants, entitle
from mist_bench.methods import Method

__all__ = ["PROTOCOLS", "SEEDS", "SETTINGS", "SUITES", "Setting", "find_setting"]

SEEDS = (42, 123, 456, 789, 3330)
"""Seeds of the comparison. No setting is ever chosen on them."""


@dataclass(frozen=True)
class Setting:
    """How a data set is turned into a class-incremental stream.

    Examples
    --------
    >>> from mist_bench.methods import METHODS
    >>> SETTINGS["letter"].stream_options("paper", METHODS["slda"])
    {'protocol': 'paper', 'n_tasks': 10, 'scale': True}
    >>> SETTINGS["letter"].stream_options("honest", METHODS["slda"])
    {'protocol': 'honest', 'classes_per_task': 2, 'scale': False}
    """

    title: str
    """Heading in tables."""

    dataset: str
    """Name for `mist.datasets.load`."""

    load: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of `mist.datasets.load`."""

    drawn: bool = False
    """Whether the seed of the run also draws the rows: generated sets, and parts of large ones."""

    classes_per_task: int = 2
    """Classes that arrive together."""

    paper_load: Mapping[str, Any] | None = None
    """Other arguments of `mist.datasets.load` that reproduce the paper's figures, if needed; the
    seed then draws no rows."""

    paper_tasks: int | None = None
    """Number of tasks in the paper's experiments, if it differs."""

    paper_scale: bool = False
    """Whether columns standardised on all rows reproduce the paper's figures."""

    paper_empty_class: bool = False
    """Whether the paper's figures are reproduced if one more class, without rows, counts as never
    recognised. Labels from 1 on that are taken for labels from 0 on have this effect."""

    changed: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of `mist.datasets.load` of a variant, which override all others."""

    def load_options(self, seed: int, protocol: str) -> dict[str, Any]:
        """Arguments of `mist.datasets.load` for a run.

        Parameters
        ----------
        seed : int
            Seed of the run.
        protocol : {"honest", "paper"}
            Protocol of the stream.

        Returns
        -------
        dict
            By name.
        """
        if protocol == "paper" and self.paper_load is not None:
            return {**self.paper_load, **self.changed}
        return {**self.load, **({"seed": seed} if self.drawn else {}), **self.changed}

    def stream_options(self, protocol: str, method: Method) -> dict[str, Any]:
        """Arguments of `mist.evaluation.ClassIncrementalStream` for a run, but for the seed.

        Parameters
        ----------
        protocol : {"honest", "paper"}
            Protocol of the stream.
        method : Method
            Method that learns the stream. Columns are never scaled for trees: trees do not need it,
            and treat 0/1 columns as categorical.

        Returns
        -------
        dict
            By name.
        """
        if protocol == "paper":
            tasks = (
                {"classes_per_task": self.classes_per_task}
                if self.paper_tasks is None
                else {"n_tasks": self.paper_tasks}
            )
            scale = self.paper_scale and method.group == "other"
            return {"protocol": protocol, **tasks, "scale": scale}
        return {
            "protocol": protocol,
            "classes_per_task": self.classes_per_task,
            "scale": method.scale,
        }


def _generated(title: str, dataset: str, **load: Any) -> Setting:
    return Setting(title, dataset, load, drawn=True)


_LARGE = 20_000
"""Rows drawn from larger sets; as far as known, the paper does so on MNIST."""

_SETTINGS: Mapping[str, Setting] = {
    "synth10": _generated("Synth-10", "synth10"),
    "synth50": _generated("Synth-50", "synth50"),
    "wine": Setting("Wine", "wine", classes_per_task=1, paper_scale=True),
    "iris": Setting("Iris", "iris", classes_per_task=1, paper_scale=True),
    "covertype": Setting(
        "Covertype",
        "covertype",
        {"rows": _LARGE},
        drawn=True,
        paper_load={"per_class": _LARGE // 7},
        paper_tasks=6,
        paper_scale=True,
    ),
    "mnist": Setting("Split-MNIST", "mnist", {"rows": _LARGE, "pca": 50}, drawn=True),
    "pendigits": Setting("Pendigits", "pendigits"),
    "shuttle": Setting(
        "Shuttle", "shuttle", paper_tasks=6, paper_scale=True, paper_empty_class=True
    ),
    "letter": Setting("Letter", "letter", paper_tasks=10, paper_scale=True),
    "hapt": Setting(
        "HAPT, 6 activities", "hapt", {"basic": True}, paper_tasks=5, paper_empty_class=True
    ),
    "antipodal": _generated("Antipodal", "antipodal"),
    "multimodal": _generated("Multimodal", "multimodal"),
    "ring": _generated("Ring", "ring"),
    "skewed": _generated("Skewed", "skewed"),
    "heavy_tail": _generated("HeavyTail", "heavy_tail"),
    "noisy_features": _generated("NoisyFeature", "noisy_features"),
    "concept_drift": _generated("ConceptDrift", "concept_drift"),
    "angular_sectors": _generated("AngularSectors", "angular_sectors"),
    "covertype_full": Setting("Covertype, all rows", "covertype"),
    "digits": Setting("Digits", "digits"),
    "optdigits": Setting("Optdigits", "optdigits"),
    "satimage": Setting("Satimage", "satimage"),
    "electricity": Setting("Electricity", "electricity", classes_per_task=1),
    "fashion_mnist": Setting(
        "Fashion-MNIST", "fashion_mnist", {"rows": _LARGE, "pca": 50}, drawn=True
    ),
    "kddcup99_10pct": Setting("KDD Cup 99", "kddcup99_10pct", {"rows": _LARGE}, drawn=True),
    "outdoor": Setting("Outdoor", "outdoor"),
    "isolet_1_5": Setting("ISOLET 1 and 5", "isolet_1_5"),
    "random_means": _generated("Random means", "random_means"),
    "pareto": _generated("Pareto", "pareto"),
    "lognormal": _generated("LogNormal", "lognormal"),
    "exponential": _generated("Exponential", "exponential"),
    "outlier5": _generated("Outlier-5 %", "outlier5"),
}


def _vary(name: str, setting: Setting, options: Mapping[str, Any]) -> Setting:
    """A set-up with other arguments of `mist.datasets.load`."""
    from inspect import signature

    from mist.datasets import load

    # The seed is that of the run.
    check_known(name, options, [*signature(load).parameters.keys() - {"name", "seed"}])
    return replace(setting, title=entitle(setting.title, options), changed=options)


SETTINGS: Mapping[str, Setting] = Variants(_SETTINGS, _vary)
"""Every task set-up by its name on the command line; ``ring+rows=500`` is a variant of one."""

SUITES: Mapping[str, tuple[str, ...]] = {
    "quick": ("iris", "wine", "digits", "synth10", "multimodal"),
    "standard": (
        "synth10",
        "synth50",
        "wine",
        "iris",
        "covertype",
        "mnist",
        "pendigits",
        "shuttle",
        "letter",
        "hapt",
    ),
    "stress": (
        "antipodal",
        "multimodal",
        "ring",
        "skewed",
        "heavy_tail",
        "noisy_features",
        "concept_drift",
        "angular_sectors",
    ),
    "real": (
        "wine",
        "iris",
        "pendigits",
        "letter",
        "shuttle",
        "covertype",
        "mnist",
        "hapt",
        "optdigits",
        "satimage",
    ),
    "unseen": ("fashion_mnist", "outdoor", "electricity", "kddcup99_10pct", "isolet_1_5"),
    "all": tuple(SETTINGS),
}
"""The task set-ups of each suite. Quick needs no download; standard are the ten sets of the paper's
main tables, stress its eight non-Gaussian ones. Real are ten measured sets; unseen are five on
which no setting was ever chosen."""


def find_setting(name: str) -> Setting:
    """Return a task set-up by its name.

    Parameters
    ----------
    name : str
        A key of `SETTINGS`.

    Returns
    -------
    Setting
        The set-up.

    Raises
    ------
    ValueError
        If no set-up has that name; the message lists all and names the nearest.

    Examples
    --------
    >>> find_setting("hapt").dataset
    'hapt'
    """
    if name not in SETTINGS:
        raise unknown_name("data set in the grid", name, SETTINGS)
    return SETTINGS[name]
