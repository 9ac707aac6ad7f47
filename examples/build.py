"""Make the notebooks of this folder from the scripts beside them, and run them.

    pip install -e '.[examples]' -e ./bench
    python examples/build.py [NAME...]

A script is cut at its ``# %%`` lines; cells marked ``[markdown]`` are texts. The outputs are kept
in the notebooks, and the tests run the cells again and compare.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
CUT = re.compile(r"^# %%(.*)\n", re.MULTILINE)


def cells_of(script):
    """The cells of a script, as pairs of kind and source."""
    _, *parts = CUT.split(script)
    for kind, source in zip(parts[::2], parts[1::2], strict=True):
        if "markdown" in kind:
            yield "markdown", re.sub(r"^# ?", "", source, flags=re.MULTILINE).strip()
        else:
            yield "code", source.strip()


def notebook_of(script):
    """An unrun notebook; cells are numbered, so that the same script gives the same file."""
    notebook = nbformat.v4.new_notebook()
    makers = {"markdown": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}
    for number, (kind, source) in enumerate(cells_of(script)):
        notebook.cells.append(makers[kind](source, id=f"cell-{number}"))
    return notebook


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    everything = sorted(path.stem for path in HERE.glob("*.py") if path != Path(__file__))
    parser.add_argument("names", nargs="*", default=everything)
    for name in parser.parse_args().names:
        notebook = notebook_of((HERE / f"{name}.py").read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as folder:
            where = {"metadata": {"path": folder}}
            NotebookClient(notebook, kernel_name="python3", resources=where).execute()
        for cell in notebook.cells:
            cell.metadata.clear()  # times of this run
        notebook.metadata = {"language_info": {"name": "python"}}
        nbformat.write(notebook, HERE / f"{name}.ipynb")
        print(HERE / f"{name}.ipynb")


if __name__ == "__main__":
    main()
