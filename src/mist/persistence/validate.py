"""Validation of a model from a file, before compiled code uses it.

Anyone can make a file whose checksums are right. Compiled code does not check whether an index is
inside its array, so all indices, chains and shapes are checked here. Other numbers are not
checked: wrong ones give wrong answers and do no other harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_type_hints

import numpy as np

from mist.adaptation.changes import MOST_KEPT, Change
from mist.adaptation.common_shift import MOST_COLUMNS, CommonShift
from mist.adaptation.expectation import Expectation
from mist.adaptation.follower import Follower
from mist.adaptation.label_memory import MOST_PAIRED_CLASSES, LabelMemory
from mist.adaptation.moved_classes import MovedClasses
from mist.adaptation.next_label import NextLabel, new_next_label
from mist.adaptation.recent_gaussians import HALF_LIVES, RecentGaussians
from mist.engine.candidate_splits import CandidateSet, CandidateSplit
from mist.engine.conformity import REMEMBERED, Conformity
from mist.engine.gaussian_mixtures import (
    FREE_COMPONENT,
    FREE_PROPOSAL,
    N_COMPONENTS,
    N_PROPOSALS,
    NOT_POOLED,
    Growth,
    Mixture,
    MixtureObserved,
    growth_of,
)
from mist.engine.gaussians import Gaussians, GaussiansObserved
from mist.engine.growth import Split, SplitRule
from mist.engine.leaves.gaussian import NaiveBayes
from mist.engine.leaves.lowrank import LowRankLeaves
from mist.engine.leaves.majority import Majority
from mist.engine.low_rank_gaussians import LeafShared, LowRank
from mist.engine.sorted_columns import SortedColumns
from mist.engine.state import (
    BLOCK_SIZES,
    CAPS,
    FIRST_BLOCK,
    FREE_CELL,
    LAST_BLOCK,
    LEVELS,
    N_CELLS,
    N_CONSTANT,
    N_HELD,
    N_ITEMS,
    N_LEAVES,
    N_NODES,
    TOTALS,
    ObservedWeights,
    Options,
    ScreenParams,
    Sketch,
    State,
    Tree,
    packed_size,
    sketch_plan,
)
from mist.labels import Labels, check_one_kind, plain_label
from mist.locking import Lockable
from mist.options import RANGES, check_options
from mist.persistence.class_paths import class_of
from mist.persistence.shapes import (
    BASELINES,
    COMMON,
    CONFORMITY,
    EXPERTS,
    GAUSSIANS,
    GAUSSIANS_SEEN,
    LABEL_MEMORY,
    LOW_RANK,
    MISSING,
    MIXTURE,
    MOVED,
    RECENT,
    SHIFT,
    SKETCH,
    TREE,
    VIEW,
    fit,
    require,
)

Array = np.ndarray[Any, Any]

__all__ = ["check_baseline", "check_classifier", "check_forest", "validate_state"]


def validate_state(model: Any) -> None:
    """Refuse an estimator of this library that is not valid.

    Parameters
    ----------
    model : estimator
        The decoded estimator; the estimators in it have been checked. Estimators of other
        libraries pass.

    Raises
    ------
    ValueError
        The message says what is wrong.
    """
    if isinstance(model, Lockable):
        if "_labels" in vars(model):
            _check_labels(model)
        model._check_loaded()


# --- estimators -------------------------------------------------------------------------------


def _check_labels(model: Any) -> None:
    labels = model._labels
    require(type(labels) is Labels, "its labels have the wrong type")
    codes, declared = labels._codes, labels._declared
    require(type(codes) is dict and type(declared) is set, "its labels have the wrong type")
    require(list(codes.values()) == list(range(len(codes))), "the codes of its labels have gaps")
    known = [*codes, *declared]
    require([plain_label(label) for label in known] == known, "its labels have the wrong types")
    check_one_kind(known)
    again = Labels()
    again.add(codes, declared)
    for name in ("classes", "ranks"):
        _check_equal(getattr(labels, name), getattr(again, name), f"Labels.{name}")
    _check_equal(model.classes_, labels.classes, "classes_")


def _check_equal(found: Any, wanted: Array, what: str) -> None:
    same = type(found) is np.ndarray and found.dtype == wanted.dtype
    require(same and np.array_equal(found, wanted), f"{what} has a wrong type or value")


def _check_columns(model: Any, n_features: int) -> None:
    require(type(model.n_features_in_) is int, "n_features_in_ is not an int")
    require(model.n_features_in_ == n_features, "n_features_in_ differs from its state")
    for name in ("_keys", "feature_names_in_"):
        if name in vars(model):
            require(len(vars(model)[name]) == n_features, f"{name} does not name all columns")


def check_classifier(model: Any) -> None:
    """Refuse a `MistClassifier` that is not valid; raises as `validate_state` does."""
    for name in ("_checked_options", "_fast_path", "_following_path"):
        require(name not in vars(model), f"{name} must not be in a file")
    if "_options" in vars(model):
        check_options(model._options)
        rule = SplitRule(**{name: model._options[name] for name in SplitRule._fields})
        require(model._rule == rule, "its split rule differs from its options")
    if "_state" not in vars(model):
        return
    state = model._state
    require("_options" in vars(model) and "_labels" in vars(model), "it lacks options or labels")
    check_state(state, len(model._labels.ranks))
    _check_columns(model, state.n_features)
    _check_equal(np.sort(model._order), np.arange(state.n_features), "its order of columns")
    _check_log(model._splits, state.n_features)
    check_follower(model)


def check_follower(model: Any) -> None:
    """Refuse a tree whose follower is not valid, or does not fit its options."""
    state, follower = model._state, model._follower
    require((follower is not None) == model._follows(), "its follower does not fit its options")
    if follower is None:
        return
    require(type(follower) is Follower, "its follower has the wrong type")
    scored = state.conformity is not None
    require(
        scored or model._leaf_name == "majority", "it follows changes without scores of classes"
    )
    n_codes = len(model._labels.ranks)
    require(
        follower.watches == (model._leaf_name != "sketch"), "it watches classes of other leaves"
    )
    rows, changes = follower.rows, follower.changes
    require(type(rows) is int and rows >= 0, "its follower counts rows wrongly")
    require(type(changes) is list and len(changes) <= MOST_KEPT, "its changes are not a list")
    for change in changes:
        require(type(change) is Change, "its changes hold something else")
        known = change.label is None or (
            isinstance(change.label, int | np.integer) and 0 <= change.label < n_codes
        )
        require(known, "a change has an unknown class")
    shifted = len(follower.common.shift) if type(follower.common) is CommonShift else 0
    require(shifted <= min(state.options.n_numeric, MOST_COLUMNS), "its shift has too many columns")
    sizes = {"d": state.n_features, "shifted": shifted}
    require(type(follower.moved) is MovedClasses, "its evidence has the wrong type")
    fit(follower.moved, MOVED, sizes)
    require(sizes["codes"] <= n_codes, "its follower knows more classes than it has")
    require((follower.moved.read >= 0).all(), "scores read are negative")
    require(type(follower.common) is CommonShift, "its common shift has the wrong type")
    fit(follower.common, SHIFT, {**sizes, "pairs": packed_size(sizes["shifted"])})
    require((follower.common.rows >= 0).all(), "rows of a block are negative")
    predicts = model.adapt == "stream"
    require((follower.expectation is not None) == predicts, "its follower does not fit its options")
    if follower.expectation is not None:
        check_expectation(follower.expectation, sizes["d"], n_codes, 1)
        same = follower.expectation.n_codes == sizes["codes"]
        require(same, "its follower has different numbers of classes")


def check_expectation(expectation: Any, d: int, n_codes: int, n_models: int) -> None:
    """Refuse what a model expects of the next row, if it is not valid."""
    require(type(expectation) is Expectation, "its expectation has the wrong type")
    require(
        type(expectation.rows) is int and expectation.rows >= 0, "its expectation miscounts rows"
    )
    found, known = expectation.state, new_next_label(d, n_models)
    require(type(found) is NextLabel, "its prediction of labels has the wrong type")
    experts, sizes = len(known.weights), {"d": d}
    fit(found, EXPERTS, {"experts": experts, "curvature": packed_size(experts)})
    require(type(found.labels) is LabelMemory, "its label memory has the wrong type")
    n = len(found.labels.count)
    require(n <= n_codes, "its label memory knows more classes than it has")
    sizes["codes"], sizes["paired"] = n, min(n, MOST_PAIRED_CLASSES)
    fit(found.labels, LABEL_MEMORY, sizes)
    require(-1 <= found.labels.last[0] < max(n, 1), "its last label is unknown")
    require(type(found.recent) is RecentGaussians, "its recent Gaussians have the wrong type")
    size = known.recent.factor.shape[2]
    fit(found.recent, RECENT, {**sizes, "memories": len(HALF_LIVES), "factor": size})
    _check_equal(found.recent.decay, known.recent.decay, "the decay of its recent Gaussians")
    require((found.recent.rows >= 0).all(), "its recent Gaussians have a negative number of rows")


def _check_log(splits: Any, d: int) -> None:
    """Refuse a log of splits with invalid entries or unknown columns."""
    require(type(splits) is list, "its split log is not a list")
    for split in splits:
        require(type(split) is Split, "its split log holds something else")
        for name, kind in get_type_hints(Split).items():
            value = getattr(split, name)
            # Compiled code gives Python types, other code NumPy types.
            same = type(value) is kind or (isinstance(value, np.generic) and value.dtype == kind)
            require(same, f"Split.{name}={value!r} has the wrong type")
        require(split.node >= 0 and 0 <= split.feature < d, "a split in its log is out of range")


def check_forest(model: Any) -> None:
    """Refuse a `MistForest` that is not valid; raises as `validate_state` does."""
    if "trees_" not in vars(model):
        return
    trees, n_codes = model.trees_, len(model._labels.ranks)
    kind: Any = class_of("MistClassifier")
    require(type(trees) is list and len(trees) > 0, "it has no trees")
    n_numeric = trees[0]._state.options.n_numeric
    for tree in trees:
        require(isinstance(tree, kind), "a tree is not a MistClassifier")
        require(tree._state.options.n_numeric == n_numeric, "its trees have different columns")
        _check_equal(tree._labels.ranks, model._labels.ranks, "the label array of a tree")
        _check_equal(tree.classes_, model.classes_, "the label array of a tree")
        _check_equal(tree._order, trees[0]._order, "the order of a tree's columns")
    _check_columns(model, trees[0].n_features_in_)
    fit(model, {"_masses": (np.float64, "codes")}, {"codes": n_codes})
    require(type(model._n_rows) is int, "its number of rows is not an int")
    _check_expecting(model, n_numeric, n_codes)
    if model._head is not None:
        _check_companion(model._head, model.n_features_in_, n_codes)


def _check_expecting(model: Any, n_numeric: int, n_codes: int) -> None:
    """Refuse what predicts the next row for a forest, if it is not valid."""
    restarted, expectation = model._restarted, model._expectation
    d = model.n_features_in_
    if restarted is None:
        if expectation is not None:
            check_expectation(expectation, d, n_codes, 1)
        return
    require(expectation is not None, "it predicts the next row in part")
    require(type(restarted) is class_of("RestartedTrees"), "its restarted trees have a wrong type")
    require((restarted.n_numeric, restarted.n_columns) == (n_numeric, d), "their columns differ")
    lives = [len(pair) for pair in restarted.pairs]
    require(type(restarted.rows) is int and restarted.rows >= 0, "they count rows wrongly")
    require(set(lives) == {2}, "its restarted trees are no pairs")
    kind: Any = class_of("MistClassifier")
    for tree in (tree for pair in restarted.pairs for tree in pair):
        require(type(tree) is kind, "a restarted tree has the wrong type")
        if "_state" in vars(tree):
            require(tree._state.n_features == d, "a restarted tree has other columns")
            known = tree.classes_.dtype == np.int64 and tree.classes_.max(initial=-1) < n_codes
            require(known, "a restarted tree has other classes")
    check_expectation(expectation, d, n_codes, 1 + len(lives))


def _check_companion(head: Any, n_features: int, n_codes: int) -> None:
    model = head.model
    same = type(model) is class_of("RandomFeatureLDA")
    require(same, "its random-feature head has the wrong class")
    if not model.__sklearn_is_fitted__():
        return
    columns, classes = head.columns, model.classes_
    fit(head, {"columns": (np.intp, "d")}, {"d": model.n_features_in_})
    _check_range(columns, 0, n_features, "the columns of its discriminant")
    require(len(np.unique(columns)) == len(columns), "its discriminant has a column twice")
    require(classes.dtype == np.int64, "the classes of its discriminant are not int64")
    _check_range(classes, 0, n_codes, "the classes of its discriminant")


def check_baseline(model: Any) -> None:
    """Refuse a baseline that is not valid; raises as `validate_state` does."""
    name = next((cls.__name__ for cls in type(model).__mro__ if cls.__name__ in BASELINES), None)
    if "_state" not in vars(model) or name is None:
        return
    state, d = model._state, model.n_features_in_
    _check_columns(model, d)
    require(type(state) is class_of(f"{name}State"), "its state has the wrong class")
    sizes = {"d": d, "codes": len(model._labels.ranks), "packed": packed_size(d)}
    fit(state, BASELINES[name], sizes)
    if name == "RandomFeatureLDA":
        require(sizes["both"] == d + sizes["random"], "its numbers of features do not add up")
    elif name in ("RLS", "RandomFeatureRLS"):
        columns = sizes.get("random", d) + bool(model.fit_intercept)
        require(sizes["design"] == columns, "its design matrix does not fit its columns")
    elif name == "PEC":
        m = sizes["outputs"]
        each = d + 3 + m
        rest = sizes["student"] - m
        require(rest > 0 and rest % each == 0, "the size of its students is wrong")


# --- states of trees --------------------------------------------------------------------------


def check_state(state: Any, n_codes: int) -> None:
    """Refuse a state of a tree that is not valid.

    Parameters
    ----------
    state : State
        The state; the states of its candidate splits are checked, too.
    n_codes : int
        Number of learnt classes.

    Raises
    ------
    ValueError
        The message says what is wrong.
    """
    require(type(state) is State, "its state has the wrong type")
    tree, options = state.tree, state.options
    require(type(tree) is Tree, "its tree has the wrong type")
    _check_numbers(options, Options)
    _check_numbers(state.screen, ScreenParams)
    a, d = options.n_numeric, state.n_features
    require(0 <= a <= d and d > 0, "it has more numeric columns than columns")
    require(options.grace_period >= 1, "its grace period is below 1")
    require(0 <= options.seed < 2**63 and options.max_components >= 1, "its options are invalid")
    require(options.claim >= 0.0, "the claim of a class is below 0")
    sizes = {
        "d": d,
        "a": a,
        "b": d - a,
        "levels": LEVELS,
        "packed": packed_size(a),
        "products": packed_size(a) if options.products else 0,
    }
    fit(tree, TREE, sizes)
    if state.began is not None:
        fit(state, {"began": (np.float64, "began")}, sizes)
        require(sizes["began"] == tree.counters[N_NODES], "its fork began with other nodes")
    _check_nodes(tree, d)
    live = _check_cells(tree, n_codes)
    _check_table(tree, live)
    highest = int(tree.cells.code[live].max(initial=-1))
    require(not options.balanced or sizes["totals"] > highest, "totals of classes are missing")
    sizes["pool"] = 0
    if state.sketch is not None:
        _check_sketch(state, sizes)
    if state.observed is not None:
        require(
            type(state.observed) is ObservedWeights, "its missing-value arrays have the wrong type"
        )
        fit(state.observed, MISSING, sizes)
    _check_model(state, sizes, live)
    if state.conformity is not None:
        require(type(state.conformity) is Conformity, "its scores have the wrong type")
        fit(state.conformity, CONFORMITY, {"scores": REMEMBERED})
        require(len(state.conformity.held) >= n_codes, "scores of classes are missing")
        require((state.conformity.scored >= 0).all(), "a number of scores is negative")
    _check_carried(state.carried)
    require(type(state.candidate_splits) is dict, "its candidate splits are not a dict")
    for leaf, batch in state.candidate_splits.items():
        _check_candidates(state, leaf, batch, n_codes)


def _check_carried(carried: Any) -> None:
    """Refuse mixture shares that a fork cannot have begun with."""
    require(carried is None or type(carried) is dict, "its mixture shares are not a dict")
    for key, parts in (carried or {}).items():
        pair = type(key) is tuple and len(key) == 2 and all(type(k) is int for k in key)
        require(pair, "a mixture share has an invalid key")
        numbers = type(parts) is np.ndarray and parts.dtype == np.float64
        require(numbers and parts.ndim == 2 and len(parts) == 2, "a mixture share is invalid")


def _check_numbers(group: Any, kind: Any) -> None:
    """Refuse numbers whose types differ from the annotations of the named tuple."""
    require(type(group) is kind, f"its {kind.__name__} has the wrong type")
    for name, wanted in get_type_hints(kind).items():
        value = getattr(group, name)
        require(type(value) is wanted, f"{kind.__name__}.{name}={value!r} has the wrong type")


def _check_range(values: Array, low: int, end: int, what: str) -> None:
    inside = (values >= low) & (values < end)
    require(inside.all(), f"{what} are out of range")


def _chain(following: Sequence[int], first: int, n: int, what: str) -> list[int]:
    """Entries of a linked list, which must be below n and distinct."""
    out: list[int] = []
    while first != -1:
        require(0 <= first < n and len(out) < n, f"{what} has an invalid entry")
        out.append(first)
        first = following[first]
    return out


def _check_nodes(tree: Any, d: int) -> None:
    nodes, leaves, counters = tree.nodes, tree.leaves, tree.counters
    n, n_leaves = int(counters[N_NODES]), int(counters[N_LEAVES])
    require(1 <= n <= len(nodes) and n == 2 * n_leaves - 1, "its nodes do not form a tree")
    require(n_leaves <= len(leaves), "it counts more leaves than it has")
    feature, slot = nodes.feature[:n], nodes.leaf[:n]
    _check_range(feature, -1, d, "split columns")
    inner = np.flatnonzero(feature >= 0)
    outer = np.flatnonzero(feature < 0)
    children = np.concatenate([nodes.left[inner], nodes.right[inner]])
    # Children come after their parent, and every node but the root is a child once.
    _check_equal(np.sort(children), np.arange(1, n), "the set of its nodes")
    require((children > np.tile(inner, 2)).all(), "a node comes before its parent")
    require(nodes.depth[0] == 0, "the depth of its root is not 0")
    _check_equal(nodes.depth[children], nodes.depth[np.tile(inner, 2)] + 1, "the depth of a node")
    _check_equal(np.sort(slot[outer]), np.arange(n_leaves), "the set of its leaves")
    _check_equal(leaves.node[slot[outer]], outer, "the node of a leaf")
    best, second = leaves.best[:n_leaves], leaves.second[:n_leaves]
    _check_range(best, -1, d, "best columns")
    _check_range(second, -1, d, "best columns")
    require(((second < 0) | (best >= 0)).all(), "a leaf has a second best column but no best one")
    require(0 <= counters[N_CONSTANT] <= d, "it has more constant columns than columns")


def _check_cells(tree: Any, n_codes: int) -> Array:
    """Cells in use, in ascending order."""
    cells, leaves = tree.cells, tree.leaves
    n, n_leaves = int(tree.counters[N_CELLS]), int(tree.counters[N_LEAVES])
    require(0 <= n <= len(cells), "it counts more cells than it has")
    following, owners = cells.next.tolist(), cells.leaf.tolist()
    met = []
    for leaf in range(n_leaves):
        chain = _chain(following, int(leaves.first[leaf]), n, "a chain of cells")
        ends = leaves.last[leaf] == (chain[-1] if chain else -1)
        require(ends and leaves.n_cells[leaf] == len(chain), "a leaf miscounts its cells")
        require(all(owners[cell] == leaf for cell in chain), "a cell names another leaf")
        met += chain
    free = _chain(following, int(tree.counters[FREE_CELL]), n, "the chain of free cells")
    require(all(owners[cell] == -1 for cell in free), "a free cell names a leaf")
    _check_equal(np.sort(np.array(met + free, np.int64)), np.arange(n), "the set of its cells")
    live = np.sort(np.array(met, np.int64))
    _check_range(cells.code[live], 0, n_codes, "class codes of cells")
    return live


def _check_table(tree: Any, live: Array) -> None:
    """Check that the hash table has exactly the cells in use, where a search finds them."""
    cells, table = tree.cells, tree.table
    n = len(table)
    require(n > len(cells) and n & (n - 1) == 0, "its cell table is too small or not a power of 2")
    at = np.flatnonzero(table >= 0)
    held = table[at].astype(np.int64)
    require((table >= -1).all(), "its cell table has a negative cell")
    _check_equal(np.sort(held), live, "its cell table")
    home = _slots(cells.leaf[held], cells.code[held], n)
    # There must be no gap between the home of a cell and its position.
    gaps = np.concatenate([[0], np.cumsum(np.tile(table, 2) < 0)])
    end = np.where(at >= home, at, at + n)
    require((gaps[end] == gaps[home]).all(), "its cell table has gaps")
    both = np.stack([cells.leaf[live], cells.code[live]])
    require(np.unique(both, axis=1).shape == both.shape, "a leaf has two cells of one class")


def _slots(leaf: Array, code: Array, n: int) -> Array:
    """`mist.engine.state._slot` for many cells."""
    key = leaf.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) ^ code.astype(np.uint64)
    key = (key ^ (key >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return (key >> np.uint64(32)).astype(np.int64) & (n - 1)


def _check_sketch(state: State, sizes: dict[str, int]) -> None:
    sketch, tree = state.sketch, state.tree
    require(type(sketch) is Sketch, "its sketches have the wrong type")
    assert sketch is not None
    narrow = np.int16 if sketch.sizes.dtype == np.int16 else np.int32
    del sizes["pool"]
    fit(sketch, SKETCH, sizes, precision=state.options.precision, narrow=narrow)
    plan, counters, cells = sketch.plan, tree.counters, tree.cells
    size = int(plan[CAPS, 0])
    low, high = RANGES["sketch_size"][1:3]
    require(low <= size <= high, "the size of its sketches is out of range")
    _check_equal(plan, sketch_plan(size), "the plan of its sketches")
    narrow_enough = plan[TOTALS].max() <= np.iinfo(narrow).max
    require(narrow_enough, "the sizes of its sketches overflow their type")
    n, n_items = int(counters[N_CELLS]), int(counters[N_ITEMS])
    require(0 <= n_items <= len(sketch.items), "its sketches have more rows than the pool")
    first, last = int(counters[FIRST_BLOCK]), int(counters[LAST_BLOCK])
    chain = np.array(_chain(cells.behind.tolist(), first, n, "the chain of blocks"), np.int64)
    before = np.concatenate([[-1], chain])
    require(last == before[-1], "the chain of blocks has the wrong end")
    _check_equal(np.sort(chain), np.flatnonzero(cells.start[:n] >= 0), "the set of its blocks")
    own = cells[chain]
    require((own.leaf >= 0).all(), "a free cell has a sketch")
    _check_equal(own.before.astype(np.int64), before[:-1], "the chain of blocks")
    block_sizes = plan[BLOCK_SIZES, plan[BLOCK_SIZES] > 0]
    # A sketch must be able to grow to a larger block.
    _check_range(own.size_class, 0, len(block_sizes) - 1, "block sizes of sketches")
    size = block_sizes[own.size_class]
    ends = own.start + size
    starts = np.append(own.start, n_items)
    require((starts[1:] >= ends).all(), "its sketches overlap")
    require(size.sum() == counters[N_HELD], "the block sizes of its sketches do not add up")
    _check_range(own.levels, 1, LEVELS, "levels of sketches")
    stored = sketch.sizes[chain].astype(np.int64)
    require((stored >= 0).all(), "a level of a sketch has a negative size")
    beyond = np.arange(LEVELS) >= own.levels[:, None]
    require(not stored[beyond].any(), "a sketch has rows beyond its levels")
    _check_equal(stored.sum(axis=1), own.used.astype(np.int64), "the number of rows of sketches")
    full = np.minimum(size, plan[TOTALS, own.levels])
    require((own.used <= full).all(), "a sketch has more rows than its block holds")
    require((own.flips >= 0).all(), "a sketch has a negative number of compactions")


def _check_model(state: State, sizes: dict[str, int], live: Array) -> None:
    model, missing = state.model, state.observed
    kind = type(model)
    weights = None if missing is None else missing.model
    require(weights is None or kind is Mixture, "its missing-value arrays do not fit its leaves")
    if kind is SortedColumns:
        fit(model, VIEW, sizes, precision=state.options.precision)
        cells = state.tree.cells
        sketched = live[cells.start[live] >= 0]
        above = model.count[sketched] > cells.used[sketched, None]
        require((model.count[sketched] >= 0).all() and not above.any(), "counts are out of range")
    elif kind is LowRankLeaves:
        require(
            type(model.pool) is LowRank and type(model.common) is LeafShared, "invalid leaf arrays"
        )
        fit(model.pool, LOW_RANK, sizes)
        require(sizes["twice"] == 2 * sizes["rank"], "its factors have the wrong width")
        fit(model.common, COMMON, sizes)
    elif kind is Mixture:
        _check_mixture(state, sizes, live)
    else:
        require(kind in (NaiveBayes, Majority), "its leaves are of an unknown kind")


def _check_mixture(state: State, sizes: dict[str, int], live: Array) -> None:
    model: Mixture = state.model
    growth = model.growth
    require(type(growth) is Growth, "the growth of its mixtures has the wrong type")
    most = growth.most
    require(most in (1, state.options.max_components), "its limit of components is wrong")
    require(0 <= growth.n_known <= sizes["a"], "it has more known columns than numeric ones")
    known = growth_of(sizes["a"], growth.n_known, most)
    if state.began is not None and growth.pool_always == NOT_POOLED:
        known = known._replace(pool_always=NOT_POOLED)
    require(growth == known, "the growth of its mixtures is invalid")
    sizes["pairs"] = growth.pairs
    fit(model, MIXTURE, sizes)
    candidates = sizes["trials"] * (2 * growth.pairs + 1)
    pools = [(model.own, sizes["components"]), (model.candidates, candidates)]
    for pool, n in pools:
        require(type(pool) is Gaussians, "its components have the wrong type")
        fit(pool, GAUSSIANS, {**sizes, "n": n})
    if state.observed is not None:
        seen = state.observed.model
        require(type(seen) is MixtureObserved, "missing values of components have the wrong type")
        fit(seen, {"pooled": (np.float64, "leaves a")}, sizes)
        for known, (_, n) in zip((seen.own, seen.candidates), pools, strict=True):
            require(
                type(known) is GaussiansObserved, "missing values of components have the wrong type"
            )
            fit(known, GAUSSIANS_SEEN, {**sizes, "n": n})
    _check_components(state, live, most)


def _check_components(state: State, live: Array, most: int) -> None:
    model: Mixture = state.model
    components, counters, cells = model.components, model.counters, model.cells
    n, n_trials = int(counters[N_COMPONENTS]), int(counters[N_PROPOSALS])
    require(0 <= n <= len(components), "it counts more components than it has")
    require(0 <= n_trials <= len(model.free), "it counts more proposals than it has")
    following, met = components.next.tolist(), []
    for cell in range(len(cells)):
        chain = _chain(following, int(cells.first[cell]), n, "a chain of components")
        if chain:
            fits = cells.last[cell] == chain[-1] and cells.n[cell] == len(chain) <= most
            require(fits, "a cell miscounts its components")
        met += chain
    require(not met or set(np.flatnonzero(cells.first >= 0)) <= set(live), "a free cell is in use")
    used = np.array(met, np.int64)
    met += _chain(following, int(counters[FREE_COMPONENT]), n, "the chain of free components")
    _check_equal(np.sort(np.array(met, np.int64)), np.arange(n), "the set of its components")
    open_trials = components.proposal[used]
    open_trials = open_trials[open_trials != -1]
    free = _chain(
        model.free.tolist(), int(counters[FREE_PROPOSAL]), n_trials, "a chain of proposals"
    )
    taken = np.sort(np.concatenate([open_trials, np.array(free, np.int64)]))
    _check_equal(taken, np.arange(n_trials), "the set of its proposals")


def _check_candidates(state: State, leaf: Any, batch: Any, n_codes: int) -> None:
    # Without compiled code, leaf numbers are NumPy integers.
    inside = isinstance(leaf, int | np.integer) and 0 <= leaf < state.tree.counters[N_LEAVES]
    require(inside and type(batch) is CandidateSet, "a batch of candidate splits has no leaf")
    require(
        type(batch.number) is int and type(batch.candidates) is tuple, "a batch has wrong types"
    )
    fit(batch, {"used": (np.bool_, "d")}, {"d": state.n_features})
    for trial in batch.candidates:
        require(type(trial) is CandidateSplit, "a candidate split has the wrong type")
        check_state(trial.state, n_codes)
        own = trial.state.options
        same = own == state.options._replace(grace_period=own.grace_period)
        require(same and type(trial.state.model) is type(state.model), "candidate options differ")
        require(trial.state.n_features == state.n_features, "a candidate split has other columns")
        require(trial.state.tree.counters[N_NODES] == 3, "a candidate split does not have 3 nodes")
        require((trial.state.sketch is None) == (state.sketch is None), "candidates lack sketches")
        fit(trial, {"capital": (np.float64, "4"), "most": (np.float64, "1")}, {})
