from time import perf_counter, sleep

import numpy as np
import pytest
from sklearn.linear_model import Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from mist import MistClassifier
from mist.datasets import load_toy, make_gaussian_classes
from mist.evaluation import (
    ClassIncrementalStream,
    average_forgetting,
    backward_transfer,
    evaluate,
    final_accuracy,
)


class RowNaiveBayes:
    """scikit-learn's Gaussian naive Bayes, fitted anew on all rows seen when it is asked."""

    def __init__(self):
        self.X, self.y, self.sizes = [], [], []

    def partial_fit(self, X, y):
        self.X.extend(X)
        self.y.extend(y)
        self.sizes.append(len(y))
        self.model = None
        return self

    def predict(self, X):
        if self.model is None:
            self.model = GaussianNB().fit(self.X, self.y)
        with np.errstate(all="ignore"):
            return self.model.predict(X)


class Echo:
    """Answers with the label learnt last; keeps what it was shown. Grows a leaf a class."""

    def __init__(self):
        self.chunks, self.tests = [], []
        self.last = "?"

    def prequential(self, X, y):
        self.chunks.append((X.copy(), y.copy()))
        answers = [self.last, *y[:-1]]
        self.last = y[-1]
        return np.asarray(answers, dtype=object)

    def predict(self, X):
        self.tests.append(X.copy())
        return np.full(len(X), self.last)

    @property
    def seen(self):
        return {label for _, y in self.chunks for label in y}

    @property
    def n_leaves_(self):
        return len(self.seen)

    @property
    def n_splits_(self):
        return len(self.seen) - 1

    nbytes = 123


class RowsOnly:
    """Hides everything of a model but predict and partial_fit."""

    def __init__(self, model):
        self.predict, self.partial_fit = model.predict, model.partial_fit


@pytest.fixture(scope="module")
def blobs():
    X, y = make_gaussian_classes(n_samples=300, n_classes=6, n_features=4, spread=0.4, seed=1)
    return ClassIncrementalStream(X, y)


def loop(model, stream):
    """The protocol written out, one row at a time."""
    hits, matrix = [], []
    for step, task in enumerate(stream):
        for x, label in zip(task.X_train, task.y_train, strict=True):
            hits.append(bool(hits) and model.predict(x[None])[0] == label)
            model.partial_fit(x[None], np.array([label]))
        tests = list(stream)[: step + 1]
        matrix.append([np.mean(model.predict(past.X_test) == past.y_test) for past in tests])
    return hits, matrix


def test_naive_bayes_row_by_row_equals_the_protocol_written_out(blobs):
    hits, matrix = loop(RowNaiveBayes(), blobs)
    result = evaluate(RowNaiveBayes(), blobs)
    assert result.correct.tolist() == hits
    for step, row in enumerate(matrix):
        assert result.accuracy_matrix[step, : step + 1].tolist() == row
        assert np.isnan(result.accuracy_matrix[step, step + 1 :]).all()
    assert result.final_accuracy == final_accuracy(result.accuracy_matrix) > 0.9
    assert result.average_forgetting == average_forgetting(result.accuracy_matrix)
    assert result.backward_transfer == backward_transfer(result.accuracy_matrix)
    assert result.prequential_accuracy == np.mean(hits)


def test_a_model_is_fed_single_rows_when_it_has_no_prequential(blobs):
    model = RowNaiveBayes()
    evaluate(model, blobs)
    assert set(model.sizes) == {1}
    assert np.array_equal(model.X, blobs.X_train)


@pytest.mark.parametrize(
    ("name", "recall", "spread"), [("wine", 0.970, 0.020), ("iris", 0.933, 0.030)]
)
def test_published_recall_of_naive_bayes_comes_out(name, recall, spread):
    """The paper's figures for an unsplit Gaussian leaf, standardised over all rows."""
    data = load_toy(name)
    X = StandardScaler().fit_transform(data.X)
    recalls = [
        evaluate(RowNaiveBayes(), ClassIncrementalStream(X, data.y, seed=seed)).mean_class_recall
        for seed in (42, 123, 456, 789, 3330)
    ]
    assert np.mean(recalls) == pytest.approx(recall, abs=0.0006)
    assert np.std(recalls) == pytest.approx(spread, abs=0.0006)


def test_a_model_that_insists_on_all_classes_is_told_them(blobs):
    model = Perceptron(random_state=0)
    result = evaluate(model, blobs)
    assert tuple(model.classes_) == blobs.classes
    assert result.model == "Perceptron"
    assert 0 < result.prequential_accuracy < 1


def test_other_errors_of_the_first_row_are_not_swallowed(blobs):
    class Broken(RowNaiveBayes):
        def partial_fit(self, X, y):
            raise ValueError("no room")

    with pytest.raises(ValueError, match="no room"):
        evaluate(Broken(), blobs)


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_prequential_gets_chunks_that_end_with_the_task(blobs, chunk):
    model, calls = Echo(), []
    result = evaluate(model, blobs, chunk=chunk, progress=lambda *call: calls.append(call))
    assert np.array_equal(np.concatenate([X for X, _ in model.chunks]), blobs.X_train)
    assert np.array_equal(np.concatenate([y for _, y in model.chunks]), blobs.y_train)
    assert all(len(y) <= chunk for _, y in model.chunks)
    assert set(blobs.boundaries) <= set(result.checkpoints)

    expected = [False, *(blobs.y_train[1:] == blobs.y_train[:-1])]
    assert result.correct.tolist() == expected
    assert calls == [
        (rows, blobs.n_rows, int(sum(expected[:rows])), model) for rows in result.checkpoints
    ]


def test_leaves_splits_and_bytes_are_read_from_the_model(blobs):
    result = evaluate(Echo(), blobs, chunk=7)
    assert result.n_leaves.tolist() == [2, 4, 6]
    assert result.n_splits.tolist() == [1, 3, 5]
    ends = np.searchsorted(result.checkpoints, result.boundaries)
    assert result.leaves_curve[ends].tolist() == [2, 4, 6]
    assert len(result.leaves_curve) == len(result.checkpoints)
    assert result.nbytes == 123


def test_a_model_without_leaves_has_zeros(blobs):
    result = evaluate(RowNaiveBayes(), blobs, chunk=100)
    assert result.n_leaves.tolist() == result.n_splits.tolist() == [0, 0, 0]
    assert result.leaves_curve.tolist() == [0] * len(result.checkpoints)
    assert result.nbytes == 0


def test_names_and_seed_go_into_the_result(blobs):
    named = evaluate(Echo(), blobs, model_name="echo", dataset="blobs")
    assert (named.model, named.dataset, named.seed) == ("echo", "blobs", 42)
    unnamed = evaluate(Echo(), blobs)
    assert (unnamed.model, unnamed.dataset) == ("Echo", "")


def test_only_tasks_learnt_so_far_are_tested(blobs):
    model = Echo()
    evaluate(model, blobs)
    tests = [task.X_test for task in blobs]
    expected = [X for step in range(len(tests)) for X in tests[: step + 1]]
    assert len(model.tests) == len(expected)
    for shown, X in zip(model.tests, expected, strict=True):
        assert np.array_equal(shown, X)


def test_time_covers_test_then_train_only(blobs):
    class Slow(Echo):
        def prequential(self, X, y):
            sleep(0.02)
            return super().prequential(X, y)

        def predict(self, X):
            sleep(0.05)
            return super().predict(X)

    model = Slow()
    begin = perf_counter()
    result = evaluate(model, blobs)
    total = perf_counter() - begin
    assert result.learn_seconds >= 0.02 * len(model.chunks)
    assert total - result.learn_seconds >= 0.05 * len(model.tests)
    assert result.rows_per_second == pytest.approx(blobs.n_rows / result.learn_seconds)


def test_the_first_row_of_a_fresh_model_is_wrong_even_if_guessed(blobs):
    class Clairvoyant(Echo):
        def prequential(self, X, y):
            super().prequential(X, y)
            return y

    result = evaluate(Clairvoyant(), blobs)
    assert not result.correct[0]
    assert result.correct[1:].all()


def test_the_first_row_of_a_trained_model_counts(blobs):
    trained = GaussianNB().fit(blobs.X_train, blobs.y_train)
    assert trained.predict(blobs.X_train[:1]) == blobs.y_train[0]
    assert evaluate(trained, blobs).correct[0]


def test_a_task_without_held_out_rows_has_no_accuracy():
    X = np.arange(21.0)[:, None]
    y = np.repeat(["a", "b", "c"], [10, 1, 10])
    result = evaluate(RowNaiveBayes(), ClassIncrementalStream(X, y, classes_per_task=1))
    assert np.isnan(result.accuracy_matrix[:, 1]).all()
    assert not np.isnan(result.accuracy_matrix[-1, [0, 2]]).any()
    assert result.final_accuracy == np.mean(result.accuracy_matrix[-1, [0, 2]])
    assert result.mean_class_recall == pytest.approx(result.final_accuracy)


def test_bad_calls_are_refused(blobs):
    with pytest.raises(ValueError, match="chunk=0"):
        evaluate(Echo(), blobs, chunk=0)
    with pytest.raises(TypeError, match="object has neither prequential nor partial_fit"):
        evaluate(object(), blobs)


def test_answers_of_a_wrong_shape_are_refused(blobs):
    class Column(Echo):
        def predict(self, X):
            return super().predict(X)[:, None]

    with pytest.raises(ValueError, match=r"Column answered .* one label a row"):
        evaluate(Column(), blobs)


@pytest.mark.parametrize("classes_per_task", [1, 2])
def test_mist_through_prequential_equals_the_row_by_row_loop(classes_per_task):
    iris = load_toy("iris")
    stream = ClassIncrementalStream(iris.X, iris.y, classes_per_task=classes_per_task)
    hits, matrix = loop(MistClassifier(), stream)
    compiled = evaluate(MistClassifier(), stream, chunk=11)
    rows = evaluate(RowsOnly(MistClassifier()), stream)
    assert compiled.correct.tolist() == hits == rows.correct.tolist()
    assert sum(hits) > 0
    for step, row in enumerate(matrix):
        assert compiled.accuracy_matrix[step, : step + 1].tolist() == row
    assert np.array_equal(compiled.accuracy_matrix, rows.accuracy_matrix, equal_nan=True)
