"""Learning on a Dask cluster: the rows of every kind of data, rounds, and workers that die."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("distributed", reason="needs mist-tree[dask]")

import distributed

from material import by_trees
from mist import MistClassifier, MistForest, SplitTest
from mist.interop import dask as interop
from mist.interop.blocks import Block, as_blocks, cuts_of, read
from mist.interop.dask import fit_stream

COLUMNS = ["a", "b", "c"]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds of few rows are divided, too."""
    monkeypatch.setattr(interop, "_LEAST_PART", 500)


def rows(n: int = 6000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, n)
    X = rng.normal(size=(n, 3)) + np.array([[0, 0, 0], [6, 0, 0], [0, 6, 0], [6, 6, 3.0]])[y]
    return X, y


def model(**options: Any) -> MistClassifier:
    return MistClassifier.from_settings(leaf="gaussian", delta=0.5, tie_threshold=1.0, **options)


class Here:
    """A client that does everything at once, in this process."""

    def submit(self, function: Any, *args: Any, pure: bool) -> Here.Result:
        given = [arg.value if isinstance(arg, Here.Result) else arg for arg in args]
        return Here.Result(function(*given))

    def compute(self, wanted: Any) -> Any:
        if isinstance(wanted, list):
            return [each.compute(scheduler="synchronous") for each in wanted]
        return Here.Result(wanted.compute(scheduler="synchronous"))

    def gather(self, values: Any) -> Any:
        return values

    class Result:
        def __init__(self, value: Any) -> None:
            self.value = value

        def result(self) -> Any:
            return self.value


def parquet(folder: Path, sizes: tuple[int, ...], group: int, n: int = 6000) -> Path:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    X, y = rows(n)
    table, first = pd.DataFrame(X, columns=COLUMNS).assign(label=y), 0
    folder.mkdir()
    for number, size in enumerate(sizes):
        part = table[first : first + size]
        part.to_parquet(folder / f"{number}.parquet", row_group_size=group, index=False)
        first += size
    return folder


def test_the_same_model_however_the_rows_are_divided(tmp_path):
    da = pytest.importorskip("dask.array")
    X, y = rows()
    wanted = {"first_round": 2000, "parts": 4, "client": Here()}
    done: list[tuple[int, int]] = []
    whole = fit_stream(
        model(),
        da.from_array(X, chunks=6000),
        da.from_array(y, chunks=6000),
        progress=lambda *numbers: done.append(numbers),
        **wanted,
    )
    assert done == [(2000, 6000), (4000, 6000), (6000, 6000)]
    assert (whole.n_rows_, whole.n_leaves_ > 2) == (6000, True)
    expected = whole.predict_proba(X)
    cut = fit_stream(
        model(), da.from_array(X, chunks=(700, 2)), da.from_array(y, chunks=900), **wanted
    )
    np.testing.assert_array_equal(cut.predict_proba(X), expected)
    one = fit_stream(model(), parquet(tmp_path / "one", (6000,), 6000), target="label", **wanted)
    folder = parquet(tmp_path / "many", (1500, 0, 4000, 500), 640)
    many = fit_stream(model(), folder, target="label", **wanted)
    listed = fit_stream(model(), sorted(folder.glob("*")), target="label", **wanted)
    for each in (one, many, listed):
        assert each.feature_names_in_.tolist() == COLUMNS
        frame = pytest.importorskip("pandas").DataFrame(X, columns=COLUMNS)
        np.testing.assert_array_equal(each.predict_proba(frame), expected)


def test_frames_in_partitions():
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    X, y = rows(3000)
    frame = pd.DataFrame(X, columns=COLUMNS).assign(label=np.array(["p", "q", "r", "s"])[y])
    wanted = {"target": "label", "first_round": 1500, "client": Here()}
    one, many = (
        fit_stream(model(), dd.from_pandas(frame, npartitions=n), **wanted) for n in (1, 7)
    )
    assert many.classes_.tolist() == ["p", "q", "r", "s"]
    given = frame[COLUMNS]
    np.testing.assert_array_equal(many.predict_proba(given), one.predict_proba(given))


def test_close_to_rows_one_after_another():
    da = pytest.importorskip("dask.array")
    X, y = rows()
    apart = fit_stream(
        model(max_leaves=1), da.from_array(X), da.from_array(y), client=Here(), first_round=2000
    )
    alone = model(max_leaves=1).fit(X, y)
    # Without what each has learnt of how sure it may be.
    shares = [by_trees(each, X) for each in (apart, alone)]
    np.testing.assert_allclose(*shares, atol=1e-4)
    # It goes on where a model is, and so do forests.
    apart.partial_fit(X[:500], y[:500])
    fit_stream(apart, da.from_array(X[500:]), da.from_array(y[500:]), client=Here())
    assert apart.n_rows_ == 12_000
    forest = MistForest(model(), n_trees=2)
    fit_stream(forest, da.from_array(X), da.from_array(y), client=Here(), first_round=2000)
    assert forest.n_rows_ == 6000
    assert forest.score(X, y) > 0.98


def test_mixtures_go_on_in_every_part():
    da = pytest.importorskip("dask.array")
    rng = np.random.default_rng(1)
    y, mode = rng.integers(0, 2, 9000), rng.integers(0, 3, 9000)
    X = rng.normal(size=(9000, 2))
    X += 7.0 * np.column_stack([mode, (mode + y) % 2])
    alone = MistClassifier().fit(X, y)
    data = da.from_array(X, chunks=1000), da.from_array(y, chunks=1000)
    apart = fit_stream(MistClassifier(), *data, client=Here(), first_round=3000, parts=3)
    assert apart.score(X, y) > alone.score(X, y) - 0.005
    state = apart._state
    cells = range(2)
    # What parts began with is counted once.
    for cell in cells:
        assert state.model.cells.total[cell] == pytest.approx(state.tree.cells.mass[cell], rel=0.01)
    assert sum(state.tree.cells.mass[cell] for cell in cells) == 9000


def test_a_round_has_a_quarter_of_the_rows_before():
    ends = [last for _, last in interop._rounds(100_000, 10_000, 18_000)]
    assert ends == [10_000, 20_000, 30_000, 40_000, 50_000, 62_500, 78_125, 96_125, 100_000]
    assert [last for _, last in interop._rounds(100_000, 60_000, 25_000)] == [
        25_000,
        50_000,
        75_000,
        100_000,
    ]


@pytest.mark.parametrize("forest", [False, True])
def test_a_single_part_is_learnt_as_in_one_process(forest):
    da = pytest.importorskip("dask.array")
    X, y = rows(3000)
    rule = SplitTest("gap", delta=0.5, tie_threshold=1.0)

    def fresh() -> Any:
        tree = MistClassifier("gaussian", split_test=rule)
        return MistForest(tree, n_trees=2) if forest else tree

    apart, alone = fresh(), fresh().partial_fit(X, y)
    given = apart.get_params(deep=False)
    data = da.from_array(X, chunks=700), da.from_array(y, chunks=700)
    assert fit_stream(apart, *data, client=Here(), first_round=1000, parts=1) is apart
    assert all(apart.get_params(deep=False)[name] is value for name, value in given.items())
    np.testing.assert_array_equal(apart.predict_proba(X), alone.predict_proba(X))
    apart.partial_fit(X, y)
    alone.partial_fit(X, y)
    np.testing.assert_array_equal(apart.predict_proba(X), alone.predict_proba(X))


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
def test_a_worker_that_is_killed_costs_nothing(tmp_path):
    folder = parquet(tmp_path / "rows", (3000, 3000), 1000)
    wanted = {"target": "label", "first_round": 2000, "parts": 2}
    expected = fit_stream(model(), folder, client=Here(), **wanted)
    killed: list[int] = []

    def kill_one(done: int, total: int) -> None:
        if not killed:
            (killed[:],) = [[worker.pid for worker in cluster.workers.values()][:1]]
            os.kill(killed[0], signal.SIGKILL)

    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:
        got = fit_stream(model(), folder, client=client, progress=kill_one, **wanted)
    assert killed
    X = pytest.importorskip("pandas").DataFrame(rows()[0], columns=COLUMNS)
    assert got.n_rows_ == 6000
    np.testing.assert_array_equal(got.predict_proba(X), expected.predict_proba(X))


# --- data -------------------------------------------------------------------------------------


def test_cuts_follow_the_blocks():
    blocks = [Block(10, None), Block(5, None), Block(10, None)]
    assert cuts_of(blocks, 0, 25) == [(0, 0, 10), (1, 0, 5), (2, 0, 10)]
    assert cuts_of(blocks, 10, 15) == [(1, 0, 5)]
    assert cuts_of(blocks, 12, 16) == [(1, 2, 5), (2, 0, 1)]


def test_files_come_in_the_order_in_which_tables_are_read(tmp_path):
    pytest.importorskip("pyarrow")
    folder = parquet(tmp_path / "rows", (3, 2), 5)
    one, other = sorted(folder.glob("*.parquet"))
    one.rename(folder / "part-10.parquet")
    other.rename(folder / "part-9.pq")
    (folder / "_hidden.parquet").write_text("no rows")
    assert [block.rows for block in as_blocks(folder, None, "label", len)] == [2, 3]


def write(path: Path, table: Any, **options: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_parquet(path, **{"index": False, **options})


def in_folders(root: Path) -> tuple[Any, Path]:
    """A table, and the same rows in folders that name a column to learn and the label."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    X, y = rows(3000)
    table = pd.DataFrame(X, columns=COLUMNS).assign(year=2020 + y // 2, label=y)
    for (year, label), part in table.groupby(["year", "label"]):
        folder = root / f"year={year}" / f"label={label}"
        # The second file of each folder has its columns in another order.
        write(folder / "1.parquet", part[:300][["a", "b", "c"]])
        write(folder / "2.parquet", part[300:][["c", "a", "b"]], row_group_size=100)
    ordered = pd.concat([part for _, part in table.groupby(["year", "label"])])
    return ordered, root


def test_folders_name_columns_to_learn_and_the_label(tmp_path):
    table, root = in_folders(tmp_path / "rows")
    write(tmp_path / "one.parquet", table)
    wanted = {"target": "label", "first_round": 1000, "client": Here()}
    one = fit_stream(model(), tmp_path / "one.parquet", **wanted)
    many = fit_stream(model(), root, **wanted)
    assert many.feature_names_in_.tolist() == ["a", "b", "c", "year"]
    assert many.classes_.dtype.kind == "i"
    X = table[["a", "b", "c", "year"]]
    np.testing.assert_array_equal(many.predict_proba(X), one.predict_proba(X))
    # The column of the folders is the target, or one to learn.
    years = fit_stream(model(), root, **{**wanted, "target": "year"})
    assert years.classes_.tolist() == [2020, 2021]
    assert years.feature_names_in_.tolist() == ["a", "b", "c", "label"]


def test_labels_in_folders_may_be_texts_and_values_may_be_missing(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for kind, year in (("an%20oak", "2020"), ("NA", "__HIVE_DEFAULT_PARTITION__"), ("01", "2.5")):
        write(tmp_path / f"kind={kind}" / f"year={year}" / "1.parquet", pd.DataFrame({"a": [1.0]}))
    blocks = as_blocks(tmp_path, None, "kind", len)
    read_rows = [read(block.source, "kind", 0, 1) for block in blocks]
    assert [labels.tolist() for _, labels in read_rows] == [["01"], ["NA"], ["an oak"]]
    years = [X["year"].tolist()[0] for X, _ in read_rows]
    np.testing.assert_array_equal(years, [2.5, np.nan, 2020])


def test_a_column_of_the_file_has_priority_over_its_folder(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    write(tmp_path / "year=x" / "label=z" / "1.parquet", pd.DataFrame({"year": [7], "label": [1]}))
    (block,) = as_blocks(tmp_path, None, "label", len)
    X, labels = read(block.source, "label", 0, 1)
    assert (X.to_dict("list"), labels.tolist()) == ({"year": [7]}, [1])


def test_the_index_of_a_frame_is_no_column(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": [1.0, 2.0], "y": [0, 1]}, index=pd.Index([5, 6], name="id"))
    write(tmp_path / "1.parquet", frame, index=True)
    write(tmp_path / "2.parquet", frame)
    for block in as_blocks(tmp_path, None, "y", len):
        assert list(read(block.source, "y", 0, 2)[0].columns) == ["a"]


def test_folders_and_files_that_do_not_fit_are_refused(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    one, two = pd.DataFrame({"a": [1.0], "y": [0]}), pd.DataFrame({"b": [1.0], "c": [2], "y": [0]})
    sets: dict[str, tuple[dict[str, Any], str]] = {
        "files": ({"1": one, "2": two}, r"2\.parquet has no column 'a', which .*1\.parquet has"),
        "more": ({"1": one, "2": two[["y"]].assign(a=1, d=2, e=3)}, "no columns 'd', 'e', which"),
        "levels": ({"1": one, "k=1/1": one}, r"levels.1\.parquet has no column 'k', which"),
        "texts": (
            {"k=__HIVE_DEFAULT_PARTITION__/1": one, "k=oak/1": one},
            r"k=__HIVE.*1\.parquet: the folders of column 'k' have texts",
        ),
        "labels": ({"y=/1": one[["a"]], "y=1/1": one[["a"]]}, r"y=.1\.parquet: .* no label"),
        "amounts": ({"y=0.5/1": one[["a"]]}, "'y' holds numbers with decimals, such as '0.5'"),
    }
    for name, (files, message) in sets.items():
        for file, table in files.items():
            write(tmp_path / name / f"{file}.parquet", table)
        fresh = model()
        with pytest.raises(ValueError, match=message):
            fit_stream(fresh, tmp_path / name, target="y", client=Here())
        assert not hasattr(fresh, "classes_")


def test_what_is_refused(tmp_path):
    da = pytest.importorskip("dask.array")
    X, y = rows(100)
    good, empty = (da.from_array(X), da.from_array(y)), tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ValueError, match="no Dask client"):
        fit_stream(model(), *good)
    for words, data, options in (
        ("give target", (good[0],), {}),
        ("give target", good, {"target": "label"}),
        ("shape", (da.from_array(X), da.from_array(y[:50])), {}),
        ("there is no file", (tmp_path / "nothing",), {"target": "label"}),
        ("a folder without Parquet files", (empty,), {"target": "label"}),
        ("no column 'x'", (parquet(tmp_path / "rows", (50,), 50),), {"target": "x"}),
        ("parts=0", good, {"parts": 0}),
        ("largest_round=0", good, {"largest_round": 0}),
        ("rows to learn", (da.from_array(X[:0]), da.from_array(y[:0])), {}),
    ):
        fresh = model()
        with pytest.raises(ValueError, match=words):
            fit_stream(fresh, *data, client=Here(), **options)
        assert not hasattr(fresh, "classes_")
    (tmp_path / "text.parquet").write_text("no table")
    with pytest.raises(ValueError, match="is not a Parquet file"):
        as_blocks(tmp_path / "text.parquet", None, "label", len)
    with pytest.raises(TypeError, match="MistClassifier or a MistForest"):
        fit_stream(object(), *good, client=Here())


def test_a_model_that_learnt_on_a_cluster_predicts_the_next_of_the_stream() -> None:
    da = pytest.importorskip("dask.array")
    X, y = rows()
    learnt = fit_stream(
        model(), da.from_array(X, 1500), da.from_array(y, 1500), client=Here(), parts=2
    )
    x = np.array([3.0, 3.0, 0.5])
    shares = learnt.predict_proba([x], next_in_stream=True)[0]
    assert list(learnt.predict_proba_one(x).values()) == shares.tolist()
    assert learnt.predict_one(x) == learnt.predict([x], next_in_stream=True)[0]
    learnt.prequential(X[:200], np.full(200, 2))  # from now on one label comes
    of_table = learnt.predict_proba([x])[0]
    assert learnt.predict_proba_one(x)[2] > of_table[2]
