"""``mist explain``: explain the prediction of a saved model for one row."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from mist.classifier import MistClassifier
from mist.inspection import Explanation
from mist.inspection.text_columns import text_columns
from mist.io.applying import encode_one, is_encoding
from mist.io.csv import CsvSource, delimiter_of
from mist.io.source import MISSING, TableError
from mist.persistence import load_with_attachment
from mist.preprocessing import StreamEncoder, StreamPipeline

__all__ = ["explain_row", "named_values", "row_of_csv", "row_of_text"]

_ROWS_AT_ONCE = 4096


def explain_row(path: Path, row: Any, top: int, *, strict: bool = False) -> Explanation:
    """Explain the prediction of a saved model for one row.

    Parameters
    ----------
    path : Path
        Model file, see `mist.persistence.save`. A file of ``mist run --save`` defines how the row
        is encoded; a `StreamPipeline` encodes it itself.
    row : sequence, or mapping of str
        The row; a mapping is read as in `named_values`, unless the file defines the encoding.
    top : int
        Number of classes to give the evidence for.
    strict : bool, default=False
        Whether names in the row that the model has not learnt are refused, not ignored.

    Returns
    -------
    Explanation
        With the text columns of the row.

    Raises
    ------
    ValueError
        If the file has no fitted `MistClassifier`, alone or in a `StreamPipeline`, or the row does
        not fit.
    OSError
        If the file cannot be read.
    """
    model, attachment = load_with_attachment(path)
    pipeline = model if isinstance(model, StreamPipeline) else None
    tree = model if pipeline is None else getattr(pipeline, "model_", pipeline._model())
    if not isinstance(tree, MistClassifier):
        raise ValueError(
            f"{path.name} holds a {type(tree).__name__}; mist explain needs a single tree, a "
            "MistClassifier (in Python: forest.trees_[0].explain(row))"
        )
    if not hasattr(model, "n_features_in_"):
        raise ValueError(f"the model in {path.name} has learnt nothing yet: save it after learning")
    encoding = attachment.get("encoding") if isinstance(attachment, Mapping) else None
    encoding = encoding if is_encoding(encoding) else None
    if strict and isinstance(row, Mapping):
        _check_names(row, _known_names(tree, pipeline, encoding))
    if pipeline is not None:
        return pipeline.explain(_cells(row, pipeline.encoder_), top=top)
    if not isinstance(row, Mapping):
        return tree.explain(row, top=top)
    if encoding is None:
        x = named_values(row, tree._names())
        return _by_texts(tree.explain(x, top=top), row)
    x = encode_one(encoding, row)
    if tree._has_names():
        return _by_texts(tree.explain(x, top=top), _text_names(encoding))
    # A checkpoint has learnt columns without names.
    explanation = tree.explain(list(x.values()), top=top)
    names = tuple(x)
    path_by_name = tuple(step._replace(column=names[step.feature]) for step in explanation.path)
    named = replace(explanation, columns=names, path=path_by_name)
    return _by_texts(named, _text_names(encoding))


def _by_texts(explanation: Explanation, names: Iterable[str]) -> Explanation:
    """Name the 0/1 columns of text columns by their texts."""
    own = [name for name in names if name not in explanation.columns]
    texts = text_columns(explanation.columns, explanation.values.tolist(), own)
    return replace(explanation, texts=texts)


def _text_names(encoding: Mapping[str, Any]) -> list[str]:
    texts = encoding["texts"]
    return list(texts) if isinstance(texts, dict) else [name for name, codes in texts if codes]


def _known_names(
    tree: MistClassifier, pipeline: StreamPipeline | None, encoding: Mapping[str, Any] | None
) -> list[str]:
    """Names that a row may have: columns of the table, and the target."""
    if pipeline is not None:
        return [str(name) for name in pipeline.encoder_._columns]
    if encoding is not None:
        known = encoding.get("columns") or [name for name, _ in encoding["texts"]]
        return [*known, encoding["target"]]
    names = [str(name) for name in tree._names()]
    return list(dict.fromkeys([*(name.partition("=")[0] for name in names), *names]))


def _check_names(row: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse names that were not learnt."""
    unknown = next((name for name in row if name not in known), None)
    if unknown is None:
        return
    near = get_close_matches(unknown, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "leave it out."
    raise ValueError(
        f"--row has the column {unknown!r}, which the model has not learnt: {hint} "
        f"Its columns are {', '.join(known[:5])}{', ...' * (len(known) > 5)}"
    )


def row_of_text(text: str) -> Any:
    """Read a row from JSON, an object or a list.

    Raises
    ------
    ValueError
        If the text is neither.

    Examples
    --------
    >>> row_of_text('{"width": 1.5, "colour": "red"}')
    {'width': 1.5, 'colour': 'red'}
    """
    try:
        row = json.loads(text)
    except ValueError as error:
        raise ValueError(f"--row is not valid JSON: {error}") from error
    if not isinstance(row, dict | list) or not row:
        raise ValueError(
            "--row must be a JSON object with a value for each column, or a list of numbers"
        )
    return row


def row_of_csv(
    path: Path, line: int, header: bool | None = None, separator: str | None = None
) -> dict[str, str]:
    """Read one row of a CSV file by its line number.

    Parameters
    ----------
    path : Path
        The file.
    line : int
        Line of the row, counted as in error messages and files of predictions.
    header, separator
        See `mist.io.open_table`.

    Returns
    -------
    dict of str to str
        The cells by name.

    Raises
    ------
    TableError
        If there is no row on that line.
    """
    source = CsvSource(path, header, delimiter_of(separator))
    for batch in source.batches(_ROWS_AT_ONCE):
        for place, number in enumerate(batch.rows):
            if number == line:
                names = [column.name for column in source.columns]
                return {
                    name: str(cells[place])
                    for name, cells in zip(names, batch.columns, strict=True)
                }
    raise TableError(f"{path.name} has no row on line {line}")


def named_values(row: Mapping[str, Any], names: Sequence[Any]) -> dict[Any, float]:
    """Convert cells to values of the columns of a model.

    Parameters
    ----------
    row : mapping of str to cell
        Numbers, texts or None. The text of a column that the model has as 0/1 columns named
        ``"column=text"`` is spread over these. Cells without a column in the model are ignored.
    names : sequence
        Names of the model's columns.

    Returns
    -------
    dict
        Values by name; a missing one is NaN.

    Raises
    ------
    ValueError
        If a cell is not a number where one is needed, or the model has no column of the row.

    Examples
    --------
    >>> named_values({"size": "2", "hue": "red", "id": "7"}, ["size", "hue=blue", "hue=red"])
    {'size': 2.0, 'hue=blue': 0.0, 'hue=red': 1.0}
    """
    known, values = {str(name): name for name in names}, {}
    for column, cell in row.items():
        missing = cell is None or (isinstance(cell, str) and cell.strip() in MISSING)
        if column in known:
            values[known[column]] = math.nan if missing else _number(column, cell)
            continue
        spread = [text for text in known if text.startswith(f"{column}=")]
        for text in spread:
            one = text == f"{column}={cell.strip() if isinstance(cell, str) else cell}"
            values[known[text]] = math.nan if missing else float(one)
    if not values:
        raise _no_column(list(known))
    return values


def _cells(row: Any, encoder: StreamEncoder) -> dict[Any, Any]:
    """Return the cells of the columns of an encoder: numbers, texts, or None if missing."""
    columns, kinds = encoder._columns, encoder._kinds
    if not isinstance(row, Mapping):
        if len(row) != len(columns):
            raise ValueError(f"the row has {len(row)} values, the model needs {len(columns)}")
        row = dict(zip(map(str, columns), row, strict=True))
    cells = {}
    for name in columns:
        if str(name) in row:
            cell = row[str(name)]
            text = cell.strip() if isinstance(cell, str) else cell
            missing = text is None or (text in MISSING and text not in encoder._codes.get(name, ()))
            is_number = kinds.get(name) == "number"
            value = _number(str(name), cell) if is_number and not missing else cell
            cells[name] = None if missing else value
    if not cells:
        raise _no_column(columns)
    return cells


def _no_column(known: Sequence[Any]) -> ValueError:
    shown = ", ".join(map(str, known[:5]))
    return ValueError(f"the row has none of the model's columns, which are {shown}, ...")


def _number(column: str, cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        raise ValueError(f"column {column!r}: {cell!r} is not a number") from None
