"""Saving models to files and loading them, without pickle.

A file is a zip of one JSON header and the arrays of the model. It may hold only a closed list of
types, by short names (`mist.persistence.class_paths`), so reading a file runs no code from it. The
names of this package are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mist.persistence.class_paths import register
    from mist.persistence.container import Contents, read_contents
    from mist.persistence.file_members import Member, members
    from mist.persistence.model import Loaded, load, load_with_attachment, restored, save
    from mist.persistence.store import Difference, Store, Version

_MODULES = {
    "Contents": "container",
    "Difference": "store",
    "Loaded": "model",
    "Member": "file_members",
    "Store": "store",
    "Version": "store",
    "load": "model",
    "load_with_attachment": "model",
    "members": "file_members",
    "read_contents": "container",
    "register": "class_paths",
    "restored": "model",
    "save": "model",
}

__all__ = [
    "Contents",
    "Difference",
    "Loaded",
    "Member",
    "Store",
    "Version",
    "load",
    "load_with_attachment",
    "members",
    "read_contents",
    "register",
    "restored",
    "save",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value = getattr(importlib.import_module(f"mist.persistence.{_MODULES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'mist.persistence' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
