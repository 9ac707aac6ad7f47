"""The extra that a server needs."""

from __future__ import annotations

from importlib.util import find_spec

__all__ = ["check_extra"]

_NEEDED = {"starlette": "starlette", "uvicorn": "uvicorn", "prometheus_client": "prometheus-client"}


def check_extra() -> None:
    """Refuse to start without the packages of the extra ``serve``.

    Raises
    ------
    ImportError
        Names the missing packages and the line that installs them.
    """
    missing = [package for name, package in _NEEDED.items() if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"mist serve needs {' and '.join(missing)}: python -m pip install 'mist-tree[serve]'"
        )
