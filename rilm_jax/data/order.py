"""The order in which an epoch visits the training windows."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from rilm_jax import rng


class EpochOrder(NamedTuple):
    """Which windows each step of an epoch reads."""

    order: jax.Array  # [steps, batch] int32, row numbers of the windows
    weight: jax.Array  # [steps, batch] float32, 0 where the last batch was filled up


def epoch_order(
    seed: int | jax.Array, epoch: int | jax.Array, n: int, batch_size: int
) -> EpochOrder:
    """A permutation of n windows in steps = ceil(n / batch_size) batches.

    A function of (seed, epoch) alone, so a resumed run goes on with the order that the undisturbed
    one would have had. Jittable, and mappable over seeds, with `n` and `batch_size` static. The
    last batch is filled up with window 0 at weight 0.
    """
    key = jax.random.fold_in(rng.key(seed, rng.DATA), epoch)
    steps = -(-n // batch_size)
    pad = (0, steps * batch_size - n)
    order = jnp.pad(jax.random.permutation(key, n).astype(jnp.int32), pad)
    weight = jnp.pad(jnp.ones(n, jnp.float32), pad)
    return EpochOrder(order.reshape(steps, batch_size), weight.reshape(steps, batch_size))
