import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split

from mist.evaluation import ClassIncrementalStream


def numbered(counts):
    """Rows that hold their own number, classes 0, 1, ... with the given counts, in turn."""
    y = np.repeat(np.arange(len(counts)), counts)
    return np.arange(len(y), dtype=float)[:, None], y


def rows_of(X):
    return X[:, 0].astype(int).tolist()


def test_the_split_is_scikit_learns_stratified_split():
    X, y = numbered([30, 20, 25, 15])
    for seed in (1, 2):
        stream = ClassIncrementalStream(X, y, test_size=0.3, seed=seed)
        train, test = train_test_split(
            np.arange(len(y)), test_size=0.3, random_state=seed, stratify=y
        )
        assert sorted(rows_of(stream.X_train)) == sorted(train)
        held_out = [row for task in stream for row in rows_of(task.X_test)]
        assert sorted(held_out) == sorted(test)


@settings(deadline=None)
@given(
    st.lists(st.integers(5, 12), min_size=1, max_size=9),
    st.integers(1, 4),
    st.integers(0, 2**32 - 1),
)
def test_every_row_is_used_once_and_its_task_holds_its_class(counts, classes_per_task, seed):
    X, y = numbered(counts)
    stream = ClassIncrementalStream(
        X, y, classes_per_task=classes_per_task, test_size=0.3, seed=seed
    )
    used = []
    for task in stream:
        assert set(task.y_train) == set(task.y_test) == set(task.classes)
        for rows, labels in [(task.X_train, task.y_train), (task.X_test, task.y_test)]:
            assert y[rows_of(rows)].tolist() == labels.tolist()
            used += rows_of(rows)
    assert sorted(used) == list(range(len(y)))


@settings(deadline=None)
@given(
    st.lists(st.integers(5, 8), min_size=1, max_size=9),
    st.integers(1, 10),
)
def test_classes_come_in_label_order_and_the_last_task_takes_the_rest(counts, classes_per_task):
    n_classes = len(counts)
    stream = ClassIncrementalStream(
        *numbered(counts), classes_per_task=classes_per_task, test_size=0.3
    )
    sizes = [len(task.classes) for task in stream]
    assert len(stream) == len(sizes) == max(1, n_classes // classes_per_task)
    assert all(size == classes_per_task for size in sizes[:-1])
    assert sum((task.classes for task in stream), ()) == stream.classes == tuple(range(n_classes))


def test_seven_classes_in_twos_end_with_three():
    stream = ClassIncrementalStream(*numbered([6] * 7), test_size=0.3)
    assert [task.classes for task in stream] == [(0, 1), (2, 3), (4, 5, 6)]


def test_the_whole_stream_is_its_tasks_one_after_another():
    stream = ClassIncrementalStream(*numbered([10, 20, 30, 40]))
    assert stream.n_features == 1
    assert stream.n_rows == 80
    assert stream.boundaries.tolist() == [24, 80]
    assert stream.boundaries.dtype == np.int64
    assert np.array_equal(stream.X_train, np.concatenate([task.X_train for task in stream]))
    assert np.array_equal(stream.y_train, np.concatenate([task.y_train for task in stream]))


def test_rows_of_a_task_are_shuffled_with_the_seed():
    X, y = numbered([50, 50])
    first, again, other = (ClassIncrementalStream(X, y, seed=seed) for seed in (42, 42, 7))
    assert np.array_equal(first.X_train, again.X_train)
    assert not np.array_equal(first.X_train, other.X_train)
    labels = first.y_train.tolist()
    assert labels != sorted(labels), "the two classes of a task must be mixed"


def test_tasks_can_be_walked_twice():
    stream = ClassIncrementalStream(*numbered([10, 10, 10, 10]))
    once = [task.X_train.tolist() for task in stream]
    assert once == [task.X_train.tolist() for task in stream]


def test_a_class_with_one_row_goes_to_train():
    X, y = numbered([10, 1, 10, 10])
    for seed in range(5):
        stream = ClassIncrementalStream(X, y, seed=seed)
        assert 10 in rows_of(stream.X_train)
        assert 1 not in {label for task in stream for label in task.y_test.tolist()}


def test_a_task_of_single_rows_has_nothing_held_out():
    stream = ClassIncrementalStream(*numbered([10, 1]), classes_per_task=1)
    assert [len(task.y_test) for task in stream] == [2, 0]


def test_labels_may_be_strings_and_missing_values_stay():
    X, y = numbered([10, 10])
    X[3] = np.nan
    names = np.array(["yes", "no"])[y]
    stream = ClassIncrementalStream(X, names.astype(object), classes_per_task=1)
    assert stream.classes == ("no", "yes")
    everything = np.concatenate([stream.X_train, *(task.X_test for task in stream)])
    assert np.isnan(everything).sum() == 1


def test_data_frames_are_taken():
    pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True, as_frame=True)
    from_frame = ClassIncrementalStream(X, y)
    from_array = ClassIncrementalStream(X.to_numpy(), y.to_numpy())
    assert np.array_equal(from_frame.X_train, from_array.X_train)
    assert np.array_equal(from_frame.y_train, from_array.y_train)


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        ([[0.0]] * 4, [0, 0, 1], {}, "X has 4 rows and y has 3 labels"),
        (np.empty((0, 2)), [], {}, "at least one class"),
        ([0.0, 1.0], [0, 0], {}, r"table of rows and columns, got shape \(2,\)"),
        ([["red"], ["blue"]], [0, 0], {}, "encode text columns"),
        ([[0.0], [1.0]], [[0], [0]], {}, r"one label a row, got shape \(2, 1\)"),
        ([[0.0], [1.0]], [0.0, np.nan], {}, "no label in row 1"),
        ([[0.0], [1.0]], [None, "a"], {}, "no label in row 0"),
        ([[0.0], [1.0]], [0, 1], {}, "every class has a single row"),
        ([[0.0]] * 4, [0, 0, 1, 1], {"classes_per_task": 0}, "classes_per_task=0"),
        ([[0.0]] * 4, [0, 0, 1, 1], {"test_size": 0.0}, "test_size=0.0"),
        ([[0.0]] * 4, [0, 0, 1, 1], {"test_size": 1}, "test_size=1"),
        ([[0.0]] * 4, [0, 0, 1, 1], {"test_size": 0.2}, "test_size=0.2 cannot be stratified over"),
    ],
)
def test_bad_input_is_refused_in_plain_words(X, y, options, message):
    with pytest.raises(ValueError, match=message):
        ClassIncrementalStream(X, y, **options)


def test_a_class_must_keep_a_training_row():
    X, y = numbered([2, 40])
    with pytest.raises(
        ValueError, match=r"test_size=0.9 leaves class .*0.* without a training row"
    ):
        ClassIncrementalStream(X, y, test_size=0.9)
