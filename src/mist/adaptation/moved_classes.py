"""Detection of classes that have moved, from the rows of each class alone.

Just before a row is learnt, the model scores it by the density of its own class
(`mist.engine.conformity`). The rank of the score among the class's last scores is a p-value: small
if the row is where the class has hardly been. Rows that keep to the class's distribution give
p-values that are uniform, whatever the distribution and the leaf predictor. A cumulative sum of
bets against that (CUSUM) raises the alarm: after about ten rows in a row at an unknown place. A
class whose rows still come from the known place as well seldom raises one, an absent one never.

References
----------
Vovk, Nouretdinov and Gammerman, "Testing exchangeability on-line", 2003 (the bets);
Page, "Continuous inspection schemes", 1954 (the cumulative sum).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mist.engine.arrays import grown, without_entry
from mist.engine.compiled import exact
from mist.engine.conformity import REMEMBERED

ALARM = 8.0
"""Evidence, in nats, at which a class has moved. Chosen on development seeds, as the other
constants: at 5 there was a false alarm in 15 stationary streams, at 7 and more none."""

FAMILIAR = 0.3
"""A row with a larger p-value is where the class has been before."""

REFUTED = 2.0
"""What such a row takes from the evidence: more than a strange one adds."""

MOST = 1.5
"""Most evidence of one row, so that a few outliers raise no alarm."""

_POWER = 0.3
"""Exponent of the bet: the factor on the capital is POWER * p ** (POWER - 1)."""

COMPARED = 200
"""Scores that a new one is ranked among."""

FEWEST = 20
"""A class with fewer scores is not watched yet."""


class MovedClasses(NamedTuple):
    """Evidence that each class has moved, by class code."""

    evidence: Any  # float64 (codes,)
    read: Any  # int64 (codes,): scores read so far
    alarm: Any  # int64 (codes,): 1 after an alarm that is not decided yet
    rows: Any  # float64 (codes,): rows in complete blocks of the class at that alarm


def new_moved_classes() -> MovedClasses:
    """Return the evidence of a model without classes."""
    return MovedClasses(np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


def reserve_codes(moved: MovedClasses, n_codes: int) -> MovedClasses:
    """Reserve so many classes."""
    return MovedClasses(*(grown(array, n_codes) for array in moved))


@exact
def p_value(conformity, code, at):
    """Rank of score number ``at`` of a class among those before it; 1 if there are too few."""
    first = max(0, at - COMPARED)
    if at - first < FEWEST:
        return 1.0
    scores = conformity.scores[code]
    score, below = scores[at % REMEMBERED], 0
    for k in range(first, at):
        below += scores[k % REMEMBERED] <= score
    return (1.0 + below) / (1.0 + at - first)


@exact
def next_moved(moved, conformity):
    """Read the new scores; returns the code of a class that has moved, or -1.

    Its evidence is then 0. Call again until the result is -1: other scores may be unread.
    """
    for code in range(min(moved.read.size, conformity.scored.size)):
        n = conformity.scored[code]
        while moved.read[code] < n:
            p = p_value(conformity, code, moved.read[code])
            moved.read[code] += 1
            if p > FAMILIAR:
                step = -REFUTED
            else:
                step = min(MOST, math.log(_POWER) - (1.0 - _POWER) * math.log(p))
            moved.evidence[code] = max(0.0, moved.evidence[code] + step)
            if moved.evidence[code] >= ALARM:
                moved.evidence[code] = 0.0
                return code
    return -1


def drop_code(moved: MovedClasses, code: int) -> MovedClasses:
    """Drop a class; the one with the last code gets its code."""
    return MovedClasses(*(without_entry(array, code) for array in moved))


def start_over(moved: MovedClasses, conformity: Any, code: int | None = None) -> None:
    """Drop the evidence on one class, or on all; scores so far count as read."""
    which = slice(None) if code is None else slice(code, code + 1)
    n = min(len(moved.read), len(conformity.scored))
    moved.evidence[which], moved.alarm[which] = 0.0, 0
    moved.read[:n][which] = conformity.scored[:n][which]
