"""A few steps of the machines; `python fuzz/stateful.py` takes many."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from reliability.machine import Alone, Twinned

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.parametrize(("machine", "examples"), [(Twinned, 15), (Alone, 8)])
def test_whatever_is_done_to_a_model_it_stays_what_it_should_be(machine, examples):
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=20,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
