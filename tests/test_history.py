import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mist.streaming.runs.history import Answers, Curve

parts = st.lists(st.lists(st.booleans(), max_size=9), max_size=12)


@given(parts, st.integers(2, 9), st.integers(0, 12))
def test_answers_are_means_of_blocks_whatever_the_parts(parts, most, stop):
    rows = np.array([row for part in parts for row in part], dtype=float)
    answers = Answers(most=most)
    for i, part in enumerate(parts):
        if i == stop:
            answers = Answers(**answers.state(), most=most)
        answers.add(np.array(part, dtype=bool))
    size = answers.rows_each
    expected = [rows[i : i + size].mean() for i in range(0, len(rows), size)]
    np.testing.assert_allclose(answers.shares(), expected, rtol=1e-6)
    assert len(answers.shares()) <= most + 1
    # Blocks are no larger than they have to be.
    assert size == 1 or len(rows) > most * size // 2


def test_a_short_stream_has_its_rows_one_by_one():
    answers = Answers()
    for part in ([True], [], [False, True]):
        answers.add(np.array(part, dtype=bool))
    assert answers.shares().dtype == bool
    assert answers.shares().tolist() == [True, False, True]


@given(
    st.lists(st.integers(1, 700), min_size=1, max_size=60), st.integers(2, 9), st.integers(0, 60)
)
def test_a_curve_stays_bounded_and_ends_at_its_end(steps, most, stop):
    rows = np.cumsum(steps)
    curve, other = Curve(most=most), Curve(most=most)
    for i, row in enumerate(rows.tolist()):
        if i == stop:
            other = Curve(**other.state(), most=most)
        curve.add(row, -row)
        other.add(row, -row)
    kept, values = curve.points()
    assert kept[-1] == rows[-1]
    assert np.array_equal(values, -kept)
    assert set(kept) <= set(rows)
    assert np.all(np.diff(kept) > 0)
    assert len(kept) <= most + 1
    np.testing.assert_array_equal(other.points(), curve.points())
    if len(rows) <= most:
        assert np.array_equal(kept, rows)
