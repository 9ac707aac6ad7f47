"""Subcommands whose options are the fields of a dataclass, so that each is written once.

A field is ``Annotated`` with its ``typer.Option`` or ``typer.Argument``. Its name, default and help
on the command line are those of the field; `taking` makes the subcommand. This module and those
with the dataclasses import nothing heavy, so that ``--help`` is fast.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

__all__ = [
    "ChunkRows",
    "Format",
    "FormatOption",
    "HeaderOption",
    "Order",
    "SeparatorOption",
    "Unlabelled",
    "taking",
]

_T = TypeVar("_T")


class Order(StrEnum):
    """Order in which the rows of a file are learnt."""

    FILE = "file"
    CLASS_INCREMENTAL = "class-incremental"


class Format(StrEnum):
    """Format of a file or a pipe."""

    CSV = "csv"
    TSV = "tsv"
    JSONL = "jsonl"
    ARFF = "arff"
    PARQUET = "parquet"
    NPZ = "npz"


class Unlabelled(StrEnum):
    """Treatment of rows without a label."""

    PREDICT = "predict"
    ERROR = "error"


ChunkRows = Annotated[int, typer.Option("--chunk-rows", min=1, help="Rows read at a time.")]
FormatOption = Annotated[
    Format | None,
    typer.Option(
        "--format",
        help="Format of the files.  (default: from the end of their names, or start of a pipe)",
        show_default=False,
    ),
]
HeaderOption = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first row has the names; without names columns are 0, 1, ...  "
        "(default: it has, and is refused if it looks like data)",
        show_default=False,
    ),
]
SeparatorOption = Annotated[
    str | None,
    typer.Option(
        "--separator",
        help="Between the cells of a line: a character, or comma, semicolon, tab or space (any "
        "run of spaces and tabs).  (default: found in the first lines)",
        show_default=False,
    ),
]


def taking(options: type[_T]) -> Callable[[Callable[[_T], None]], Callable[..., None]]:
    """Make a subcommand of a function that takes a dataclass of options.

    Parameters
    ----------
    options : type
        A dataclass; every field has an annotation of typer.

    Returns
    -------
    callable
        A decorator. The function that it returns takes the fields by name, and has the signature
        that typer reads.

    Examples
    --------
    >>> @dataclasses.dataclass
    ... class Greeting:
    ...     name: Annotated[str, typer.Argument()]
    ...     loud: Annotated[bool, typer.Option(help="In capitals.")] = False
    >>> @taking(Greeting)
    ... def greet(options: Greeting) -> None:
    ...     print(options.name.upper() if options.loud else options.name)
    >>> greet(name="hello", loud=True)
    HELLO
    >>> list(inspect.signature(greet).parameters)
    ['name', 'loud']
    """
    hints = get_type_hints(options, include_extras=True)
    fields = dataclasses.fields(options)  # type: ignore[arg-type]
    parameters = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=_default(field),
            annotation=hints[field.name],
        )
        for field in fields
    ]

    def decorate(work: Callable[[_T], None]) -> Callable[..., None]:
        @functools.wraps(work)
        def command(**given: Any) -> None:
            work(options(**given))

        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {each.name: each.annotation for each in parameters}
        return command

    return decorate


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return inspect.Parameter.empty
