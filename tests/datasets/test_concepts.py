import numpy as np
import pytest

from mist.datasets import make_agrawal, make_led, make_mixed, make_stagger

GENERATORS = [make_agrawal, make_led, make_mixed, make_stagger]


@pytest.mark.parametrize("make", GENERATORS)
def test_streams_are_tables_and_the_seed_decides_everything(make):
    stream, again, other = (make(n_samples=601, seed=seed) for seed in (3, 3, 4))
    assert stream.X.shape == (601, len(stream.categorical))
    assert (stream.X.dtype, stream.y.dtype) == (np.float64, np.int64)
    assert np.isin(stream.X[:, stream.categorical], (0, 1)).all()
    assert np.array_equal(stream.X, again.X)
    assert np.array_equal(stream.y, again.y)
    assert not np.array_equal(stream.X, other.X)
    with pytest.raises(ValueError, match="n_samples=2 is too few"):
        make(n_samples=2)


def loan_group(number, salary, commission, age, level, loan):
    """Whether an applicant is of group A by a function of the publication, case by case."""
    young, old = age < 40, age >= 60
    if number == 1:
        return young or old
    if number == 7:
        return 2 / 3 * (salary + commission) - loan / 5 - 20_000 > 0
    levels = (0, 1) if young else (2, 3, 4) if old else (1, 2, 3)
    if number == 3:
        return level in levels
    if young:
        low, high = (25_000, 75_000) if level in levels else (50_000, 100_000)
    elif old:
        low, high = (50_000, 100_000) if level in levels else (25_000, 75_000)
    else:
        low, high = (50_000, 100_000) if level in levels else (75_000, 125_000)
    return low <= salary <= high


def test_agrawal_follows_its_functions():
    stream = make_agrawal(8000, perturbation=0, seed=1)
    assert stream.drifts.tolist() == [2000, 4000, 6000]
    for row, (salary, commission, age, level, *_, loan) in enumerate(stream.X.tolist()):
        number = (1, 4, 7, 3)[row // 2000]
        assert stream.y[row] == (not loan_group(number, salary, commission, age, level, loan))
    _, commission, age, level, car, zipcode, value, years, _ = stream.X.T
    assert ((commission == 0) == (stream.X[:, 0] >= 75_000)).all()
    for column, low, high in ((age, 20, 80), (level, 0, 4), (car, 1, 20), (zipcode, 0, 8)):
        assert np.unique(column).tolist() == list(range(low, high + 1))
    assert np.unique(years).tolist() == list(range(1, 31))
    share = value / (100_000 * (9 - zipcode))
    assert (share.min(), share.max()) == pytest.approx((0.5, 1.5), abs=0.01)


def test_perturbed_numbers_stay_near_and_in_range_with_the_same_labels():
    exact, moved = (make_agrawal(4000, perturbation=share, seed=1) for share in (0, 0.05))
    assert np.array_equal(exact.y, moved.y)
    change = np.abs(moved.X - exact.X)
    assert (change[:, 3:6] == 0).all()
    assert change[:, 0].max() == pytest.approx(0.05 * 130_000, rel=0.02)
    assert change[:, 8].max() == pytest.approx(0.05 * 500_000, rel=0.02)
    assert (moved.X[exact.X[:, 1] == 0, 1] == 0).all()
    assert (moved.X.min(axis=0)[[0, 2, 7]] >= (20_000, 20, 1)).all()


def test_the_display_shows_digits_that_move():
    stream = make_led(4000, noise=0, width=0.01, seed=1)
    # The digit 4 has the upper left, upper right, middle and lower right segments.
    four, seven = (stream.X[:1000][stream.y[:1000] == digit, :7] for digit in (4, 7))
    assert (four == [0, 1, 1, 1, 0, 1, 0]).all()
    assert (seven == [1, 0, 1, 0, 0, 1, 0]).all()
    shown = {digit: stream.X[:1000][stream.y[:1000] == digit, :7][0] for digit in range(10)}
    assert len({tuple(segments) for segments in shown.values()}) == 10
    for block, n_moved in enumerate((0, 3, 5, 7)):
        for row in range(block * 1000 + 1, (block + 1) * 1000):
            x, lit = stream.X[row], shown[stream.y[row]]
            assert np.array_equal(x[7 : 7 + n_moved], lit[:n_moved])
            assert np.array_equal(x[n_moved:7], lit[n_moved:])


def test_the_display_has_the_noise_and_the_width_asked_for():
    clean, noisy = (make_led(20_000, noise=share, width=1e-3, seed=2) for share in (0, 0.1))
    assert np.mean(clean.X[:5000, :7] != noisy.X[:5000, :7]) == pytest.approx(0.1, abs=0.01)
    assert np.bincount(clean.y, minlength=10) / 20_000 == pytest.approx(np.full(10, 0.1), abs=0.01)
    # Only with moved segments are the last of the seven sometimes unlike the digit.
    slow = make_led(20_000, noise=0, width=2000, seed=2)
    unlike = (slow.X[:, :7] != clean.X[:, :7]).any(axis=1) & (np.arange(20_000) < 7500)
    assert np.flatnonzero(unlike).min() < 4500
    assert np.flatnonzero(unlike).max() > 5500
    with pytest.raises(ValueError, match="width=0"):
        make_led(10, width=0)


def test_stagger_rules_take_turns():
    stream = make_stagger(1200, seed=1)
    assert stream.drifts.tolist() == [200, 400, 600, 800, 1000]
    small, medium, large, red, green, _, _, circular, _ = (stream.X == 1).T
    rules = (small & red, green | circular, medium | large)
    for block in range(6):
        rows = slice(200 * block, 200 * (block + 1))
        assert np.array_equal(stream.y[rows], rules[block % 3][rows])
    assert (stream.X.reshape(-1, 3, 3).sum(axis=2) == 1).all()
    assert stream.categorical.all()


def test_mixed_exchanges_its_labels():
    stream = make_mixed(1200, seed=1)
    assert stream.drifts.tolist() == [200, 400, 600, 800, 1000]
    for row, (v, w, a, b) in enumerate(stream.X.tolist()):
        positive = sum([v == 1, w == 1, b < 0.5 + 0.3 * np.sin(3 * np.pi * a)]) >= 2
        assert stream.y[row] == (positive if row // 200 % 2 == 0 else not positive)
