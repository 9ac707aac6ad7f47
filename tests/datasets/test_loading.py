import numpy as np
import pytest
from sklearn.decomposition import PCA

from mist.datasets import REGISTRY, load, load_toy
from mist.datasets.cache import write
from mist.datasets.projection import head_of_stream
from mist.evaluation import ClassIncrementalStream

FILES = [e.name for e in REGISTRY.values() if e.kind == "file" and e.sha256 is not None]


@pytest.fixture
def images(cache, register):
    """60 pictures of 9 pixels in 3 classes, the first 40 of them for training."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(60) % 3)
    X = rng.integers(0, 256, (60, 9)) // (1 + y[:, None])
    write(cache / "images.npz", {"X": X.astype(np.uint8), "y": y, "n_train": np.array(40)})
    register(
        name="images",
        file="images.npz",
        rows=60,
        columns=9,
        class_names=("a", "b", "c"),
        labels=(0, 1, 2),
        counts=(20, 20, 20),
        n_train=40,
        pixels=True,
    )
    return X.astype(float), y


@pytest.mark.parametrize("name", ["iris", "wine", "digits"])
def test_bundled_sets_are_those_of_the_registry(name):
    data, entry = load(name), REGISTRY[name]
    assert data.X.shape == (entry.rows, entry.columns)
    assert np.bincount(data.y).tolist() == list(entry.counts)
    assert data.class_names == entry.class_names
    assert data.citation == entry.citation
    assert not data.categorical.any()
    toy = load_toy(name)
    assert np.array_equal(toy.X, data.X)
    assert toy.source == data.source


def test_rows_are_drawn_with_the_seed_and_keep_their_order(images):
    X, y = images
    data = load("images", rows=30, seed=3)
    keep = np.sort(np.random.default_rng(3).choice(60, 30, replace=False))
    assert np.array_equal(data.X, X[keep])
    assert np.array_equal(data.y, y[keep])
    assert data.n_train == np.sum(keep < 40)
    assert not np.array_equal(load("images", rows=30, seed=4).y, data.y)


def test_names_of_classes_that_were_not_drawn_are_left_out(images):
    data = load("images", rows=2, seed=1)
    assert [data.class_names[k] for k in np.unique(data.y, return_inverse=True)[1]] == [
        "abc"[label] for label in data.y
    ]


def test_components_are_fitted_on_the_head_of_the_training_part(images):
    X, y = images
    head = X[:40][y[:40] < 2] / 255
    expected = PCA(4, svd_solver="full").fit(head).transform(X / 255)
    data = load("images", pca=4)
    np.testing.assert_allclose(data.X, expected)
    assert data.feature_names == ("pc0", "pc1", "pc2", "pc3")
    assert data.categorical.tolist() == [False] * 4
    assert data.n_train == 40


def test_with_a_seed_they_are_fitted_on_the_head_of_its_stream(images):
    X, y = images
    rows = np.sort(np.random.default_rng(5).choice(60, 50, replace=False))
    first_task = next(iter(ClassIncrementalStream(X[rows] / 255, y[rows], seed=5)))
    # One task here: K // 2 of three classes.
    assert first_task.classes == (0, 1, 2)
    expected = PCA(4, svd_solver="full").fit(first_task.X_train).transform(X[rows] / 255)
    np.testing.assert_allclose(load("images", rows=50, seed=5, pca=4).X, expected)


@pytest.mark.parametrize("pca", [0, 10])
def test_components_that_do_not_exist(images, pca):
    with pytest.raises(ValueError, match=f"pca={pca} must be between 1 and 9"):
        load("images", pca=pca)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("iris", {"pca": 2}, "pca=2 does not apply to data set 'iris'"),
        ("ring", {"basic": True}, "basic=True does not apply to data set 'ring'"),
        ("synth10", {"n_classes": 5}, "n_classes=5 does not apply"),
        ("iris", {"rows": 10}, "rows=10 of 'iris' are drawn at random: give a seed"),
        ("iris", {"rows": 151, "seed": 1}, "rows=151 must be between 1 and the 150 of 'iris'"),
        ("iris", {"rows": 0, "seed": 1}, "rows=0 must be between"),
        ("ring", {"rows": 3}, "n_samples=3 is too few"),
        ("boston", {}, "no data set called 'boston'"),
    ],
)
def test_options_that_make_no_sense(name, options, message):
    with pytest.raises(ValueError, match=message):
        load(name, **options)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.filterwarnings("error::UserWarning")
def test_reference_copies_are_those_of_the_registry(mist_data, name):
    """No warning: checksum, or shape and class counts, are right."""
    entry = REGISTRY[name]
    data = load(name, rows=300, seed=1)
    assert len(data.X) == 300
    assert set(data.y.tolist()) <= set(entry.labels)
    assert (data.n_train is None) == (entry.n_train is None)
    assert np.isfinite(data.X).all()
    assert len(data.feature_names) == len(set(data.feature_names)) == data.X.shape[1]
    zero_one = data.X[:, data.categorical]
    assert np.isin(zero_one, (0, 1)).all()


def test_names_of_columns_that_repeat_get_their_position(cache, register):
    register(n_train=None, train_counts=None)
    features = np.array(["energy", "mean", "energy"])
    table = {"X": np.ones((6, 3)), "y": np.array([1, 2, 1, 1, 2, 1]), "features": features}
    write(cache / "tiny.npz", table)
    assert load("tiny").feature_names == ("energy [0]", "mean", "energy [2]")


def test_basic_activities(mist_data):
    data = load("hapt", basic=True)
    assert data.X.shape == (10_411, 561)
    assert data.n_train == 7_415
    assert data.class_names[-1] == "LAYING"
    assert len(data.class_names) == data.y.max() == 6


def test_one_hot_columns_of_kddcup(mist_data):
    data = load("kddcup99_10pct", rows=2000, seed=1)
    assert data.X.shape[1] == 118
    assert data.categorical.sum() == 3 + 66 + 11 + 5
    for prefix in ("protocol_type=", "service=", "flag="):
        block = [i for i, name in enumerate(data.feature_names) if name.startswith(prefix)]
        assert (data.X[:, block].sum(axis=1) == 1).all()
    tcp = data.X[:, data.feature_names.index("protocol_type=tcp")] == 1
    http = data.X[:, data.feature_names.index("service=http")] == 1
    assert http.any()
    assert tcp[http].all()


def test_the_digits_of_the_protocol(mist_data):
    """The stream that PCA and evaluation are set up on is one and the same."""
    raw = load("mnist", rows=3000, seed=1)
    assert (raw.X.min(), raw.X.max()) == (0, 255)
    first_task = next(iter(ClassIncrementalStream(raw.X, raw.y, seed=1)))
    head = head_of_stream(raw.y, raw.n_train, seed=1)
    assert first_task.classes == (0, 1)
    assert len(head) == len(first_task.X_train) < 1000
    assert np.array_equal(raw.X[head], first_task.X_train)
