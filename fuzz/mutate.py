"""Changes of a sealed model that leave most of it as it was."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

from seeds import pack, unpack

_VALUES = (None, True, 0, 1, -1, 2, 2**31, 2**63, -(2**63), 10**400, 0.5, 1e308, "", "X", [], {})
_KINDS = ("float", "list", "tuple", "set", "frozenset", "dict", "range", "scalar", "array")
_KINDS += ("records", "objects", "random_state", "generator", "State", "MistClassifier", "Labels")
_NUMBERS = (
    b"\xff" * 8,
    b"\0" * 8,
    b"\x01" + b"\0" * 7,
    b"\0" * 6 + b"\xf8\x7f",
    b"\xff" * 7 + b"\x7f",
)


def mutated(data: bytes, most: int, seed: int, otherwise: Callable[[bytes, int], bytes]) -> bytes:
    """Change an input of the target ``sealed``; half of the time as libFuzzer would."""
    draw = random.Random(seed)
    parts = unpack(data)
    if len(parts) < 2 or draw.random() < 0.1:
        return otherwise(data, most)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        if draw.random() < 0.5:
            parts[0] = _header(parts[0], draw, otherwise)
        else:
            place = draw.randrange(1, len(parts))
            parts[place] = _array(parts[place], draw, otherwise)
    out = pack(parts)
    return out if len(out) <= most else data


def _header(text: bytes, draw: random.Random, otherwise: Callable[[bytes, int], bytes]) -> bytes:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        return otherwise(text, len(text) + 64)
    places: list[tuple[object, object]] = []
    stack: list[object] = [header] if isinstance(header, dict | list) else []
    while stack:
        node = stack.pop()
        keys = node.keys() if isinstance(node, dict) else range(len(node))
        for key in keys:
            places.append((node, key))
            if isinstance(node[key], dict | list):
                stack.append(node[key])
    if not places:
        return text
    node, key = draw.choice(places)
    what = draw.randrange(7)
    if what == 0:
        node[key] = draw.choice(_VALUES)
    elif what == 1 and len(node) > 1:
        del node[key]
    elif what == 2:
        other, place = draw.choice(places)
        node[key] = json.loads(json.dumps(other[place]))
    elif what == 3 and isinstance(node, list):
        node.insert(key, node[key])
    elif what == 4 and isinstance(node[key], int | float):
        node[key] += draw.choice((1, -1, 7, 1000))
    elif what == 5 and isinstance(node, dict) and "is" in node:
        node["is"] = draw.choice(_KINDS)
    elif isinstance(node[key], str):
        node[key] = draw.choice(
            ("nan", "class", "__class__", "classes_", node[key] + "x", "<f8", "O")
        )
    try:
        return json.dumps(header, separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        return text


def _array(data: bytes, draw: random.Random, otherwise: Callable[[bytes, int], bytes]) -> bytes:
    begin = 10 + int.from_bytes(data[8:10], "little")
    if draw.random() < 0.15 or len(data) <= begin:
        return otherwise(data, len(data) + 16)
    out = bytearray(data)
    size = draw.choice((1, 4, 8))
    at = begin + draw.randrange(max(1, (len(data) - begin) // size)) * size
    if draw.random() < 0.5:
        out[at : at + size] = draw.choice(_NUMBERS)[:size]
    else:
        out[at] = (out[at] + draw.choice((1, -1, 2, -2, 16, 128))) % 256
    return bytes(out[: len(data)])
