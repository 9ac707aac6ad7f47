"""The page of tables that is built from records."""

from __future__ import annotations

from mist_bench.result_tables import Table, to_markdown

from .marks import MARKS, REFERENCES, measured, verdict
from .memory import case_of, paper_bytes, title
from .records import Rates
from .streams import SHAPES

INTRO = """\
# Speed

This page compares the speed and the memory of MIST with other libraries. Rates are rows per second
of **CPU time of the process**, all its threads together. Ratios divide a rate by that of three
references that ran in turn with it: river's Hoeffding tree with adaptive naive Bayes leaves,
CapyMOA's Hoeffding tree in its Java loop, and the limit kernel. The limit kernel is naive Bayes
with one quantile sketch per class in a compiled loop, and nothing else. A rate or a ratio is the
median over the rounds, with the smallest and the largest in brackets. Ratios are taken within a
round. Do not compare rates of different machines or days; compare ratios only roughly. A star
(\\*) marks figures of a run that was cut at its time limit. Classes arrive over time, and the
first part of a stream is cheaper, so such a rate is too high. "Prequential" is the share of rows
that were predicted right before they were learnt. "Held-out" is the accuracy on fresh rows of all
classes after the stream. Bytes are those that each library reports for its own model: exact arrays
in MIST, Python objects in river, Java objects in CapyMOA.

Streams have Gaussian classes that arrive two at a time: {shapes}.

Made by `benchmarks/bench_speed.py`; nothing here is edited by hand.

{machine}"""
HEADINGS = (
    *("method", "path", "rows/s"),
    *(f"times {name}" for name in REFERENCES),
    *("KB", "prequential", "held-out"),
)
COLD = """\
## Cold start

Seconds of separate processes. Compiled code is cached on disk from the first prediction on."""


def page(records, image=None):
    """All tables as Markdown; ``image`` is the path of the drawing of growth, if there is one."""
    parts = {}
    for record in records:
        parts.setdefault(record["part"], []).append(record)
    texts = [INTRO.format(shapes=_shapes(), machine=_machine(records))]
    rates = Rates(parts.get("streams", []))
    if parts.get("streams"):
        texts.append(to_markdown(marks_table(rates)))
        names = [name for name in SHAPES if any(key[0] == name for key in rates.measurements())]
        texts += [to_markdown(stream_table(name, rates)) for name in names]
        threads = threads_table(rates)
        texts += [to_markdown(threads)] if threads.rows else []
        cold = [r for r in parts["streams"] if r.get("cold")]
        if cold:
            texts.append(to_markdown(first_runs_table(cold)))
    if parts.get("memory"):
        texts.append(to_markdown(memory_table(parts["memory"])))
    if parts.get("cold"):
        texts += [COLD, to_markdown(cold_table(parts["cold"]))]
    if image:
        texts.append(f"## Growth\n\n![Rows per second against sizes]({image})")
    skipped = dict.fromkeys(_reason(record) for record in records if record.get("reason"))
    if skipped:
        texts.append("## Not measured\n\n" + "\n".join(f"- {line}" for line in skipped))
    return "\n\n".join(text.strip() for text in texts) + "\n"


def _reason(record):
    where = [record.get("method") or record["library"], record.get("path"), record.get("stream")]
    return f"{', '.join(part for part in where if part)}: {record['reason']}"


def _shapes():
    return ", ".join(
        f"{name} {shape.columns} columns, {shape.classes} classes, {shape.rows:,} rows"
        for name, shape in SHAPES.items()
    )


def _machine(records):
    """On what it ran, and how busy that was."""
    first = records[0]["machine"]
    loads = [record["machine"]["load"] for record in records if record["machine"]["load"]]
    versions = {}
    for record in records:
        versions.update(record.get("versions") or {})
    text = f"{first['processors']} processors ({first['kind']}), {first['system']}, Python "
    text += first["python"] + "".join(f", {name} {value}" for name, value in versions.items())
    if loads:
        text += f". Load of the machine during the run: {min(loads):g} to {max(loads):g}"
    return text + "."


def figure(value, pattern):
    """A median with its spread; a star if a run was cut."""
    if value is None:
        return ""
    text = f"{value.median:{pattern}}"
    if value.least != value.most:
        text += f" ({value.least:{pattern}} to {value.most:{pattern}})"
    return text + ("*" if value.cut else "")


def times(value):
    """A ratio with as many digits as it deserves."""
    if value is None:
        return ""
    for least, pattern in ((20.0, ",.0f"), (2.0, ".1f"), (0.1, ".2f")):
        if value.median >= least:
            return figure(value, pattern)
    return figure(value, ".4f")


def _optional(value, pattern, unit=1.0):
    return "" if value is None else format(value / unit, pattern)


def stream_table(name, rates):
    """All that was measured on a stream."""
    rows = []
    for key in rates.measurements():
        if key[0] != name:
            continue
        first = rates.record(key)
        rows.append(
            (
                *(key[1], key[2], figure(rates.rate(key), ",.0f")),
                *(times(rates.ratio(key, (name, *other))) for other in REFERENCES.values()),
                _optional(first["bytes"], ",.0f", 1024),
                *(_optional(first[field], ".3f") for field in ("accuracy", "held_out")),
            )
        )
    shape = SHAPES[name]
    return Table(
        name=f"speed-{name.lower()}",
        title=f"{name}: {shape.columns} columns, {shape.classes} classes, {shape.rows:,} rows",
        caption="",
        headings=HEADINGS,
        rows=tuple(rows),
        n_text=2,
    )


def marks_table(rates):
    """Every mark with its figure."""
    rows = []
    for mark in MARKS:
        own = measured(mark, rates)
        bound = f"{'below' if mark.is_size else 'at least'} {mark.bound:,g}"
        # The figure shows the digits that its bound needs.
        text = times(own) if mark.against else figure(own, ",.0f")
        rows.append((mark.text, mark.stream, bound, text, verdict(mark, own)))
    return Table(
        name="speed-marks",
        title="Targets",
        caption="The targets of the trees on an otherwise idle machine.",
        headings=("figure", "stream", "asked", "measured", "verdict"),
        rows=tuple(rows),
        n_text=2,
    )


def memory_table(records):
    """Bytes on sets of the paper beside the paper's, with the marks."""
    rows = []
    for record in records:
        if record.get("reason"):
            continue
        case, own = case_of(record), record["bytes"]
        theirs = paper_bytes(case.name)
        asked, met = "", ""
        if case.most is not None:
            asked = f"{case.most / 1024:,.0f}"
            met = "met" if own <= case.most else "missed"
        figures = f"{own / 1024:,.0f}", f"{theirs / own:,.1f}", asked, met
        rows.append((title(case.name), case.method, case.precision or "", *figures))
    return Table(
        name="speed-memory",
        title="Memory",
        caption="Bytes after the training rows of the paper's set-up, sketch size 64. The paper's "
        "trees take the same for both kinds of leaf: "
        + ", ".join(
            f"{paper_bytes(name) / 1024:,.0f} KB on {title(name)}"
            for name in dict.fromkeys(record["stream"] for record in records)
        )
        + ".",
        headings=("set", "method", "sketches", "KB", "paper's / own", "KB asked", "verdict"),
        rows=tuple(rows),
        n_text=3,
    )


PAIRS = (
    ("predict, 2 threads", "predict"),
    ("partial_fit, 2 models in 2 threads", "partial_fit, 1 model"),
)


def threads_table(rates):
    """By how much a second thread helps."""
    rows = []
    for stream, method, path in rates.measurements():
        for two, one in PAIRS:
            if path == two:
                gain = rates.ratio((stream, method, two), (stream, method, one), "wall")
                rate = figure(rates.rate((stream, method, two), "wall"), ",.0f")
                rows.append((method, path, stream, rate, times(gain)))
    return Table(
        name="speed-threads",
        title="Two threads",
        caption="By the wall clock, against one thread. The limit kernel holds no lock, so its "
        "gain is what the machine could give at that time.",
        headings=("method", "path", "stream", "rows/s", "times one thread"),
        rows=tuple(rows),
        n_text=3,
    )


def first_runs_table(records):
    """First runs of Java loops, while the Java machine compiles."""
    return Table(
        name="speed-first",
        title="First run of a Java loop",
        caption="Left out of all tables above.",
        headings=("method", "stream", "rows/s"),
        rows=tuple((r["method"], r["stream"], f"{r['rows'] / r['cpu']:,.0f}") for r in records),
        n_text=2,
    )


def cold_table(records):
    """Seconds of whole processes."""
    groups = {}
    for record in records:
        if record.get("cpu") is not None:
            groups.setdefault((record["method"], record["path"]), []).append(record)
    rows = []
    for key, own in groups.items():
        spans = []
        for clock in ("cpu", "wall"):
            values = sorted(record[clock] for record in own)
            spans.append(f"{values[len(values) // 2]:.2f}")
        rows.append((*key, *spans, str(len(own))))
    return Table(
        name="speed-cold",
        title="Whole processes",
        caption="Medians.",
        headings=("method", "what", "CPU s", "wall s", "runs"),
        rows=tuple(rows),
        n_text=2,
    )
