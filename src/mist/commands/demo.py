"""``mist demo``: four models on four small data sets, class-incrementally."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mist.commands.compile_first import warm_up
from mist.commands.output import (
    check_output,
    live_rate,
    make_console,
    make_progress,
    print_summary,
    write_report,
)
from mist.commands.tasks import make_stream, task_section
from mist.datasets import load_toy, make_multimodal
from mist.evaluation import evaluate
from mist.presets import PAPER_SETTINGS, PRESETS, Preset, make_model
from mist.streaming.runs.prequential_run import Recorder
from mist.streaming.runs.records import count_rows

__all__ = ["demo"]

# The first one is the only stream with rows enough for the trees to split.
_DATASETS = ("multimodal", "digits", "wine", "iris")
_MODELS = (
    *(PRESETS[name] for name in ("mist", "mist-g", "mist-k")),
    Preset("MIST-G without inheritance", {**PAPER_SETTINGS, "inheritance": None}),
)
_QUICK_ROWS = 400
_CHECKPOINTS = 100
_LEAST_STEP = 200
"""Default grace period of a leaf: leaves do not split more often."""

# A split needs evidence, so the stream that shows tree growth is long and has few columns.
_MULTIMODAL = {"n_samples": 100_000, "n_classes": 8, "n_features": 3, "modes": 3}


def demo(report: Path, seed: int, quick: bool) -> None:
    """Run the demonstration, print the table and write the report.

    Parameters
    ----------
    report : Path
        The HTML file to write.
    seed : int
        Seed of splits, orders of rows and models.
    quick : bool
        Use at most 400 rows of each set.
    """
    check_output(report)
    console = make_console()
    warm_up(_MODELS)
    sections = []
    with make_progress() as progress:
        for name in _DATASETS:
            X, y, columns, source = _load(name)
            if quick:
                rows = np.random.default_rng(seed).permutation(len(y))[:_QUICK_ROWS]
                X, y = X[rows], y[rows]
            stream = make_stream(X, y, seed)
            recorders = [Recorder(make_model(model, seed=seed)) for model in _MODELS]
            results = [
                evaluate(
                    recorder,
                    stream,
                    model_name=model.title,
                    dataset=name,
                    chunk=max(_LEAST_STEP, stream.n_rows // _CHECKPOINTS),
                    progress=live_rate(progress, f"{name}: {model.title}", perf_counter),
                )
                for model, recorder in zip(_MODELS, recorders, strict=True)
            ]
            counted = count_rows(
                stream.X_train,
                stream.y_train,
                columns,
                range(1, stream.n_rows + 1),
                [recorder.results() for recorder in recorders],
            )
            origin = f"Source: {source}."
            sections.append(task_section(name, stream, results, counted, origin))
    print_summary(console, sections)
    write_report(
        console,
        report,
        "MIST demonstration",
        "Trees that learn new classes as they arrive: one pass over each stream, task after task, "
        f"each row predicted before it is learnt. Seed {seed}"
        + (f", at most {_QUICK_ROWS} rows of each set." if quick else "."),
        sections,
        {model.title: make_model(model, seed=seed) for model in _MODELS},
    )


def _load(name: str) -> tuple[NDArray[np.float64], NDArray[Any], Sequence[str], str]:
    """Return rows, labels, names of columns, and where they come from."""
    if name == "multimodal":
        X, y = make_multimodal(**_MULTIMODAL)
        options = ", ".join(f"{option}={value}" for option, value in _MULTIMODAL.items())
        columns = [f"x{j}" for j in range(X.shape[1])]
        return X, y, columns, f"mist.datasets.make_multimodal({options})"
    dataset = load_toy(name)
    return dataset.X, dataset.y, dataset.feature_names, dataset.source
