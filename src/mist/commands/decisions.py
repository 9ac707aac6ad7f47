"""How ``mist run`` chooses labels: the options ``--decision RULE`` and ``--cost LABEL=COST``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["RULES", "parse_decision", "unmet_costs"]

RULES = ("balanced", "counts")
"""Values of ``--decision``."""


def parse_decision(rule: str | None, costs: Sequence[str]) -> str | dict[Any, float] | None:
    """Return the parameter ``decision`` of the models.

    Parameters
    ----------
    rule : str or None
        Value of ``--decision``.
    costs : sequence of str
        Values of ``--cost``, of the form ``LABEL=COST``.

    Returns
    -------
    str, dict or None
        A label that looks like a whole number is there as text and as number, because the file
        decides what it is.

    Raises
    ------
    ValueError
        If the rule is unknown, a cost has another form or is not above 0, or both are given.

    Examples
    --------
    >>> parse_decision(None, ["fraud=20", "7=2.5"])
    {'fraud': 20.0, '7': 2.5, 7: 2.5}
    """
    if rule is not None and rule not in RULES:
        more = f"; costs have an option of their own, --cost {rule}" if "=" in rule else ""
        raise ValueError(f"--decision {rule!r} is unknown: give {' or '.join(RULES)}{more}")
    if rule is not None and costs:
        raise ValueError(f"--decision {rule} and --cost are two rules: give one of them")
    decision: dict[Any, float] = {}
    for text in costs:
        label, mark, value = (part.strip() for part in text.rpartition("="))
        if not (mark and label and value):
            raise ValueError(f"--cost {text!r} is not of the form LABEL=COST, such as fraud=20")
        cost = _number(value)
        if not 0.0 < cost < math.inf:
            raise ValueError(f"--cost {text!r}: {value!r} is not a finite number above 0")
        if decision.setdefault(label, cost) != cost:
            raise ValueError(f"--cost gives {label!r} two costs: {decision[label]:g} and {cost:g}")
        if label.removeprefix("-").isdecimal() and str(int(label)) == label:
            decision[int(label)] = cost
    return rule or decision or None


def unmet_costs(decision: Any, labels: Iterable[Any]) -> dict[str, float]:
    """Return the labels with a cost that no row had, and their costs.

    Examples
    --------
    >>> unmet_costs({"fraud": 20.0, "frod": 20.0}, ["fine", "fraud"])
    {'frod': 20.0}
    """
    if not isinstance(decision, Mapping):
        return {}
    seen = set(map(str, labels))
    return {
        label: cost
        for label, cost in decision.items()
        if isinstance(label, str) and label not in seen
    }


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
