"""What pytest leaves alone: modules of libraries that are not here, which cannot be imported."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("capymoa") else ["src/mist/interop/capymoa*.py"]
