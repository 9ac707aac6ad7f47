"""What models learn and answer, in a form that shows any difference of a bit.

Run as a script by `test_numba_access`, without Numba's internals.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from mist import MistClassifier, MistForest, load

MODELS = {
    # Addresses passed between compiled functions, sums in any order, what follows a stream.
    "default": MistClassifier,
    # Sketches have the other arrays, and rows that are looked up in them.
    "sketch": lambda: tree("sketch"),
    "gaussian": lambda: tree("gaussian"),
    # Its loops note more of each row; these leaves compile quickest.
    "forest": lambda: MistForest(tree("majority"), n_trees=2, random_state=0),
}


def tree(leaf: str) -> MistClassifier:
    """A tree that splits soon."""
    return MistClassifier.paper(leaf=leaf, grace_period=50, tie_threshold=0.9)


def stream() -> tuple[np.ndarray, np.ndarray]:
    """Classes that overlap, of two clusters each."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 900)
    centres = rng.normal(size=(3, 2, 4)) * 2.0
    return centres[y, rng.integers(0, 2, 900)] + rng.normal(size=(900, 4)), y


def outcome(name: str) -> str:
    """Digest of all answers of a model and of its file."""
    X, y = stream()
    model: Any = MODELS[name]()
    said = [model.partial_fit(X[:600], y[:600]).predict_proba(X)]
    for x, label in zip(X[600:700], y[600:700], strict=True):
        said.append(np.array(model.predict_one(x)))
        model.learn_one(x, label)
    if name == "default":  # learning with predictions is compiled once more
        said.append(model.prequential(X[700:], y[700:]))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "m.mist"
        model.save(file)
        said.append(np.frombuffer(file.read_bytes(), np.uint8))
        said.append(load(file).predict_proba(X))
    said.append(model.predict(X))
    return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in said)).hexdigest()


if __name__ == "__main__":
    from mist.engine import numba_access

    print(numba_access.WAY, *(outcome(name) for name in sys.argv[1:]))
