"""Terminal output in which texts of users are shown literally, without control effects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import Task, TextColumn
from rich.segment import Segment
from rich.text import Text

from mist.texts import printable

__all__ = ["Screen", "Words"]


class Screen(Console):
    r"""A console without markup that escapes control characters.

    Names of users are safe to print: a class may be called ``[/red]`` or ``:warning:``, and the
    name of a file could clear the screen.

    Parameters
    ----------
    **options
        Options of `rich.console.Console`.

    Examples
    --------
    >>> Screen(width=40).print("[red]\x1b[2J:warning:")
    [red]\x1b[2J:warning:
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"highlight": False, "markup": False, "emoji": False, **options})

    def render_str(self, text: str, **options: Any) -> Text:
        """Convert a string, printed or in a table, to a text without control characters."""
        return super().render_str("\n".join(map(printable, text.split("\n"))), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render as rich does, with printable characters only."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                lines = "\n".join(map(printable, segment.text.split("\n")))
                yield Segment(lines, segment.style)


class Words(TextColumn):
    """A text column of progress bars that may contain texts of users."""

    def __init__(self, text_format: str) -> None:
        super().__init__(text_format, markup=False)

    def render(self, task: Task) -> Text:
        """Return the text of one bar."""
        text = super().render(task)
        text.plain = printable(text.plain)
        return text
