"""``mist serve``: a saved model behind HTTP, which learns while it predicts."""

from __future__ import annotations

from mist.commands.compile_first import reporting
from mist.commands.screen import Screen
from mist.commands.serve_options import ServeOptions
from mist.persistence import Store
from mist.presets import make_model
from mist.serving.requirements import check_extra
from mist.serving.start import start

__all__ = ["serve"]


def serve(options: ServeOptions) -> None:
    """Serve a model until SIGINT or SIGTERM.

    What was acknowledged is learnt. With ``durable`` it is also in a log that was flushed to the
    disk, so it is learnt exactly once by the server that is started after a kill at any moment.
    Without, rows since the last checkpoint are lost by a kill.

    Parameters
    ----------
    options : ServeOptions
        Options.

    Raises
    ------
    ImportError
        If the extra ``serve`` is not installed.
    ValueError
        If a file is not valid, or another process serves from the folder.
    OSError
        If a file cannot be read or written, or the port is taken.
    """
    check_extra()
    from mist.serving.access import read_token
    from mist.serving.app import make_app
    from mist.serving.http_server import is_local, open_socket, run_app
    from mist.serving.warming import warm

    screen = Screen(stderr=True)

    def note(text: str) -> None:
        screen.print(f"note: {text}", soft_wrap=True)

    token = "" if options.token is None else read_token(options.token)
    _make_new(options)
    with reporting():
        learner = start(options.start_options(), note)
        warm(learner.service.served)
    if not token and not is_local(options.host):
        note(f"everybody who reaches {options.host} may use this server: give --token FILE")
    app = make_app(
        learner, token=token, read_only=options.read_only, title=f"MIST: {options.model.name}"
    )
    listening = open_socket(options.host, options.port)
    host = f"[{options.host}]" if ":" in options.host else options.host
    screen.print(
        f"mist: {options.model.name} after {learner.service.watch.row:,} rows on "
        f"http://{host}:{listening.getsockname()[1]}, state in {options.folder}",
        soft_wrap=True,
    )
    run_app(app, listening)


def _make_new(options: ServeOptions) -> None:
    """Write an empty model if there is none."""
    if options.model.exists() or Store(options.folder).current is not None:
        return
    if options.new is None:
        raise ValueError(
            f"{options.model} does not exist: give a model file, or --new mist to start with an "
            "empty model"
        )
    from mist.preprocessing import StreamPipeline

    StreamPipeline(model=make_model(options.new, seed=42)).save(options.model)
