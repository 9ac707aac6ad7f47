"""Numbered versions of a model: saving, going back, comparing, removing."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest

from mist import MistClassifier, MistForest
from mist.persistence import Store, load
from mist.persistence import store as store_module
from mist.preprocessing import StreamPipeline


def tree(*labels: str) -> MistClassifier:
    """A tree that has learnt one row of each label."""
    X = 10.0 * np.arange(len(labels))[:, None]
    return MistClassifier.paper("G").partial_fit(X, list(labels))


def test_versions_are_numbered_and_say_what_they_hold(tmp_path):
    store, model = Store(tmp_path / "store"), tree("a", "b")
    assert store.list() == []
    assert store.current is None
    first = store.save(model, accuracy=0.5, note="the first")
    second = store.save(model.partial_fit([[20.0], [21.0]], ["c", "c"]))
    assert [first, second] == list(store.list())
    assert (first.number, first.rows, first.classes, first.leaves) == (1, 2, ("a", "b"), 1)
    assert (first.accuracy, first.note, first.parent) == (0.5, "the first", None)
    assert first.model == "MistClassifier"
    assert (second.number, second.rows, second.classes, second.parent) == (2, 4, ("a", "b", "c"), 1)
    assert second.accuracy is None
    assert second.nbytes == model.nbytes
    difference = store.diff(1)
    assert difference.classes_added == ("c",)
    assert difference.classes_gone == ()
    assert (difference.rows, difference.leaves, difference.accuracy) == (2, 0, None)
    assert store.diff(2, 1).classes_gone == ("c",)


def test_a_loaded_version_goes_on_like_the_model_that_was_saved(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 3, 300)
    model = MistClassifier.paper("G").partial_fit(X[:200], y[:200])
    store = Store(tmp_path)
    store.save(model, attachment={"row": 200})
    found = store.load_with_attachment()
    assert found.attachment == {"row": 200}
    later = found.model.partial_fit(X[200:], y[200:]).predict_proba(X)
    np.testing.assert_array_equal(later, model.partial_fit(X[200:], y[200:]).predict_proba(X))


def test_a_rollback_changes_what_is_current_and_removes_nothing(tmp_path):
    store = Store(tmp_path)
    for labels in (("a",), ("a", "b"), ("a", "b", "c")):
        store.save(tree(*labels))
    store.tag("good", 2)
    assert store.rollback("good").tags == ("good",)
    assert store.current == 2
    assert Store(tmp_path).load().classes_.tolist() == ["a", "b"]
    assert store.load(3).classes_.tolist() == ["a", "b", "c"]
    assert store.save(tree("d")).parent == 2
    assert store.current == 4


def test_the_last_versions_stay_and_those_with_a_tag(tmp_path):
    store = Store(tmp_path, keep=2)
    store.save(tree("a"))
    store.tag("release")
    for label in "bcde":
        store.save(tree(label))
    assert [version.number for version in store.list()] == [1, 4, 5]
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["lock", *(f"version-00000{k}.mist" for k in (1, 4, 5)), "versions.json"]
    store.untag("release")
    store.save(tree("f"))
    assert [version.number for version in store.list()] == [5, 6]
    store.rollback(5)
    # The version before stays current until the new one is complete; then it is one of the last.
    assert [store.save(tree("g")).parent, store.current] == [5, 7]
    assert [version.number for version in store.list()] == [6, 7]


@pytest.mark.parametrize("at", ["model", "index"])
def test_a_save_that_fails_leaves_the_versions_of_before(tmp_path, monkeypatch, at):
    store = Store(tmp_path)
    store.save(tree("a"))

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    name = "save" if at == "model" else "replacing"
    monkeypatch.setattr(store_module, name, fail)
    with pytest.raises(OSError, match="No space left"):
        store.save(tree("b"))
    monkeypatch.undo()
    assert [version.classes for version in store.list()] == [("a",)]
    assert store.load().classes_.tolist() == ["a"]
    # The file of a save that was cut short keeps its number, and is removed by the next one.
    after = store.save(tree("c")).number
    assert after == (2 if at == "model" else 3)
    assert len(list(tmp_path.glob("*.mist"))) == 2


def test_versions_whose_index_is_gone_are_not_removed(tmp_path, monkeypatch):
    store = Store(tmp_path)

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store_module, "replacing", fail)
    for _ in range(2):
        with pytest.raises(OSError, match="No space left"):
            store.save(tree("a"))
    monkeypatch.undo()
    # A first save that was cut short is no loss.
    assert store.list() == []
    assert [store.save(tree(label)).number for label in "bc"] == [1, 2]
    (tmp_path / "versions.json").unlink()
    with pytest.raises(ValueError, match=r"versions\.json is missing.*load version-000002\.mist"):
        store.save(tree("d"))
    assert len(list(tmp_path.glob("*.mist"))) == 2


def test_files_are_ordinary_model_files(tmp_path):
    Store(tmp_path).save(tree("a", "b"))
    assert load(tmp_path / "version-000001.mist").classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "model",
    [
        MistForest(MistClassifier.paper("G"), n_trees=2),
        StreamPipeline(model=MistClassifier.paper("G")),
    ],
    ids=["forest", "pipeline"],
)
def test_forests_and_pipelines(tmp_path, model):
    if isinstance(model, MistForest):
        model.partial_fit([[0.0], [9.0]], [0, 1])
    else:
        model.learn_many({"x": [0.0, 9.0]}, [0, 1])
    version = Store(tmp_path).save(model)
    assert version.classes == ("0", "1")
    assert version.rows == 2
    assert version.nbytes == getattr(model, "model_", model).nbytes


def test_a_model_that_has_learnt_nothing(tmp_path):
    version = Store(tmp_path).save(MistClassifier())
    assert (version.rows, version.classes, version.leaves) == (None, (), None)


def test_errors_name_what_there_is(tmp_path):
    store = Store(tmp_path / "s")
    with pytest.raises(ValueError, match="has no current version: it is empty, save a model first"):
        store.load()
    store.save(tree("a"))
    store.tag("good")
    with pytest.raises(ValueError, match="has no version 7: it has 1, tags good"):
        store.load(7)
    with pytest.raises(ValueError, match="has no version 'bad': it has 1, tags good"):
        store.rollback("bad")
    with pytest.raises(ValueError, match="no version has the tag 'bad'"):
        store.untag("bad")
    with pytest.raises(ValueError, match="is no tag"):
        store.tag(" ")
    with pytest.raises(ValueError, match="keep=0"):
        Store(tmp_path, keep=0)
    with pytest.raises(ValueError, match="accuracy=nan"):
        store.save(tree("a"), accuracy=float("nan"))
    with pytest.raises(TypeError, match="not a model"):
        store.save("text")
    assert len(store.list()) == 1


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": 2}', '{"format": 1, "versions": [{}], "tags": {}}']
)
def test_an_index_of_something_else_is_refused(tmp_path, text):
    Path(tmp_path, "versions.json").write_text(text)
    with pytest.raises(ValueError, match=r"versions\.json is not the index of a store"):
        Store(tmp_path).list()


def test_the_index_is_plain_json(tmp_path):
    Store(tmp_path).save(tree("a"), accuracy=np.float64(0.25))
    index = json.loads(Path(tmp_path, "versions.json").read_text())
    assert index["versions"][0]["accuracy"] == 0.25
    assert index["current"] == 1


def test_writers_wait_for_each_other(tmp_path, monkeypatch):
    begun, numbers = threading.Event(), []
    write = store_module.save

    def slow(model: Any, path: Path, **options: Any) -> None:
        numbers.append(int(path.stem[-6:]))
        begun.set()
        sleep(0.2)
        write(model, path, **options)

    monkeypatch.setattr(store_module, "save", slow)
    thread = threading.Thread(target=Store(tmp_path, keep=1).save, args=(tree("a"),))
    thread.start()
    assert begun.wait(60)
    second = Store(tmp_path, keep=1).save(tree("b"))
    thread.join()
    assert numbers == [1, 2]
    assert second.parent == 1
    assert [version.number for version in Store(tmp_path).list()] == [2]
    assert Store(tmp_path).load().classes_.tolist() == ["b"]


def test_a_folder_that_is_held_is_changed_by_its_holder_only(tmp_path):
    holder, other = Store(tmp_path), Store(tmp_path)
    holder.save(tree("a"))
    holder.tag("good")
    holder.hold("a run")
    refused = pytest.raises(ValueError, match=r"is in use by a run \(process \d+\): stop it first")
    for change in (
        lambda: other.save(tree("b")),
        lambda: other.tag("bad"),
        lambda: other.untag("good"),
        lambda: other.rollback(1),
        lambda: other.hold("another"),
    ):
        with refused:
            change()
    assert other.load().classes_.tolist() == ["a"]
    assert holder.save(tree("c")).number == 2
    holder.release()
    assert other.rollback(1).tags == ("good",)


def test_files_with_later_numbers_are_not_removed(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.save(tree("a"))
    write = store_module.save

    def save(model: Any, path: Path, **options: Any) -> None:
        write(model, path, **options)
        write(model, path.with_name("version-000007.mist"))

    monkeypatch.setattr(store_module, "save", save)
    store.save(tree("b"))
    assert len(list(tmp_path.glob("*.mist"))) == 3


def test_a_version_without_its_file_is_named(tmp_path):
    store = Store(tmp_path)
    for label in "abc":
        store.save(tree(label))
    (tmp_path / "version-000003.mist").unlink()
    with pytest.raises(
        ValueError, match=r"version 3 in .* has no file: restore version-000003"
    ) as e:
        store.load()
    assert "go back to a version that has one: 1, 2" in str(e.value)
    assert store.load(2).classes_.tolist() == ["b"]
    for number in (1, 2):
        (tmp_path / f"version-00000{number}.mist").unlink()
    with pytest.raises(ValueError, match="or give another folder"):
        store.load(1)


def test_a_version_that_is_removed_while_it_is_loaded(tmp_path, monkeypatch):
    store = Store(tmp_path, keep=1)
    store.save(tree("a"))
    read = store_module.load_with_attachment

    def late(path: Path) -> Any:
        monkeypatch.setattr(store_module, "load_with_attachment", read)
        Store(tmp_path, keep=1).save(tree("b"))
        return read(path)

    monkeypatch.setattr(store_module, "load_with_attachment", late)
    assert store.load().classes_.tolist() == ["b"]


def test_what_a_saver_says_of_a_version(tmp_path):
    store = Store(tmp_path)
    assert store.save(tree("a"), about={"columns": ("x",)}).about == {"columns": ["x"]}
    assert store.save(tree("b"), anew=True).parent is None
    with pytest.raises(TypeError, match="not JSON serializable"):
        store.save(tree("c"), about={"model": object()})
    assert [version.about for version in store.list()] == [{"columns": ["x"]}, {}]
    # The first indexes had no such entry.
    path = tmp_path / "versions.json"
    index = json.loads(path.read_text())
    for entry in index["versions"]:
        del entry["about"]
    path.write_text(json.dumps(index))
    assert [version.about for version in store.list()] == [{}, {}]


def test_a_change_of_nothing_makes_no_folder(tmp_path):
    with pytest.raises(ValueError, match="it is empty"):
        Store(tmp_path / "typo").rollback(1)
    assert not (tmp_path / "typo").exists()
