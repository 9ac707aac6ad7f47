"""What each step from the paper's tree to the default and on to the forest buys.

    MIST_DATA=FOLDER python benchmarks/ablation.py --out OUT [--suites real stress] [--jobs 2]
        [--steps NAME ...] [--datasets NAME ...] [--seeds 42 ...] [--orders label 1 2 3] [--single]
        [--page FILE] [--against FOLDER ...]

Every run learns a class-incremental stream (protocol honest) in one pass and is tested after each
task. ``--orders`` lets classes arrive in label order, or in random orders drawn from the numbers;
``--single`` lets them arrive one at a time. Finished runs are lines of OUT/ablation.jsonl and are
not done again. With ``--page FILE`` tables of all finished runs on the sets named are written there
as Markdown; ``--against`` adds the baselines that ``mist bench --protocol honest`` left in FOLDERs.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from ablation_page import baselines, page
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from mist import MistClassifier, MistForest
from mist.datasets import load
from mist.evaluation import ClassIncrementalStream, class_recall
from mist_bench import SEEDS, SETTINGS, SUITES

SCHEDULE = {"split_test": "schedule", "grace_period": 100}


def tree(**options):
    return lambda given, seed: MistClassifier.from_settings(**options, **given, random_state=seed)


def forest(tree_options=SCHEDULE, **options):
    return lambda given, seed: MistForest(
        MistClassifier.from_settings(**tree_options, **given), **options, random_state=seed
    )


def paper(**options):
    return lambda given, seed: MistClassifier.paper("G", **options, **given, random_state=seed)


STEPS = {
    "paper": ("the paper's tree (MIST-G)", paper()),
    "prior": ("+ balanced prior", paper(class_prior="balanced")),
    "full": ("+ full covariances", paper(class_prior="balanced", leaf="full")),
    "mixture": ("+ mixtures", paper(class_prior="balanced", leaf="mixture")),
    "default": ("+ joint inheritance: the default", tree()),
    "features": (
        "default + random features",
        forest({}, n_trees=1, max_features=None, random_features=1000, feature_weight=0.25),
    ),
    "forest": ("forest of ten", forest()),
    "forest-features": ("forest of ten + random features", forest(random_features=1000)),
    "gaussian-schedule": (
        "Gaussian leaves, schedule, paper's inheritance",
        paper(class_prior="balanced", **SCHEDULE),
    ),
    "gaussian-joint": (
        "Gaussian leaves, schedule, joint inheritance",
        tree(leaf="gaussian", **SCHEDULE),
    ),
    "full-joint": ("full covariances, schedule, joint inheritance", tree(leaf="full", **SCHEDULE)),
    "mixture-schedule": ("default, but split on a schedule", tree(**SCHEDULE)),
}


def stream_of(name, seed, order, single):
    setting = SETTINGS[name]
    dataset = load(setting.dataset, **setting.load_options(seed, "honest"))
    classes = np.unique(dataset.y)
    class_order = (
        "label"
        if order == "label"
        else np.random.default_rng(int(order)).permutation(classes).tolist()
    )
    per_task = 1 if single else setting.classes_per_task
    stream = ClassIncrementalStream(
        dataset.X,
        dataset.y,
        classes_per_task=per_task,
        class_order=class_order,
        protocol="honest",
        seed=seed,
    )
    return stream, np.flatnonzero(dataset.categorical).tolist()


def run(step, name, seed, order, single):
    """Figures of one run."""
    stream, categorical = stream_of(name, seed, order, single)
    model = STEPS[step][1]({"categorical_features": categorical or None}, seed)
    tasks = list(stream)
    history, seconds = np.full((len(tasks), len(tasks)), np.nan), 0.0
    with threadpool_limits(limits=1):
        for t, task in enumerate(tasks):
            start = time.process_time()
            model.partial_fit(task.X_train, task.y_train)
            seconds += time.process_time() - start
            for s, old in enumerate(tasks[: t + 1]):
                if len(old.y_test):  # classes of a few rows may have none held out
                    history[t, s] = np.mean(model.predict(old.X_test) == old.y_test)
        X = np.vstack([task.X_test for task in tasks])
        y = np.concatenate([task.y_test for task in tasks])
        answers = model.predict(X)
    tested = np.flatnonzero(np.isfinite(history[-1, :-1]))
    lost = np.nanmax(history[:, tested], axis=0) - history[-1, tested]
    return {
        "step": step,
        "dataset": name,
        "seed": seed,
        "order": str(order),
        "single": single,
        "recall": float(class_recall(y, answers)[1].mean()),
        "accuracy": float(np.mean(answers == y)),
        "forgetting": float(np.mean(lost)) if len(lost) else 0.0,
        "first_task": float(history[-1, 0]),
        "leaves": int(model.n_leaves_),
        "bytes": int(model.nbytes),
        "rows_per_second": stream.n_rows / seconds,
    }


def key(record):
    return tuple(record[k] for k in ("step", "dataset", "seed", "order", "single"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--suites", nargs="+", default=["real", "stress"])
    parser.add_argument("--datasets", nargs="+")
    parser.add_argument("--steps", nargs="+", default=list(STEPS), choices=list(STEPS))
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--orders", nargs="+", default=["label"])
    parser.add_argument("--single", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--against", type=Path, nargs="+", default=[])
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    file = given.out / "ablation.jsonl"
    done = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    have = {key(record) for record in done}
    names = given.datasets or [name for suite in given.suites for name in SUITES[suite]]
    wanted = [
        (step, name, seed, str(order), given.single)
        for seed in given.seeds
        for order in given.orders
        for name in names
        for step in given.steps
        if (step, name, seed, str(order), given.single) not in have
    ]
    parallel = Parallel(n_jobs=given.jobs, return_as="generator_unordered")
    with file.open("a") as lines:
        for record in parallel(delayed(run)(*each) for each in wanted):
            lines.write(json.dumps(record) + "\n")
            lines.flush()
            done.append(record)
            print(*key(record), f"{record['recall']:.3f}", flush=True)
    if given.page:
        shown = [record for record in done if record["dataset"] in names]
        titles = {step: title for step, (title, _) in STEPS.items()}
        text = page(shown, titles, baselines(given.against, names))
        given.page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
