"""Processes for which permissions hold, root's too."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

_DROP, _OVERRIDE, _SEARCH = 24, 1, 2
"""Of prctl: to drop a capability, and those by which root reads and writes what it may not."""


def _without_privileges() -> None:
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None)
        for capability in (_OVERRIDE, _SEARCH):
            if libc.prctl(_DROP, capability, 0, 0, 0):
                raise OSError("root cannot drop its privileges here")


def can_deny(folder: Path) -> bool:
    """Whether a read-only folder denies a process of `run_denied` to write to it."""
    if os.name == "nt":
        return False
    denied = folder / "denied"
    denied.mkdir(mode=0o555)
    try:
        code = "open('x', 'w')"
        return run_denied("-c", code, cwd=denied).returncode != 0
    except (OSError, subprocess.SubprocessError):
        return False
    finally:
        denied.rmdir()


def run_denied(
    *arguments: object, cwd: Path, **variables: str | None
) -> subprocess.CompletedProcess[str]:
    """Run Python where permissions hold; None takes a variable out of the environment."""
    environment = {**os.environ, **{k: v for k, v in variables.items() if v is not None}}
    for name, value in variables.items():
        if value is None:
            environment.pop(name, None)
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        preexec_fn=_without_privileges,
    )
