"""The named settings of the classifier that the command line offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mist.classifier import MistClassifier

__all__ = ["PRESETS", "Preset", "find_preset", "make_model"]


@dataclass(frozen=True)
class Preset:
    """Named parameters of :class:`mist.MistClassifier`.

    Examples
    --------
    >>> PRESETS["mist-k"].title, PRESETS["mist-k"].parameters
    ('MIST-K', {'leaf': 'sketch'})
    """

    title: str
    """Name for people."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Arguments that differ from the classifier's defaults."""


PRESETS: Mapping[str, Preset] = {
    "mist-g": Preset("MIST-G", {"leaf": "gaussian"}),
    "mist-k": Preset("MIST-K", {"leaf": "sketch"}),
    "mist-g-no-inheritance": Preset(
        "MIST-G without inheritance", {"leaf": "gaussian", "inheritance": None}
    ),
    "majority": Preset("Majority leaf", {"leaf": "majority"}),
}
"""Every preset by the name used on the command line."""


def find_preset(name: str) -> Preset:
    """Look a preset up.

    Parameters
    ----------
    name : str
        A key of `PRESETS`.

    Returns
    -------
    Preset
        Its title and parameters.

    Raises
    ------
    ValueError
        If there is no such preset.

    Examples
    --------
    >>> find_preset("mist-g").title
    'MIST-G'
    """
    try:
        return PRESETS[name]
    except KeyError:
        raise ValueError(f"no model called {name!r}: choose one of {', '.join(PRESETS)}") from None


def make_model(
    name: str, *, seed: int | None = None, categorical_features: Sequence[int] | None = None
) -> MistClassifier:
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
    MistClassifier
        A fresh classifier.

    Raises
    ------
    ValueError
        If there is no such preset.

    Examples
    --------
    >>> make_model("mist-g-no-inheritance", seed=7).inheritance is None
    True
    """
    preset = find_preset(name)
    from mist.classifier import MistClassifier  # compiled code: only when a model is wanted

    return MistClassifier(
        **preset.parameters,
        categorical_features=list(categorical_features) if categorical_features else None,
        random_state=seed,
    )
