"""Checks."""

from __future__ import annotations

from typing import Any


def check_sound(model: Any) -> None:
    """To come."""
