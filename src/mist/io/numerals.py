"""Numbers as people write them: decimal commas, thousands, percent, currencies; dates and times."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from shlex import quote
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mist.io.source import MISSING, Cells, TableError, as_number
from mist.limits import LARGEST

__all__ = [
    "BUCKETS",
    "PLAIN",
    "AmbiguousNumbers",
    "CellRules",
    "NumberFormat",
    "as_numbers",
    "cell_rules",
    "check_range",
    "find_format",
    "is_format",
    "is_number",
    "rules_as_plain",
]

_SPACES = " '\u2019\u00a0\u202f"
_GROUPED = {
    decimal: re.compile(
        rf"[+-]?[1-9][0-9]{{0,2}}([{other}{_SPACES}])[0-9]{{3}}(?:\1[0-9]{{3}})*"
        rf"(?:[{decimal}][0-9]*)?"
    )
    for decimal, other in ((".", ","), (",", "."))
}
_UNIT = re.compile(
    r"([+-]?)(?:([$€£¥₹]|USD|EUR|GBP|CHF|JPY)\s*)?([+-]?[0-9.,][^%$€£¥₹]*?)"
    r"(?:\s*(%|[$€£¥₹]|USD|EUR|GBP|CHF|JPY))?"
)

_DAY = (
    r"(?:[0-9]{4}([-/.])[0-9]{1,2}\1[0-9]{1,2}|[0-9]{1,2}([-/.])[0-9]{1,2}\2(?:[0-9]{4}|[0-9]{2})"
    r"|[0-9]{1,2}[-/ .]+[A-Za-z]{3,9}[-/ ,.]+[0-9]{2,4}|[A-Za-z]{3,9} [0-9]{1,2},? [0-9]{4})"
)
_TIME = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?(?: ?[AaPp][Mm])?"
_ZONE = r"(?: ?(?:Z|UTC|GMT|[+-][0-9]{2}:?(?:[0-9]{2})?))?"
_MOMENT = re.compile(
    rf"(?:[A-Za-z]{{3,9}},? )?{_DAY}(?:[T ,:]+{_TIME}{_ZONE})?|{_TIME}{_ZONE}"
    rf"|[0-9]{{4}}[0-9]{{2}}[0-9]{{2}}T[0-9]{{4,6}}{_ZONE}"
)


class NumberFormat(NamedTuple):
    """How the numbers of a column are written.

    Attributes
    ----------
    decimal : {"", ".", ","}
        The decimal mark; the other mark, a space or an apostrophe may separate groups of three
        digits. Empty for plain numbers without groups.
    unit : str
        A percent sign or a currency that every cell has before or behind the number.

    Examples
    --------
    >>> NumberFormat(",").number("1.234,5"), NumberFormat(".", "%").number("3.5 %")
    (1234.5, 3.5)
    """

    decimal: str = ""
    unit: str = ""

    def number(self, text: str) -> float | None:
        """Return the number that a text without spaces around it means, None if there is none."""
        # The patterns take quadratic time on long runs of spaces.
        if not self.decimal or len(text) > _LONGEST_NUMBER:
            return as_number(text)
        if self.unit:
            text, unit = _divide(text)
            if unit != self.unit:
                return None
        grouped = _GROUPED[self.decimal].fullmatch(text)
        if grouped is not None:
            text = text.replace(grouped[1], "")
        if self.decimal == ",":
            if "." in text:
                return None
            text = text.replace(",", ".")
        return as_number(text)


PLAIN = NumberFormat()


class AmbiguousNumbers(TableError):
    """The cells of a column are numbers in two ways, and nothing in it says which."""


BUCKETS = 64
"""0/1 columns of a column whose texts are hashed."""

_LONGEST_NUMBER = 64
"""Most characters of a number that is not plain, or of a date."""

_LONGEST_WORD = 20
"""Most characters of a cell that a message offers as a word for missing values."""


class CellRules(NamedTuple):
    """What the cells of a table mean.

    Attributes
    ----------
    missing : frozenset of str
        Texts of cells that mean a missing value.
    decimal : {".", ","} or None
        The decimal mark of all columns; None to take it from the first cells of each.
    hashed : frozenset of str
        Columns whose texts are divided into `BUCKETS` groups by their hash.
    renamed : mapping of str to str
        Labels that are read as others.
    """

    missing: frozenset[str] = MISSING
    decimal: str | None = None
    hashed: frozenset[str] = frozenset()
    renamed: Mapping[str, str] = MappingProxyType({})

    @classmethod
    def of(
        cls,
        missing: Sequence[str] | None = None,
        decimal: str | None = None,
        hashed: Iterable[str] = (),
        renamed: Mapping[str, str] | None = None,
    ) -> CellRules:
        """Make rules from options.

        Parameters
        ----------
        missing : sequence of str or None
            The words that mean a missing value, in addition to empty cells; None for the default.
        decimal : str or None
            The decimal mark.
        hashed : iterable of str
            Columns of texts to hash.
        renamed : mapping of str to str or None
            Labels that are read as others.

        Returns
        -------
        CellRules
            The rules.

        Raises
        ------
        TableError
            If the mark is neither a point nor a comma.
        """
        if decimal not in (None, ".", ","):
            raise TableError(f"the decimal mark must be '.' or ',', not {decimal!r}")
        words = MISSING if missing is None else {"", *(word.strip() for word in missing)}
        return cls(frozenset(words), decimal, frozenset(hashed), dict(renamed or {}))


def rules_as_plain(rules: CellRules, formats: Mapping[str, NumberFormat]) -> dict[str, Any]:
    """Return rules and formats as plain values; what has the default is left out.

    Parameters
    ----------
    rules : CellRules
        What the cells mean.
    formats : mapping
        Formats of numbers by column, none of them plain.

    Returns
    -------
    dict
        ``missing``, ``hashed`` and ``formats``.

    Examples
    --------
    >>> rules_as_plain(CellRules(), {"a": NumberFormat(",")})
    {'formats': {'a': [',', '']}}
    """
    plain: dict[str, Any] = {}
    if rules.missing != MISSING:
        plain["missing"] = sorted(rules.missing)
    if rules.hashed:
        plain["hashed"] = sorted(rules.hashed)
    if formats:
        plain["formats"] = {name: list(form) for name, form in formats.items()}
    return plain


def cell_rules(plain: Mapping[str, Any]) -> tuple[CellRules, dict[str, NumberFormat]]:
    """Return the rules and formats that `rules_as_plain` wrote.

    Parameters
    ----------
    plain : mapping
        Plain values; other keys are ignored.

    Returns
    -------
    rules : CellRules
        What the cells mean.
    formats : dict
        Formats of numbers by column.
    """
    formats = {name: NumberFormat(*form) for name, form in plain.get("formats", {}).items()}
    missing, hashed = plain.get("missing", MISSING), plain.get("hashed", ())
    return CellRules(frozenset(missing), hashed=frozenset(hashed)), formats


def is_format(value: Any) -> bool:
    """Whether a value from a file has the form of a number format.

    Examples
    --------
    >>> is_format([",", "%"]), is_format(["", 1])
    (True, False)
    """
    texts = isinstance(value, list) and len(value) == 2 and all(type(v) is str for v in value)
    return texts and value[0] in ("", ".", ",")


def _divide(text: str) -> tuple[str, str]:
    """Number and unit of a text; the unit is empty if there is none, or one on either side."""
    match = _UNIT.fullmatch(text) if len(text) <= _LONGEST_NUMBER else None
    if match is None or (match[2] and match[4]):
        return text, ""
    return match[1] + match[3].strip(), match[2] or match[4] or ""


def find_format(texts: Sequence[str], rules: CellRules, name: str) -> NumberFormat | None:
    """Find the format in which most texts of a column are numbers.

    Parameters
    ----------
    texts : sequence of str
        Cells without spaces around them, none missing.
    rules : CellRules
        What the cells of the table mean.
    name : str
        Name of the column, for messages.

    Returns
    -------
    NumberFormat or None
        The simplest format that the most texts have; None if more than half of the texts are not
        numbers in it.

    Raises
    ------
    AmbiguousNumbers
        If commas may be decimal marks or separators of thousands.
    TableError
        If most texts are dates.

    Examples
    --------
    >>> find_format(["3,14", "2"], CellRules(), "a"), find_format(["red"], CellRules(), "a")
    (NumberFormat(decimal=',', unit=''), None)
    """
    plain = [as_number(text) for text in texts]
    odd = [text for text, value in zip(texts, plain, strict=True) if value is None]
    if rules.decimal is None and not odd:
        return PLAIN
    unit = _divide(odd[0])[1] if odd else ""
    # The plain format wins where it reads as many cells as another.
    formats = [NumberFormat(mark, unit) for mark in (rules.decimal or ".,")]
    if rules.decimal is None:
        formats.insert(0, PLAIN)
    values = {form: [form.number(text) for text in texts] for form in formats}
    best = max(formats, key=lambda form: len(texts) - values[form].count(None))
    if 2 * values[best].count(None) <= len(texts):
        other = values.get(best._replace(decimal=","), values[best])
        if best is not PLAIN and None not in values[best] and None not in other:
            for text, one, two in zip(texts, values[best], other, strict=True):
                if one != two:
                    raise AmbiguousNumbers(
                        f"column {name!r}: {text!r} may be {one:.15g} or {two:.15g}; give the "
                        "decimal mark: --decimal . or --decimal ,"
                    )
        return best
    if 2 * sum(map(_is_moment, odd)) > len(texts):
        raise TableError(
            f"column {name!r} holds dates or times, such as {odd[0]!r}; leave it out (--ignore "
            f"{quote(name)}), convert it to numbers first, for instance seconds, or take each as a "
            f"category (--text {quote(name)})"
        )
    return None


def _is_moment(text: str) -> bool:
    return len(text) <= _LONGEST_NUMBER and _MOMENT.fullmatch(text) is not None


def is_number(text: str, rules: CellRules) -> bool:
    """Whether a text is a number in some format.

    Examples
    --------
    >>> is_number("3,14", CellRules()), is_number("red", CellRules())
    (True, False)
    """
    if rules.decimal is None and as_number(text) is not None:
        return True
    unit = _divide(text)[1]
    marks = rules.decimal or ".,"
    return any(NumberFormat(mark, unit).number(text) is not None for mark in marks)


def as_numbers(
    cells: Cells,
    rows: NDArray[np.int64],
    name: str,
    form: NumberFormat = PLAIN,
    missing: frozenset[str] = MISSING,
) -> NDArray[np.float64]:
    """Return the cells of a numeric column as numbers.

    Parameters
    ----------
    cells : Cells, n of them
        Texts or an array.
    rows : ndarray of int64, shape (n,)
        Numbers of the rows, for the message.
    name : str
        Name of the column, for the message.
    form : NumberFormat
        How its numbers are written.
    missing : frozenset of str
        Texts that mean a missing value.

    Returns
    -------
    ndarray of float64, shape (n,)
        NaN where a cell is missing.

    Raises
    ------
    TableError
        If a cell is not a number.
    """
    if isinstance(cells, np.ndarray):
        return cells.astype(np.float64)
    if not form.decimal:
        try:
            values = np.fromiter(map(float, cells), np.float64, len(cells))
        except ValueError:
            pass
        else:
            if "_" not in "".join(cells):
                return values
    values = np.empty(len(cells))
    for i, cell in enumerate(cells):
        text = cell.strip()
        value = np.nan if text in missing else form.number(text)
        if value is None:
            hint = _way_out(text, name, form)
            raise TableError(f"row {rows[i]}, column {name!r}: {text!r} is not a number {hint}")
        values[i] = value
    return values


def _way_out(text: str, name: str, form: NumberFormat) -> str:
    if form.unit:
        return f"with {form.unit!r} like those before it"
    for mark, noun in ((",", "a decimal comma"), (".", "a decimal point")):
        if mark in text and NumberFormat(mark).number(text) is not None:
            return f"like those before it (if all its numbers have {noun}: --decimal {mark})"
    word = quote(text) if len(text) <= _LONGEST_WORD else "WORD"
    return (
        f"(declare {name!r} as a text column if it holds text: --text {quote(name)}; or say that "
        f"the cell is missing: --missing {word})"
    )


def check_range(values: NDArray[np.float64], rows: NDArray[np.int64], name: str) -> None:
    """Refuse infinity and numbers that cannot be squared.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        A column.
    rows : ndarray of int64, shape (n,)
        Numbers of the rows, for the message.
    name : str
        Name of the column, for the message.

    Raises
    ------
    TableError
        The message names the first row with such a number.
    """
    outside = np.abs(values) > LARGEST
    if outside.any():
        i = np.argmax(outside)
        what = "infinity is not allowed" if np.isinf(values[i]) else f"{values[i]} is too large"
        raise TableError(
            f"row {rows[i]}, column {name!r}: {what}; leave the cell empty if the value is missing"
        )
