"""What a server continues from, without HTTP: the folder is copied as a kill would leave it."""

import errno
import json
import shutil
import time

import pytest

from mist import MistClassifier
from mist.persistence import Store
from mist.serving.limits import Refused
from mist.serving.options import LearnerOptions
from mist.serving.served_model import ServedModel
from mist.serving.start import StartOptions, start
from served import bytes_of, empty_pipeline

NEVER = LearnerOptions(every_rows=10**9, every_seconds=10**9)


def options(folder, durable=True, learner=NEVER, **more):
    return StartOptions(
        folder / "m.mist",
        folder / "state",
        durable=durable,
        learner=learner,
        events=folder / "events.jsonl",
        **more,
    )


def call(number, label="x"):
    return {
        "do": "learn",
        "rows": [{"a": float(number), "hue": f"h{number % 3}"}],
        "labels": [label],
    }


def learn(learner, numbers):
    for number in numbers:
        learner.submit(call(number, "xyz"[number % 3])).result(30)


def events_in(folder):
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


@pytest.fixture
def begun(tmp_path):
    """A folder with a model, and its durable server after 30 calls."""
    folder = tmp_path / "live"
    folder.mkdir()
    empty_pipeline().save(folder / "m.mist")
    learner = start(options(folder))
    learner.start()
    learn(learner, range(30))
    yield folder, learner
    learner.stop()


def killed(folder, to):
    """A copy of a folder as it is at this moment."""
    shutil.copytree(folder, to)
    return to


@pytest.mark.parametrize("durable", [True, False])
def test_a_server_continues_where_a_killed_one_was(begun, tmp_path, durable):
    folder, learner = begun
    copy = killed(folder, tmp_path / "copy")
    notes = []
    again = start(options(copy, durable), notes.append)
    assert notes == ["30 calls of the log were applied to the checkpoint"]
    live = learner.service.served.model
    assert bytes_of(again.service.served.model, tmp_path) == bytes_of(live, tmp_path)
    assert str(again.service.state()) == str(learner.service.state())
    sizes = [path.stat().st_size for path in sorted((copy / "state").glob("log-*"))]
    # The version before the newest needs its part of the log; without --durable there is no log.
    assert sizes[1:] == ([8] if durable else [])
    assert len(sizes) == (2 if durable else 0)
    again.start()
    learn(again, range(30, 40))
    again.stop()
    third = start(options(copy, durable), notes.append)
    assert third.service.watch.row == 40
    assert len(notes) == 1
    third.stop()
    numbers = [event["n"] for event in events_in(copy)]
    assert numbers == list(range(1, len(numbers) + 1)) != []


def test_without_a_log_a_kill_loses_what_came_after_the_checkpoint(tmp_path):
    folder = tmp_path / "live"
    folder.mkdir()
    empty_pipeline().save(folder / "m.mist")
    learner = start(options(folder, durable=False, learner=LearnerOptions(every_rows=20)))
    learner.start()
    learn(learner, range(29))
    copy = killed(folder, tmp_path / "copy")
    learner.stop()
    again = start(options(copy, durable=False))
    assert again.service.watch.row == 20
    again.start()
    learn(again, range(20, 29))
    again.stop()
    assert again.service.watch.row == 29


def test_checkpoints_by_time(tmp_path):
    empty_pipeline().save(tmp_path / "m.mist")
    learner = start(options(tmp_path, learner=LearnerOptions(10**9, every_seconds=0.1)))
    learner.start()
    learn(learner, [1])
    end = time.monotonic() + 20
    while not learner.checkpoints and time.monotonic() < end:
        time.sleep(0.05)
    assert Store(tmp_path / "state").load().classes_.tolist() == ["y"]
    count = learner.checkpoints
    time.sleep(1.2)
    assert learner.checkpoints == count, "nothing was learnt since"
    learner.stop()


def test_a_full_disk_refuses_calls_and_learns_nothing(begun, monkeypatch):
    _, learner = begun

    def full(payloads):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(learner._journal, "append", full)
    with pytest.raises(Refused, match="No space left") as caught:
        learn(learner, [30])
    assert caught.value.status == 507
    monkeypatch.undo()
    learn(learner, [30])
    assert learner.service.watch.row == 31


def test_a_checkpoint_that_fails_is_tried_again(begun, monkeypatch, capsys):
    folder, learner = begun

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(learner._folder, "save", full)
    learner.save()
    assert "No space left" in learner.checkpoint_error
    assert "no checkpoint was written" in capsys.readouterr().err
    assert (folder / "state").glob("log-*")
    learn(learner, [30])
    monkeypatch.undo()
    learner.stop()
    assert learner.checkpoint_error == ""
    assert Store(folder / "state").load().model_.n_rows_ == 31


def test_calls_after_the_stop_are_refused(begun):
    _, learner = begun
    learner.stop()
    with pytest.raises(Refused, match="stopping") as caught:
        learner.submit(call(1))
    assert caught.value.status == 503


def test_a_trained_model_brings_its_classes_and_columns(tmp_path):
    model = MistClassifier.paper().learn_many({"a": [0.0, 9.0]}, ["x", "y"])
    model.save(tmp_path / "m.mist")
    learner = start(options(tmp_path))
    learner.start()
    learner.submit({"do": "learn", "rows": [{"a": 8.0}], "labels": ["y"]}).result(30)
    learner.stop()
    assert learner.service.watch.row == 3
    assert events_in(tmp_path) == []


def test_damage_in_the_log_is_refused_by_name(begun, tmp_path):
    folder, _ = begun
    copy = killed(folder, tmp_path / "copy")
    (log,) = (copy / "state").glob("log-*")
    data = bytearray(log.read_bytes())
    data[60] ^= 1
    log.write_bytes(data)
    with pytest.raises(ValueError, match=log.name):
        start(options(copy))
    # The folder is free again after the refusal.
    log.unlink()
    start(options(copy)).stop()


def test_a_model_file_replaced_before_anything_was_learnt_is_not_mixed_with_the_log(
    begun, tmp_path
):
    copy = killed(begun[0], tmp_path / "copy")
    MistClassifier.paper().fit([[0.0], [1.0]], [0, 1]).save(copy / "m.mist")
    with pytest.raises(ValueError, match=r"m\.mist has changed since"):
        start(options(copy))


def test_a_call_that_cannot_be_learnt_is_named_and_can_be_skipped(begun, tmp_path, monkeypatch):
    folder, learner = begun
    learn_rows = ServedModel.learn

    def broken(self, rows, labels):
        if rows[0]["a"] == 31.0:
            raise RuntimeError("the tree is broken")
        learn_rows(self, rows, labels)

    monkeypatch.setattr(ServedModel, "learn", broken)
    learn(learner, [30])
    with pytest.raises(Refused, match="the tree is broken"):
        learn(learner, [31])
    copy = killed(folder, tmp_path / "copy")
    for _ in range(2):
        with pytest.raises(ValueError, match=r"record 32 of the log .* --skip-record 32") as caught:
            start(options(copy))
        assert "the tree is broken" in str(caught.value)
    again = start(options(copy, skip_records=[32]))
    assert again.service.watch.row == 31
    again.start()
    learn(again, [32])
    again.stop()
    third = start(options(copy))
    assert third.service.watch.row == 32
    third.stop()


def test_events_of_another_server_in_the_file_hide_none_of_this_one(begun, tmp_path):
    folder, _ = begun
    own = events_in(folder)
    copy = killed(folder, tmp_path / "copy")
    other = [{"n": n, "time": 1.0, "row": n, "event": "new class"} for n in range(1, 200)]
    lines = "".join(json.dumps(event) + "\n" for event in [*other, own[0]])
    (copy / "events.jsonl").write_text(lines)
    start(options(copy)).stop()
    assert events_in(copy) == [*other, *own]
    assert len(own) == 3


def test_a_file_with_events_of_another_server_is_noted(tmp_path):
    empty_pipeline().save(tmp_path / "m.mist")
    event = {"n": 7, "time": 1.0, "row": 9, "event": "new class"}
    (tmp_path / "events.jsonl").write_text(json.dumps(event) + "\n")
    notes = []
    start(options(tmp_path), notes.append).stop()
    (note,) = notes
    assert "events.jsonl also has events that the model has not had" in note


def saved(learner, numbers):
    """Learn calls and write a version."""
    learn(learner, numbers)
    learner.save()


def damage(folder, number):
    path = folder / "state" / f"version-{number:06}.mist"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("kind", ["damaged", "absent"])
def test_a_version_that_cannot_be_read_is_replaced_by_the_one_before_and_the_log(
    begun, tmp_path, kind
):
    folder, learner = begun
    saved(learner, range(30, 35))
    saved(learner, range(35, 40))
    learn(learner, range(40, 45))
    copy = killed(folder, tmp_path / "copy")
    if kind == "damaged":
        damage(copy, 3)
    else:
        (copy / "state" / "version-000003.mist").unlink()
    notes = []
    again = start(options(copy), notes.append)
    assert "version 3 cannot be read, the one before and the log are used: " in notes[0]
    assert notes[1] == "10 calls of the log were applied to the checkpoint"
    live = learner.service.served.model
    assert bytes_of(again.service.served.model, tmp_path) == bytes_of(live, tmp_path)
    assert str(again.service.state()) == str(learner.service.state())
    assert events_in(copy) == events_in(folder)
    assert again.version.number == 4
    again.start()
    learn(again, range(45, 50))
    third = start(options(killed(copy, tmp_path / "third")), notes.append)
    assert third.service.watch.row == 50
    assert len(notes) == 3
    third.stop()
    # The new version is damaged as well: its parent is, too, and the log reaches back to version 2.
    more = killed(copy, tmp_path / "more")
    damage(more, 4)
    fourth = start(options(more))
    assert fourth.service.watch.row == 50
    fourth.stop()
    again.stop()


def test_a_start_that_the_log_does_not_reach_names_the_way_back(begun, tmp_path):
    folder, learner = begun
    for first in (30, 35, 40):
        saved(learner, range(first, first + 5))
    copy = killed(folder, tmp_path / "copy")
    damage(copy, 4)
    damage(copy, 3)
    with pytest.raises(ValueError, match=r"version-000004\.mist.*mist versions rollback") as caught:
        start(options(copy))
    assert str(caught.value).endswith(f"rollback {copy / 'state'} 2")
    damage(copy, 2)
    with pytest.raises(ValueError, match=r"no version in .* can be read"):
        start(options(copy))


def test_without_a_log_the_version_before_a_damaged_one_is_used(tmp_path):
    empty_pipeline().save(tmp_path / "m.mist")
    learner = start(options(tmp_path, durable=False))
    learner.start()
    for first in (0, 5, 10):
        saved(learner, range(first, first + 5))
    copy = killed(tmp_path / "state", tmp_path / "copy" / "state").parent
    learner.stop()
    damage(copy, 4)
    notes = []
    again = start(options(copy, durable=False), notes.append)
    assert again.service.watch.row == 10
    assert "version 4 cannot be read" in notes[0]
    again.stop()


def test_a_durable_start_does_not_take_an_older_version_for_rows_that_no_log_has(tmp_path):
    empty_pipeline().save(tmp_path / "m.mist")
    learner = start(options(tmp_path))
    learner.start()
    learn(learner, range(5))
    learner.stop()
    learner = start(options(tmp_path, durable=False))
    learner.start()
    learn(learner, range(5, 10))
    learner.stop()
    start(options(tmp_path)).stop()
    damage(tmp_path, Store(tmp_path / "state").current)
    with pytest.raises(ValueError, match="mist versions rollback"):
        start(options(tmp_path))


def test_after_a_rollback_later_calls_are_left_out_and_numbers_go_on(begun, tmp_path):
    folder, learner = begun
    saved(learner, range(30, 35))
    saved(learner, range(35, 40))
    learn(learner, range(40, 45))
    copy = killed(folder, tmp_path / "copy")
    Store(copy / "state").rollback(2)
    notes = []
    again = start(options(copy), notes.append)
    assert notes == ["version 2 was made the current one: what was learnt after it is left out"]
    assert again.service.watch.row == 35
    assert (again.version.number, again.version.parent) == (4, 2)
    again.start()
    learn(again, range(100, 103))
    last = killed(copy, tmp_path / "last")
    third = start(options(last), notes.append)
    assert third.service.watch.row == 38
    assert notes[1:] == ["3 calls of the log were applied to the checkpoint"]
    third.stop()
    again.stop()
    # Forward again, to a version that was left.
    Store(copy / "state", keep=3).rollback(4)
    fourth = start(options(copy))
    assert fourth.service.watch.row == 35
    numbers = [event["n"] for event in events_in(copy)]
    assert numbers == sorted(set(numbers))
    fourth.stop()


def test_versions_have_what_they_hold_as_metadata(begun):
    folder, learner = begun
    learner.save()
    first, second = Store(folder / "state").list()
    assert (first.rows, first.accuracy, first.parent) == (None, None, None)
    assert (second.rows, second.classes, second.parent) == (30, ("x", "y", "z"), 1)
    assert second.accuracy == learner.service.watch.figures()["accuracy"]
    assert learner.version == second
    for _ in range(4):
        learner.save()
    assert [version.number for version in Store(folder / "state").list()] == [4, 5, 6]
