"""Objects whose arrays compiled code reads at an address."""

from __future__ import annotations

from typing import Any, ClassVar

from mist.engine.handle import Handle

__all__ = ["LaidOut"]


class LaidOut:
    """Lays its arrays out once, so that calls of compiled code for single rows are quick.

    Arrays may be written in place. To replace one, set the attribute that holds it.
    """

    _laid_out: ClassVar[tuple[str, ...]]
    """Attributes with the parts, in the order in which `mist.engine.handle.parts_of` gives them."""

    _handle: Handle | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in self._laid_out:
            vars(self).pop("_handle", None)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_handle"}

    @property
    def handle(self) -> Handle:
        """The parts laid out for compiled functions."""
        handle = self._handle
        if handle is None:
            handle = Handle(tuple(getattr(self, name) for name in self._laid_out))
            vars(self)["_handle"] = handle
        return handle
