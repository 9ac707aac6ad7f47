"""What pytest leaves alone: modules of libraries that are not here, which cannot be imported."""

from importlib.util import find_spec

_CAPYMOA = ["src/mist/interop/capymoa*.py", "bench/src/mist_bench/capymoa_runs.py"]
_SERVER = ["src/mist/serving/app.py", "src/mist/serving/metrics.py"]
collect_ignore_glob = [
    *([] if find_spec("capymoa") else _CAPYMOA),
    *([] if find_spec("starlette") and find_spec("prometheus_client") else _SERVER),
]
