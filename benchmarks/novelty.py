"""How well rows of classes never seen are told from rows of known ones; writes a page of the docs.

    python benchmarks/novelty.py [--seeds 42,123] [--sets wine,letter] [--jobs 2]
                                 [--leaf mixture] [--out docs/results/novelty.md]

The classes of each data set arrive task after task (protocol "honest"). A fifth of the training
rows of each task is put aside. When a task begins, the first 100 training rows of each of its
classes, of which the model has seen none, are set against the rows put aside from the tasks before,
600 of them at most. The model answers and learns nothing from either. No test row is used.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from rich.console import Console
from sklearn.metrics import roc_auc_score

from mist import MistClassifier
from mist.datasets import load
from mist.evaluation import ClassIncrementalStream
from mist_bench import SEEDS, SETTINGS
from mist_bench.result_tables import Table, to_markdown, to_rich

SETS = (
    *("wine", "iris", "digits", "optdigits", "satimage", "pendigits", "letter", "shuttle"),
    *("covertype", "mnist", "fashion_mnist", "outdoor", "kddcup99_10pct", "hapt", "isolet_1_5"),
)
SLOW = {"hapt": 1, "isolet_1_5": 2}
"""Sets of some 600 columns, and how many of the seeds they are run with: a run takes minutes."""

FIRST, KNOWN, ASIDE = 100, 600, 0.2
LEVELS = (0.01, 0.05)
HEADINGS = (
    *("data set", "seeds", "new classes", "AUROC, p-value", "AUROC, density"),
    *(f"{what}, p ≤ {level}" for what in ("false alarms", "detected") for level in LEVELS),
)
INTRO = """\
# Rows of unknown classes

This page shows how well `novelty` detects rows of classes that the model has not seen. The classes
of each data set arrive task after task, and a fifth of the training rows of each task is held out.
When a task begins, the first {first} training rows of each of its classes are new to the model.
They are compared with held-out rows of the earlier tasks, at most {known} of them. The model only
predicts these rows. Test rows are not used. [Method](../method.md#open-world) has the formulas.
Made by `{command}`; nothing here is edited by hand. With HAPT and ISOLET a run takes minutes, so
they have fewer seeds.

*AUROC* is the probability that a row of the new class looks more novel than one of a known class,
by `novelty` and by `score_samples`. *False alarms* are rows of known classes with a p-value up to
the level. *Detected* are rows of the new class with a p-value up to the level. The table has means
over new classes, and their mean ± standard deviation over seeds. A class counts once it has 30
rows. Its p-values reach 0.01 once it has 109 rows; while a class that counts has fewer, nothing is
detected at 0.01. Rows of a known class that does not count yet are false alarms, if no other class
is like them."""


def run(job):
    """Mean figures over the new classes of one set and seed, and their number."""
    name, seed, leaf = job
    setting = SETTINGS[name]
    data = load(setting.dataset, **setting.load_options(seed, "honest"))
    stream = ClassIncrementalStream(
        data.X, data.y, classes_per_task=setting.classes_per_task, seed=seed
    )
    model = MistClassifier.paper(
        leaf=leaf,
        class_prior="balanced",
        open_world=True,
        categorical_features=np.flatnonzero(data.categorical),
        random_state=seed,
    )
    rng = np.random.default_rng(seed)
    aside, found = [], []
    for task in stream:
        if aside:
            known = np.concatenate(aside)
            known = known[rng.permutation(len(known))[:KNOWN]]
            p, density = model.novelty(known), model.score_samples(known)
            for label in task.classes:
                rows = task.X_train[task.y_train == label][:FIRST]
                found.append(figures(p, density, model.novelty(rows), model.score_samples(rows)))
        out = rng.random(len(task.y_train)) < ASIDE
        aside.append(task.X_train[out])
        model.partial_fit(task.X_train[~out], task.y_train[~out])
    return np.mean(found, axis=0), len(found)


def figures(p, density, p_new, density_new):
    """One row of figures: areas, false alarms, detections."""
    new = np.repeat([0, 1], [len(p), len(p_new)])
    return [
        roc_auc_score(new, -np.concatenate([p, p_new])),
        roc_auc_score(new, -np.concatenate([density, density_new])),
        *(np.mean(p <= level) for level in LEVELS),
        *(np.mean(p_new <= level) for level in LEVELS),
    ]


def cells(values):
    """Mean and standard deviation over seeds, column by column."""
    spread = np.std(values, axis=0, ddof=1) if len(values) > 1 else None
    for column, mean in enumerate(np.mean(values, axis=0)):
        yield f"{mean:.3f}" + ("" if spread is None else f" ± {spread[column]:.3f}")


def table(jobs, results):
    """All sets as rows, and the mean over sets."""
    rows, means = [], []
    for name in dict.fromkeys(name for name, _, _ in jobs):
        own = [r for (other, _, _), r in zip(jobs, results, strict=True) if other == name]
        values = np.array([figure for figure, _ in own])
        rows.append((name, str(len(own)), str(own[0][1]), *cells(values)))
        means.append(values.mean(axis=0))
    rows.append(("mean", "", "", *(f"{v:.3f}" for v in np.mean(means, axis=0))))
    return Table(
        name="novelty",
        title="Rows of new classes against rows of known ones",
        caption="",
        headings=HEADINGS,
        rows=tuple(rows),
        rules=frozenset({len(rows) - 1}),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default=",".join(map(str, SEEDS)))
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--jobs", type=int, default=1)
    leaves = ("gaussian", "sketch", "full", "mixture")
    parser.add_argument("--leaf", choices=leaves, default="mixture")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    seeds = [int(seed) for seed in options.seeds.split(",")]
    jobs = [
        (name, seed, options.leaf)
        for name in options.sets.split(",")
        for seed in seeds[: SLOW.get(name)]
    ]
    console, results = Console(width=160), []
    with ProcessPoolExecutor(options.jobs) as pool:
        for job, result in zip(jobs, pool.map(run, jobs), strict=True):
            console.print(f"{job[0]}, seed {job[1]}: AUROC {result[0][0]:.3f}", highlight=False)
            results.append(result)
    made = table(jobs, results)
    console.print(to_rich(made))
    if options.out is None:
        return
    chosen = [
        f" --{option} {getattr(options, option)}"
        for option in ("seeds", "sets", "leaf")
        if getattr(options, option) != parser.get_default(option)
    ]
    command = "benchmarks/novelty.py" + "".join(chosen)
    text = INTRO.format(first=FIRST, known=KNOWN, command=command)
    options.out.write_text(f"{text}\n\n{to_markdown(made).strip()}\n", encoding="utf-8")
    console.print(f"{options.out}", highlight=False)


if __name__ == "__main__":
    main()
