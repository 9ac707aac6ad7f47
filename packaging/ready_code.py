"""Compile what most users run, for the folder of compiled code in a wheel.

    python packaging/ready_code.py FOLDER [--cpu x86-64-v3]

The code is for this version of Python and of Numba, and for any processor that has the instructions
of the one named: x86-64-v3 are those with AVX2 and FMA, about all since 2015. See
`mist.engine.ready_code`, which uses it.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FEATURES = {
    "x86-64-v3": "+cx16,+sahf,+popcnt,+sse,+sse2,+sse3,+ssse3,+sse4.1,+sse4.2,+avx,+avx2,+bmi,"
    "+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave",
}
ROWS = 1500
_INSIDE = "MIST_READY_CODE_FOLDER"


def tables(folder):
    """Write a table of numbers, and one with texts and missing cells; returns their paths."""
    import numpy as np

    rng = np.random.default_rng(0)
    y = rng.integers(4, size=ROWS)
    X = rng.normal(size=(ROWS, 5)) + 2.0 * y[:, None]
    numbers, mixed = folder / "numbers.csv", folder / "mixed.csv"
    lines = [",".join(f"{value:.3f}" for value in row) for row in X]
    numbers.write_text(
        "a,b,c,d,e,y\n" + "".join(f"{line},{k}\n" for line, k in zip(lines, y, strict=True))
    )
    words = np.array(["red", "green", "blue"])[rng.integers(3, size=ROWS)]
    cells = [
        f"{'' if i % 17 == 0 else line.partition(',')[0]},{line.partition(',')[2]},{word}"
        for i, (line, word) in enumerate(zip(lines, words, strict=True))
    ]
    mixed.write_text(
        "a,b,c,d,e,f,y\n" + "".join(f"{cell},k{k}\n" for cell, k in zip(cells, y, strict=True))
    )
    return numbers, mixed


def use_commands(folder):
    """Run what the command line runs."""
    from typer.testing import CliRunner

    from mist.cli import app

    def mist(*words):
        outcome = CliRunner().invoke(app, [str(word) for word in words])
        if outcome.exit_code:
            sys.exit(f"mist {' '.join(map(str, words))}: {outcome.output}")

    os.chdir(folder)
    models = []
    for name in ("mist", "mist-g", "mist-k", "mist-forest"):
        models += ["--model", name]
    for table in tables(folder):
        mist("run", table, "--target", "y", *models)
        mist("run", table, "--target", "y", "--save", "m.mist", "--predictions", "p.csv")
        mist("predict", "m.mist", table, "--out", "q.csv")
        mist("explain", "m.mist", "--csv", table, "--line", "2")
        mist("run", table, "--target", "y", "--order", "class-incremental")
    mist("demo", "--quick", "--report", "demo.html")


def use_python():
    """Do what the first pages of the documentation do, with each of the usual models."""
    import numpy as np
    from sklearn.base import clone

    from mist import MistClassifier, MistForest
    from mist.datasets import make_changing_classes, make_multimodal
    from mist.evaluation import warm_up
    from mist.preprocessing import StreamPipeline

    X, y = make_multimodal(3000, n_classes=6, n_features=4, seed=1)
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    binary = np.column_stack([X, (X[:, 0] > 0).astype(float)])
    trees = MistForest().new_tree()
    for make in (
        MistClassifier,
        lambda **options: MistClassifier.paper("G", **options),
        lambda **options: MistClassifier.paper("K", **options),
        lambda **options: MistForest(clone(trees).set_params(**options)),
    ):
        for rows in (X, gaps, X.astype(np.float32)):
            model = make()
            warm_up(model, rows.shape[1], missing=bool(np.isnan(rows).any()))
            half = len(rows) // 2
            model.partial_fit(rows[:half], y[:half], sample_weight=np.ones(half))
            model.prequential(rows[half:], y[half:])
            model.predict(rows[:50])
            model.predict_proba(rows[:50])
            model.merge(model.fork().partial_fit(rows[:half], y[:half]))
            names = [f"x{j}" for j in range(rows.shape[1])]
            named = make()
            for row, label in zip(rows[:30].tolist(), y[:30].tolist(), strict=True):
                cells = dict(zip(names, row, strict=True))
                named.predict_one(cells)
                named.predict_proba_one(cells)
                named.learn_one(cells, label)
        make(categorical_features=[4]).partial_fit(binary, y).predict(binary)
        pipeline = StreamPipeline(model=make())
        for value, label in zip(X[:60, 0].tolist(), y[:60].tolist(), strict=True):
            cells = {"size": value, "colour": "red" if value > 0 else "blue"}
            pipeline.predict_one(cells)
            pipeline.learn_one(cells, label)
    for kind in ("moved", "swap", "offset"):
        stream = make_changing_classes(X, y, kind=kind, seed=0)
        MistClassifier().prequential(stream.X, stream.y)


def keep(out):
    """Copy what this process has compiled to a folder, and say there for what it is."""
    from mist.engine import numba_internals
    from mist.engine.compiled_sources import PACKAGE
    from mist.engine.ready_code import TARGET, ReadyCode

    code = ReadyCode(out, numba_internals.host_target())
    for saved in gc.get_objects():
        if isinstance(saved, numba_internals.SavedCode):
            source = Path(saved._py_func.__code__.co_filename).parent
            if source.is_relative_to(PACKAGE):
                code.of(source).mkdir(parents=True, exist_ok=True)
                for file in Path(saved.cache_path).glob(f"{saved._impl.filename_base}.*"):
                    shutil.copy(file, code.of(source))
    (out / TARGET).write_text(json.dumps(code.target) + "\n")


def compile_all(out):
    """Compile in this process what most users run."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        use_commands(Path(folder))
        use_python()
        os.chdir(here)
    keep(out)
    sizes = [file.stat().st_size for file in out.rglob("*.nbc")]
    print(f"{out}: {len(sizes)} compiled functions, {sum(sizes) / 1e6:.0f} MB")


def main():
    """Read the options; the work is done in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cpu", choices=FEATURES, default="x86-64-v3")
    options = parser.parse_args()
    out = options.folder.resolve()
    if os.environ.get(_INSIDE):
        compile_all(out)
        return
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as cache:
        chosen = {
            "NUMBA_CPU_NAME": options.cpu,
            "NUMBA_CPU_FEATURES": FEATURES[options.cpu],
            "NUMBA_CACHE_DIR": cache,
            "MIST_NUMBA": "internals",
            "MIST_READY_CODE": "0",
            _INSIDE: "1",
        }
        # Numba reads its variables when it is imported.
        command = [sys.executable, __file__, str(out), "--cpu", options.cpu]
        sys.exit(subprocess.run(command, env={**os.environ, **chosen}, check=False).returncode)


if __name__ == "__main__":
    main()
