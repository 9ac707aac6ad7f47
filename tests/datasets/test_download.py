import gzip
import hashlib
from urllib.error import URLError

import numpy as np
import pytest
from openml_standin import COLUMNS, ROWS, answers, redirect, serve
from sklearn.datasets._base import RemoteFileMetadata
from typer.testing import CliRunner

from mist.cli import app
from mist.datasets import DatasetError, load


@pytest.fixture
def openml(monkeypatch):
    """Start the stand-in and point scikit-learn at it."""
    running = []

    def start(bodies=None, **options):
        server = serve(answers() if bodies is None else bodies, **options)
        address, asked = server.__enter__()
        running.append(server)
        redirect(monkeypatch, address)
        return asked

    yield start
    for server in running:
        server.__exit__(None, None, None)


def left_over(cache):
    return sorted(path.name for path in cache.rglob("*")) if cache.exists() else []


def assert_failed(cache, *parts):
    with pytest.raises(DatasetError) as caught:
        load("tiny")
    for part in ("'tiny'", "tiny.npz", "MIST_DATA", str(cache), *parts):
        assert part in str(caught.value)
    assert left_over(cache) == []


def test_a_missing_set_is_downloaded_and_kept(cache, openml, register):
    register()
    openml()
    data = load("tiny")
    # The nominal column of numbers keeps its numbers, not the codes 0, 1, 2.
    assert data.X.tolist() == [
        [0.5, 3, 1],
        [1.5, 1, 0],
        [2.5, 2, 1],
        [3.5, 3, 0],
        [4.5, 1, 0],
        [5.5, 2, 1],
    ]
    assert data.X.dtype == np.float64
    assert data.y.tolist() == [1, 2, 1, 1, 2, 1]
    assert data.feature_names == ("length", "day", "flag")
    assert data.class_names == ("cat", "dog")
    assert data.categorical.tolist() == [False, False, True]
    assert data.n_train == 3
    assert "downloaded from OpenML 7" in data.source
    assert left_over(cache) == ["tiny.npz"]


def test_the_second_load_needs_no_network_and_no_warning(openml, register, recwarn):
    register(sha256="0" * 64)
    asked = openml()
    first = load("tiny")
    n_asked = len(asked)
    second = load("tiny")
    assert len(asked) == n_asked > 0
    assert np.array_equal(first.X, second.X)
    assert np.array_equal(first.y, second.y)
    assert not [w for w in recwarn if w.category is UserWarning]


def test_whole_numbers_are_stored_small(cache, openml, register):
    register(columns=1, rows=3, counts=(2, 1), n_train=None, columns_0_1=())
    columns = {"length": "numeric", "class": "{cat,dog}"}
    openml(answers(("-3,cat", "200,dog", "7,cat"), columns))
    assert load("tiny").X[:, 0].tolist() == [-3, 200, 7]
    with np.load(cache / "tiny.npz") as archive:
        assert archive["X"].dtype == np.int16
        assert archive["y"].dtype == np.uint8


def test_the_training_part_is_dropped_when_the_rows_come_in_another_order(openml, register):
    register()
    openml(answers(ROWS[::-1]))
    assert load("tiny").n_train == 3
    register(train_counts=(3, 0), name="other", file="other.npz")
    assert load("other").n_train is None


@pytest.mark.parametrize("texts", ["1,2", "'1.','2.'"])
def test_classes_may_be_numbers(openml, register, texts):
    one, two = texts.split(",")
    register()
    rows = [row.replace("cat", one).replace("dog", two) for row in ROWS]
    openml(answers(rows, COLUMNS | {"class": f"{{{texts}}}"}))
    assert load("tiny").y.tolist() == [1, 2, 1, 1, 2, 1]


def test_numbers_of_classes_may_start_elsewhere(openml, register):
    register(labels=(0, 1), openml_first=1)
    rows = [row.replace("cat", "1").replace("dog", "2") for row in ROWS]
    openml(answers(rows, COLUMNS | {"class": "{1,2}"}))
    assert load("tiny").y.tolist() == [0, 1, 0, 0, 1, 0]


def test_a_server_error_is_told_with_the_way_out(cache, openml, register):
    register()
    openml(status=500)
    assert_failed(cache, "OpenML 7", "500", "try again later")


def test_a_set_that_the_server_does_not_know(cache, openml, register):
    register(openml_id=8)
    openml()
    assert_failed(cache, "OpenML 8", "404")


def test_without_network(cache, register):
    register()
    assert_failed(cache, "no network in tests")


@pytest.mark.parametrize(
    ("rows", "found"),
    [(ROWS[:5], "found (5, 3)"), ([r.replace("dog", "cat") for r in ROWS], "found labels [1]")],
)
def test_another_table_is_refused(cache, openml, register, rows, found):
    register()
    openml(answers(rows))
    assert_failed(cache, "returned other data", found.removeprefix("found labels "))


def test_wrong_class_counts_are_refused(cache, openml, register):
    register(counts=(3, 3))
    openml()
    assert_failed(cache, "returned other data", "expected class counts [3, 3], found [4, 2]")


def test_an_unknown_class_is_refused(cache, openml, register):
    register(class_names=("cat", "cow"))
    openml()
    assert_failed(cache, "class 'dog' is not one of")


@pytest.mark.parametrize("cut", ["download", "features"])
def test_a_connection_that_breaks_leaves_nothing(cache, openml, register, cut):
    register()
    openml(cut=cut)
    assert_failed(cache, "OpenML 7")


def test_other_bytes_than_announced_leave_nothing(cache, openml, register):
    register()
    bodies = answers()
    for path in bodies:
        if "download" in path:
            bodies[path] = bodies[path].replace(b"0.5", b"0.6")
    openml(bodies)
    assert_failed(cache, "md5")


def test_stopping_the_download_leaves_nothing(cache, register, monkeypatch):
    register()

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", stop)
    with pytest.raises(KeyboardInterrupt):
        load("tiny")
    assert left_over(cache) == []


def test_stopping_while_the_file_is_written_leaves_nothing(cache, openml, register, monkeypatch):
    register()
    openml()

    def stop(file, **_):
        file.write(b"PK half of it")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("numpy.savez_compressed", stop)
        with pytest.raises(KeyboardInterrupt):
            load("tiny")
    assert left_over(cache) == []
    assert load("tiny").X.shape == (6, 3)


def test_a_set_without_public_copy_says_where_its_file_belongs(cache):
    with pytest.raises(DatasetError, match="scikit-learn has no public copy") as caught:
        load("outdoor")
    for part in ("outdoor.npz", "MIST_DATA (not set)", str(cache), "vlosing/driftDatasets"):
        assert part in str(caught.value)


def test_progress_is_shown_on_a_terminal(openml, register, monkeypatch, capsys):
    register()
    openml()
    monkeypatch.setenv("FORCE_COLOR", "1")
    load("tiny")
    assert "Tiny from OpenML 7" in capsys.readouterr().err


def test_progress_is_silent_elsewhere(openml, register, capsys):
    register()
    openml()
    load("tiny")
    assert capsys.readouterr() == ("", "")


def test_get_downloads_and_then_finds(cache, openml, register):
    register()
    asked = openml()
    first = CliRunner().invoke(app, ["data", "get", "tiny"])
    assert (first.exit_code, first.output) == (0, f"tiny: fetched into {cache / 'tiny.npz'}\n")
    n_asked = len(asked)
    second = CliRunner().invoke(app, ["data", "get", "tiny"])
    assert second.output == f"tiny: nothing to fetch ({cache / 'tiny.npz'})\n"
    assert len(asked) == n_asked


def test_get_goes_on_after_a_failure(openml, register):
    register()
    openml()
    outcome = CliRunner().invoke(app, ["data", "get", "outdoor", "tiny"])
    assert outcome.exit_code == 2
    assert outcome.stdout.startswith("tiny: fetched into ")
    assert outcome.stderr.startswith("error: data set 'outdoor' is not here")
    assert len(outcome.stderr.splitlines()) == 1


def point_archive(monkeypatch, module, name, address, body):
    """Let one of scikit-learn's own fetchers read `body` from the stand-in."""
    archive = RemoteFileMetadata(
        filename=f"{name}.gz", url=f"{address}/{name}", checksum=hashlib.sha256(body).hexdigest()
    )
    monkeypatch.setattr(f"sklearn.datasets.{module}", archive)


def test_kddcup_texts_become_0_1_columns(monkeypatch, register):
    numbers = ",".join(["1"] * 20 + ["0.25"] * 7 + ["1", "2"] + ["0.5"] * 8)
    lines = [
        f"5,tcp,http,SF,{numbers},normal.\n",
        f"6,udp,http,SF,{numbers},smurf.\n",
        f"7,tcp,smtp,S0,{numbers},normal.\n",
    ]
    body = gzip.compress("".join(lines).encode())
    register(
        name="kdd",
        file="kdd.npz",
        rows=3,
        columns=41,
        class_names=("normal", "smurf"),
        labels=(0, 1),
        counts=(2, 1),
        n_train=None,
        train_counts=None,
        columns_0_1=(6,),
        openml_id=None,
        fetcher="fetch_kddcup99",
    )
    with serve({"/kdd": body}) as (address, _):
        point_archive(monkeypatch, "_kddcup99.ARCHIVE_10_PERCENT", "kdd", address, body)
        data = load("kdd")
    assert data.feature_names[:7] == (
        "duration",
        "protocol_type=tcp",
        "protocol_type=udp",
        "service=http",
        "service=smtp",
        "flag=S0",
        "flag=SF",
    )
    assert data.X[:, :7].tolist() == [
        [5, 1, 0, 1, 0, 0, 1],
        [6, 0, 1, 1, 0, 0, 1],
        [7, 1, 0, 0, 1, 1, 0],
    ]
    assert data.X.shape == (3, 44)
    assert data.X[0, 7:].tolist() == [float(text) for text in numbers.split(",")]
    assert data.y.tolist() == [0, 1, 0]
    assert np.flatnonzero(data.categorical).tolist() == [1, 2, 3, 4, 5, 6, 9]


def test_covertype_comes_from_scikit_learns_own_fetcher(cache, monkeypatch, register):
    table = np.arange(4 * 55).reshape(4, 55) % 7 + 1
    table[:, -1] = [1, 2, 2, 1]
    text = "\n".join(",".join(map(str, row)) for row in table.tolist())
    body = gzip.compress(text.encode())
    register(
        name="forest",
        file="forest.npz",
        rows=4,
        columns=54,
        counts=(2, 2),
        n_train=2,
        train_counts=(1, 1),
        columns_0_1=range(10, 54),
        openml_id=None,
        fetcher="fetch_covtype",
    )
    with serve({"/forest": body}) as (address, _):
        point_archive(monkeypatch, "_covtype.ARCHIVE", "forest", address, body)
        data = load("forest")
    assert np.array_equal(data.X, table[:, :-1])
    assert data.y.tolist() == [1, 2, 2, 1]
    assert data.n_train == 2
    assert data.feature_names[0] == "Elevation"
    assert left_over(cache) == ["forest.npz"]


def test_an_unreachable_archive_is_an_error_too(monkeypatch, cache):
    def refuse(*_, **__):
        raise URLError("no network in tests")

    monkeypatch.setattr("sklearn.datasets._base.urlretrieve", refuse)
    with pytest.raises(DatasetError, match=r"'covertype'.*fetch_covtype"):
        load("covertype")
    assert left_over(cache) == []
