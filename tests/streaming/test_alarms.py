import pytest

from mist.streaming import AlarmRules, Alarms, read_rules

GOOD = """
[alarms]
accuracy = 0.8
recall = 0.5
memory_mb = 2000
class_silent = true
common_shift = false
[send]
command = ["notify", "-x"]
every = 60
"""


def rules_of(tmp_path, text):
    path = tmp_path / "alarms.toml"
    path.write_text(text)
    return read_rules(path)


def test_a_file_of_rules(tmp_path):
    assert rules_of(tmp_path, GOOD) == AlarmRules(
        {"accuracy": 0.8, "recall": 0.5, "memory_mb": 2000.0},
        frozenset({"class_silent"}),
        command=("notify", "-x"),
        every=60.0,
    )


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("alarms = 3", "alarms must be a table"),
        ("[alarm]", "alarm is not a setting: choose from alarms, send"),
        ("[alarms]\nacuracy = 1", "alarms.acuracy is not a setting"),
        ("[alarms]\naccuracy = '1'", "alarms.accuracy is '1': write a number"),
        ("[alarms]\naccuracy = true", "alarms.accuracy is True: write a number"),
        ("[alarms]\naccuracy = nan", "alarms.accuracy is nan"),
        ("[alarms]\nnew_class = 1", "alarms.new_class is 1: write true or false"),
        ("[send]\nwebhook = 'ftp://x'", "send.webhook"),
        ("[send]\nwebhook = 3", "send.webhook"),
        ("[send]\nwebhook = 'http://'", "send.webhook"),
        ("[send]\nwebhook = 'http:///alarm'", "send.webhook"),
        ("[send]\nwebhook = 'http://host:port/alarm'", "send.webhook"),
        ("[send]\nwebhook = 'http://host:99999/alarm'", "send.webhook"),
        ("[send]\nwebhook = 'http://[::1/alarm'", "send.webhook"),
        ("[send]\nwebhook = 'http://host/an alarm'", "send.webhook"),
        ("[send]\ntimeout = 0", "send.timeout is 0: write a number of seconds above 0"),
        ("[send]\ncommand = 'x'", "send.command"),
        ("[send]\nevery = -1", "send.every"),
        ("[send", "not valid TOML"),
        ("\udcff", "not valid TOML"),
    ],
)
def test_bad_rules_are_refused_by_name(tmp_path, text, part):
    path = tmp_path / "alarms.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=r"alarms\.toml") as caught:
        read_rules(path)
    assert part in str(caught.value)


def test_a_figure_raises_an_alarm_when_it_crosses():
    alarms = Alarms(AlarmRules({"accuracy": 0.8, "log_loss": 1.0}, every=0))
    values = [0.9, 0.7, 0.6, 0.85, 0.5, float("nan"), 0.4]
    found = [alarms.of_figures(k, {"recent_accuracy": v}, k) for k, v in enumerate(values)]
    assert [[alarm.value for alarm in each] for each in found] == [[], [0.7], [], [], [0.5], [], []]
    (alarm,) = alarms.of_figures(9, {"recent_log_loss": 1.5}, 9)
    assert alarm.text == "log_loss is 1.5, above 1"


def test_recall_is_watched_by_class_once_it_has_rows():
    alarms = Alarms(AlarmRules({"recall": 0.5}, every=0))
    recall = {"a": {"rows": 49, "recent": 0.1}, "b": {"rows": 50, "recent": 0.2}}
    assert [a.subject for a in alarms.of_figures(1, {}, 0, recall)] == ["b"]


def test_alarms_of_one_rule_are_held_back_and_given_later():
    alarms = Alarms(AlarmRules(events=frozenset({"new_class", "class_moved"}), every=60))

    def of(name, label, now):
        event = {"row": 1, "event": name, "label": label}
        return [alarm.text for alarm in alarms.of_events([event], now)]

    assert of("new class", "a", 0) == ["new class: a"]
    assert of("new class", "b", 10) == []
    assert of("class moved", "a", 11) == ["class moved: a"]
    assert of("new class", "c", 20) == []
    assert of("class silent", "c", 21) == []
    assert alarms.overdue(59) == []
    assert [a.text for a in alarms.overdue(60)] == [
        "new class: c (and 1 more since the last alarm)"
    ]
    assert alarms.overdue(200) == []
    assert alarms.counts == {"new_class": 2, "class_moved": 1}
    assert alarms.held_back == 2
