"""What a text costs that comes late, on a made-up stream of payments.

A shop is one of six; three kinds of payment differ by amount, hour and shop. After 400 rows a
seventh shop has three cells among 200 rows. Prints the accuracy of the prequential run over these
200 rows, with the cells as they are and left empty, and that of a model that had the 0/1 columns
of all shops from the start. Then the accuracy over all rows from the first one on, with texts as
they come (a pipe) and known from the start (a file). The figures are means over `SEEDS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mist import MistClassifier
from mist.preprocessing import StreamEncoder, StreamPipeline

SEEDS = range(20)
SHOPS = [f"shop {k}" for k in range(6)]
MODELS: Mapping[str, Any] = {
    "MIST-G": lambda: MistClassifier.paper("G"),
    "default": MistClassifier,
}


def payments(seed: int) -> tuple[dict[str, Any], np.ndarray[Any, Any]]:
    """600 rows and their kinds; no row has the seventh shop yet."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, 600)
    shop = rng.integers(0, 6, 600)
    typical = rng.random(600) < 0.6
    shop = np.where(typical, 2 * kind + rng.integers(0, 2, 600), shop)
    table = {
        "amount": np.exp(rng.normal(3.0 + 0.9 * kind, 0.8)),
        "hour": rng.normal(12.0 + 1.5 * kind, 2.5),
        "shop": np.array(SHOPS, dtype=object)[shop],
    }
    return table, np.array(["food", "fuel", "rent"])[kind]


def accuracy(model: Any, seed: int, cell: str | None, known: bool) -> float:
    """Accuracy over the last 200 rows, three of which have this cell as shop."""
    table, y = payments(seed)
    table["shop"][np.random.default_rng(seed + 1000).choice(np.arange(400, 600), 3, False)] = cell
    encoder = StreamEncoder(categories={"shop": [*SHOPS, "new"]} if known else None)
    line = StreamPipeline(encoder, model)
    line.learn_many({name: values[:400] for name, values in table.items()}, y[:400])
    hits = []
    for i in range(400, 600):
        row = {name: values[i : i + 1] for name, values in table.items()}
        hits.append(line.prequential_many(row, y[i : i + 1])[0] == y[i])
    return float(np.mean(hits))


def from_the_start(model: Any, seed: int, known: bool) -> float:
    """Accuracy over all rows."""
    table, y = payments(seed)
    model = StreamPipeline(StreamEncoder(categories={"shop": SHOPS} if known else None), model)
    hits = 0
    for i in range(len(y)):
        row = {name: values[i : i + 1] for name, values in table.items()}
        hits += bool(model.prequential_many(row, y[i : i + 1])[0] == y[i])
    return hits / len(y)


def main() -> None:
    """Print the table."""
    ways = {"late": ("new", False), "empty": (None, False), "known": ("new", True)}
    for name, make in MODELS.items():
        for way, (cell, known) in ways.items():
            shares = [accuracy(make(), seed, cell, known) for seed in SEEDS]
            print(f"{name:8}  {way:6}  {np.mean(shares):.4f}")
        for way, known in {"pipe": False, "file": True}.items():
            shares = [from_the_start(make(), seed, known) for seed in SEEDS]
            print(f"{name:8}  {way:6}  {np.mean(shares):.4f}")


if __name__ == "__main__":
    main()
