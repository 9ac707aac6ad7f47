"""Bodies of requests as rows, labels and ids, each value checked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from mist.limits import LARGEST
from mist.serving.limits import Limits, Refused
from mist.texts import one_line

__all__ = [
    "JSON",
    "NDJSON",
    "ExplainCall",
    "LabelCall",
    "LearnCall",
    "PredictCall",
    "checked_text",
    "read_explain",
    "read_label",
    "read_learn",
    "read_predict",
]

Row = dict[str, Any]

JSON = "application/json"
NDJSON = ("application/x-ndjson", "application/jsonl", "application/jsonlines")

_TOP = 5
_FORMS = "send application/json, or application/x-ndjson with one object on each line"


@dataclass(frozen=True)
class PredictCall:
    """Rows to predict; those with an id are kept until their labels come."""

    rows: list[Row]
    ids: list[str]  # empty if the rows are not kept
    top: int
    single: bool


@dataclass(frozen=True)
class LearnCall:
    """Rows to learn, with their labels."""

    rows: list[Row]
    labels: list[Any]


@dataclass(frozen=True)
class LabelCall:
    """Labels of rows that were kept."""

    ids: list[str]
    labels: list[Any]


@dataclass(frozen=True)
class ExplainCall:
    """A row whose prediction is explained."""

    row: Row
    top: int


def read_predict(media: str, body: bytes, limits: Limits) -> PredictCall:
    """Read the body of ``/predict``.

    Parameters
    ----------
    media : str
        Media type of the body.
    body : bytes
        The body.
    limits : Limits
        What it may hold.

    Returns
    -------
    PredictCall

    Raises
    ------
    Refused
        If the body is not valid; the error names row and column.

    Examples
    --------
    >>> read_predict(JSON, b'{"row": {"size": 2}, "id": "a"}', Limits())
    PredictCall(rows=[{'size': 2}], ids=['a'], top=5, single=True)
    """
    single, many = _objects(media, body, limits, ("row", "id"), ("rows", "ids"), ("keep", "top"))
    given = many or {}
    keep = given.get("keep", False)
    if not isinstance(keep, bool):
        raise Refused(f"keep is {_shown(keep)}: write true or false")
    rows = _rows(single, given, limits)
    ids = _ids(single, given, len(rows), limits, needed=False)
    if keep and not ids:
        ids = [uuid4().hex for _ in rows]
    return PredictCall(rows, ids, _top(given), single is not None and media == JSON)


def read_learn(media: str, body: bytes, limits: Limits) -> LearnCall:
    r"""Read the body of ``/learn``; parameters and errors are those of `read_predict`.

    Examples
    --------
    >>> lines = b'{"row": {"size": 2}, "label": "cat"}\n{"row": {"size": 9}, "label": "cow"}\n'
    >>> read_learn(NDJSON[0], lines, Limits())
    LearnCall(rows=[{'size': 2}, {'size': 9}], labels=['cat', 'cow'])
    """
    single, many = _objects(media, body, limits, ("row", "label"), ("rows", "labels"), ())
    rows = _rows(single, many or {}, limits)
    return LearnCall(rows, _labels(single, many or {}, len(rows), limits))


def read_label(media: str, body: bytes, limits: Limits) -> LabelCall:
    """Read the body of ``/label``; parameters and errors are those of `read_predict`.

    Examples
    --------
    >>> read_label(JSON, b'{"id": "a", "label": "cat"}', Limits())
    LabelCall(ids=['a'], labels=['cat'])
    """
    single, many = _objects(media, body, limits, ("id", "label"), ("ids", "labels"), ())
    ids = _ids(single, many or {}, None, limits, needed=True)
    return LabelCall(ids, _labels(single, many or {}, len(ids), limits))


def read_explain(media: str, body: bytes, limits: Limits) -> ExplainCall:
    """Read the body of ``/explain``; parameters and errors are those of `read_predict`.

    Examples
    --------
    >>> read_explain(JSON, b'{"row": {"size": 2}, "top": 3}', Limits())
    ExplainCall(row={'size': 2}, top=3)
    """
    if media != JSON:
        raise Refused(f"the body is {_shown(media)}: send {JSON} with one row", 415)
    single, many = _objects(media, body, limits, ("row",), ("row",), ("top",))
    if single is None:
        raise Refused('there is no row: write {"row": {...}} with values by column name')
    return ExplainCall(_rows(single, many or {}, limits)[0], _top(many or {}))


# --- the forms of a body -------------------------------------------------------------------------


def _objects(
    media: str,
    body: bytes,
    limits: Limits,
    one: Sequence[str],
    several: Sequence[str],
    options: Sequence[str],
) -> tuple[list[Row] | None, dict[str, Any] | None]:
    """Return the objects of single rows, or None; and the object with options and lists."""
    if media in NDJSON:
        lines = [line for line in body.split(b"\n") if line.strip()]
        if len(lines) > limits.rows:
            raise _too_many(len(lines), limits)
        objects = [_json(line, f"row {number}: ") for number, line in enumerate(lines)]
        if not objects:
            raise Refused("the body has no rows: send at least one")
        for number, each in enumerate(objects):
            _check_keys(each, one, f"row {number}: ", number)
        return objects, None
    if media != JSON:
        raise Refused(f"the body is {_shown(media or 'of no type')}: {_FORMS}", 415)
    content = _json(body, "")
    _check_keys(content, (*one, *several, *options), "")
    if one[0] in content:
        mixed = next((key for key in several if key in content and key not in one), None)
        if mixed is not None:
            raise Refused(f"the body has both {one[0]} and {mixed}: write {one} or {several}")
        return [content], content
    return None, content


def _json(text: bytes, where: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except Refused:
        raise
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise Refused(f"{where}the body is not valid JSON: {one_line(reason)}", 400) from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = _twice([name for name, _ in pairs])
        raise Refused(f"the name {_shown(twice)} is there twice in one object", column=twice)
    return made


def _twice(names: Sequence[Any]) -> Any:
    """Return the first name that is there twice; None if there is none."""
    seen = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _check_keys(content: Any, known: Sequence[str], where: str, row: int | None = None) -> None:
    if not isinstance(content, dict):
        raise Refused(f"{where}the body is not a JSON object: {_FORMS}", row=row)
    for key in content:
        if key not in known:
            raise Refused(
                f"{where}there is no {_shown(key)} in this request: choose from "
                f"{', '.join(dict.fromkeys(known))}",
                row=row,
            )


def _rows(single: list[Row] | None, many: Mapping[str, Any], limits: Limits) -> list[Row]:
    if single is not None:
        rows = [each.get("row") for each in single]
    else:
        rows = _list(many, "rows", "an object of values by column name for each row")
    if len(rows) > limits.rows:
        raise _too_many(len(rows), limits)
    return [_row(row, place, limits) for place, row in enumerate(rows)]


def _too_many(count: int, limits: Limits) -> Refused:
    return Refused(f"the body has {count:,} rows: send at most {limits.rows:,} at a time", 413)


def _list(many: Mapping[str, Any], name: str, what: str) -> list[Any]:
    values = many.get(name)
    if not isinstance(values, list) or not values:
        raise Refused(f"{name} must be a list with {what}, at least one; got {_shown(values)}")
    return values


def _row(row: Any, place: int, limits: Limits) -> Row:
    if not isinstance(row, dict) or not row:
        raise Refused(
            f"row {place} is {_shown(row)}: write an object of values by column name", row=place
        )
    if len(row) > limits.columns:
        raise Refused(
            f"row {place} has {len(row):,} columns: send at most {limits.columns:,}", row=place
        )
    for name, cell in row.items():
        _check_cell(name, cell, place, limits)
    return row


def _check_cell(name: str, cell: Any, place: int, limits: Limits) -> None:
    fault = _fault_of_text(name, limits)
    if fault:
        raise Refused(f"row {place}: the name of a column {fault}", row=place)
    if isinstance(cell, str):
        fault = _fault_of_text(cell, limits)
    elif isinstance(cell, int | float):
        # NaN is a missing value, as everywhere.
        fault = f"holds a number beyond {LARGEST:g}" if abs(cell) > LARGEST else ""
    elif cell is not None:
        fault = f"holds {_shown(cell)}: write a number, a text, true, false or null"
    if fault:
        raise Refused(f"row {place}: column {_shown(name)} {fault}", row=place, column=name)


def _labels(
    single: list[Row] | None, many: Mapping[str, Any], count: int, limits: Limits
) -> list[Any]:
    if single is not None:
        labels = [each.get("label") for each in single]
    else:
        labels = _list(many, "labels", "the label of each row")
    if len(labels) != count:
        raise Refused(f"there are {count} rows but {len(labels)} labels: give one for each row")
    for place, label in enumerate(labels):
        if isinstance(label, str):
            fault = _fault_of_text(label, limits) or ("is empty" if not label else "")
        elif isinstance(label, bool):
            fault = ""
        elif isinstance(label, int):
            fault = "" if abs(label) < 1 << 53 else "is an integer beyond 2**53"
        elif label is None:
            fault = "is missing"
        else:
            fault = f"is {_shown(label)}"
        if fault:
            raise Refused(
                f"row {place}: the label {fault}: write a text, a whole number, true or false",
                row=place,
                column="label",
            )
    return labels


def _ids(
    single: list[Row] | None,
    many: Mapping[str, Any],
    count: int | None,
    limits: Limits,
    *,
    needed: bool,
) -> list[str]:
    if single is not None:
        given = [each["id"] for each in single if "id" in each]
        if given and len(given) < len(single):
            raise Refused("some rows have an id and some have none: give all rows an id, or none")
    elif needed or "ids" in many:
        given = _list(many, "ids", "the id of each row")
    else:
        given = []
    if needed and not given:
        raise Refused("there is no id: give the one that was sent to /predict, or came from it")
    if count is not None and given and len(given) != count:
        raise Refused(f"there are {count} rows but {len(given)} ids: give one for each row")
    if len(given) > limits.rows:
        raise _too_many(len(given), limits)
    for place, id in enumerate(given):
        fault = "is not a text" if not isinstance(id, str) else _fault_of_text(id, limits)
        if fault or not id:
            raise Refused(f"row {place}: the id {fault or 'is empty'}", row=place, column="id")
    twice = _twice(given)
    if twice is not None:
        raise Refused(f"the id {_shown(twice)} is there twice: give each row its own", column="id")
    return given


def _top(given: Mapping[str, Any]) -> int:
    top = given.get("top", _TOP)
    if not isinstance(top, int) or isinstance(top, bool) or not 1 <= top <= 1000:
        raise Refused(f"top is {_shown(top)}: write a number from 1 to 1000")
    return top


def checked_text(what: str, text: str, limits: Limits) -> str:
    """Return a text of a client, such as a key, or refuse it."""
    fault = _fault_of_text(text, limits)
    if fault:
        raise Refused(f"{what} {fault}")
    return text


def _fault_of_text(text: str, limits: Limits) -> str:
    """Return why a text cannot be kept; empty if it can."""
    if len(text) > limits.text:
        return f"has {len(text):,} characters: at most {limits.text:,} are allowed"
    if "\0" in text:
        return "holds the character NUL, which NumPy drops at the end of a text"
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        return "holds half of a surrogate pair, which is not a character"
    return ""


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        kind = "an object" if isinstance(value, dict) else "a list"
        return kind if value else f"{kind} without content"
    if value is None:
        return "missing"
    text = repr(value) if not isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
