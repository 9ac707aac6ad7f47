"""Speed and memory of MIST beside river, CapyMOA, scikit-learn and the baselines, in one run.

    python benchmarks/bench_speed.py [--streams S1 S2 S3 S4] [--rounds 5] [--only METHOD ...]
        [--out speed] [--docs FILE] [--seconds 20] [--growth] [--no-cold] [--page-only]

A measurement is a line of OUT/speed.jsonl; the page has rows per CPU second, their ratios to river,
CapyMOA and the limit kernel within each round, bytes, accuracies and the marks that were met or
missed. CapyMOA needs Java and `pip install capymoa`, river `pip install 'mist-tree[bench]'`; what
is not there is left out. With --growth rates against columns, classes, rows and leaves are
measured instead, and drawn beside the page.
"""

from speed.command import main

if __name__ == "__main__":
    main()
