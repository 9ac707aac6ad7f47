import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

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
        ([[0.0]] * 4, [0, 0, 1], {}, "X has 4 rows, y has 3 labels"),
        (np.empty((0, 2)), [], {}, "at least one class"),
        ([0.0, 1.0], [0, 0], {}, r"table of rows and columns, got shape \(2,\)"),
        ([["red"], ["blue"]], [0, 0], {}, "encode text columns"),
        ([[0.0], [1.0]], [[0], [0]], {}, r"one label per row, got shape \(2, 1\)"),
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


def test_features_must_be_finite():
    X, y = numbered([10, 10])
    with pytest.raises(ValueError, match=r"infinity in row 3, column 0.*NaN for a missing value"):
        ClassIncrementalStream(np.where(X == 3, -np.inf, X), y)


def test_text_and_numbers_do_not_mix_as_labels():
    X, _ = numbered([10])
    with pytest.raises(ValueError, match="y mixes text labels with numbers"):
        ClassIncrementalStream(X, np.array([1, "a"] * 5, dtype=object))


@settings(deadline=None)
@given(st.lists(st.integers(5, 8), min_size=1, max_size=9), st.data())
def test_so_many_tasks_as_asked_for(counts, data):
    n_classes = len(counts)
    n_tasks = data.draw(st.integers(1, n_classes))
    table = numbered(counts)
    stream = ClassIncrementalStream(*table, n_tasks=n_tasks, test_size=0.3)
    per_task = n_classes // n_tasks
    sizes = [len(task.classes) for task in stream]
    assert sizes == [per_task] * (n_tasks - 1) + [n_classes - per_task * (n_tasks - 1)]
    assert sum((task.classes for task in stream), ()) == stream.classes == tuple(range(n_classes))

    kept = per_task * n_tasks
    paper = ClassIncrementalStream(*table, n_tasks=n_tasks, test_size=0.3, protocol="paper")
    assert [len(task.classes) for task in paper] == [per_task] * n_tasks
    assert paper.classes == tuple(range(kept))
    # Dropped before the split: as if the other classes had never been there.
    alone = ClassIncrementalStream(*numbered(counts[:kept]), n_tasks=n_tasks, test_size=0.3)
    assert np.array_equal(paper.X_train, alone.X_train)
    for task, same in zip(paper, alone, strict=True):
        assert np.array_equal(task.X_test, same.X_test)


def test_letters_in_ten_tasks():
    X, y = numbered([10] * 26)
    letters = np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))[y]
    honest = ClassIncrementalStream(X, letters, n_tasks=10)
    assert [len(task.classes) for task in honest] == [2] * 9 + [8]
    paper = ClassIncrementalStream(X, letters, n_tasks=10, protocol="paper")
    assert paper.classes == tuple("ABCDEFGHIJKLMNOPQRST")
    assert [task.classes for task in paper][-1] == ("S", "T")
    assert max(rows_of(paper.X_train)) < 200


def test_the_paper_scales_by_all_rows_kept():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(7), 20)
    X = rng.normal(5, 3, (140, 2)) + 10 * y[:, None]
    X[5, 1] = np.nan
    paper = ClassIncrementalStream(X, y, protocol="paper", scale=True)
    assert paper.classes == tuple(range(6))
    alone = ClassIncrementalStream(StandardScaler().fit_transform(X[y < 6]), y[y < 6])
    assert paper.X_train == pytest.approx(alone.X_train, nan_ok=True)
    for task, same in zip(paper, alone, strict=True):
        assert task.X_test == pytest.approx(same.X_test, nan_ok=True)


def test_classes_arrive_as_listed():
    X, y = numbered([10] * 5)
    listed = [3, 0, 4, 1, 2]
    stream = ClassIncrementalStream(X, y, classes_per_task=2, class_order=listed)
    assert [task.classes for task in stream] == [(0, 3), (1, 2, 4)]
    assert stream.classes == (0, 1, 2, 3, 4)
    one_by_one = ClassIncrementalStream(X, y, classes_per_task=1, class_order=np.array(listed))
    assert [task.classes for task in one_by_one] == [(label,) for label in listed]
    assert one_by_one.y_train[np.r_[0, one_by_one.boundaries[:-1]]].tolist() == listed
    paper = ClassIncrementalStream(X, y, n_tasks=2, class_order=listed, protocol="paper")
    assert [task.classes for task in paper] == [(0, 3), (1, 4)]
    assert paper.classes == (0, 1, 3, 4)


@settings(deadline=None)
@given(st.permutations(list("abcde")), st.integers(1, 3))
def test_any_order_of_string_labels(listed, classes_per_task):
    X, y = numbered([6] * 5)
    names = np.array(list("abcde"))[y].astype(object)
    options = {"classes_per_task": classes_per_task, "test_size": 0.3}
    stream = ClassIncrementalStream(X, names, class_order=listed, **options)
    starts = range(0, len(stream) * classes_per_task, classes_per_task)
    ends = [*list(starts)[1:], 5]
    assert [task.classes for task in stream] == [
        tuple(sorted(listed[start:end])) for start, end in zip(starts, ends, strict=True)
    ]
    for task in stream:
        assert set(task.y_train) == set(task.y_test) == set(task.classes)
    in_label_order = ClassIncrementalStream(X, names, **options)
    assert sorted(rows_of(stream.X_train)) == sorted(rows_of(in_label_order.X_train))
    if listed == sorted(listed):
        assert np.array_equal(stream.X_train, in_label_order.X_train)


def test_a_random_order_comes_from_the_seed():
    X, y = numbered([5] * 10)

    def order(seed):
        stream = ClassIncrementalStream(X, y, classes_per_task=1, class_order="random", seed=seed)
        return [task.classes[0] for task in stream]

    orders = [order(seed) for seed in range(10)]
    assert orders == [order(seed) for seed in range(10)]
    assert all(sorted(drawn) == list(range(10)) for drawn in orders)
    assert len(set(map(tuple, orders))) == 10
    assert len({drawn[0] for drawn in orders}) > 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_tasks": 2.5}, "n_tasks=2.5 must be a whole number"),
        ({"n_tasks": True}, "n_tasks=True must be a whole number"),
        ({"classes_per_task": 1.5}, "classes_per_task=1.5 must be a whole number"),
        ({"classes_per_task": True}, "classes_per_task=True must be a whole number"),
        ({"classes_per_task": "2"}, "classes_per_task='2' must be a whole number"),
        ({"seed": -1}, "seed=-1 must be a whole number from 0 to 4294967295"),
        ({"seed": 2**32}, "seed=4294967296 must be a whole number from 0 to 4294967295"),
        ({"seed": 1.0}, "seed=1.0 must be a whole number"),
        ({"seed": False}, "seed=False must be a whole number"),
        ({"seed": None}, "seed=None must be a whole number"),
        ({"class_order": 3}, "class_order=3 must be 'label', 'random' or all the labels"),
        ({"class_order": None}, "class_order=None must be 'label', 'random' or all the labels"),
        ({"class_order": np.array(3)}, r"class_order=array\(3\) must be 'label', 'random' or all"),
        ({"class_order": "size"}, "class_order='size' must be 'label', 'random' or all the labels"),
        ({"class_order": np.array([0, 1, 2, 7])}, "class_order has 7, which is not a label of y"),
        ({"class_order": ["0", "1", "2"]}, "class_order has '0', which is not a label of y"),
        ({"class_order": [0, 1, 2, 1]}, "class_order has 1 twice"),
        ({"class_order": [2, 1]}, "class_order lacks the label 0"),
        ({"n_tasks": 0}, "n_tasks=0 must be between 1 and the 3 classes"),
        ({"n_tasks": 4}, "n_tasks=4 must be between 1 and the 3 classes"),
        ({"n_tasks": 1, "classes_per_task": 2}, "classes_per_task=2 and n_tasks=1 both"),
        ({"protocol": "fair"}, "protocol='fair' must be one of honest, paper"),
        ({"blur": -0.1}, "blur=-0.1 must be 0"),
        ({"blur": np.nan}, "blur=nan must be 0"),
        ({"blur": np.inf}, "blur=inf must be 0"),
    ],
)
def test_bad_options_are_refused_in_plain_words(options, message):
    with pytest.raises(ValueError, match=message):
        ClassIncrementalStream(*numbered([10, 10, 10]), **options)


def test_numpy_numbers_count_as_well():
    table = numbered([10, 10, 10])
    plain = ClassIncrementalStream(*table, n_tasks=3, seed=2**32 - 1)
    numpy = ClassIncrementalStream(*table, n_tasks=np.int8(3), seed=np.uint32(2**32 - 1))
    assert [task.classes for task in numpy] == [task.classes for task in plain]
    assert np.array_equal(numpy.X_train, plain.X_train)


def places(stream):
    """Where each row of a numbered table stands in the stream."""
    return {row: place for place, row in enumerate(rows_of(stream.X_train))}


@settings(deadline=None)
@given(
    st.lists(st.integers(5, 40), min_size=1, max_size=6),
    st.sampled_from([0.0, 1e-9, 0.1, 0.5, 1.0, 4.0]),
    st.integers(0, 1000),
)
def test_blur_moves_rows_so_far_and_loses_none(counts, blur, seed):
    options = {"classes_per_task": 1, "test_size": 0.3, "seed": seed}
    sharp = ClassIncrementalStream(*numbered(counts), **options)
    stream = ClassIncrementalStream(*numbered(counts), blur=blur, **options)
    before, after = places(sharp), places(stream)
    assert before.keys() == after.keys()
    # A row moves by up to blur / 2, and its neighbours towards it by as much.
    farthest = blur * np.diff(sharp.boundaries, prepend=0).max()
    assert all(abs(after[row] - place) <= farthest for row, place in before.items())
    if blur < 1e-6:
        assert before == after
    assert np.array_equal(stream.boundaries, sharp.boundaries)
    ends = stream.boundaries.tolist()
    for task, same, start, end in zip(stream, sharp, [0, *ends], ends, strict=False):
        assert task.classes == same.classes
        assert np.array_equal(task.X_test, same.X_test)
        assert np.array_equal(task.X_train, stream.X_train[start:end])
        assert np.array_equal(task.y_train, stream.y_train[start:end])
    labels = dict(zip(rows_of(sharp.X_train), sharp.y_train.tolist(), strict=True))
    assert stream.y_train.tolist() == [labels[row] for row in rows_of(stream.X_train)]
    again = ClassIncrementalStream(*numbered(counts), blur=blur, **options)
    assert np.array_equal(stream.X_train, again.X_train)


@pytest.mark.parametrize(("blur", "early"), [(0.2, 40), (1.0, 200)])
def test_a_blurred_border_is_crossed_by_an_eighth_of_its_width(blur, early):
    # Shifts are uniform up to R rows: of the rows x behind the border, (R - x) / 2R get before it,
    # in all R / 4, and R is half of the width.
    stream = ClassIncrementalStream(*numbered([2000, 2000]), classes_per_task=1, blur=blur)
    first, second = stream
    assert (first.y_train == 1).sum() == pytest.approx(early, rel=0.25)
    assert (second.y_train == 0).sum() == (first.y_train == 1).sum()


def test_other_seeds_blur_otherwise():
    one, other = (
        ClassIncrementalStream(*numbered([50, 50]), classes_per_task=1, blur=0.5, seed=seed)
        for seed in (1, 2)
    )
    assert one.y_train.tolist() != other.y_train.tolist()
