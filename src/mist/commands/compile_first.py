"""Compile models before a run, with a message while it takes time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from time import perf_counter

from mist import evaluation
from mist.commands.screen import Screen
from mist.engine.compilations import watching
from mist.presets import Preset, make_model

__all__ = ["reporting", "warm_up"]


def warm_up(
    names: Sequence[str | Preset], *, categorical: bool = False, missing: bool = False
) -> None:
    """Compile every model: learn, split and predict once on a few rows.

    Parameters
    ----------
    names : sequence of str or Preset
        Presets, or their names.
    categorical : bool, default=False
        Whether the rows have 0/1 columns.
    missing : bool, default=False
        Whether the rows have missing values, which need other kernels.
    """
    with reporting():
        for name in names:
            model = make_model(name, seed=0, categorical_features=[1] if categorical else None)
            evaluation.warm_up(model, n_features=2, missing=missing)


@contextmanager
def reporting(*, spinner: bool = True) -> Iterator[None]:
    """Print on standard error that code is being compiled, if it is, and how long it took.

    Parameters
    ----------
    spinner : bool, default=True
        Whether a terminal also shows that something is going on; False next to progress bars.

    Yields
    ------
    None
    """
    times: list[float] = []  # of the first start, and of each end
    with ExitStack() as stack:

        def begun(name: str) -> None:
            if not times:
                times.append(perf_counter())
                console = Screen(stderr=True)
                console.print(
                    "mist: compiling for this kind of data, once on this machine ...",
                    soft_wrap=True,
                )
                if spinner:
                    stack.enter_context(console.status("compiling"))  # shown in terminals only

        with watching(begun, lambda name, seconds: times.append(perf_counter())):
            yield
    if times:
        Screen(stderr=True).print(f"mist: compiled in {times[-1] - times[0]:.0f} s", soft_wrap=True)
