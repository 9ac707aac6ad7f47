"""How much each column gains, and the nodes as a table."""

import sys

import numpy as np
import pytest
from rows import BINARY, EAGER, grown, rows, tiny
from sklearn.exceptions import NotFittedError

from mist import MistForest
from mist.impurity import gini_impurity
from mist.inspection import feature_importances, to_frame
from published import paper_tree


def test_importances_are_gains_weighted_with_the_mass_at_the_splits():
    model = grown("gaussian")
    mass = model._state.tree.nodes.mass
    expected = dict.fromkeys(range(4), 0.0)
    for split in model.split_log_:
        expected[split.feature] += split.gain * mass[split.node] / 400
    expected = np.array(list(expected.values())) / sum(expected.values())
    np.testing.assert_allclose(model.feature_importances_, expected, rtol=1e-12)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert len({split.feature for split in model.split_log_}) >= 3


def test_the_column_that_divides_the_classes_is_the_important_one():
    assert tiny().feature_importances_.tolist() == [1.0, 0.0]
    moved = paper_tree(grace_period=8, tie_threshold=9.0, categorical_features=[0])
    X = np.array([[1.0, v] for v in (0, 1, 2, 3, 10, 11, 12, 13)])
    assert moved.partial_fit(X, [0] * 4 + [1] * 4).feature_importances_.tolist() == [0.0, 1.0]


def test_without_a_split_no_column_is_important():
    assert paper_tree().partial_fit([[0.0, 1.0]], [0]).feature_importances_.tolist() == [0.0, 0.0]


def test_columns_that_come_later_have_an_importance():
    model = paper_tree(**EAGER)
    rng = np.random.default_rng(0)
    for i in range(60):
        model.learn_one({"early": float(rng.normal() + 4 * (i % 2))}, i % 2)
    assert model.feature_importances_.tolist() == [1.0]
    model.learn_one({"early": 0.0, "late": 1.0}, 0)
    assert model.feature_importances_.tolist() == [1.0, 0.0]
    for i in range(300):
        model.learn_one({"early": 0.0, "late": float(rng.normal() + 9 * (i % 2))}, i % 2)
    assert model.feature_importances_[1] > 0.1
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_a_forest_has_the_mean_of_its_trees_that_split():
    X, y = rows(1, 300, 0.0)
    forest = MistForest(paper_tree(**EAGER), n_trees=3).partial_fit(X, y)
    each = [tree.feature_importances_ for tree in forest.trees_]
    np.testing.assert_allclose(forest.feature_importances_, np.mean(each, axis=0), rtol=1e-12)
    calm = MistForest(paper_tree(), n_trees=2).partial_fit(X[:50], y[:50])
    assert calm.feature_importances_.tolist() == [0.0] * 4
    with pytest.raises(TypeError, match="many trees"):
        feature_importances(forest)
    with pytest.raises(NotFittedError):
        MistForest().feature_importances_  # noqa: B018 - reading is the test


# -- nodes as a table --------------------------------------------------------------------------


def test_the_frame_tells_what_the_tree_and_its_leaves_tell():
    pytest.importorskip("pandas")
    model = grown("gaussian")
    frame, tree = model.to_frame().set_index("node"), model.tree_
    assert sorted(frame.index) == list(range(len(tree.feature)))
    assert frame.index[0] == 0
    for name in ("feature", "left", "right", "depth", "threshold"):
        found = frame[name].sort_index().to_numpy()
        np.testing.assert_array_equal(found, getattr(tree, name))
    for row in model.leaf_summary():
        leaf = frame.loc[row.leaf]
        assert leaf["is_leaf"]
        assert (leaf["rule"], leaf["rows"], leaf["n_classes"]) == (row.rule, row.rows, row.classes)
        assert (leaf["impurity"], leaf["nbytes"]) == (pytest.approx(row.impurity), row.nbytes)
    for split in model.split_log_:
        node = frame.loc[split.node]
        assert not node["is_leaf"]
        assert (node["gain"], node["seen"]) == (split.gain, split.seen)
        assert node["column"] == f"x{split.feature}"
        children = frame.loc[[node["left"], node["right"]]]
        assert (children["parent"] == split.node).all()
        assert node["rows"] == children["rows"].sum() + split.rows
        assert node["nbytes"] == children["nbytes"].sum()
    assert frame.loc[0, "rows"] == frame.loc[0, "mass"] == model.n_rows_
    assert frame.loc[0, "parent"] == -1
    assert (frame["is_leaf"] == frame["gain"].isna()).all()
    assert (frame["is_leaf"] == frame["column"].isna()).all()


def test_a_split_node_has_the_classes_of_the_leaves_below():
    pytest.importorskip("pandas")
    model = tiny().partial_fit([[2.0, 1.0], [3.0, 1.0], [4.0, 0.0]], ["dry", "dry", "soaked"])
    frame = to_frame(model).set_index("node")
    assert frame["majority_class"].tolist() == ["dry", "dry", "soaked"]
    assert frame["n_classes"].tolist() == [2, 2, 1]
    # About 4.4 of "dry" and 1 of "soaked" at one leaf, 2.4 of "soaked" at the other.
    assert frame.loc[0, "impurity"] == pytest.approx(gini_impurity(np.array([4.4, 3.4])), abs=1e-4)
    assert frame["rule"].tolist() == ["", "x0 <= 6", "x0 > 6"]


def test_columns_have_their_names_and_the_0_1_column_stands_where_the_user_has_it():
    pd = pytest.importorskip("pandas")
    X, y = rows(1, 400, 0.0)
    named = pd.DataFrame(X, columns=["a", "wet", "b", "c"])
    model = paper_tree(categorical_features=["wet"], **EAGER).partial_fit(named, y)
    frame = model.to_frame()
    splits = frame[~frame["is_leaf"]]
    assert splits["column"].tolist() == [named.columns[j] for j in splits["feature"]]
    assert (splits[splits["column"] == "wet"]["threshold"] == 0.5).all()
    assert BINARY in splits["feature"].to_list()


def test_without_pandas_the_way_to_it_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    for read in (tiny().to_frame, tiny().explain([1.0, 1.0]).to_frame):
        with pytest.raises(ImportError, match=r"pip install 'mist-tree\[frames\]'"):
            read()


def test_what_is_no_tree_has_no_table():
    with pytest.raises(NotFittedError):
        paper_tree().to_frame()
    with pytest.raises(TypeError, match=r"trees_\[0\]"):
        to_frame(MistForest())
