"""Options of a server and their defaults, which the command line takes from here."""

from __future__ import annotations

from dataclasses import dataclass

from mist.serving.limits import Limits

__all__ = ["LearnerOptions", "ServiceOptions"]


@dataclass(frozen=True)
class ServiceOptions:
    """Options of a service.

    Attributes
    ----------
    limits : Limits
        Limits on requests and model.
    keep_rows : int
        Most rows that wait for labels.
    keep_seconds : float
        Longest time that they wait.
    window : int
        Rows over which recent figures are taken.
    gaps : float
        Mean gaps after which a class or column is silent.
    least_silence : int
        Rows below which a gap is never a silence.
    """

    limits: Limits = Limits()  # noqa: RUF009, immutable
    keep_rows: int = 100_000
    keep_seconds: float = 7 * 86_400.0
    window: int = 1000
    gaps: float = 20.0
    least_silence: int = 1000


@dataclass(frozen=True)
class LearnerOptions:
    """Options of a learner.

    Attributes
    ----------
    every_rows : int
        Rows between two checkpoints.
    every_seconds : float
        Seconds between two checkpoints, if anything was learnt.
    keep_versions : int
        Checkpoints that are kept.
    """

    every_rows: int = 10_000
    every_seconds: float = 60.0
    keep_versions: int = 3
