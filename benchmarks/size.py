"""Print the size of the installed package: lines by folder, the longest files and functions.

    python benchmarks/size.py

Code lines are those without blank lines, comments and docstrings.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parent.parent / "src" / "mist"
LONGEST = 8


class Size(NamedTuple):
    """Files, lines and code lines."""

    files: int
    lines: int
    code: int


def code_lines(source: str) -> int:
    """Lines that are code: a line of a docstring, a comment or nothing is none."""
    kept = {number for number, line in enumerate(source.splitlines(), 1) if line.strip()}
    kept -= {n for n, line in enumerate(source.splitlines(), 1) if line.lstrip().startswith("#")}
    for node in ast.walk(ast.parse(source)):
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if text and isinstance(node.value.value, str):
            kept -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(kept)


def functions(path: Path) -> list[tuple[int, str]]:
    """Lines of every function in a file, docstring included, and where it is."""
    name = path.relative_to(PACKAGE)
    return [
        (node.end_lineno - node.lineno + 1, f"{name}:{node.lineno} {node.name}")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
    ]


def main() -> None:
    """Print the tables."""
    files = sorted(PACKAGE.rglob("*.py"))
    rooms: dict[str, list[Size]] = defaultdict(list)
    for path in files:
        source = path.read_text()
        folder = path.relative_to(PACKAGE).parts[0] if path.parent != PACKAGE else "(top level)"
        rooms[folder].append(Size(1, source.count("\n"), code_lines(source)))
    totals = {name: Size(*map(sum, zip(*sizes, strict=True))) for name, sizes in rooms.items()}
    total = Size(*map(sum, zip(*totals.values(), strict=True)))
    print(f"{'folder':<16}{'files':>6}{'lines':>8}{'code':>8}")
    for name, size in [*sorted(totals.items(), key=lambda item: -item[1].lines), ("all", total)]:
        print(f"{name:<16}{size.files:>6}{size.lines:>8,}{size.code:>8,}")
    lengths = [(path.read_text().count("\n"), str(path.relative_to(PACKAGE))) for path in files]
    bodies = [each for path in files for each in functions(path)]
    for title, sizes in (("longest files", lengths), ("longest functions", bodies)):
        print(f"\n{title}")
        for lines, where in sorted(sizes, reverse=True)[:LONGEST]:
            print(f"{lines:>6}  {where}")


if __name__ == "__main__":
    main()
