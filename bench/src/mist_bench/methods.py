"""All methods by name: ours, other trees, other models, the ablations, and CapyMOA's rivals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from mist import baselines
from mist.flat_settings import flattened
from mist.presets import GIVEN, Preset, check_known, make_model, unknown_name
from mist.variants import Variants, entitle, join_name
from mist_bench import baselines as more_baselines
from mist_bench.ablations import PRESETS

__all__ = ["METHODS", "RIVALS", "Method", "find_method", "make"]


@dataclass(frozen=True)
class Method:
    """Description of a method, before it is built.

    Examples
    --------
    >>> METHODS["hat-no-reset"].title, METHODS["hat-no-reset"].needs
    ('HAT (no reset)', 'bench')
    """

    title: str
    """Display name."""

    group: Literal["ours", "tree", "other", "ablation"]
    """Group: ours, another tree, not a tree, or MIST with one part replaced."""

    needs: str | None
    """Extra of the package without which the method cannot be built, or None."""

    reference: str
    """Where the method was published."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of its class; all others have the defaults."""

    made_by: str | None = None
    """Its class in `mist.baselines` or `mist_bench.baselines`, of a rival in `capymoa.classifier`;
    None for a preset."""

    scale: bool = False
    """Whether it needs columns of similar scale, as distances, ridge penalties and networks do."""


def _of_preset(preset: Preset) -> Method:
    # Records of runs hold parameters as JSON, so without objects.
    parameters = flattened(preset.parameters)
    return Method(preset.title, preset.group, None, preset.reference, parameters)


def _river(kind: str, title: str, reference: str) -> dict[str, Method]:
    """The two variants of a river model."""
    return {
        name: Method(
            title + suffix,
            "tree",
            "bench",
            f"{reference}; river's code",
            made_by="RiverClassifier",
            parameters={"kind": kind, "no_reset": no_reset},
        )
        for name, suffix, no_reset in ((kind, "", False), (f"{kind}-no-reset", " (no reset)", True))
    }


def _other(title: str, made_by: str, reference: str, *, scale: bool = False) -> Method:
    return Method(title, "other", None, reference, made_by=made_by, scale=scale)


_ALL: Mapping[str, Method] = {
    **{name: _of_preset(preset) for name, preset in PRESETS.items()},
    **_river(
        "efdt",
        "EFDT",
        "Manapragada, Webb and Salehi, Extremely Fast Decision Tree, KDD 2018",
    ),
    **_river(
        "hat",
        "HAT",
        "Bifet and Gavalda, Adaptive Learning from Evolving Data Streams, IDA 2009",
    ),
    **_river(
        "arf",
        "ARF",
        "Gomes et al., Adaptive random forests for evolving data stream classification, "
        "Machine Learning 106, 2017",
    ),
    "slda": _other(
        "SLDA",
        "SLDA",
        "Hayes and Kanan, Lifelong Machine Learning with Deep Streaming Linear Discriminant "
        "Analysis, CVPR Workshops 2020",
    ),
    "sqda": _other(
        "SQDA",
        "SQDA",
        "Hastie, Tibshirani and Friedman, The Elements of Statistical Learning, section 4.3",
    ),
    "ncm": _other(
        "NCM",
        "NCM",
        "Mensink, Verbeek, Perronnin and Csurka, Distance-Based Image Classification: "
        "Generalizing to New Classes at Near-Zero Cost, PAMI 2013",
        scale=True,
    ),
    "rls": _other(
        "RLS", "RLS", "Haykin, Adaptive Filter Theory: recursive least squares", scale=True
    ),
    "random-feature-rls": _other(
        "RLS on random features",
        "RandomFeatureRLS",
        "McDonnell et al., RanPAC: Random Projections and Pre-trained Models for Continual "
        "Learning, NeurIPS 2023",
        scale=True,
    ),
    "random-feature-lda": _other(
        "LDA on random features",
        "RandomFeatureLDA",
        "McDonnell et al., RanPAC: Random Projections and Pre-trained Models for Continual "
        "Learning, NeurIPS 2023; discriminant in place of its ridge regression",
    ),
    "pec": _other(
        "PEC",
        "PEC",
        "Zajac, Tuytelaars and van de Ven, Prediction Error-based Classification for "
        "Class-Incremental Learning, ICLR 2024",
        scale=True,
    ),
    "gaussian-nb": _other(
        "Gaussian naive Bayes",
        "GaussianNB",
        "Chan, Golub and LeVeque, Updating Formulae and a Pairwise Algorithm for Computing "
        "Sample Variances, COMPSTAT 1982",
    ),
    "no-change": _other(
        "No change",
        "NoChange",
        "Zliobaite, Bifet, Read, Pfahringer and Holmes, Evaluation methods and decision theory for "
        "classification of streaming data with temporal dependence, Machine Learning 98, 2015",
    ),
}


def _class_of(made_by: str) -> Any:
    return getattr(more_baselines if made_by in more_baselines.__all__ else baselines, made_by)


def _vary(name: str, method: Method, options: Mapping[str, Any]) -> Method:
    """A method with other arguments."""
    if method.made_by is None:
        return _of_preset(PRESETS[join_name(name, **options)])
    from inspect import signature

    known = signature(_class_of(method.made_by)).parameters
    check_known(name, options, [option for option in known if option not in GIVEN])
    return replace(
        method, title=entitle(method.title, options), parameters={**method.parameters, **options}
    )


METHODS: Mapping[str, Method] = Variants(
    {
        name: method
        for group in ("ours", "tree", "other", "ablation")
        for name, method in _ALL.items()
        if method.group == group
    },
    _vary,
)
"""Every method by name, group after group; ``slda+shrinkage=0.1`` is a variant of one."""


def _rival(
    group: Literal["tree", "other"], title: str, made_by: str, reference: str, **parameters: Any
) -> Method:
    reference = f"{reference}; CapyMOA's code"
    return Method(f"CapyMOA {title}", group, "capymoa", reference, parameters, made_by)


def _vary_rival(name: str, rival: Method, options: Mapping[str, Any]) -> Method:
    """A rival with other values of the parameters that it has here."""
    check_known(name, options, [*rival.parameters])
    return replace(
        rival, title=entitle(rival.title, options), parameters={**rival.parameters, **options}
    )


RIVALS: Mapping[str, Method] = Variants(
    {
        "capymoa-ht": _rival(
            "tree",
            "HT",
            "HoeffdingTree",
            "Domingos and Hulten, Mining high-speed data streams, KDD 2000",
        ),
        "capymoa-hat": _rival("tree", "HAT", "HoeffdingAdaptiveTree", _ALL["hat"].reference),
        "capymoa-arf": _rival(
            "tree",
            "ARF",
            "AdaptiveRandomForestClassifier",
            _ALL["arf"].reference,
            ensemble_size=10,
        ),
        "capymoa-knn": _rival(
            "other",
            "kNN",
            "KNN",
            "Bifet, Holmes, Kirkby and Pfahringer, MOA: Massive online analysis, JMLR 11, 2010",
            window_size=1000,
        ),
        "capymoa-nb": _rival("other", "naive Bayes", "NaiveBayes", "John and Langley, UAI 1995"),
        "capymoa-no-change": _rival("other", "no change", "NoChange", _ALL["no-change"].reference),
    },
    _vary_rival,
)
"""Classifiers of CapyMOA with its defaults but for the parameters here; on streams in their own
order only. `mist_bench.capymoa_rivals` runs them, in an environment of its own."""


def find_method(name: str) -> Method:
    """Return the description of a method.

    Parameters
    ----------
    name : str
        A key of `METHODS` or `RIVALS`.

    Returns
    -------
    Method
        The description.

    Raises
    ------
    ValueError
        If there is no such method; the message lists all and names the nearest.

    Examples
    --------
    >>> find_method("capymoa-arf").title
    'CapyMOA ARF'
    """
    for methods in (METHODS, RIVALS):
        if name in methods:
            return methods[name]
    raise unknown_name("method", name, [*METHODS, *RIVALS])


def make(
    name: str, *, seed: int | None = None, categorical_features: Sequence[int] | None = None
) -> Any:
    """Build a method with the settings of the comparison.

    Parameters
    ----------
    name : str
        A key of `METHODS`.
    seed : int or None, default=None
        The ``random_state`` of methods that draw at random; None means 0.
    categorical_features : sequence of int or None, default=None
        Indices of the 0/1 columns. The trees treat them as categorical, the other methods as
        numbers.

    Returns
    -------
    estimator
        A fresh classifier with ``partial_fit``, ``predict``, ``predict_proba`` and
        ``prequential``, whose ``classes_`` grow.

    Raises
    ------
    ValueError
        If there is no such method, or it is a rival; the message lists all and names the nearest,
        or names the command that runs rivals.
    ImportError
        If the method needs an extra that is not installed; the message names it.

    Examples
    --------
    >>> from mist_bench.methods import make
    >>> make("vfdt", seed=1).settings()["bound"]
    'hoeffding'
    >>> make("slda")
    SLDA()
    """
    if name in RIVALS:
        raise ValueError(f"{name} is run by python -m mist_bench.capymoa_rivals, not here")
    if name not in METHODS:
        raise unknown_name("method", name, METHODS)
    method = METHODS[name]
    if method.made_by is None:
        return make_model(PRESETS[name], seed=seed, categorical_features=categorical_features)
    if method.needs is not None:
        from mist_bench.baselines.river_trees import load_river

        load_river()
    model = _class_of(method.made_by)(**method.parameters)
    given = {
        "random_state": seed,
        "categorical_features": list(categorical_features) if categorical_features else None,
    }
    taken = model.get_params()
    return model.set_params(**{option: given[option] for option in given if option in taken})
