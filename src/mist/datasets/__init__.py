"""Data sets: public tables by name, generators of classes, and of streams that drift."""

from mist.datasets.cache import DatasetError
from mist.datasets.catalogue import REGISTRY, Entry
from mist.datasets.changing import make_changing_classes
from mist.datasets.concepts import make_agrawal, make_led, make_mixed, make_stagger
from mist.datasets.dataset import Dataset
from mist.datasets.drifting import DriftStream, make_hyperplane, make_rbf_drift, make_sea
from mist.datasets.loading import load
from mist.datasets.synthetic import make_gaussian_classes, make_multimodal
from mist.datasets.toy import load_toy

__all__ = [
    "REGISTRY",
    "Dataset",
    "DatasetError",
    "DriftStream",
    "Entry",
    "load",
    "load_toy",
    "make_agrawal",
    "make_changing_classes",
    "make_gaussian_classes",
    "make_hyperplane",
    "make_led",
    "make_mixed",
    "make_multimodal",
    "make_rbf_drift",
    "make_sea",
    "make_stagger",
]
