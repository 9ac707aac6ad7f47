"""Who may use a server: a token from a file, compared in constant time."""

from __future__ import annotations

import base64
import binascii
import hmac
from pathlib import Path

__all__ = ["is_allowed", "read_token"]

_SHORTEST = 16


def read_token(path: Path) -> str:
    r"""Read the token of a server from the first line of a file.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If the token is shorter than 16 characters or is not of visible ASCII characters.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "token").write_text("correct-horse-battery\n")
    ...     read_token(Path(folder, "token"))
    'correct-horse-battery'
    """
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: a token has ASCII characters only") from error
    token = lines[0].strip() if lines else ""
    if len(token) < _SHORTEST or not all("!" <= c <= "~" for c in token):
        raise ValueError(
            f"{path}: its first line must be a token of at least {_SHORTEST} visible characters, "
            'for example from: python -c "import secrets; print(secrets.token_urlsafe())"'
        )
    return token


def is_allowed(authorization: str, token: str) -> bool:
    """Whether a header ``Authorization`` holds the token, as bearer or as password of a browser.

    Examples
    --------
    >>> is_allowed("Bearer secret", "secret"), is_allowed("Bearer secret ", "secret")
    (True, False)
    >>> is_allowed("Basic " + base64.b64encode(b"me:secret").decode(), "secret")
    True
    """
    kind, _, given = authorization.partition(" ")
    if kind.lower() == "basic":
        try:
            given = base64.b64decode(given, validate=True).decode("utf-8").partition(":")[2]
        except (binascii.Error, ValueError):
            return False
    elif kind.lower() != "bearer":
        return False
    return hmac.compare_digest(given.encode("utf-8"), token.encode("utf-8"))
