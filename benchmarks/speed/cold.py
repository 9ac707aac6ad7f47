"""What a first use costs: processes of their own, with and without compiled code on disk."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec

try:
    import resource
except ImportError:  # not on Windows
    resource = None

ANSWER = """
import numpy as np
from mist import MistClassifier
X = np.random.default_rng(1).normal(size=(300, 8))
model = {model}.partial_fit(X, np.arange(300) % 2)
model.learn_one(X[0], 0)
print(model.predict_one(X[1]))
"""
MODELS = {
    "MIST-G": "MistClassifier.paper('G')",
    "MIST-K": "MistClassifier.paper('K')",
    "MIST": "MistClassifier()",
}
COMMANDS = {
    ("Python", "nothing"): ("-c", ""),
    ("Python", "import numpy"): ("-c", "import numpy"),
    ("MIST", "import mist"): ("-c", "import mist"),
    ("MIST", "mist --help"): ("-c", "from mist.cli import main; main()", "--help"),
    ("river", "import river.tree"): ("-c", "import river.tree"),
    ("scikit-learn", "import sklearn.naive_bayes"): ("-c", "import sklearn.naive_bayes"),
}


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(arguments, **environment):
    """CPU and wall seconds of a Python process."""
    wall, cpu = time.perf_counter(), children_seconds()
    subprocess.run(
        [sys.executable, *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )
    return {"cpu": children_seconds() - cpu, "wall": time.perf_counter() - wall}


def measure_all(book, rounds):
    """Every command in turn; what compiles only once."""
    if resource is None:
        book.add("cold", library="mist", method="cold start", reason="no CPU time of children here")
        return
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            for (method, what), arguments in COMMANDS.items():
                if method == "river" and find_spec("river") is None:
                    continue
                book.add(*("cold",), method=method, path=what, round=number, **measure(arguments))
            for method, model in MODELS.items():
                own = {"NUMBA_CACHE_DIR": os.path.join(folder, method)}
                script = ("-c", ANSWER.format(model=model))
                if number == 0:
                    first = measure(script, **own)
                    what = "first answer, nothing compiled"
                    book.add("cold", method=method, path=what, round=0, **first)
                book.add(
                    *("cold",),
                    method=method,
                    path="first answer, compiled before",
                    round=number,
                    **measure(script, **own),
                )
