"""Small data sets that need no download."""

from mist.datasets.dataset import Dataset
from mist.datasets.loading import load

_NAMES = ("digits", "wine", "iris", "multimodal")


def load_toy(name: str) -> Dataset:
    """Load a small data set without a download.

    Parameters
    ----------
    name : {"digits", "wine", "iris", "multimodal"}
        The first three are bundled with scikit-learn; "multimodal" is made by
        `mist.datasets.make_multimodal` with its defaults.

    Returns
    -------
    Dataset
        The table with integer labels 0 to K - 1, as `mist.datasets.load` gives it.

    Raises
    ------
    ValueError
        If there is no such data set.

    Examples
    --------
    >>> from mist.datasets import load_toy
    >>> iris = load_toy("iris")
    >>> iris.X.shape, iris.class_names
    ((150, 4), ('setosa', 'versicolor', 'virginica'))
    """
    if name not in _NAMES:
        raise ValueError(f"no toy data set called {name!r}: choose one of {', '.join(_NAMES)}")
    return load(name)
