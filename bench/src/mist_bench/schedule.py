"""Run a grid in parallel, and resume it after an interruption."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from mist.datasets.cache import DatasetError, locate
from mist.datasets.catalogue import find_entry
from mist.datasets.download import download
from mist_bench.cluster import LOST, active_client, perform_on_cluster
from mist_bench.extras import EXTRAS, installed
from mist_bench.record import Record, Run, Task
from mist_bench.store import forget, read_records, write_record
from mist_bench.suites import SETTINGS
from mist_bench.work import perform

__all__ = ["Progress", "find_absent", "iter_grid", "run_grid"]

_ATTEMPTS = 2
"""How often a run is tried with nothing next to it, after a worker died while it was waiting."""


@dataclass(frozen=True, eq=False)
class Progress:
    """Progress of a grid.

    Examples
    --------
    >>> Progress(None, done=3, total=4, failed=0, seconds_left=10.0).done
    3
    """

    record: Record | None
    """The run that has just ended; None at the start."""

    done: int
    """Runs that have ended, including those found in the folder."""

    total: int
    """Runs of the grid."""

    failed: int
    """Ended runs that failed with an error."""

    seconds_left: float | None
    """Estimate of the time still needed; None before the first run has ended."""


def iter_grid(
    runs: Sequence[Task],
    folder: Path,
    *,
    jobs: int | None = None,
    fresh: bool = False,
    retry_failed: bool = False,
) -> Generator[Progress, None, None]:
    """Do all runs that the folder does not hold yet, and write a file for each as it ends.

    Parameters
    ----------
    runs : sequence of Run or Experiment
        The plan.
    folder : Path
        Folder of the grid.
    jobs : int or None, default=None
        Processes, as joblib counts them; None uses the active joblib backend, so that
        ``joblib.parallel_config("dask")`` sends the runs to a cluster.
    fresh : bool, default=False
        First delete the results of these runs from the folder, then do every run.
    retry_failed : bool, default=False
        Repeat runs that ended with an error.

    Yields
    ------
    Progress
        Once at the start, then after each run, in the order in which they end.

    Raises
    ------
    mist_bench.StoreError
        If the folder holds results of another version or of other settings.
    OSError
        If a result file cannot be written, or a Dask cluster has no worker for a minute.

    Notes
    -----
    Missing data sets are downloaded before the first step.

    If a worker dies, the runs in progress are lost. They are then repeated one at a time, and a run
    whose worker dies twice while nothing else runs counts as failed. On a Dask cluster, such a run
    fails that Dask gives up twice. A single job is done in this process.

    Examples
    --------
    >>> import tempfile
    >>> from mist_bench import plan
    >>> runs = plan(methods=["ncm"], datasets=["iris"], seeds=[1, 2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = [step.done for step in iter_grid(runs, Path(folder), jobs=1)]
    ...     second = [step.done for step in iter_grid(runs, Path(folder), jobs=1)]
    >>> first, second
    ([0, 1, 2], [2])
    """
    if fresh:
        # Deleted, not overwritten later: an interrupted grid is resumed without `fresh`.
        forget(folder, runs)
    known = read_records(folder, runs)
    if retry_failed:
        known = {run: record for run, record in known.items() if not record.failed}
    left = [run for run in runs if run not in known]
    # Downloads before several processes do so at once. Each run on an absent set reports the error.
    find_absent(name for run in left if (name := _dataset_of(run)))
    yield _progress(None, known, runs, jobs)
    for record in _perform(left, jobs):
        write_record(folder, record)
        known[record.run] = record
        yield _progress(record, known, runs, jobs)


def run_grid(
    runs: Sequence[Task],
    folder: Path,
    *,
    jobs: int | None = None,
    fresh: bool = False,
    retry_failed: bool = False,
) -> list[Record]:
    """Do all runs of a grid.

    Parameters
    ----------
    runs, folder, jobs, fresh, retry_failed
        As for `iter_grid`.

    Returns
    -------
    list of Record
        One per run, in the order of the plan.

    Raises
    ------
    mist_bench.StoreError, OSError
        As `iter_grid`.

    Examples
    --------
    >>> import tempfile
    >>> from mist_bench import plan
    >>> runs = plan(methods=["ncm"], datasets=["iris"], seeds=[1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [record.failed for record in run_grid(runs, Path(folder), jobs=1)]
    [False]
    """
    for _ in iter_grid(runs, folder, jobs=jobs, fresh=fresh, retry_failed=retry_failed):
        pass
    return list(read_records(folder, runs).values())


def _dataset_of(task: Task) -> str | None:
    """Data set of a run, or of an experiment that has one."""
    name = task.dataset if isinstance(task, Run) else dict(task.arguments).get("dataset")
    return name if name in SETTINGS else None


def find_absent(names: Iterable[str]) -> dict[str, str]:
    """Download missing data sets, and report those that cannot be had.

    Parameters
    ----------
    names : iterable of str
        Keys of `mist_bench.SETTINGS`.

    Returns
    -------
    dict of str to str
        The reason by the name of each task set-up whose data are absent.

    Examples
    --------
    >>> find_absent(["iris", "sea", "multimodal_moved"])
    {}
    """
    reasons: dict[str, str] = {}
    of_table: dict[str, str] = {}
    for name in dict.fromkeys(names):
        setting = SETTINGS[name]
        if setting.needs is not None and not installed(setting.needs):
            library = EXTRAS[setting.needs]
            reasons[name] = f"{library} is not installed: pip install 'mist-tree[{setting.needs}]'"
        elif setting.dataset:
            if setting.dataset not in of_table:
                of_table[setting.dataset] = _fetch(setting.dataset)
            if of_table[setting.dataset]:
                reasons[name] = of_table[setting.dataset]
    return reasons


def _fetch(table: str) -> str:
    """Download a table unless it is here; returns the reason if it cannot be had, else nothing."""
    entry = find_entry(table)
    if entry.kind == "file" and locate(entry) is None:
        try:
            download(entry)
        except DatasetError as error:
            return " ".join(str(error).split())
    return ""


def _perform(runs: Sequence[Task], jobs: int | None) -> Iterator[Record]:
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    client = active_client()
    if client is not None:
        # Closed as soon as the caller stops, so that the cluster gets no more runs.
        with closing(perform_on_cluster(runs, client, perform)) as records:
            yield from records
        return
    waiting = dict.fromkeys(runs)
    while waiting:
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered")
        try:
            # Closed as soon as the caller stops, so that no worker continues.
            with closing(parallel([delayed(perform)(run) for run in waiting])) as records:
                for record in records:
                    del waiting[record.run]
                    yield record
        except TerminatedWorkerError as error:
            # Ctrl-C also reaches the workers, and kills a worker that is still starting.
            stop = _stopped_by(error)
            if stop is not None:
                raise stop from None
            yield from _find_killer(waiting, jobs)


def _stopped_by(error: BaseException) -> BaseException | None:
    """The interruption in the context of an error, or None if there is none."""
    reason: BaseException | None = error
    while reason is not None and not isinstance(reason, KeyboardInterrupt | GeneratorExit):
        reason = reason.__context__
    return reason


def _find_killer(waiting: dict[Task, None], jobs: int | None) -> Iterator[Record]:
    """Do the runs that may have been in progress one by one, until one is given up."""
    from joblib import effective_n_jobs

    for run in list(waiting)[: 2 * effective_n_jobs(jobs)]:
        record = _alone(run)
        del waiting[run]
        yield Record(run, error=LOST) if record is None else record
        if record is None:
            return


def _alone(run: Task) -> Record | None:
    """Do a run in a worker process of its own; None if the process dies each time."""
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    for _ in range(_ATTEMPTS):
        try:
            (record,) = Parallel(n_jobs=2)([delayed(perform)(run)])
        except TerminatedWorkerError as error:
            stop = _stopped_by(error)
            if stop is not None:
                raise stop from None
        else:
            return record
    return None


def _progress(
    record: Record | None, known: dict[Task, Record], runs: Sequence[Task], jobs: int | None
) -> Progress:
    return Progress(
        record,
        done=len(known),
        total=len(runs),
        failed=sum(record.failed for record in known.values()),
        seconds_left=_time_left(known, runs, jobs),
    )


def _time_left(known: dict[Task, Record], runs: Sequence[Task], jobs: int | None) -> float | None:
    """Expected time of the remaining runs by the mean of similar runs, over the processes."""
    if len(known) == len(runs):
        return 0.0
    if not known:
        return None
    same: dict[tuple[str, str], list[float]] = defaultdict(list)
    methods: dict[str, list[float]] = defaultdict(list)
    for run, record in known.items():
        same[run.kind].append(record.seconds)
        if not record.failed:  # failed runs end early, which says nothing of other data sets
            methods[run.kind[0]].append(record.seconds)
    overall = fmean(record.seconds for record in known.values())
    left = 0.0
    for run in runs:
        if run not in known:
            times = same.get(run.kind) or methods.get(run.kind[0])
            left += fmean(times) if times else overall
    return left / max(1, _at_a_time(jobs))


def _at_a_time(jobs: int | None) -> int:
    """Runs that are done at a time."""
    from joblib import effective_n_jobs

    client = active_client()
    # The backend of joblib raises an error if all workers are just being restarted.
    return effective_n_jobs(jobs) if client is None else sum(client.ncores().values())
