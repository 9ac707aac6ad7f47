"""Slow and obvious twins of the stream's scale and of its tests on held-out rows."""

from fractions import Fraction
from math import isnan, nan
from statistics import fmean, pstdev

import numpy as np


def standardised(row, seen):
    """One row in the scale of the rows seen, column by column; the mean is taken off exactly."""
    scaled = []
    for value, column in zip(row, zip(*seen, strict=True), strict=True):
        known = [Fraction(other) for other in column if not isnan(other)]
        spread = pstdev(known) if known else 0.0
        middle = sum(known) / max(len(known), 1)
        scaled.append(nan if isnan(value) else float(Fraction(value) - middle) / (spread or 1.0))
    return scaled


def standardised_as_they_come(rows, first):
    """Every row in the scale of the rows up to itself, but at most of the first so many."""
    return [standardised(row, rows[: min(i + 1, first)]) for i, row in enumerate(rows)]


def held_out_tests(model, stream, tests_per_task):
    """Train row by row; test every class seen so far, one held-out row at a time.

    Gives for every test the rows learnt, the recall of each class and the accuracy over all rows
    tested.
    """
    stops, begin = [], 0
    for end in stream.boundaries.tolist():
        stops += [begin + (end - begin) * k // tests_per_task for k in range(1, tests_per_task + 1)]
        begin = end
    tests, seen = [], set()
    for learnt, (x, label) in enumerate(zip(stream.X_train, stream.y_train, strict=True), start=1):
        model.partial_fit(x[None], np.array([label]))
        seen.add(label)
        if learnt not in stops:
            continue
        hits = {label: [] for label in stream.classes}
        for task in stream:
            for row, truth in zip(task.X_test, task.y_test.tolist(), strict=True):
                if truth in seen:
                    answer = model.predict(stream.prepare(row[None], learnt))[0]
                    hits[truth].append(answer == truth)
        recall = [fmean(hits[label]) if hits[label] else nan for label in stream.classes]
        together = [hit for answers in hits.values() for hit in answers]
        tests.append((learnt, recall, fmean(together) if together else nan))
    return tests
