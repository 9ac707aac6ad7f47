"""CapyMOA: its Java loop over a stream held in memory, and its Python calls row by row.

Each loop is run for a while before it is measured, for the Java machine compiles while it runs;
what the first run in a process took is told apart, as cold.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from .clock import Outcome, Timer, one_by_one, share
from .streams import latest

MODELS = {
    "CapyMOA HT": ("HoeffdingTree", {}),
    "CapyMOA NaiveBayes": ("NaiveBayes", {}),
    "CapyMOA EFDT": ("EFDT", {}),
    "CapyMOA ARF": ("AdaptiveRandomForestClassifier", {"ensemble_size": 10}),
}
METHODS = {name: ("Java loop", "one by one, instances") for name in MODELS}
WINDOW = 1000
"""Rows of the windowed evaluator of the Java loop; it allocates them for every class."""
JUDGED = 300
WARM = 0.5
"""Runs before the measured ones: until they took so much of the time of a run."""


def missing():
    if find_spec("capymoa") is None:
        return "capymoa is not installed: pip install capymoa"
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        return "there is no Java: install a Java runtime, or set JAVA_HOME"
    return None


def versions():
    _start()
    java = import_module("java.lang").System.getProperty("java.version")
    return {"capymoa": version("capymoa"), "Java": str(java)}


@cache
def _start():
    """Start the Java machine with the agent that measures objects."""
    folder = Path(tempfile.mkdtemp(prefix="mist-speed-"))
    os.environ.setdefault("CAPYMOA_DATASETS_DIR", str(folder))
    # The agent looks into collections, which Java keeps closed.
    opened = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in ("lang", "util")]
    own = ["-Xmx4g", "-Xss10M", f"-javaagent:{_agent(folder)}", *opened]
    os.environ["CAPYMOA_JVM_ARGS"] = " ".join(own)
    return import_module("capymoa")


def _agent(folder):
    """A jar of MOA's own agent: the one that CapyMOA brings along does not declare it."""
    jar = folder / "agent.jar"
    moa = Path(find_spec("capymoa").origin).parent / "jar" / "moa.jar"
    with zipfile.ZipFile(moa) as source, zipfile.ZipFile(jar, "w") as target:
        target.writestr("META-INF/MANIFEST.MF", "Premain-Class: sizeof.agent.SizeOfAgent\n")
        for name in source.namelist():
            if name.startswith("sizeof/agent/") and name.endswith(".class"):
                target.writestr(name, source.read(name))
    return jar


@lru_cache(maxsize=1)
def _schema(shape):
    return _schema_of(shape.columns, shape.classes)


def _schema_of(n_columns, n_classes):
    _start()
    names = [f"x{j}" for j in range(n_columns)]
    labels = [str(k) for k in range(n_classes)]
    return import_module("capymoa.stream").Schema.from_custom(
        features=[*names, "class"],
        target="class",
        categories={"class": labels},
        name="speed",
    )


@lru_cache(maxsize=1)
def _java_stream(shape):
    """A stream of MOA in memory; CapyMOA takes its Java loop for no stream of its own."""
    java = import_module("jpype")
    instances = import_module("com.yahoo.labs.samoa.instances")
    header = _schema(shape).get_moa_header()
    table = instances.Instances(header, 0)
    data = latest(shape)
    for row in np.column_stack([data.X, data.y]):
        one = instances.DenseInstance(1.0, java.JArray(java.JDouble)(row))
        one.setDataset(header)
        table.add(one)
    stream = import_module("capymoa.stream").MOAStream(schema=_schema(shape))
    # Not an argument: what is given as one must have options, and this has none.
    stream.moa_stream = import_module("moa.streams").CachedInstancesStream(table)
    return stream


@lru_cache(maxsize=1)
def _instances(shape):
    """The rows for the Python calls, with their Java side made."""
    data = latest(shape)
    rows = _labelled(_schema(shape), data.X, data.y)
    for row in rows:
        _ = row.java_instance
    return rows


def _labelled(schema, X, y):
    make = import_module("capymoa.core").LabeledInstance.from_array
    return [make(schema, x, k) for x, k in zip(X, y.tolist(), strict=True)]


def hoeffding_tree_bytes(X, y):
    """Bytes of a Hoeffding tree that has learnt rows with labels from 0 on."""
    schema = _schema_of(X.shape[1], int(y.max()) + 1)
    model = import_module("capymoa.classifier").HoeffdingTree(schema)
    for row in _labelled(schema, X, y):
        model.train(row)
    return int(model.moa_learner.measureByteSize())


def _model(task):
    name, options = MODELS[task.method]
    kind = getattr(import_module("capymoa.classifier"), name)
    return kind(_schema(task.shape), **options)


def _java_loop(task, n):
    stream, model = _java_stream(task.shape), _model(task)
    evaluate = import_module("capymoa.evaluation").prequential_evaluation
    stream.restart()
    with Timer() as timer:
        result = evaluate(stream, model, max_instances=n, window_size=WINDOW)
    return model, n, timer, result.cumulative.accuracy() / 100.0


def _by_row(task, n):
    model, labels = _model(task), latest(task.shape).y.tolist()
    rows = _instances(task.shape)
    # Its train takes no label: the instance has it.
    done, hits, timer = one_by_one(
        model.predict, lambda x, _: model.train(x), rows[:n], labels, task.seconds
    )
    return model, done, timer, hits / done


_per_second: dict[tuple, float] = {}
_begun: set[str] = set()


def warm(task, stream):
    """Runs to compile; the last one says how many rows a loop that cannot be cut can take."""
    _start()
    n = len(stream.y)
    if task.path != "Java loop":
        _by_row(task._replace(seconds=WARM * task.seconds), n)
        return None
    _, _, timer, accuracy = _java_loop(task, n)
    first, spent = Outcome(n, timer, accuracy=accuracy), timer.cpu
    while spent < WARM * task.seconds:
        _, _, timer, _ = _java_loop(task, n)
        spent += timer.cpu
    _per_second[task.method, task.shape] = n / timer.cpu
    cold = task.method not in _begun
    _begun.add(task.method)
    return first if cold else None


def run(task, stream):
    _start()
    n = len(stream.y)
    if task.path == "Java loop":
        most = min(n, int(task.seconds * _per_second[task.method, task.shape]))
        model, done, timer, right = _java_loop(task, most)
    else:
        model, done, timer, right = _by_row(task, n)
    nbytes = held_out = None
    if task.judge:
        nbytes = int(model.moa_learner.measureByteSize())
    if task.judge and done == n:
        schema = _schema(task.shape)
        few = _labelled(schema, stream.X_test[:JUDGED], stream.y_test[:JUDGED])
        held_out = share([model.predict(x) for x in few], stream.y_test[:JUDGED])
    return Outcome(done, timer, nbytes, right, held_out, cut=done < n)
