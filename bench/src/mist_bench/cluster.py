"""Runs of a grid as tasks of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from mist_bench.record import Record, Task

__all__ = ["LOST", "active_client", "perform_on_cluster"]

LOST = (
    "its worker process was killed or ended itself, each time it was tried; perhaps it ran out of "
    "memory"
)
"""Error of a run that never came back."""

_NO_WORKER_SECONDS = 60.0
"""How long a cluster may have no worker: those that have died are restarted in seconds."""

_LOOK_SECONDS = 5.0
"""Seconds between two checks whether there is a worker."""


def active_client() -> Any:
    """Return the Dask client of the active joblib backend.

    Returns
    -------
    distributed.Client or None
        None if another backend is active.

    Examples
    --------
    >>> active_client() is None
    True
    """
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    return backend.client if type(backend).__name__ == "DaskDistributedBackend" else None


def perform_on_cluster(
    runs: Sequence[Task], client: Any, perform: Callable[[Task], Record]
) -> Generator[Record, None, None]:
    """Do runs on the workers of a cluster.

    The backend of joblib would wait for ever for a run whose workers died.

    Parameters
    ----------
    runs : sequence of Run or Experiment
        What to run.
    client : distributed.Client
        The cluster.
    perform : callable
        Makes the record of a run.

    Yields
    ------
    Record
        One per run, in the order in which they end.

    Raises
    ------
    OSError
        If the cluster has no worker for a minute, or the connection to its scheduler is lost.

    Notes
    -----
    Dask gives a run up after it was in progress on several workers that died (its setting
    ``distributed.scheduler.allowed-failures``). Other runs on the same workers may be given up,
    too. So each of them is tried again with nothing next to it; a run that is given up twice counts
    as failed.
    """
    lost: list[Task] = []
    yield from _results(runs, client, perform, lost)
    for run in lost:
        again: list[Task] = []
        yield from _results([run], client, perform, again)
        if again:
            yield Record(run, error=LOST)


def _results(
    runs: Sequence[Task], client: Any, perform: Callable[[Task], Record], lost: list[Task]
) -> Generator[Record, None, None]:
    """Records of the runs; those that are given up are added to the lost ones."""
    from distributed import KilledWorker

    ended: SimpleQueue[Any] = SimpleQueue()
    left = {client.submit(perform, run, pure=False): run for run in runs}
    try:
        for future in left:
            future.add_done_callback(ended.put)
        while left:
            future = _next(ended, client)
            run = left.pop(future)
            if future.status not in ("finished", "error"):
                raise OSError("the connection to the Dask scheduler is lost, and its runs with it")
            try:
                record = future.result()
            except KilledWorker:
                lost.append(run)
                continue
            yield record
    finally:
        client.cancel(list(left))


def _next(ended: SimpleQueue[Any], client: Any) -> Any:
    """The next future that has ended."""
    last_worker = monotonic()
    while True:
        try:
            return ended.get(timeout=_LOOK_SECONDS)
        except Empty:
            if client.ncores():
                last_worker = monotonic()
            elif monotonic() - last_worker > _NO_WORKER_SECONDS:
                raise OSError(
                    f"the Dask cluster has had no worker for {_NO_WORKER_SECONDS:g} seconds: start "
                    "workers, and give the same command again to do the runs that are left"
                ) from None
