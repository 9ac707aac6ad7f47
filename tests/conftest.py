"""What all tests have in common: what they print does not depend on what was compiled before."""

from contextlib import nullcontext

import pytest

import mist.commands.compile_first


@pytest.fixture(autouse=True)
def compiles_silently(request, monkeypatch):
    """Commands print nothing of what the compiler does, but for the tests of what they print."""
    if request.path.stem != "test_cli_compiling":
        silent = lambda begun, done: nullcontext()  # noqa: E731
        monkeypatch.setattr(mist.commands.compile_first, "watching", silent)
