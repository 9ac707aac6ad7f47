"""Records of a run: one JSON object a line, appended; the latest run of each part counts."""

from __future__ import annotations

import json
import os
import platform
import statistics
from datetime import UTC, datetime
from typing import NamedTuple

FILE = "speed.jsonl"


def machine():
    """What a figure depends on, beside the program."""
    return {
        "processors": os.cpu_count(),
        "kind": _processor(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
    }


def _processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor()


class Book:
    """Appends records to a file; all of one run share its time."""

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / FILE
        self._run = datetime.now(UTC).isoformat(timespec="seconds")

    def add(self, part, **figures):
        record = {"run": self._run, "part": part, **figures, "machine": machine()}
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        return record


def read(folder):
    """Records of the latest run of each part."""
    with open(folder / FILE, encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    return latest(records)


def latest(records):
    runs = {}
    for record in records:
        runs[record["part"]] = max(record["run"], runs.get(record["part"], ""))
    return [record for record in records if record["run"] == runs[record["part"]]]


class Spread(NamedTuple):
    """Median, least and most of a figure over the rounds."""

    median: float
    least: float
    most: float
    cut: bool = False


def spread(values, cut=False):
    return Spread(statistics.median(values), min(values), max(values), cut)


class Rates:
    """Rows per second of every measurement, by stream, method and path, round by round."""

    def __init__(self, records):
        self._records = {}
        for record in records:
            if record.get("rows"):
                key = record["stream"], record["method"], record["path"]
                rounds = self._records.setdefault(key, {})
                rounds[record["round"]] = record
        for rounds in self._records.values():
            for number in [number for number in rounds if rounds[number]["cold"]]:
                rounds.pop(number)

    def measurements(self):
        """Stream, method and path of all that was measured."""
        return [key for key, rounds in self._records.items() if rounds]

    def record(self, key):
        """The first record of a measurement: the one with accuracies and bytes."""
        rounds = self._records.get(key)
        return rounds[min(rounds)] if rounds else None

    def rate(self, key, clock="cpu"):
        """Rows per second, or None if it was not measured."""
        rounds = self._records.get(key)
        if not rounds:
            return None
        records = rounds.values()
        return spread([r["rows"] / r[clock] for r in records], any(r["cut"] for r in records))

    def ratio(self, key, other, clock="cpu"):
        """By how many times faster than the other, round by round; None without such a round."""
        ours, theirs = self._records.get(key, {}), self._records.get(other, {})
        common = ours.keys() & theirs.keys()
        if not common:
            return None
        pairs = [(ours[number], theirs[number]) for number in common]
        return spread(
            [a["rows"] * b[clock] / (a[clock] * b["rows"]) for a, b in pairs],
            any(r["cut"] for pair in pairs for r in pair),
        )
