"""Kafka topics as live sources (needs the extra ``kafka``)."""

from __future__ import annotations

import csv
import logging
import math
from collections.abc import Container, Iterator, Mapping, Sequence
from time import monotonic
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from mist.io.jsonl import parse_line
from mist.io.live import PAUSE, LiveSource, Records, make_records
from mist.io.source import TableError

__all__ = ["KafkaSource", "Topic", "read_address"]

# librdkafka retries when brokers are unreachable: no reason to write to the terminal.
_LOG = logging.getLogger(__name__)
_LOG.addHandler(logging.NullHandler())

_PATIENCE = 10.0
_COMMIT_SECONDS = 1.0
_NONE_YET = -1001  # code of librdkafka for "no offset is stored"


class Topic(NamedTuple):
    """The parts of the address of a topic.

    Attributes
    ----------
    brokers : str
        ``host:port``, several joined by commas.
    name : str
        The topic.
    group : str or None
        The consumer group whose offsets are used and committed.
    start : {"earliest", "latest"}
        Where to begin if no offset was committed.
    kind : {"jsonl", "csv"}
        Format of a message: a JSON object or a line of CSV.
    columns : tuple of str
        Names of the cells of a line of CSV.
    settings : mapping
        Further settings of librdkafka.
    """

    brokers: str
    name: str
    group: str | None
    start: str
    kind: str
    columns: tuple[str, ...]
    settings: Mapping[str, str]


def read_address(address: str) -> Topic:
    """Parse the address of a topic.

    Parameters
    ----------
    address : str
        ``kafka://HOST:PORT/TOPIC?group=NAME&from=latest&format=csv&columns=a,b``; the part
        after the topic is optional. A key with a dot is a setting of librdkafka.

    Returns
    -------
    Topic
        Its parts.

    Raises
    ------
    TableError
        If it has no broker or no topic, or a key is unknown.

    Examples
    --------
    >>> topic = read_address("kafka://one:9092,two:9092/clicks?group=mist&client.id=me")
    >>> topic.brokers, topic.name, topic.group, topic.settings
    ('one:9092,two:9092', 'clicks', 'mist', {'client.id': 'me'})
    """
    parts = urlsplit(address)
    name = parts.path.strip("/")
    if not parts.netloc or not name or "/" in name:
        raise TableError(f"{address!r} is not a topic: write kafka://HOST:PORT/TOPIC")
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    settings = {key: given.pop(key) for key in list(given) if "." in key}
    group = given.pop("group", None)
    start = given.pop("from", "earliest")
    kind = given.pop("format", "jsonl")
    columns = tuple(filter(None, given.pop("columns", "").split(",")))
    if given:
        raise TableError(
            f"{address!r}: unknown key {next(iter(given))!r}; use group, from, format, "
            "columns or a setting of librdkafka, which has a dot"
        )
    for key, value, allowed in (
        ("from", start, ("earliest", "latest")),
        ("format", kind, ("jsonl", "csv")),
    ):
        if value not in allowed:
            raise TableError(f"{address!r}: {key}={value} is not one of {', '.join(allowed)}")
    if kind == "csv" and not columns:
        raise TableError(f"{address!r}: CSV messages need column names: columns=a,b,c")
    return Topic(parts.netloc, name, group, start, kind, columns, settings)


class KafkaSource(LiveSource):
    """The messages of all partitions of a topic as rows; messages without a value are skipped.

    Parameters
    ----------
    address : str
        See `read_address`.
    ignore : container of str
        Keys whose values are not read.

    Raises
    ------
    TableError
        If confluent-kafka is not installed, the address is wrong, no broker answers, or there is
        no such topic.

    Notes
    -----
    With a group, offsets are committed to the brokers once rows have been learnt. A position
    given to `resume` has priority over them.
    """

    def __init__(self, address: str, ignore: Container[str] = ()) -> None:
        topic = read_address(address)
        try:
            import confluent_kafka
        except ImportError as error:
            raise TableError(
                "Kafka needs confluent-kafka: pip install 'mist-tree[kafka]'"
            ) from error
        self._kafka = confluent_kafka
        self._topic = topic
        self._ignore = ignore
        self.name = f"{topic.name} at {topic.brokers}"
        self._next: dict[int, int] = {}
        self._done = 0
        self._learnt: dict[str, int] = {}
        self._committed = 0.0
        self._consumer = confluent_kafka.Consumer(
            {
                # librdkafka needs a group even if none is used.
                "group.id": topic.group or "mist",
                **topic.settings,
                "bootstrap.servers": topic.brokers,
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "auto.offset.reset": "error",
            },
            logger=_LOG,
        )
        self._partitions = self._find_partitions()

    def _find_partitions(self) -> list[int]:
        try:
            found = self._consumer.list_topics(self._topic.name, timeout=_PATIENCE)
        except self._kafka.KafkaException as error:
            self.close()
            raise TableError(
                f"no response from {self._topic.brokers}: {error.args[0].str()}"
            ) from error
        topic = found.topics[self._topic.name]
        if topic.error is not None or not topic.partitions:
            self.close()
            raise TableError(f"no topic {self._topic.name!r} at {self._topic.brokers}")
        return sorted(topic.partitions)

    @property
    def fixed(self) -> Sequence[str] | None:
        """The columns that the address names."""
        return self._topic.columns or None

    def batches(self, size: int, limit: int | None = None) -> Iterator[Records]:
        """Yield records as soon as any arrive, at most `size` at a time and `limit` in all."""
        self._consumer.assign(self._starts())
        end = math.inf if limit is None else self._done + limit
        while self._done < end:
            size = int(min(size, end - self._done))
            message = self._consumer.poll(PAUSE)
            messages = [] if message is None else [message]
            if messages and size > 1:
                messages += self._consumer.consume(size - 1, timeout=0)
            rows: list[int] = []
            records: list[dict[str, Any]] = []
            fault = None
            for message in messages:
                try:
                    record = self._read(message)
                except TableError as error:
                    # The messages before it are valid.
                    fault = error
                    break
                if record is not None:
                    self._done += 1
                    rows.append(self._done)
                    records.append(record)
            yield make_records(rows, records)
            if fault is not None:
                raise fault

    def position(self) -> Any:
        """Offsets of the next messages by partition, and the rows so far."""
        return {
            "offsets": {str(partition): offset for partition, offset in self._next.items()},
            "rows": self._done,
        }

    def resume(self, position: Any) -> None:
        """Begin at the position of an earlier run."""
        self._next = {int(key): offset for key, offset in position["offsets"].items()}
        self._done = position["rows"]

    def acknowledge(self, position: Any) -> None:
        """Commit offsets to the brokers at intervals and at the end, if there is a group."""
        if self._topic.group is not None and position is not None:
            self._learnt = position["offsets"]
            if monotonic() - self._committed > _COMMIT_SECONDS:
                self._commit()

    def close(self) -> None:
        """Commit the last offsets and close the consumer."""
        self._commit()
        self._consumer.close()

    def _commit(self) -> None:
        self._committed = monotonic()
        offsets, self._learnt = self._learnt, {}
        if offsets:
            self._consumer.commit(
                offsets=self._at({int(key): offset for key, offset in offsets.items()}),
                asynchronous=False,
            )

    def _starts(self) -> list[Any]:
        stored: dict[int, int] = {}
        if self._topic.group is not None:
            nowhere = self._at(dict.fromkeys(self._partitions, _NONE_YET))
            for kept in self._consumer.committed(nowhere, timeout=_PATIENCE):
                if kept.offset >= 0:
                    stored[kept.partition] = kept.offset
        first = (
            self._kafka.OFFSET_BEGINNING
            if self._topic.start == "earliest"
            else self._kafka.OFFSET_END
        )
        starts = {partition: first for partition in self._partitions}
        return self._at({**starts, **stored, **self._next})

    def _at(self, offsets: Mapping[int, int]) -> list[Any]:
        return [
            self._kafka.TopicPartition(self._topic.name, partition, offset)
            for partition, offset in offsets.items()
        ]

    def _read(self, message: Any) -> dict[str, Any] | None:
        error = message.error()
        if error is not None:
            raise TableError(f"topic {self._topic.name!r}: {error.str()}")
        value = message.value()
        try:
            record = None if value is None else self._parse(value)
        except TableError as fault:
            raise TableError(
                f"topic {self._topic.name!r}, partition {message.partition()}, offset "
                f"{message.offset()}: {fault}"
            ) from fault
        self._next[message.partition()] = message.offset() + 1
        return record

    def _parse(self, value: bytes) -> dict[str, Any]:
        row = self._done + 1
        if self._topic.kind == "jsonl":
            return parse_line(value, row, self._ignore)
        try:
            cells = next(csv.reader([value.decode("utf-8")], skipinitialspace=True, strict=True))
        except (UnicodeDecodeError, csv.Error, StopIteration) as error:
            raise TableError(f"row {row}: not a line of CSV: {error}") from error
        if len(cells) != len(self._topic.columns):
            raise TableError(
                f"row {row}: {len(cells)} cells, but {len(self._topic.columns)} column names"
            )
        return dict(zip(self._topic.columns, cells, strict=True))
