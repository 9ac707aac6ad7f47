import re

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import naive_metrics as naive
from material import BINARY, EAGER, mixed_rows, state_arrays
from mist import MistClassifier
from mist.engine.leaf_rules import class_masses
from mist.engine.state import N_CELLS
from published import paper_tree

X, Y = mixed_rows(7, n=600, holes=0.0)
NAMES = ["width", "wet", "height", "depth"]


@pytest.fixture(params=["gaussian", "sketch", "majority"])
def model(request):
    return paper_tree(request.param, categorical_features=[BINARY], **EAGER).partial_fit(X, Y)


def tiny(**options):
    """Eight rows of two classes, one split between them."""
    rows = [[v, 1.0] for v in (0, 1, 2, 3, 10, 11, 12, 13)]
    return paper_tree(grace_period=8, tie_threshold=9.0, **options).partial_fit(
        rows, ["dry"] * 4 + ["soaked"] * 4
    )


# -- size --------------------------------------------------------------------------------------


def test_sizes_and_logs_tell_one_story(model):
    tree, log = model.tree_, model.split_log_
    inner = np.flatnonzero(tree.feature >= 0)
    assert model.n_splits_ == len(log) == len(inner) >= 5
    assert model.n_leaves_ == model.n_splits_ + 1 == len(model.leaf_summary())
    assert len(tree.feature) == model.n_leaves_ + model.n_splits_
    assert model.depth_ == tree.depth.max() >= 2
    assert sorted(split.node for split in log) == inner.tolist()
    for i, split in enumerate(log):
        assert tree.feature[split.node] == split.feature
        assert tree.threshold[split.node] == split.threshold
        # The two children get the next two numbers, left first.
        assert tree.left[split.node] == 2 * i + 1
        assert tree.right[split.node] == 2 * i + 2
    assert len({split.feature for split in log}) >= 3


def test_nodes_hang_together(model):
    tree = model.tree_
    inner = tree.feature >= 0
    assert (tree.left[~inner] == -1).all()
    assert (tree.right[~inner] == -1).all()
    assert (tree.feature[~inner] == -1).all()
    assert np.isnan(tree.threshold[~inner]).all()
    assert not np.isnan(tree.threshold[inner]).any()
    children = np.concatenate([tree.left[inner], tree.right[inner]])
    assert sorted(children) == list(range(1, len(tree.feature)))
    for child in (tree.left, tree.right):
        np.testing.assert_array_equal(tree.depth[child[inner]], tree.depth[inner] + 1)
    assert tree.depth[0] == 0
    assert {array.dtype.kind for array in tree} == {"i", "f"}


def test_splits_are_logged_as_they_happen(model):
    log = model.split_log_
    seen = [split.seen for split in log]
    assert seen == sorted(seen)
    assert seen[-1] <= model.n_rows_ == 600
    for split in log:
        assert split.gain > 0
        assert split.rows >= EAGER["grace_period"]
        radius = np.sqrt(32 * np.log(1 / EAGER["delta"]) / split.rows)
        assert split.radius == pytest.approx(radius, rel=1e-12)
        assert split.gain > split.radius or split.radius < EAGER["tie_threshold"]
    first = log[0]
    assert first.node == 0
    assert first.rows == first.seen
    replay = paper_tree(model.settings()["leaf"], categorical_features=[BINARY], **EAGER)
    assert replay.partial_fit(X[: first.seen - 1], Y[: first.seen - 1]).n_splits_ == 0
    assert replay.partial_fit(X[[first.seen - 1]], Y[[first.seen - 1]]).split_log_ == [first]


def test_apply_follows_the_tree(model):
    tree = model.tree_
    asked, _ = mixed_rows(7, n=600, holes=0.1)
    for rows, leaves in ((X, model.apply(X)), (asked, model.apply(asked))):
        assert leaves.dtype == np.int64
        assert (tree.feature[leaves] == -1).all()
        for x, leaf in zip(rows, leaves, strict=True):
            node = 0
            while tree.feature[node] >= 0:
                v = x[tree.feature[node]]
                if np.isnan(v):
                    break
                node = (tree.left if v <= tree.threshold[node] else tree.right)[node]
            else:
                assert node == leaf
    # A value on the threshold goes left, the next larger number right.
    root = tree.threshold[0]
    assert tree.feature[0] != BINARY
    edge = np.array([X[0], X[0]])
    edge[:, tree.feature[0]] = root, np.nextafter(root, np.inf)
    left, right = model.apply(edge)
    assert _is_below(tree, left, tree.left[0])
    assert _is_below(tree, right, tree.right[0])


def _is_below(tree, node, ancestor):
    while node != ancestor and node != 0:
        node = int(np.flatnonzero((tree.left == node) | (tree.right == node))[0])
    return node == ancestor


def test_max_leaves_stops_the_growth():
    for limit in (1, 2, 5):
        model = paper_tree(max_leaves=limit, **EAGER).partial_fit(X, Y)
        assert model.n_leaves_ == limit


# -- leaves ------------------------------------------------------------------------------------


def test_leaf_rows_are_the_rows_since_the_last_split(model):
    rows = sum(row.rows for row in model.leaf_summary())
    used_up = sum(split.rows for split in model.split_log_)
    assert rows + used_up == model.n_rows_ == 600


def test_leaf_rules_say_where_rows_go(model):
    table = model.leaf_summary()
    assert sorted(row.leaf for row in table) == np.flatnonzero(model.tree_.feature < 0).tolist()
    leaves = model.apply(X)
    # Thresholds are printed with six digits.
    inner = model.tree_.feature >= 0
    clear = np.ones(len(X), dtype=bool)
    for j, v in zip(model.tree_.feature[inner], model.tree_.threshold[inner], strict=True):
        clear &= np.abs(X[:, j] - v) > 1e-4
    assert clear.mean() > 0.9
    matched = np.zeros(len(X), dtype=int)
    for row in table:
        inside = np.ones(len(X), dtype=bool)
        for part in row.rule.split(" and "):
            column, sign, threshold = re.fullmatch(r"x(\d) (<=|>) (\S+)", part).groups()
            left = X[:, int(column)] <= float(threshold)
            inside &= left if sign == "<=" else ~left
        matched += inside
        np.testing.assert_array_equal(inside[clear], (leaves == row.leaf)[clear])
    assert (matched == 1).all()


def test_leaf_classes_and_impurity(model):
    for row in model.leaf_summary():
        assert 1 <= row.classes <= 4
        assert 0 <= row.impurity <= 1 - 1 / row.classes + 1e-12
    whole = paper_tree().partial_fit(X[:8], [0, 0, 0, 0, 1, 1, 2, 2]).leaf_summary()
    assert whole[0].classes == 3
    assert whole[0].impurity == pytest.approx(1 - (0.25 + 2 / 16))
    pure = paper_tree().partial_fit(X[:8], [0] * 8).leaf_summary()
    assert pure[0].impurity == 0.0


def leaf_by_leaf(model):
    """Class masses of every leaf, read along the leaf's chain of cells."""
    state = model._state
    return [
        class_masses(state, int(state.tree.nodes.leaf[row.leaf]))[1].tolist()
        for row in model.leaf_summary()
    ]


def test_purity_is_that_of_the_leaves(model):
    masses = leaf_by_leaf(model)
    assert model.leaf_impurity_ == pytest.approx(naive.weighted_impurity(masses))
    assert model.classes_per_leaf_ == pytest.approx(naive.mean_classes(masses))
    table = model.leaf_summary()
    assert model.classes_per_leaf_ == pytest.approx(np.mean([row.classes for row in table]))
    weights = [sum(leaf) for leaf in masses]
    impurity = np.average([row.impurity for row in table], weights=weights)
    assert model.leaf_impurity_ == pytest.approx(impurity)
    assert isinstance(model.leaf_impurity_, float)
    assert isinstance(model.classes_per_leaf_, float)


@pytest.mark.parametrize("inheritance", ["gaussian", None])
def test_purity_heeds_no_cell_that_was_given_back(inheritance):
    model = paper_tree(inheritance=inheritance, max_leaves=8, **EAGER)
    freed = 0
    for row, label in zip(X, Y, strict=True):
        model.learn_one(row, label)
        cells = model._state.tree.cells[: model._state.tree.counters[N_CELLS]]
        if (cells.leaf < 0).any():
            freed += 1
            masses = leaf_by_leaf(model)
            assert model.leaf_impurity_ == pytest.approx(naive.weighted_impurity(masses))
            assert model.classes_per_leaf_ == naive.mean_classes(masses)
    assert freed > 20
    assert model.n_leaves_ == 8


def test_purity_of_known_trees():
    unsplit = paper_tree().partial_fit(X[:8], [0, 0, 0, 0, 1, 1, 2, 2])
    assert unsplit.leaf_impurity_ == pytest.approx(1 - (0.25 + 2 / 16))
    assert unsplit.classes_per_leaf_ == 3.0
    model = tiny()
    assert (model.leaf_impurity_, model.classes_per_leaf_) == (0.0, 1.0)
    # One leaf holds about 4.4 of "dry" and 1 of "soaked", the other 2.4 of "soaked" alone.
    model.partial_fit([[2.0, 1.0], [3.0, 1.0], [4.0, 0.0]], ["dry", "dry", "soaked"])
    assert model.leaf_impurity_ == pytest.approx(2 * 4.4 * 1 / 5.4 / 7.8, abs=1e-5)
    assert model.classes_per_leaf_ == 1.5


def test_a_leaf_without_rows_or_inheritance_has_the_masses_of_its_parent():
    model = tiny(inheritance=None)
    assert model.n_leaves_ == 2
    assert (model.leaf_impurity_, model.classes_per_leaf_) == (0.5, 2.0)
    model.partial_fit([[2.0, 1.0]], ["dry"])
    # The left leaf has one row, the right one still the eight of its parent.
    assert model.leaf_impurity_ == pytest.approx(8 / 9 * 0.5)
    assert model.classes_per_leaf_ == 1.5


def test_bytes_are_those_of_the_arrays(model):
    assert model.nbytes == sum(array.nbytes for array in state_arrays(model))
    by_leaf = [row.nbytes for row in model.leaf_summary()]
    assert min(by_leaf) > 0
    assert sum(by_leaf) <= model.nbytes
    assert paper_tree().nbytes == 0


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_bytes_grow_with_classes_not_with_rows():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, 10))
    y = np.arange(20_000) % 10
    model = paper_tree(max_leaves=1, thresholds="gaussian")
    early = model.partial_fit(rows[:200], y[:200]).nbytes
    assert model.partial_fit(rows, y).nbytes == early
    model.partial_fit(rows[:200], np.arange(200))
    assert model.nbytes > 5 * early
    sketches = paper_tree("sketch", max_leaves=1)
    early = sketches.partial_fit(rows[:5000], y[:5000]).nbytes
    assert sketches.partial_fit(rows, y).nbytes < 1.5 * early


# -- texts -------------------------------------------------------------------------------------


def test_export_text_of_a_tiny_tree():
    model = tiny()
    assert model.export_text() == (
        "|--- x0 <= 6: leaf 1: 0 rows; dry 2.4\n|--- x0 > 6: leaf 2: 0 rows; soaked 2.4"
    )
    model.partial_fit([[2.0, 1.0], [3.0, 1.0], [4.0, 0.0]], ["dry", "dry", "soaked"])
    assert model.export_text() == (
        "|--- x0 <= 6: leaf 1: 3 rows; dry 4.4, soaked 1\n|--- x0 > 6: leaf 2: 0 rows; soaked 2.4"
    )
    assert model.export_text(max_classes=1) == (
        "|--- x0 <= 6: leaf 1: 3 rows; dry 4.4 and 1 more\n|--- x0 > 6: leaf 2: 0 rows; soaked 2.4"
    )
    with pytest.raises(ValueError, match="max_classes=0"):
        model.export_text(max_classes=0)


def test_export_text_of_two_levels_with_names_and_a_0_1_column():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"size": [0, 1, 2, 3, 10, 11, 12, 13], "wet": [1, 1, 1, 1, 0, 1, 0, 1]})
    model = paper_tree(
        grace_period=8, tie_threshold=9.0, discount=1.0, categorical_features=["wet"]
    )
    model.partial_fit(frame, ["small"] * 4 + ["large"] * 4)
    assert [row.rule for row in model.leaf_summary()] == ["size <= 6", "size > 6"]
    more = pd.DataFrame({"size": [11.0, 12.0] * 4, "wet": [0, 0, 0, 0, 1, 1, 1, 1]})
    model.partial_fit(more, ["dry"] * 4 + ["soaked"] * 4)
    assert model.export_text() == (
        "|--- size <= 6: leaf 1: 0 rows; small 4\n"
        "|--- size > 6\n"
        "|   |--- wet <= 0.5: leaf 3: 0 rows; dry 4, large 2\n"
        "|   |--- wet > 0.5: leaf 4: 0 rows; soaked 4, large 2"
    )
    assert [row.rule for row in model.leaf_summary()] == [
        "size <= 6",
        "size > 6 and wet <= 0.5",
        "size > 6 and wet > 0.5",
    ]
    assert [split.feature for split in model.split_log_] == [0, 1]


def test_texts_name_columns_by_their_numbers_in_the_table():
    # The 0/1 column stands first, numeric columns keep their numbers behind it.
    rows = np.array([[1.0, v] for v in (0, 1, 2, 3, 10, 11, 12, 13)])
    model = paper_tree(grace_period=8, tie_threshold=9.0, categorical_features=[0])
    model.partial_fit(rows, [0] * 4 + [1] * 4)
    assert model.split_log_[0].feature == 1
    assert model.tree_.feature.tolist() == [1, -1, -1]
    assert model.leaf_summary()[0].rule == "x1 <= 6"


def test_export_text_has_a_line_for_every_leaf_and_inner_node_but_the_root(model):
    lines = model.export_text().splitlines()
    assert len(lines) == model.n_leaves_ + model.n_splits_ - 1
    assert [int(m) for m in re.findall(r"leaf (\d+):", "\n".join(lines))] == [
        row.leaf for row in model.leaf_summary()
    ]
    assert max(line.count("|") for line in lines) == model.depth_


def test_repr_tells_what_was_learnt():
    model = MistClassifier("sketch", grace_period=8)
    assert repr(model) == "MistClassifier(grace_period=8, leaf='sketch')"
    model.partial_fit([[0.0]], ["a"])
    head = re.escape("MistClassifier(grace_period=8, leaf='sketch')  # ")
    assert re.fullmatch(head + r"1 row, 1 class, 1 leaf, \d+ KB", repr(model))
    for i in range(1999):
        model.learn_one([float(i % 3)], "abc"[i % 3])
    n = model.n_leaves_
    leaves = "1 leaf" if n == 1 else f"{n} leaves"
    assert re.fullmatch(head + rf"2,000 rows, 3 classes, {leaves}, \d+ KB", repr(model))
    assert repr(tiny()).endswith(f"2 leaves, {tiny().nbytes / 1024:,.0f} KB")


# -- before anything is learnt -----------------------------------------------------------------

READERS = {
    "predict": lambda m: m.predict([[0.0]]),
    "predict_proba": lambda m: m.predict_proba([[0.0]]),
    "predict_log_proba": lambda m: m.predict_log_proba([[0.0]]),
    "score": lambda m: m.score([[0.0]], [0]),
    "apply": lambda m: m.apply([[0.0]]),
    "n_leaves_": lambda m: m.n_leaves_,
    "n_splits_": lambda m: m.n_splits_,
    "n_rows_": lambda m: m.n_rows_,
    "depth_": lambda m: m.depth_,
    "leaf_impurity_": lambda m: m.leaf_impurity_,
    "classes_per_leaf_": lambda m: m.classes_per_leaf_,
    "tree_": lambda m: m.tree_,
    "split_log_": lambda m: m.split_log_,
    "leaf_summary": lambda m: m.leaf_summary(),
    "export_text": lambda m: m.export_text(),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS.keys())
def test_a_model_that_learnt_nothing_says_so(read):
    with pytest.raises(NotFittedError, match="MistClassifier has learnt nothing yet"):
        read(paper_tree())


def test_what_is_learnt_is_no_attribute_before():
    model = paper_tree()
    for name in ("classes_", "n_features_in_", "feature_names_in_", "tree_", "n_leaves_"):
        assert not hasattr(model, name)
    with pytest.raises(NotFittedError):
        model.n_splits_  # noqa: B018 - reading is the test
