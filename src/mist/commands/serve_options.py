"""Options of ``mist serve``: names, defaults and help, each written once."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mist.serving.limits import Limits
from mist.serving.options import LearnerOptions, ServiceOptions

if TYPE_CHECKING:
    from mist.serving.start import StartOptions

__all__ = ["ServeOptions"]


@dataclass(frozen=True)
class ServeOptions:
    """Options of ``mist serve``; the defaults of limits and figures are those of the server.

    Examples
    --------
    >>> ServeOptions(Path("flows.mist")).folder
    PosixPath('flows.mist.state')
    """

    model: Annotated[
        Path,
        typer.Argument(
            help="Model file: a saved StreamPipeline, MistClassifier or MistForest, or a file of "
            "`mist run --save`. It is not changed.",
            show_default=False,
        ),
    ]
    new: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Start with an empty model if MODEL does not exist: a name as for `mist run "
            "--model`.",
            show_default=False,
        ),
    ] = None
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder of versions and log, from which the server continues.  "
            "(default: MODEL.state)",
            show_default=False,
        ),
    ] = None
    durable: Annotated[
        bool,
        typer.Option(
            "--durable",
            help="Acknowledge a call when it is on the disk, so that a crash loses nothing.",
        ),
    ] = False
    every: Annotated[int, typer.Option(min=1, help="Rows between two checkpoints.")] = (
        LearnerOptions.every_rows
    )
    seconds: Annotated[float, typer.Option(min=0.1, help="Seconds between two checkpoints.")] = (
        LearnerOptions.every_seconds
    )
    keep_versions: Annotated[
        int, typer.Option(min=1, help="Checkpoints to keep; `mist versions` shows them.")
    ] = LearnerOptions.keep_versions
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Predict and explain, but do not learn.")
    ] = False
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8000
    token: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File whose first line is the token that every request needs.",
            show_default=False,
        ),
    ] = None
    events: Annotated[
        Path | None,
        typer.Option(
            help="JSON lines file for events: new classes, silent classes, moved classes, ...",
            show_default=False,
        ),
    ] = None
    alarms: Annotated[
        Path | None,
        typer.Option(
            help="TOML file of thresholds, and of the web address or command that gets alarms.",
            show_default=False,
        ),
    ] = None
    window: Annotated[int, typer.Option(min=1, help="Rows of recent figures.")] = (
        ServiceOptions.window
    )
    silence: Annotated[
        float,
        typer.Option(min=1, help="Mean gaps without a row after which a class is silent."),
    ] = ServiceOptions.gaps
    keep: Annotated[int, typer.Option(min=1, help="Most rows that wait for labels.")] = (
        ServiceOptions.keep_rows
    )
    keep_seconds: Annotated[
        float, typer.Option(min=0.001, help="Longest time that rows wait for labels.")
    ] = ServiceOptions.keep_seconds
    max_body: Annotated[float, typer.Option(min=0.001, help="Most megabytes of a request.")] = (
        Limits.body_bytes / 2**20
    )
    max_rows: Annotated[int, typer.Option(min=1, help="Most rows of a request.")] = Limits.rows
    max_columns: Annotated[
        int,
        typer.Option(min=1, help="Most columns of the model, one for each text included."),
    ] = Limits.columns
    max_classes: Annotated[int, typer.Option(min=1, help="Most classes of the model.")] = (
        Limits.classes
    )
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for a request.")] = Limits.seconds
    skip_records: Annotated[
        list[int],
        typer.Option(
            "--skip-record",
            metavar="N",
            min=1,
            help="Do not learn this record of the log, which a start has named; may be repeated.",
            show_default=False,
        ),
    ] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """Folder of versions and log."""
        return self.state or self.model.with_name(f"{self.model.name}.state")

    def start_options(self) -> StartOptions:
        """Return the options of the parts of the server."""
        from mist.serving.start import StartOptions

        return StartOptions(
            model=self.model,
            state=self.folder,
            durable=self.durable,
            service=ServiceOptions(
                limits=Limits(
                    body_bytes=int(self.max_body * 2**20),
                    rows=self.max_rows,
                    columns=self.max_columns,
                    classes=self.max_classes,
                    seconds=self.timeout,
                ),
                keep_rows=self.keep,
                keep_seconds=self.keep_seconds,
                window=self.window,
                gaps=self.silence,
            ),
            learner=LearnerOptions(
                every_rows=self.every,
                every_seconds=self.seconds,
                keep_versions=self.keep_versions,
            ),
            events=self.events,
            alarms=self.alarms,
            skip_records=self.skip_records,
        )
