"""Fuzz all that reads a file: tables of every kind, and models.

    python fuzz/run.py
    python fuzz/run.py --target readers --seconds 60 --seed 1
    python fuzz/run.py --replay fuzz/found/readers/KeyError-npz-12.bin

Targets are ``readers`` (tables as ``mist run`` reads them: in two passes, from a pipe, and again
for the model), ``raw`` (`mist.load` of any bytes) and ``sealed`` (`mist.load` of files with right
checksums, so that the code behind them is reached, and what commands make of such a file);
``load`` stands for the last two. It begins with small files of every kind, written by the library,
and with what earlier calls found worth keeping in ``fuzz/corpus``.

A finding is a crash, an input that takes more than 5 seconds or more than 1 GB, an error of a type
that the documentation does not promise, a message of several lines or with control characters, and
in a model that was handed out an index outside of its array. Its input is kept in ``fuzz/found``.
Needs atheris, which has libFuzzer in it.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
CORPUS, FOUND = HERE / "corpus", HERE / "found"
GROUPS = {"readers": ["readers"], "load": ["raw", "sealed"], "all": ["readers", "raw", "sealed"]}
LENGTHS = {"readers": 8_000, "raw": 30_000, "sealed": 40_000}
"""Bytes of an input at most."""

MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
"""Where inputs are written to be read: in memory, if there is a folder for that."""

LIMITS = ("-timeout=5", "-rss_limit_mb=1024")
MOST_STARTS = 20
"""A process that ended by a finding is followed by another one, but not for ever."""


class Outcome(NamedTuple):
    """What came of one target."""

    target: str
    seconds: float
    executions: int
    coverage: int
    findings: list[Path]


def write_seeds(target: str, folder: Path) -> None:
    """Write valid inputs of a target into a folder."""
    import seeds

    folder.mkdir(parents=True, exist_ok=True)
    if target == "readers":
        for number, data in enumerate(seeds.reader_inputs()):
            (folder / f"seed-{number}").write_bytes(data)
        return
    with tempfile.TemporaryDirectory() as files:
        for file in seeds.model_files(Path(files)):
            data = seeds.members_of(file) if target == "sealed" else file.read_bytes()
            (folder / f"seed-{file.stem}").write_bytes(data)


def fuzz(target: str, seconds: int, seed: int) -> Outcome:
    """Run a target for some time, in one process after another if it is ended by findings."""
    found, corpus = FOUND / target, CORPUS / target
    found.mkdir(parents=True, exist_ok=True)
    write_seeds(target, corpus)
    before, begin = set(found.iterdir()), time.monotonic()
    executions = coverage = 0
    for start in range(MOST_STARTS):
        left = round(seconds - (time.monotonic() - begin))
        if left < 1:
            break
        command = [sys.executable, "-W", "ignore", HERE / "child.py", target, found]
        command += [f"-max_total_time={left}", f"-max_len={LENGTHS[target]}", *LIMITS]
        command += [f"-seed={seed + start}", f"-artifact_prefix={found}/", "-print_final_stats=1"]
        with tempfile.TemporaryDirectory(prefix="mist-fuzz-", dir=MEMORY) as scratch:
            done = subprocess.run(
                [*command, corpus],
                env={**os.environ, "TMPDIR": scratch},
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
        executions += _last(r"^#(\d+)|number_of_executed_units: (\d+)", done.stderr)
        coverage = max(coverage, _last(r" cov: (\d+)", done.stderr))
        if done.returncode:
            (found / f"process-{start}.txt").write_text(done.stderr[-20_000:], encoding="utf-8")
    # What is told of an input comes before it.
    new = sorted(set(found.iterdir()) - before, key=lambda file: (file.stem, file.suffix == ".bin"))
    return Outcome(target, time.monotonic() - begin, executions, coverage, new)


def _last(pattern: str, text: str) -> int:
    """The last number that a pattern finds."""
    groups = re.findall(pattern, text, re.MULTILINE)
    last = groups[-1] if groups else "0"
    return int(last if isinstance(last, str) else max(last, key=len))


def replay(file: Path) -> None:
    """Run the input of a finding again, without libFuzzer; what went wrong is raised."""
    from targets import TARGETS

    TARGETS[file.resolve().parent.name](file.read_bytes())
    print(f"{file} gives no finding any more")


def report(outcomes: list[Outcome]) -> None:
    """Print what came of the targets."""
    print(f"{'target':10}{'seconds':>10}{'executions':>12}{'coverage':>10}{'findings':>10}")
    for outcome in outcomes:
        inputs = [file for file in outcome.findings if file.suffix != ".txt"]
        print(
            f"{outcome.target:10}{outcome.seconds:>10.0f}{outcome.executions:>12,}"
            f"{outcome.coverage:>10,}{len(inputs):>10}"
        )
    for file in (file for outcome in outcomes for file in outcome.findings):
        if file.suffix != ".txt":
            print(f"again: python {Path(__file__)} --replay {file}")
            continue
        told = file.read_text(encoding="utf-8").strip().splitlines()
        print(f"\n{file.stem}: {told[-1][:200] if told else 'the process ended'}")


def main() -> int:
    """Do what the command line says; 1 if there was a finding."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", choices=[*GROUPS, "raw", "sealed"], default="all")
    parser.add_argument("--seconds", type=int, default=600, help="for each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--replay", type=Path, metavar="FILE", help="run one finding again")
    options = parser.parse_args()
    if options.replay is not None:
        replay(options.replay)
        return 0
    if importlib.util.find_spec("atheris") is None:
        print(
            "fuzzing needs atheris: pip install atheris (CPython 3.11 to 3.14 on Linux)",
            file=sys.stderr,
        )
        return 2
    targets = GROUPS.get(options.target, [options.target])
    outcomes = [fuzz(target, options.seconds, options.seed) for target in targets]
    report(outcomes)
    return int(any(outcome.findings for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
