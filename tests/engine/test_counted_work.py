"""How much work rows cost, counted: a machine's noise cannot change it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import config
from numba.core.runtime import _nrt_python, rtsys

from mist import MistClassifier
from mist.engine import growth

compiled = pytest.mark.skipif(config.DISABLE_JIT, reason="counts what compiled code does")
MODELS = {
    "MIST-G": lambda **options: MistClassifier.paper("G", **options),
    "MIST-K": lambda **options: MistClassifier.paper("K", **options),
    # Following a stream leaves the loop every 50 rows.
    "MIST": lambda **options: MistClassifier.from_settings(adapt=None, **options),
}
NEVER = 10**9  # grace period of a tree that does not split


def stream(n: int, d: int = 8, k: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Classes far from each other, one after the other."""
    rng = np.random.default_rng(0)
    y = np.arange(n) * k // n
    return rng.normal(size=(k, d))[y] * 5.0 + rng.normal(size=(n, d)), y


@pytest.fixture(params=sorted(MODELS))
def make(request: pytest.FixtureRequest) -> Any:
    return MODELS[request.param]


def counted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[None]:
    """A list that gets an entry for each call of a function."""
    calls: list[None] = []
    function = getattr(module, name)

    def call(*args: Any, **options: Any) -> Any:
        calls.append(None)
        return function(*args, **options)

    monkeypatch.setattr(module, name, call)
    return calls


@compiled
def test_no_memory_is_asked_for_by_the_row(make):
    X, y = stream(4000)
    model = make(grace_period=NEVER).partial_fit(X, y)
    for _ in range(2):  # until no array grows any more
        model.partial_fit(X[:1000], y[:1000])
    _nrt_python.memsys_enable_stats()

    def asked(work: Any) -> int:
        before = rtsys.get_allocation_stats().alloc
        work()
        return int(rtsys.get_allocation_stats().alloc - before)

    assert asked(lambda: model.partial_fit(X[:1000], y[:1000])) < 100
    assert asked(lambda: model.predict(X)) == asked(lambda: model.predict(X[:10])) < 100
    assert asked(lambda: model.predict_proba(X)) == asked(lambda: model.predict_proba(X[:10]))


@pytest.mark.parametrize(("rows", "most"), [(2_000, 60), (20_000, 120)])
def test_the_compiled_loop_is_seldom_left(monkeypatch, make, rows, most):
    """For larger arrays and for attempts to split, which no row needs."""
    X, y = stream(rows)
    calls = counted(monkeypatch, growth, "run_until_request")
    make().partial_fit(X, y)
    assert 1 <= len(calls) <= most


def test_few_of_the_leaves_that_are_due_are_examined(monkeypatch):
    X, y = stream(20_000)
    calls = counted(monkeypatch, growth, "attempt")
    model = MODELS["MIST-G"]().partial_fit(X, y)
    assert model.n_leaves_ == 1
    assert len(calls) <= 5  # of a hundred
