"""When compiled code on disk is outdated: a digest of all code that it may have taken in.

Numba compiles a function again when its own file changes, but not when a function or a constant
changes that it has taken in from another file. On the other hand, comments and docstrings do not
matter. So the digest is of syntax trees.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

PACKAGE = Path(__file__).parent.parent
"""The folder of this package."""

_DECORATED = re.compile(rb"\n@(exact|allocating|undivided|inlined|summed)\n")
_TAG = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
"""Part of the names of compiled code: several versions of Python may share a folder."""


class _Code(ast.NodeTransformer):
    """Removes docstrings, and other texts that stand alone."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        value = node.value
        return None if isinstance(value, ast.Constant) and isinstance(value.value, str) else node


def _code(source: bytes) -> bytes:
    """What a source says apart from comments, docstrings and layout."""
    try:
        return ast.dump(_Code().visit(ast.parse(source))).encode()
    except SyntaxError:
        return source


def _constants_from(source: bytes) -> Iterator[Path]:
    """Files of this package from which a source imports constants."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            top, *names = node.module.split(".")
            if top == PACKAGE.name and any(name.name.isupper() for name in node.names):
                path = PACKAGE.joinpath(*names)
                yield path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def _sources() -> dict[Path, bytes]:
    """All files of this package."""
    return {file: file.read_bytes() for file in sorted(PACKAGE.rglob("*.py"))}


@cache
def files_that_count() -> list[Path]:
    """All files of this package from which compiled code may have taken something in.

    They are those in folders with compiled functions, and those that define their constants.
    """
    sources = _sources()
    folders = {file.parent for file, source in sources.items() if _DECORATED.search(source)}
    todo = [file for file in sources if file.parent in folders]
    counted = set(todo)
    while todo:
        more = set(_constants_from(sources[todo.pop()])) - counted
        counted |= more
        todo += more
    return sorted(counted)


@cache
def _digest_of_package() -> bytes:
    """Digest of the code of this package that counts."""
    digest = sha256()
    for file in files_that_count():
        digest.update(_code(_sources()[file]))
    return digest.digest()


def _files_beside(folder: Path) -> list[Path]:
    """Files of a folder of another package."""
    return [] if folder.is_relative_to(PACKAGE) else sorted(folder.glob("*.py"))


@cache
def _digest(folder: Path) -> str:
    """Digest of all code that functions of a folder may have taken in."""
    digest = sha256(_digest_of_package())
    for file in _files_beside(folder):
        digest.update(_code(file.read_bytes()))
    return digest.hexdigest()[:16]


@cache
def _digest_of_texts(folder: Path) -> str:
    """Digest of the same files as they are: quick to find, but comments change it."""
    digest = sha256()
    for source in _sources().values():
        digest.update(source)
    for file in _files_beside(folder):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@cache
def digest_of_code(saved: str, folder: Path) -> str:
    """Digest of all code that compiled functions of a folder contain; removes outdated code.

    Parsing takes half a second. So a file beside the compiled code has the digest, and that of the
    texts for which it was made.

    Parameters
    ----------
    saved : str
        Where Numba keeps what is compiled of that folder.
    folder : Path
        The folder with the sources.

    Returns
    -------
    str
    """
    texts, stamp = _digest_of_texts(folder), Path(saved) / f"mist-{_TAG}.stamp"
    known: list[str] = []
    with suppress(OSError, ValueError):
        content = stamp.read_text()
        # Another process may be writing it: then its end is missing.
        known = content.split() if content.endswith("\n") else []
    if known[:1] == [texts] and len(known) == 2:
        return known[1]
    code = _digest(folder)
    # In a folder that is read-only, the installation does not change either.
    with suppress(OSError):
        if stamp.parent.is_dir():
            if known[1:] != [code]:
                _remove_code(stamp.parent)
            stamp.write_text(f"{texts} {code}\n")
    return code


def _remove_code(saved: Path) -> None:
    """Remove what this version of Python has compiled."""
    for pattern in (f"*.{_TAG}.nbi", f"*.{_TAG}.*.nbc"):
        for file in saved.glob(pattern):
            file.unlink(missing_ok=True)
