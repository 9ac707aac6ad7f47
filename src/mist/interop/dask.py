"""Learning on a Dask cluster: workers summarise rows, the client process grows the tree.

Needs dask.distributed: ``pip install 'mist-tree[dask]'``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

from mist.classifier import MistClassifier
from mist.forest import MistForest
from mist.interop.blocks import Block, as_blocks, cuts_of, read

try:
    import distributed
except ImportError as error:
    raise ImportError(
        "mist.interop.dask needs dask.distributed: pip install 'mist-tree[dask]'",
        name="distributed",
    ) from error

__all__ = ["fit_stream"]

_LEAST_PART = 10_000
"""Minimum number of rows in one part of a round."""

_MOST_IN_PART = 250_000
"""Default for the most rows of a part."""

_ROUND = 0.25
"""Rows of a round, as a share of those learnt before. On development rows of Covertype, rounds as
long as all rows before them cost .008 of accuracy with one order of the rows, and these nothing."""

_Model = TypeVar("_Model", MistClassifier, MistForest)


def fit_stream(
    model: _Model,
    data: Any,
    y: Any = None,
    *,
    target: Any = None,
    client: Any = None,
    parts: int = 8,
    first_round: int = 10_000,
    largest_round: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> _Model:
    """Learn rows on a cluster, in rounds; the tree may grow between rounds.

    In each round, every worker gets the current tree and learns one part of the rows into a fork of
    it, which never splits. The forks are merged two by two and added to the model, and then every
    leaf that is due is examined for a split. A round has a quarter of the rows that were learnt
    before it. As long as that is a single part, one worker learns the rows as `partial_fit` would.

    Parameters
    ----------
    model : MistClassifier or MistForest
        Continues to learn; need not be fitted.
    data : path, sequence of paths, Dask data frame or Dask array
        A Parquet file, a pattern, a folder of them (in the order of `mist.io.find_files`) or a
        list; the workers read them, a row group at a time, under the same paths as here. In a
        folder, a folder called ``column=value`` adds a column, as in `mist run`. Or a Dask data
        frame, whose partitions are counted first; or a Dask array of shape (n, d). Their columns
        are numbers, see the notes.
    y : Dask array, shape (n,), or None
        Labels of a Dask array.
    target : str or None
        The label column of files and data frames, which may be the column of folders; all other
        columns are learnt.
    client : distributed.Client or None
        The cluster; None for the client in use.
    parts : int, default=8
        Parts of a round, and so the most workers that are busy at a time. The model depends on it,
        but not on the number of workers or the division of the data.
    first_round : int, default=10_000
        Rows of the first round.
    largest_round : int or None, default=None
        Most rows of a round; None for 250,000 per part. Trees that split on a schedule, or that
        should split early, need small rounds: a leaf is examined once per round.
    progress : callable or None
        Called after each round with the rows learnt and the total number of rows.

    Returns
    -------
    MistClassifier or MistForest
        ``model``.

    Raises
    ------
    ValueError
        If there is no client, the data are not as described, a file has other columns than the
        first one, or ``partial_fit`` would refuse a row. Earlier rounds remain learnt.
    distributed.KilledWorker
        If the same rows killed several workers.

    Notes
    -----
    Cells are read as `MistClassifier.partial_fit` reads a data frame: numbers, bools and texts such
    as ``"3.5"``, with nulls as missing values. Unlike `mist run`, this encodes no other texts and
    knows no words for missing values: a column of them is refused by name, so encode it before.
    In the names of folders such a word is a missing value, and labels are integers if all are, else
    texts.

    A part is a pure function of the tree and the rows: Dask repeats it if a worker dies, and
    nothing is lost. The result is bit for bit the same for any number of workers and partitions.
    Compared with learning the rows one after another, sums agree up to rounding and quantiles up
    to the error of the sketches; every part continues from a share of the mixture components,
    which are joined again; and splits are made at the end of a round.

    Examples
    --------
    >>> import distributed
    >>> from mist import MistClassifier
    >>> with distributed.Client(n_workers=2) as client:  # doctest: +SKIP
    ...     model = fit_stream(MistClassifier(), "rows/", target="label", client=client)
    """
    if not isinstance(model, MistClassifier | MistForest):
        raise TypeError(f"model must be a MistClassifier or a MistForest, got {model!r}")
    for name, value in (("parts", parts), ("first_round", first_round)):
        if value < 1:
            raise ValueError(f"{name}={value} must be at least 1")
    largest = parts * _MOST_IN_PART if largest_round is None else largest_round
    if largest < 1:
        raise ValueError(f"largest_round={largest_round} must be None or at least 1")
    client = _client() if client is None else client
    blocks = as_blocks(data, y, target, partial(_lengths, client))
    if not blocks:
        raise ValueError("there are no rows to learn")
    total = sum(block.rows for block in blocks)
    start = client.submit(read, _source(client, blocks[0]), target, 0, 1, pure=False)
    _meet(model, *start.result())
    for number, (first, last) in enumerate(_rounds(total, first_round, largest)):
        n = max(1, min(parts, (last - first) // _LEAST_PART))
        edges = [first + (last - first) * i // n for i in range(n + 1)]
        _learn_round(model, client, blocks, edges, target, number * parts)
        if progress is not None:
            progress(last, total)
    return model


def _client() -> Any:
    try:
        return distributed.get_client()
    except ValueError as error:
        raise ValueError(
            "there is no Dask client: create one, such as distributed.Client(n_workers=2), and "
            "pass it as client"
        ) from error


def _lengths(client: Any, frames: Sequence[Any]) -> list[int]:
    from dask.delayed import delayed

    return list(client.gather(client.compute([delayed(len)(frame) for frame in frames])))


def _source(client: Any, block: Block) -> Any:
    """A block as an argument of a task."""
    return client.compute(block.source) if hasattr(block.source, "dask") else block.source


def _meet(model: Any, X: Any, labels: Any) -> None:
    """Set the columns and the label of a row in a model without learning the row."""
    model._rows_to_learn(X, labels, None, None)


def _rounds(total: int, first: int, largest: int) -> Iterator[tuple[int, int]]:
    """First row of each round, and the row after its last."""
    done = 0
    while done < total:
        stop = min(total, done + min(max(first, int(_ROUND * done)), largest))
        yield done, stop
        done = stop


def _learn_round(
    model: Any, client: Any, blocks: Sequence[Block], edges: Sequence[int], target: Any, number: int
) -> None:
    """Learn the rows between the first and the last edge, one part between each two edges."""
    n = len(edges) - 1
    # A single part is learnt by the model, which may split at any row.
    given = model if n == 1 else model._fork(number, 1.0 / n)
    # Dask can repeat a task whose result is lost, but cannot restore scattered data.
    with warnings.catch_warnings():
        # Dask advises against large arguments, because of graphs that have them many times.
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        tree = client.submit(_given, given, pure=False)
    cuts = [cuts_of(blocks, *pair) for pair in pairwise(edges)]
    sources = {cut.block: _source(client, blocks[cut.block]) for part in cuts for cut in part}
    summaries = [
        client.submit(
            _summary,
            tree,
            None if n == 1 else number + i,
            target,
            [(cut.start, cut.stop) for cut in part],
            *(sources[cut.block] for cut in part),
            pure=False,
        )
        for i, part in enumerate(cuts)
    ]
    if n == 1:
        learnt = summaries[0].result()
        model._lock.write(lambda: model._become(learnt))
        return
    while len(summaries) > 1:
        pairs = zip(summaries[::2], summaries[1::2], strict=False)
        merged = [client.submit(_both, one, other, pure=False) for one, other in pairs]
        summaries = merged + summaries[2 * len(merged) :]
    model.merge(summaries[0].result())
    model._split_where_due()


def _given(tree: Any) -> Any:
    return tree


def _summary(tree: Any, number: int | None, target: Any, rows: Sequence[Any], *blocks: Any) -> Any:
    """A copy of the tree that has learnt some rows; of a fork, as that of this number."""
    part = deepcopy(tree)
    if number is not None:
        part._renumber(number)
    for (start, stop), block in zip(rows, blocks, strict=True):
        part.partial_fit(*read(block, target, start, stop))
    return part


def _both(one: Any, other: Any) -> Any:
    """The merge of two forks; neither is changed, as Dask may need it again."""
    return deepcopy(one).merge(other)
