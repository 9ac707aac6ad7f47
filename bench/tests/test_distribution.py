"""What bench/pyproject.toml says."""

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from mist.persistence.class_paths import ELSEWHERE

BENCH = Path(__file__).parents[1]


def project_of(folder):
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


POINTS = [
    EntryPoint(name, value, group)
    for group, values in project_of(BENCH)["entry-points"].items()
    for name, value in values.items()
]


def test_both_distributions_have_one_version():
    version = project_of(BENCH.parent)["version"]
    assert project_of(BENCH)["version"] == version
    assert f"mist-tree=={version}" in project_of(BENCH)["dependencies"]


@pytest.mark.parametrize("point", POINTS, ids=lambda point: f"{point.group}:{point.name}")
def test_what_an_entry_point_names_is_there(point):
    point.load()


def test_the_library_knows_which_classes_are_here():
    assert {point.name for point in POINTS if point.group == "mist.classes"} == ELSEWHERE
