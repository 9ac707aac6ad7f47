"""Write the pages of docs/results from finished grids.

    mist bench --suite standard --protocol paper --out OUT
    python benchmarks/results.py OUT --suite standard --protocol paper

The page has the methods of which the folder holds results, on the data sets of which it holds all
of their runs, and the tables of figures that do not depend on the machine: accuracy, forgetting,
ranks, differences, sizes. Under protocol "paper" it also has our figures next to the paper's, and
every figure that differs with the most likely reason.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from mist_bench import PROTOCOLS, SUITES, default_methods, plan
from mist_bench.grid_figures import ranks_svg
from mist_bench.inventory import dataset_table
from mist_bench.outcomes import arrange, title_of
from mist_bench.pairs import pair_tables
from mist_bench.ranks import critical_difference
from mist_bench.result_tables import to_markdown
from mist_bench.scores import rank_tables, ranks_of, scores
from mist_bench.store import read_records
from mist_bench.summary import score_tables
from mist_paper.comparison import compare, comparison_tables, figures_of

MEASURES = (
    *("mean_class_recall", "final_accuracy", "average_forgetting", "backward_transfer"),
    *("anytime_accuracy", "prequential_accuracy", "leaves", "splits", "nbytes"),
)
TITLES = {
    ("standard", "honest"): "Standard sets",
    ("standard", "paper"): "Standard sets, as in the paper",
    ("stress", "honest"): "Stress sets",
    ("stress", "paper"): "Stress sets, as in the paper",
    ("real", "honest"): "Ten real sets",
    ("unseen", "honest"): "Five sets on which nothing was chosen",
}
INTRO = {
    "honest": "Nothing is fitted outside the stream, every class is used, and the classes that do "
    "not fill a task join the last one.",
    "paper": "The data are prepared so that figures can be compared with the paper's: classes that "
    "do not fill a task are dropped, and the scale, where there is one, is fitted on all rows.",
}
INK = "#24292f"


def page(suite, protocol, folder, images):
    """The Markdown text, and the plot of ranks as an SVG text."""
    found = read_records(folder, plan(suite, protocol=protocol))
    methods = [name for name in default_methods(suite) if any(run.method == name for run in found)]
    runs = plan(suite, methods=methods, protocol=protocol)
    # A set of which runs are missing would stand there with fewer seeds.
    partial = {run.dataset for run in runs if run not in found}
    datasets = [name for name in SUITES[suite] if name not in partial]
    runs = [run for run in runs if run.dataset in datasets]
    records = [found[run] for run in runs]
    outcomes = arrange(records, datasets=datasets, planned=runs)
    command = f"mist bench --suite {suite} --protocol {protocol}"
    if methods != default_methods(suite):
        command += f" --models {','.join(methods)}"
    if partial:
        command += f" --datasets {','.join(datasets)}"
    parts = [
        f"# {TITLES[suite, protocol]}",
        f"{INTRO[protocol]} [Benchmark](../benchmark.md) has the protocol. Made by `{command}` and "
        "`benchmarks/results.py`; nothing here is edited by hand.",
    ]
    if protocol == "paper":
        parts.append("## Compared with the paper")
        for table in comparison_tables(compare(figures_of(records))):
            if table.name != "paper-memory":
                parts.append(to_markdown(table))
        parts.append("## All figures")
    figures = scores(outcomes, "final_accuracy")
    ranks = ranks_of(figures).mean(axis=0)
    svg = ranks_svg(
        [title_of(method) for method in figures.methods],
        ranks,
        critical_difference(len(figures.methods), len(figures.datasets)),
    )
    tables = [*rank_tables(figures), *pair_tables(outcomes), *score_tables(outcomes, MEASURES)]
    parts.append(f"![Mean ranks on final accuracy](../{images}/{suite}-{protocol}-ranks.svg)")
    parts += [to_markdown(table) for table in (*tables, dataset_table(outcomes))]
    svg = svg.replace("currentColor", INK)
    failed = [record for record in records if record.failed]
    return "\n\n".join(part.strip() for part in parts) + "\n", svg, partial, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of the grid")
    parser.add_argument("--suite", choices=("standard", "stress"), required=True)
    parser.add_argument("--protocol", choices=PROTOCOLS, required=True)
    parser.add_argument("--docs", type=Path, default=Path("docs"))
    options = parser.parse_args()
    text, svg, partial, failed = page(options.suite, options.protocol, options.folder, "images")
    name = f"{options.suite}-{options.protocol}"
    for path, content in (
        (options.docs / "results" / f"{name}.md", text),
        (options.docs / "images" / f"{name}-ranks.svg", svg + "\n"),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        print(path)
    print(f"left out, since runs are missing: {', '.join(sorted(partial)) or 'nothing'}")
    print(f"{len(failed)} runs failed")
    for record in failed:
        print(f"  {record.run.key}: {record.error}")


if __name__ == "__main__":
    main()
