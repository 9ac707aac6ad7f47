import json

import pytest

from mist.io import TableError, open_live
from mist.io.kafka import read_address

confluent_kafka = pytest.importorskip("confluent_kafka", reason="needs the extra 'kafka'")


@pytest.fixture(scope="module")
def producer():
    """A producer of a cluster of one broker that lives inside this process."""
    return confluent_kafka.Producer(
        {"bootstrap.servers": "nowhere:1", "test.mock.num.brokers": 1, "log_level": 0}
    )


@pytest.fixture(scope="module")
def brokers(producer):
    found = producer.list_topics(timeout=10).brokers.values()
    return ",".join(f"{broker.host}:{broker.port}" for broker in found)


@pytest.fixture
def send(producer):
    def send(topic, *values):
        for value in values:
            text = json.dumps(value) if isinstance(value, dict) else value
            producer.produce(topic, text, partition=0)
        producer.flush(10)

    return send


def take(address, rows, **options):
    """The labels of the next rows, and the table."""
    table = open_live(address, "y", limit=rows, **options)
    labels = []
    for chunk in table.chunks(1000):
        labels += chunk.labels()
        table.acknowledge()
    return labels, table


def test_json_messages_and_a_position(brokers, send):
    send("one", {"a": 1, "y": "u"}, None, {"a": 2}, {"a": 3, "y": "v"})
    labels, table = take(f"kafka://{brokers}/one", 3)
    assert labels == ["u", "", "v"]
    # A message without a value is no row, but has an offset.
    assert table.position() == {"offsets": {"0": 4}, "rows": 3}
    send("one", {"a": 4, "y": "w"})
    again = open_live(f"kafka://{brokers}/one", "y", limit=1)
    (chunk,) = [c for c in again.chunks(10, json.loads(json.dumps(table.position()))) if len(c.y)]
    assert chunk.labels() == ["w"]
    assert chunk.rows.tolist() == [4]


def test_a_group_goes_on_where_it_was(brokers, send):
    send("two", *({"a": i, "y": i} for i in range(5)))
    assert take(f"kafka://{brokers}/two?group=g", 5)[0] == [0, 1, 2, 3, 4]
    send("two", {"a": 5, "y": 5})
    assert take(f"kafka://{brokers}/two?group=g", 1)[0] == [5]
    # Without a group, and in another one, from the beginning.
    assert take(f"kafka://{brokers}/two", 1)[0] == [0]
    assert take(f"kafka://{brokers}/two?group=h", 1)[0] == [0]


def test_lines_of_csv(brokers, send):
    send("three", b'1,"a, b",u', b"?,c,v")
    table = open_live(f"kafka://{brokers}/three?format=csv&columns=a,t,y", "-1", limit=2)
    chunks = [chunk for chunk in table.chunks(1) if len(chunk.y)]
    assert table.target == "y"
    assert [chunk.labels() for chunk in chunks] == [["u"], ["v"]]
    assert list(chunks[0].X) == ["a", "t=a, b"]


def test_a_bad_message_is_named_after_the_good_ones(brokers, send):
    send("four", {"a": 1, "y": "u"}, b"oops", {"a": 2, "y": "v"})
    table = open_live(f"kafka://{brokers}/four", "y")
    chunks = table.chunks(100)
    labels = []
    while not labels:
        labels += next(chunks).labels()
    assert labels == ["u"]
    with pytest.raises(TableError, match=r"topic 'four', partition 0, offset 1: row 2: not valid"):
        list(chunks)
    assert table.position() == {"offsets": {"0": 1}, "rows": 1}


def test_no_such_topic(brokers):
    with pytest.raises(TableError, match=rf"^no topic 'nope' at {brokers}$"):
        open_live(f"kafka://{brokers}/nope?allow.auto.create.topics=false", "y")


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("kafka://host:1", r"is not a topic: write kafka://HOST:PORT/TOPIC$"),
        ("kafka:///topic", r"is not a topic"),
        ("kafka://host:1/a/b", r"is not a topic"),
        ("kafka://host:1/a?grup=x", r"unknown key 'grup'; use group, from, format,"),
        ("kafka://host:1/a?from=here", r"from=here is not one of earliest, latest$"),
        ("kafka://host:1/a?format=xml", r"format=xml is not one of jsonl, csv$"),
        ("kafka://host:1/a?format=csv", r"need column names: columns=a,b,c$"),
    ],
)
def test_addresses(address, message):
    with pytest.raises(TableError, match=message):
        read_address(address)
