"""What was not chosen, measured beside what was: the grounds for two choices of the backbones.

- A scan of RiLM's recurrence can be unrolled, so that a turn of the loop holds several steps.
- An SSM's recurrence is linear, so that an associative scan can run its steps side by side.
"""

from unittest import mock

import jax
import jax.numpy as jnp

from experiments.benchmarks import programs
from experiments.benchmarks.measure import Row
from rilm_jax.backbones import ssm, truncation
from rilm_jax.config import RunConfig


def unrolled(name: str, run: RunConfig, by: int) -> Row:
    """`programs.recurrence` with `by` steps a turn of the loop."""
    with mock.patch.object(truncation, "UNROLL", by):
        return programs.recurrence(name, run)


def associative(name: str, run: RunConfig) -> Row:
    """`programs.recurrence` of an ssm by an associative scan."""
    with mock.patch.object(ssm, "selective_scan", associative_scan):
        return programs.recurrence(name, run)


def associative_scan(
    x: jax.Array, dt: jax.Array, a: jax.Array, b: jax.Array, c: jax.Array, state: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """`ssm.selective_scan`, in about 2 log2 T rounds over all steps at once."""
    kept = jnp.exp(dt[:, :, None] * a)
    added = (dt * x)[:, :, None] * b[..., None]
    added = added.at[:, 0].add(kept[:, 0] * state)

    def join(early, late):
        return early[0] * late[0], late[0] * early[1] + late[1]

    _, states = jax.lax.associative_scan(join, (kept, added), axis=1)
    return jnp.einsum("btne,btn->bte", states, c), states[:, -1]
