"""Speed of MIST and its rivals, measured in turn in one run; writes records and a page."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from rich.console import Console

from . import cold, growth, memory
from .clock import Task
from .marks import REFERENCES
from .page import page
from .records import Book, read
from .streams import SHAPES
from .worker import LIBRARIES, library, workers

SLOW = 0.25
"""A method that takes so much of the time of a run, or is cut, is measured once only, unless it is
ours or what others are divided by."""


def all_methods():
    """Every method by name, with its library."""
    return {method: name for name in LIBRARIES for method in library(name).METHODS}


def arguments(words=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", nargs="+", default=list(SHAPES), choices=list(SHAPES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--only", nargs="+", metavar="METHOD", choices=list(all_methods()), help="methods by name"
    )
    parser.add_argument("--out", type=Path, default=Path("speed"), help="folder of the records")
    parser.add_argument("--docs", type=Path, metavar="FILE", help="page, default: OUT/speed.md")
    parser.add_argument("--seconds", type=float, default=20.0, help="CPU time that cuts a run")
    parser.add_argument("--growth", action="store_true", help="draw rates against sizes, only")
    parser.add_argument("--memory", action="store_true", help="bytes on sets of the paper, only")
    parser.add_argument("--no-cold", action="store_true", help="leave out starts of processes")
    parser.add_argument("--page-only", action="store_true", help="build the page from old records")
    options = parser.parse_args(words)
    if options.rounds < 1 or options.seconds <= 0:
        parser.error("--rounds and --seconds must be above 0")
    return options


def main(words=None):
    options = arguments(words)
    # Every library gets one thread, except where two are measured.
    for name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ[f"{name}_NUM_THREADS"] = "1"
    if not options.page_only:
        book, console = Book(options.out), Console()
        with workers() as own:
            if options.growth:
                measure_growth(book, own, options, console)
            elif not options.memory:
                measure_streams(book, own, options, console)
            if options.memory or not (options.growth or options.only):
                memory.measure_all(book, own)
        if not (options.growth or options.memory or options.no_cold):
            cold.measure_all(book, options.rounds)
    write(options)


def write(options):
    """The page, and beside it the drawing if growth was measured."""
    target = options.docs or options.out / "speed.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    records, image = read(options.out), None
    grown = [record for record in records if record["part"] == "growth"]
    if grown:
        image = target.with_suffix(".svg")
        growth.draw(grown).savefig(image, metadata={"Date": None})
    target.write_text(page(records, image and image.name), encoding="utf-8")
    print(target)


def measure_streams(book, own, options, console):
    """All methods on the streams, in turn, round after round."""
    methods = {
        method: name
        for method, name in all_methods().items()
        if options.only is None or method in options.only
    }
    versions = {}
    for name in dict.fromkeys(methods.values()):
        reason = library(name).missing()
        if reason:
            book.add("streams", library=name, reason=reason)
            console.print(f"{name}: {reason}")
        else:
            versions[name] = own.versions(name)
    for stream in options.streams:
        tasks = [
            Task(name, method, path, SHAPES[stream], options.seconds)
            for method, name in methods.items()
            if name in versions
            for path in library(name).METHODS[method]
        ]
        for number in range(options.rounds):
            tasks = measure_round(book, own, stream, tasks, number, versions, console)


def measure_growth(book, own, options, console):
    """Our trees and the limit at every size."""
    versions = {name: own.versions(name) for name in set(growth.METHODS.values())}
    for point in growth.POINTS:
        tasks = growth.tasks(point, options.seconds)
        for number in range(options.rounds):
            tasks = measure_round(
                *(book, own, point.name, tasks, number, versions, console), part="growth"
            )


def measure_round(book, own, stream, tasks, number, versions, console, part="streams"):
    """Each task once; returns those that the next round is to repeat."""
    again = []
    for task in tasks:
        task = task._replace(judge=task.judge and number == 0)
        known = {
            **{"library": task.library, "method": task.method, "path": task.path},
            **{"stream": stream, "round": number, "of": task.shape.rows},
            "versions": versions[task.library],
        }
        try:
            first = own.warm(task) if number == 0 else None
            outcome = own.run(task)
        except Exception as error:  # a rival's fault must not end the run
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            book.add(part, **known, reason=reason)
            console.print(f"{stream} {task.method}, {task.path}: {reason}", markup=False)
            continue
        if first is not None:
            book.add(part, **known, **vars(first), cold=True)
        book.add(part, **known, **vars(outcome), cold=False)
        cut = " (cut)" if outcome.cut else ""
        rate = f"{outcome.rows / outcome.cpu:,.0f} rows/s"
        console.print(f"{stream} {number} {task.method}, {task.path}: {rate}{cut}", markup=False)
        quick = not outcome.cut and outcome.cpu < SLOW * task.seconds
        if (
            quick
            or task.library in ("mist", "limit")
            or (task.method, task.path) in REFERENCES.values()
        ):
            again.append(task)
    return again
