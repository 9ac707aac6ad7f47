"""The fast path of an encoder for one row of Python numbers and texts, all columns known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mist.limits import LARGEST
from mist.onehot import NUMBER, TEXT

if TYPE_CHECKING:
    from mist.preprocessing.encoder import StreamEncoder

__all__ = ["encode_plain"]


def encode_plain(
    encoder: StreamEncoder, x: Mapping[Any, Any], *, learning: bool = False
) -> dict[str, float] | None:
    """Encode a row as `StreamEncoder.transform_one` does, without the columns that are missing.

    Parameters
    ----------
    encoder : StreamEncoder
        The fitted encoder.
    x : mapping
        Values by column name.
    learning : bool, default=False
        Whether a text that the encoder has not learnt is left to the slow path.

    Returns
    -------
    dict or None
        Values by the names of the output, at least one; None if the slow path has to read the
        row, which also says what is wrong with it.

    Examples
    --------
    >>> from mist.preprocessing import StreamEncoder
    >>> encoder = StreamEncoder().learn_many({"size": [2, 3], "coat": ["long", "short"]})
    >>> encode_plain(encoder, {"size": 3, "coat": "long"})
    {'size': 3.0, 'coat=long': 1.0, 'coat=short': 0.0}
    >>> encode_plain(encoder, {"size": "3"}) is None
    True
    """
    if encoder.standardise:
        return None
    out: dict[str, float] = {}
    kinds = encoder._kinds
    for name, cell in x.items():
        kind, of = kinds.get(name), type(cell)
        if kind is None or type(name) is not str:
            return None
        if cell is None:
            continue
        if kind == NUMBER:
            # NaN fails the comparison, too.
            if (of is not float and of is not int) or not -LARGEST <= cell <= LARGEST:
                return None
            out[name] = float(cell)
        elif kind == TEXT and of is str:
            own = encoder._codes[name].get(cell)
            if own is None and learning:
                return None
            for code, place in enumerate(encoder._places[name]):
                out[name + encoder._suffixes[place]] = float(code == own)
        else:
            return None
    return out or None
