"""``mist predict``: apply a saved model to rows."""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from mist.commands.compile_first import reporting
from mist.commands.output import check_output
from mist.commands.run_options import PredictOptions
from mist.commands.screen import Screen
from mist.commands.stopping import stopping
from mist.files import replacing
from mist.io import Chunk, find_files, is_live
from mist.io.applying import apply_encoding
from mist.streaming.runs.checkpoint import load_run

__all__ = ["predict"]


def predict(options: PredictOptions) -> None:
    """Write the prediction of each row and its probability.

    Parameters
    ----------
    options : PredictOptions
        Options.

    Raises
    ------
    ValueError
        If the model or the rows cannot be read; an existing output file is then unchanged.
    """
    live = is_live(options.files)
    sources = [] if live else [found.path for found in find_files(options.files)]
    check_output(options.out, [options.model, *sources])
    model, encoding = load_run(options.model)
    chunks = apply_encoding(
        encoding,
        options.files,
        chunk_rows=options.chunk_rows,
        header=options.header,
        kind=options.kind,
        separator=options.separator,
    )
    done = labelled = hits = 0
    with _writing(options.out, live) as handle, stopping(live) as stop:
        writer = csv.writer(handle)
        writer.writerow(["row", "label", "prediction", "probability"])
        for chunk in chunks:
            if len(chunk.y):
                with reporting():
                    predictions, shares = _answer(model, chunk)
                labels = chunk.labels()
                writer.writerows(zip(chunk.places(), labels, predictions, shares, strict=True))
                done += len(labels)
                labelled += sum(label != "" for label in labels)
                hits += sum(a == b for a, b in zip(labels, predictions, strict=True))
                if live:
                    handle.flush()
            if stop.wanted:
                break
    accuracy = hits / labelled if labelled else math.nan
    score = f", accuracy {accuracy:.3f} on {labelled:,} with a label" if labelled else ""
    Screen(stderr=True).print(f"{done:,} rows predicted{score}", soft_wrap=True)


def _answer(model: Any, chunk: Chunk) -> tuple[list[Any], list[float]]:
    """Return the label of each row by the decision rule of the model, and its probability."""
    by_name = isinstance(chunk.X, dict) or hasattr(model, "feature_names_in_")
    X: Any = chunk.columns() if by_name else chunk.X
    labels = (model.predict_many if by_name else model.predict)(X)
    shares = (model.predict_proba_many if by_name else model.predict_proba)(X)
    places = np.searchsorted(model.classes_, labels)
    return labels.tolist(), shares[np.arange(len(labels)), places].tolist()


@contextmanager
def _writing(path: Path | None, live: bool) -> Iterator[TextIO]:
    """Open the output: a file appears when it is complete, for a live stream at once."""
    if path is None:
        yield sys.stdout
    elif live:
        with path.open("w", newline="", encoding="utf-8") as handle:
            yield handle
    else:
        with replacing(path) as file:
            text = TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
            yield text
            text.flush()
            text.detach()
