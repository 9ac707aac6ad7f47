"""Validation of encoders and pipelines that are read from a file."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from mist.onehot import HASHED, NUMBER, TEXT
from mist.persistence.class_paths import class_of
from mist.persistence.shapes import require

__all__ = ["check_encoder", "check_pipeline"]


def check_encoder(model: Any) -> None:
    """Refuse a `StreamEncoder` whose output columns do not match its input columns.

    Parameters
    ----------
    model : StreamEncoder
        The decoded encoder.

    Raises
    ------
    ValueError
        The message says what is wrong.
    """
    if "_columns" not in vars(model):
        return
    columns, owners, suffixes = model._columns, model._owners, model._suffixes
    for name, kind in _KINDS.items():
        require(type(vars(model)[name]) is kind, f"{name} is not a {kind.__name__}")
    known = set(columns)
    require(len(known) == len(columns), "it has the same column twice")
    require(model.n_features_in_ == len(columns), "n_features_in_ does not count its columns")
    names = getattr(model, "feature_names_in_", columns)
    require(list(names) == columns, "feature_names_in_ does not name its columns")
    require(set(model._kinds) <= known, "it has the kind of an unknown column")
    require(all(type(suffix) is str for suffix in suffixes), "a suffix is not a text")
    require(len(suffixes) == len(owners), "it does not have one suffix per output column")
    require(set(model._places) == set(model._kinds), "positions of a column are missing")
    of_texts = [column for column, kind in model._kinds.items() if kind == TEXT]
    require(set(model._codes) == set(of_texts), "the columns with codes are not the text columns")
    taken = []
    for column, kind in model._kinds.items():
        places = model._places[column]
        require(type(places) is list and all(type(p) is int for p in places), "wrong position type")
        require(all(0 <= place < len(owners) for place in places), "positions are out of range")
        require(all(owners[place] == column for place in places), "a position has another owner")
        require(kind in (HASHED, NUMBER, TEXT), "a column is of an unknown kind")
        require(kind != NUMBER or len(places) == 1, "a numeric column must have one output column")
        require(kind != HASHED or len(places) > 0, "a hashed column has no output column")
        if kind == TEXT:
            codes = model._codes[column]
            require(type(codes) is dict, "its codes are not a dict")
            require(all(type(text) is str for text in codes), "a category is not a text")
            require(list(codes.values()) == list(range(len(places))), "codes of texts have gaps")
        taken += places
    require(sorted(taken) == list(range(len(owners))), "an output column belongs to no column")
    for column, moments in model._moments.items():
        require(model._kinds.get(column) == NUMBER, "a column with moments is not numeric")
        three = type(moments) is list and len(moments) == 3
        require(three and all(type(each) is float for each in moments), "moments are not floats")


_KINDS = {"_columns": list, "_owners": list, "_suffixes": list, "_kinds": dict, "_codes": dict}
_KINDS |= {"_places": dict, "_moments": dict}


def check_pipeline(model: Any) -> None:
    """Refuse a `StreamPipeline` with a missing part or a part of the wrong type.

    Parameters
    ----------
    model : StreamPipeline
        The decoded pipeline; its parts have been checked.

    Raises
    ------
    ValueError
        The message says what is wrong.
    """
    kinds: dict[str, Any] = {"encoder_": class_of("StreamEncoder"), "model_": BaseEstimator}
    there = [name for name in kinds if name in vars(model)]
    require(len(there) in (0, len(kinds)), "it has only one of encoder and model")
    for name in there:
        require(isinstance(vars(model)[name], kinds[name]), f"{name} has the wrong type")
