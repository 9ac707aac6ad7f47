"""Names in files that differ from the names in the code.

Files keep the names under which format 1 was first written, so that the code may rename its
attributes and fields of records without a new format.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mist.engine.gaussian_mixtures import COMPONENT
from mist.engine.state import CELL, LEAF

__all__ = [
    "from_file",
    "in_file",
    "parameters_from_file",
    "parameters_in_file",
    "records_from_file",
    "records_in_file",
]

Array = np.ndarray[Any, Any]

_ATTRIBUTES: Mapping[str, Mapping[str, str]] = {
    "State": {"observed": "missing", "candidate_splits": "trials", "screen": "glance"},
    "TrialBatch": {"candidates": "trials"},
    "MixtureGrowth": {"proposal_pace": "trial_pace"},
    "Labels": {"ranks": "columns"},
    "MistForest": {"_head": "_companion"},
}
"""By the name of a class in files: each renamed attribute, and its name in files."""

_FIELDS: Mapping[str, str] = {
    "weight_seen": "rows",
    "n_updates": "clock",
    "prior_only": "orphan",
    "size_class": "room",
    "proposal": "trial",
}
"""Each renamed field of records, and its name in files."""


_LATER: Mapping[str, Mapping[str, Any]] = {
    "MistClassifier": {"adapt": None, "decision": None, "max_bytes": None},
    "MistForest": {"adapt": None, "decision": None, "max_bytes": None},
}
"""By class: parameters that older files do not have, with the value that means what they did."""


def parameters_in_file(estimator: Any) -> dict[str, Any]:
    """Parameters of an estimator as files hold them: those of a tree are its flat settings.

    Examples
    --------
    >>> from mist import MistClassifier, Mixture
    >>> written = parameters_in_file(MistClassifier(leaf=Mixture(max_components=4)))
    >>> written["leaf"], written["max_components"]
    ('mixture', 4)
    """
    own = getattr(estimator, "_parameters_in_file", None)
    parameters: dict[str, Any] = estimator.get_params(deep=False) if own is None else own()
    return parameters


def parameters_from_file(cls: Any, name: str, written: dict[str, Any]) -> dict[str, Any]:
    """The parameters of an estimator in a file, with those that were added since.

    Parameters
    ----------
    cls, name : type, str
        Class of the estimator, and its name in files.
    written : dict
        What the file holds.

    Returns
    -------
    dict
        Not checked: the class need not have all of them.

    Examples
    --------
    >>> from mist import MistClassifier
    >>> parameters_from_file(MistClassifier, "MistClassifier", {"leaf": "full"})
    {'adapt': None, 'decision': None, 'max_bytes': None, 'leaf': 'full'}
    """
    own = getattr(cls, "_parameters_from_file", None)
    given = {**_LATER.get(name, {}), **written}
    parameters: dict[str, Any] = given if own is None else own(given)
    return parameters


def in_file(cls: str, attribute: str) -> str:
    """Name that an attribute of a class has in files.

    Examples
    --------
    >>> in_file("Labels", "ranks"), in_file("Labels", "classes")
    ('columns', 'classes')
    """
    return _ATTRIBUTES.get(cls, {}).get(attribute, attribute)


def from_file(cls: str, name: str) -> str:
    """Attribute of a class that has a name in files.

    Examples
    --------
    >>> from_file("Labels", "columns")
    'ranks'
    """
    renamed = _ATTRIBUTES.get(cls, {})
    return next((attribute for attribute, written in renamed.items() if written == name), name)


def _renamed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    # The records are packed, so names and types are all there is to them.
    return np.dtype([(_FIELDS.get(field[0], field[0]), field[1]) for field in dtype.descr])


# "rows" is also a field of other records, so the way back goes by all names together.
_BACK = {_renamed(dtype).names: dtype for dtype in (LEAF, CELL, COMPONENT)}


def records_in_file(records: Array) -> Array:
    """The same records with the names of their fields in files.

    Examples
    --------
    >>> records_in_file(np.zeros(1, LEAF)).dtype.names[2]
    'clock'
    """
    return records.view(np.ndarray).view(_renamed(records.dtype))


def records_from_file(records: Array) -> Array:
    """The same records with the names that the code has for their fields.

    Examples
    --------
    >>> records_from_file(records_in_file(np.zeros(1, LEAF))).dtype == LEAF
    True
    """
    known = _BACK.get(records.dtype.names)
    return records if known is None else records.view(known)
