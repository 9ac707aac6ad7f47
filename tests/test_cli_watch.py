"""`mist watch` on files of events."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from mist.cli import app
from mist.commands.watch import EventFile, sparkline


def write(path, *events):
    with path.open("a") as file:
        file.writelines(json.dumps(event) + "\n" for event in events)


def figures(row, accuracy):
    return {"n": row, "row": row, "event": "figures", "accuracy": accuracy, "log_loss": 0.5}


def test_figures_and_events_are_drawn(tmp_path):
    path = tmp_path / "events.jsonl"
    write(path, {"n": 1, "row": 1, "event": "new class", "label": "cat\x1b[2J"})
    write(path, *(figures(500 * k, k / 10) for k in range(1, 11)))
    write(path, {"n": 12, "row": 5200, "event": "column silent", "column": "size"})
    outcome = CliRunner().invoke(app, ["watch", str(path)])
    assert outcome.exit_code == 0, outcome.output
    assert "Figures until row 5,200" in outcome.output
    assert "▂▂▃▄▅▅▆▇▇█" in outcome.output
    assert "1.000" in outcome.output
    assert "column silent 1" in outcome.output
    lines = [line.split() for line in outcome.output.splitlines()]
    assert ["5,200", "column", "silent", "size"] in lines
    assert "\x1b[2J" not in outcome.output


def test_a_line_that_is_being_written_is_read_later(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"row": 1, "event": "new class", "label": "a"}\n{"row": 2, "ev')
    events = EventFile(path)
    events.update()
    assert events.row == 1
    with path.open("ab") as file:
        file.write(b'ent": "class silent", "label": "a"}\n')
    events.update()
    events.update()
    assert events.row == 2
    assert events.counts == {"new class": 1, "class silent": 1}


def test_a_long_file_takes_bounded_memory(tmp_path):
    path = tmp_path / "events.jsonl"
    write(path, *(figures(k, k / 3000) for k in range(3000)))
    events = EventFile(path)
    events.update()
    assert len(events.curve("accuracy")) <= 241
    # A ramp is drawn as a ramp: all rows have the same width.
    assert events.curve("accuracy") == pytest.approx(
        np.linspace(0, 1, len(events.curve("accuracy"))), abs=0.01
    )
    line = sparkline(events.curve("accuracy"))
    assert len(line) == 60
    assert [line.count(bar) for bar in "▁▂▃▄▅▆▇█"] == pytest.approx([4, *[8.6] * 6, 4], abs=1.5)
    assert events.newest["accuracy"] == 2999 / 3000


@pytest.mark.parametrize("content", ["dear diary\n", "[1]\n", '{"row": "x", "event": "y"}\n'])
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "other.txt"
    path.write_text(content)
    outcome = CliRunner().invoke(app, ["watch", str(path)])
    assert outcome.exit_code == 2
    assert "other.txt is not a file of mist serve --events" in outcome.stderr
