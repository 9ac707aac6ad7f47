"""The classes that a file may hold, by short names.

Each class of this library has a line in `CLASS_PATHS`, and a class of an installed package is an
entry point of the group ``mist.classes``; `register` adds other classes. Files hold the names and
not the modules, so modules may be moved.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from itertools import chain
from typing import Any, TypeVar

from mist import plugins

__all__ = ["CLASS_PATHS", "ELSEWHERE", "class_of", "name_of", "register"]

_Class = TypeVar("_Class", bound=type)

CLASS_PATHS: Mapping[str, str] = {
    "MistClassifier": "mist.classifier:MistClassifier",
    "MistForest": "mist.forest:MistForest",
    "MistReplayForest": "mist.replay_forest:MistReplayForest",
    "NCM": "mist.baselines.ncm:NCM",
    "SLDA": "mist.baselines.slda:SLDA",
    "SQDA": "mist.baselines.sqda:SQDA",
    "RLS": "mist.baselines.rls:RLS",
    "GaussianNB": "mist.baselines.gaussian_nb:GaussianNB",
    "RandomFeatureLDA": "mist.baselines.random_feature_lda:RandomFeatureLDA",
    "StreamEncoder": "mist.preprocessing.encoder:StreamEncoder",
    "StreamPipeline": "mist.preprocessing.pipeline:StreamPipeline",
    # Parts of the estimators.
    "Labels": "mist.labels:Labels",
    "Companion": "mist.random_feature_head:RandomFeatureHead",
    "SplitRule": "mist.engine.growth:SplitRule",
    "Split": "mist.engine.growth:Split",
    "State": "mist.engine.state:State",
    "Tree": "mist.engine.state:Tree",
    "Missing": "mist.engine.state:ObservedWeights",
    "Sketch": "mist.engine.state:Sketch",
    "Options": "mist.engine.state:Options",
    "Glance": "mist.engine.state:ScreenParams",
    "Replay": "mist.replay:Replay",
    "ClassMemory": "mist.engine.class_memory:ClassMemory",
    "Conformity": "mist.engine.conformity:Conformity",
    "RestartedTrees": "mist.restarted_trees:RestartedTrees",
    "Follower": "mist.adaptation.follower:Follower",
    "Expectation": "mist.adaptation.expectation:Expectation",
    "Change": "mist.adaptation.changes:Change",
    "MovedClasses": "mist.adaptation.moved_classes:MovedClasses",
    "CommonShift": "mist.adaptation.common_shift:CommonShift",
    "NextLabel": "mist.adaptation.next_label:NextLabel",
    "LabelMemory": "mist.adaptation.label_memory:LabelMemory",
    "RecentGaussians": "mist.adaptation.recent_gaussians:RecentGaussians",
    "TrialBatch": "mist.engine.candidate_splits:CandidateSet",
    "Trial": "mist.engine.candidate_splits:CandidateSplit",
    "NaiveBayes": "mist.engine.leaves.gaussian:NaiveBayes",
    "Majority": "mist.engine.leaves.majority:Majority",
    "SketchView": "mist.engine.sorted_columns:SortedColumns",
    "Mixture": "mist.engine.gaussian_mixtures:Mixture",
    "MixtureSeen": "mist.engine.gaussian_mixtures:MixtureObserved",
    "MixtureGrowth": "mist.engine.gaussian_mixtures:Growth",
    "Gaussians": "mist.engine.gaussians:Gaussians",
    "GaussiansSeen": "mist.engine.gaussians:GaussiansObserved",
    "LowRankLeaves": "mist.engine.leaves.lowrank:LowRankLeaves",
    "LowRank": "mist.engine.low_rank_gaussians:LowRank",
    "LowRankCommon": "mist.engine.low_rank_gaussians:LeafShared",
    "NCMState": "mist.baselines.ncm:NCMState",
    "SLDAState": "mist.baselines.slda:SLDAState",
    "SQDAState": "mist.baselines.sqda:SQDAState",
    "RLSState": "mist.baselines.rls:RLSState",
    "GaussianNBState": "mist.baselines.gaussian_nb:GaussianNBState",
    "RandomFeatureLDAState": "mist.baselines.random_feature_lda:RandomFeatureLDAState",
}
"""Module and name of each class, by its name in files. Released names are never reused."""

ELSEWHERE = frozenset({"PEC", "PECState", "RandomFeatureRLS", "RandomFeatureRLSState"})
"""Names of classes that are in the package of the benchmark."""

_NAMES = {path: name for name, path in CLASS_PATHS.items()}
_REGISTERED: dict[str, type] = {}


def register(cls: _Class, name: str | None = None) -> _Class:
    """Allow objects of a class in files: an estimator, a named tuple, a dataclass or another.

    Estimators are rebuilt from their parameters, named tuples and dataclasses from their fields;
    all other attributes are put into ``__dict__`` or passed to ``__setstate__``. All values must
    be of types that a file can hold. A process that reads the file must register the class, too.

    Parameters
    ----------
    cls : type
        The class.
    name : str or None
        Name in files; None for the name of the class.

    Returns
    -------
    type
        The class, so that this can be used as a decorator.

    Raises
    ------
    ValueError
        If another class has the name, or the name does not begin with a capital letter.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> @register
    ... class Place(NamedTuple):
    ...     row: int
    >>> name_of(Place)
    'Place'
    """
    name = cls.__name__ if name is None else name
    if not (name.isidentifier() and name[0].isupper()):
        raise ValueError(f"name={name!r} must be a word that begins with a capital letter")
    # A class that is defined again, as in a notebook, replaces the earlier one.
    known = _REGISTERED.get(name, cls)
    taken = name in CLASS_PATHS or name in ELSEWHERE or name in plugins.added("classes")
    if taken or _path_of(known) != _path_of(cls):
        raise ValueError(f"name={name!r} is the name of another class in files: give another name")
    _REGISTERED[name] = cls
    return cls


def _path_of(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def name_of(cls: type) -> str | None:
    """Name of a class in files, None if files cannot hold it."""
    path = _path_of(cls)
    if path in _NAMES:
        return _NAMES[path]
    registered = (name for name, known in _REGISTERED.items() if known is cls)
    added = (point.name for point in plugins.added("classes").values() if point.value == path)
    return next(chain(registered, added), None)


def class_of(name: str) -> type | None:
    """The class with a name in files, None if the name is unknown."""
    if name in CLASS_PATHS:
        module, _, attribute = CLASS_PATHS[name].partition(":")
        found: Any = getattr(importlib.import_module(module), attribute)
        return found
    if name in _REGISTERED:
        return _REGISTERED[name]
    point = plugins.added("classes").get(name)
    return None if point is None else point.load()
