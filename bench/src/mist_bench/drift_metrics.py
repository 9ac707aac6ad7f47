"""Metrics of streams that drift, under the name they had before `mist.evaluation` took them."""

from mist.evaluation import kappa_temporal, recovery_rows

__all__ = ["kappa_temporal", "recovery_rows"]
