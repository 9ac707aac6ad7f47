"""One target in a process of its own; started by ``run.py``.

    python fuzz/child.py TARGET FOLDER [options and corpus of libFuzzer]

FOLDER is for findings: of each kind of surprise the first input, and how it came about.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path

import atheris
from mutate import mutated
from targets import TARGETS, Surprise, Target

_SOURCE = Path(__file__).parent.parent / "src"
_INSTRUMENTED = ("mist.archives", "mist.io", "mist.persistence", "mist.onehot", "mist.labels")
_IMPORTED = ("mist.io.applying", "mist.persistence", "mist.streaming.runs.checkpoint")


def _left_alone() -> list[str]:
    """Modules of the package that are not watched."""
    files = (_SOURCE / "mist").rglob("*.py")
    modules = [".".join(file.relative_to(_SOURCE).with_suffix("").parts) for file in files]
    names = [name.removesuffix(".__init__") for name in modules]
    return [name for name in names if not name.startswith(_INSTRUMENTED)]


def signature(error: BaseException) -> str:
    """What tells findings apart: the error, and the last line of the library it came through."""
    frames = traceback.extract_tb(error.__traceback__)
    last = ([frame for frame in frames if "/mist/" in frame.filename] or frames)[-1]
    return f"{type(error).__name__}-{Path(last.filename).stem}-{last.lineno}"


class Recorder:
    """Runs a target; keeps the first input of every kind of surprise, and goes on."""

    def __init__(self, target: Target, folder: Path) -> None:
        self._target, self._folder = target, folder

    def __call__(self, data: bytes) -> None:
        """Run the target on an input."""
        try:
            self._target(data)
        except Exception as error:
            self._keep(data, error)

    def _keep(self, data: bytes, error: Exception) -> None:
        cause = error.__cause__ if isinstance(error, Surprise) else None
        name = signature(cause or error) + ("-odd" if cause is not None else "")
        told = self._folder / f"{name}.txt"
        if not told.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            told.with_suffix(".bin").write_bytes(data)
            text = "".join(traceback.format_exception(error))
            told.write_text(text, encoding="utf-8", errors="backslashreplace")


def main() -> None:
    """Fuzz one target until libFuzzer's options end it."""
    name, folder, *arguments = sys.argv[1:]
    with atheris.instrument_imports(include=["mist"], exclude=_left_alone()):
        for module in _IMPORTED:
            importlib.import_module(module)
    run = Recorder(TARGETS[name], Path(folder))
    more = {}
    if name == "sealed":
        more["custom_mutator"] = lambda data, most, seed: mutated(data, most, seed, atheris.Mutate)
    atheris.Setup([sys.argv[0], *arguments], run, **more)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
