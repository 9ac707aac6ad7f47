import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import recall_score

import naive_metrics as naive
from mist.evaluation import (
    anytime_accuracy,
    average_forgetting,
    backward_transfer,
    class_recall,
    fading_accuracy,
    final_accuracy,
    prequential_accuracy,
    seen_accuracy,
    windowed_accuracy,
)

nan = float("nan")

HITS = st.lists(st.booleans(), min_size=1, max_size=60)


@st.composite
def accuracy_matrices(draw, holes=True):
    """Square matrices with anything above the diagonal; with holes, whole columns may be NaN."""
    n_tasks = draw(st.integers(1, 6))
    matrix = np.array(
        draw(st.lists(st.floats(0, 1), min_size=n_tasks**2, max_size=n_tasks**2))
    ).reshape(n_tasks, n_tasks)
    matrix[np.triu_indices(n_tasks, 1)] = draw(st.sampled_from([nan, 0.0, 1.0]))
    if holes:
        for task in draw(st.sets(st.integers(0, n_tasks - 1))):
            matrix[task:, task] = nan
    return matrix


@pytest.mark.parametrize("above", [nan, 0.0])
def test_forgetting_of_a_known_matrix_whatever_stands_above_the_diagonal(above):
    matrix = [[0.9, above, above], [0.6, 0.8, above], [0.5, 0.7, 0.95]]
    assert average_forgetting(matrix) == pytest.approx(0.25)
    assert backward_transfer(matrix) == pytest.approx(-0.25)
    assert final_accuracy(matrix) == pytest.approx((0.5 + 0.7 + 0.95) / 3)


def test_forgetting_starts_from_the_best_accuracy_not_the_first():
    matrix = [[0.5, nan, nan], [0.9, 0.8, nan], [0.6, 0.8, 1.0]]
    assert average_forgetting(matrix) == pytest.approx(0.15)
    assert backward_transfer(matrix) == pytest.approx(0.05)


def test_improvement_on_the_last_step_is_negative_forgetting():
    assert average_forgetting([[0.5, nan], [0.7, 0.9]]) == pytest.approx(-0.2)


def test_a_single_task_forgets_nothing():
    assert average_forgetting([[0.4]]) == 0.0
    assert backward_transfer([[0.4]]) == 0.0
    assert final_accuracy([[0.4]]) == 0.4


def test_a_task_without_held_out_rows_is_left_out():
    matrix = [[nan, nan, nan], [nan, 0.8, nan], [nan, 0.6, 1.0]]
    assert average_forgetting(matrix) == pytest.approx(0.2)
    assert backward_transfer(matrix) == pytest.approx(-0.2)
    assert final_accuracy(matrix) == pytest.approx(0.8)


@given(accuracy_matrices())
def test_matrix_metrics_equal_their_twins(matrix):
    for ours, twin in [
        (final_accuracy, naive.final_accuracy),
        (average_forgetting, naive.average_forgetting),
        (backward_transfer, naive.backward_transfer),
    ]:
        assert ours(matrix) == pytest.approx(twin(matrix.tolist()), nan_ok=True)


@given(accuracy_matrices(holes=False))
def test_forgetting_is_at_least_minus_backward_transfer(matrix):
    assert average_forgetting(matrix) >= -backward_transfer(matrix) - 1e-12


# -- the definitions of other programs ---------------------------------------------------------


@st.composite
def triangles(draw):
    """Accuracy matrices of at least two tasks, every task above 0 when it was learnt."""
    n = draw(st.integers(2, 6))
    values = draw(st.lists(st.floats(0.01, 1), min_size=n * n, max_size=n * n))
    return np.tril(np.reshape(values, (n, n)))


def test_forgetting_of_avalanches_own_test_is_minus_backward_transfer():
    # Avalanche: first minus last, [0.8, -0.2, 0.0] of this matrix. Ours: the best before the last
    # step, which is also the first here.
    matrix = [[1.0, 0.0, 0.0], [0.5, 0.8, 1.0], [0.2, 1.0, 0.5]]
    assert naive.forgetting_from_first(matrix) == pytest.approx([0.8, -0.2, 0.0])
    assert backward_transfer(matrix) == pytest.approx(-(0.8 - 0.2) / 2)
    assert average_forgetting(matrix) == pytest.approx((0.8 - 0.2) / 2)


@given(triangles())
def test_avalanches_forgetting_is_minus_backward_transfer(matrix):
    # First minus last, where `average_forgetting` takes the best before the last step; equal if
    # no task was ever better before the last step than when it was learnt.
    first = np.mean(naive.forgetting_from_first(matrix)[:-1])
    assert backward_transfer(matrix) == pytest.approx(-first)
    assert average_forgetting(matrix) >= first - 1e-12
    falling = np.minimum.accumulate(np.where(matrix == 0, np.inf, matrix), axis=0)
    falling[-1] = matrix[-1]
    falling[~np.isfinite(falling)] = 0.0
    first = np.mean(naive.forgetting_from_first(falling)[:-1])
    assert average_forgetting(falling) == pytest.approx(first)


@given(triangles())
def test_capymoas_backward_transfer_is_the_mean_of_ours_over_the_steps(matrix):
    # Ours reads the last row only; theirs all rows, so that row i, of i pairs, weighs i times.
    # With two tasks both are one number.
    steps = range(2, len(matrix) + 1)
    ours = [backward_transfer(matrix[:step, :step]) for step in steps]
    expected = np.average(ours, weights=[step - 1 for step in steps])
    assert naive.backward_transfer_of_all_steps(matrix) == pytest.approx(expected)


@given(triangles())
def test_capymoas_accuracies_are_ours(matrix):
    # Every task has as many held-out rows there, so the mean over tasks is that over rows.
    seen = seen_accuracy(np.where(np.tri(len(matrix)), matrix, nan), np.full(len(matrix), 7))
    assert anytime_accuracy(seen) == pytest.approx(naive.mean_seen_accuracy(matrix))
    assert final_accuracy(matrix) == pytest.approx(seen[-1])


@given(triangles())
def test_forgetting_from_the_best_leaves_out_the_last_step(matrix):
    assert average_forgetting(matrix) == pytest.approx(naive.forgetting_from_best(matrix))


@pytest.mark.parametrize("metric", [final_accuracy, average_forgetting, backward_transfer])
@pytest.mark.parametrize("matrix", [[[0.5, 0.5]], [0.5], np.empty((0, 0))])
def test_a_matrix_that_is_not_square_is_refused(metric, matrix):
    with pytest.raises(ValueError, match="must be square"):
        metric(matrix)


@given(HITS, st.integers(1, 80))
def test_windowed_accuracy_equals_its_twin(correct, window):
    assert windowed_accuracy(correct, window) == pytest.approx(
        naive.windowed_accuracy(correct, window)
    )


@given(HITS, st.floats(0.01, 1))
def test_fading_accuracy_equals_its_twin(correct, factor):
    assert fading_accuracy(correct, factor) == pytest.approx(naive.fading_accuracy(correct, factor))


@given(HITS)
def test_a_wide_window_and_factor_one_are_the_cumulative_curve(correct):
    overall = prequential_accuracy(correct)
    assert overall == pytest.approx(naive.prequential_accuracy(correct))
    wide = windowed_accuracy(correct, len(correct))
    assert wide[-1] == pytest.approx(overall)
    assert fading_accuracy(correct, 1.0) == pytest.approx(wide)


def test_fading_accuracy_survives_a_long_stream():
    assert fading_accuracy([True] * 100_000, 0.5) == pytest.approx(np.ones(100_000))


@pytest.mark.parametrize("correct", [[], [[True]], True])
def test_hits_must_be_one_value_a_row(correct):
    for metric in (
        prequential_accuracy,
        lambda hits: windowed_accuracy(hits, 2),
        lambda hits: fading_accuracy(hits, 0.9),
    ):
        with pytest.raises(ValueError, match="one value per row"):
            metric(correct)


@pytest.mark.parametrize("window", [0, -3])
def test_a_window_has_at_least_one_row(window):
    with pytest.raises(ValueError, match=f"window={window}"):
        windowed_accuracy([True], window)


@pytest.mark.parametrize("factor", [0, -0.5, 1.01, nan])
def test_a_fading_factor_lies_between_0_and_1(factor):
    with pytest.raises(ValueError, match="factor="):
        fading_accuracy([True], factor)


LABELS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abcd")), min_size=1)


@given(LABELS)
def test_class_recall_equals_its_twin_and_scikit_learn(pairs):
    y_true, y_pred = map(list, zip(*pairs, strict=True))
    classes, recall = class_recall(y_true, y_pred)
    expected = naive.class_recall(y_true, y_pred)
    assert classes.tolist() == list(expected)
    assert recall == pytest.approx(list(expected.values()))
    reference = recall_score(y_true, y_pred, labels=classes, average=None, zero_division=0)
    assert recall == pytest.approx(reference)


def test_class_recall_needs_equally_many_labels():
    with pytest.raises(ValueError, match=r"\(2,\) and \(1,\)"):
        class_recall([0, 1], [0])


# -- classes seen so far -----------------------------------------------------------------------


@st.composite
def recalls(draw):
    """Recalls of classes that arrive one after the other, and their held-out rows."""
    n_evaluations, n_classes = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    values = st.lists(st.floats(0, 1), min_size=n_classes, max_size=n_classes)
    recall = np.array(draw(st.lists(values, min_size=n_evaluations, max_size=n_evaluations)))
    for column in range(n_classes):
        recall[: draw(st.integers(0, n_evaluations)), column] = nan
    rows = draw(st.lists(st.integers(0, 500), min_size=n_classes, max_size=n_classes))
    return recall, rows


@given(recalls())
def test_seen_accuracy_equals_its_twin(drawn):
    recall, rows = drawn
    seen = seen_accuracy(recall, rows)
    assert seen.shape == (len(recall),)
    assert seen == pytest.approx(naive.seen_accuracy(recall.tolist(), rows), nan_ok=True)
    assert anytime_accuracy(seen) == pytest.approx(
        naive.anytime_accuracy(seen.tolist()), nan_ok=True
    )


@given(LABELS)
def test_seen_accuracy_is_the_share_of_held_out_rows_answered_right(pairs):
    y_true, y_pred = map(np.array, zip(*pairs, strict=True))
    _, recall = class_recall(y_true, y_pred)
    _, rows = np.unique(y_true, return_counts=True)
    assert seen_accuracy([recall], rows) == pytest.approx([np.mean(y_true == y_pred)])


def test_seen_accuracy_counts_rows_not_classes_and_only_those_seen():
    recall = [[nan, nan, nan], [0.5, nan, nan], [0.5, 1.0, nan], [0.5, nan, 0.0]]
    assert seen_accuracy(recall, [30, 10, 60]) == pytest.approx(
        [nan, 0.5, 0.625, 15 / 90], nan_ok=True
    )
    assert seen_accuracy([[0.25, 1.0]], [0, 0]) == pytest.approx([nan], nan_ok=True)


def test_anytime_accuracy_leaves_out_evaluations_without_held_out_rows():
    assert anytime_accuracy([nan, 0.5, 1.0]) == 0.75
    assert np.isnan(anytime_accuracy([nan]))


@pytest.mark.parametrize(
    ("recall", "rows", "message"),
    [
        ([0.5, 0.5], [1, 1], "recall must have a row"),
        (np.empty((0, 2)), [1, 1], "recall must have a row"),
        ([[0.5, 0.5]], [1], r"each of the 2 classes in recall, got shape \(1,\)"),
        ([[0.5, 0.5]], [[1, 1]], r"got shape \(1, 2\)"),
        ([[0.5, 0.5]], [1, -1], "0 or more"),
        ([[0.5, 0.5]], [1, nan], "0 or more"),
    ],
)
def test_seen_accuracy_refuses_what_does_not_fit(recall, rows, message):
    with pytest.raises(ValueError, match=message):
        seen_accuracy(recall, rows)


@pytest.mark.parametrize("seen", [[], [[0.5]], 0.5])
def test_anytime_accuracy_needs_one_value_an_evaluation(seen):
    with pytest.raises(ValueError, match="one value per evaluation"):
        anytime_accuracy(seen)
