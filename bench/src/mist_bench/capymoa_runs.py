"""Runs of CapyMOA's classifiers on streams in their own order, by its Java loop."""

from __future__ import annotations

import inspect
import os
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mist.datasets import DriftStream
from mist_bench.in_order import read_stream
from mist_bench.methods import RIVALS
from mist_bench.record import Record, Run
from mist_bench.work import attempt, describe, record_in_order

__all__ = ["perform_rival"]

_WARM_ROWS = 3000
"""Rows that another model of the kind learns before the time is taken: Java compiles meanwhile."""

_WINDOW = 1000
"""Rows of the loop's own windowed evaluator, whose figures are not used."""

_JAVA = "-Xmx4g -Xss10M -XX:+UseSerialGC"
"""Options of Java unless CAPYMOA_JVM_ARGS has others: memory, and no threads for its garbage."""


def perform_rival(run: Run) -> Record:
    """Do a run of a rival. An error in it becomes part of the record.

    CapyMOA must know the classes and the kind of each column beforehand: it gets the classes of the
    complete stream, held-out rows included, and 0/1 columns as nominal. The rest is as for other
    methods, see `mist_bench.work.record_in_order`.

    Parameters
    ----------
    run : Run
        A key of `mist_bench.methods.RIVALS` on a stream in its own order.

    Returns
    -------
    Record
        Its figures, or the error that ended it. The size of the model is not measured.

    Examples
    --------
    >>> record = perform_rival(Run("sea+n_samples=1000", "capymoa-nb", 42, "honest"))
    >>> record.shape["rows"], record.measures["prequential_accuracy"] > 0.7
    (1000, True)
    """
    return attempt(run, lambda: _record(run))


def _record(run: Run) -> Record:
    start_java()
    table = _java_stream(run.dataset, run.seed)
    table.loop(_make(run, table.schema), _WARM_ROWS)
    model = _make(run, table.schema)
    begin = perf_counter()
    predicted = table.loop(model, len(table.stream.y))
    seconds = perf_counter() - begin
    return record_in_order(
        run,
        table.stream,
        predicted,
        None if table.stream.X_test is None else table.predict(model, table.stream.X_test),
        figures={"rows_per_second": len(predicted) / seconds},
        growth={},
        settings={**describe(run)["model"], "capymoa": version_of_capymoa()},
    )


def start_java() -> None:
    """Start the Java machine, unless it runs.

    Raises
    ------
    ImportError
        If CapyMOA is not installed.
    RuntimeError
        If there is no Java.
    """
    # CapyMOA makes this folder at once, in the current one by default.
    os.environ.setdefault("CAPYMOA_DATASETS_DIR", tempfile.gettempdir())
    os.environ.setdefault("CAPYMOA_JVM_ARGS", _JAVA)
    try:
        import_module("capymoa")
    except ModuleNotFoundError as error:
        raise ImportError(
            "CapyMOA is not installed here: use make bench-capymoa, or install "
            "'mist-tree[capymoa]' and mist-tree-bench into an environment of their own",
            name="capymoa",
        ) from error


def version_of_capymoa() -> str:
    """Return the version of CapyMOA."""
    from importlib.metadata import version

    return version("capymoa")


@dataclass(frozen=True, eq=False)
class _JavaStream:
    """A stream in the memory of Java."""

    stream: DriftStream
    labels: NDArray[np.int64]
    """The classes, ascending: Java knows them by their index."""
    schema: Any
    rows: Any
    """The stream as CapyMOA's loop takes it."""

    def loop(self, model: Any, n_rows: int) -> NDArray[np.int64]:
        """Let a model predict and then learn the first rows; returns the predicted labels."""
        evaluate = import_module("capymoa.evaluation").prequential_evaluation
        done = evaluate(
            self.rows,
            model,
            max_instances=min(n_rows, len(self.stream.y)),
            window_size=_WINDOW,
            store_predictions=True,
        )
        return self._labels_of(done.predictions())

    def predict(self, model: Any, X: NDArray[np.float64]) -> NDArray[np.int64]:
        """Predict rows that are not learnt."""
        make = import_module("capymoa.core").Instance.from_array
        return self._labels_of([model.predict(make(self.schema, row)) for row in X])

    def _labels_of(self, predicted: Any) -> NDArray[np.int64]:
        """Labels by predicted indices; -1 where a model predicted none."""
        index = np.array([-1 if value is None else int(float(value)) for value in predicted])
        known = (index >= 0) & (index < len(self.labels))
        return np.where(known, self.labels[np.where(known, index, 0)], -1)


@lru_cache(maxsize=1)
def _java_stream(name: str, seed: int) -> _JavaStream:
    """The stream of a run, cached for the next rivals on it."""
    stream = read_stream(name, seed)
    held_out = [] if stream.y_test is None else [stream.y_test]
    labels = np.unique(np.concatenate([stream.y, *held_out]))
    features = [f"x{column}" for column in range(stream.X.shape[1])]
    nominal = {features[column]: ["0", "1"] for column in np.flatnonzero(stream.categorical)}
    streams = import_module("capymoa.stream")
    schema = streams.Schema.from_custom(
        features=[*features, "class"],
        target="class",
        categories={**nominal, "class": [str(label) for label in labels.tolist()]},
        name=stream.name,
    )
    java, instances = import_module("jpype"), import_module("com.yahoo.labs.samoa.instances")
    header = schema.get_moa_header()
    table = instances.Instances(header, 0)
    for row in np.column_stack([stream.X, np.searchsorted(labels, stream.y)]):
        instance = instances.DenseInstance(1.0, java.JArray(java.JDouble)(row))
        instance.setDataset(header)
        table.add(instance)
    rows = streams.MOAStream(schema=schema)
    # Not an argument: a stream that is given as one must have options, and this one has none.
    rows.moa_stream = import_module("moa.streams").CachedInstancesStream(table)
    return _JavaStream(stream, labels, schema, rows)


def _make(run: Run, schema: Any) -> Any:
    rival = RIVALS[run.method]
    kind = getattr(import_module("capymoa.classifier"), str(rival.made_by))
    takes_seed = "random_seed" in inspect.signature(kind).parameters
    drawn = {"random_seed": run.seed} if takes_seed else {}
    return kind(schema, **drawn, **rival.parameters)
