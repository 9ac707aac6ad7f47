import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_metrics as naive
from mist.evaluation import kappa_temporal, recovery_rows

HITS = st.lists(st.booleans(), min_size=1, max_size=60)
LABELS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abcd")), min_size=1)


def test_kappa_temporal_is_zero_for_no_change():
    y = [0, 0, 1, 1, 1, 0, 2, 2]
    assert kappa_temporal(y, [-1, *y[:-1]]) == 0
    assert kappa_temporal(y, y) == 1
    # No-change is right on 4 of 8 rows, these predictions on 2.
    assert kappa_temporal(y, [0, 0, 0, 0, 0, 1, 1, 1]) == pytest.approx((2 / 8 - 0.5) / 0.5)
    assert kappa_temporal([0], [0]) == 1


@given(LABELS)
def test_kappa_temporal_equals_its_twin(pairs):
    y_true, y_pred = map(list, zip(*pairs, strict=True))
    assert kappa_temporal(y_true, y_pred) == pytest.approx(naive.kappa_temporal(y_true, y_pred))


def test_kappa_temporal_needs_as_many_labels_as_predictions_and_one_at_least():
    with pytest.raises(ValueError, match=r"\(2,\) and \(1,\)"):
        kappa_temporal([0, 1], [0])
    with pytest.raises(ValueError, match="not be empty"):
        kappa_temporal([], [])


def test_recovery_counts_rows_after_the_drift_only():
    right, wrong = [True], [False]
    hits = 10 * right + 3 * wrong + 17 * right + 2 * wrong + 2 * right + 26 * right
    # Rows 13 and 14 are the first two right ones after row 10; the window before it does not count.
    assert recovery_rows(hits, [10, 30], window=2).tolist() == [5, 4]
    # Four of five are enough where the level may be missed by a fifth.
    assert recovery_rows(hits, [10], window=5, tolerance=0.2).tolist() == [7]
    assert np.isnan(recovery_rows(hits, [10, 30], window=11)).tolist() == [True, False]
    assert recovery_rows(hits, [], window=2).shape == (0,)


@given(HITS, st.sets(st.integers(1, 59)), st.integers(1, 12), st.floats(0, 0.5))
def test_recovery_equals_its_twin(correct, drawn, window, tolerance):
    drifts = sorted(row for row in drawn if row < len(correct))
    rows = recovery_rows(correct, drifts, window, tolerance)
    assert rows == pytest.approx(
        naive.recovery_rows(correct, drifts, window, tolerance), nan_ok=True
    )


@pytest.mark.parametrize("drifts", [[0], [2, 2], [3, 1], [4]])
def test_drifts_are_ascending_rows_of_the_stream(drifts):
    with pytest.raises(ValueError, match="ascending row numbers from 1 to 3"):
        recovery_rows([True] * 4, drifts, window=1)
