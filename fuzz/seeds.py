"""Small valid files to begin with, written by the library itself or by the format's own writer."""

from __future__ import annotations

import hashlib
import io
import json
import os
import struct
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
from numpy.lib import format as npy_format

# The library beside this folder, whatever is installed.
sys.path.insert(0, str(Path(__file__).parent.parent / "src"))
# In interpreted code an index that is out of its array raises an error.
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")
# Arrow's own pool keeps what it had, which would be taken for a leak.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

CONTENTS = ("csv", "tsv", "jsonl", "arff", "npz", "parquet")
"""What a file for the readers holds, by the first byte of an input."""

WRAPPERS = ("", ".gz", ".zst")
"""How it is packed, by the second byte."""

TABLES = {
    "csv": [
        b"size,coat,y\n4.1,short,cat\n?,long,dog\n8,short,dog\n",
        b'\xef\xbb\xbfa;b;y\r\n1,5;"x; y";1\r\n\r\n-2e3;NA;0\r\n',
        b'a,b,y\n"1\n2",x,1\n3,4,2\n',
    ],
    "tsv": [b"a\tb\ty\n1\tx\t0\n-\tz\t1\n"],
    "jsonl": [
        b'{"a": 1, "b": "x", "y": 0}\n{"b": null, "y": 1, "c": true}\n',
        b'\n{"y": "cat", "a": -1.5e3}\n\n{"y": "dog", "a": "NaN", "\\u0062": 1}\n',
    ],
    "arff": [
        b"% c\n@relation r\n@attribute a numeric\n@attribute 'b c' {x,'y z',\"w\"}\n"
        b"@attribute y {0,1}\n@data\n1,x,0\n?,'y z',1\n",
        b"@relation r\n@attribute a real\n@attribute s string\n@attribute y integer\n@DATA\n"
        b"2.5,'it\\'s',3\n",
    ],
}
"""Texts of each kind."""


def npy(array: np.ndarray) -> bytes:
    """An array in the format of NumPy."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


NPZ_MEMBERS = ("X", "y", "scale", "features", "classes", "other")


def npz_parts(**arrays: np.ndarray) -> bytes:
    """Arrays as an input for the readers, which makes a sound zip of what becomes of them."""
    return b"".join(
        bytes([NPZ_MEMBERS.index(name)]) + struct.pack("<H", len(data)) + data
        for name, data in ((name, npy(array)) for name, array in arrays.items())
    )


def zip_of_parts(data: bytes) -> bytes:
    """The zip that `npz_parts` stands for, whatever became of its bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        seen: set[str] = set()
        while len(data) >= 3:
            name = NPZ_MEMBERS[data[0] % len(NPZ_MEMBERS)]
            (size,) = struct.unpack("<H", data[1:3])
            if name not in seen:
                archive.writestr(f"{name}.npy", data[3 : 3 + size])
            seen.add(name)
            data = data[3 + size :]
    return file.getvalue()


def parquet_files() -> list[bytes]:
    """Parquet files of several types and codecs; none where pyarrow is not installed."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        return []
    columns = {
        "a": pa.array([1.5, None, 3.0]),
        "n": pa.array([1, 2, 3], pa.int32()),
        "t": pa.array(["x", None, "z"]),
        "d": pa.array(["u", "v", "u"]).dictionary_encode(),
        "f": pa.array([True, False, None]),
        "y": pa.array([0, 1, 0]),
    }
    out = []
    for compression in ("none", "snappy", "gzip", "zstd"):
        file = io.BytesIO()
        parquet.write_table(pa.table(columns), file, compression=compression)
        out.append(file.getvalue())
    return out


def reader_inputs() -> list[bytes]:
    """Inputs of the target ``readers``: four bytes of choices, then the file."""
    out = []
    for number, kind in enumerate(CONTENTS):
        files = list(TABLES.get(kind, []))
        if kind == "npz":
            X, y = np.arange(6.0).reshape(3, 2), np.array([0, 1, 1])
            files = [
                npz_parts(X=X, y=y),
                npz_parts(
                    X=np.asfortranarray(X.astype(np.uint8)),
                    y=y.astype(np.uint8),
                    scale=np.array([0.5, 2.0]),
                    features=np.array(["size", "age"]),
                    classes=np.array(["cat", "dog"]),
                ),
                npz_parts(X=X.astype(">f4"), y=np.array(["b", "c", "b"])),
            ]
        elif kind == "parquet":
            files = parquet_files()
        packings = range(len(WRAPPERS)) if kind in TABLES else [0]
        for file in files:
            out += [bytes([number, packing, 0, 0]) + file for packing in packings]
            out.append(bytes([number, 0, 0b1011, 1]) + file)
    return out


def models() -> dict[str, object]:
    """A small model of each kind, learnt without compiled code."""
    from mist import MistClassifier, MistForest, MistReplayForest, SplitTest, baselines
    from mist.preprocessing import StreamEncoder, StreamPipeline
    from mist_bench import baselines as more

    rng = np.random.default_rng(0)
    y = np.sort(rng.integers(3, size=45))
    X = rng.normal(2.0 * y[:, None], 1.0, (45, 2))
    X[:, 1] = X[:, 1] > 2.0
    X[rng.random(X.shape) < 0.1] = np.nan
    eager = {"grace_period": 10, "split_test": "gain", "union_bound": False, "delta": 0.5}
    eager |= {"tie_threshold": 1.0, "categorical_features": [1]}
    trials = {"grace_period": 10, "split_test": "eprocess", "rows_per_split": 30, "delta": 0.9}
    tree = MistClassifier(
        "gaussian", split_test=SplitTest("schedule", rows_per_split=20), grace_period=10
    )
    trees = {
        "gaussian": MistClassifier.from_settings(leaf="gaussian", open_world=True, **eager),
        "sketch": MistClassifier.from_settings(leaf="sketch", sketch_size=8, **eager),
        "majority": MistClassifier.from_settings(leaf="majority", **eager),
        "mixture": MistClassifier.from_settings(max_components=2, **eager),
        "trials": MistClassifier.from_settings(leaf="gaussian", **trials),
        "forest": MistForest(tree, 2, random_features=4),
        "replay": MistReplayForest(tree, replay_trees=2, memory_trees=2, replayed_rows=60),
        "encoded": StreamPipeline(StreamEncoder(), MistClassifier("gaussian", grace_period=10)),
    }
    warnings.simplefilter("ignore", RuntimeWarning)  # compiled code lets integers overflow
    out: dict[str, object] = {"unfitted": MistClassifier("gaussian")}
    for name, model in trees.items():
        out[name] = model.fit(X, y)
    full = np.nan_to_num(X)
    for cls in (baselines.NCM, baselines.GaussianNB, baselines.SLDA, baselines.SQDA):
        out[cls.__name__] = cls().fit(full, y)
    out["RLS"] = baselines.RLS().fit(full, y)
    out["RandomFeatureRLS"] = more.RandomFeatureRLS(n_features=3).fit(full, y)
    out["RandomFeatureLDA"] = baselines.RandomFeatureLDA(n_features=3).fit(full, y)
    out["PEC"] = more.PEC(width=2, teacher_width=3, n_outputs=2).fit(full, y)
    return out


def model_files(folder: Path) -> list[Path]:
    """Files of models, some of them with an attachment of every kind or of ``mist run``."""
    from mist.persistence import save

    out = []
    for name, model in models().items():
        attachment: object = None
        if name == "majority":
            attachment = {
                "numbers": [1, -2.5, float("inf"), np.float32(1.5)],
                "nested": ({"a", "b"}, range(0, 9, 2), np.array(["x", None], object)),
                "random": np.random.default_rng(1),
                "older": np.random.RandomState(1),
            }
        out.append(folder / f"{name}.mist")
        save(model, out[-1], attachment=attachment)
    out.append(folder / "checkpoint.mist")
    tree = models()["gaussian"]
    save(tree, out[-1], attachment=run_attachment(tree))
    return out


def run_attachment(tree: object) -> dict[str, object]:
    """What ``mist run --checkpoint`` keeps beside the first model."""
    from mist.streaming.runs.session import Session

    return {
        "models": [("mist-g", None)],
        "session": Session({"mist-g": tree}).state(),
        "predictions": 0,
        "encoding": {"target": "y", "columns": ["a", "b"], "texts": {"b": ["u"]}, "integers": True},
        "position": None,
        "settings": {"FILE": ["a.csv"], "--seed": 42},
    }


def members_of(file: Path) -> bytes:
    """A file of a model as an input of the target ``sealed``: header, then arrays."""
    with zipfile.ZipFile(file) as archive:
        header = json.loads(archive.read("header.json"))
        names = [f"arrays/{i}.npy" for i in range(len(header.pop("members")))]
        parts = [archive.read(name) for name in names]
    return pack([json.dumps(header, separators=(",", ":")).encode(), *parts])


def pack(parts: list[bytes]) -> bytes:
    """Parts as one input."""
    return b"".join(struct.pack("<I", len(part)) + part for part in parts)


def unpack(data: bytes) -> list[bytes]:
    """The parts of an input, as far as there are any."""
    parts = []
    while len(data) >= 4:
        (size,) = struct.unpack("<I", data[:4])
        parts.append(data[4 : 4 + size])
        data = data[4 + size :]
    return parts


def seal(parts: list[bytes]) -> bytes:
    """The file of a model with these members, its checksums right."""
    header_text, arrays = (parts[0], parts[1:]) if parts else (b"{}", [])
    try:
        header = json.loads(header_text)
        members = {}
        for number, data in enumerate(arrays):
            told = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            file = io.BytesIO(data)
            try:
                version = npy_format.read_magic(file)
                read = npy_format.read_array_header_1_0
                shape, _, dtype = read(file) if version == (1, 0) else ((), False, None)
                told["shape"] = list(shape)
                plain = dtype is not None and dtype.fields is None
                told["dtype"] = (
                    dtype.str if plain else [[n, part[0].str] for n, part in dtype.fields.items()]
                )
            except Exception:
                told |= {"shape": [], "dtype": "|b1"}
            members[f"arrays/{number}.npy"] = told
        header["members"] = members
        header_text = json.dumps(header).encode()
    except (ValueError, TypeError, RecursionError):
        pass
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for number, data in enumerate(arrays):
            archive.writestr(f"arrays/{number}.npy", data)
        archive.writestr("header.json", header_text)
        archive.comment = b"MIST sha256 " + 64 * b"0"
    whole = file.getvalue()[:-64]
    return whole + hashlib.sha256(whole).hexdigest().encode()
