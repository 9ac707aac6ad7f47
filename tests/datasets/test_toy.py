import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from sklearn import datasets

from mist.datasets import load_toy, make_multimodal

SHAPES = {
    "digits": (1797, 64, 10),
    "wine": (178, 13, 3),
    "iris": (150, 4, 3),
    "multimodal": (4000, 10, 8),
}


@pytest.mark.parametrize("name", SHAPES)
def test_names_shapes_and_origin(name):
    data = load_toy(name)
    n_rows, n_features, n_classes = SHAPES[name]
    assert data.name == name
    assert data.X.shape == (n_rows, n_features)
    assert data.X.dtype == np.float64
    assert data.y.shape == (n_rows,)
    assert np.unique(data.y).tolist() == list(range(n_classes))
    assert len(set(data.feature_names)) == n_features
    assert len(set(data.class_names)) == n_classes
    assert all(isinstance(text, str) for text in (*data.feature_names, *data.class_names))
    assert data.source
    assert data.licence


@pytest.mark.parametrize("name", ["digits", "wine", "iris"])
def test_bundled_sets_are_scikit_learns(name):
    data = load_toy(name)
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    assert np.array_equal(data.X, X)
    assert np.array_equal(data.y, y)


def test_multimodal_is_the_generator_with_its_defaults():
    data = load_toy("multimodal")
    X, y = make_multimodal()
    assert np.array_equal(data.X, X)
    assert np.array_equal(data.y, y)


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match="'boston': choose one of digits, wine, iris, multimodal"):
        load_toy("boston")


def test_a_data_set_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        load_toy("iris").name = "lily"


def test_importing_evaluation_and_datasets_does_not_import_scikit_learn():
    code = "import sys, mist.evaluation, mist.datasets; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
