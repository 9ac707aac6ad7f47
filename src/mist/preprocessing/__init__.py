"""Encoding of streams with texts, new categories and varying columns as numbers."""

from mist.preprocessing.encoder import StreamEncoder
from mist.preprocessing.pipeline import StreamPipeline

__all__ = ["StreamEncoder", "StreamPipeline"]
