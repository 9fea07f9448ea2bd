"""Squared distance as a scalar function of one inner product.

For both geometries there are feature maps q and k with

    d(x, y)^2 = scale(c) * link(q(x) . k(y)),

so a table of distances costs one matrix product of width d + 2 and one elementwise pass, and its
gradient two more products. Flat: q . k is |x - y|^2 and the link is the identity. Ball: q . k is
delta = c |x - y|^2 / (g(x) g(y)), the hyperboloid's inner product up to 1 + 2 delta, and the link
is acosh(1 + 2 delta)^2 = 4 asinh(sqrt(delta))^2.

The product cancels, so its absolute error is that of the Gram form: about 1e-7 / (g(x) g(y)).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class Link(NamedTuple):
    """An increasing elementwise function f of an inner product p, in two steps, and its derivative.

    The steps are apart because a block of scores is made in passes, each of which a CPU shares out
    among its cores, and the costly inner one is worth keeping between them.

    Attributes:
      inner: p -> a.
      value: a -> f.
      slope: (p, a) -> df/dp; None where that is 1.
      precision: of the inner product; distances cancel and need "highest".
      best: `jnp.max` where the largest product scores highest, `jnp.min` where it is a distance.
      softmax: None, or (queries [..., K], keys [V, K]) -> (queries [..., K'], keys [V, K'],
        offset [V]) where q' . k' + offset is f(q . k) less what all keys share, K' < K: a softmax
        over keys does not see the difference. Features that are always 1 get no gradient from it.
    """

    inner: Callable[[jax.Array], jax.Array]
    value: Callable[[jax.Array], jax.Array]
    slope: Callable[[jax.Array, jax.Array], jax.Array] | None
    precision: str
    best: Callable[..., jax.Array]
    softmax: Callable[..., tuple[jax.Array, jax.Array, jax.Array]] | None = None

    def __call__(self, p: jax.Array) -> jax.Array:
        """f(p)."""
        return self.value(self.inner(p))


class ProductForm(NamedTuple):
    """How a manifold writes its distances as functions of inner products.

    Attributes:
      queries: (x [..., d], gap [..., 1], c) -> features [..., K] of the one side.
      keys: (y [..., d], gap [..., 1], c) -> features [..., K] of the other.
      scale: c -> the factor of the squared link (of the plain one: its square root).
      squared: the link of d^2.
      plain: the link of d.
    """

    queries: Callable[..., jax.Array]
    keys: Callable[..., jax.Array]
    scale: Callable[..., jax.Array]
    squared: Link
    plain: Link


def pairwise(
    form: ProductForm, x: jax.Array, gap_x: Any, y: jax.Array, gap_y: Any, c: jax.Array
) -> jax.Array:
    """Squared distances [..., N, V] of x [..., N, d] and y [V, d], by one product."""
    queries, keys = form.queries(x, gap_x, c), form.keys(y, gap_y, c)
    products = jnp.matmul(queries, keys.T, precision=form.squared.precision)
    distances = form.squared(products)
    return jnp.asarray(form.scale(c), products.dtype) * jnp.maximum(distances, 0)


def _square(x):
    return jnp.sum(x * x, axis=-1, keepdims=True)


def _flat_queries(x, gap, c):
    del gap, c
    square = _square(x)
    return jnp.concatenate([-2 * x, square, jnp.ones_like(square)], axis=-1)


def _flat_keys(y, gap, c):
    del gap, c
    square = _square(y)
    return jnp.concatenate([y, jnp.ones_like(square), square], axis=-1)


def _flat_softmax(queries, keys):
    """-2 x . y + |y|^2: without |x|^2."""
    return queries[..., :-2], keys[:, :-2], keys[:, -1]


def _ball_queries(x, gap, c):
    inverse = 1 / gap
    return jnp.concatenate([-2 * c * inverse * x, c * inverse * _square(x), inverse], axis=-1)


def _ball_keys(y, gap, c):
    inverse = 1 / gap
    return jnp.concatenate([inverse * y, inverse, c * inverse * _square(y)], axis=-1)


def _root(p):
    return jnp.sqrt(p * (1 + p))


def _acosh(p):
    """acosh(1 + 2p), to about 1e-5 of itself however small p is."""
    p = jnp.maximum(p, _SMALLEST)
    z = 2 * (p + _root(p))
    series = z * (1 - z * (1 / 2 - z * (1 / 3 - z / 4)))  # log1p itself costs more than both
    return jnp.where(z < 1e-2, series, jnp.log(1 + z))


def _sqrt(p):
    return jnp.sqrt(jnp.maximum(p, _SMALLEST))


def _same(x):
    return x


# Stands in for products that cancelled to nothing, or are as small (at c = 1e-12 and distances of
# 1e-9): their square root has to have a derivative. The distance has a cusp there: no pull.
_SMALLEST = 1e-30


def _distance(inner, value, slope, softmax=None):
    return Link(inner, value, slope, precision="highest", best=jnp.min, softmax=softmax)


DOT = Link(_same, _same, None, precision="default", best=jnp.max)
_FLAT_SQUARED = _distance(_same, _same, None, _flat_softmax)
_FLAT_PLAIN = _distance(_sqrt, _same, lambda p, a: jnp.where(p > _SMALLEST, 0.5 / a, 0))
_BALL_SQUARED = _distance(_acosh, jnp.square, lambda p, a: 2 * a / _root(jnp.maximum(p, _SMALLEST)))
_BALL_PLAIN = _distance(
    _acosh, _same, lambda p, a: jnp.where(p > _SMALLEST, 1 / _root(jnp.maximum(p, _SMALLEST)), 0)
)

FLAT = ProductForm(_flat_queries, _flat_keys, lambda c: jnp.ones(()), _FLAT_SQUARED, _FLAT_PLAIN)
BALL = ProductForm(_ball_queries, _ball_keys, lambda c: 1 / c, _BALL_SQUARED, _BALL_PLAIN)
