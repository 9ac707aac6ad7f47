"""What commands print, and what is logged, while code is compiled."""

import logging
import re
from types import SimpleNamespace

import pytest
from numba.core.event import trigger_event
from typer.testing import CliRunner

import mist.commands.compile_first
import mist.commands.predict
from mist import MistClassifier
from mist.cli import app
from mist.commands.compile_first import reporting
from mist.commands.demo import demo
from mist.engine import numba_access
from mist.engine.row_loops import predict_rows
from mist.streaming.runs.session import Session
from published import paper_tree

pytestmark = pytest.mark.skipif(
    numba_access.WAY != "internals", reason="Numba reports no compilations"
)

BEGUN = "mist: compiling for this kind of data, once on this machine ...\n"
DONE = "mist: compiled in 0 s\n"
SAID = re.compile(re.escape(BEGUN) + "mist: compiled in [0-9]+ s\n")  # something may be, too


def compiling(function):
    """The event of Numba that a function is compiled, without compiling it."""
    data = {"dispatcher": SimpleNamespace(py_func=function)}
    return trigger_event("numba:compile", data=data)


def compile_two(*_, **__):
    for _ in range(2):
        with compiling(predict_rows.py_func), compiling(pytest.approx):
            pass


def test_nothing_is_printed_where_nothing_is_compiled(capsys):
    with reporting():
        pass
    with reporting(), compiling(pytest.approx):
        pass
    assert capsys.readouterr() == ("", "")


def test_one_line_at_the_start_and_one_at_the_end(capsys):
    with reporting():
        compile_two()
        assert capsys.readouterr() == ("", BEGUN)
    assert capsys.readouterr() == ("", DONE)


def test_an_error_is_not_the_end_of_compiling(capsys):
    with pytest.raises(ValueError, match="wrong"), reporting():  # noqa: PT012
        compile_two()
        raise ValueError("wrong")
    assert capsys.readouterr() == ("", BEGUN)


def mist_command(*arguments):
    outcome = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert outcome.exit_code == 0, outcome.output
    return outcome


def test_every_command_that_compiles_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,y\n" + "1,p\n9,q\n" * 20)
    run = ["run", "t.csv", "--target", "y", "--model", "mist-g", "--save", "m.mist"]
    mist_command(*run)  # compiles, if need be
    monkeypatch.setattr(mist.commands.compile_first.evaluation, "warm_up", compile_two)
    outcome = mist_command(*run)
    assert SAID.fullmatch(outcome.stderr)
    assert "mist: " not in outcome.stdout
    piped = [part if part != "t.csv" else "-" for part in run]
    outcome = CliRunner().invoke(app, piped, input=(tmp_path / "t.csv").read_text())
    assert SAID.fullmatch(outcome.stderr)

    answer = mist.commands.predict._answer
    monkeypatch.setattr(
        mist.commands.predict, "_answer", lambda *given: [compile_two(), answer(*given)][1]
    )
    outcome = mist_command("predict", "m.mist", "t.csv", "--chunk-rows", 25)
    assert SAID.match(outcome.stderr)
    assert "mist: " not in outcome.stdout

    explained = MistClassifier.explain
    monkeypatch.setattr(
        MistClassifier,
        "explain",
        lambda self, x, **given: [compile_two(), explained(self, x, **given)][1],
    )
    assert SAID.fullmatch(mist_command("explain", "m.mist", "--row", '{"a": 1}').stderr)


def test_what_is_compiled_in_the_middle_of_a_run_is_said_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,y\n" + "1,p\n9,q\n" * 20)
    learn = Session.learn
    monkeypatch.setattr(
        Session, "learn", lambda self, chunk: [compile_two(), learn(self, chunk)][1]
    )
    outcome = mist_command("run", "t.csv", "--target", "y", "--model", "mist-g")
    assert outcome.stderr.endswith(BEGUN + DONE)


def test_the_demonstration_says_so_before_it_runs(tmp_path, capsys, monkeypatch):
    def stop(*_, **__):
        compile_two()
        raise KeyboardInterrupt

    monkeypatch.setattr(mist.commands.compile_first.evaluation, "warm_up", stop)
    with pytest.raises(KeyboardInterrupt):
        demo(tmp_path / "demo.html", 42, quick=True)
    assert capsys.readouterr().err == BEGUN


def test_each_compilation_is_logged(caplog):
    name = "mist.engine.row_loops.predict_rows"
    with caplog.at_level(logging.WARNING, logger="mist"):
        compile_two()
    assert not caplog.records
    with caplog.at_level(logging.INFO, logger="mist"):
        compile_two()
    assert [record.name for record in caplog.records] == ["mist"] * 4
    assert [record.getMessage() for record in caplog.records] == [
        f"compiling {name}; later starts read it from the disk",
        f"compiled {name} in 0.0 s",
    ] * 2


def test_learning_says_nothing_by_default(capsys):
    paper_tree().fit([[0.0], [1.0]], ["a", "b"])
    assert capsys.readouterr() == ("", "")
