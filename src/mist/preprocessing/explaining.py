"""Explanations that speak of the columns of a table, not of those that an encoder makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mist.cells import is_missing
from mist.inspection import Explanation, TextColumn, explain
from mist.onehot import NUMBER, TEXT, text_of
from mist.preprocessing.encoder import StreamEncoder, name_of

__all__ = ["explain_encoded"]


def explain_encoded(pipeline: Any, x: Mapping[Any, Any], top: int | None) -> Explanation:
    """Explain the prediction of the tree of a pipeline.

    Parameters
    ----------
    pipeline : StreamPipeline
        The fitted pipeline.
    x : mapping
        The row before it is encoded.
    top : int or None
        As for `mist.inspection.explain`.

    Returns
    -------
    Explanation
        With the text columns of the row.
    """
    encoder = pipeline.encoder_
    explanation = explain(pipeline.model_, pipeline._encoded(x), top=top)
    texts = tuple(
        TextColumn(name_of(column), _shown(encoder, column, x.get(column)), tuple(places))
        for column, places in encoder._places.items()
        if encoder._kinds[column] != NUMBER and places
    )
    return replace(explanation, texts=texts)


def _shown(encoder: StreamEncoder, column: Any, cell: Any) -> str:
    """The text of a cell; empty if it is missing."""
    if is_missing(cell):
        return ""
    text = text_of(cell)
    known = encoder._kinds[column] != TEXT or text in encoder._codes[column]
    return text if known else f"{text} (never learnt)"
