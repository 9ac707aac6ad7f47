"""Extension of griffe, which reads the docstrings for the API page.

Griffe takes the first of the values in braces for the default of a parameter, whatever the
docstring says. Without braces it reads the default that is stated, and none where none is stated.
"""

from __future__ import annotations

import re

from griffe import Extension

_CHOICES = re.compile(r"^( *[\w, ]+ : )\{([^}]*)\}", re.MULTILINE)


class Choices(Extension):
    """Writes ``{"a", "b"}`` as ``"a" | "b"``."""

    def on_object(self, *, obj, **_):
        """Change the docstring of an object before it is parsed."""
        if obj.docstring:
            obj.docstring.value = _CHOICES.sub(_bars, obj.docstring.value)


def _bars(found: re.Match[str]) -> str:
    return found[1] + found[2].replace(", ", " | ").replace(",\n", " |\n")
