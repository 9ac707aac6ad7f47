"""The page of docs/results that `ablation.py` makes of its runs: tables and paired differences."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean, median, stdev

from scipy.stats import t as students_t

from mist_bench import MEASURES, SEEDS, SETTINGS, SUITES, Measure, plan
from mist_bench.cells import NOTHING, write_figure, write_mean
from mist_bench.methods import METHODS
from mist_bench.outcomes import known, title_of
from mist_bench.result_tables import Table, to_markdown
from mist_bench.store import read_records

SHOWN = {
    "recall": MEASURES["mean_class_recall"],
    "accuracy": MEASURES["final_accuracy"],
    "forgetting": MEASURES["average_forgetting"],
    "first_task": Measure("accuracy on the first task at the end", "high"),
    "leaves": MEASURES["leaves"],
    "bytes": MEASURES["nbytes"],
    "rows_per_second": MEASURES["learn_rows_per_second"],
}
PAIRS = (("default", "paper"), ("features", "default"), ("forest-features", "default"))
RIVALS = ("default", "features", "forest-features")  # set beside each baseline
LOWER = 0.005

INTRO = f"""# From the paper's tree to the default

This page has the figures of each step from the paper's tree to the default. Cells are mean ±
population standard deviation over five seeds, and over orders where there are several. A number in
brackets counts the runs of a cell that has fewer. Rows learnt per CPU second are medians, because
the first run of a process also compiles. The machine was shared with other work.

The tables of differences use the names of steps for `--steps`: `paper` is the paper's tree,
`default` is the step with joint inheritance, `features` is the default + random features, and
`forest-features` is the forest of ten + random features. Differences are paired by seed: mean ±
half of the 95 % t interval over the seeds. Brackets give the number of seeds if it is not five. A
set counts as lower where the mean difference is below -{LOWER}. Intervals are of single
comparisons, not corrected for their number.

Made by `benchmarks/ablation.py`; nothing here is edited by hand. [Beyond the paper](../beyond.md)
explains the results.
"""


def collect(records, step, measure="recall"):
    """Figures of a step by data set and seed, each a list: there may be several orders."""
    found = defaultdict(lambda: defaultdict(list))
    for record in records:
        if record["step"] == step:
            found[record["dataset"]][record["seed"]].append(record[measure])
    return found


def baselines(folders, names):
    """Mean class recall of the baselines in folders of ``mist bench``, by title, as `collect`."""
    methods = [name for name, method in METHODS.items() if method.group in ("tree", "other")]
    found = {method: defaultdict(dict) for method in methods}
    for folder in folders:
        records = read_records(folder, plan(methods=methods, datasets=names))
        if not records:
            raise ValueError(
                f"{folder} holds no run of a baseline on these sets under protocol honest"
            )
        for run, record in records.items():
            if recall := known([record.measures.get("mean_class_recall")]):
                found[run.method][run.dataset][run.seed] = recall
    return {title_of(method): figures for method, figures in found.items() if figures}


def table(title, names, last, rows):
    """Markdown with sets in columns; rows without any figure are left out."""
    return to_markdown(
        Table(
            name="ablation",
            title=title[0].upper() + title[1:],
            caption="",
            headings=("", *(SETTINGS[name].title for name in names), *last),
            rows=tuple(row for row in rows if any(cell != NOTHING for cell in row[1:])),
        )
    )


def figure_table(names, figures, measure, title=None):
    """Mean and spread of a measure, one row of `figures` a row."""
    values = {
        row: [[v for found in own.get(name, {}).values() for v in found] for name in names]
        for row, own in figures.items()
    }
    most = max(len(here) for own in values.values() for here in own)
    middle = median if measure.timed else fmean

    def write(here):
        return (
            write_figure(median(here), measure)
            if measure.timed
            else write_mean(here, most, measure)
        )

    rows = [
        (
            row,
            *(write(here) if here else NOTHING for here in own),
            write_figure(fmean(map(middle, own)), measure) if all(own) else NOTHING,
        )
        for row, own in values.items()
    ]
    return table(title or measure.title, names, ("mean",), rows)


def write_gaps(gaps):
    """Mean of differences, one a seed, and half of its 95 % t interval."""
    n = len(gaps)
    if n == 0:
        return NOTHING
    text = f"{fmean(gaps):+z.3f}"
    if n > 1:
        text += f" ± {students_t.ppf(0.975, n - 1) * stdev(gaps) / n**0.5:.3f}"
    return text if n == len(SEEDS) else f"{text} ({n})"


def difference_table(title, names, pairs):
    """Differences of figures; `pairs` has (label, figures, figures to subtract)."""
    rows = []
    for label, mine, its in pairs:
        by_set = []
        for name in names:
            a, b = mine.get(name, {}), its.get(name, {})
            by_set.append({seed: fmean(a[seed]) - fmean(b[seed]) for seed in a if seed in b})
        # The mean over sets is of the seeds that all of them have.
        shared = [seed for seed in by_set[0] if all(seed in own for own in by_set)]
        means = [fmean(own[seed] for own in by_set) for seed in shared]
        compared = [fmean(own.values()) for own in by_set if own]
        lower = sum(gap < -LOWER for gap in compared)
        rows.append(
            (
                label,
                *(write_gaps(list(own.values())) for own in by_set),
                write_gaps(means),
                f"{lower} of {len(compared)}" if compared else NOTHING,
            )
        )
    return table(title, names, ("mean", "sets lower"), rows)


def suite_tables(chosen, names, titles, against, in_label_order):
    """Tables of the runs of one suite, and of what sets them apart from those in label order."""
    for key, measure in SHOWN.items():
        figures = {title: collect(chosen, step, key) for step, title in titles.items()}
        yield figure_table(names, figures, measure)
    found = {step: collect(chosen, step) for step in titles}
    pairs = [(f"{a} minus {b}", found[a], found[b]) for a, b in PAIRS]
    yield difference_table("Paired differences in mean class recall", names, pairs)
    if in_label_order:
        pairs = [(step, own, collect(in_label_order, step)) for step, own in found.items()]
        yield difference_table("This order minus label order, mean class recall", names, pairs)
    if any(name in own for own in against.values() for name in names):
        title = "Mean class recall of the baselines"
        yield figure_table(names, against, SHOWN["recall"], title)
        for step in RIVALS:
            pairs = [(f"{step} minus {title}", found[step], its) for title, its in against.items()]
            title = f"Paired differences in mean class recall, {step} minus each baseline"
            yield difference_table(title, names, pairs)


def page(records, titles, against):
    """The page in Markdown.

    `titles` has the rows of tables by step, `against` figures of baselines as `baselines` has them.
    """
    label = [r for r in records if r["order"] == "label" and not r["single"]]
    mixed = [r for r in records if r["order"] != "label" and not r["single"]]
    single = [r for r in records if r["single"]]
    groups = {
        "Classes in label order": (label, against, []),
        "Classes in random orders": (mixed, {}, label),
        "One class at a time": (single, {}, label),
    }
    suites = {suite: SUITES[suite] for suite in ("real", "stress", "unseen")}
    suites["other"] = [*set(SETTINGS).difference(*suites.values())]
    parts = [INTRO]
    for title, (chosen, its, in_label_order) in groups.items():
        for suite, members in suites.items():
            present = {r["dataset"] for r in chosen}.intersection(members)
            if names := [name for name in SETTINGS if name in present]:
                parts.append(f"## {title}: {suite} sets\n")
                parts += suite_tables(chosen, names, titles, its, in_label_order)
    return "\n".join(parts)
