"""Start of a server: what it continues from, and the parts that serve it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mist.io.applying import is_encoding
from mist.serving.event_log import EventLog
from mist.serving.folder import Restored, StateFolder
from mist.serving.journal import Journal, Record, last_record
from mist.serving.learner import Learner
from mist.serving.limits import Refused
from mist.serving.notifier import Notifier
from mist.serving.options import LearnerOptions, ServiceOptions
from mist.serving.served_model import ServedModel, pipeline_of
from mist.serving.service import Service
from mist.streaming import Alarms, read_rules
from mist.texts import one_line

__all__ = ["StartOptions", "start"]


@dataclass(frozen=True)
class StartOptions:
    """What a server is started with.

    Attributes
    ----------
    model : Path
        The model file.
    state : Path
        Folder of versions and log.
    durable : bool
        Whether each call is on the disk before it is acknowledged.
    service : ServiceOptions
        Options of the service.
    learner : LearnerOptions
        When to write checkpoints, and how many to keep.
    events : Path or None
        File of events.
    alarms : Path or None
        TOML file of alarms.
    skip_records : sequence of int
        Numbers of records of the log that are not learnt.
    """

    model: Path
    state: Path
    durable: bool = False
    service: ServiceOptions = ServiceOptions()  # noqa: RUF009, immutable
    learner: LearnerOptions = LearnerOptions()  # noqa: RUF009, immutable
    events: Path | None = None
    alarms: Path | None = None
    skip_records: Sequence[int] = ()


def start(options: StartOptions, note: Callable[[str], None] = lambda text: None) -> Learner:
    """Restore the model, apply the log, and make the learner, whose thread is not started.

    Parameters
    ----------
    options : StartOptions
        Options.
    note : callable
        Gets what a user should know, as texts.

    Returns
    -------
    Learner
        Ready to start.

    Raises
    ------
    ValueError
        If a file is not valid, another process serves from the folder, or a call of the log
        cannot be learnt.
    OSError
        If a file cannot be read or written.
    """
    alarms = None if options.alarms is None else Alarms(read_rules(options.alarms))
    folder = StateFolder(options.state, options.learner.keep_versions)
    try:
        restored = folder.restore(options.model)
        journal = _open_journal(folder, restored, note)
        served = _served(restored, options)
        service = Service(served, options.service, restored.state)
        events = EventLog(options.events, service.event_count)
        count = _replay(service, journal, events, options)
        if count:
            note(f"{count:,} calls of the log were applied to the checkpoint")
        if restored.rolled_back:
            # Their numbers are in the file already.
            service.event_count = max(service.event_count, events.last)
        elif options.durable and events.last > service.event_count:
            note(
                f"{options.events} also has events that the model has not had, of another server "
                "or lost in a crash, so numbers will occur twice in it: give another --events to "
                "keep them apart"
            )
        events.forget()
        # The first version notes the model file, so that no other one is mixed with the log.
        if count or folder.version is None or restored.unread or restored.rolled_back:
            folder.save(served.model, service.state(), journal.number, service.accuracy)
            journal.forget(journal.number if restored.rolled_back else folder.needed)
        if not options.durable:
            journal.remove()
    except BaseException:
        folder.close()
        raise
    return Learner(
        service,
        options.learner,
        folder=folder,
        number=journal.number,
        journal=journal if options.durable else None,
        alarms=alarms,
        notifier=None if alarms is None else Notifier(alarms.rules),
        events=events,
    )


def _open_journal(folder: StateFolder, restored: Restored, note: Callable[[str], None]) -> Journal:
    """Open the log behind the version that was restored."""
    after = restored.number
    if restored.rolled_back:
        after = max(after, last_record(folder.path))
        assert folder.version is not None
        note(
            f"version {folder.version.number} was made the current one: what was learnt after it "
            "is left out"
        )
    try:
        journal = Journal(folder.path, after)
    except ValueError as error:
        if not restored.unread or folder.version is None:
            raise
        reason = " ".join(restored.unread.values())
        raise ValueError(
            f"{reason} The version before can be read, but not continued: {error}. To go back to "
            f"it without what was learnt after it: mist versions rollback {folder.path} "
            f"{folder.version.number}"
        ) from error
    for number, reason in restored.unread.items():
        note(f"version {number} cannot be read, the one before and the log are used: {reason}")
    if journal.cut:
        note(f"{journal.cut:,} bytes of calls that were never acknowledged were cut")
    return journal


def _served(restored: Restored, options: StartOptions) -> ServedModel:
    """The model of a file, as a pipeline if `mist run` has encoded its rows."""
    model, attachment = restored.model, restored.attachment
    encoding = attachment.get("encoding") if isinstance(attachment, dict) else None
    if is_encoding(encoding):
        model = pipeline_of(model, encoding, options.model.name)
    try:
        return ServedModel(model, options.service.limits)
    except TypeError as error:
        raise ValueError(f"{options.model}: {error}") from error


def _replay(service: Service, journal: Journal, events: EventLog, options: StartOptions) -> int:
    """Apply the calls that the checkpoint does not hold; return how many there are."""
    records = journal.take_records()
    for record in records:
        if record.number not in options.skip_records:
            _apply(service, record, options.state)
        events.write_missing(service.take_events())
    return len(records)


def _apply(service: Service, record: Record, folder: Path) -> None:
    """Apply a call of the log; what the model refused then, it refuses again."""
    try:
        service.apply(json.loads(record.payload))
    except Refused:
        pass
    except Exception as error:
        raise ValueError(
            f"{folder}: record {record.number} of the log cannot be learnt, "
            f"{one_line(f'{type(error).__name__}: {error}')}. To go on without this call, add "
            f"--skip-record {record.number}"
        ) from error
