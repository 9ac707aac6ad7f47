"""A slow and obvious twin of candidate splits: copies of the tree with one leaf split.

It shares no code with the package. Nodes are numbered otherwise than in the engine, so both agree
only while no random bit is drawn: whole weights, and sketches that are never compacted.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from naive import NaiveMist
from naive_splits import wealth


@dataclass
class CandidateSplit:
    """What the tree would be if one leaf had been split."""

    tree: NaiveMist
    cut: tuple[int, float]
    scores: list[float] = field(default_factory=list)
    most: float = 1.0


@dataclass
class CandidateSet:
    """The candidates of one leaf."""

    number: int
    opened: float
    used: set[int]
    candidates: list[CandidateSplit]


class NaiveCandidateSplits(NaiveMist):
    """A tree whose leaves split when candidate children have predicted better."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.batches: dict[int, CandidateSet] = {}

    def learn_row(self, x: Sequence[float], label: Hashable, weight: float = 1.0) -> None:
        """Let the candidates predict the row, and learn it, before the tree does."""
        if weight > 0.0:
            at = self.apply(x)
            before = self.predict_proba(x).get(label, 0.0)
            for leaf, batch in self.batches.items():
                for candidate in batch.candidates:
                    if leaf == at:
                        after = candidate.tree.predict_proba(x).get(label, 0.0)
                        candidate.scores.append(after - before)
                        candidate.most = max(candidate.most, wealth(candidate.scores))
                    candidate.tree.learn_row(x, label, weight)
        super().learn_row(x, label, weight)

    def attempt(self, at: int) -> None:
        """Promote a candidate that has earned it, or open the next ones."""
        leaf, batch = self.nodes[at], self.batches.get(at)
        if batch is not None:
            needed = len(batch.candidates) * batch.number * (batch.number + 1) / self.delta
            earned = [candidate for candidate in batch.candidates if candidate.most > needed]
            if earned:
                self.promote(at, max(earned, key=lambda candidate: wealth(candidate.scores)))
                return
            if leaf.rows - batch.opened < 2 * self.rows_per_split:
                return
        number = 1 if batch is None else batch.number + 1
        used = set() if batch is None else batch.used
        cuts = self.cuts(at)
        if not set(cuts) - used:
            used = set()
        chosen = sorted(set(cuts) - used, key=lambda j: (-cuts[j][0], j))[:4]
        self.batches.pop(at, None)
        if chosen:
            candidates = [self.split_copy(at, j, cuts[j][1]) for j in chosen]
            self.batches[at] = CandidateSet(number, leaf.rows, used | set(chosen), candidates)

    def cuts(self, at: int) -> dict[int, tuple[float, float]]:
        """Best gain and cut of every feature that has a gain."""
        observed = [cell for cell in self.nodes[at].cells.values() if cell.count > 0.0]
        cuts = {}
        for j in self.allowed(at):
            best = 0.0
            columns = [self.column(cell, j) for cell in observed]
            for v in self.candidates(at, j, observed, columns):
                score = self.gain(observed, columns, v)
                if score > best + 1e-12:
                    best = score
                    cuts[j] = (score, v)
        return cuts

    def split_copy(self, at: int, j: int, v: float) -> CandidateSplit:
        """A copy of this tree, split at one leaf and never again."""
        # The batches are left out of it, and with the options of a plain tree it opens none.
        batches, self.batches = self.batches, {}
        tree = copy.deepcopy(self)
        self.batches = batches
        tree.grace_period = math.inf
        tree.split(at, j, v)
        return CandidateSplit(tree, (j, v))

    def promote(self, at: int, candidate: CandidateSplit) -> None:
        """Take over the two children from a candidate."""
        del self.batches[at]
        leaf, theirs = self.nodes[at], candidate.tree.nodes
        left, right = theirs[theirs[at].left], theirs[theirs[at].right]
        leaf.feature, leaf.threshold = candidate.cut
        leaf.left, leaf.right = len(self.nodes), len(self.nodes) + 1
        leaf.cells = {}
        for child in (left, right):
            child.tried = math.floor(child.rows / self.grace_period)
            self.nodes.append(child)
        self.splits.append((at, self.order[candidate.cut[0]], candidate.cut[1], self.seen))
