"""Data sets: public tables by name, and generators of synthetic classes."""

from mist.datasets.cache import DatasetError
from mist.datasets.catalogue import REGISTRY, Entry
from mist.datasets.dataset import Dataset
from mist.datasets.loading import load
from mist.datasets.synthetic import make_gaussian_classes, make_multimodal
from mist.datasets.toy import load_toy

__all__ = [
    "REGISTRY",
    "Dataset",
    "DatasetError",
    "Entry",
    "load",
    "load_toy",
    "make_gaussian_classes",
    "make_multimodal",
]
