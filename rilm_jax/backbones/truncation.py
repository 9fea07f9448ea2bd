"""A recurrence whose gradients stop every k steps, so that it can be trained by truncated BPTT."""

from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp

# Steps compiled into one turn of the loop; `experiments/benchmarks/alternatives.py` tries more.
UNROLL = 1

Step = Callable[[Any, Any], Any]


def scan(
    step: Step,
    state: Any,
    inputs: Any,
    mask: jax.Array | None = None,
    k: int = 0,
    *,
    emit: Callable[[Any, Any], Any] = lambda state, x: state,
    keep: Literal["states", "products", "all"] = "states",
) -> tuple[Any, Any]:
    """`state = step(state, x_t)` over the words of a batch of sequences.

    The state passes through `stop_gradient` before step t whenever t > 0 and t % k == 0. What the
    derivative needs of a step it computes again when it comes to it, unless `keep` says otherwise:
    on CPU storing all that is inside a step mostly costs more.

    Args:
      step: a pure function of a state and what is read, both without a time axis.
      state: before the first step, leaves [B, ...].
      inputs: what is read, leaves [B, T, ...].
      mask: [B, T] bool; a state stays as it is where False. None: all True.
      k: gradients stop every k steps; 0 = never.
      emit: what is returned of a state and the x that led to it.
      keep: what the derivative finds stored: "states" alone, or also the "products" of matrices,
        where these are most of a step, or "all" that a step's own derivative asks for.

    Returns:
      (what `emit` gives, leaves [B, T, ...], the last state).
    """
    length = jax.tree.leaves(inputs)[0].shape[1]

    def one_step(state, x, kept):
        moved = step(state, x)
        if kept is not None:
            moved = jax.tree.map(lambda new, old: _where(kept, new, old), moved, state)
        return moved, emit(moved, x)

    if keep != "all":
        policy = jax.checkpoint_policies.dots_saveable if keep == "products" else None
        one_step = jax.checkpoint(one_step, prevent_cse=False, policy=policy)

    def body(state, at_t):
        t, x, kept = at_t
        if 0 < k < length:
            state = _stop_gradient_if((t > 0) & (t % k == 0), state)
        return one_step(state, x, kept)

    by_time = (jnp.arange(length), *_swapped((inputs, mask)))
    last, emitted = jax.lax.scan(body, state, by_time, unroll=UNROLL)
    return _swapped(emitted), last


def _swapped(tree: Any) -> Any:
    """[B, T, ...] from [T, B, ...] and back."""
    return jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), tree)


def _where(kept: jax.Array, new: jax.Array, old: jax.Array) -> jax.Array:
    return jnp.where(kept.reshape(-1, *[1] * (new.ndim - 1)), new, old)


def _stop_gradient_if(here: jax.Array, state: Any) -> Any:
    return jax.tree.map(lambda x: jnp.where(here, jax.lax.stop_gradient(x), x), state)
