"""Task set-ups of the grid: data set, number of rows and tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from mist.evaluation.protocol import PROTOCOLS
from mist.presets import check_known, unknown_name
from mist.variants import Variants, entitle
from mist_bench.methods import Method

if TYPE_CHECKING:
    from mist.datasets import DriftStream

__all__ = ["PROTOCOLS", "SEEDS", "SETTINGS", "SUITES", "Setting", "find_generator", "find_setting"]

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
    """Name for `mist.datasets.load`; empty for a generator of streams, which needs no table."""

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

    order: Literal["tasks", "natural"] = "tasks"
    """Whether the rows come in tasks of new classes, or in their own order: that of the file or of
    the generator."""

    generator: str = ""
    """Function that makes a stream in its own order, from the table if there is one: its module and
    name, with a colon between them. `load` and `changed` are then its arguments."""

    first: int | None = None
    """Number of first rows to use of a table in its own order; None for all."""

    needs: str | None = None
    """Extra of the package without which the stream cannot be loaded, or None."""

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
        if self.order == "natural":
            made = {"generator": self.generator} if self.generator else {"first": self.first}
            return {"order": self.order, **made}
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


def _drifting(title: str, function: str, **load: Any) -> Setting:
    maker = f"mist.datasets:{function}"
    return Setting(title, "", load, drawn=True, order="natural", generator=maker)


def _in_order(title: str, dataset: str, first: int | None = None) -> Setting:
    return Setting(f"{title}, in order", dataset, order="natural", first=first)


def _of_river(title: str, name: str) -> Setting:
    maker = "mist_bench.datasets:load_river_stream"
    setting = Setting(f"{title}, in order", "", {"name": name}, order="natural", generator=maker)
    return replace(setting, needs="bench")


def _changing(title: str, dataset: str, kind: str) -> Setting:
    setting = _drifting(f"{title}, {kind}", "make_changing_classes", kind=kind)
    return replace(setting, dataset=dataset)


_DRIFTING: Mapping[str, Setting] = {
    "electricity_in_order": _in_order("Electricity", "electricity"),
    "covertype_in_order": _in_order("Covertype", "covertype", 100_000),
    "outdoor_in_order": _in_order("Outdoor", "outdoor"),
    "kddcup99_in_order": _in_order("KDD Cup 99", "kddcup99_10pct", 100_000),
    "shuttle_in_order": _in_order("Shuttle", "shuttle"),
    "segment_in_order": _of_river("Segment", "segment"),
    "phishing_in_order": _of_river("Phishing", "phishing"),
    "bananas_in_order": _of_river("Bananas", "bananas"),
    "sea": _drifting("SEA", "make_sea"),
    "agrawal": _drifting("Agrawal", "make_agrawal"),
    "led": _drifting("LED", "make_led"),
    "hyperplane": _drifting("Hyperplane", "make_hyperplane"),
    "rbf_moderate": _drifting("RBF, moderate", "make_rbf_drift", speed=1e-4),
    "rbf_fast": _drifting("RBF, fast", "make_rbf_drift", speed=1e-3),
    "mixed": _drifting("Mixed", "make_mixed"),
    "stagger": _drifting("STAGGER", "make_stagger"),
    **{
        f"{dataset}_{kind}": _changing(title, dataset, kind)
        for title, dataset in (
            ("Multimodal", "multimodal"),
            ("Pendigits", "pendigits"),
            ("Letter", "letter"),
        )
        for kind in ("moved", "swap", "split", "offset", "recur")
    },
}


def _vary(name: str, setting: Setting, options: Mapping[str, Any]) -> Setting:
    """A set-up with other arguments of `mist.datasets.load` or of its generator."""
    from inspect import signature

    from mist.datasets import load

    make = find_generator(setting) if setting.generator else load
    # The seed is that of the run, and so is the table.
    known = signature(make).parameters.keys() - {"name", "seed", "X", "y"}
    check_known(name, options, [*known])
    return replace(setting, title=entitle(setting.title, options), changed=options)


def find_generator(setting: Setting) -> Callable[..., DriftStream]:
    """Find the function that makes a stream.

    Parameters
    ----------
    setting : Setting
        A set-up with a generator.

    Returns
    -------
    callable
        The function.

    Examples
    --------
    >>> find_generator(SETTINGS["sea"]).__name__
    'make_sea'
    """
    module, _, name = setting.generator.partition(":")
    function: Callable[..., DriftStream] = getattr(import_module(module), name)
    return function


SETTINGS: Mapping[str, Setting] = Variants({**_SETTINGS, **_DRIFTING}, _vary)
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
    "drift": tuple(_DRIFTING),
    "all": tuple(_SETTINGS),
}
"""The task set-ups of each suite. Quick needs no download; standard are the ten sets of the paper's
main tables, stress its eight non-Gaussian ones. Real are ten measured sets; unseen are five on
which no setting was ever chosen. Drift are streams in their own order; all are the sets in
tasks."""


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
