"""List of the members of a file: which array is which attribute of the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from mist.persistence.container import Contents, member_name

__all__ = ["Member", "members"]


class Member(NamedTuple):
    """One member of the zip.

    Attributes
    ----------
    name : str
        Its name in the zip.
    holds : str
        The attribute of the model whose array it is; "header" for the header.
    dtype : str
        Type of the array's values; "records" where they have fields, empty for the header.
    shape : tuple of int or None
        Shape of the array, None for the header.
    size : int
        Bytes.
    """

    name: str
    holds: str
    dtype: str
    shape: tuple[int, ...] | None
    size: int


def members(contents: Contents) -> list[Member]:
    """List the members of a file.

    Parameters
    ----------
    contents : Contents
        From `mist.persistence.read_contents`.

    Returns
    -------
    list of Member
        The header, then the arrays in the order of the model's attributes.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from mist.baselines import NCM
    >>> from mist.persistence import read_contents
    >>> with TemporaryDirectory() as folder:
    ...     NCM().fit([[0.0], [9.0]], [0, 1]).save(Path(folder, "model.mist"))
    ...     listed = members(read_contents(Path(folder, "model.mist")))
    >>> {member.holds: member.shape for member in listed}["_state.means"]
    (2, 1)
    """
    sizes = contents.sizes
    out = [Member("header.json", "header", "", None, sizes["header.json"])]
    for part in ("model", "attachment"):
        for number, where in _places(contents.header[part], "" if part == "model" else part):
            array, name = contents.arrays[number], member_name(number)
            kind = str(array.dtype) if array.dtype.fields is None else "records"
            out.append(Member(name, where.lstrip("."), kind, array.shape, sizes[name]))
    return out


def _places(node: Any, where: str) -> Iterator[tuple[int, str]]:
    """Number of each array in an encoded value, and the attribute that it is."""
    if not isinstance(node, Mapping):
        return
    kind, content = node["is"], node["of"]
    if kind in ("array", "records"):
        yield content, where
    elif kind == "dict":
        for key, value in content:
            shown = key if isinstance(key, str | int) else "..."
            yield from _places(key, f"{where} (key)")
            yield from _places(value, f"{where}[{shown!r}]")
    elif isinstance(content, Mapping):
        for key, value in {**node.get("parameters", {}), **content}.items():
            yield from _places(value, f"{where}.{key}")
    elif isinstance(content, list):
        for i, value in enumerate(content):
            yield from _places(value, f"{where}[{i}]")
    else:
        yield from _places(content, where)
