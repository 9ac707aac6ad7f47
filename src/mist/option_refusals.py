"""Refusals of options that have no effect, and of options outside of the object that has them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec

from mist.flat_settings import DEFAULTS, GROUPED, LEAVES, as_object, leaf_with, without_effect
from mist.tree_options import SplitTest, TreeOption

__all__ = [
    "given_options",
    "naming_the_object",
    "refuse_alone",
    "refuse_without_effect",
]

_P = ParamSpec("_P")


def given_options(parameters: Mapping[str, Any]) -> list[str]:
    """Return the options that some parameters set, in objects or by their own names.

    Examples
    --------
    >>> given_options({"bandwidth": 0.5, "split_test": SplitTest(delta=0.05, max_features=0.5)})
    ['delta', 'max_features', 'bandwidth']
    """
    objects = [value for value in parameters.values() if isinstance(value, TreeOption)]
    inside = [name for each in objects for name in each.changed()]
    return [name for name in (*inside, *parameters) if name in GROUPED]


def refuse_without_effect(given: Iterable[str], settings: Mapping[str, Any]) -> None:
    """Refuse options that have no effect with the others.

    Parameters
    ----------
    given : iterable of str
        Options that the user has set.
    settings : mapping of str to object
        All settings by their own names.

    Raises
    ------
    ValueError
        Names the option, the reason, and what to do.

    Examples
    --------
    >>> from mist.flat_settings import flat
    >>> refuse_without_effect(["discount"], flat({"inheritance": None, "discount": 0.6}))
    Traceback (most recent call last):
    ValueError: discount=0.6 has no effect with inheritance=None: use inheritance='joint', ...
    """
    names = set(given)
    if not names:
        return
    for name, reason, use in without_effect(settings):
        if name in names:
            raise ValueError(
                f"{name}={settings[name]!r} has no effect with {reason}={settings[reason]!r}: "
                f"use {use}, or leave {name} out"
            )


def refuse_alone(
    given: Mapping[str, Any], current: Mapping[str, Any] | None = None, *, change: bool = False
) -> None:
    """Refuse options by their own names where parameters of the estimator are expected.

    Parameters
    ----------
    given : mapping of str to object
        Arguments of the constructor, or of ``set_params``.
    current : mapping of str to object, optional
        Parameters that are not among the arguments and have other values than the defaults.
    change : bool
        Whether the arguments are those of ``set_params``.

    Raises
    ------
    TypeError
        Or a ValueError for ``set_params``, as in scikit-learn; it shows a call that works.

    Examples
    --------
    >>> refuse_alone({"delta": 0.05}, {"split_test": "gain"}, change=True)
    Traceback (most recent call last):
    ValueError: delta is an option of the split test: set_params(split_test__delta=0.05)
    """
    alone = {name: value for name, value in given.items() if name in GROUPED}
    if not alone:
        return
    groups: dict[str, dict[str, Any]] = {}
    for name, value in alone.items():
        groups.setdefault(GROUPED[name], {})[name] = value
    known = {**(current or {}), **given}
    arguments = [_argument(each, known, options, change) for each, options in groups.items()]
    whose = " and ".join(_WHOSE.get(parameter, parameter) for parameter in groups)
    count = "is an option" if len(alone) == 1 else "are options"
    call = f"{'set_params' if change else 'MistClassifier'}({', '.join(arguments)})"
    error = ValueError if change else TypeError
    raise error(f"{' and '.join(alone)} {count} of {whose}: {call}")


_WHOSE = {"leaf": "some leaves", "split_test": "the split test"}


def _argument(
    parameter: str, known: Mapping[str, Any], options: Mapping[str, Any], change: bool
) -> str:
    """Write the argument that gives a parameter some options; others of its object are kept."""
    try:
        made = as_object(parameter, known.get(parameter, DEFAULTS[parameter]))
    except ValueError:
        made = as_object(parameter, DEFAULTS[parameter])
    lacking = [name for name in options if name not in made.get_params()]
    if lacking:  # only leaves have different options
        made = LEAVES[leaf_with(lacking[0])]()
    elif change:
        return ", ".join(f"{parameter}__{name}={value!r}" for name, value in options.items())
    needed: dict[str, Any] = {}
    if isinstance(made, SplitTest):
        if "rows_per_split" in options and made.rule not in ("schedule", "eprocess"):
            needed["rule"] = "schedule"
        if "n_thresholds" in options and made.thresholds not in ("dense", "sampled"):
            needed["thresholds"] = "dense"
    own = {name: value for name, value in options.items() if name in made.get_params()}
    return f"{parameter}={made.replace(**needed, **own)!r}"


def naming_the_object(init: Callable[_P, None]) -> Callable[_P, None]:
    """Let a constructor say which object has an option that is not a parameter of its own.

    Examples
    --------
    >>> from mist import MistClassifier
    >>> MistClassifier("sketch", variance_prior=2.0)
    Traceback (most recent call last):
    TypeError: variance_prior is an option of some leaves: MistClassifier(leaf=Sketch(...2.0))
    """

    @functools.wraps(init)
    def checked(*args: _P.args, **given: _P.kwargs) -> None:
        # The leaf is the only argument without a name.
        refuse_alone(given, {"leaf": args[1]} if len(args) > 1 else None)
        init(*args, **given)

    return checked
