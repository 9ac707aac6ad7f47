"""What all pages share: from template to text, drawings in the page, versions in the footer."""

from __future__ import annotations

import platform
import re
from base64 import b64encode
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from importlib import metadata
from typing import TYPE_CHECKING, Any

from mist._version import __version__
from mist.texts import without_controls

if TYPE_CHECKING:
    from markupsafe import Markup

__all__ = ["embed", "render", "versions", "write_setting"]

_LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "matplotlib", "pyarrow", "river")
_LONGEST_SETTING = 40
_SCRIPT = "report/sort.js"


def render(
    template: str, *, packages: Sequence[str] = (), made: datetime | None = None, **values: Any
) -> str:
    """Fill in a template of this package or others; every text among the values is escaped.

    The only script of a page sorts its tables. A policy in its head forbids all others, and
    everything from elsewhere, should a text ever come through unescaped.

    Parameters
    ----------
    template : str
        Its path below the package, such as ``"report/page.html.j2"``.
    packages : sequence of str, default=()
        Other packages that templates are looked for in first.
    made : datetime or None, default=None
        When the page was made, for the footer; None stands for now.
    **values
        What the template names.

    Returns
    -------
    str
        The page.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name, ".") for name in (*packages, "mist")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made = made or datetime.now().astimezone()
    script = environment.get_template(_SCRIPT).render()
    page = environment.get_template(template).render(
        made=made.strftime("%d %B %Y, %H:%M"),
        versions=versions(),
        script=Markup(script),
        script_hash=_hash(script),
        **values,
    )
    return without_controls(page)


def _hash(script: str) -> str:
    """How a content security policy names a script: no other one is run."""
    return f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}"


def embed(svg: str, prefix: str, alt: str) -> Markup:
    """Prepare a drawing for a page that holds others.

    Parameters
    ----------
    svg : str
        An ``<svg>`` element.
    prefix : str
        Set before its ids, which would clash with those of other drawings.
    alt : str
        What the drawing shows, for people who do not see it.

    Returns
    -------
    Markup
        The drawing, not to be escaped any more.

    Examples
    --------
    >>> print(embed('<svg viewBox="0 0 1 1"><g id="a"/></svg>', "p1", "Nothing <much>."))
    <svg role="img" aria-label="Nothing &lt;much&gt;." viewBox="0 0 1 1"><g id="p1-a"/></svg>
    """
    from markupsafe import Markup, escape

    def rename(tag: re.Match[str]) -> str:
        named = re.sub(r'\bid="', f'id="{prefix}-', tag[0])
        return re.sub(r'(href="|url\()#', rf"\1#{prefix}-", named)

    # In tags only: the texts between them are nobody's ids.
    svg = re.sub(r"<[^>]*>", rename, svg)
    opening = f'<svg role="img" aria-label="{escape(alt)}" '
    return Markup(svg.replace("<svg ", opening, 1))


def versions() -> list[tuple[str, str]]:
    """Return the versions of this package, Python and the libraries that are installed.

    Returns
    -------
    list of tuple of str
        Names and versions.

    Examples
    --------
    >>> [name for name, _ in versions()][:3]
    ['mist', 'Python', 'numpy']
    """
    found = [("mist", __version__), ("Python", platform.python_version())]
    for library in _LIBRARIES:
        try:
            found.append((library, metadata.version(library)))
        except metadata.PackageNotFoundError:
            continue
    return found


def write_setting(value: Any) -> str:
    """Write the value of a parameter, a long list as its length.

    Parameters
    ----------
    value : object
        The value.

    Returns
    -------
    str
        Its text.

    Examples
    --------
    >>> write_setting("gini"), write_setting(list(range(50)))
    ("'gini'", '50 entries')
    """
    text = repr(value)
    if len(text) > _LONGEST_SETTING and hasattr(value, "__len__"):
        return f"{len(value)} entries"
    return text
