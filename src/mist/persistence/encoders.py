"""What an encoder and a pipeline take for granted of what they learnt, checked in a file."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from mist.onehot import HASHED, NUMBER, TEXT
from mist.persistence.registry import class_of
from mist.persistence.shapes import require

__all__ = ["check_encoder", "check_pipeline"]


def check_encoder(model: Any) -> None:
    """Refuse a `StreamEncoder` whose columns of the answer are not those of what it learnt.

    Parameters
    ----------
    model : StreamEncoder
        As it was read.

    Raises
    ------
    ValueError
        Says what is wrong.
    """
    if "_columns" not in vars(model):
        return
    columns, owners, suffixes = model._columns, model._owners, model._suffixes
    for name, kind in _KINDS.items():
        require(type(vars(model)[name]) is kind, f"{name} is no {kind.__name__}")
    known = set(columns)
    require(len(known) == len(columns), "it has a column twice")
    require(model.n_features_in_ == len(columns), "it counts other columns than it has")
    names = getattr(model, "feature_names_in_", columns)
    require(list(names) == columns, "it names other columns than it has")
    require(set(model._kinds) <= known, "it knows a column that it has not")
    require(all(type(suffix) is str for suffix in suffixes), "a suffix is no text")
    require(len(suffixes) == len(owners), "it has not a suffix for each column")
    require(set(model._places) == set(model._kinds), "it has not places for all columns")
    of_texts = [column for column, kind in model._kinds.items() if kind == TEXT]
    require(set(model._codes) == set(of_texts), "it has texts of a column without")
    taken = []
    for column, kind in model._kinds.items():
        places = model._places[column]
        require(type(places) is list and all(type(p) is int for p in places), "a place is none")
        require(all(0 <= place < len(owners) for place in places), "places are out of range")
        require(all(owners[place] == column for place in places), "a place is another column's")
        require(kind in (HASHED, NUMBER, TEXT), "a column holds nothing known")
        require(kind != NUMBER or len(places) == 1, "a column of numbers is not one column")
        require(kind != HASHED or len(places) > 0, "a hashed column has no place")
        if kind == TEXT:
            codes = model._codes[column]
            require(type(codes) is dict, "its texts are none")
            require(all(type(text) is str for text in codes), "a text is none")
            require(list(codes.values()) == list(range(len(places))), "codes of texts have gaps")
        taken += places
    require(sorted(taken) == list(range(len(owners))), "a column of the answer is no column's")
    for column, moments in model._moments.items():
        require(model._kinds.get(column) == NUMBER, "it has moments of a column without")
        three = type(moments) is list and len(moments) == 3
        require(three and all(type(each) is float for each in moments), "moments are none")


_KINDS = {"_columns": list, "_owners": list, "_suffixes": list, "_kinds": dict, "_codes": dict}
_KINDS |= {"_places": dict, "_moments": dict}


def check_pipeline(model: Any) -> None:
    """Refuse a `StreamPipeline` of which a part is missing or of another kind.

    Parameters
    ----------
    model : StreamPipeline
        As it was read; its parts have been checked.

    Raises
    ------
    ValueError
        Says what is wrong.
    """
    kinds: dict[str, Any] = {"encoder_": class_of("StreamEncoder"), "model_": BaseEstimator}
    there = [name for name in kinds if name in vars(model)]
    require(len(there) in (0, len(kinds)), "it has an encoder without a model, or a model without")
    for name in there:
        require(isinstance(vars(model)[name], kinds[name]), f"{name} is of another kind")
