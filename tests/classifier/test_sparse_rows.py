"""Large sparse matrices, which are read in blocks of rows: the same models as of dense arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from material import BINARY, EAGER, fingerprint, mixed_rows
from mist import MistClassifier, MistForest, MistReplayForest, sparse_rows
from mist.preprocessing import StreamEncoder, StreamPipeline
from published import paper_tree

D = 4
FORMATS = ("csr", "csc", "coo", "lil", "dok", "bsr")


def eager(**options: Any) -> MistClassifier:
    return paper_tree(**EAGER, **options)


def forest(**options: Any) -> MistForest:
    return MistForest(MistClassifier("gaussian"), n_trees=2, random_state=1, **options)


def pipeline(**options: Any) -> StreamPipeline:
    return StreamPipeline(StreamEncoder(**options), eager())


MODELS = {
    "tree": eager,
    "0/1 columns": lambda: eager(categorical_features=[BINARY]),
    "following": lambda: MistClassifier("gaussian", decision="counts"),
    "mixture": MistClassifier,
    "budget": lambda: MistClassifier("gaussian", max_bytes=100_000),
    "forest": forest,
    "restarted": lambda: forest(adapt=None),
    "replay": lambda: MistReplayForest(MistClassifier("gaussian"), n_trees=1, replay_trees=2),
    "pipeline": pipeline,
    "standardised": lambda: pipeline(standardise=True),
    "texts": lambda: pipeline(categorical_features=[BINARY], hashing={2: 3}),
}


@pytest.fixture
def dense_rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows that are made dense at a time; a block has five rows of four columns."""
    made: list[int] = []
    monkeypatch.setattr(sparse_rows, "_BLOCK_BYTES", 8 * D * 5)
    for kind in (sparse.csr_array, sparse.csr_matrix):
        plain = kind.toarray

        def counted(self: Any, *args: Any, plain: Any = plain, **options: Any) -> Any:
            made.append(self.shape[0])
            return plain(self, *args, **options)

        monkeypatch.setattr(kind, "toarray", counted)
    return made


def holed(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of which half the values are 0 and a few are missing."""
    X, y = mixed_rows(seed, n)
    rng = np.random.default_rng(seed)
    X[rng.random(X.shape) < 0.5] = 0.0
    return X, y


def same(one: Any, other: Any) -> None:
    """Two models that cannot be distinguished."""
    if isinstance(one, StreamPipeline):
        assert one.encoder_._names() == other.encoder_._names()
        assert one.encoder_._moments == other.encoder_._moments
        one, other = one.model_, other.model_
    trees = zip(getattr(one, "trees_", [one]), getattr(other, "trees_", [other]), strict=True)
    for mine, theirs in trees:
        assert fingerprint(mine) == fingerprint(theirs)


@pytest.mark.parametrize("name", MODELS)
def test_the_same_as_the_dense_array(name, dense_rows):
    X, y = holed(0, 60)
    given_rows = sparse.csr_matrix(X)
    weights = np.arange(60) % 3
    dense, thin = MODELS[name](), MODELS[name]()
    expected = dense.prequential(X[:32], y[:32], weights[:32])
    np.testing.assert_array_equal(thin.prequential(given_rows[:32], y[:32], weights[:32]), expected)
    for model, rows in ((dense, X), (thin, given_rows)):
        model.partial_fit(rows[32:50], y[32:50], sample_weight=weights[32:50])
    same(thin, dense)
    for method in ("predict", "predict_proba"):
        result, wanted = getattr(thin, method)(given_rows), getattr(dense, method)(X)
        np.testing.assert_array_equal(result, wanted)
        assert result.dtype == wanted.dtype
    assert thin.score(given_rows, y, weights) == dense.score(X, y, weights)
    for one, other in zip(
        thin.prequential_proba(given_rows[50:], y[50:]),
        dense.prequential_proba(X[50:], y[50:]),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    same(thin.fit(given_rows, y), dense.fit(X, y))
    assert max(dense_rows) <= 5


def test_random_features_agree_up_to_rounding(dense_rows):
    X, y = mixed_rows(0, 60, holes=0.0)
    X[X < 1.0] = 0.0
    rows = sparse.csr_array(X)
    one, other = forest(random_features=20), forest(random_features=20)
    labels = one.prequential(rows, y), other.prequential(X, y)
    np.testing.assert_array_equal(*labels)
    one.partial_fit(rows, y)
    other.partial_fit(X, y)
    np.testing.assert_allclose(one.predict_proba(rows), other.predict_proba(X), atol=1e-9)
    assert max(dense_rows) <= 5


def test_other_methods_read_blocks_too(dense_rows):
    X, y = holed(0, 40)
    model = MistClassifier("gaussian", open_world=True).fit(X, y)
    for method in ("apply", "score_samples", "novelty", "predict_log_proba"):
        result = getattr(model, method)(sparse.csc_array(X))
        np.testing.assert_array_equal(result, getattr(model, method)(X))
    following = {"next_in_stream": True}
    result = model.predict_proba(sparse.csc_array(X), **following)
    np.testing.assert_array_equal(result, model.predict_proba(X, **following))
    assert max(dense_rows) <= 5


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(1, 40),
    rows=st.integers(1, 9),
    form=st.sampled_from(FORMATS),
    dtype=st.sampled_from([np.float64, np.float32, np.int32, bool]),
    name=st.sampled_from(["tree", "0/1 columns", "pipeline"]),
)
def test_sparse_equals_dense(seed, n, rows, form, dtype, name):
    X, y = holed(seed, n)
    if np.dtype(dtype).kind != "f":
        X = np.nan_to_num(X)
    given_rows = sparse.csr_array(X.astype(dtype)).asformat(form)
    dense = given_rows.toarray()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_rows, "_BLOCK_BYTES", 8 * D * rows)
        one, other = MODELS[name](), MODELS[name]()
        same(one.partial_fit(given_rows, y), other.partial_fit(dense, y))
        np.testing.assert_array_equal(one.predict_proba(given_rows), other.predict_proba(dense))


def test_values_of_the_same_cell_are_added_in_their_order(dense_rows):
    values = np.array([1e16, 1.0, -1e16, 3.0])
    cells = sparse.coo_array((values, ([7, 7, 7, 0], [2, 2, 2, 1])), shape=(12, D))
    y = np.arange(12) % 2
    dense = cells.toarray()
    assert fingerprint(eager().fit(cells, y)) == fingerprint(eager().fit(dense, y))


def refusals() -> dict[str, tuple[Any, Any]]:
    X, y = holed(0, 40)
    infinite, large, partly = X.copy(), X.copy(), X.copy()
    infinite[37, 2], infinite[39, 0] = np.inf, -np.inf
    large[36, 3] = 1e300
    partly[38, BINARY], partly[39, 0] = 0.5, 2.0
    return {
        "too few columns": (X[:, :3], y),
        "too many columns": (np.hstack([X, X]), y),
        "complex": (X.astype(complex), y),
        "infinity": (infinite, y),
        "too large": (large, y),
        "no 0/1 column": (partly, y),
        "few labels": (X, y[:30]),
        "missing label": (X, [*y[:39], None]),
        "labels of another kind": (X, list("ab" * 20)),
    }


@pytest.mark.parametrize("name", ["0/1 columns", "budget", "forest", "replay", "pipeline"])
@pytest.mark.parametrize("case", refusals())
def test_what_is_refused_changes_nothing(name, case, dense_rows):
    X, y = holed(1, 30)
    rows, labels = refusals()[case]
    model = MODELS[name]().partial_fit(X, y)
    if case == "no 0/1 column" and name != "0/1 columns":
        pytest.skip("all columns are numeric")
    before = model.predict_proba(X)
    errors = []
    for each in (rows, sparse.csr_array(rows)):
        with pytest.raises(ValueError, match=r".") as refused:
            model.partial_fit(each, labels)
        errors.append(str(refused.value))
    assert errors[0] == errors[1]
    assert model.classes_.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(model.predict_proba(X), before)
    if not isinstance(labels, list) and len(labels) == 40:
        for method in (model.predict, model.predict_proba):
            errors = []
            for each in (rows, sparse.csr_array(rows)):
                with pytest.raises(ValueError, match=r".") as refused:
                    method(each)
                errors.append(str(refused.value))
            assert errors[0] == errors[1]


def test_a_first_call_that_is_refused_leaves_no_trace(dense_rows):
    X, y = holed(0, 40)
    X[39, 0] = np.inf
    for name in ("tree", "forest", "pipeline"):
        model = MODELS[name]()
        before = dict(vars(model))
        with pytest.raises(ValueError, match="infinity at row 39, column 0"):
            model.partial_fit(sparse.csr_array(X), y)
        assert vars(model) == before


def test_too_many_classes_for_the_budget_are_refused_at_once(dense_rows):
    X = holed(0, 40)[0]
    errors = []
    for rows in (X, sparse.csr_array(X)):
        model = MistClassifier("gaussian", max_bytes=15_000)
        with pytest.raises(ValueError, match="max_bytes") as refused:
            model.partial_fit(rows, np.arange(40))
        errors.append(str(refused.value))
        assert not hasattr(model, "classes_")
    assert errors[0] == errors[1]


def test_matrices_of_one_block_are_made_dense_at_once(dense_rows):
    eager().partial_fit(sparse.csr_array(np.eye(5, D)), [0, 1, 0, 1, 0])
    assert dense_rows == [5]
