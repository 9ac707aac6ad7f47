"""What the fuzzers do, on their own seeds and a few hundred changes of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "fuzz"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the folder fuzz is not here")

SCRIPT = """
import random, tempfile, warnings
from pathlib import Path

warnings.simplefilter("ignore")
import seeds, targets
from mutate import mutated

draw = random.Random(5)


def changed(data, most):
    out = bytearray(data)
    for _ in range(draw.randint(1, 3)):
        if out:
            out[draw.randrange(len(out))] = draw.randrange(256)
    return bytes(out[:most])


inputs = seeds.reader_inputs()
for data in inputs:
    targets.readers(data)
    for _ in range(4):
        targets.readers(changed(data, 8000))
read = []
with tempfile.TemporaryDirectory() as folder:
    for file in seeds.model_files(Path(folder)):
        targets.raw(file.read_bytes())
        targets.raw(changed(file.read_bytes(), 40_000))
        members = seeds.members_of(file)
        file.write_bytes(seeds.seal(seeds.unpack(members)))
        read.append(type(__import__("mist").load(file)).__name__)
        targets.sealed(members)
        for seed in range(12):
            targets.sealed(mutated(members, 40_000, seed, changed))
print(len(inputs), *sorted(set(read)))
"""


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-W", "ignore", *arguments],
        cwd=FOLDER,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_nothing_surprises_on_the_seeds_and_near_them():
    done = run("-c", SCRIPT)
    assert done.returncode == 0, done.stderr
    count, *kinds = done.stdout.split()
    assert int(count) > 40
    assert {"MistClassifier", "MistForest", "StreamPipeline", "NCM", "PEC"} <= set(kinds)


def test_a_finding_can_be_run_again(tmp_path):
    (tmp_path / "readers").mkdir()
    file = tmp_path / "readers" / "input.bin"
    file.write_bytes(b"\0\0\0\0a,y\n1,2\n")
    done = run("run.py", "--replay", str(file))
    assert done.returncode == 0, done.stderr
    assert "gives no finding any more" in done.stdout


def test_without_atheris_it_says_how_to_install_it(tmp_path):
    hide = "import sys, importlib.util as u; find = u.find_spec; "
    hide += "u.find_spec = lambda name: None if name == 'atheris' else find(name); "
    hide += "sys.argv = ['run.py', '--seconds', '1']; import run; sys.exit(run.main())"
    done = run("-c", hide)
    assert done.returncode == 2
    assert "pip install atheris" in done.stderr
