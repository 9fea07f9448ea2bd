"""Softmax cross-entropy over a large vocabulary, one block of states at a time.

A head writes its scores as `scale * link(queries @ keys.T) + bias` (see `manifolds.product`). The
whole [N, V] table of scores is never held:

- `loss`: the weighted sum of NLLs. When differentiated, each block makes its gradient while its
  scores are still in cache: one product for the scores, two for the gradients, nothing is
  recomputed. The result is a scalar whose weights are known in the forward pass, so gradients made
  there are exact up to the scalar cotangent that arrives later.
- `nll`: NLL a state, any cotangent; its backward pass recomputes a block's scores.

Memory: O(block * V + V * K) beside inputs and gradients.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from rilm_jax import varying
from rilm_jax.manifolds.product import DOT, Link


class Keys(NamedTuple):
    """The vocabulary's side of the scores.

    Attributes:
      features: [V, K].
      scale: [], factor of the link.
      bias: [V] or None.
    """

    features: jax.Array
    scale: jax.Array
    bias: jax.Array | None


def block_size(vocab_size: int) -> int:
    """States a block: a block of scores of at most about 4 MiB in float32, 16 to 128 states.

    Larger blocks leave the cache, smaller ones add to the keys' gradient more often.
    """
    ideal = (1 << 20) / vocab_size
    return int(min(128, max(16, 2 ** round(np.log2(ideal)))))


def scores(link: Link, queries: jax.Array, keys: Keys) -> jax.Array:
    """scale * link(<q, k_v>) + bias_v: [..., K] -> [..., V]."""
    products = jnp.matmul(queries, keys.features.T, precision=link.precision)
    result = keys.scale * link(products)
    return result if keys.bias is None else result + keys.bias


def nll(link: Link, queries: jax.Array, keys: Keys, targets: jax.Array) -> jax.Array:
    """-log softmax(scores)[target] of every state: [N, K], [N] -> [N]."""
    link, queries, keys = _without_constants(link, queries, keys)
    n, size = targets.shape[0], block_size(keys.features.shape[0])

    @jax.checkpoint
    def one_block(block):
        q, t = block
        table = scores(link, q, keys)
        at_target = jnp.take_along_axis(table, t[:, None], axis=-1)[:, 0]
        return jax.nn.logsumexp(table, axis=-1) - at_target

    return jax.lax.map(one_block, blocks((queries, targets), size)).reshape(-1)[:n]


def loss(
    link: Link, queries: jax.Array, keys: Keys, targets: jax.Array, weights: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """sum_i w_i NLL_i and, not differentiated, the sum of w_i^0 NLL_i over w_i > 0.

    Args:
      link: the scores' elementwise function.
      queries: [N, K].
      keys: the vocabulary's side.
      targets: [N] ids.
      weights: [N], constants; a state of weight 0 counts nowhere.

    Returns:
      (weighted sum, plain sum over the states that count), both scalars.
    """
    link, queries, keys = _without_constants(link, queries, keys)
    return _loss(link, queries, varying.like(keys, targets), targets, weights)


def _without_constants(link, queries, keys):
    """The same softmax by narrower products, where the link knows one."""
    if link.softmax is None:
        return link, queries, keys
    queries, features, offset = link.softmax(queries, keys.features)
    offset = keys.scale * offset
    bias = offset if keys.bias is None else keys.bias + offset
    return DOT._replace(precision=link.precision), queries, Keys(features, keys.scale, bias)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _loss(link, queries, keys, targets, weights):
    return _sums(nll(link, queries, keys, targets), weights)


def _sums(per_state, weights):
    counted = jnp.where(weights > 0, per_state, 0)
    return jnp.sum(weights * counted), jnp.sum(counted)


def _loss_forward(link, queries, keys, targets, weights):
    n, size = targets.shape[0], block_size(keys.features.shape[0])
    features, scale, bias = keys
    end_of_pass = jax.lax.optimization_barrier

    def one_block(totals, block):
        q, t, w = block
        products = jnp.matmul(q, features.T, precision=link.precision)
        key_of_target = features[t]
        product_t = jnp.sum(q * key_of_target, axis=-1)
        inner_t = link.inner(product_t)
        f_t = link.value(inner_t)
        target_score = scale * f_t + (0 if bias is None else bias[t])

        # A barrier ends a pass: without it each of the sums and products after one would compute
        # it anew, and passes with two results would not be shared out among the cores.
        inner = end_of_pass(link.inner(products))
        f = link.value(inner)
        if bias is None:
            shift = scale * link(link.best(products, axis=-1))
            shifted = scale * f - shift[:, None]
        else:
            table = scale * f + bias
            shift = jnp.max(table, axis=-1)
            shifted = table - shift[:, None]
        exponentials = end_of_pass(jnp.exp(shifted))
        if link.slope is None:
            pulled = jnp.matmul(exponentials, features, precision=link.precision)
            pull, slope_t, sum_f = exponentials, 1, jnp.sum(q * pulled, axis=-1)
        else:
            pull = end_of_pass(exponentials * link.slope(products, inner))
            pulled = jnp.matmul(pull, features, precision=link.precision)
            slope_t, sum_f = link.slope(product_t, inner_t), jnp.sum(exponentials * f, axis=-1)
        at_target = (scale * w * slope_t)[:, None]
        total = jnp.sum(exponentials, axis=-1)
        mean_f = sum_f / total

        per_state = shift + jnp.log(total) - target_score
        factor = w / total
        by_product = (scale * factor)[:, None]
        d_queries = by_product * pulled - at_target * key_of_target
        d_features, d_scale, d_bias = totals  # the first transposed, which is faster on CPU
        d_features += jnp.matmul((by_product * q).T, pull, precision=link.precision)
        d_scale += jnp.sum(w * (mean_f - f_t))
        if bias is not None:
            d_bias += jnp.sum(factor[:, None] * exponentials, axis=0)
        return (d_features, d_scale, d_bias), (per_state, d_queries, at_target * q)

    start = jax.tree.map(jnp.zeros_like, (features.T, scale, bias))
    cut = blocks((queries, targets, weights), size)
    totals, (per_state, d_queries, from_targets) = jax.lax.scan(one_block, start, cut)
    d_features, d_scale, d_bias = totals
    d_features = d_features.T.at[targets].add(-_flat(from_targets, n))
    if bias is not None:
        d_bias = d_bias.at[targets].add(-weights)
    gradients = (_flat(d_queries, n), Keys(d_features, d_scale, d_bias))
    return _sums(_flat(per_state, n), weights), (gradients, targets.shape, weights)


def _loss_backward(link, residuals, cotangents):
    del link
    (d_queries, d_keys), targets_shape, weights = residuals
    d_queries, d_keys = jax.tree.map(lambda g: cotangents[0] * g, (d_queries, d_keys))
    return d_queries, d_keys, np.zeros(targets_shape, jax.dtypes.float0), jnp.zeros_like(weights)


_loss.defvjp(_loss_forward, _loss_backward)


def blocks(arrays: Any, size: int) -> Any:
    """Each [N, ...] padded with zeros and cut into [ceil(N / size), size, ...]."""

    def cut(x):
        padding = [(0, -x.shape[0] % size)] + [(0, 0)] * (x.ndim - 1)
        return jnp.pad(x, padding).reshape(-1, size, *x.shape[1:])

    return jax.tree.map(cut, arrays)


def _flat(blocks, n):
    return blocks.reshape(-1, *blocks.shape[2:])[:n]
