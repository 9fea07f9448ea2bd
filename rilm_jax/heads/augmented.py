"""The augmented loss: targets that give words close to the right one a share.

    J + alpha J_aug,   J_aug = KL(y~ || y^)
    y~ = softmax(word_scores(y) / T),   y^ = softmax(scores(h) / T), the bias left out

y is the target word and `word_scores` says how close every word is to it, by the input embeddings:
L^T u with u = L y for the linear and the tied head, -d^2(e_y, e_v) / tau for the geodesic one.
Source: Inan, Khosravi and Socher, "Tying Word Vectors and Word Classifiers" (1611.01462), section
3; alpha = gamma T there.

As in `blocked`, states come in blocks and each block makes its gradient while its scores are at
hand, so that the [N, V] tables are never held: O(block * V + V * K) beside inputs and gradients.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from rilm_jax import varying
from rilm_jax.heads import blocked
from rilm_jax.heads.blocked import Keys
from rilm_jax.manifolds.product import Link


class Augmentation(NamedTuple):
    """How the two parts of the loss are weighed.

    Attributes:
      alpha: of J_aug.
      temperature: T.
      target_grad: whether y~ carries a gradient into the embeddings, or is a constant.
      cross_entropy: of J.
    """

    alpha: float
    temperature: float = 20.0
    target_grad: bool = False
    cross_entropy: float = 1.0


class Side(NamedTuple):
    """One side of a comparison with all words: its products, linked, are scores."""

    queries: jax.Array
    keys: Keys


def loss(
    links: tuple[Link, Link],
    states: Side,
    words: Side,
    targets: jax.Array,
    weights: jax.Array,
    augmentation: Augmentation,
) -> tuple[jax.Array, jax.Array]:
    """sum_i w_i (cross_entropy NLL_i + alpha KL_i) and, as `blocked.loss` has it, the plain NLL.

    Args:
      links: of the scores of states, and of those of words.
      states: queries [N, K] of the states.
      words: queries [N, K'] of the target words; keys without bias.
      targets: [N] ids.
      weights: [N], constants; a state of weight 0 counts nowhere.
      augmentation: the parts' weights.

    Returns:
      (weighted sum, plain sum of the NLL over the states that count), both scalars.
    """
    if not augmentation.target_grad:
        words = jax.lax.stop_gradient(words)
    size = blocked.block_size(states.keys.features.shape[0])
    keys = varying.like((states.keys, words.keys), targets)
    queries = blocked.blocks((states.queries, words.queries), size)
    facts = blocked.blocks((targets, weights), size)
    of_block = functools.partial(_of_block, links, augmentation)
    return _sum_over_blocks(of_block, keys, queries, facts)


def divergence(of_words: jax.Array, of_state: jax.Array, temperature: float) -> jax.Array:
    """KL(softmax(of_words / T) || softmax(of_state / T)) over the last axis."""
    log_p = jax.nn.log_softmax(of_words / temperature)
    log_q = jax.nn.log_softmax(of_state / temperature)
    return jnp.sum(jnp.exp(log_p) * (log_p - log_q), axis=-1)


def _of_block(links, augmentation, keys, queries, facts):
    (link, word_link), (state_keys, word_keys) = links, keys
    (state_queries, word_queries), (targets, weights) = queries, facts
    unbiased = blocked.scores(link, state_queries, state_keys._replace(bias=None))
    table = unbiased if state_keys.bias is None else unbiased + state_keys.bias
    at_target = jnp.take_along_axis(table, targets[:, None], axis=-1)[:, 0]
    nll = jax.nn.logsumexp(table, axis=-1) - at_target
    of_words = blocked.scores(word_link, word_queries, word_keys)
    kl = divergence(of_words, unbiased, augmentation.temperature)
    total = augmentation.cross_entropy * nll + augmentation.alpha * kl
    counts = weights > 0
    return jnp.sum(weights * jnp.where(counts, total, 0)), jnp.sum(jnp.where(counts, nll, 0))


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _sum_over_blocks(
    function: Callable[..., tuple[jax.Array, jax.Array]], shared: Any, rows: Any, constants: Any
) -> tuple[jax.Array, jax.Array]:
    """sum over blocks of function(shared, block of rows, block of constants); the second sum is
    not differentiated."""
    of_blocks = jax.lax.map(lambda block: function(shared, *block), (rows, constants))
    return jax.tree.map(jnp.sum, of_blocks)


def _forward(function, shared, rows, constants):
    differentiated = jax.value_and_grad(function, argnums=(0, 1), has_aux=True)

    def one_block(d_shared, block):
        values, (d_of_block, d_rows) = differentiated(shared, *block)
        return jax.tree.map(jnp.add, d_shared, d_of_block), (values, d_rows)

    start = jax.tree.map(jnp.zeros_like, shared)
    d_shared, (values, d_rows) = jax.lax.scan(one_block, start, (rows, constants))
    return jax.tree.map(jnp.sum, values), (d_shared, d_rows, constants)


def _backward(function, residuals, cotangents):
    del function
    d_shared, d_rows, constants = residuals
    d_shared, d_rows = jax.tree.map(lambda g: cotangents[0] * g, (d_shared, d_rows))
    return d_shared, d_rows, jax.tree.map(_no_gradient, constants)


def _no_gradient(x):
    floats = jnp.issubdtype(x.dtype, jnp.floating)
    return jnp.zeros_like(x) if floats else np.zeros(x.shape, jax.dtypes.float0)


_sum_over_blocks.defvjp(_forward, _backward)
