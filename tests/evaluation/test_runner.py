import json
from time import perf_counter, sleep

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

import naive_streams as naive
from mist import MistClassifier
from mist.adaptation.changes import Change
from mist.baselines import NCM
from mist.datasets import load_toy, make_gaussian_classes
from mist.evaluation import (
    ClassIncrementalStream,
    average_forgetting,
    backward_transfer,
    evaluate,
    final_accuracy,
    iter_evaluate,
    runner,
)
from published import paper_tree


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
    assert result.seconds >= 0.02 * len(model.chunks)
    assert total - result.seconds >= 0.05 * len(model.tests)
    assert result.rows_per_second == pytest.approx(blobs.n_rows / result.seconds)


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

    with pytest.raises(ValueError, match=r"Column predicted .* one label per row"):
        evaluate(Column(), blobs)


@pytest.mark.parametrize("classes_per_task", [1, 2])
def test_mist_through_prequential_equals_the_row_by_row_loop(classes_per_task):
    iris = load_toy("iris")
    stream = ClassIncrementalStream(iris.X, iris.y, classes_per_task=classes_per_task)
    hits, matrix = loop(paper_tree(), stream)
    compiled = evaluate(paper_tree(), stream, chunk=11)
    rows = evaluate(RowsOnly(paper_tree()), stream)
    assert compiled.correct.tolist() == hits == rows.correct.tolist()
    assert sum(hits) > 0
    for step, row in enumerate(matrix):
        assert compiled.accuracy_matrix[step, : step + 1].tolist() == row
    assert np.array_equal(compiled.accuracy_matrix, rows.accuracy_matrix, equal_nan=True)


def same_figures(one, other):
    """Whether two results are alike in all but times."""
    times = ("seconds", "rows_per_second")
    figures = [
        {name: value for name, value in result.to_dict().items() if not name.endswith(times)}
        for result in (one, other)
    ]
    assert len(figures[0]) > 20
    return figures[0] == figures[1]


def test_the_steps_give_the_result_of_evaluate(blobs):
    steps, seen = iter_evaluate(NCM(), blobs, chunk=30, tests_per_task=3), []
    while True:
        try:
            seen.append(next(steps))
        except StopIteration as end:
            stepwise = end.value
            break
    whole = evaluate(NCM(), blobs, chunk=30, tests_per_task=3)
    assert same_figures(stepwise, whole)
    assert [step.rows for step in seen] == whole.checkpoints.tolist()
    assert [step.hits for step in seen] == [whole.correct[: step.rows].sum() for step in seen]
    assert {step.n_rows for step in seen} == {blobs.n_rows}
    assert len({id(step.model) for step in seen}) == 1


@pytest.mark.parametrize("make", [NCM, MistClassifier])
def test_whoever_stops_has_a_model_that_has_learnt_so_far(blobs, make):
    model = make()
    steps = iter_evaluate(model, blobs, chunk=25)
    now = [next(steps) for _ in range(4)][-1]
    steps.close()
    assert now.model is model
    rows = slice(now.rows)
    alone = make()
    alone.prequential(blobs.X_train[rows], blobs.y_train[rows])
    assert 0 < now.rows < blobs.n_rows
    assert np.array_equal(model.predict_proba(blobs.X_train), alone.predict_proba(blobs.X_train))
    model.partial_fit(blobs.X_train[now.rows :], blobs.y_train[now.rows :])
    assert (model.predict(blobs.X_train) == blobs.y_train).mean() > 0.9


def test_nothing_is_learnt_before_the_first_step(blobs):
    model = Echo()
    steps = iter_evaluate(model, blobs)
    assert not model.chunks
    next(steps)
    assert len(model.chunks) == 1
    with pytest.raises(ValueError, match="tests_per_task=0 must be at least 1"):
        next(iter_evaluate(model, blobs, tests_per_task=0))


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.sampled_from([1, 2, 5, 9, 16]), min_size=1, max_size=5).filter(
        lambda counts: sum(count for count in counts if count > 1) >= 10
    ),
    st.integers(1, 7),
    st.integers(1, 3),
    st.sampled_from([0.0, 1.0, 3.0]),
    st.booleans(),
    st.integers(0, 1000),
)
def test_tests_while_learning_equal_the_protocol_written_out(
    counts, tests_per_task, classes_per_task, blur, scale, seed
):
    y = np.repeat(np.arange(len(counts)), counts)
    X = np.random.default_rng(seed).normal(y[:, None], 0.7, (len(y), 2))
    stream = ClassIncrementalStream(
        X,
        y,
        classes_per_task=classes_per_task,
        test_size=0.5,
        blur=blur,
        scale=scale,
        seed=seed,
    )
    result = evaluate(NCM(), stream, tests_per_task=tests_per_task, chunk=4)
    learnt, recall, accuracy = zip(
        *naive.held_out_tests(NCM(), stream, tests_per_task), strict=True
    )
    assert result.evaluations.tolist() == list(learnt)
    assert result.classes == stream.classes
    assert result.recall == pytest.approx(np.array(recall), nan_ok=True)
    assert result.seen_accuracy == pytest.approx(np.array(accuracy), nan_ok=True)
    assert result.anytime_accuracy == pytest.approx(np.nanmean(accuracy))
    assert result.mean_class_recall == pytest.approx(np.nanmean(recall[-1]))
    # The matrix is that of the tests after the tasks, however often there are others.
    rare = evaluate(NCM(), stream)
    assert rare.evaluations.tolist() == stream.boundaries.tolist()
    assert np.array_equal(rare.accuracy_matrix, result.accuracy_matrix, equal_nan=True)
    assert np.array_equal(rare.correct, result.correct)


def test_tests_are_in_equal_steps_and_never_twice_at_a_row():
    X = np.arange(60.0)[:, None]
    stream = ClassIncrementalStream(X, np.repeat([0, 1], [10, 50]), classes_per_task=1)
    assert stream.boundaries.tolist() == [8, 48]
    tested = {n: evaluate(NCM(), stream, tests_per_task=n).evaluations.tolist() for n in (1, 4, 10)}
    assert tested[1] == [8, 48]
    assert tested[4] == [2, 4, 6, 8, 18, 28, 38, 48]
    assert tested[10] == [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48]
    compiled = evaluate(paper_tree(), stream, tests_per_task=1000)
    assert compiled.evaluations.tolist() == list(range(1, 49))


def test_classes_that_come_early_are_tested_with_their_task():
    y = np.repeat([0, 1], 50)
    X = 10.0 * y[:, None] + np.arange(100)[:, None] / 100
    stream = ClassIncrementalStream(X, y, classes_per_task=1, blur=1.0)
    first = int(np.argmax(stream.y_train == 1))
    assert 0 < first < stream.boundaries[0]
    result = evaluate(NCM(), stream, tests_per_task=40)
    early = (result.evaluations > first) & (result.evaluations <= stream.boundaries[0])
    assert early.any()
    assert (result.recall[early] == 1).all()
    assert np.isnan(result.recall[result.evaluations <= first, 1]).all()
    assert np.isnan(result.accuracy_matrix[0, 1])


def test_held_out_rows_are_shown_in_the_scale_of_the_stream():
    y = np.repeat([0, 1, 2], 20)
    X = np.random.default_rng(0).normal(5 * y[:, None], 2, (60, 2))
    stream = ClassIncrementalStream(X, y, classes_per_task=1, scale=True)
    model = Echo()
    result = evaluate(model, stream, tests_per_task=2)
    expected = [
        stream.prepare(task.X_test, int(learnt))
        for number, learnt in enumerate(result.evaluations)
        for task in list(stream)[: number // 2 + 1]
    ]
    assert len(model.tests) == len(expected)
    for shown, rows in zip(model.tests, expected, strict=True):
        assert np.array_equal(shown, rows)


def test_learning_apart_changes_nothing_else(blobs):
    for make in (MistClassifier, NCM, Perceptron, RowNaiveBayes):
        plain, timed = (evaluate(make(), blobs, learn_apart=limit) for limit in (0, 0.2))
        assert same_figures(plain, timed)
        assert np.isnan(plain.learn_rows_per_second)
        assert timed.learn_rows_per_second > 0


@pytest.fixture
def clock(monkeypatch):
    """What the runner takes for the clock; it moves when told to."""

    class Clock:
        now = 0.0

        def __call__(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(runner, "perf_counter", clock)
    return clock


def test_every_rate_has_its_own_clock(blobs, clock):
    class Timed(Echo):
        def prequential(self, X, y):
            clock.now += 1
            return super().prequential(X, y)

        def partial_fit(self, X, y):
            clock.now += 5

        def predict(self, X):
            clock.now += 3
            return super().predict(X)

    model = Timed()

    def look(*_):
        clock.now += 100

    result = evaluate(model, blobs, chunk=50, tests_per_task=2, learn_apart=1e6, progress=look)
    assert result.seconds == len(model.chunks)
    assert result.rows_per_second == 240 / len(model.chunks)
    assert result.predict_rows_per_second == sum(map(len, model.tests)) / (3 * len(model.tests))
    assert result.learn_rows_per_second == 240 / (5 * 5)


@pytest.mark.parametrize(("limit", "chunks"), [(1e6, 5), (0.1, 1), (3, 2), (4, 3)])
def test_learning_apart_ends_with_the_chunk_in_which_time_is_up(blobs, clock, limit, chunks):
    learnt = []

    class Learner(Echo):
        def partial_fit(self, X, y):
            clock.now += 2
            learnt.append((self, X, y))

    model = Learner()
    result = evaluate(model, blobs, chunk=50, learn_apart=limit)
    assert [len(y) for _, _, y in learnt] == [50, 50, 50, 50, 40][:chunks]
    assert not any(learner is model for learner, _, _ in learnt)
    rows = sum(len(y) for _, _, y in learnt)
    assert np.array_equal(np.concatenate([X for _, X, _ in learnt]), blobs.X_train[:rows])
    assert result.learn_rows_per_second == rows / (2 * chunks)


def test_the_copy_that_learns_apart_is_made_before_the_run(blobs):
    seen = []

    class Counting(RowNaiveBayes):
        def __deepcopy__(self, memo):
            copy = Counting()
            copy.X, copy.y, copy.sizes = list(self.X), list(self.y), []
            seen.append(copy)
            return copy

    trained = Counting().partial_fit(blobs.X_train[:10], blobs.y_train[:10])
    evaluate(trained, blobs, learn_apart=60, chunk=100)
    (copy,) = seen
    assert len(copy.X) == 10 + blobs.n_rows
    assert copy.sizes == [100, 100, 40]


def test_without_partial_fit_learning_is_not_measured_apart(blobs):
    assert np.isnan(evaluate(Echo(), blobs, learn_apart=60).learn_rows_per_second)


def test_a_clock_too_coarse_gives_no_rates(blobs, clock):
    result = evaluate(NCM(), blobs, learn_apart=60)
    assert result.seconds == clock.now == 0
    for rate in ("rows_per_second", "predict_rows_per_second", "learn_rows_per_second"):
        assert np.isnan(getattr(result, rate))


def test_compiling_is_timed_where_there_is_any(blobs):
    assert evaluate(NCM(), blobs).compile_seconds > 0
    assert evaluate(RowsOnly(paper_tree()), blobs).compile_seconds == 0
    assert evaluate(paper_tree(), blobs).compile_seconds > 0


def test_the_shape_of_the_tree_is_read_after_every_task(blobs):
    model, trees = paper_tree(grace_period=20, tie_threshold=0.9), []

    def look(rows, *_):
        if rows in blobs.boundaries:
            trees.append((model.depth_, model.leaf_impurity_, model.classes_per_leaf_))

    result = evaluate(model, blobs, progress=look)
    kept = zip(result.depth, result.leaf_impurity, result.classes_per_leaf, strict=True)
    assert list(kept) == trees
    assert trees[-1][0] > 0
    without = evaluate(NCM(), blobs)
    assert without.depth.tolist() == [0, 0, 0]
    assert np.isnan(without.leaf_impurity).all()
    assert np.isnan(without.classes_per_leaf).all()


def test_a_first_task_without_held_out_rows():
    X = np.arange(21.0)[:, None]
    stream = ClassIncrementalStream(X, np.repeat(["a", "b", "c"], [1, 10, 10]), classes_per_task=1)
    model = Echo()
    result = evaluate(model, stream)
    assert all(len(rows) for rows in model.tests)
    assert np.isnan(result.recall[:, 0]).all()
    assert np.isnan(result.seen_accuracy[0])
    assert result.seen_accuracy[1:].tolist() == [1.0, 0.5]
    assert result.recall[-1, 1:].tolist() == [0.0, 1.0]
    assert result.anytime_accuracy == 0.75
    assert result.mean_class_recall == 0.5
    json.dumps(result.to_dict(), allow_nan=False)


def test_strings_as_labels_change_nothing(blobs):
    names = np.array(["ant", "bee", "cat", "dog", "eel", "fox"])
    tables = [(task.X_train, task.y_train, task.X_test, task.y_test) for task in blobs]
    X = np.concatenate([rows for table in tables for rows in table[::2]])
    y = np.concatenate([labels for table in tables for labels in table[1::2]])
    for make in (MistClassifier, NCM, Perceptron):
        for kind in (names[y], names[y].astype(object)):
            numbers, strings = (evaluate(make(), ClassIncrementalStream(X, c)) for c in (y, kind))
            assert strings.classes == tuple(names)
            assert numbers.correct.tolist() == strings.correct.tolist()
            assert np.array_equal(numbers.recall, strings.recall, equal_nan=True)


@pytest.mark.parametrize("make", [MistClassifier, NCM, RowNaiveBayes])
def test_one_class_is_one_task_that_is_always_right(make):
    stream = ClassIncrementalStream(np.random.default_rng(0).normal(size=(20, 2)), ["a"] * 20)
    result = evaluate(make(), stream, tests_per_task=2, learn_apart=0.1)
    assert result.accuracy_matrix.tolist() == [[1.0]]
    assert result.seen_accuracy.tolist() == [1.0, 1.0]
    assert result.correct.tolist() == [False] + [True] * 15
    assert (result.average_forgetting, result.backward_transfer) == (0.0, 0.0)


@pytest.mark.parametrize("scale", [False, True])
def test_missing_values_go_through_to_the_model(scale):
    iris = load_toy("iris")
    X = iris.X.copy()
    X[::5, 0] = np.nan
    stream = ClassIncrementalStream(X, iris.y, classes_per_task=1, scale=scale)
    result = evaluate(paper_tree(), stream)
    assert result.final_accuracy > 0.85


def test_a_model_has_to_predict(blobs):
    class Mute:
        def partial_fit(self, X, y):
            raise AssertionError("nothing is to be learnt")

    with pytest.raises(TypeError, match="Mute has no predict"):
        evaluate(Mute(), blobs)


@pytest.mark.parametrize("where", ["train", "test", "nowhere"])
def test_missing_values_anywhere_are_told_before_the_clock_runs(monkeypatch, where):
    X, y = np.arange(20.0)[:, None], np.repeat([0, 1], 10)
    plain = ClassIncrementalStream(X, y, classes_per_task=1)
    # Of the last task, so that nothing before it gives it away.
    rows = {"train": plain.X_train, "test": list(plain)[-1].X_test, "nowhere": np.empty((0, 1))}
    X[np.isin(X, rows[where][-1:])] = np.nan
    told = []
    monkeypatch.setattr(runner, "warm_up", lambda *_, missing: told.append(missing) or 0.0)
    evaluate(Echo(), ClassIncrementalStream(X, y, classes_per_task=1))
    assert told == [where != "nowhere"]


def test_changes_of_the_run_count_from_its_first_row():
    class Changing(NCM):
        """A model that finds a change every fifty rows."""

        n_rows_ = 0

        def prequential(self, X, y):
            self.n_rows_ += len(y)
            return super().prequential(X, y)

        @property
        def changes_(self):
            return [Change(row, "class moved", 0, None) for row in range(50, self.n_rows_ + 1, 50)]

    model = Changing()
    iris = load_toy("iris")
    stream = ClassIncrementalStream(iris.X, iris.y, classes_per_task=1)
    first, second = evaluate(model, stream), evaluate(model, stream)
    done = stream.n_rows
    assert [change.row for change in first.changes] == list(range(50, done + 1, 50))
    rows = [row - done for row in range(50, 2 * done + 1, 50) if row > done]
    assert [change.row for change in second.changes] == rows
    assert evaluate(NCM(), stream).changes == ()
