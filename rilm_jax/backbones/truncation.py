"""A recurrence whose gradients stop every k steps, so that it can be trained by truncated BPTT."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

# Steps compiled into one turn of the loop: more compile longer and are no faster on CPU
# (`experiments/benchmarks/alternatives.py`).
UNROLL = 1

Step = Callable[[Any, Any], tuple[Any, Any]]


def scan(step: Step, carry: Any, xs: Any, k: int = 0, *, keep: str = "states") -> tuple[Any, Any]:
    """`state, out = step(state, x)` over the leading axis of `xs`.

    The state passes through `stop_gradient` before step t whenever t > 0 and t % k == 0. What the
    derivative needs of a step it computes again when it comes to it: on CPU storing all that is
    inside a step costs more.

    Args:
      step: a pure function.
      carry: the state before the first step.
      xs: inputs, leaves [T, ...].
      k: gradients stop every k steps; 0 = never.
      keep: what the derivative finds stored: "states" alone, or also the "products" of matrices,
        where these are most of a step.

    Returns:
      (outs [T, ...], the last state).
    """
    policy = jax.checkpoint_policies.dots_saveable if keep == "products" else None
    step = jax.checkpoint(step, prevent_cse=False, policy=policy)
    length = jax.tree.leaves(xs)[0].shape[0]

    def body(state, at_t):
        t, x = at_t
        if 0 < k < length:
            state = _stop_gradient_if((t > 0) & (t % k == 0), state)
        return step(state, x)

    last, outs = jax.lax.scan(body, carry, (jnp.arange(length), xs), unroll=UNROLL)
    return outs, last


def _stop_gradient_if(here: jax.Array, state: Any) -> Any:
    return jax.tree.map(lambda x: jnp.where(here, jax.lax.stop_gradient(x), x), state)
