"""Where randomness comes from: one key a seed and purpose, and nothing random is stored."""

import jax

INIT, DATA, DROPOUT = 0, 1, 2


def key(seed: int | jax.Array, purpose: int) -> jax.Array:
    """`fold_in(jax.random.key(seed), purpose)`: the key of one seed for one purpose.

    Fold the epoch or the step in afterwards, so that a resumed run draws what an undisturbed one
    would have drawn.

    Args:
        seed: integer scalar; may be traced (`jit`, `vmap` over seeds).
        purpose: `INIT`, `DATA` or `DROPOUT`.
    """
    return jax.random.fold_in(jax.random.key(seed), purpose)
