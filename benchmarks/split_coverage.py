"""How often each split test fires although it should not, and how soon when it should.

    python benchmarks/split_coverage.py [--repetitions 1000] [--rows 100000] [--seed 1]

Rows are not grown into trees: of a leaf only the classes' rows on either side of one threshold a
column are drawn, and every test looks at the same counts. The betting martingale is fed with scores
instead. Prints the tables and writes them as a page of Markdown.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numba import njit
from rich.console import Console
from rich.progress import track

from mist.engine.betting import BETS, bet, wealth
from mist.engine.confseq import class_variances, gain_radius, gap_radius
from mist.engine.criterion import TIE, radius, split_gain
from mist_bench.result_tables import Table, to_markdown, to_rich
from mist_paper.theory.checks import proportion
from mist_paper.theory.leaves import NOISE, Case, columns, draw_counts

DELTAS = (0.1, 0.01)
GRACE = (50, 200)
TIE_THRESHOLD = 0.05
CLASSICAL = ("mcdiarmid", "rutkowski", "hoeffding", "hoeffding")
TESTS = (
    *("mcdiarmid", "rutkowski", "hoeffding", "hoeffding, no tie rule"),
    *("confseq", "confseq_independent"),
)
TIED, CONFSEQ, INDEPENDENT = 2, 4, 5
STATISTICS = ("gap", "gain")
# The two forms of confseq differ in how two columns depend on each other: a gain has only one.
TESTS_OF = {"gap": TESTS, "gain": TESTS[:INDEPENDENT]}


CASES = (
    Case("two equal columns, 2 classes", columns(2, (0.8, 0.2), (0.8, 0.2))),
    Case("two equal columns, 10 classes", columns(10, (0.8, 0.2), (0.8, 0.2))),
    Case(
        "two equal columns, class-incremental",
        columns(10, (0.8, 0.2), (0.8, 0.2)),
        incremental=True,
    ),
    Case(
        "two equal columns, opposite within a class",
        columns(2, (0.8, 0.2), (0.8, 0.2)),
        opposite=True,
    ),
    Case("20 noise columns, 2 classes", columns(2, *[NOISE] * 20)),
    Case("20 noise columns, class-incremental", columns(10, *[NOISE] * 20), incremental=True),
    Case("0.8/0.2 against 0.77/0.23", columns(2, (0.8, 0.2), (0.77, 0.23))),
    Case("one 0.7/0.3 among 19 noise columns", columns(2, (0.7, 0.3), *[NOISE] * 19)),
)


@njit
def first_fires(known, left, radii, log_terms, when, where):
    """Look at which each test first fires and the column it takes; -1 where it never does.

    known (looks, classes), left (looks, classes, columns), radii (tests, deltas, looks),
    log_terms (deltas,); when and where (statistics, tests, deltas, graces).
    """
    looks, n_classes, d = left.shape
    n_tests, n_deltas, n_graces = when.shape[1:]
    every = (1, GRACE[1] // GRACE[0])
    of_class = np.empty((n_classes, d))
    variances, gains = np.empty((n_classes, d)), np.empty(d)
    when[:], where[:] = -1, -1
    for look in range(looks):
        total = known[look].sum()
        for j in range(d):
            of_class[:, j] = known[look]
            n_left = left[look, :, j].sum()
            terms_left = (left[look, :, j] ** 2).sum()
            terms_right = ((known[look] - left[look, :, j]) ** 2).sum()
            whole = (known[look] ** 2).sum()
            gains[j] = split_gain(n_left, total - n_left, terms_left, terms_right, whole, None)
            class_variances(total, known[look], left[look, :, j], variances[:, j])
        best, second = -1, 0.0
        for j in range(d):
            if gains[j] > (0.0 if best < 0 else gains[best]) + TIE:
                best = j
        if best < 0:
            continue
        for j in range(d):
            second = max(second, gains[j] if j != best else 0.0)
        for s in range(2):
            statistic = gains[best] - second if s == 0 else gains[best]
            for t in range(n_tests):
                for a in range(n_deltas):
                    if when[s, t, a].min() >= 0:
                        continue
                    if t < CONFSEQ:
                        eps = radii[t, a, look]
                    elif s == 0:
                        eps = gap_radius(
                            total,
                            of_class,
                            variances,
                            gains,
                            best,
                            second,
                            log_terms[a],
                            t == INDEPENDENT,
                        )
                    else:
                        eps = gain_radius(
                            total, of_class[:, best], variances[:, best], log_terms[a]
                        )
                    if statistic > eps or (t == TIED and eps < TIE_THRESHOLD):
                        for g in range(n_graces):
                            if when[s, t, a, g] < 0 and (look + 1) % every[g] == 0:
                                when[s, t, a, g], where[s, t, a, g] = look, best


def simulate(case, rows, repetitions, seed):
    """Rows at the first fire and its column; infinite and -1 where a test never fires.

    Shapes (repetitions, statistics, tests, deltas, graces).
    """
    d = case.shares.shape[1]
    looks = np.arange(1, rows // GRACE[0] + 1)
    radii = np.zeros((len(CLASSICAL), len(DELTAS), len(looks)))
    for t, bound in enumerate(CLASSICAL):
        for a, delta in enumerate(DELTAS):
            one = radius(bound, 1.0, delta, n_features=d, n_thresholds=1)
            radii[t, a] = one / np.sqrt(looks * float(GRACE[0]))
    log_terms = np.log(d / np.array(DELTAS))
    shape = (repetitions, len(STATISTICS), len(TESTS), len(DELTAS), len(GRACE))
    when, where = np.empty(shape, np.int64), np.empty(shape, np.int64)
    for i, child in enumerate(np.random.SeedSequence(seed).spawn(repetitions)):
        known, left = draw_counts(case, rows, GRACE[0], np.random.default_rng(child))
        first_fires(known, left, radii, log_terms, when[i], where[i])
    return np.where(when < 0, np.inf, (when + 1.0) * GRACE[0]), where


def mean_zero(kind, rows, rng):
    """Scores in [-1, 1] whose conditional mean is 0."""
    u = rng.random(rows)
    if kind == "rare losses":
        return np.where(u < 0.05, -1.0, 0.05 / 0.95)
    if kind == "rare wins":
        return np.where(u < 0.05, 1.0, -0.05 / 0.95)
    size = 1.0
    if kind == "size changes every 2,000 rows":
        size = np.array([1.0, 0.1, 0.5, 0.02])[np.arange(rows) // 2000 % 4]
    return np.where(u < 0.5, -size, size)


def coin(mean, rows, rng):
    """Scores of -1 and 1 with this mean."""
    return np.where(rng.random(rows) < (1 + mean) / 2, 1.0, -1.0)


@njit
def first_wins(scores, levels, every, when):
    """Rows after which the wealth is first seen above each level, -1 if never: (levels, every)."""
    capital = np.ones(len(BETS))
    when[:] = -1
    for row in range(len(scores)):
        bet(capital, scores[row])
        now = wealth(capital)
        for a in range(len(levels)):
            if now > levels[a]:
                for g in range(len(every)):
                    if when[a, g] < 0 and (row + 1) % every[g] == 0:
                        when[a, g] = row + 1


def bets(scores_of, rows, repetitions, seed):
    """Rows at the first fire, infinite if there is none: (repetitions, deltas, 1 + graces)."""
    levels, every = 1 / np.array(DELTAS), np.array([1, *GRACE])
    when = np.empty((repetitions, len(levels), len(every)), np.int64)
    for i, child in enumerate(np.random.SeedSequence(seed).spawn(repetitions)):
        first_wins(scores_of(rows, np.random.default_rng(child)), levels, every, when[i])
    return np.where(when < 0, np.inf, when)


def share(fired):
    """Share of repetitions with a fire, and its 95 % interval of Clopper and Pearson."""
    return proportion(int(fired.sum()), fired.size)


def median_rows(rows):
    """Median of the rows until a fire; runs without one count as later than all."""
    middle = np.sort(rows)[(len(rows) - 1) // 2]
    return f"{middle:,.0f}" if np.isfinite(middle) else "not in half"


def split_tables(rows, repetitions, seed):
    """False fires, and rows until a right split, of each statistic."""
    false, soon = {name: [] for name in STATISTICS}, {name: [] for name in STATISTICS}
    for number, case in enumerate(track(CASES, "split tests", console=Console(stderr=True))):
        when, where = simulate(case, rows, repetitions, [seed, number])
        for s, statistic in enumerate(STATISTICS):
            right = case.right(statistic)
            fired = np.isfinite(when[:, s])
            hit = fired & right[where[:, s]]
            for a, g in np.ndindex(len(DELTAS), len(GRACE)):
                head = (case.title, f"{DELTAS[a]:g}", str(GRACE[g]))
                tests = range(len(TESTS_OF[statistic]))
                if not right.all():
                    wrong = (fired & ~hit)[..., a, g]
                    false[statistic].append((*head, *(share(wrong[:, t]) for t in tests)))
                if right.any():
                    until = np.where(hit, when[:, s], np.inf)[..., a, g]
                    soon[statistic].append((*head, *(median_rows(until[:, t]) for t in tests)))
    out = []
    for statistic in STATISTICS:
        headings = ("case", "delta", "look every", *TESTS_OF[statistic])
        out.append(
            Table(
                f"{statistic}-false-fires",
                f"False splits, {statistic} test",
                f"Share of {repetitions:,} runs of {rows:,} rows that split a column that must "
                "not be split, with its 95 % interval (Clopper and Pearson).",
                headings,
                tuple(false[statistic]),
                n_text=3,
            )
        )
        out.append(
            Table(
                f"{statistic}-rows",
                f"Rows until a right split, {statistic} test",
                f"Median of {repetitions:,} runs of {rows:,} rows.",
                headings,
                tuple(soon[statistic]),
                n_text=3,
            )
        )
    return out


def betting_table(rows, repetitions, seed):
    kinds = ("fair coin", "rare losses", "rare wins", "size changes every 2,000 rows")
    streams = {kind: lambda n, rng, kind=kind: mean_zero(kind, n, rng) for kind in kinds}
    streams |= {f"coin with mean {m:g}": lambda n, rng, m=m: coin(m, n, rng) for m in (0.1, 0.03)}
    body = []
    for number, (name, scores_of) in enumerate(streams.items()):
        when = bets(scores_of, rows, repetitions, [seed, len(CASES) + number])
        for a, delta in enumerate(DELTAS):
            cells = [share(np.isfinite(when[:, a, g])) for g in range(1 + len(GRACE))]
            body.append((name, f"{delta:g}", *cells, median_rows(when[:, a, 0])))
    return Table(
        "betting",
        "Alarms of the betting martingale",
        f"Share of {repetitions:,} runs of {rows:,} scores in which the wealth is ever above "
        "1/delta, with its 95 % interval; median of the scores until then.",
        (
            "scores",
            "delta",
            "seen at every row",
            *(f"every {grace}" for grace in GRACE),
            "median rows",
        ),
        tuple(body),
        n_text=2,
    )


INTRO = """# Coverage of the split tests

This page shows how often a split test splits although it should not, and how many rows it needs
when it should. The columns are equal, or have no information, or one is better than the others.
Two figures describe a column: the share of an even class and of an odd class on the left of the
threshold. A gap test must split a column only if it is better than all others. A gain test must
split a column only if it has a gain. Counts are exact, with one threshold per column.
[Method](../method.md) has the formulas. Made by `{command}`; nothing here is edited by hand."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("docs/results/coverage.md"))
    options = parser.parse_args()
    given = (options.rows, options.repetitions, options.seed)
    tables = [*split_tables(*given), betting_table(*given)]
    command = (
        f"python benchmarks/split_coverage.py --repetitions {options.repetitions} "
        f"--rows {options.rows} --seed {options.seed}"
    )
    parts = [INTRO.format(command=command), *(to_markdown(table).strip() for table in tables)]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    console = Console()
    for table in tables:
        console.print(to_rich(table))
    console.print(options.out)


if __name__ == "__main__":
    main()
