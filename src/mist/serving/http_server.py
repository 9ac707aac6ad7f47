"""Runs the application of a server until it is stopped."""

from __future__ import annotations

import ipaddress
import socket
import sys
from typing import Any

__all__ = ["is_local", "open_socket", "run_app"]

_CONNECTIONS = 500
"""Connections and tasks at a time; above it the answer is 503."""

_SWITCH = 0.0005
"""Seconds after which a thread lets others run; Python's default is ten times as long."""


def is_local(host: str) -> bool:
    """Whether an address is reached from this machine only.

    Examples
    --------
    >>> is_local("127.0.0.1"), is_local("localhost"), is_local("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def open_socket(host: str, port: int) -> socket.socket:
    """Listen on an address.

    Parameters
    ----------
    host : str
        Address to listen on.
    port : int
        Port; 0 for any that is free.

    Returns
    -------
    socket

    Raises
    ------
    ValueError
        If the address is not known, or the port is taken.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise ValueError(
            f"--host {host} --port {port}: {error.strerror}; give another --port, or 0 for a free "
            "one"
        ) from error


def run_app(app: Any, listening: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM; then finish what has begun.

    Parameters
    ----------
    app : ASGI application
        The application.
    listening : socket
        Result of `open_socket`.
    """
    import uvicorn

    # The loop waits for threads that predict, and for the one that learns, this long at most.
    sys.setswitchinterval(_SWITCH)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=_CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=30,
        ws="none",
    )
    uvicorn.Server(config).run(sockets=[listening])
