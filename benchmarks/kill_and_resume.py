"""Kill a grid of runs again and again, let it go on, and compare it with an undisturbed one.

    python benchmarks/kill_and_resume.py
    python benchmarks/kill_and_resume.py --kills 30 --seed 1

Each kill is SIGKILL to all processes of the grid at once, at a moment drawn at random: while it
starts, between results or while the report is written. At the end every table without times must
be the same byte for byte, and no result that was there at a kill may have been written again.
Needs a system with process groups, so not Windows.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mist.bench import MEASURES

OPTIONS = (
    *("--models", "ncm,slda,gaussian-nb,rls"),
    *("--datasets", "iris,wine,digits"),
    *("--seeds", "1,2,3"),
    *("--jobs", "2"),
)
N_RUNS = 4 * 3 * 3
TIMED = {key.replace("_", "-") for key, measure in MEASURES.items() if measure.timed}
"""Names of the tables that hold times, which no two grids share."""


def start(folder: Path) -> subprocess.Popen[str]:
    """Start the grid in a process group of its own, its output in a file beside the folder."""
    with folder.with_suffix(".log").open("a") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "mist.cli", "bench", *OPTIONS, "--out", str(folder)],
            stdout=log,
            stderr=log,
            text=True,
            start_new_session=True,
        )


def finish(folder: Path) -> int:
    """Run the grid to its end and return its exit code."""
    return start(folder).wait()


def stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """When each result file was written and which file it is, by its path."""
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_mtime_ns, path.stat().st_ino)
        for path in folder.glob("runs/*/*/*.json")
    }


def kill_at_random(folder: Path, rng: random.Random, share: float) -> str:
    """Start the grid, kill it once about this share of the results is there, and say when."""
    before = len(stamps(folder))
    wanted = max(before, round(share * N_RUNS))
    # Else between two results; a start, and the report after the last result, take seconds.
    long = wanted in (before, N_RUNS)
    grid = start(folder)
    while grid.poll() is None and len(stamps(folder)) < wanted:
        time.sleep(0.005)
    time.sleep(rng.uniform(0, 1.5 if long else 0.05))
    ended = grid.poll() is not None
    if not ended:
        os.killpg(grid.pid, signal.SIGKILL)
    grid.wait()
    return f"{'ended before' if ended else 'killed at'} {len(stamps(folder))} of {N_RUNS} results"


def disturb(folder: Path, kills: int, seed: int) -> list[str]:
    """Kill the grid three times or more, run it to its end and return what is wrong with it."""
    rng = random.Random(seed)
    seen: dict[str, tuple[int, int]] = {}
    # One in its start, one in its report, the others in even parts of the grid.
    shares = [0.0, *((i + rng.random()) / (kills - 2) for i in range(kills - 2)), 1.0]
    for number, share in enumerate(shares, 1):
        print(f"{number:>3}: {kill_at_random(folder, rng, share)}", flush=True)
        seen = stamps(folder) | seen
    code = finish(folder)
    wrong = [f"the last start ended with exit code {code}"] if code else []
    after = stamps(folder)
    if len(after) != N_RUNS:
        wrong.append(f"{len(after)} results in place of {N_RUNS}")
    return wrong + [f"{path} was written again" for path in seen if after.get(path) != seen[path]]


def compare(folder: Path, other: Path) -> tuple[list[str], list[str]]:
    """Return the names of tables without times that are the same in both, and that differ."""
    names = sorted(
        {path.name for place in (folder, other) for path in (place / "tables").glob("[!.]*")}
    )
    same: list[str] = []
    differ: list[str] = []
    for name in names:
        if Path(name).stem not in TIMED:
            texts = [
                path.read_bytes() if (path := place / "tables" / name).exists() else None
                for place in (folder, other)
            ]
            (same if texts[0] == texts[1] else differ).append(name)
    return same, differ


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.kills < 3:
        parser.error("--kills must be 3 at least")
    with tempfile.TemporaryDirectory() as name:
        disturbed, quiet = Path(name, "disturbed"), Path(name, "undisturbed")
        wrong = disturb(disturbed, options.kills, options.seed)
        if finish(quiet):
            print(quiet.with_suffix(".log").read_text())
            return 2
        same, differ = compare(disturbed, quiet)
        wrong += [f"{file} differs" for file in differ]
        left = len(list(disturbed.rglob("*.part")))
        print(f"{len(same)} tables without times are the same, {len(differ)} differ")
        print(f"{left} files half written were left behind")
    for line in wrong:
        print(line)
    print("failed" if wrong else "passed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
