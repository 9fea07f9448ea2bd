"""The tied head: the output matrix is the embedding.

    score_v = (P h) . e_v / tau + b_v,   P the identity unless `projection`, tau 1 unless given

Words and states on a manifold are read through log_0. The temperature is ours: it gives products
the scale that geodesic scores have of their own. Source: Inan, Khosravi, Socher, "Tying Word
Vectors and Word Classifiers" (1611.01462); Press and Wolf, "Using the Output Embedding to Improve
Language Models" (1608.05859).
"""

import jax
import jax.numpy as jnp

from rilm_jax.embedding import Points, Table
from rilm_jax.heads import projection, temperature
from rilm_jax.heads.base import Context, Head, Params
from rilm_jax.heads.blocked import Keys
from rilm_jax.manifolds.product import DOT


def build(context: Context) -> Head:
    """A tied head, with a bias for every word and a projection where the configuration says so.

    Raises:
      InputError: what `projection.check` raises.
    """
    config = context.config
    projection.check(context)

    def init(key: jax.Array) -> Params:
        bias = {"bias": jnp.zeros(config.vocab_size, config.dtype)} if config.bias else {}
        return bias | temperature.init(context, config.tau) | projection.init(key, context)

    def queries(params: Params, table: Table, states) -> jax.Array:
        return projection.apply(params, vectors(context, table, states))

    def keys(params: Params, table: Table) -> Keys:
        return own_words(params, table)._replace(bias=params.get("bias"))

    def own_words(params: Params, table: Table) -> Keys:
        found = word_keys(params, table)
        return found._replace(scale=temperature.inverse(params, config.tau, found.scale.dtype))

    return Head(DOT, init, queries, keys, word_queries, own_words, DOT)


def vectors(context: Context, table: Table, states) -> jax.Array:
    """States as vectors of R^d: points through log_0."""
    if not isinstance(states, Points):
        return states
    return context.manifold.logmap0(states.coords, table.c)


def word_queries(params: Params, table: Table, ids: jax.Array) -> jax.Array:
    """The words' own vectors u = L y, in a state's place."""
    del params
    return table.tangents[ids]


def word_keys(params: Params, table: Table) -> Keys:
    """The input embeddings L: L^T u says how close every word is to u."""
    del params
    return Keys(table.tangents, jnp.ones((), table.tangents.dtype), None)
