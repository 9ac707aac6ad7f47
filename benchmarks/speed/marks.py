"""Marks that the trees are to reach, as ratios in one run, and whether they did."""

from __future__ import annotations

from typing import NamedTuple

from .records import Spread

PREQUENTIAL = "prequential"
RIVER = ("river HT", "one by one, dicts")
CAPYMOA = ("CapyMOA HT", "Java loop")
BAYES = ("CapyMOA NaiveBayes", "Java loop")
LIMIT = ("limit kernel", PREQUENTIAL)
REFERENCES = {"river HT": RIVER, "CapyMOA HT": CAPYMOA, "limit kernel": LIMIT}
"""What every rate is divided by."""


class Mark(NamedTuple):
    """A bound on a rate, on its ratio to another, or on a ratio of bytes."""

    stream: str
    method: str
    path: str
    bound: float
    against: tuple[str, str] | None = None  # None: rows per second
    clock: str = "cpu"
    is_size: bool = False  # bytes, of which fewer are better

    @property
    def text(self):
        """What is measured."""
        if self.is_size:
            return f"{self.method}: bytes / those of {self.against[0]}"
        if self.against is None:
            return f"{self.method}, {self.path}: rows/s"
        if self.clock == "wall":
            return f"{self.method}, {self.path} / {self.against[1]}, by the wall clock"
        return f"{self.method}, {self.path} / {self.against[0]}, {self.against[1]}"


def _all(streams, *rest, **options):
    return [Mark(stream, *rest, **options) for stream in streams.split()]


G, K, DEFAULT = "MIST-G", "MIST-K", "MIST"
MARKS = (
    *_all("S1 S2 S4", G, PREQUENTIAL, 0.7, LIMIT),
    *_all("S3", G, PREQUENTIAL, 0.6, LIMIT),
    *_all("S1 S2", G, PREQUENTIAL, 300.0, RIVER),
    *_all("S1 S2", G, PREQUENTIAL, 40.0, CAPYMOA),
    *_all("S1 S2", G, PREQUENTIAL, 5.0, BAYES),
    *_all("S1", K, PREQUENTIAL, 40_000.0),
    *_all("S1", K, PREQUENTIAL, 15.0, RIVER),
    *_all("S1", K, "predict", 3.0 * 40_000.0),
    *_all("S1", K, "predict", 3.0 * 15.0, RIVER),
    *_all("S1", G, "one by one, arrays", 100.0, RIVER),
    *_all("S1", G, "one by one, dicts", 40.0, RIVER),
    *[
        Mark("S1", method, "predict, 2 threads", 1.8, (method, "predict"), clock="wall")
        for method in (G, K, DEFAULT)
    ],
    *[
        Mark(stream, method, PREQUENTIAL, 1.0, RIVER, is_size=True)
        for method in (G, K, DEFAULT)
        for stream in ("S1", "S2", "S4")
    ],
)


def measured(mark, rates):
    """What a mark's figure came out as, or None."""
    own = mark.stream, mark.method, mark.path
    if mark.against is None:
        return rates.rate(own, mark.clock)
    other = mark.stream, *mark.against
    if not mark.is_size:
        return rates.ratio(own, other, mark.clock)
    records = rates.record(own), rates.record(other)
    if not all(record and record["bytes"] for record in records):
        return None
    share = records[0]["bytes"] / records[1]["bytes"]
    return Spread(share, share, share, any(record["cut"] for record in records))


def verdict(mark, figure):
    """Met, missed or not measured."""
    if figure is None:
        return "not measured"
    met = figure.median < mark.bound if mark.is_size else figure.median >= mark.bound
    return "met" if met else "missed"
