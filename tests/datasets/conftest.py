import os
import sys
from urllib.error import URLError

import pytest

from mist.datasets import REGISTRY, Entry

MIST_DATA = os.environ.get("MIST_DATA")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache folder, no MIST_DATA and no network."""
    monkeypatch.delenv("MIST_DATA", raising=False)
    variable = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    monkeypatch.setenv(variable, str(tmp_path / "cache"))

    def refuse(request, *_, **__):
        raise URLError("no network in tests")

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", refuse)
    # scikit-learn waits a second before each of its retries.
    monkeypatch.setattr("sklearn.datasets._openml.time.sleep", lambda seconds: None)
    return tmp_path / "cache" / "mist"


@pytest.fixture
def mist_data(monkeypatch):
    """The folder of reference copies; the test is skipped where there is none."""
    if not MIST_DATA:
        pytest.skip("MIST_DATA is not set: no reference copies of the data sets here")
    monkeypatch.setenv("MIST_DATA", MIST_DATA)


@pytest.fixture
def register(monkeypatch):
    """Add a made-up data set to the registry for the length of a test."""

    def add(**facts):
        entry = Entry(
            **{
                "name": "tiny",
                "title": "Tiny",
                "rows": 6,
                "columns": 3,
                "class_names": ("cat", "dog"),
                "labels": (1, 2),
                "counts": (4, 2),
                "n_train": 3,
                "train_counts": (2, 1),
                "columns_0_1": (2,),
                "source": "made up",
                "licence": "none",
                "citation": "nobody",
                "file": "tiny.npz",
                "openml_id": 7,
            }
            | facts
        )
        monkeypatch.setitem(REGISTRY, entry.name, entry)
        return entry

    return add
