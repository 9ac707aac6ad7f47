"""The description of the routes in the format of OpenAPI 3.1, and a page of it."""

from __future__ import annotations

from html import escape
from typing import Any

from mist._version import __version__
from mist.serving.limits import Limits
from mist.serving.page import table

__all__ = ["ROUTES", "document", "page"]

_ROW = {
    "type": "object",
    "minProperties": 1,
    "description": "Values by column name. Absent columns are missing, new columns are learnt.",
    "additionalProperties": {"type": ["number", "string", "boolean", "null"]},
}
_LABEL = {"type": ["string", "integer", "boolean"]}
_ID = {"type": "string", "minLength": 1}
_TOP = {"type": "integer", "minimum": 1, "maximum": 1000, "default": 5}
_KEEP = {
    "type": "boolean",
    "default": False,
    "description": "Make an id for each row, and keep the rows until their labels come.",
}


def _object(needed: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**needed, **others},
        "required": list(needed),
        "additionalProperties": False,
    }


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": 1}


_LEARNT = {"learnt": {"type": "integer"}, "rows": {"type": "integer"}}
_PREDICTION = _object(
    {
        "label": {"type": ["string", "integer", "boolean", "null"]},
        "probability": {"type": ["number", "null"]},
        "classes": {
            "type": "array",
            "items": _object({"label": _LABEL, "probability": {"type": "number"}}),
        },
    },
    id=_ID,
)

ROUTES: dict[str, dict[str, Any]] = {
    "/predict": {
        "method": "post",
        "summary": "Predict rows",
        "text": "Each row counts as the next of the stream. Rows with an id, and all rows with "
        "keep, are kept until /label gives their labels.",
        "one": _object({"row": _ROW}, id=_ID, top=_TOP, keep=_KEEP),
        "many": _object({"rows": _list(_ROW)}, ids=_list(_ID), top=_TOP, keep=_KEEP),
        "line": _object({"row": _ROW}, id=_ID),
        "result": {
            "oneOf": [_PREDICTION, _object({"predictions": _list(_PREDICTION)})],
        },
    },
    "/learn": {
        "method": "post",
        "summary": "Learn rows",
        "text": "All rows of a call are learnt, or none. With the header Idempotency-Key a call "
        "that is sent again is not learnt again.",
        "one": _object({"row": _ROW, "label": _LABEL}),
        "many": _object({"rows": _list(_ROW), "labels": _list(_LABEL)}),
        "line": _object({"row": _ROW, "label": _LABEL}),
        "result": _object(_LEARNT, repeated={"type": "boolean"}),
    },
    "/label": {
        "method": "post",
        "summary": "Learn rows that were kept, with their labels",
        "text": "Each row is learnt as it was predicted. Ids whose rows are not there are returned "
        "as unknown; if none is there, the status is 404.",
        "one": _object({"id": _ID, "label": _LABEL}),
        "many": _object({"ids": _list(_ID), "labels": _list(_LABEL)}),
        "line": _object({"id": _ID, "label": _LABEL}),
        "result": _object({**_LEARNT, "unknown": {"type": "array", "items": _ID}}),
    },
    "/explain": {
        "method": "post",
        "summary": "Explain the prediction for a row",
        "text": "Evidence for the prediction against the runner-up, in nats. Only single trees.",
        "one": _object({"row": _ROW}, top=_TOP),
        "result": {"type": "object"},
    },
    "/model": {
        "method": "get",
        "summary": "The model, its figures and its classes",
        "text": "",
        "result": {"type": "object"},
    },
    "/health": {
        "method": "get",
        "summary": "Whether the server works",
        "text": "200 if it does; 503 if it no longer learns or cannot write checkpoints.",
        "result": _object({"healthy": {"type": "boolean"}, "problems": {"type": "array"}}),
    },
    "/metrics": {
        "method": "get",
        "summary": "All figures in the format of Prometheus",
        "text": "",
        "result": None,
    },
    "/events": {
        "method": "get",
        "summary": "The last 200 events",
        "text": "",
        "result": _object({"events": {"type": "array", "items": {"type": "object"}}}),
    },
}
"""What each route takes and returns."""

_ERRORS = {
    "400": "The body is not JSON",
    "401": "The token is missing or wrong",
    "403": "The server does not learn (--read-only)",
    "404": "None of the ids is there",
    "408": "The body did not come in time",
    "413": "The body or its rows are too many",
    "415": "The body is neither JSON nor JSON lines",
    "422": "A value is not valid; row and column say which. Nothing was learnt",
    "429": "Too many calls wait",
    "503": "The server did not finish in time, or no longer learns",
    "507": "The log cannot be written; nothing was learnt",
}


def document(limits: Limits, token: bool) -> dict[str, Any]:
    """Return the description of all routes.

    Parameters
    ----------
    limits : Limits
        Named in the description.
    token : bool
        Whether a token is needed.

    Examples
    --------
    >>> sorted(document(Limits(), token=False)["paths"])[:3]
    ['/events', '/explain', '/health']
    """
    made: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "MIST",
            "version": __version__,
            "description": f"A model that learns while it predicts. At most "
            f"{limits.body_bytes:,} bytes and {limits.rows:,} rows in a request, "
            f"{limits.columns:,} columns in a row.",
        },
        "paths": {path: {route["method"]: _operation(route)} for path, route in ROUTES.items()},
        "components": {"schemas": {"Error": _ERROR}},
    }
    if token:
        made["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        made["security"] = [{"token": []}]
    return made


_ERROR = _object({"error": {"type": "string"}}, row={"type": "integer"}, column={"type": "string"})


def _operation(route: dict[str, Any]) -> dict[str, Any]:
    media = "application/json" if route["result"] is not None else "text/plain"
    content = {media: {"schema": route["result"] or {"type": "string"}}}
    made: dict[str, Any] = {
        "summary": route["summary"],
        "description": route["text"],
        "responses": {"200": {"description": "Done", "content": content}},
    }
    if route["method"] == "post":
        forms = [route[name] for name in ("one", "many") if name in route]
        body = {"application/json": {"schema": {"oneOf": forms} if forms[1:] else forms[0]}}
        if "line" in route:
            body["application/x-ndjson"] = {"schema": route["line"]}
        made["requestBody"] = {"required": True, "content": body}
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    for status, text in _ERRORS.items():
        if route["method"] == "post" or status in ("401", "503"):
            made["responses"][status] = {"description": text, "content": error}
    return made


def page() -> str:
    """Return a page with all routes, which needs nothing else."""
    parts = []
    for path, route in ROUTES.items():
        forms = [_shape(route[name]) for name in ("one", "many") if name in route]
        bodies = "".join(f"<pre>{escape(form)}</pre>" for form in forms)
        if "line" in route:
            bodies += f"<p>Or JSON lines, each <code>{escape(_shape(route['line']))}</code></p>"
        parts.append(
            f"<h2>{route['method'].upper()} {path}</h2><p>{escape(route['summary'])}. "
            f"{escape(route['text'])}</p>{bodies}"
        )
    errors = table((), list(_ERRORS.items()), ("row", "text"))
    return (
        "<p>The complete description is <a href='openapi.json'>openapi.json</a>, in the format of "
        f"OpenAPI 3.1.</p>{''.join(parts)}<h2>Errors</h2><p>Each is an object with error, and row "
        f"and column where they are known.</p>{errors}"
    )


def _shape(schema: dict[str, Any]) -> str:
    """Return a short example of the form of an object."""
    short = {"row": '{"COLUMN": VALUE, ...}', "label": "LABEL", "id": '"ID"', "top": "5"}
    parts = []
    for name in schema["properties"]:
        value = short.get(name) or ("true" if name == "keep" else f"[{short[name[:-1]]}, ...]")
        needed = name in schema["required"]
        parts.append(f'"{name}": {value}' if needed else f'["{name}": {value}]')
    return "{" + ", ".join(parts) + "}"
