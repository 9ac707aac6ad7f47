"""Speed and memory of MIST beside its rivals, in one run; `benchmarks/bench_speed.py` starts it."""
