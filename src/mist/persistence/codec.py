"""Encoding of values as JSON and arrays, and decoding.

None, bool, int, str and finite float are written as they are. Every other value is a JSON object,
``{"is": kind, "of": content}``, where the kind is one of those below or the name of a class in
`mist.persistence.class_paths`. Arrays are stored separately and referred to by number.

Values that are read share no memory: a list, dict or array that is found twice is written twice.
An object that is found twice is refused, except `Labels`, which are equal if their content is.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from mist import plugins
from mist.engine.records import Records
from mist.locking import Lockable
from mist.persistence.class_paths import ELSEWHERE, class_of, name_of
from mist.persistence.file_names import (
    from_file,
    in_file,
    parameters_from_file,
    parameters_in_file,
    records_from_file,
    records_in_file,
)

Array = np.ndarray[Any, Any]

__all__ = ["Decoder", "Encoder", "Unreadable", "is_plain"]

_DEEPEST = 100
"""Most levels of nested values."""

_PLAIN = (bool, int, str)
_KINDS = "biufU"
_COPIED = ("Labels",)
_REFUSED = {"RiverClassifier": "it holds objects of river; use pickle"}


class Unreadable(ValueError):
    """The content of a file is not something that `Encoder` writes."""


def is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether an array of this type can be kept as numbers, bools or text of a fixed length.

    Examples
    --------
    >>> is_plain(np.dtype("f8")), is_plain(np.dtype([("a", "i8")])), is_plain(np.dtype(object))
    (True, True, False)
    """
    if dtype.fields is not None:
        return all(is_plain(part) for part, *_ in dtype.fields.values())
    return dtype.kind in _KINDS and not (dtype.kind == "f" and dtype.itemsize > 8)


class Encoder:
    """Converts values to JSON and arrays.

    Attributes
    ----------
    arrays : list of ndarray
        The arrays found so far; the number of an array is its index.

    Examples
    --------
    >>> encoder = Encoder()
    >>> encoder.encode({"rows": 3, "mean": np.zeros(2)})
    {'is': 'dict', 'of': [['rows', 3], ['mean', {'is': 'array', 'of': 0}]]}
    >>> encoder.arrays
    [array([0., 0.])]
    """

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self._met: dict[int, tuple[str, Any]] = {}

    def encode(self, value: Any, where: str = "value", depth: int = 0) -> Any:
        """The value as JSON.

        Parameters
        ----------
        value : object
            The value.
        where : str
            Its name in error messages.
        depth : int
            Number of levels above it.

        Raises
        ------
        TypeError
            If files cannot hold a value of this type; the message says where it was found.
        ValueError
            If a value contains itself or is nested too deeply.
        """
        if value is None or type(value) in _PLAIN:
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"is": "float", "of": repr(value)}
        if isinstance(value, np.generic):
            return self._scalar(value, where)
        if isinstance(value, np.ndarray):
            return self._array(value, where, depth)
        if depth > _DEEPEST:
            raise ValueError(f"{where} is nested too deeply or contains itself")
        kind = type(value)
        if kind in (list, tuple):
            return {"is": kind.__name__, "of": self._all(value, where, depth)}
        if kind in (set, frozenset):
            return {"is": kind.__name__, "of": self._all(sorted(value, key=repr), where, depth)}
        if kind is dict:
            return {"is": "dict", "of": self._pairs(value, where, depth + 1)}
        if kind is range:
            return {"is": "range", "of": [value.start, value.stop, value.step]}
        if kind is np.random.RandomState:
            state = value.get_state(legacy=False)
            return {"is": "random_state", "of": self.encode(state, where, depth + 1)}
        if kind is np.random.Generator and type(value.bit_generator) is np.random.PCG64:
            state = value.bit_generator.state
            return {"is": "generator", "of": self.encode(state, where, depth + 1)}
        return self._object(value, where, depth)

    def _all(self, values: Sequence[Any], where: str, depth: int) -> list[Any]:
        return [self.encode(v, f"{where}[{i}]", depth + 1) for i, v in enumerate(values)]

    def _pairs(self, value: dict[Any, Any], where: str, depth: int) -> list[Any]:
        return [
            [self.encode(k, f"a key of {where}", depth), self.encode(v, f"{where}[{k!r}]", depth)]
            for k, v in value.items()
        ]

    def _scalar(self, value: Any, where: str) -> dict[str, Any]:
        if not is_plain(value.dtype) or value.dtype.fields is not None:
            raise _not_kept(value, where)
        return {"is": "scalar", "of": [value.dtype.str, self.encode(value.item(), where)]}

    def _array(self, value: Array, where: str, depth: int) -> dict[str, Any]:
        if type(value) not in (np.ndarray, Records, np.memmap):
            raise _not_kept(value, where)
        if value.dtype == object:
            items = self._all(value.ravel().tolist(), where, depth)
            return {"is": "objects", "of": [list(value.shape), items]}
        if not is_plain(value.dtype):
            raise _not_kept(value, where)
        plain = value.dtype.fields is None
        self.arrays.append(value if plain else records_in_file(value))
        kind = "array" if plain else "records"
        return {"is": kind, "of": len(self.arrays) - 1}

    def _object(self, value: Any, where: str, depth: int) -> dict[str, Any]:
        name = name_of(type(value))
        if name is None:
            raise _not_kept(value, where)
        node: dict[str, Any] = {"is": name}
        fields = _field_names(type(value))
        if fields is not None:
            attributes = {field: getattr(value, field) for field in fields}
        else:
            there, _ = self._met.setdefault(id(value), (where, value))
            if there != where and name not in _COPIED:
                raise TypeError(
                    f"{where} and {there} are the same object, and files hold each object once"
                )
            kept = value._kept if isinstance(value, Lockable) else value.__getstate__
            attributes = dict(kept() or {})
        if isinstance(value, BaseEstimator):
            parameters = parameters_in_file(value)
            attributes = {k: v for k, v in attributes.items() if k not in parameters}
            node["parameters"] = self._named(parameters, where, depth)
        named = {in_file(name, k): v for k, v in attributes.items()}
        return {**node, "of": self._named(named, where, depth)}

    def _named(self, attributes: Mapping[str, Any], where: str, depth: int) -> dict[str, Any]:
        return {k: self.encode(v, f"{where}.{k}", depth + 1) for k, v in attributes.items()}


def _not_kept(value: Any, where: str) -> TypeError:
    name = type(value).__name__
    if isinstance(value, np.ndarray | np.generic) and not is_plain(value.dtype):
        name = f"{name} of {value.dtype}"
    why = _REFUSED.get(name, "register your own classes with mist.persistence.register")
    return TypeError(f"{where} is a {name}, which model files cannot hold: {why}")


def _field_names(cls: type) -> Sequence[str] | None:
    """Names of the fields of a named tuple or dataclass; None for other classes."""
    if issubclass(cls, tuple):
        return getattr(cls, "_fields", None)
    if dataclasses.is_dataclass(cls):
        return [field.name for field in dataclasses.fields(cls) if field.init]
    return None


class Decoder:
    """Converts JSON and arrays back to values.

    Parameters
    ----------
    arrays : sequence of ndarray
        The arrays by number.
    check : callable or None
        Called with every decoded estimator; raises ValueError if it is not valid.

    Examples
    --------
    >>> Decoder([np.zeros(2)]).decode({"is": "tuple", "of": [1, {"is": "array", "of": 0}]})
    (1, array([0., 0.]))
    """

    def __init__(self, arrays: Sequence[Array], check: Callable[[Any], None] | None = None) -> None:
        self._arrays = arrays
        self._check = check
        self._taken: set[int] = set()

    def finish(self) -> None:
        """Refuse arrays that no value uses."""
        if len(self._taken) < len(self._arrays):
            raise Unreadable("the file has arrays that no value uses")

    def decode(self, node: Any, depth: int = 0) -> Any:
        """The value that was encoded.

        Raises
        ------
        Unreadable
            If the node is not something that `Encoder` writes, or names an unknown class.
        """
        if node is None or type(node) in (*_PLAIN, float):
            return node
        if type(node) is not dict or type(node.get("is")) is not str or "of" not in node:
            raise Unreadable("a value has no type")
        if depth > _DEEPEST:
            raise Unreadable("values are nested too deeply")
        unknown = set(node) - {"is", "of", "parameters"}
        if unknown:
            raise Unreadable(f"a value has the unknown key {min(unknown)!r}")
        kind, content = node["is"], node["of"]
        read = _READERS.get(kind)
        return self._build(node, depth) if read is None else read(self, content, depth + 1)

    def _float(self, content: Any, depth: int) -> float:
        if content not in ("nan", "inf", "-inf"):
            raise Unreadable(f"{content!r} is not a number")
        return float(content)

    def _list(self, content: Any, depth: int) -> list[Any]:
        return [self.decode(part, depth) for part in _as(list, content)]

    def _tuple(self, content: Any, depth: int) -> tuple[Any, ...]:
        return tuple(self._list(content, depth))

    def _set(self, content: Any, depth: int) -> set[Any]:
        return set(self._list(content, depth))

    def _frozenset(self, content: Any, depth: int) -> frozenset[Any]:
        return frozenset(self._list(content, depth))

    def _dict(self, content: Any, depth: int) -> dict[Any, Any]:
        out = {}
        for pair in _as(list, content):
            if len(_as(list, pair)) != 2:
                raise Unreadable("an entry of a dict is not a pair")
            out[self.decode(pair[0], depth)] = self.decode(pair[1], depth)
        if len(out) != len(content):
            raise Unreadable("a dict has the same key twice")
        return out

    def _range(self, content: Any, depth: int) -> range:
        return range(*map(_whole, _as(list, content)))

    def _scalar(self, content: Any, depth: int) -> Any:
        name, value = _as(list, content)
        dtype = np.dtype(_as(str, name))
        if not is_plain(dtype):
            raise Unreadable(f"a number has the unsupported type {name!r}")
        return dtype.type(self.decode(value, depth))

    def _take(self, content: Any, *, records: bool) -> Array:
        if not 0 <= _whole(content) < len(self._arrays) or content in self._taken:
            raise Unreadable(f"array {content} does not exist or is used twice")
        self._taken.add(content)
        found = self._arrays[content]
        if (found.dtype.fields is not None) != records:
            raise Unreadable(f"array {content} has the wrong kind of values")
        return found

    def _array(self, content: Any, depth: int) -> Array:
        return self._take(content, records=False)

    def _records(self, content: Any, depth: int) -> Array:
        found = records_from_file(self._take(content, records=True))
        return found.view(np.dtype((np.record, found.dtype))).view(Records)

    def _objects(self, content: Any, depth: int) -> Array:
        shape, items = _as(list, content)
        out = np.empty(len(_as(list, items)), dtype=object)
        for i, item in enumerate(items):
            out[i] = self.decode(item, depth)
        return out.reshape([_whole(n) for n in _as(list, shape)])

    def _random_state(self, content: Any, depth: int) -> np.random.RandomState:
        state = self.decode(content, depth)
        # NumPy does not check the position.
        if not 0 <= _whole(state["state"]["pos"]) <= 624:
            raise Unreadable("the position of a random state is not between 0 and 624")
        out = np.random.RandomState(0)
        out.set_state(state)
        return out

    def _generator(self, content: Any, depth: int) -> np.random.Generator:
        bits = np.random.PCG64(0)
        bits.state = self.decode(content, depth)
        return np.random.Generator(bits)

    def _build(self, node: dict[str, Any], depth: int) -> Any:
        """An object of a registered class."""
        name = node["is"]
        cls = class_of(name)
        if cls is None:
            known = plugins.HINT if name in ELSEWHERE else "a class of your own must be registered"
            raise Unreadable(f"{name!r} is an unknown type: {known}")
        content = _as(dict, node["of"])
        attributes = {from_file(name, k): self.decode(v, depth + 1) for k, v in content.items()}
        if _field_names(cls) is not None:
            return cls(**attributes)
        _check_names(cls, name, attributes)
        if not issubclass(cls, BaseEstimator):
            made: Any = object.__new__(cls)
        else:
            made = cls(**self._parameters(cls, name, node, depth))
        if hasattr(made, "__setstate__"):
            made.__setstate__(attributes)
        else:
            vars(made).update(attributes)
        if self._check is not None and isinstance(made, BaseEstimator):
            self._check(made)
        return made

    def _parameters(self, cls: Any, name: str, node: dict[str, Any], depth: int) -> dict[str, Any]:
        content = _as(dict, node.get("parameters"))
        given = {k: self.decode(v, depth + 1) for k, v in content.items()}
        parameters = parameters_from_file(cls, name, given)
        unknown = sorted(set(parameters) - set(cls._get_param_names()))
        if unknown:
            raise Unreadable(f"{unknown[0]!r} is not a parameter of {name}")
        return parameters


_READERS: Mapping[str, Callable[[Decoder, Any, int], Any]] = {
    "float": Decoder._float,
    "list": Decoder._list,
    "tuple": Decoder._tuple,
    "set": Decoder._set,
    "frozenset": Decoder._frozenset,
    "dict": Decoder._dict,
    "range": Decoder._range,
    "scalar": Decoder._scalar,
    "array": Decoder._array,
    "records": Decoder._records,
    "objects": Decoder._objects,
    "random_state": Decoder._random_state,
    "generator": Decoder._generator,
}


def _as(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise Unreadable(f"type {kind.__name__} was expected, not {str(value)[:40]!r}")
    return value


def _whole(value: Any) -> int:
    number: int = _as(int, value)
    return number


def _check_names(cls: type, name: str, attributes: Mapping[str, Any]) -> None:
    """Refuse attributes that would hide methods of the class."""
    for key in attributes:
        there = inspect.getattr_static(cls, key, None)
        if not key.isidentifier() or key.startswith("__") or hasattr(there, "__get__"):
            raise Unreadable(f"{key!r} is not an attribute of {name}")
