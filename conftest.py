"""What pytest leaves alone: modules of libraries that are not here, which cannot be imported."""

from importlib.util import find_spec

_CAPYMOA = ["src/mist/interop/capymoa*.py", "bench/src/mist_bench/capymoa_runs.py"]
collect_ignore_glob = [] if find_spec("capymoa") else _CAPYMOA
