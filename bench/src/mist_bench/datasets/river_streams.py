"""Small streams in their own order that come with river."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from mist.datasets import DriftStream

__all__ = ["load_river_stream"]

Name = Literal["phishing", "bananas", "segment"]

_CLASSES = {"phishing": "Phishing", "bananas": "Bananas", "segment": "ImageSegments"}


def load_river_stream(name: Name) -> DriftStream:
    """Load a labelled stream that is packed with river.

    Parameters
    ----------
    name : {"phishing", "bananas", "segment"}
        1,250 web pages, safe or not, by 9 columns; 5,300 points of two crescents in the plane;
        2,310 pieces of outdoor images in 7 classes, by 18 columns.

    Returns
    -------
    DriftStream
        Rows in the order of the file, without drift points. The labels are 0 to K - 1, in the order
        of the original labels as text.

    Raises
    ------
    ValueError
        If there is no such stream.
    ImportError
        If river is not installed.

    Examples
    --------
    >>> from mist_bench.datasets import load_river_stream
    >>> stream = load_river_stream("phishing")
    >>> stream.X.shape, int(stream.y.max())
    ((1250, 9), 1)
    """
    if name not in _CLASSES:
        raise ValueError(f"no stream called {name!r}: choose one of {', '.join(get_args(Name))}")
    try:
        from river import datasets
    except ImportError as error:
        raise ImportError(
            f"{name} needs river: pip install 'mist-tree[bench]'", name="river"
        ) from error
    rows, labels = zip(*getattr(datasets, _CLASSES[name])(), strict=True)
    X = np.array([list(row.values()) for row in rows], dtype=np.float64)
    _, y = np.unique([str(label) for label in labels], return_inverse=True)
    categorical = np.array([bool(np.isin(column, (0, 1)).all()) for column in X.T])
    return DriftStream(name, X, y.astype(np.int64), np.array([], np.int64), categorical)
