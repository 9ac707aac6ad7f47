"""What labels came lately: counts, recent frequencies, the last label, and what followed it.

This is knowledge of the next row of the stream, and of no other row.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mist.engine.arrays import grown, without_entry
from mist.engine.budget import row_bytes
from mist.engine.compiled import exact

N_PRIORS = 4
"""Number of log priors that `write_priors` writes."""

MOST_PAIRED_CLASSES = 512
"""What follows a label is counted for the first so many classes."""

_RECENT = 0.5 ** (1.0 / 100.0)
_FOLLOWED = 0.5 ** (1.0 / 500.0)
_SHRINKAGE = 2.0


class LabelMemory(NamedTuple):
    """Frequencies of labels, by class code."""

    count: Any  # float64 (codes,): weight of the rows so far
    recent: Any  # float64 (codes,): rows, half of whose weight is lost every 100 rows
    followed: Any  # float64 (paired, paired): of each label, what came next; 500 rows of the label
    last: Any  # int64 (1,): code of the last row, -1 before the first


def new_label_memory() -> LabelMemory:
    """Return the state before the first row."""
    return LabelMemory(np.zeros(0), np.zeros(0), np.zeros((0, 0)), np.full(1, -1))


def reserve_codes(labels: LabelMemory, n_codes: int) -> LabelMemory:
    """Reserve so many classes."""
    if n_codes <= len(labels.count):
        return labels
    n, followed, old = min(n_codes, MOST_PAIRED_CLASSES), labels.followed, len(labels.followed)
    if n > old:
        followed = np.zeros((n, n))
        followed[:old, :old] = labels.followed
    return LabelMemory(
        grown(labels.count, n_codes), grown(labels.recent, n_codes), followed, labels.last
    )


def bytes_for_codes(labels: LabelMemory, n_codes: int) -> int:
    """Bytes for so many classes."""
    paired = min(n_codes, MOST_PAIRED_CLASSES)
    followed = paired * paired * labels.followed.itemsize
    return n_codes * row_bytes(labels.count, labels.recent) + followed + labels.last.nbytes


@exact
def write_priors(labels, n, floor, out):
    """Write four log priors of each of n classes: by counts, recent, what followed, and the same.

    A class without rows gets ``floor`` in the first three.
    """
    total, recent, last, known_classes = 0.0, 0.0, labels.last[0], 0
    for k in range(n):
        known_classes += labels.count[k] > 0.0
        total += labels.count[k]
        recent += labels.recent[k]
    after, paired = 0.0, min(n, labels.followed.shape[0])
    known = 0 <= last < paired
    if known:
        for k in range(paired):
            after += labels.followed[last, k]
    for k in range(n):
        out[3, k] = 0.0 if k == last else -1.0
        if labels.count[k] == 0.0:
            out[0, k] = out[1, k] = out[2, k] = floor
            continue
        share = (labels.recent[k] + 0.5 / known_classes) / (recent + 0.5)
        out[0, k] = math.log((labels.count[k] + 0.5) / (total + 0.5 * known_classes))
        out[1, k] = max(floor, math.log(share))
        out[2, k] = out[1, k]
        if known:
            came = labels.followed[last, k] if k < paired else 0.0
            next_share = (came + _SHRINKAGE * share) / (after + _SHRINKAGE)
            out[2, k] = max(floor, math.log(next_share))


@exact
def learn(labels, code, w):
    """Count the label of one row of weight w."""
    labels.count[code] += w
    for k in range(labels.recent.size):
        labels.recent[k] *= _RECENT
    labels.recent[code] += 1.0
    last = labels.last[0]
    if 0 <= last < labels.followed.shape[0] and code < labels.followed.shape[0]:
        for k in range(labels.followed.shape[1]):
            labels.followed[last, k] *= _FOLLOWED
        labels.followed[last, code] += 1.0
    labels.last[0] = code


def join_class(labels: LabelMemory, old: int, new: int) -> None:
    """Add the rows of a class to those of another one."""
    for array in (labels.count, labels.recent):
        array[new] += array[old]
        array[old] = 0.0
    if max(old, new) < len(labels.followed):
        labels.followed[new] += labels.followed[old]
        labels.followed[:, new] += labels.followed[:, old]
    if labels.last[0] == old:
        labels.last[0] = new


def drop_code(labels: LabelMemory, code: int) -> LabelMemory:
    """Drop a class; the one with the last code gets its code.

    Without it, what followed other labels is a little less.
    """
    last, paired = len(labels.count) - 1, len(labels.followed)
    followed = labels.followed.copy()
    if code < paired:
        # A last code beyond the paired ones was not counted: nothing is known of it.
        for table in (followed, followed.T):
            table[code] = table[last] if last < paired else 0.0
    if last < paired:
        followed = followed[:last, :last].copy()
    if labels.last[0] in (code, last):
        labels.last[0] = code if labels.last[0] == last != code else -1
    return LabelMemory(
        without_entry(labels.count, code),
        without_entry(labels.recent, code),
        followed,
        labels.last,
    )


def merge(labels: LabelMemory, other: LabelMemory, codes: np.ndarray[Any, Any]) -> None:
    """Add the counts of another model, whose codes are mapped; its order of rows says nothing."""
    n = min(len(codes), len(other.count))
    labels.count[codes[:n]] += other.count[:n]
