"""The terminal: texts of users come out as they are, and command nothing."""

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
    r"""A console without markup, on which control characters are written out.

    A class may be called ``[/red]`` or ``:warning:``, and a file may have a name that would clear
    the screen.

    Parameters
    ----------
    **options
        Of rich's console.

    Examples
    --------
    >>> Screen(width=40).print("[red]\x1b[2J:warning:")
    [red]\x1b[2J:warning:
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"highlight": False, "markup": False, "emoji": False, **options})

    def render_str(self, text: str, **options: Any) -> Text:
        """Make a text of what is printed as one or stands in a table."""
        return super().render_str("\n".join(map(printable, text.split("\n"))), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render something as rich does, in characters that can be printed."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                lines = "\n".join(map(printable, segment.text.split("\n")))
                yield Segment(lines, segment.style)


class Words(TextColumn):
    """A column of progress bars with words of users in it."""

    def __init__(self, text_format: str) -> None:
        super().__init__(text_format, markup=False)

    def render(self, task: Task) -> Text:
        """Return the words of one bar."""
        text = super().render(task)
        text.plain = printable(text.plain)
        return text
