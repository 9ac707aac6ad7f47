"""Do to models all that users may do, in any order, and look after every step.

    python fuzz/stateful.py [--steps 100_000] [--seed 0] [--only twinned|alone] [--length 50]

The machines are those of `tests/reliability/machine.py`: one compares every step with the slow
twin, the other asks models that have no twin to be true to themselves. They take turns. A failure
is shown with the shortest series of steps that was found for it, and the run goes on with the next
seed; its seed alone gives the same failure again. The exit status is 1 if there was any. With
NUMBA_DISABLE_JIT=1 nothing is compiled, so that a short run ends sooner.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

import numpy as np  # noqa: E402
from hypothesis import HealthCheck, Verbosity, seed, settings  # noqa: E402
from hypothesis.stateful import invariant, run_state_machine_as_test  # noqa: E402

from mist.engine.compiled import compiles  # noqa: E402
from reliability import machine  # noqa: E402

EXAMPLES = 20
"""Series of steps for each seed."""


def counted(kind: Any) -> Any:
    """The machine, which counts its steps."""

    class Counted(kind):
        steps = 0

        @invariant()
        def one_more(self) -> None:
            Counted.steps += 1

    return Counted


def run(kind: Any, number: int, length: int) -> tuple[int, str | None]:
    """Steps done for one seed, and what failed."""
    one = seed(number)(counted(kind))
    try:
        run_state_machine_as_test(
            one,
            settings=settings(
                max_examples=EXAMPLES,
                stateful_step_count=length,
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
                verbosity=Verbosity.normal,
            ),
        )
    except Exception:
        return one.steps, traceback.format_exc()
    return one.steps, None


def main() -> int:
    """Run the machines until enough steps are done."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=lambda text: int(text.replace("_", "")), default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=["twinned", "alone"])
    parser.add_argument("--length", type=int, default=50, help="most steps of one series")
    given = parser.parse_args()
    warnings.simplefilter("error")
    if not compiles():
        np.seterr(all="ignore")  # compiled code does not warn
    kinds = {"twinned": machine.Twinned, "alone": machine.Alone}
    names = [given.only] if given.only else list(kinds)
    done, failures, number, start = dict.fromkeys(names, 0), [], given.seed, time.monotonic()
    while sum(done.values()) < given.steps:
        name = min(names, key=done.__getitem__)
        steps, fault = run(kinds[name], number, given.length)
        done[name] += steps
        if fault is not None:
            failures.append((name, number))
            print(f"--- {name}, seed {number}\n{fault}", flush=True)
        number += 1
        told = ", ".join(f"{name} {n:,}" for name, n in done.items())
        print(f"{told} steps; {len(failures)} failures", flush=True)
    print(f"{sum(done.values()):,} steps in {time.monotonic() - start:,.0f} s; failed: {failures}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
