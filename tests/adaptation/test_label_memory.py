"""What is known of the next label from the labels before it, against its twin."""

import numpy as np
import pytest

from mist.adaptation import label_memory
from naive_adaptation import FLOOR, NaiveLabels


def learnt(codes, weights, n_codes):
    labels = label_memory.reserve_codes(label_memory.new_label_memory(), n_codes)
    for code, w in zip(codes, weights, strict=True):
        label_memory.learn(labels, int(code), float(w))
    return labels


def priors(labels, n):
    out = np.empty((4, n))
    label_memory.write_priors(labels, n, FLOOR, out)
    return out


@pytest.mark.parametrize("seed", range(5))
def test_priors(seed):
    rng = np.random.default_rng(seed)
    n = [1, 2, 30, 150, 400][seed]
    codes = rng.choice(4, n, p=[0.7, 0.1, 0.1, 0.1])
    codes[codes == 2] = 0  # a code without rows
    weights = rng.choice([0.5, 1.0, 2.0], n)
    naive = NaiveLabels()
    naive.seen = list(zip(codes.tolist(), weights.tolist(), strict=True))
    found = priors(learnt(codes, weights, 5), 5)
    np.testing.assert_allclose(found, naive.priors(5), rtol=1e-9)
    shares = np.exp(found[:3])
    assert (shares.sum(axis=1) < 1.001).all()


def test_before_the_first_row():
    found = priors(learnt([], [], 3), 3)
    assert (found[:3] == FLOOR).all()
    assert (found[3] == -1.0).all()


def test_labels_that_alternate():
    found = priors(learnt([0, 1] * 50, np.ones(100), 3), 3)
    assert found[2].argmax() == 0
    assert found[2, 0] - found[2, 1] > 2.0
    assert found[3].argmax() == 1


def test_many_classes_do_not_depend_on_when_they_are_reserved():
    rng = np.random.default_rng(0)
    n = label_memory.MOST_PAIRED_CLASSES + 40
    codes = np.concatenate([np.arange(n), rng.integers(n, size=200), [3, 4, 3]])
    at_once = learnt(codes, np.ones(len(codes)), n)
    labels = label_memory.new_label_memory()
    for i, code in enumerate(codes):
        labels = label_memory.reserve_codes(labels, int(codes[: i + 1].max()) + 1)
        label_memory.learn(labels, int(code), 1.0)
    for mine, theirs in zip(labels, at_once, strict=True):
        assert np.array_equal(mine, theirs)
    assert priors(labels, n)[2].argmax() == 4


def test_merging_adds_counts():
    mine, theirs = learnt([0, 0, 1], np.ones(3), 3), learnt([0, 1, 1], [1.0, 2.0, 1.0], 2)
    recent = mine.recent.copy()
    label_memory.merge(mine, theirs, np.array([2, 0]))
    assert mine.count.tolist() == [5.0, 1.0, 1.0]
    assert np.array_equal(mine.recent, recent)
    assert mine.last[0] == 1
