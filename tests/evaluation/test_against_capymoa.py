"""The harness against CapyMOA's: one stream and one model must give one accuracy matrix.

CapyMOA's figures are kept in a file, which the first test reads. The second runs CapyMOA itself
where it is installed with torch (``pip install "capymoa[torch]"``) and finds Java. Running this
module as a script writes the file anew.
"""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from mist.baselines import NCM
from mist.datasets import load_toy
from mist.evaluation import ClassIncrementalStream, evaluate

REFERENCE = Path(__file__).with_name("capymoa_digits_ncm.json")
TESTS_PER_TASK = {"all": 1, "balanced": 4}


def digits(rows):
    """All digits, or 170 of each class: then tasks are equally long and can be cut in four."""
    table = load_toy("digits")
    kept = np.arange(len(table.y))
    if rows == "balanced":
        kept = np.concatenate([np.flatnonzero(table.y == label)[:170] for label in range(10)])
    return ClassIncrementalStream(table.X[kept], table.y[kept], classes_per_task=2)


def run_capymoa(rows):
    """Figures of CapyMOA's loop for the nearest class mean on the very rows of the stream."""
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("CapyMOA needs Java: no command java and no JAVA_HOME")
    # The package before its parts: it starts the Java machine.
    pytest.importorskip("capymoa")
    harness = pytest.importorskip("capymoa.ocl.evaluation", exc_type=ImportError)
    import torch
    from capymoa.base import Classifier
    from capymoa.stream import NumpyStream
    from torch.utils.data import DataLoader, TensorDataset

    class RowByRow(Classifier):
        def __init__(self, schema, model):
            super().__init__(schema)
            self.model = model

        def train(self, instance):
            self.model.partial_fit(instance.x[None], [instance.y_index])

        def predict_proba(self, instance):
            if not hasattr(self.model, "classes_"):
                return None
            shares = np.zeros(self.schema.get_num_classes())
            shares[self.model.classes_] = self.model.predict_proba(instance.x[None])[0]
            return shares

    def loader(X, y, batch_size):
        # In float64, as in our run; torch's float32 would round other data.
        return DataLoader(TensorDataset(torch.tensor(X), torch.tensor(y)), batch_size=batch_size)

    stream = digits(rows)
    schema = NumpyStream(stream.X_train, stream.y_train, target_type="categorical").get_schema()
    figures = harness.ocl_train_eval_loop(
        RowByRow(schema, NCM()),
        # CapyMOA predicts a whole batch before it learns it: one row is test-then-train.
        [loader(task.X_train, task.y_train, batch_size=1) for task in stream],
        [loader(task.X_test, task.y_test, batch_size=256) for task in stream],
        continual_evaluations=TESTS_PER_TASK[rows],
    )
    return {
        "accuracy_matrix": figures.accuracy_matrix.tolist(),
        "accuracy_final": figures.accuracy_final,
        "backward_transfer": figures.backward_transfer,
        "anytime_accuracy_seen": figures.anytime_accuracy_seen.tolist(),
        "anytime_accuracy_seen_avg": figures.anytime_accuracy_seen_avg,
        "ttt_accuracy": figures.ttt.cumulative.accuracy(),
        "boundaries": figures.boundaries.tolist(),
    }


def assert_same(rows, theirs):
    """Compare as far as the definitions agree; they differ in what the comments say."""

    def same(value):
        return pytest.approx(value, rel=0, abs=1e-6)

    ours = evaluate(NCM(), digits(rows), tests_per_task=TESTS_PER_TASK[rows])
    R = np.array(theirs["accuracy_matrix"])
    learnt = np.tri(len(R), dtype=bool)
    # Tasks to come: tested by CapyMOA, NaN with us.
    assert ours.accuracy_matrix[learnt] == same(R[learnt])
    assert [0, *ours.boundaries] == theirs["boundaries"]
    assert ours.final_accuracy == same(theirs["accuracy_final"])
    # Where nothing was learnt CapyMOA guesses. Its guess for the first row is wrong here; with us
    # the row counts as wrong.
    assert ours.prequential_accuracy == same(theirs["ttt_accuracy"] / 100)

    # CapyMOA's backward transfer is the mean over all pairs of tasks i > j; ours, as Lopez-Paz and
    # Ranzato's, that over the last row alone.
    assert ours.backward_transfer == same((R - np.diagonal(R))[-1, :-1].mean())
    change = ours.accuracy_matrix - np.diagonal(ours.accuracy_matrix)
    assert change[np.tri(len(R), k=-1, dtype=bool)].mean() == same(theirs["backward_transfer"])

    # CapyMOA's accuracy on seen tasks is a mean over tasks, ours one over held-out rows: the same
    # if tasks have equally many. It tests after every (n // tests)-th row of a task of n rows: the
    # same rows as ours if that leaves no remainder.
    if rows == "balanced":
        assert ours.seen_accuracy == same(theirs["anytime_accuracy_seen"])
        assert ours.anytime_accuracy == same(theirs["anytime_accuracy_seen_avg"])


@pytest.mark.parametrize("rows", TESTS_PER_TASK)
def test_figures_that_capymoa_gave(rows):
    assert_same(rows, json.loads(REFERENCE.read_text(encoding="utf-8"))[rows])


@pytest.mark.parametrize("rows", TESTS_PER_TASK)
def test_capymoa_itself(rows):
    assert_same(rows, run_capymoa(rows))


def write_reference():
    """Keep the figures of the installed CapyMOA, for machines without it."""
    runs = {rows: run_capymoa(rows) for rows in TESTS_PER_TASK}
    import capymoa

    document = {"capymoa": capymoa.__version__, **runs}
    REFERENCE.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_reference()
