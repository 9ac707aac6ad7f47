"""The live page of a server: figures, curves, classes and events, without outside resources."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any

from mist.texts import printable

__all__ = ["POLICY", "curve_svg", "framed", "live_page", "table"]

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
"""Content security policy of all pages: no script, nothing from elsewhere."""

_REFRESH = 5
_WIDTH, _HEIGHT = 440, 140
_LEFT, _TOP, _RIGHT, _BOTTOM = 44, 10, 8, 22
_MOST_CLASSES = 40
_MOST_EVENTS = 25

_STYLE = """
:root{color-scheme:light dark;--ink:#1c2430;--soft:#5b6675;--line:#d8dee6;--paper:#fff;
--card:#f6f8fa;--mark:#0b6bcb;--bad:#b3261e;--good:#1a7f37}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#9aa5b4;--line:#39424e;
--paper:#12161c;--card:#1b2129;--mark:#6cb2ff;--bad:#ff8a80;--good:#6fdc8c}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1200px;padding:16px;background:var(--paper);color:var(--ink);
font:15px/1.45 system-ui,sans-serif}
h1{font-size:1.35rem;margin:0}h2{font-size:1rem;margin:0 0 6px}
header{display:flex;flex-wrap:wrap;gap:4px 16px;align-items:baseline;margin-bottom:14px}
header p{margin:0;color:var(--soft)}nav a{margin-right:12px}a{color:var(--mark)}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(112px,1fr));gap:10px}
.figures div,section{background:var(--card);border:1px solid var(--line);border-radius:8px;
padding:10px 12px}
.figures b{display:block;font-size:1.3rem;font-variant-numeric:tabular-nums}
.figures span{color:var(--soft);font-size:.85rem}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));
gap:12px;margin:12px 0}
section{min-width:0;overflow-x:auto}svg{display:block;width:100%;height:auto}
svg text{fill:var(--soft);font-size:12px}.grid{stroke:var(--line)}
.curve{fill:none;stroke:var(--mark);stroke-width:2;stroke-linejoin:round}
.event{stroke:var(--soft);stroke-dasharray:2 3}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:3px 8px 3px 0;border-bottom:1px solid var(--line)}
th:first-child,td:first-child,.text{text-align:left}
td.text{overflow-wrap:anywhere}td.row{white-space:nowrap}
th{color:var(--soft);font-weight:500}.bad{color:var(--bad)}.good{color:var(--good)}
pre{white-space:pre-wrap;background:var(--card);border:1px solid var(--line);padding:8px;
border-radius:6px}
"""


def framed(title: str, body: str, refresh: bool = False) -> str:
    """Return a complete page.

    Examples
    --------
    >>> framed("A & B", "<p>text</p>").count("A &amp; B")
    2
    """
    again = f'<meta http-equiv="refresh" content="{_REFRESH}">' if refresh else ""
    name = escape(title)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{name}</title>'
        f'<meta name="viewport" content="width=device-width,initial-scale=1">{again}'
        f"<style>{_STYLE}</style></head><body><header><h1>{name}</h1>"
        '<nav><a href="./">live</a><a href="docs">requests</a><a href="model">model</a>'
        f'<a href="metrics">metrics</a></nav></header>{body}</body></html>'
    )


def live_page(report: Mapping[str, Any]) -> str:
    """Return the live page.

    Parameters
    ----------
    report : mapping
        ``title``, ``problems``, ``figures``, ``curves`` (points by name), ``each`` (rows of a
        point), ``before`` (rows learnt before the figures begin), ``recalls``, ``silent``,
        ``events`` and ``classes`` and ``columns`` (numbers).

    Returns
    -------
    str
        HTML with inline drawings, which loads itself again every 5 seconds.
    """
    problems = "".join(
        f'<p class="bad" role="alert">{escape(printable(each))}</p>' for each in report["problems"]
    )
    state = problems or '<p class="good">The server works.</p>'
    marks = [
        (event["row"] - report["before"], event["event"])
        for event in report["events"]
        if event["event"] in ("class moved", "common shift")
    ]
    curves = report["curves"]
    plots = "".join(
        f"<section><h2>{title}</h2>{curve_svg(curves[name], title, marks, top)}</section>"
        for name, title, top in (
            ("accuracy", "Accuracy", 1.0),
            ("log_loss", "Log loss, nats", None),
            ("confidence", "Mean probability of the predicted class", 1.0),
            ("novel", "Share of novel rows", 1.0),
        )
        if name != "novel" or report["knows_novelty"]
    )
    note = (
        f"<p>Each point is the mean over {report['each']:,} rows whose labels came; each was "
        "predicted before it was learnt. Dotted lines are moved classes and common shifts.</p>"
    )
    body = (
        f'{state}<div class="figures">{_figures(report)}</div><div class="plots">{plots}</div>'
        f'{note}<div class="plots">{_classes(report)}{_events(report["events"])}</div>'
    )
    return framed(report["title"], body, refresh=True)


def _figures(report: Mapping[str, Any]) -> str:
    figures = report["figures"]
    shown = [
        ("rows learnt", f"{report['before'] + figures['rows']:,.0f}"),
        ("accuracy, recent", _number(figures["recent_accuracy"])),
        ("accuracy, all rows", _number(figures["accuracy"])),
        ("log loss, recent", _number(figures["recent_log_loss"])),
        ("calibration error", _number(figures["calibration_error"])),
        ("classes", f"{report['classes']:,}"),
        ("columns", f"{report['columns']:,}"),
        ("wait for labels", f"{figures['waiting_for_labels']:,.0f}"),
        ("labels dropped", f"{figures['labels_dropped']:,.0f}"),
        ("memory, MB", f"{figures['memory_mb']:,.0f}"),
    ]
    if report["knows_novelty"]:
        shown.insert(5, ("novel, recent", _number(figures["recent_novel"])))
    return "".join(f"<div><b>{value}</b><span>{name}</span></div>" for name, value in shown)


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"  # noqa: RUF001, a dash for no value


def curve_svg(
    points: Sequence[tuple[int, float]],
    title: str,
    marks: Sequence[tuple[int, str]] = (),
    top: float | None = None,
) -> str:
    """Draw a curve over rows as an SVG image.

    Parameters
    ----------
    points : sequence of (int, float)
        Rows and values.
    title : str
        What is drawn.
    marks : sequence of (int, str)
        Rows and names of events, as vertical lines.
    top : float or None
        Upper end of the axis; None for the largest value.

    Examples
    --------
    >>> curve_svg([], "Accuracy")
    '<p>No rows yet.</p>'
    >>> curve_svg([(100, 0.5), (200, 0.75)], "Accuracy", top=1.0).count("<path")
    1
    """
    if not points:
        return "<p>No rows yet.</p>"
    last = max(1, points[-1][0])
    high = top or max(value for _, value in points) or 1.0
    wide, tall = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def x_of(row: int) -> float:
        return _LEFT + wide * row / last

    def y_of(value: float) -> float:
        return _TOP + tall * (1 - min(value, high) / high)

    grid = "".join(
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{high * share:.2g}</text>'
        for share in (0.0, 0.5, 1.0)
        for y in [y_of(high * share)]
    )
    lines = "".join(
        f'<line class="event" x1="{x_of(row):.1f}" x2="{x_of(row):.1f}" y1="{_TOP}" '
        f'y2="{_TOP + tall}"><title>{escape(name)}, row {row:,}</title></line>'
        for row, name in marks
        if 0 <= row <= last
    )
    # A single point is drawn as a short line.
    first = [] if len(points) > 1 else [(0, points[0][1])]
    path = "L".join(f"{x_of(row):.1f} {y_of(value):.1f}" for row, value in [*first, *points])
    label = escape(f"{title}: {points[-1][1]:.3f} at row {points[-1][0]:,}")
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}">{grid}{lines}'
        f'<path class="curve" d="M{path}"/><text x="{_LEFT}" y="{_HEIGHT - 6}">0</text>'
        f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 6}" text-anchor="end">{last:,} rows'
        "</text></svg>"
    )


def _classes(report: Mapping[str, Any]) -> str:
    recalls = report["recalls"]
    worst = sorted(recalls.items(), key=lambda pair: pair[1]["recent"])[:_MOST_CLASSES]
    silent = set(report["silent"]["classes"])
    lines = [
        (
            f"{printable(label)}{' (silent)' if label in silent else ''}",
            f"{each['rows']:,.0f}",
            f"{each['recall']:.3f}",
            f"{each['recent']:.3f}",
        )
        for label, each in worst
    ]
    more = f"<p>{len(recalls) - len(worst):,} more</p>" if len(recalls) > len(worst) else ""
    names = ("class", "rows", "recall", "recent recall")
    kinds = ("text", "row", "row", "row")
    return f"<section><h2>Classes, the worst first</h2>{table(names, lines, kinds)}{more}</section>"


def _events(events: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        (
            f"{event['row']:,}",
            event["event"],
            printable(event.get("label", event.get("column", ""))),
        )
        for event in reversed(events[-_MOST_EVENTS:])
    ]
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    names, kinds = ("row", "event", "class or column"), ("row", "text", "text")
    return (
        f"<section><h2>Events, the newest first</h2>{table(names, lines, kinds)}"
        f"<p>{now}</p></section>"
    )


def table(names: Sequence[str], lines: Sequence[Sequence[str]], kinds: Sequence[str]) -> str:
    """Return a table.

    Parameters
    ----------
    names : sequence of str
        Heads of the columns; empty for none.
    lines : sequence of sequence of str
        Texts of the cells.
    kinds : sequence of {"text", "row"}
        Of each column: text on the left that may break, or a number.

    Examples
    --------
    >>> table([], [["a<b", "1"]], ["text", "row"])
    '<table><tr><td class="text">a&lt;b</td><td class="row">1</td></tr></table>'
    """

    def line(cells: Sequence[str], tag: str) -> str:
        pairs = zip(cells, kinds, strict=True)
        inside = "".join(f'<{tag} class="{kind}">{escape(each)}</{tag}>' for each, kind in pairs)
        return f"<tr>{inside}</tr>"

    head = line(names, "th") if names else ""
    return f"<table>{head}{''.join(line(cells, 'td') for cells in lines)}</table>"
