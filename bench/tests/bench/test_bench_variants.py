import pytest

from mist_bench.methods import METHODS, make
from mist_bench.suites import SETTINGS


def test_a_variant_of_a_baseline():
    assert make("slda+shrinkage=0.5").shrinkage == 0.5
    assert METHODS["slda+shrinkage=0.5"].group == "other"
    assert METHODS["mist-g+delta=0.2"].group == "ours"


@pytest.mark.parametrize("protocol", ["honest", "paper"])
def test_a_variant_of_a_data_set(protocol):
    setting = SETTINGS["random_means+n_classes=25"]
    assert setting.load_options(7, protocol) == {"n_classes": 25, "seed": 7}
    assert setting.title == "Random means, n_classes=25"
    assert SETTINGS["covertype+per_class=10"].load_options(7, "paper") == {"per_class": 10}
    assert SETTINGS["mnist+pca=3"].load_options(7, protocol)["pca"] == 3


@pytest.mark.parametrize(
    ("table", "name"),
    [
        (METHODS, "mist-g+random_state=7"),
        (METHODS, "mist-g+categorical_features=[0]"),
        (METHODS, "pec+random_state=7"),
        (SETTINGS, "ring+seed=3"),
        (SETTINGS, "ring+name=wine"),
    ],
)
def test_what_a_run_gives_is_no_option(table, name):
    with pytest.raises(ValueError, match="no option of"):
        table[name]


@pytest.mark.parametrize(
    ("table", "name", "nearest"),
    [
        (METHODS, "mist-g+sketchsize=16", "sketch_size"),
        (METHODS, "slda+shrinkagge=1", "shrinkage"),
        (SETTINGS, "random_means+nclasses=3", "n_classes"),
    ],
)
def test_an_option_that_is_not_there(table, name, nearest):
    with pytest.raises(ValueError, match=f"The nearest is '{nearest}'"):
        table[name]
