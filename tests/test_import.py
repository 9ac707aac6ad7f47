import subprocess
import sys

import pytest

HEAVY = "matplotlib typer rich pandas pyarrow polars river"

LEARN = "from mist import MistClassifier; m = MistClassifier('sketch').fit([[0.0], [9.0]], [0, 1])"

WITHOUT = """
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in {names}:
            raise ModuleNotFoundError(name)
import sys
sys.meta_path.insert(0, Absent())
"""


def output(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def loaded_after(statement, names):
    """Which of the packages a fresh interpreter has loaded after the statement."""
    return output(
        f"{statement}\nimport sys; print(*[n for n in {names.split()} if n in sys.modules])"
    )


@pytest.mark.parametrize("statement", ["import mist", "import mist; mist.__version__; dir(mist)"])
def test_the_package_loads_light(statement):
    assert loaded_after(statement, f"numpy numba sklearn scipy {HEAVY}") == []


def test_the_classifier_loads_nothing_heavy_of_its_own():
    # scikit-learn loads pandas where it is installed.
    loaded_by_others = loaded_after("import sklearn.base, numba, scipy.special", HEAVY)
    loaded = loaded_after(f"{LEARN}; m.learn_one([2.0], 1).export_text()", HEAVY)
    assert set(loaded) <= set(loaded_by_others)


def test_the_classifier_works_where_the_heavy_packages_are_absent():
    code = f"{WITHOUT.format(names=HEAVY.split())}\n{LEARN}; print(m.predict([[8.0]]))"
    assert output(code) == ["[1]"]


def test_the_probe_sees_what_is_loaded():
    assert loaded_after("from mist import MistClassifier", "numba sklearn") == ["numba", "sklearn"]


def test_names_of_the_package():
    import mist

    assert {"MistClassifier", "MistForest"} <= set(dir(mist))
    assert mist.MistClassifier is mist.MistClassifier
    assert mist.MistForest is mist.MistForest
    assert mist.__version__.count(".") == 2
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        mist.Nonsense  # noqa: B018 - reading is the test


def test_the_package_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "mist", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[0] == "mist"
