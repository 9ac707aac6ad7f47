import csv
import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from mist import __version__
from mist.cli import app
from mist.commands import demo as demo_module
from mist.presets import PRESETS, find_preset, make_model

N_ROWS = 600


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def pets(here):
    """A file of two numbers, a text and three classes that come one after another."""
    rng = np.random.default_rng(0)
    kinds = ["cat", "hamster", "dog"]
    path = here / "pets.csv"
    with path.open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["weight", "height", "coat", "pet"])
        for i in range(N_ROWS):
            k = i * 3 // N_ROWS
            coat = "silky" if i == N_ROWS - 1 else ["short", "long"][int(rng.random() < 0.5)]
            weight = "?" if i % 50 == 49 else f"{rng.normal(5 * k, 1):.3f}"
            writer.writerow([weight, f"{rng.normal(-4 * k, 1):.3f}", coat, kinds[k]])
    return path


def mist(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def read_csv(path):
    with open(path, newline="") as handle:
        return list(csv.reader(handle))


def assert_one_line_error(outcome, *parts):
    assert outcome.exit_code == 2
    lines = outcome.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: ")
    for part in parts:
        assert part in lines[0]


def test_version():
    outcome = mist("--version")
    assert outcome.exit_code == 0
    assert outcome.stdout == f"mist {__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"], ["run", "--help"]])
def test_help(arguments):
    outcome = mist(*arguments)
    assert outcome.exit_code == 0
    assert "Usage" in outcome.stdout


def test_help_imports_nothing_heavy():
    code = (
        "import json, sys\n"
        "sys.argv = ['mist', '--help']\n"
        "from mist.cli import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as end:\n"
        "    print(json.dumps([end.code, sorted({m.split('.')[0] for m in sys.modules})]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    exit_code, modules = json.loads(done.stdout.splitlines()[-1])
    assert exit_code == 0
    heavy = {"numpy", "numba", "matplotlib", "sklearn", "scipy", "pyarrow", "pandas", "jinja2"}
    assert not heavy & set(modules)


def test_exit_code_and_single_line_of_the_real_process(tmp_path):
    path = tmp_path / "nowhere.csv"
    done = subprocess.run(
        [sys.executable, "-m", "mist.cli", "run", str(path), "--target", "y"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == f"error: there is no file {str(path)!r}\n"


def test_run_in_file_order(pets):
    outcome = mist(
        "run", pets, "--target", "pet", "--model", "mist-g", "--model", "majority",
        "--chunk-rows", 70, "--predictions", "out.csv", "--report", "out.html",
    )  # fmt: skip
    assert outcome.exit_code == 0, outcome.output
    assert outcome.stderr == ""
    assert "600 rows: 1 text column (coat) became 3 columns of 0/1" in outcome.stdout
    assert "Report: out.html" in outcome.stdout

    header, *lines = read_csv("out.csv")
    assert header == ["row", "label", "mist-g", "majority"]
    assert [line[0] for line in lines] == [str(row) for row in range(2, N_ROWS + 2)]
    assert [line[1] for line in lines] == ["cat"] * 200 + ["hamster"] * 200 + ["dog"] * 200
    assert lines[0][2:] == ["", ""]
    assert {line[2] for line in lines[1:]} <= {"cat", "hamster", "dog"}
    # The first row of a class is never foreseen; the majority leaf never gets over the first.
    assert lines[200][2] == "cat"
    assert [line[3] for line in lines[1:400]] == ["cat"] * 399

    share = sum(line[1] == line[2] for line in lines) / N_ROWS
    assert share > 0.9
    row = next(line for line in outcome.stdout.splitlines() if "MIST-G" in line)
    assert row.split()[:5] == ["pets.csv", "MIST-G", "–", "–", f"{share:.3f}"]  # noqa: RUF001
    # Classes come in blocks: only their first rows differ from the row before.
    constants = "majority class so far 0.332, no change 0.995"
    assert f"Prequential accuracy without a model: {constants}" in outcome.stdout
    page = (pets.parent / "out.html").read_text(encoding="utf-8")
    assert "hamster" in page
    assert f"{share:.3f}" in page


def test_file_order_does_not_depend_on_the_chunk(pets):
    for size in (7, 10_000):
        outcome = mist(
            "run", pets, "--target", "pet", "--chunk-rows", size, "--predictions", f"{size}.csv"
        )
        assert outcome.exit_code == 0, outcome.output
    # Other column types could be seen in a first chunk of 7 rows; here they are the same.
    assert read_csv("7.csv") == read_csv("10000.csv")


def test_run_class_incremental(pets):
    outcome = mist(
        "run", pets, "--target", "pet", "--order", "class-incremental", "--ignore", "coat",
        "--predictions", "out.csv", "--report", "out.html",
    )  # fmt: skip
    assert outcome.exit_code == 0, outcome.output
    assert "600 rows x 2 columns of float64" in outcome.stdout
    rows = [line.split() for line in outcome.stdout.splitlines()]
    row = next(row for row in rows if row[:2] == ["pets.csv", "MIST"])
    assert float(row[2]) > 0.9
    _, *lines = read_csv("out.csv")
    assert len(lines) == 480
    # Row numbers are those of the file, and classes come in label order: cat, dog, hamster.
    source = read_csv(pets)
    assert all(source[int(line[0]) - 1][3] == line[1] for line in lines)
    assert [line[1] for line in lines] == ["cat"] * 160 + ["dog"] * 160 + ["hamster"] * 160
    assert "Heat maps" in (pets.parent / "out.html").read_text(encoding="utf-8")


def test_limit_no_header_and_position(here):
    (here / "plain.csv").write_text("".join(f"{i % 2}.5,{i % 2}\n" for i in range(100)))
    outcome = mist(
        "run", "plain.csv", "--target", -1, "--no-header", "--limit", 40, "--predictions", "p.csv"
    )
    assert outcome.exit_code == 0, outcome.output
    _, *lines = read_csv("p.csv")
    assert [line[0] for line in lines] == [str(row) for row in range(1, 41)]
    assert (here / "mist-run.html").exists()


def test_text_option(here):
    (here / "zip.csv").write_text("zip,y\n" + "1,a\n2,b\nx,a\n" * 20)
    assert_one_line_error(mist("run", "zip.csv", "--target", "y"), "row 4, column 'zip': 'x'")
    outcome = mist("run", "zip.csv", "--target", "y", "--text", "zip")
    assert outcome.exit_code == 0, outcome.output
    assert "became 3 columns of 0/1" in outcome.stdout


def test_npz_without_a_target(here):
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    np.savez("set.npz", X=rng.normal(size=(300, 2)) + 5 * y[:, None], y=y)
    outcome = mist("run", "set.npz")
    assert outcome.exit_code == 0, outcome.output


@pytest.mark.parametrize("order", ["file", "class-incremental"])
@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["bad.csv is empty"]),
        ("a,y\n", ["bad.csv is empty: it has columns, but no rows"]),
        ("a,b\n1,0\n", ["no column 'y'", "columns: a, b"]),
        ("a,y\n1,0\n2\n3,1\n", ["row 3: 1 cell, but the first row has 2"]),
        ("a,y\n1,0\n2,1\nabc,0\n", ["row 4, column 'a': 'abc' is not a number"]),
        ("a,y\n1,0\n2,1\ninf,0\n", ["row 4, column 'a': infinity is not allowed"]),
        ("a,y\n1,0\n2,\n", ["row 3, column 'y': the label is missing"]),
    ],
)
def test_bad_files(here, order, text, parts):
    (here / "bad.csv").write_text(text)
    assert_one_line_error(mist("run", "bad.csv", "--target", "y", "--order", order), *parts)
    assert not (here / "mist-run.html").exists()


def test_an_error_far_down_leaves_the_predictions_so_far(here):
    (here / "bad.csv").write_text("a,y\n" + "1,0\n2,1\n" * 500 + "abc,0\n")
    outcome = mist("run", "bad.csv", "--target", "y", "--chunk-rows", 100, "--predictions", "p.csv")
    assert_one_line_error(outcome, "row 1002, column 'a': 'abc' is not a number")
    assert len(read_csv("p.csv")) == 1001


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--model", "nope"], ["no model called 'nope'", "mist-forest-features"]),
        (["--report", "pets.csv"], ["cannot write 'pets.csv'", "is an input file"]),
        (["--predictions", "pets.csv"], ["cannot write 'pets.csv'", "is an input file"]),
        (["--report", "no/where.html"], ["there is no folder 'no'"]),
        (["--report", "."], ["it is a folder"]),
        (["--ignore", "nope"], ["no column 'nope'"]),
    ],
)
def test_bad_options(pets, arguments, parts):
    before = pets.read_bytes()
    assert_one_line_error(mist("run", pets, "--target", "pet", *arguments), *parts)
    assert pets.read_bytes() == before


def test_target_is_needed(pets):
    assert_one_line_error(mist("run", pets), "the target is not given")


@pytest.mark.parametrize(
    "arguments", [["run"], ["run", "x.csv", "--order", "random"], ["run", "x.csv", "--seed", "-1"]]
)
def test_usage_errors(arguments):
    outcome = mist(*arguments)
    assert outcome.exit_code == 2
    assert "Traceback" not in outcome.output


def test_interrupt(here, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo_module, "demo", interrupted)
    outcome = mist("demo")
    assert outcome.exit_code == 130
    assert outcome.stderr == "stopped\n"


def test_demo(here):
    outcome = mist("demo", "--quick", "--report", "demo.html")
    assert outcome.exit_code == 0, outcome.output
    assert outcome.stderr == ""
    for name in ("digits", "wine", "iris", "multimodal"):
        assert outcome.stdout.count(f"{name} ") == 4
    page = (here / "demo.html").read_text(encoding="utf-8")
    for drawing, number in (
        ("Heat maps of the accuracy matrix", 4),
        ("Heat map of true and predicted classes", 16),
    ):
        assert page.count(f'aria-label="{drawing}') == number
    assert "majority class so far" in page
    for model in demo_module._MODELS:
        assert model.title in page


def test_demo_checks_the_report_first(here):
    assert_one_line_error(mist("demo", "--report", "no/where.html"), "there is no folder 'no'")


@pytest.mark.parametrize("name", PRESETS)
def test_presets_make_models(name):
    model = make_model(name, seed=3, categorical_features=(1,))
    preset = find_preset(name)
    alone = preset.forest is None
    forest = "MistReplayForest" if name == "mist-replay" else "MistForest"
    assert type(model).__name__ == ("MistClassifier" if alone else forest)
    assert model.random_state == 3
    for option, value in (preset.forest or {}).items():
        assert model.get_params()[option] == value
    parameters = (model if alone else model.estimator).settings()
    assert parameters["categorical_features"] == [1]
    for option, value in preset.parameters.items():
        assert parameters[option] == value


def test_unknown_preset():
    with pytest.raises(ValueError, match=r"called 'x': choose one of mist, mist-g, mist-k"):
        make_model("x")
