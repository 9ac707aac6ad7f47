"""Downloading data sets through scikit-learn and storing them as ``.npz`` files."""

import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mist.datasets.cache import (
    DOWNLOADED,
    DatasetError,
    cache_folder,
    differences,
    expected_places,
    write,
)
from mist.datasets.catalogue import Entry

_RETRIES = 1
_PAUSE = 0.5
_REFRESH = 0.2
"""Seconds."""


def download(entry: Entry) -> Path:
    """Fetch a data set and store it in the cache folder.

    Parameters
    ----------
    entry : Entry
        A registry entry of kind "file".

    Returns
    -------
    Path
        The new file. It is only created after its rows, columns, labels and class counts were
        found to be those of the registry.

    Raises
    ------
    DatasetError
        If there is no public copy for scikit-learn, the network or the server fails, or the
        downloaded data differ from the registry.
    """
    if entry.download is None:
        raise DatasetError(
            f"data set {entry.name!r} is not here, and scikit-learn has no public copy: put "
            f"{entry.file} into {expected_places(entry)}; original source: {entry.source}"
        )
    target = cache_folder() / entry.file
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.TemporaryDirectory(prefix=f".{entry.name}-", dir=target.parent) as folder,
            _progress(f"{entry.title} from {entry.download}", Path(folder)),
            warnings.catch_warnings(),
        ):
            # scikit-learn warns at every retry; the error at the end is enough.
            warnings.simplefilter("ignore")
            arrays = _fetch(entry, folder)
    # Servers and parsers may raise any error, for which the user needs the remedy.
    except Exception as error:
        raise DatasetError(
            f"data set {entry.name!r} is not here, and {entry.download} did not deliver it "
            f"({type(error).__name__}: {error}): try again later, or put {entry.file} into "
            f"{expected_places(entry)}"
        ) from error
    wrong = differences(entry, arrays)
    if wrong:
        raise DatasetError(
            f"{entry.download} returned other data than data set {entry.name!r}: "
            f"{'; '.join(wrong)}; put {entry.file} into {expected_places(entry)}"
        )
    if entry.n_train is not None and _starts_with_training_part(entry, arrays["y"]):
        arrays["n_train"] = np.array(entry.n_train)
    arrays[DOWNLOADED] = np.array(entry.download)
    write(target, arrays)
    return target


def _fetch(entry: Entry, folder: str) -> dict[str, NDArray[Any]]:
    from sklearn import datasets

    if entry.fetcher is not None:
        fetch = getattr(datasets, entry.fetcher)
        bunch = fetch(data_home=folder, n_retries=_RETRIES, delay=_PAUSE)
    else:
        # The other parser needs pandas and returns nominal columns as texts.
        bunch = datasets.fetch_openml(
            data_id=entry.openml_id,
            data_home=folder,
            as_frame=False,
            parser="liac-arff",
            n_retries=_RETRIES,
            delay=_PAUSE,
        )
    table, categories = _numbers(
        bunch.data, list(bunch.feature_names), bunch.get("categories") or {}
    )
    return {
        "X": _smallest(table),
        "y": _labels(entry, bunch.target),
        "features": np.array(bunch.feature_names, dtype=str),
        **categories,
    }


def _numbers(
    data: NDArray[Any], names: list[str], nominal: dict[str, list[str]]
) -> tuple[NDArray[np.float64], dict[str, NDArray[Any]]]:
    """Convert a downloaded table to numbers, and return the texts of nominal columns."""
    if data.dtype != object:
        table = np.array(data, dtype=np.float64)
        for name in set(names) & set(nominal):
            # The column has codes 0, 1, ... for nominal values that are numbers.
            column = names.index(name)
            values = np.array(nominal[name], dtype=np.float64)
            table[:, column] = values[table[:, column].astype(int)]
        return table, {}
    columns: list[NDArray[np.float64]] = []
    categories: dict[str, NDArray[Any]] = {}
    for position, column in enumerate(data.T):
        if isinstance(column[0], bytes):
            texts, codes = np.unique(column.astype(str), return_inverse=True)
            categories[f"categories_{position}"] = texts
            columns.append(codes.astype(np.float64))
        else:
            columns.append(column.astype(np.float64))
    return np.column_stack(columns), categories


def _labels(entry: Entry, target: NDArray[Any]) -> NDArray[np.uint8]:
    """Convert class names or class numbers to the labels of the registry."""
    first = entry.labels[0]
    shift = 0 if entry.openml_first is None else entry.openml_first - first
    by_text = {str(label + shift): label for label in entry.labels}
    by_text |= {
        name.lower(): label for name, label in zip(entry.class_names, entry.labels, strict=True)
    }
    texts, codes = np.unique([_tidy(value) for value in target], return_inverse=True)
    unknown = [text for text in texts.tolist() if text not in by_text]
    if unknown:
        raise ValueError(f"class {unknown[0]!r} is not one of {', '.join(by_text)}")
    return np.array([by_text[text] for text in texts.tolist()], dtype=np.uint8)[codes]


def _tidy(value: Any) -> str:
    text = value.decode() if isinstance(value, bytes) else str(value)
    return text.strip().strip("'\"").removesuffix(".0").rstrip(".").lower()


def _smallest(table: NDArray[np.float64]) -> NDArray[Any]:
    """Convert whole numbers to the smallest type that holds them."""
    for kind in (np.uint8, np.int16, np.int32):
        limits = np.iinfo(kind)
        if table.min() >= limits.min and table.max() <= limits.max:
            small = table.astype(kind)
            if np.array_equal(small, table):
                return small
    return table


def _starts_with_training_part(entry: Entry, y: NDArray[Any]) -> bool:
    head = y[: entry.n_train]
    return [int(np.sum(head == label)) for label in entry.labels] == list(entry.train_counts or ())


@contextmanager
def _progress(title: str, folder: Path) -> Iterator[None]:
    """Show the number of downloaded bytes, which scikit-learn does not report."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=12),
        DownloadColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        task = progress.add_task(title, total=None)
        finished = threading.Event()

        def watch() -> None:
            while not finished.wait(_REFRESH):
                progress.update(task, completed=_size(folder))

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            finished.set()
            watcher.join()


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except OSError:  # moved in the meantime
            continue
    return total
