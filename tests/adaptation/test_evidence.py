"""P-values of scores, and the cumulative sum that raises the alarm, against their twins."""

import numpy as np
import pytest

from mist.adaptation import moved_classes
from mist.engine.conformity import REMEMBERED, Conformity, remember
from naive_adaptation import alarms, p_value


def scores_of(n_classes):
    return Conformity(
        np.zeros(n_classes),
        np.zeros(n_classes),
        np.zeros(n_classes, np.int64),
        np.zeros((n_classes, REMEMBERED)),
        np.zeros((n_classes, REMEMBERED)),
    )


def ties(rng, n):
    return rng.integers(5, size=n).astype(float)


def values(rng, n):
    return rng.normal(size=n)


@pytest.mark.parametrize("draw", [values, ties])
def test_p_value(draw):
    scores, conformity = draw(np.random.default_rng(0), 700).tolist(), scores_of(2)
    for at, score in enumerate(scores):
        remember(conformity, 1, score, 1.0)
        assert moved_classes.p_value(conformity, 1, at) == p_value(scores[: at + 1])


def test_scores_that_keep_their_distribution_have_uniform_p_values():
    rng = np.random.default_rng(1)
    p = [p_value(rng.normal(size=60).tolist()) for _ in range(1000)]
    assert abs(np.mean(p) - 0.5) < 0.03
    assert abs(np.mean(np.array(p) <= 0.1) - 0.1) < 0.03


@pytest.mark.parametrize("seed", range(6))
def test_alarms(seed):
    rng = np.random.default_rng(seed)
    n = 400
    scores = rng.normal(size=(2, n))
    scores[0, 150:170] -= 6.0
    scores[1, 250:] -= rng.uniform(0, 3)
    scores[0, 300::2] -= 9.0  # half of the rows
    conformity, found = scores_of(2), [[], []]
    moved = moved_classes.reserve_codes(moved_classes.new_moved_classes(), 2)
    for at in range(n):
        for code in range(2):
            remember(conformity, code, scores[code, at], 1.0)
        while (code := moved_classes.next_moved(moved, conformity)) >= 0:
            found[code].append(at)
    assert found == [alarms(each.tolist()) for each in scores]
    assert 154 < found[0][0] < 165


def test_reading_many_scores_at_once_changes_nothing():
    rng = np.random.default_rng(3)
    scores = rng.normal(size=300)
    scores[120:140] -= 5.0
    evidence = []
    for period in (1, 7, 50):
        conformity, found = scores_of(1), []
        moved = moved_classes.reserve_codes(moved_classes.new_moved_classes(), 1)
        for at, score in enumerate(scores):
            remember(conformity, 0, score, 1.0)
            if (at + 1) % period == 0:
                while moved_classes.next_moved(moved, conformity) >= 0:
                    found.append(int(moved.read[0]))
        evidence.append((found, moved.evidence.tolist() if 300 % period == 0 else None))
    assert evidence[0][0] == evidence[1][0] == evidence[2][0]
    assert len(evidence[0][0]) > 0
    assert evidence[0][1] == evidence[2][1]


def test_dropped_evidence():
    conformity = scores_of(2)
    moved = moved_classes.reserve_codes(moved_classes.new_moved_classes(), 2)
    rng = np.random.default_rng(4)
    for k in range(100):
        for code in range(2):
            remember(conformity, code, rng.normal() - 9.0 * (k >= 97), 1.0)
    assert moved_classes.next_moved(moved, conformity) == -1
    before = moved.evidence.copy()
    assert (before > 3.0).all()
    remember(conformity, 0, -99.0, 1.0)
    moved_classes.start_over(moved, conformity, 0)
    assert moved.evidence.tolist() == [0.0, before[1]]
    assert moved.read.tolist() == [101, 100]
    moved_classes.start_over(moved, conformity)
    assert moved.evidence.tolist() == [0.0, 0.0]
