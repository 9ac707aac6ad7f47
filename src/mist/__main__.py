"""``python -m mist`` is the command ``mist``."""

from mist.cli import main

if __name__ == "__main__":
    main()
