"""Constructors that take the options of an estimator."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from inspect import Parameter
from typing import Any

from mist.option_refusals import refuse_alone

__all__ = ["SEED", "constructor", "options_of"]

SEED = "random_state"
"""The option whose name differs between libraries."""


def options_of(estimator: type) -> list[Parameter]:
    """Parameters of the constructor of an estimator, except its seed.

    Parameters
    ----------
    estimator : type
        Class of an estimator in the sense of scikit-learn.

    Returns
    -------
    list of inspect.Parameter

    Examples
    --------
    >>> from mist import MistForest
    >>> [option.name for option in options_of(MistForest)][:2]
    ['estimator', 'n_trees']
    """
    parameters = inspect.signature(estimator).parameters.values()
    return [parameter for parameter in parameters if parameter.name != SEED]


def constructor(
    parameters: list[Parameter], use: Callable[[Any, dict[str, Any]], None]
) -> Callable[..., None]:
    """Build an ``__init__`` with the given parameters.

    Parameters
    ----------
    parameters : list of inspect.Parameter
        Parameters in addition to ``self``.
    use : function
        Called with the object and the value of every parameter by name.

    Returns
    -------
    function
        ``inspect.signature``, ``help`` and the ``clone`` of river find its parameters.

    Examples
    --------
    >>> class Box:
    ...     __init__ = constructor(
    ...         [Parameter("size", Parameter.KEYWORD_ONLY, default=1)],
    ...         lambda box, values: vars(box).update(values),
    ...     )
    >>> inspect.signature(Box)
    <Signature (*, size=1)>
    >>> Box(size=3).size
    3
    """
    me = Parameter("self", Parameter.POSITIONAL_ONLY)
    signature = inspect.Signature([me, *parameters])

    def __init__(self: Any, /, *args: Any, **kwargs: Any) -> None:
        refuse_alone({name: kwargs[name] for name in kwargs.keys() - signature.parameters.keys()})
        try:
            given = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}: {error}") from None
        given.apply_defaults()
        values = dict(given.arguments)
        del values["self"]
        use(self, values)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__
