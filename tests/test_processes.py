"""Models in other processes, forked, spawned or of a pool: they do not hang, and answer alike."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROWS = """
import multiprocessing, os, sys
import numpy as np
from concurrent.futures import ProcessPoolExecutor
from mist import MistClassifier, MistForest
from mist.baselines import NCM

rng = np.random.default_rng(0)
Y = rng.integers(3, size=300)
X = rng.normal(3.0 * Y[:, None], 1.0, (300, 2))
TREE = MistClassifier.paper(grace_period=20, split_test="schedule", rows_per_split=40)

def answers(number):
    '''What models say that learn all of it here.'''
    forest = MistForest(TREE, 3, n_jobs=2).fit(X, Y)
    model = MistClassifier.paper().fit(X, Y).learn_one(X[0], 0)
    shares = [m.predict_proba(X).tobytes() for m in (forest, model, NCM().fit(X, Y))]
    return number, shares, [model.predict_one(x) for x in X[:20]]

def asked(model):
    return model.predict_proba(X).tobytes(), [model.predict_one(x) for x in X[:20]]
"""


def run(script: Path, body: str) -> None:
    """Run code as a script, which is ended if it hangs."""
    script.write_text(ROWS + textwrap.dedent(body))
    outcome = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=500
    )
    assert outcome.stdout == "alike\n", outcome.stderr
    assert "Terminating" not in outcome.stderr


POOLS = {
    "fork": "ProcessPoolExecutor(2, multiprocessing.get_context('fork'))",
    "spawn": "ProcessPoolExecutor(2, multiprocessing.get_context('spawn'))",
}


@pytest.mark.parametrize("method", POOLS)
def test_processes_answer_as_this_one_does(tmp_path, method):
    if method == "fork" and not hasattr(os, "fork"):
        pytest.skip("processes are not forked here")
    body = f"""
    if __name__ == "__main__":
        # Compiled, and with threads started, before there are other processes.
        here = answers(0)
        model = MistClassifier.paper().fit(X, Y)
        model.predict_one(X[0])
        with {POOLS[method]} as pool:
            for number, *there in pool.map(answers, range(4)):
                assert there == list(here[1:])
            assert list(pool.map(asked, [model] * 2)) == [asked(model)] * 2
        print("alike")
    """
    run(tmp_path / "script.py", body)


def test_workers_of_joblib_answer_as_this_process_does(tmp_path):
    body = """
    from joblib import Parallel, delayed
    if __name__ == "__main__":
        here = answers(0)
        for number, *there in Parallel(n_jobs=2)(delayed(answers)(i) for i in range(2)):
            assert there == list(here[1:])
        print("alike")
    """
    run(tmp_path / "script.py", body)
