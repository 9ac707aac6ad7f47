"""Loading data sets by name."""

import warnings
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mist.datasets.cache import DOWNLOADED, DatasetError, locate, read, verify
from mist.datasets.catalogue import Entry, find_entry
from mist.datasets.dataset import Dataset
from mist.datasets.download import download
from mist.datasets.generated import generate
from mist.datasets.projection import head_of_stream, project

_WHITE = 255.0
_BASIC_ACTIVITIES = 6


def load(
    name: str,
    *,
    rows: int | None = None,
    seed: int | None = None,
    pca: int | None = None,
    basic: bool = False,
    n_classes: int | None = None,
    per_class: int | None = None,
) -> Dataset:
    r"""Load a data set by name; download it if necessary.

    Three sets are bundled with scikit-learn and the synthetic ones are made from a seed. All others
    are ``.npz`` files, searched in the folder named by the environment variable ``MIST_DATA`` and
    then in the cache folder of the user (``$XDG_CACHE_HOME/mist`` or ``~/.cache/mist``,
    ``%LOCALAPPDATA%\mist`` on Windows). A file that is in neither is downloaded through
    scikit-learn, if it has a public copy, and stored in the cache folder.

    Parameters
    ----------
    name : str
        One of `mist.datasets.REGISTRY`, or a set that an installed package adds.
    rows : int or None, default=None
        Number of rows to use. Rows of a real set are drawn with `seed`, without replacement, and
        stay in the order of the table; a synthetic set is made in this size.
    seed : int or None, default=None
        Seed of the drawn rows, or of the synthetic set (there 0 by default). With `pca` also of
        the stream on whose first rows the components are fitted.
    pca : int or None, default=None
        Only "mnist" and "fashion_mnist": divide by 255 and keep this number of principal
        components, fitted once on the first 1,000 training rows of the first two classes. With a
        `seed` these are rows of ``ClassIncrementalStream(X, y, seed=seed)``, without one rows of
        the customary training part.
    basic : bool, default=False
        Only "hapt": keep the six basic activities, labels 1 to 6.
    n_classes : int or None, default=None
        Only "random_means": classes K.
    per_class : int or None, default=None
        Only real sets, and not with `rows`: number of first rows of each class to use; all rows
        of a class that has fewer.

    Returns
    -------
    Dataset
        The table, its names and its origin. Columns of texts are one-hot encoded.

    Raises
    ------
    ValueError
        If there is no such data set, or an option does not apply to it or is out of range.
    DatasetError
        If the set is absent and cannot be downloaded, or its file is damaged.

    Warns
    -----
    UserWarning
        If a file differs from the reference copy in its checksum, shape or class counts.

    Examples
    --------
    >>> from mist.datasets import load
    >>> iris = load("iris")
    >>> iris.X.shape, iris.class_names
    ((150, 4), ('setosa', 'versicolor', 'virginica'))
    >>> load("multimodal", rows=600, seed=1).X.shape
    (600, 10)
    """
    entry = find_entry(name)
    _check_options(entry, pca=pca, basic=basic, n_classes=n_classes, per_class=per_class)
    if entry.kind == "generated":
        return generate(entry, rows, 0 if seed is None else seed, n_classes)
    arrays = _bundled(entry) if entry.kind == "bundled" else _from_file(entry)
    y = arrays["y"].astype(np.int64)
    n_train = int(arrays["n_train"]) if "n_train" in arrays else None

    keep = np.flatnonzero(y <= _BASIC_ACTIVITIES) if basic else np.arange(len(y))
    if per_class is not None:
        if rows is not None or per_class < 1:
            raise ValueError(
                f"per_class={per_class} must be at least 1 and cannot be used with rows={rows}"
            )
        keep = keep[_place_in_class(y[keep]) < per_class]
    if rows is not None:
        keep = _drawn(entry, keep, rows, seed)
    if n_train is not None:
        n_train = int(np.searchsorted(keep, n_train))
    y = y[keep]
    X, feature_names, categorical = _columns(entry, arrays, keep)
    if pca is not None:
        X = project(X / _WHITE, head_of_stream(y, n_train, seed), pca)
        feature_names = tuple(f"pc{component}" for component in range(pca))
        categorical = np.zeros(pca, dtype=bool)

    names = dict(zip(entry.labels, entry.class_names, strict=True))
    origin = f", downloaded from {arrays[DOWNLOADED]}" if DOWNLOADED in arrays else ""
    return Dataset(
        name=entry.name,
        X=X,
        y=y,
        feature_names=feature_names,
        class_names=tuple(names.get(label, str(label)) for label in np.unique(y).tolist()),
        categorical=categorical,
        source=entry.source + origin,
        licence=entry.licence,
        citation=entry.citation,
        n_train=n_train,
    )


def _check_options(entry: Entry, **options: Any) -> None:
    for_sets = {"pca": entry.pixels, "basic": entry.name == "hapt"}
    for_sets["n_classes"] = entry.name == "random_means"
    for_sets["per_class"] = entry.kind != "generated"
    for option, value in options.items():
        if value not in (None, False) and not for_sets[option]:
            raise ValueError(f"{option}={value} does not apply to data set {entry.name!r}")


def _bundled(entry: Entry) -> dict[str, NDArray[Any]]:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{entry.name}")()
    return {"X": bunch.data, "y": bunch.target, "features": np.array(bunch.feature_names)}


def _from_file(entry: Entry) -> dict[str, NDArray[Any]]:
    found = locate(entry)
    path = download(entry) if found is None else found[1]
    arrays = read(path)
    wrong = verify(entry, path, arrays)
    if arrays["X"].ndim != 2 or arrays["y"].shape != arrays["X"].shape[:1]:
        raise DatasetError(f"{path} is not a table of labelled rows: {'; '.join(wrong)}")
    if wrong:
        warnings.warn(
            f"{path} is not the reference copy of data set {entry.name!r}: {'; '.join(wrong)}",
            UserWarning,
            stacklevel=3,
        )
    return arrays


def _place_in_class(y: NDArray[Any]) -> NDArray[np.intp]:
    """Number of rows of the same class before each row."""
    order = np.argsort(y, kind="stable")
    _, first, counts = np.unique(y[order], return_index=True, return_counts=True)
    place = np.empty(len(y), dtype=np.intp)
    place[order] = np.arange(len(y)) - np.repeat(first, counts)
    return place


def _drawn(entry: Entry, keep: NDArray[Any], rows: int, seed: int | None) -> NDArray[Any]:
    if seed is None:
        raise ValueError(f"rows={rows} of {entry.name!r} are drawn at random: give a seed")
    if not 1 <= rows <= len(keep):
        raise ValueError(f"rows={rows} must be between 1 and the {len(keep)} of {entry.name!r}")
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(keep, size=rows, replace=False))


def _columns(
    entry: Entry, arrays: dict[str, NDArray[Any]], keep: NDArray[Any]
) -> tuple[NDArray[np.float64], tuple[str, ...], NDArray[np.bool_]]:
    """Scale the stored columns and one-hot encode codes of texts."""
    stored = arrays["X"]
    X = (stored if len(keep) == len(stored) else stored[keep]) * np.asarray(
        arrays.get("scale", 1.0), dtype=np.float64
    )
    names = [str(name) for name in arrays.get("features", np.array(entry.feature_names))]
    if len(names) != X.shape[1]:
        names = [f"x{column}" for column in range(X.shape[1])]
    # The UCI names of HAR features are not unique: three axes have the same name.
    often = {name for name, count in Counter(names).items() if count > 1}
    names = [f"{name} [{i}]" if name in often else name for i, name in enumerate(names)]
    blocks, titles, categorical = [], [], []
    start = 0
    for column in range(X.shape[1]):
        texts = arrays.get(f"categories_{column}")
        if texts is None:
            titles.append(names[column])
            categorical.append(column in entry.columns_0_1)
            continue
        blocks += [X[:, start:column], X[:, column, None] == np.arange(len(texts))]
        titles += [f"{names[column]}={text}" for text in texts.tolist()]
        categorical += [True] * len(texts)
        start = column + 1
    X = np.hstack([*blocks, X[:, start:]]) if blocks else X
    return X, tuple(titles), np.array(categorical, dtype=bool)
