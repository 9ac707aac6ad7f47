import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import naive_metrics as naive
from mist.evaluation import mean_classes, weighted_impurity


@st.composite
def leaf_masses(draw):
    """Masses of the classes at some leaves, many of them 0 but not all."""
    n_leaves, n_classes = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    mass = st.one_of(st.just(0.0), st.floats(1e-3, 1e6))
    flat = draw(st.lists(mass, min_size=n_leaves * n_classes, max_size=n_leaves * n_classes))
    masses = np.reshape(flat, (n_leaves, n_classes))
    masses[draw(st.integers(0, n_leaves - 1)), draw(st.integers(0, n_classes - 1))] = 1.5
    return masses


@given(leaf_masses())
def test_impurity_and_classes_equal_their_twins(masses):
    impurity = weighted_impurity(masses)
    assert impurity == pytest.approx(naive.weighted_impurity(masses.tolist()), abs=1e-12)
    assert 0 <= impurity <= 1 - 1 / masses.shape[1] + 1e-12
    assert mean_classes(masses) == naive.mean_classes(masses.tolist())


@given(leaf_masses())
def test_impurity_has_no_unit_and_heeds_no_order(masses):
    impurity = weighted_impurity(masses)
    assert weighted_impurity(masses * 4) == pytest.approx(impurity)
    assert weighted_impurity(masses[::-1, ::-1]) == pytest.approx(impurity)
    assert weighted_impurity(np.vstack([masses, masses])) == pytest.approx(impurity)
    # To tell the leaves apart never makes them less pure.
    assert impurity <= weighted_impurity(masses.sum(axis=0, keepdims=True)) + 1e-12


def test_impurity_is_weighted_with_mass_but_classes_are_not():
    masses = [[90.0, 90.0, 0.0], [0.0, 0.0, 20.0], [0.0, 0.0, 0.0]]
    assert weighted_impurity(masses) == pytest.approx(0.9 * 0.5)
    assert mean_classes(masses) == pytest.approx((2 + 1 + 0) / 3)


def test_pure_leaves_are_exactly_pure():
    assert weighted_impurity(np.diag([0.1, 0.2, 0.3, 1e-9, 1e9])) == 0.0


def test_impurity_is_that_of_scikit_learns_trees():
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=500)
    X = rng.normal(y[:, None], 1.0, (500, 2))
    reference = DecisionTreeClassifier(max_leaf_nodes=9, random_state=0).fit(X, y)
    leaves, place = np.unique(reference.apply(X), return_inverse=True)
    masses = np.zeros((9, 4))
    np.add.at(masses, (place, y), 1.0)
    tree = reference.tree_
    expected = np.average(tree.impurity[leaves], weights=tree.weighted_n_node_samples[leaves])
    assert weighted_impurity(masses) == pytest.approx(expected)


@pytest.mark.parametrize("metric", [weighted_impurity, mean_classes])
@pytest.mark.parametrize(
    ("masses", "message"),
    [
        ([1.0, 2.0], r"got shape \(2,\)"),
        ([[1.0, -1.0]], "0 or more"),
        ([[1.0, float("nan")]], "finite"),
        ([[1.0, float("inf")]], "finite"),
        ([[0.0, 0.0]], "not all 0"),
        (np.empty((0, 3)), "not all 0"),
    ],
)
def test_masses_that_are_none_are_refused(metric, masses, message):
    with pytest.raises(ValueError, match=message):
        metric(masses)
