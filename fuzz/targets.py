"""What is done with an input, and what may come of it."""

from __future__ import annotations

import atexit
import gzip
import io
import shutil
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from seeds import CONTENTS, WRAPPERS, seal, unpack, zip_of_parts

Target = Callable[[bytes], None]

_FOLDER = Path(tempfile.mkdtemp(prefix="mist-fuzz-"))
# A process that libFuzzer ends does not come to this; run.py removes what it leaves.
atexit.register(shutil.rmtree, _FOLDER, ignore_errors=True)


class Surprise(Exception):
    """Something came of an input that the documentation does not promise."""


def _check_message(error: ValueError) -> None:
    text = str(error)
    if not text.isprintable():
        raise Surprise("a message with control characters or line breaks") from error
    if len(text) > 2000:
        raise Surprise("a message of more than 2000 characters") from error


def _check_chunk(chunk) -> None:
    import numpy as np

    n = len(chunk.rows)
    for name, column in chunk.columns().items():
        if len(column) != n or column.dtype != np.float64:
            raise Surprise(f"column {name!r} has {len(column)} of {n} rows")
        if np.isinf(column).any():
            raise Surprise(f"column {name!r} has infinity")
    if len(chunk.y) != n or (chunk.y.dtype != np.int64 and chunk.y.dtype.kind != "U"):
        raise Surprise("labels do not fit the rows")
    chunk.places()
    chunk.labels()


def readers(data: bytes) -> None:
    """Read a table as ``mist run`` does: twice, then once as a stream, then for its model."""
    from mist.io import LiveTable, TableError, open_table
    from mist.io.applying import apply_encoding
    from mist.io.pipe import PipeSource

    if len(data) < 5:
        return
    first, second, choices, rows = data[:4]
    body = data[4:]
    kind = CONTENTS[first % len(CONTENTS)]
    wrapper = WRAPPERS[second % len(WRAPPERS)]
    if kind == "npz" and not second & 0x80:
        body = zip_of_parts(body)
    packed = body
    # With the highest bit the bytes are the packed file itself.
    if not second & 0x80 and wrapper == ".gz":
        packed = gzip.compress(body, 1, mtime=0)
    elif not second & 0x80 and wrapper == ".zst":
        import zstandard

        packed = zstandard.compress(body, 1)
    target = ("y", -1, 0, "a")[choices & 3]
    options = {
        "header": not choices & 4,
        "unlabelled": bool(choices & 8),
        "text_columns": ("a",) if choices & 16 else (),
        "ignore": ("b",) if choices & 32 else (),
        "limit": 2 if choices & 64 else None,
    }
    path = _FOLDER / f"table{wrapper}"
    path.write_bytes(packed)
    told = None
    try:
        table = open_table(path, target, kind=kind, chunk_rows=1 + rows % 8, **options)
        for chunk in table:
            _check_chunk(chunk)
        told = table.plain()
    except TableError as error:
        _check_message(error)
    if told is not None:
        try:
            for chunk in apply_encoding(told, [str(path)], header=options["header"], kind=kind):
                _check_chunk(chunk)
        except TableError as error:
            _check_message(error)
    if kind not in ("csv", "tsv", "jsonl"):
        return
    wanted = None if rows & 0x80 and kind != "tsv" else kind
    header = options.pop("header")
    try:
        stream = LiveTable(
            PipeSource(io.BytesIO(packed), "pipe", wanted, header), str(target), **options
        )
        for chunk in stream.chunks(1 + rows % 8):
            _check_chunk(chunk)
        told = stream.plain()
    except TableError as error:
        _check_message(error)
    else:
        try:
            for chunk in apply_encoding(told, [str(path)], header=header, kind=kind):
                _check_chunk(chunk)
        except TableError as error:
            _check_message(error)


def _use(model) -> None:
    """Ask and teach a model that was handed out.

    Without compiled code an index that is out of range raises IndexError. What numbers are
    answered is not promised, so errors of arithmetic are not looked at.
    """
    import numpy as np

    d = getattr(model, "n_features_in_", None)
    if d is None or not 0 < d < 50 or not hasattr(model, "partial_fit"):
        return
    X = np.linspace(0.0, 3.0, 4 * d).reshape(4, d)
    y = model.classes_[[0] * 4] if len(getattr(model, "classes_", ())) else [0] * 4
    for ask in (
        lambda: model.predict_proba(X),
        lambda: model.partial_fit(X, y),
        lambda: model.predict(X),
        lambda: model.feature_importances_,
        lambda: model.split_log_,
        lambda: model.export_text(),
        lambda: model.leaf_summary(),
        lambda: model.explain(X[0]),
        lambda: repr(model),
    ):
        try:
            ask()
        except (ValueError, TypeError, ArithmeticError):
            continue
        except AttributeError as error:
            # Not every model has all of these.
            if error.obj is not model:
                raise


def raw(data: bytes) -> None:
    """`mist.load` of these bytes."""
    import mist

    path = _FOLDER / "raw.mist"
    path.write_bytes(data)
    try:
        model = mist.load(path, max_bytes=1 << 24)
    except ValueError as error:
        if not str(error).startswith(f"{path}: "):
            raise Surprise("an error that does not name the file") from error
        _check_message(error)
    else:
        _use(model)


def sealed(data: bytes) -> None:
    """`mist.load` of a file that somebody made with right checksums, then what commands do."""
    from mist.commands.explain import explain_row
    from mist.commands.inspect import inspect
    from mist.persistence import load_with_attachment
    from mist.streaming.runs.checkpoint import Checkpoint, load_run

    path = _FOLDER / "sealed.mist"
    path.write_bytes(seal(unpack(data)))
    try:
        model, _ = load_with_attachment(path, max_bytes=1 << 24)
    except ValueError as error:
        if not str(error).startswith(f"{path}: "):
            raise Surprise("an error that does not name the file") from error
        _check_message(error)
        return
    for use in (
        lambda: load_run(path),
        lambda: Checkpoint(path, 1, {"--seed": 42}).load(),
        lambda: inspect(path, as_json=True),
        lambda: inspect(path, tree=True),
        lambda: explain_row(path, {"a": 1.0, "x0": 0.0}, 2),
    ):
        try:
            with redirect_stdout(StringIO()):
                use()
        except ValueError as error:
            _check_message(error)
        except (TypeError, ArithmeticError):
            continue  # of numbers that are no sense, as in `_use`
    _use(model)


TARGETS: dict[str, Target] = {"readers": readers, "raw": raw, "sealed": sealed}
