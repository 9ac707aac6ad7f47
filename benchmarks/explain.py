"""Draw docs/images/explain.svg: a small tree, and the evidence for one of its answers.

    python benchmarks/explain.py [--out docs/images/explain.svg]

The model and the row are those of docs/how-to/explain.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from sklearn.datasets import load_wine

from mist import MistClassifier, SplitTest
from mist.inspection import plot_tree
from mist.report.style import INK, WIDTH, style, to_svg

GROWERS = {0: "Barolo", 1: "Grignolino", 2: "Barbera"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("docs/images/explain.svg"))
    wine = load_wine(as_frame=True)
    mixed = wine.frame.sample(frac=1, random_state=0)
    X, y = mixed[wine.feature_names], mixed["target"].map(GROWERS)
    model = MistClassifier(
        "gaussian", split_test=SplitTest("schedule", rows_per_split=40), grace_period=20
    )
    model.partial_fit(X, y)
    x = X.iloc[model.predict_proba(X).max(axis=1).argmin()]
    with style():
        figure = Figure(figsize=(WIDTH, 6.0))
        # Written on white, whatever the page is.
        figure.add_artist(
            Rectangle((0, 0), 1, 1, transform=figure.transFigure, color="white", zorder=-1)
        )
        plot_tree(model, figure.add_axes((0.02, 0.66, 0.96, 0.34)))
        model.explain(x).plot(figure.add_axes((0.34, 0.1, 0.62, 0.54)))
        parser.parse_args().out.write_text(to_svg(figure, INK) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
