"""Tables of the shapes and types of the arrays in models.

An entry gives the type and the axes of an array. Axes of the same name have the same length; a
number is a length. ``d`` counts all columns, ``a`` numeric and ``b`` 0/1 ones, ``codes`` classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mist.engine.class_memory import CELL_NODE, CLASS_CELL
from mist.engine.gaussian_mixtures import COMPONENT, MIXED
from mist.engine.gaussians import GAUSS
from mist.engine.low_rank_gaussians import HEAD
from mist.engine.records import Records
from mist.engine.state import CELL, LEAF, NODE
from mist.persistence.codec import Unreadable

__all__ = [
    "BASELINES",
    "CLASS_MEMORY",
    "COMMON",
    "CONFORMITY",
    "EXPERTS",
    "GAUSSIANS",
    "GAUSSIANS_SEEN",
    "LABEL_MEMORY",
    "LOW_RANK",
    "MISSING",
    "MIXTURE",
    "MOVED",
    "RECENT",
    "SHIFT",
    "SKETCH",
    "TREE",
    "VIEW",
    "Table",
    "fit",
    "require",
]

Table = Mapping[str, tuple[Any, str]]

_F, _I, _B = np.float64, np.int64, np.bool_
_PRECISION, _NARROW = "precision", "narrow"

TREE: Table = {
    "nodes": (NODE, "nodes"),
    "leaves": (LEAF, "leaves"),
    "spread": (_F, "leaves d"),
    "cells": (CELL, "cells"),
    "stats": (_F, "cells 3 d"),
    "products": (_F, "cells products"),
    "table": (np.int32, "table"),
    "scale": (_F, "2 d"),
    "counters": (_I, "11"),
    "totals": (_F, "totals"),
}
MISSING: Table = {"cell": (_F, "cells d"), "leaf": (_F, "leaves d"), "scale": (_F, "d")}
SKETCH: Table = {
    "items": (_PRECISION, "pool a"),
    "sizes": (_NARROW, "cells levels"),
    "ends": (_PRECISION, "cells 2 a"),
    "medians": (_PRECISION, "cells a"),
    "plan": (_I, "3 plan"),
}
VIEW: Table = {"values": (_PRECISION, "pool a"), "mass": (_F, "pool a"), "count": (_I, "cells a")}
MIXTURE: Table = {
    "cells": (MIXED, "cells"),
    "components": (COMPONENT, "components"),
    "factor": (_F, "components packed"),
    "pooled": (_F, "leaves packed"),
    "fresh": (_F, "leaves"),
    "evidence": (_F, "trials pairs"),
    "free": (_I, "trials"),
    "counters": (_I, "4"),
}
GAUSSIANS: Table = {
    "head": (GAUSS, "n"),
    "mean": (_F, "n d"),
    "m2": (_F, "n packed"),
    "factor": (_F, "n packed"),
    "odds": (_F, "n b"),
}
GAUSSIANS_SEEN: Table = {
    "weight": (_F, "n d"),
    "made": (_F, "n a"),
    "variance": (_F, "n a"),
    "uneven": (_I, "n"),
    "ready": (_I, "n"),
}
LOW_RANK: Table = {
    "head": (HEAD, "cells"),
    "mean": (_F, "cells d"),
    "weight": (_F, "cells d"),
    "m2": (_F, "cells a"),
    "scale": (_F, "cells a"),
    "sketch": (_F, "cells a rank"),
    "factor": (_F, "cells a rank"),
    "share": (_F, "cells a"),
    "root": (_F, "cells twice twice"),
    "odds": (_F, "cells b"),
    "signs": (_F, "a rank"),
}
COMMON: Table = {
    "factor": (_F, "leaves a rank"),
    "noise": (_F, "leaves a"),
    "variance": (_F, "leaves a"),
    "weight": (_F, "leaves"),
    "fresh": (_F, "leaves"),
    "squares": (_F, "leaves a"),
    "made": (_F, "leaves a"),
}
CONFORMITY: Table = {
    "held": (_F, "remembered"),
    "seen": (_F, "remembered"),
    "scored": (_I, "remembered"),
    "scores": (_F, "remembered scores"),
    "weights": (_F, "remembered scores"),
}
MOVED: Table = {
    "evidence": (_F, "codes"),
    "read": (_I, "codes"),
    "alarm": (_I, "codes"),
    "rows": (_F, "codes"),
}
SHIFT: Table = {
    "shift": (_F, "shifted"),
    "origin": (_F, "shifted"),
    "weight": (_F, "codes"),
    "mean": (_F, "codes shifted"),
    "rows": (_I, "codes"),
    "total": (_F, "codes shifted"),
    "difference": (_F, "codes shifted"),
    "found_at": (_I, "codes"),
    "scatter": (_F, "pairs"),
    "centre": (_F, "shifted"),
    "spread": (_F, "shifted"),
    "sums": (_F, "5"),
    "changed_at": (_I, "1"),
    "found": (_F, "shifted"),
}
CLASS_MEMORY: Table = {
    "nodes": (CELL_NODE, "nodes"),
    "cells": (CLASS_CELL, "cells"),
    "mean": (_F, "cells d"),
    "m2": (np.float32, "cells moments"),
    "roots": (np.int32, "codes trees"),
    "cuts": (_I, "codes trees"),
    "rows": (_I, "codes"),
    "weight": (_F, "codes"),
    "seen": (_F, "codes d"),
    "centre": (_F, "codes d"),
    "spread": (_F, "codes d"),
    "unit": (_F, "codes d"),
    "finest": (_F, "1"),
    "counters": (_I, "2"),
}
EXPERTS: Table = {
    "weights": (_F, "experts"),
    "curvature": (_F, "curvature"),
    "calibration": (_F, "2"),
}
LABEL_MEMORY: Table = {
    "count": (_F, "codes"),
    "recent": (_F, "codes"),
    "followed": (_F, "paired paired"),
    "last": (_I, "1"),
}
RECENT: Table = {
    "decay": (_F, "memories"),
    "rows": (_I, "codes"),
    "weight": (_F, "codes memories"),
    "mean": (_F, "codes memories d"),
    "factor": (_F, "codes memories factor"),
    "constant": (_F, "codes memories"),
    "long_weight": (_F, "codes"),
    "long_mean": (_F, "codes d"),
    "long_spread": (_F, "codes d"),
    "within": (_F, "d"),
    "overall": (_F, "3 d"),
}

BASELINES: Mapping[str, Table] = {
    "NCM": {"mass": (_F, "codes"), "means": (_F, "codes d")},
    "GaussianNB": {
        "mass": (_F, "codes"),
        "means": (_F, "codes d"),
        "squares": (_F, "codes d"),
        "total_mass": (_F, "1"),
        "total_means": (_F, "1 d"),
        "total_squares": (_F, "1 d"),
    },
    "SLDA": {
        "mass": (_F, "codes"),
        "means": (_F, "codes d"),
        "coefs": (_F, "codes d"),
        "biases": (_F, "codes"),
        "scatter": (_F, "d d"),
        "stale": (_B, "1"),
    },
    "SQDA": {
        "mass": (_F, "codes"),
        "means": (_F, "codes d"),
        "scatters": (_F, "codes d d"),
        "factors": (_F, "codes packed"),
        "log_dets": (_F, "codes"),
        "stale": (_B, "codes"),
    },
    "RLS": {"factor": (_F, "design design"), "targets": (_F, "design codes")},
    "RandomFeatureRLS": {
        "projection": (_F, "d random"),
        "offsets": (_F, "random"),
        "factor": (_F, "design design"),
        "targets": (_F, "design codes"),
    },
    "RandomFeatureLDA": {
        "projection": (_F, "d random"),
        "offsets": (_F, "random"),
        "centre": (_F, "d"),
        "spread": (_F, "d"),
        "scaled_at": (_F, "1"),
        "seed": (_I, "1"),
        "progress": (_F, "2"),
        "born": (_F, "codes"),
        "mass": (_F, "codes"),
        "means": (_F, "codes both"),
        "scatter": (_F, "both both"),
        "units": (_F, "both"),
        "factor": (_F, "both both"),
    },
    "PEC": {
        "teacher_in": (_F, "d wide"),
        "teacher_hidden": (_F, "wide"),
        "teacher_out": (_F, "wide outputs"),
        "teacher_offsets": (_F, "outputs"),
        "newborn": (_F, "student"),
        "students": (_F, "codes student"),
        "first": (_F, "codes student"),
        "second": (_F, "codes student"),
        "steps": (_I, "codes"),
    },
}
"""The state of each baseline, by the name of its class."""


def require(holds: Any, what: str) -> None:
    """Refuse a model unless a condition holds.

    Raises
    ------
    Unreadable
        The message says what is wrong.
    """
    if not holds:
        raise Unreadable(f"the model in the file is not valid: {what}")


def fit(group: Any, table: Table, sizes: dict[str, int], **types: Any) -> None:
    """Check the arrays of a named tuple against a table.

    Parameters
    ----------
    group : named tuple
        The arrays.
    table : mapping
        Type and axes of each.
    sizes : dict
        Known lengths of axes; new ones are added.
    **types
        Types for the names of types in the table.

    Raises
    ------
    Unreadable
        The message names the array that does not fit.

    Examples
    --------
    >>> from mist.baselines.ncm import NCMState
    >>> sizes = {"d": 2}
    >>> fit(NCMState(np.zeros(3), np.zeros((3, 2))), BASELINES["NCM"], sizes)
    >>> sizes
    {'d': 2, 'codes': 3}
    """
    for name, (kind, axes) in table.items():
        array = getattr(group, name)
        dtype = np.dtype(types[kind] if isinstance(kind, str) else kind)
        where = f"{type(group).__name__}.{name}"
        wanted = Records if dtype.fields is not None else np.ndarray
        require(type(array) is wanted and array.dtype == dtype, f"{where} is not of type {dtype}")
        lengths = [
            int(axis) if axis.isdecimal() else sizes.setdefault(axis, n)
            for axis, n in zip(axes.split(), array.shape, strict=False)
        ]
        require(
            array.ndim == len(axes.split()) and list(array.shape) == lengths,
            f"{where} has the wrong shape {array.shape}",
        )
