import inspect
import re

import pytest

from mist.datasets import load
from mist.datasets.catalogue import find_entry
from mist.datasets.loading import _check_options
from mist.evaluation import ClassIncrementalStream
from mist_bench import SEEDS, SETTINGS, SUITES, Run, default_methods, plan
from mist_bench.methods import METHODS
from mist_bench.suites import PROTOCOLS, find_generator, find_setting

STREAM_OPTIONS = set(inspect.signature(ClassIncrementalStream).parameters)
LOAD_OPTIONS = set(inspect.signature(load).parameters)


def test_order_keeps_the_methods_of_one_stream_together():
    runs = plan(methods=["slda", "ncm"], datasets=["wine", "iris"], seeds=[7, 3], protocol="paper")
    assert runs == [
        Run(dataset, method, seed, "paper")
        for dataset in ("wine", "iris")
        for seed in (7, 3)
        for method in ("slda", "ncm")
    ]
    assert runs[0].key == "paper/wine/slda/7"


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_without_names(suite):
    runs = plan(suite)
    methods = default_methods(suite)
    assert len(runs) == len(set(runs)) == len(SUITES[suite]) * len(methods) * len(SEEDS)
    assert tuple(dict.fromkeys(run.dataset for run in runs)) == SUITES[suite]
    assert {run.seed for run in runs} == set(SEEDS)
    assert {run.protocol for run in runs} == {"honest"}
    assert len({run.key for run in runs}) == len(runs)


def test_default_methods():
    for suite in SUITES:
        groups = {METHODS[name].group for name in default_methods(suite)}
        assert groups == {"ours", "tree", "other"}
        assert ("no-change" in default_methods(suite)) == (suite == "drift")
    ours = ["mist", "mist-g", "mist-forest"]
    assert default_methods("drift") == [*ours, "hat", "arf", "no-change"]
    assert not any(METHODS[name].needs for name in default_methods("quick"))
    assert set(default_methods("standard")) - set(default_methods("quick")) == {
        name for name, method in METHODS.items() if method.needs
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"suite": "quik"}, "no suite called 'quik': choose one of quick, .*nearest is 'quick'"),
        ({"protocol": "honets"}, "no protocol called 'honets': .* nearest is 'honest'"),
        ({"methods": ["mist-q"]}, "no method called 'mist-q': .* nearest is 'mist'"),
        ({"datasets": ["iriss"]}, "no data set in the grid called 'iriss': .*nearest is 'iris'"),
        ({"methods": ["ncm", "slda", "ncm"]}, "method 'ncm' is chosen twice"),
        ({"datasets": ["iris", "iris"]}, "data set 'iris' is chosen twice"),
        ({"seeds": [1, 2, 1]}, "seed 1 is chosen twice"),
        ({"methods": []}, "no method is chosen"),
        ({"datasets": []}, "no data set is chosen"),
        ({"seeds": []}, "no seed is chosen"),
        ({"seeds": [1, -1]}, "seed -1 must be between 0 and 4294967295"),
        ({"seeds": [2**32]}, "seed 4294967296 must be between"),
    ],
)
def test_a_wrong_plan(options, message):
    with pytest.raises(ValueError, match=message):
        plan(**options)


def test_streams_in_their_own_order_are_not_prepared_as_in_the_paper():
    with pytest.raises(ValueError, match=r"sea keeps its own order.*use honest"):
        plan(datasets=["iris", "sea"], protocol="paper")


@pytest.mark.parametrize("name", SUITES["drift"])
def test_streams_in_their_own_order_have_a_table_or_a_generator(name):
    setting = find_setting(name)
    assert setting.dataset or setting.generator
    if setting.dataset:
        find_entry(setting.dataset)
    options = setting.load_options(5, "honest")
    if setting.generator:
        assert options.pop("seed", None) == (5 if setting.drawn else None)
        assert set(options) <= set(inspect.signature(find_generator(setting)).parameters)
    else:
        assert options == {}
    stream = setting.stream_options("honest", METHODS["ncm"])
    assert stream["order"] == "natural"
    assert stream == setting.stream_options("honest", METHODS["mist"])


def test_variants_of_generators_have_their_options():
    assert SETTINGS["sea+noise=0.2"].title == "SEA, noise=0.2"
    assert SETTINGS["sea+noise=0.2"].load_options(3, "honest") == {"noise": 0.2, "seed": 3}
    assert SETTINGS["letter_moved+classes_per_task=3"].changed == {"classes_per_task": 3}
    for name in (
        *("sea+seed=1", "sea+rows=10", "letter_moved+X=1", "electricity_in_order+noise=1"),
        "segment_in_order+name=bananas",
    ):
        with pytest.raises(ValueError, match="no option of"):
            SETTINGS[name]


@pytest.mark.parametrize("name", SUITES["all"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_setting_names_a_set_and_options_that_apply(name, protocol):
    setting = find_setting(name)
    entry = find_entry(setting.dataset)
    options = setting.load_options(5, protocol)
    assert set(options) <= LOAD_OPTIONS
    own = {key: value for key, value in options.items() if key not in ("rows", "seed")}
    _check_options(entry, **own)
    if entry.kind == "generated":
        assert options == {"seed": 5}
    if "rows" in options:
        assert options["seed"] == 5
        assert options["rows"] < entry.rows
    for method in (METHODS["mist-g"], METHODS["slda"], METHODS["ncm"]):
        stream = setting.stream_options(protocol, method)
        assert set(stream) <= STREAM_OPTIONS
        assert stream["protocol"] == protocol
        assert ("n_tasks" in stream) != ("classes_per_task" in stream)
        in_paper = setting.paper_scale and method.group == "other"
        assert stream["scale"] is (in_paper if protocol == "paper" else method.scale)


def test_settings_have_titles_of_their_own_and_classes_enough():
    assert len({setting.title for setting in SETTINGS.values()}) == len(SETTINGS)
    for name in SUITES["drift"]:
        assert re.fullmatch(r"[a-z0-9_]+", name)
    for name in SUITES["all"]:
        setting = SETTINGS[name]
        classes = 6 if name == "hapt" else find_entry(setting.dataset).n_classes
        assert classes // setting.classes_per_task >= 2
        if setting.paper_tasks is not None:
            assert 2 <= setting.paper_tasks <= classes
        # Keys are names of files and parts of ids.
        assert re.fullmatch(r"[a-z0-9_]+", name)


def test_suites():
    assert dict(SUITES) == {
        "quick": ("iris", "wine", "digits", "synth10", "multimodal"),
        "standard": (
            "synth10",
            "synth50",
            "wine",
            "iris",
            "covertype",
            "mnist",
            "pendigits",
            "shuttle",
            "letter",
            "hapt",
        ),
        "stress": (
            "antipodal",
            "multimodal",
            "ring",
            "skewed",
            "heavy_tail",
            "noisy_features",
            "concept_drift",
            "angular_sectors",
        ),
        "real": (
            "wine",
            "iris",
            "pendigits",
            "letter",
            "shuttle",
            "covertype",
            "mnist",
            "hapt",
            "optdigits",
            "satimage",
        ),
        "unseen": ("fashion_mnist", "outdoor", "electricity", "kddcup99_10pct", "isolet_1_5"),
        "drift": tuple(name for name in SETTINGS if SETTINGS[name].order == "natural"),
        "all": tuple(name for name in SETTINGS if SETTINGS[name].order == "tasks"),
    }
    assert len(SUITES["drift"]) == 31
    for names in SUITES.values():
        assert len(set(names)) == len(names)
        assert set(names) <= set(SETTINGS)
    assert not set(SUITES["standard"]) & set(SUITES["stress"])
    assert {find_entry(SETTINGS[name].dataset).kind for name in SUITES["quick"]} == {
        "bundled",
        "generated",
    }
    assert {find_entry(SETTINGS[name].dataset).kind for name in SUITES["stress"]} == {"generated"}


def test_an_unknown_setting():
    with pytest.raises(ValueError, match=r"choose one of synth10, .* The nearest is 'letter'\."):
        find_setting("leter")
