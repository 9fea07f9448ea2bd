"""The linear head: an output matrix of its own, untied from the embedding.

    score_v = h . w_v + b_v

How close words are to each other is still read from the input embeddings.
"""

import jax
import jax.numpy as jnp

from rilm_jax.embedding import Table
from rilm_jax.errors import InputError
from rilm_jax.heads import tied
from rilm_jax.heads.base import Context, Head, Params
from rilm_jax.heads.blocked import Keys
from rilm_jax.manifolds.product import DOT


def build(context: Context) -> Head:
    """A linear head: `W` [V, state_dim], Glorot uniform, and `bias` [V].

    Raises:
      InputError: a projection, which it has no use for.
    """
    config = context.config
    if config.projection:
        raise InputError(
            "projection=True is for heads that compare states with words; the linear head's matrix "
            "reads states of any width, so leave it out."
        )

    def init(key: jax.Array) -> Params:
        shape = (config.vocab_size, context.state_dim)
        limit = (6 / sum(shape)) ** 0.5
        return {
            "W": jax.random.uniform(key, shape, config.dtype, -limit, limit),
            "bias": jnp.zeros(config.vocab_size, config.dtype),
        }

    def queries(params: Params, table: Table, states) -> jax.Array:
        del params
        return tied.vectors(context, table, states)

    def keys(params: Params, table: Table) -> Keys:
        del table
        return Keys(params["W"], jnp.ones((), params["W"].dtype), params["bias"])

    return Head(DOT, init, queries, keys, tied.word_queries, tied.word_keys, DOT)
