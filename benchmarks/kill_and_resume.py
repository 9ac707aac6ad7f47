"""Kill a command again and again, let it go on, and compare it with an undisturbed one.

    python benchmarks/kill_and_resume.py
    python benchmarks/kill_and_resume.py run --kills 100 --seed 1

``bench`` is a grid of `mist bench`, ``run`` is `mist run` on a file with a checkpoint. Each kill is
SIGKILL to all processes of the command at once, at a moment drawn at random: while it starts, while
it works, or while the report is written; then the same command is given again. At the end all that
it wrote must be the same byte for byte, but for times, and no other file may be left. Of a grid, no
result that was there at a kill may have been written again. Needs a system with process groups, so
not Windows.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mist_bench import MEASURES


class Command:
    """A command that is killed, and the folder that it writes to."""

    n_steps: int
    """Steps that `done` counts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def arguments(self) -> Sequence[str]:
        """What follows ``mist``."""
        raise NotImplementedError

    def done(self) -> int:
        """How many steps have left something on the disk."""
        raise NotImplementedError

    def look(self) -> None:
        """Take note of what is there after a kill."""

    def faults(self, quiet: Command) -> list[str]:
        """What is wrong at the end, compared with the command that was left alone."""
        raise NotImplementedError

    def start(self) -> subprocess.Popen[str]:
        """Start it in a process group of its own, its output in a file beside the folder."""
        with self.folder.with_suffix(".log").open("a") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "mist.cli", *self.arguments()],
                stdout=log,
                stderr=log,
                text=True,
                start_new_session=True,
            )


class Grid(Command):
    """`mist bench` with a few fast methods."""

    n_steps = 4 * 3 * 3
    timed = frozenset(key.replace("_", "-") for key, measure in MEASURES.items() if measure.timed)
    """Names of the tables that hold times, which no two grids share."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.seen: dict[str, tuple[int, int]] = {}

    def arguments(self) -> Sequence[str]:
        return (
            *("bench", "--models", "ncm,slda,gaussian-nb,rls", "--datasets", "iris,wine,digits"),
            *("--seeds", "1,2,3", "--jobs", "2", "--out", str(self.folder)),
        )

    def stamps(self) -> dict[str, tuple[int, int]]:
        """When each result file was written and which file it is, by its path."""
        return {
            path.relative_to(self.folder).as_posix(): (path.stat().st_mtime_ns, path.stat().st_ino)
            for path in self.folder.glob("runs/*/*/*.json")
        }

    def done(self) -> int:
        return len(self.stamps())

    def look(self) -> None:
        self.seen = self.stamps() | self.seen

    def faults(self, quiet: Command) -> list[str]:
        after = self.stamps()
        wrong = [
            f"{name} was written again" for name in self.seen if after.get(name) != self.seen[name]
        ]
        names = sorted(
            {path.name for place in (self, quiet) for path in (place.folder / "tables").iterdir()}
        )
        untimed = [name for name in names if Path(name).stem not in self.timed]
        wrong += differences(self.folder / "tables", quiet.folder / "tables", untimed)
        return wrong + others(self.folder, quiet.folder)


class Stream(Command):
    """`mist run` on a file of numbers and a text, with a checkpoint."""

    n_steps = 100
    rows = 100_000
    report = "report.html"
    kept = ("checkpoint.mist", "model.mist", "predictions.csv", report)

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        folder.mkdir()
        self.table = folder.parent / "rows.csv"
        if not self.table.exists():
            self._write_table()

    def _write_table(self) -> None:
        rng = np.random.default_rng(0)
        y = rng.integers(0, 4, self.rows)
        X = rng.normal(size=(self.rows, 5)) + y[:, None] * rng.normal(size=5)
        colours = rng.choice(["red", "green", "blue"], self.rows)
        with self.table.open("w", encoding="utf-8") as file:
            file.write("a,b,c,d,e,colour,label\n")
            for x, colour, label in zip(X, colours, y, strict=True):
                file.write(",".join(f"{v:.4f}" for v in x) + f",{colour},k{label}\n")

    def arguments(self) -> Sequence[str]:
        checkpoint, model, predictions, report = (str(self.folder / name) for name in self.kept)
        return (
            *("run", str(self.table), "--target", "label", "--every", "1000"),
            *("--checkpoint", checkpoint, "--save", model),
            *("--predictions", predictions, "--report", report),
        )

    def done(self) -> int:
        # A line has 12 bytes or more, but for the first thousand.
        path = self.folder / "predictions.csv"
        size = path.stat().st_size if path.exists() else 0
        return min(self.n_steps, size * self.n_steps // (self.rows * len("1000,k0,k0\r\n")))

    def faults(self, quiet: Command) -> list[str]:
        wrong = differences(self.folder, quiet.folder, self.kept[1:3])
        figures = [self._figures(place.folder) for place in (self, quiet)]
        if figures[0] != figures[1]:
            wrong.append(f"{self.report} differs")
        return wrong + others(self.folder, quiet.folder)

    def _figures(self, folder: Path) -> str:
        """The report without its date and how fast it was, which stands in whole rows a second."""
        text = (folder / self.report).read_text(encoding="utf-8")
        text = re.sub(r"Made on .* with", "", text)
        return re.sub(r'<td class="number">[\d,]+</td>', "", text, count=1)


COMMANDS: dict[str, type[Command]] = {"bench": Grid, "run": Stream}


def differences(folder: Path, other: Path, names: Sequence[str]) -> list[str]:
    """Name the files that are not the same in both folders."""
    wrong = []
    for name in names:
        texts = [
            path.read_bytes() if (path := p / name).exists() else None for p in (folder, other)
        ]
        if texts[0] != texts[1]:
            wrong.append(f"{name} differs")
    print(f"{len(names) - len(wrong)} of {len(names)} files are the same")
    return wrong


def others(folder: Path, other: Path) -> list[str]:
    """Name the files that only one of the folders has: what a kill has left, or taken."""
    left, right = ({p.relative_to(f).as_posix() for p in f.rglob("*")} for f in (folder, other))
    return [f"only one has {name}" for name in sorted(left ^ right)]


def kill_at_random(command: Command, rng: random.Random, share: float) -> bool:
    """Start it, kill it once about this share is done, and say when; whether it still ran."""
    before, n = command.done(), command.n_steps
    wanted = max(before, round(share * n))
    # Else between two steps; a start, and the report after the last step, take seconds.
    long = wanted in (before, n)
    process = command.start()
    while process.poll() is None and command.done() < wanted:
        time.sleep(0.005)
    time.sleep(rng.uniform(0, 1.5 if long else 0.05))
    killed = process.poll() is None
    if killed:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    print(f"{'killed at' if killed else 'ended before'} {command.done()} of {n} steps", flush=True)
    return killed


def disturb(command: Command, kills: int, seed: int) -> list[str]:
    """Kill it three times or more, run it to its end and return what went wrong on the way."""
    rng = random.Random(seed)
    # One in its start, one in its report, the others in even parts of its work.
    shares = [0.0, *((i + rng.random()) / (kills - 2) for i in range(kills - 2)), 1.0]
    killed = 0
    for number, share in enumerate(shares, 1):
        print(f"{number:>3}: ", end="")
        killed += kill_at_random(command, rng, share)
        command.look()
    code = command.start().wait()
    print(f"{killed} of {kills} times it was killed before it had ended")
    wrong = [f"the last start ended with exit code {code}"] if code else []
    if command.done() != command.n_steps:
        wrong.append(f"{command.done()} steps in place of {command.n_steps}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", nargs="?", choices=list(COMMANDS), default="bench")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.kills < 3:
        parser.error("--kills must be 3 at least")
    with tempfile.TemporaryDirectory() as name:
        make = COMMANDS[options.command]
        disturbed, quiet = (make(Path(name, what)) for what in ("disturbed", "undisturbed"))
        if quiet.start().wait():
            print(quiet.folder.with_suffix(".log").read_text())
            return 2
        wrong = disturb(disturbed, options.kills, options.seed)
        wrong += disturbed.faults(quiet)
    for line in wrong:
        print(line)
    print("failed" if wrong else "passed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
