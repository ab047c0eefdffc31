"""The state machine of the index's life, for as many steps as asked for."""

from __future__ import annotations

import sys
import time

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.index.test_life_machine import STEPS, LifeOfAnIndex


def run_machine(steps: int) -> int:
    """Run the machine with new random examples until `steps` steps are done; print and return their number."""
    begun = LifeOfAnIndex.n_steps
    start = time.perf_counter()
    while (done := LifeOfAnIndex.n_steps - begun) < steps:
        n_examples = max(1, min(50, (steps - done) // STEPS))
        chosen = settings(
            max_examples=n_examples, stateful_step_count=STEPS, deadline=None, database=None, derandomize=False,
            phases=[Phase.generate, Phase.shrink], suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        run_state_machine_as_test(LifeOfAnIndex, settings=chosen)
    print(f"{done} steps in {time.perf_counter() - start:.0f} s, no difference", flush=True)
    return done


if __name__ == "__main__":
    run_machine(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
