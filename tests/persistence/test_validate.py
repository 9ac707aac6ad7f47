"""Files whose checksums are right, but which would lead compiled code out of its arrays."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import mist
from mist.baselines import NCM
from mist.engine.candidate_splits import CandidateSet, CandidateSplit
from mist.engine.growth import Split
from mist.engine.state import (
    FIRST_BLOCK,
    FREE_CELL,
    LAST_BLOCK,
    N_CELLS,
    N_HELD,
    N_ITEMS,
    N_LEAVES,
    N_NODES,
    Options,
)
from mist.labels import Labels
from mist.locking import Lockable
from mist.persistence import load_with_attachment, save
from mist.persistence.class_paths import CLASS_PATHS, class_of
from mist.persistence.validate import validate_state
from mist.preprocessing import StreamEncoder, StreamPipeline

FOLDER = Path(__file__).parent.parent / "fixtures"
FILES = {name: FOLDER / f"format1-{name}.mist" for name in ("gaussian", "sketch", "mixture")}
FILES |= {name: FOLDER / f"format1-{name}.mist" for name in ("forest", "methods")}


def put(array, at, value):
    array[at] = value


def counter(place, change):
    def tamper(model):
        model._state.tree.counters[place] += change

    return tamper


def record(group, name, at, value):
    def tamper(model):
        put(getattr(getattr(model._state.tree, group), name), at, value)

    return tamper


def replaced(part, **fields):
    """Fields of a named tuple of the state, made anew from the old ones."""

    def tamper(model):
        group = getattr(model._state, part)
        made = {name: make(getattr(group, name)) for name, make in fields.items()}
        setattr(model._state, part, group._replace(**made))

    return tamper


def less(array):
    return array[:-1].copy()


def single(array):
    return array.astype(np.float32)


def live(model):
    cells = model._state.tree.cells
    return int(np.flatnonzero(cells.leaf >= 0)[0])


def swap_in_table(model):
    table = model._state.tree.table
    full, empty = np.flatnonzero(table >= 0)[0], np.flatnonzero(table < 0)
    far = empty[-1] if empty[-1] != full + 1 else empty[0]
    table[far], table[full] = table[full], -1


def full_table(model):
    tree = model._state.tree
    model._state.tree = tree._replace(table=np.zeros(len(tree.table), np.int32))


def same_class_twice(model):
    cells = model._state.tree.cells
    first = live(model)
    cells.code[int(cells.next[first])] = cells.code[first]


def free_a_used_cell(model):
    model._state.tree.counters[FREE_CELL] = live(model)


def cell_cycle(model):
    cells = model._state.tree.cells
    cells.next[int(cells.next[live(model)])] = live(model)


def two_parents(model):
    nodes = model._state.tree.nodes
    nodes.right[0] = nodes.left[0]


def loop_of_nodes(model):
    model._state.tree.nodes.left[0] = 0


def long_names(model):
    model._keys = ["size", "flag", "more"]


def other_order(model):
    model._order = np.array([0, 0])


def float_grace(model):
    model._state.options = model._state.options._replace(grace_period=20.0)


def no_grace(model):
    model._state.options = model._state.options._replace(grace_period=0)


def other_log(*splits):
    def tamper(model):
        model._splits = list(splits)

    return tamper


def tuple_log(model):
    model._splits = tuple(model._splits)


SPLIT = Split(0, 1, 0.5, 20.0, 0.1, 0.1, 20)


def bad_option(model):
    model._options = {**model._options, "delta": 9.0}


def other_rule(model):
    model._rule = model._rule._replace(max_leaves=3)


def labels_with_gaps(model):
    model._labels._codes = {"red": 0, "blue": 1, "green": 5}


def more_columns_of_labels(model):
    model._labels.ranks = np.array([0, 1, 7])


def other_state(model):
    model._state.tree = tuple(model._state.tree)


TREE = {
    "more nodes than there are": counter(N_NODES, 2),
    "no node": counter(N_NODES, -3),
    "more leaves than nodes": counter(N_LEAVES, 1),
    "more cells than there are": counter(N_CELLS, 1000),
    "fewer cells than there are": counter(N_CELLS, -1),
    "a free cell that is none": counter(FREE_CELL, 500),
    "a used cell that is free": free_a_used_cell,
    "a split on no column": record("nodes", "feature", 0, 2),
    "a child that is no node": record("nodes", "right", 0, 17),
    "a child below 0": record("nodes", "right", 0, -2),
    "a node with two parents": two_parents,
    "a loop of nodes": loop_of_nodes,
    "a leaf without a place": record("nodes", "leaf", 1, 2),
    "two leaves in one place": record("nodes", "leaf", 1, 1),
    "a leaf of another node": record("leaves", "node", 0, 0),
    "another depth": record("nodes", "depth", 1, 5),
    "a best column that is none": record("leaves", "best", 0, 2),
    "a second best without a best": record("leaves", "second", 0, 1),
    "a chain that begins nowhere": record("leaves", "first", 0, 99),
    "a chain with another end": record("leaves", "last", 0, -1),
    "a leaf that counts another number of cells": record("leaves", "n_cells", 1, 9),
    "a loop of cells": cell_cycle,
    "a code that is no class": lambda model: put(model._state.tree.cells.code, live(model), 3),
    "a code below 0": lambda model: put(model._state.tree.cells.code, live(model), -1),
    "two cells of one class": same_class_twice,
    "a cell that is not found": swap_in_table,
    "a table that is full": full_table,
    "a table of another size": replaced("tree", table=less),
    "fewer leaves than nodes need": replaced("tree", leaves=less),
    "stats of fewer cells": replaced("tree", stats=less),
    "stats of another type": replaced("tree", stats=single),
    "records that are none": replaced("tree", nodes=lambda a: np.zeros(len(a))),
    "fewer counters": replaced("tree", counters=less),
    "totals of fewer classes": replaced("tree", totals=lambda a: a[:1].copy()),
    "missing values of fewer cells": replaced("observed", cell=less),
    "a sketch of fewer rows": replaced("sketch", items=less, sizes=less),
    "another plan": replaced("sketch", plan=lambda a: a + 1),
    "names of more columns": long_names,
    "an order with a column twice": other_order,
    "a grace period with a fraction": float_grace,
    "no grace period": no_grace,
    "an option that is out of range": bad_option,
    "a rule that is not that of the options": other_rule,
    "codes of labels with gaps": labels_with_gaps,
    "places of labels that are none": more_columns_of_labels,
    "a tuple in place of a tree": other_state,
    "a log of other things": other_log(1),
    "a log that is a tuple": tuple_log,
    "a split on no column in the log": other_log(SPLIT._replace(feature=2)),
    "a split on a column below 0 in the log": other_log(SPLIT._replace(feature=-1)),
    "a split on a column with a fraction": other_log(SPLIT._replace(feature=1.0)),
    "a split of no node": other_log(SPLIT._replace(node=-1)),
    "a gain that is a text": other_log(SPLIT._replace(gain="much")),
}


def sketched(model):
    return int(model._state.tree.counters[LAST_BLOCK])


def block(name, value):
    def tamper(model):
        put(getattr(model._state.tree.cells, name), sketched(model), value)

    return tamper


def more_levels(model):
    model._state.sketch.sizes[sketched(model), 39] = 1


def high_count(model):
    model._state.model.count[sketched(model), 0] = 10_000


SKETCH = {
    "a block behind the pool": block("start", 10_000),
    "a block below 0": block("start", -7),
    "blocks that overlap": block("start", 0),
    "a block of no size": block("size_class", 90),
    "a block that holds more than it can": block("used", 500),
    "a block that holds less than nothing": block("used", -1),
    "more levels than there are": block("levels", 41),
    "no level": block("levels", 0),
    "rows beyond the levels": more_levels,
    "a chain of blocks that leads astray": block("behind", 77),
    "another block before": block("before", 0),
    "more rows in use than there are": counter(N_ITEMS, 10_000),
    "fewer rows held than there are": counter(N_HELD, -3),
    "another first block": counter(FIRST_BLOCK, 1),
    "counts beyond the sketch": high_count,
    "a view of fewer rows": replaced("model", values=less, mass=less),
    "a view of another precision": replaced("model", values=lambda a: a.astype(np.float64)),
}


def component(name, value):
    def tamper(model):
        put(getattr(model._state.model.components, name), 0, value)

    return tamper


def mixed(name, value):
    def tamper(model):
        put(getattr(model._state.model.cells, name), live(model), value)

    return tamper


def grow(**fields):
    return replaced("model", growth=lambda growth: growth._replace(**fields))


def fewer_gaussians(name):
    return replaced("model", **{name: lambda pool: type(pool)(*map(less, pool))})


def other_missing(model):
    missing = model._state.observed
    model._state.observed = missing._replace(model=None)


def fewer_seen(model):
    missing = model._state.observed
    seen = missing.model._replace(pooled=np.zeros((0, 2)))
    model._state.observed = missing._replace(model=seen)


def fewer_scores(model):
    model._state.conformity = type(model._state.conformity)(*map(less, model._state.conformity))


MIXTURE = {
    "a component that is none": component("next", 50),
    "a loop of components": component("next", 0),
    "a trial that is none": component("proposal", 50),
    "a chain of components that begins nowhere": mixed("first", 99),
    "another number of components": mixed("n", 2),
    "another last component": mixed("last", 90),
    "more components than room": grow(most=1),
    "more pairs of candidates": grow(pairs=6),
    "another number of columns": grow(n_numeric=9),
    "fewer Gaussians": fewer_gaussians("own"),
    "fewer candidates": fewer_gaussians("candidates"),
    "fewer factors": replaced("model", factor=less),
    "fewer leaves": replaced("model", fresh=less),
    "nothing of what is missing": other_missing,
    "missing values of fewer leaves": fewer_seen,
    "scores of fewer classes": fewer_scores,
}


def companion(model):
    model._head.columns = np.array([0, 5])


def companion_classes(model):
    beside = model._head.model
    beside._labels = Labels()
    beside._labels.add([0, 9])
    beside.classes_ = beside._labels.classes


def no_trees(model):
    model.trees_ = []


def odd_tree(model):
    model.trees_[1] = NCM()


def tree_of_other_labels(model):
    tree = model.trees_[1]
    tree._labels = Labels()
    tree._labels.add(reversed(model._labels.codes))


FOREST = {
    "columns that the discriminant has not": companion,
    "classes that the discriminant has not": companion_classes,
    "no tree": no_trees,
    "a tree that is none": odd_tree,
    "a tree with other labels": tree_of_other_labels,
    "masses of fewer classes": lambda model: setattr(model, "_masses", less(model._masses)),
}
CASES = {"gaussian": TREE, "sketch": SKETCH, "mixture": MIXTURE, "forest": FOREST}


@pytest.mark.parametrize(
    ("file", "name"), [(file, name) for file, cases in CASES.items() for name in cases]
)
def test_a_forged_model_is_refused(file, name, tmp_path):
    model = mist.load(FILES[file])
    CASES[file][name](model)
    save(model, tmp_path / "forged.mist")
    path = re.escape(str(tmp_path / "forged.mist"))
    with pytest.raises(ValueError, match=f"^{path}: "):
        mist.load(tmp_path / "forged.mist")


@pytest.mark.parametrize("name", ["NCM", "RLS", "SLDA", "SQDA"])
def test_a_forged_baseline_is_refused(name):
    model, others = load_with_attachment(FILES["methods"])
    model = {"NCM": model, **others}[name]
    validate_state(model)
    for field in model._state._fields:
        before = model._state
        for change in (less, lambda array: array.astype(np.complex128)):
            model._state = before._replace(**{field: change(getattr(before, field))})
            with pytest.raises(ValueError, match=f"State.{field}"):
                validate_state(model)
        model._state = before
    validate_state(model)


def test_the_models_are_sound_before_they_are_tampered_with():
    for file in FILES.values():
        validate_state(mist.load(file))


def test_trials_are_looked_at(tmp_path):
    # Trials of a leaf are trees of their own; here one that is not split stands for them.
    model = mist.load(FILES["gaussian"])
    trial = CandidateSplit(mist.load(FILES["gaussian"])._state, 0.1, np.ones(4), np.ones(1))
    model._state.candidate_splits = {0: CandidateSet(1, 20.0, np.zeros(2, np.bool_), (trial,))}
    validate_state(model)
    for change in (
        lambda: model._state.candidate_splits.update({7: model._state.candidate_splits[0]}),
        lambda: put(trial.state.tree.nodes.right, 0, 9),
        lambda: setattr(trial.state, "options", Options(*[0] * 11)),
        lambda: trial.capital.resize(3, refcheck=False),
    ):
        model._state.candidate_splits.pop(7, None)
        change()
        with pytest.raises(ValueError, match="not valid"):
            validate_state(model)


def encoder():
    """An encoder with a column of numbers, one of texts and a hashed one."""
    made = StreamEncoder(hashing={"word": 2}, standardise=True)
    rows = {"size": [1.0, 2.0], "coat": ["short", "long"], "word": ["a", "b"]}
    return made.learn_many(rows)


def other(**attributes):
    return lambda model: vars(model).update(attributes)


ENCODER = {
    "columns that are no list": other(_columns=("size", "coat", "word")),
    "a column twice": other(_columns=["size", "size", "word"]),
    "fewer columns than it counts": other(n_features_in_=2),
    "other names of columns": lambda model: put(model.feature_names_in_, 0, "width"),
    "a column it has not": lambda model: model._kinds.update(width="number"),
    "a column of an unknown kind": lambda model: model._kinds.update(size="date"),
    "fewer suffixes": lambda model: model._suffixes.pop(),
    "a suffix that is none": lambda model: put(model._suffixes, 0, 3),
    "fewer owners": lambda model: model._owners.pop(),
    "an owner that is another": lambda model: put(model._owners, 0, "coat"),
    "no places of a column": lambda model: model._places.pop("size"),
    "a place that is none": lambda model: put(model._places["size"], 0, 0.5),
    "a place below 0": lambda model: put(model._places["size"], 0, -5),
    "a place behind the last": lambda model: put(model._places["size"], 0, 5),
    "two places of a number": lambda model: model._places["size"].append(0),
    "a hashed column without places": lambda model: model._places["word"].clear(),
    "texts of no column": lambda model: model._codes.update(size={}),
    "no texts of a column": lambda model: model._codes.pop("coat"),
    "codes with gaps": lambda model: model._codes["coat"].update(long=2),
    "a text that is none": lambda model: put(model._codes, "coat", {1: 0, "long": 1}),
    "moments of texts": lambda model: model._moments.update(coat=[0.0, 0.0, 0.0]),
    "two moments": lambda model: model._moments["size"].pop(),
    "moments that are none": lambda model: put(model._moments["size"], 0, "one"),
}


@pytest.mark.parametrize("change", ENCODER.values(), ids=ENCODER)
def test_a_forged_encoder_is_refused(change, tmp_path):
    model = encoder()
    path = tmp_path / "forged.mist"
    save(model, path)
    assert mist.load(path).transform_one({"coat": "long"})["coat=long"] == 1.0
    change(model)
    save(model, path)
    with pytest.raises(ValueError, match=r"forged\.mist: the model in the file is not valid: "):
        mist.load(path)


@pytest.mark.parametrize(
    "parts", [{"encoder_": None}, {"encoder_": NCM(), "model_": NCM()}, {"model_": NCM()}]
)
def test_a_pipeline_without_one_of_its_parts_is_refused(parts):
    model = StreamPipeline(model=NCM())
    validate_state(model)
    vars(model).update(parts)
    with pytest.raises(ValueError, match="not valid: "):
        validate_state(model)


def test_every_estimator_in_files_brings_its_check():
    classes = [class_of(name) for name in CLASS_PATHS]
    estimators = [cls for cls in classes if issubclass(cls, BaseEstimator)]
    assert mist.MistClassifier in estimators
    for cls in estimators:
        assert cls._check_loaded is not Lockable._check_loaded, cls
