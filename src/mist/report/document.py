"""Common parts of all pages: rendering of templates, embedded drawings, versions."""

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
from mist.texts import printable, without_controls

if TYPE_CHECKING:
    from markupsafe import Markup

__all__ = ["embed", "render", "versions", "write_setting"]

_LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "matplotlib", "pyarrow", "river")
_LONGEST_SETTING = 40
_SCRIPT = "report/sort.js"


def _shown(value: Any) -> Any:
    """Escape what is no printable text; markup is left as it is."""
    if hasattr(value, "__html__") or not isinstance(value, str):
        return value
    return "\n".join(map(printable, value.split("\n")))


def render(
    template: str, *, packages: Sequence[str] = (), made: datetime | None = None, **values: Any
) -> str:
    """Render a template of this package or others; all texts in the values are escaped.

    The only script of a page sorts its tables. A content security policy in the head forbids other
    scripts and external resources, in case a text is ever left unescaped.

    Parameters
    ----------
    template : str
        Path of the template in the package, such as ``"report/page.html.j2"``.
    packages : sequence of str, default=()
        Other packages that are searched for the template first.
    made : datetime or None, default=None
        Time for the footer; None means now.
    **values
        Variables of the template.

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
        finalize=_shown,
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
    """Return the hash by which a content security policy allows a script."""
    return f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}"


def embed(svg: str, prefix: str, alt: str) -> Markup:
    """Prepare a drawing for a page with several drawings.

    Parameters
    ----------
    svg : str
        An ``<svg>`` element.
    prefix : str
        Prefix for its ids, which could clash with those of other drawings.
    alt : str
        Alternative text for screen readers.

    Returns
    -------
    Markup
        The drawing, marked as safe.

    Examples
    --------
    >>> print(embed('<svg viewBox="0 0 1 1"><g id="a"/></svg>', "p1", "Nothing <much>."))
    <svg role="img" aria-label="Nothing &lt;much&gt;." viewBox="0 0 1 1"><g id="p1-a"/></svg>
    """
    from markupsafe import Markup, escape

    def rename(tag: re.Match[str]) -> str:
        named = re.sub(r'\bid="', f'id="{prefix}-', tag[0])
        return re.sub(r'(href="|url\()#', rf"\1#{prefix}-", named)

    # In tags only, as texts between tags have no ids.
    svg = re.sub(r"<[^>]*>", rename, svg)
    opening = f'<svg role="img" aria-label="{escape(alt)}" '
    return Markup(svg.replace("<svg ", opening, 1))


def versions() -> list[tuple[str, str]]:
    """Return the versions of this package, Python and installed libraries.

    Beside that of Numba is said if its internals are not used, see `mist.engine.numba_access`.

    Returns
    -------
    list of tuple of str
        Names and versions.

    Examples
    --------
    >>> [name for name, _ in versions()][:3]
    ['mist', 'Python', 'numpy']
    """
    from mist.engine import numba_access

    found = [("mist", __version__), ("Python", platform.python_version())]
    for library in _LIBRARIES:
        try:
            found.append((library, metadata.version(library)))
        except metadata.PackageNotFoundError:
            continue
        if library == "numba" and numba_access.WAY == "public":
            found[-1] = (library, f"{found[-1][1]}, public interface only")
    return found


def write_setting(value: Any) -> str:
    """Format the value of a parameter; a long list is replaced by its length.

    Parameters
    ----------
    value : object

    Returns
    -------
    str

    Examples
    --------
    >>> write_setting("gini"), write_setting(list(range(50)))
    ("'gini'", '50 entries')
    """
    text = repr(value)
    if len(text) > _LONGEST_SETTING and hasattr(value, "__len__"):
        return f"{len(value)} entries"
    return text
