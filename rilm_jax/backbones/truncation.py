"""A recurrence whose gradients stop every k steps, so that it can be trained by truncated BPTT."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

Step = Callable[[Any, Any], Any]


def scan(step: Step, carry: Any, xs: Any, k: int) -> tuple[Any, Any]:
    """`state = step(state, x)` over the leading axis of `xs`.

    The state passes through `stop_gradient` before step t whenever t > 0 and t % k == 0. The
    derivative keeps the states alone and repeats a step when it comes to it: on CPU storing what is
    inside a step on the ball costs more than computing it again.

    Args:
      step: a pure function.
      carry: the state before the first step.
      xs: inputs, leaves [T, ...].
      k: gradients stop every k steps; 0 = never.

    Returns:
      (states [T, ...], the last of them).
    """
    step = jax.checkpoint(step, prevent_cse=False)
    length = jax.tree.leaves(xs)[0].shape[0]

    def body(state, at_t):
        t, x = at_t
        if 0 < k < length:
            state = _stop_gradient_if((t > 0) & (t % k == 0), state)
        state = step(state, x)
        return state, state

    last, states = jax.lax.scan(body, carry, (jnp.arange(length), xs))
    return states, last


def _stop_gradient_if(here: jax.Array, state: Any) -> Any:
    return jax.tree.map(lambda x: jnp.where(here, jax.lax.stop_gradient(x), x), state)
