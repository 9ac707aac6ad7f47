import importlib.util
import sys
from pathlib import Path
from statistics import fmean, stdev

import pytest

from bench_records import record
from mist_bench import SEEDS, Run
from mist_bench.store import write_record

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "ablation_page.py"
TITLES = {
    "paper": "the paper's tree",
    "default": "the default",
    "features": "with features",
    "forest-features": "the forest",
}


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location(SCRIPT.stem, SCRIPT)
    script = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def run(step, dataset, seed, recall, order="label", single=False, rate=1000.0):
    return {
        **{"step": step, "dataset": dataset, "seed": seed, "order": order, "single": single},
        **{"recall": recall, "accuracy": recall, "forgetting": 0.0, "first_task": 1.0},
        **{"leaves": 1, "bytes": 2048, "rows_per_second": rate},
    }


def rows(page, heading, caption):
    """Cells of the table below a caption, by the first of each row."""
    section = page.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = section.split(f"**{caption}.**")[1].split("**")[0].strip().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    del cells[1]
    return {first: rest for first, *rest in cells}


STEPS = [
    run(step, dataset, seed, start + slope * i, rate=[900.0, 5.0, 1000.0, 1100.0, 1200.0][i])
    for step, start, slope in (("paper", 0.5, 0.02), ("default", 0.6, 0.01))
    for dataset in ("wine", "iris")
    for i, seed in enumerate(SEEDS)
]
REAL = "Classes in label order: real sets"


def test_means_sizes_and_rates(script):
    page = script.page(STEPS, TITLES, {})
    recall = rows(page, REAL, "Mean class recall")
    assert recall[""] == ["Wine", "Iris", "mean"]
    assert recall["the default"] == ["0.620 ± 0.014", "0.620 ± 0.014", "0.620"]
    assert "with features" not in recall
    assert rows(page, REAL, "Size of the model, KB")["the default"][0] == "2.0 ± 0.0"
    # The run that compiled does not count.
    assert rows(page, REAL, "Rows/s, learn")["the default"] == ["1,000", "1,000", "1,000"]


def test_differences_are_paired_by_seed(script):
    found = rows(script.page(STEPS, TITLES, {}), REAL, "Paired differences in mean class recall")
    gaps = [0.1 - 0.01 * i for i in range(5)]
    half = 2.776 * stdev(gaps) / 5**0.5
    assert found["default minus paper"][:3] == [f"+{fmean(gaps):.3f} ± {half:.3f}"] * 3
    assert found["default minus paper"][3] == "0 of 2"
    assert "features minus default" not in found


def test_seeds_and_sets_that_are_missing(script):
    some = [run("features", "iris", seed, 0.5) for seed in SEEDS[:2]]
    page = script.page(STEPS + some, TITLES, {})
    assert rows(page, REAL, "Mean class recall")["with features"] == [
        *("–", "0.500 ± 0.000 (2)", "–")  # noqa: RUF001
    ]
    found = rows(page, REAL, "Paired differences in mean class recall")
    assert found["features minus default"] == [
        *("–", "-0.105 ± 0.064 (2)", "–", "1 of 1")  # noqa: RUF001
    ]


def test_orders_are_averaged_before_seeds_are_paired(script):
    mixed = [
        run("default", "iris", seed, 0.6 + 0.01 * i + shift, order)
        for i, seed in enumerate(SEEDS)
        for order, shift in (("1", -0.03), ("2", 0.01))
    ]
    alone = [run("default", "iris", 42, 0.604, single=True)]
    page = script.page(STEPS + mixed + alone, TITLES, {})
    found = rows(
        page,
        "Classes in random orders: real sets",
        "This order minus label order, mean class recall",
    )
    assert found == {
        "": ["Iris", "mean", "sets lower"],
        "default": ["-0.010 ± 0.000", "-0.010 ± 0.000", "1 of 1"],
    }
    found = rows(
        page, "One class at a time: real sets", "This order minus label order, mean class recall"
    )
    assert found["default"] == ["+0.004 (1)", "+0.004 (1)", "0 of 1"]


def test_baselines_are_read_from_folders_of_the_benchmark(script, tmp_path):
    for dataset in ("iris", "wine"):
        for i, seed in enumerate(SEEDS):
            recall = 0.61 + 0.01 * i
            kept = record(
                Run(dataset, "slda", seed, "honest"), measures={"mean_class_recall": recall}
            )
            write_record(tmp_path / "others", kept)
    failed = Run("iris", "ncm", 42, "honest")
    write_record(tmp_path / "others", record(failed, measures={}, error="MemoryError"))
    ours = Run("iris", "mist-g", 42, "honest")
    write_record(tmp_path / "ours", record(ours, measures={"mean_class_recall": 0.9}))

    against = script.baselines([tmp_path / "others"], ["wine", "iris"])
    assert against.keys() == {"SLDA"}
    page = script.page(STEPS, TITLES, against)
    assert rows(page, REAL, "Mean class recall of the baselines")["SLDA"][2] == "0.630"
    title = "Paired differences in mean class recall, default minus each baseline"
    assert rows(page, REAL, title)["default minus SLDA"] == [
        *("-0.010 ± 0.000", "-0.010 ± 0.000", "-0.010 ± 0.000", "2 of 2")
    ]
    with pytest.raises(ValueError, match="holds no run of a baseline"):
        script.baselines([tmp_path / "ours"], ["wine", "iris"])
