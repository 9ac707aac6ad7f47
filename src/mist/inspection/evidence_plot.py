"""Bar plot of the evidence for the prediction against the runner-up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mist.inspection.term import Term
from mist.inspection.wording import nats
from mist.texts import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_evidence"]

_LONGEST, _LONGEST_CLASS = 30, 18
_HEIGHT, _FRAME = 0.32, 1.1  # inches per bar, and for the margins around the bars


def plot_evidence(classes: Sequence[Any], terms: Sequence[Term], ax: Axes | None = None) -> Axes:
    """Draw the bars of `mist.inspection.Explanation.plot`.

    Parameters
    ----------
    classes : sequence of label
        The predicted class, and the runner-up if there is one.
    terms : sequence of Term
        The bars, from top to bottom; none if there is no runner-up.
    ax : matplotlib.axes.Axes or None, default=None
        Axes to draw on; None makes a figure.

    Returns
    -------
    matplotlib.axes.Axes
        Plain bars to the right favour the prediction, hatched bars to the left the runner-up.

    Raises
    ------
    ValueError
        If there is no runner-up.
    TypeError
        If `ax` is not axes.
    """
    from mist.plotting.text_layout import short
    from mist.plotting.theme import PALETTE, axes_for, ink, names_as_they_are

    if not terms:
        raise ValueError(
            f"{printable(classes[0])} is the only class of this explanation: there is "
            "no runner-up to compare it with"
        )
    first, second = (short(printable(c), _LONGEST_CLASS) for c in classes[:2])
    with names_as_they_are():
        ax = axes_for(ax, height=_HEIGHT * len(terms) + _FRAME)
        for place, term in enumerate(terms):
            evidence = term.evidence
            against = evidence < 0
            ax.barh(
                place,
                evidence,
                height=0.7,
                color=PALETTE[1] if against else PALETTE[0],
                hatch="///" if against else None,
                edgecolor="white" if against else PALETTE[0],
                linewidth=0,
            )
            ax.annotate(
                nats(evidence),
                (evidence, place),
                xytext=(-4 if against else 4, 0),
                textcoords="offset points",
                ha="right" if against else "left",
                va="center",
                fontsize=9,
            )
        ax.axvline(0.0, color=ink(), linewidth=0.8)
        ax.set_yticks(range(len(terms)), [_label(term) for term in terms])
        ax.invert_yaxis()
        ax.margins(x=0.25)
        ax.tick_params(axis="y", length=0)
        ax.spines[["left", "top", "right"]].set_visible(False)
        ax.set_xlabel(f"← {second} | nats | {first} →")
    return ax


def _label(term: Term) -> str:
    from mist.plotting.text_layout import short

    name = short(term.name, _LONGEST)
    return f"{name} = {term.value}" if term.value else name
