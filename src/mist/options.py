"""Allowed values of every parameter of `MistClassifier`."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from mist.engine.leaves.kinds import LEAVES
from mist.tree_options import TreeOption

CHOICES: dict[str, tuple[str | None, ...]] = {
    "leaf": tuple(LEAVES),
    "inheritance": ("gaussian", "mass", "sketch", "joint", None),
    "bound": ("mcdiarmid", "rutkowski", "hoeffding", "confseq", "confseq_independent"),
    "split_test": ("gap", "gain", "schedule", "eprocess"),
    "criterion": ("gini", "info_gain", "likelihood"),
    "class_prior": ("counts", "balanced"),
    "thresholds": ("medians", "dense", "sampled", "gaussian"),
    "sketch_dtype": ("float64", "float32"),
    "adapt": ("stream", "classes", None),
}

RANGES: dict[str, tuple[type[numbers.Real], float, float, bool, bool]] = {
    # name: number type, lowest, highest, whether each end is allowed
    "grace_period": (numbers.Integral, 1, np.inf, True, False),
    "delta": (numbers.Real, 0, 1, False, False),
    "rows_per_split": (numbers.Integral, 1, np.inf, True, False),
    "tie_threshold": (numbers.Real, 0, np.inf, True, True),
    "sketch_size": (numbers.Integral, 8, 32768, True, True),
    "discount": (numbers.Real, 0, 1, False, True),
    "n_thresholds": (numbers.Integral, 1, np.inf, True, False),
    "bandwidth": (numbers.Real, 0, np.inf, False, False),
    "smoothing": (numbers.Real, 0, np.inf, False, False),
    "variance_prior": (numbers.Real, 0, np.inf, False, False),
    "max_components": (numbers.Integral, 1, 1000, True, True),
}

FIXED = (
    "leaf",
    "class_prior",
    "grace_period",
    "sketch_size",
    "sketch_dtype",
    "bandwidth",
    "smoothing",
    "variance_prior",
    "max_classes_per_leaf",
    "max_components",
    "adapt",
    "open_world",
)
"""Options that cannot change once a row is learnt."""

COUNTS_OR_NONE = ("max_leaves", "max_classes_per_leaf")

SWITCHES = ("union_bound", "open_world")


def check_options(params: dict[str, Any]) -> None:
    """Refuse unknown options and numbers out of range.

    Parameters
    ----------
    params : dict
        Parameters of the estimator by name.

    Raises
    ------
    ValueError
        Names the parameter, its value and the allowed values.
    """
    for name, allowed in CHOICES.items():
        _check_choice(name, params[name], allowed)
    for name, (kind, low, high, with_low, with_high) in RANGES.items():
        value = params[name]
        if isinstance(value, kind) and not isinstance(value, bool):
            number = float(value)
            if (
                low < number < high
                or (with_low and number == low)
                or (with_high and number == high)
            ):
                continue
        what = "a whole number" if kind is numbers.Integral else "a number"
        ends = f"{'[' if with_low else '('}{low:g}, {high:g}{']' if with_high else ')'}"
        raise ValueError(f"{name}={value!r} must be {what} in {ends}")
    for name in COUNTS_OR_NONE:
        value = params[name]
        whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        if value is not None and not (whole and int(value) >= 1):
            raise ValueError(f"{name}={value!r} must be None or a whole number >= 1")
    share = params["max_features"]
    number = isinstance(share, numbers.Real) and not isinstance(share, bool)
    if share is not None and not (number and 0 < float(share) <= 1):
        raise ValueError(f"max_features={share!r} must be None or a share of the columns in (0, 1]")
    for name in SWITCHES:
        if not isinstance(params[name], bool | np.bool_):
            raise ValueError(f"{name}={params[name]!r} must be True or False")
    if params["open_world"] and params["leaf"] == "majority":
        raise ValueError(
            "open_world=True needs densities, and leaf='majority' has none: use leaf='gaussian'"
        )
    if params["criterion"] == "info_gain" and params["bound"] != "hoeffding":
        raise ValueError(
            f"bound={params['bound']!r} is derived for the Gini gain; "
            "use bound='hoeffding' with criterion='info_gain'"
        )
    if params["criterion"] == "likelihood":
        needed = {
            "split_test": ("schedule",),
            "inheritance": ("joint",),
            "leaf": ("gaussian", "sketch"),
        }
        for name, allowed in needed.items():
            if params[name] not in allowed:
                raise ValueError(
                    f"criterion='likelihood' needs {name}={' or '.join(map(repr, allowed))}, "
                    f"got {name}={params[name]!r}"
                )
    if params["thresholds"] == "gaussian":
        for name in ("leaf", "inheritance"):
            if params[name] == "sketch":
                raise ValueError(
                    f"thresholds='gaussian' keeps no sketches, but {name}='sketch' needs them; "
                    "use thresholds='medians'"
                )


def _check_choice(name: str, value: Any, allowed: tuple[str | None, ...]) -> None:
    """Refuse a value that is not among the names of a parameter, and no object of its own."""
    if value is None or isinstance(value, str):
        if value not in allowed:
            raise ValueError(f"{name}={value!r} is unknown; allowed: {list(allowed)}")
    elif isinstance(value, type) and issubclass(value, TreeOption):
        raise ValueError(f"{name}={value.__name__} is a class: write {name}={value.__name__}()")
    else:
        objects = {
            "leaf": "Gaussian, Sketch, Mixture, FullGaussian and Majority",
            "split_test": "SplitTest",
            "inheritance": "Inheritance",
        }
        more = f", and objects: {objects[name]}" if name in objects else ""
        raise ValueError(f"{name}={value!r} is unknown; allowed: {list(allowed)}{more}")


def check_change(before: dict[str, Any], now: dict[str, Any]) -> None:
    """Refuse to change an option that shapes the statistics of a model that has learnt rows.

    Parameters
    ----------
    before, now : dict
        Parameters by name.

    Raises
    ------
    ValueError
        Names the parameter and the remedy.
    """
    fixed = [name for name in FIXED if before[name] != now[name]]
    if (before["thresholds"] == "gaussian") != (now["thresholds"] == "gaussian"):
        fixed.append("thresholds")
    if (before["inheritance"] == "joint") != (now["inheritance"] == "joint"):
        fixed.append("inheritance")
    if fixed:
        raise changed_too_late(fixed[0], before[fixed[0]], now[fixed[0]])


def changed_too_late(name: str, before: Any, now: Any) -> ValueError:
    """Return the error for an option that was changed after a row was learnt."""
    return ValueError(
        f"{name} was changed from {before!r} to {now!r} after the first row; set it back, or start "
        "again with fit or a clone of the model"
    )


def seed_of(random_state: Any) -> int:
    """Return the integer seed of a ``random_state``; None means 0."""
    if random_state is None:
        return 0
    if isinstance(random_state, numbers.Integral) and int(random_state) >= 0:
        return int(random_state) % 2**63
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    raise ValueError(
        f"random_state={random_state!r} must be None, a whole number >= 0, "
        "a numpy RandomState or a numpy Generator"
    )
