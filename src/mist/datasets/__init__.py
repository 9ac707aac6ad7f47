"""Data sets: scikit-learn's bundled tables and generators of synthetic classes."""

from mist.datasets.dataset import Dataset
from mist.datasets.synthetic import make_gaussian_classes, make_multimodal
from mist.datasets.toy import load_toy

__all__ = ["Dataset", "load_toy", "make_gaussian_classes", "make_multimodal"]
