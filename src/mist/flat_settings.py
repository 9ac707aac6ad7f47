"""The settings of a tree as one flat dictionary, and the parameters of the estimator.

The engine, the checks, model files and the command line know each option by its own name, such as
``delta``. The estimator groups them: ``split_test=SplitTest(delta=0.05)``. `flat` and `nested`
convert one form into the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, Protocol, Self, TypeVar

from mist.tree_options import (
    FullGaussian,
    Gaussian,
    Inheritance,
    Majority,
    Mixture,
    Sketch,
    SplitTest,
    TreeOption,
)

__all__ = [
    "DEFAULTS",
    "GROUPED",
    "LEAVES",
    "as_object",
    "canonical",
    "flat",
    "flattened",
    "leaf_with",
    "nested",
    "set_settings",
    "shortened",
    "varied",
    "with_nested",
    "without_effect",
]

DEFAULTS: Mapping[str, Any] = {"leaf": "mixture", "split_test": "gap", "inheritance": "joint"}
"""The parameters that take an object, and their defaults."""

LEAVES: Mapping[str, type[TreeOption]] = {
    "gaussian": Gaussian,
    "sketch": Sketch,
    "mixture": Mixture,
    "full": FullGaussian,
    "majority": Majority,
}
"""The objects of the leaves, by name."""

_NAMES = {kind: name for name, kind in LEAVES.items()}

_NAMING = {"split_test": "rule", "inheritance": "kind"}
"""The option of an object that has the value of the plain name."""


def _defaults_of(kind: type[Any]) -> dict[str, Any]:
    return {each.name: each.default for each in fields(kind) if each.name not in ("rule", "kind")}


_OF_LEAVES = {name: value for kind in LEAVES.values() for name, value in _defaults_of(kind).items()}
_OF_SPLITS = {
    **_defaults_of(SplitTest),
    "delta": 0.1,
    "tie_threshold": 0.05,
    "bound": "mcdiarmid",
    "union_bound": True,
    "n_thresholds": 10,
    "rows_per_split": 500,
    "sketch_size": 64,
    "sketch_dtype": "float64",
}
_MAY_BE_UNSET = [each.name for each in fields(SplitTest) if each.default is None]

_OF_ALL = {**_OF_LEAVES, **_OF_SPLITS, **_defaults_of(Inheritance)}
"""Every option of an object, with the value that it has if it is not given."""

GROUPED: Mapping[str, str] = {
    **dict.fromkeys(_OF_LEAVES, "leaf"),
    **dict.fromkeys(_OF_SPLITS, "split_test"),
    "discount": "inheritance",
}
"""The parameter of the estimator that has each option of an object."""


_Model = TypeVar("_Model", bound="HasSettings")


class HasSettings(Protocol):
    """A `MistClassifier`."""

    def settings(self) -> dict[str, Any]:
        """Return all settings by their own names."""

    def set_params(self, **params: Any) -> Self:
        """Change parameters."""


def flat(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings by their own names, with defaults for options that are not given.

    Parameters
    ----------
    parameters : mapping of str to object
        Parameters of a `MistClassifier`. Values need not be valid.

    Returns
    -------
    dict

    Examples
    --------
    >>> from mist import MistClassifier
    >>> settings = flat(MistClassifier(split_test=SplitTest("gain")).get_params(deep=False))
    >>> settings["split_test"], settings["bound"], settings["max_components"]
    ('gain', 'mcdiarmid', 16)
    """
    given = _given(parameters)
    out = {**DEFAULTS, **_OF_ALL, **given}
    if out["criterion"] == "info_gain" and "bound" not in given:
        # The only radius that is derived for the information gain.
        out["bound"] = "hoeffding"
    return out


def _given(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings by their own names, without options of objects that are not given."""
    return {
        name: value
        for name, value in flattened(settings).items()
        if value is not None or name not in _MAY_BE_UNSET
    }


def flattened(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the objects among some settings by all their options.

    Parameters
    ----------
    settings : mapping of str to object
        Parameters and flat settings.

    Returns
    -------
    dict

    Raises
    ------
    TypeError
        If an option is given by its own name and also in an object.

    Examples
    --------
    >>> flattened({"grace_period": 50, "leaf": Mixture(max_components=4)})
    {'grace_period': 50, 'leaf': 'mixture', 'max_components': 4}
    """
    out: dict[str, Any] = {}
    for parameter, value in settings.items():
        if not isinstance(value, _kinds(parameter)):
            out[parameter] = value
            continue
        options = value.get_params()
        naming = _NAMING.get(parameter)
        out[parameter] = _NAMES[type(value)] if naming is None else options.pop(naming)
        for name in options:
            if name in settings:
                raise TypeError(
                    f"{name} is given twice, alone and in {parameter}={value!r}: give it there only"
                )
        out.update(options)
    return out


def _kinds(parameter: str) -> tuple[type[TreeOption], ...]:
    """Return the classes of the objects that a parameter takes."""
    if parameter == "leaf":
        return tuple(_NAMES)
    return {"split_test": (SplitTest,), "inheritance": (Inheritance,)}.get(parameter, ())


def nested(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the shortest parameters of the estimator for some settings.

    Options without effect are left out. A plain name replaces an object whose options all have
    their defaults.

    Parameters
    ----------
    settings : mapping of str to object
        Parameters and flat settings; those that are absent have their defaults.

    Returns
    -------
    dict
        Parameters of a `MistClassifier`.

    Raises
    ------
    TypeError
        As for `flattened`.

    Examples
    --------
    >>> nested({"split_test": "schedule", "rows_per_split": 200, "delta": 0.2, "bandwidth": 0.2})
    {'split_test': SplitTest('schedule', rows_per_split=200)}
    >>> nested({"leaf": "sketch", "bandwidth": 0.2, "tie_threshold": 0.05})
    {'leaf': 'sketch'}
    """
    given = flattened(settings)
    resolved = flat(given)
    left_out = {name for name, _, _ in without_effect(resolved)}
    unset = {**_OF_ALL, "bound": flat({"criterion": resolved["criterion"]})["bound"]}
    out = {name: value for name, value in given.items() if name not in GROUPED}
    for parameter, default in DEFAULTS.items():
        options = {
            name: value
            for name, value in given.items()
            if GROUPED.get(name) == parameter
            and name not in left_out
            and not _equal(value, unset[name])
        }
        if options:
            made = as_object(parameter, given.get(parameter, default))
            out[parameter] = shortened(made.replace(**options))
    return out


def varied(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with changes, without a bound that a new criterion does not have.

    Parameters
    ----------
    settings, changes : mapping of str to object
        Settings by their own names, or parameters.

    Examples
    --------
    >>> varied({"bound": "mcdiarmid", "delta": 0.1}, {"criterion": "info_gain"})
    {'delta': 0.1, 'criterion': 'info_gain'}
    """
    # What an object does not give keeps the value it has in the settings.
    given = _given(changes)
    out = {**settings, **given}
    if given.get("criterion") == "info_gain" and "bound" not in given:
        out.pop("bound", None)
    return out


def canonical(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with the defaults of options that have no effect.

    Examples
    --------
    >>> canonical({"inheritance": None, "discount": 0.6})["discount"]
    1.0
    """
    left_out = {name for name, _, _ in without_effect(flat(settings))}
    return flat({name: value for name, value in settings.items() if name not in left_out})


def shortened(option: TreeOption) -> Any:
    """Return the plain name that means the same as an object, else the object.

    Examples
    --------
    >>> shortened(SplitTest("gain")), shortened(SplitTest("gain", delta=0.2))
    ('gain', SplitTest('gain', delta=0.2))
    """
    name = _NAMES.get(type(option))
    if name is not None:
        return option if option.changed() else name
    naming = "rule" if isinstance(option, SplitTest) else "kind"
    return option if option.changed().keys() - {naming} else option.get_params()[naming]


def as_object(parameter: str, value: Any) -> TreeOption:
    """Return the object of a parameter that may have a plain name.

    Raises
    ------
    ValueError
        If the value has no options.

    Examples
    --------
    >>> as_object("leaf", "sketch"), as_object("split_test", "gain")
    (Sketch(), SplitTest('gain'))
    """
    if isinstance(value, TreeOption):
        return value
    if parameter == "split_test":
        return SplitTest(value)
    if parameter == "inheritance" and value is not None:
        return Inheritance(value)
    if parameter == "leaf" and isinstance(value, str) and value in LEAVES:
        return LEAVES[value]()
    raise ValueError(f"{parameter}={value!r} has no options: set another {parameter} first")


def _equal(value: Any, default: Any) -> bool:
    """Compare a value with a default; 1 is not True, so that a wrong type is refused later."""
    return value is default or (type(value) is type(default) and bool(value == default))


def with_nested(current: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return changes of parameters in which changed options are part of new objects.

    Parameters
    ----------
    current, changes : mapping of str to object
        Parameters, and arguments of ``set_params``.

    Raises
    ------
    ValueError
        If an object does not have the option.

    Examples
    --------
    >>> with_nested({"split_test": "gain"}, {"split_test__delta": 0.05, "max_leaves": 9})
    {'split_test': SplitTest('gain', delta=0.05), 'max_leaves': 9}
    """
    out: dict[str, Any] = {}
    for name, value in changes.items():
        parameter, nesting, option = name.partition("__")
        if nesting and parameter in DEFAULTS:
            before = out.get(parameter, changes.get(parameter, current[parameter]))
            out[parameter] = as_object(parameter, before).replace(**{option: value})
        else:
            out.setdefault(name, value)
    return out


def set_settings(model: _Model, **settings: Any) -> _Model:
    """Change settings of a model by their own names; those without effect are left out.

    Parameters
    ----------
    model : MistClassifier
        Changed in place.
    **settings
        Settings by their own names, or parameters.

    Returns
    -------
    MistClassifier
        The model.

    Examples
    --------
    >>> from mist import MistClassifier
    >>> set_settings(MistClassifier("sketch"), delta=0.2, max_leaves=9)
    MistClassifier(leaf='sketch', max_leaves=9, split_test=SplitTest(delta=0.2))
    """
    parameters = nested({**model.settings(), **flattened(settings)})
    return model.set_params(**{name: parameters[name] for name in _parameters_with(settings)})


def _parameters_with(names: Iterable[str]) -> set[str]:
    return {GROUPED.get(name, name) for name in names}


def without_effect(settings: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """List options without effect, each with the setting that is the reason, and the way out."""
    rule, bound, thresholds = (settings[name] for name in ("split_test", "bound", "thresholds"))
    leaf = settings["leaf"]
    out: list[tuple[str, str, str]] = []
    own = _defaults_of(LEAVES[leaf]) if isinstance(leaf, str) and leaf in LEAVES else {}
    out += [(name, "leaf", f"leaf={leaf_with(name)!r}") for name in _OF_LEAVES.keys() - own]
    if settings["inheritance"] is None:
        out.append(("discount", "inheritance", "inheritance='joint'"))
    if rule in ("gap", "gain"):
        counting = "split_test='schedule' or 'eprocess'"
        out.append(("rows_per_split", "split_test", counting))
        if bound in ("confseq", "confseq_independent"):
            out.append(("tie_threshold", "bound", "bound='mcdiarmid'"))
        if settings["criterion"] == "info_gain":
            out.append(("union_bound", "criterion", "criterion='gini'"))
        elif bound in ("rutkowski", "hoeffding"):
            out.append(("union_bound", "bound", "bound='mcdiarmid'"))
    if rule in ("schedule", "eprocess"):
        radius = ("tie_threshold", "union_bound", "bound")
        out += [(name, "split_test", "split_test='gap' or 'gain'") for name in radius]
    if rule == "schedule":
        out.append(("delta", "split_test", "split_test='gap', 'gain' or 'eprocess'"))
    if thresholds in ("medians", "gaussian"):
        out.append(("n_thresholds", "thresholds", "thresholds='dense' or 'sampled'"))
    if thresholds == "gaussian":
        sketches = ("sketch_size", "sketch_dtype", "max_classes_per_leaf")
        out += [(name, "thresholds", "thresholds='medians'") for name in sketches]
    return out


def leaf_with(option: str) -> str:
    """Return the name of a leaf that has an option."""
    return next(name for name, kind in LEAVES.items() if option in _defaults_of(kind))
