"""Mixed columns of a stream as numbers: texts, new categories, columns that come and go."""

from mist.preprocessing.encoder import StreamEncoder
from mist.preprocessing.pipeline import StreamPipeline

__all__ = ["StreamEncoder", "StreamPipeline"]
