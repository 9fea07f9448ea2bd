"""Squared distance as a scalar function of one inner product.

For both geometries there are feature maps q and k with

    d(x, y)^2 = scale(c) * link(<q(x), k(y)>),

so a table of distances costs one matrix product of width d + 2 and one elementwise pass, and its
gradient two more products. Flat: <q, k> is |x - y|^2 and the link is the identity. Ball: <q, k> is
delta = c |x - y|^2 / (g(x) g(y)), the hyperboloid's inner product up to 1 + 2 delta, and the link
is acosh(1 + 2 delta)^2 = 4 asinh(sqrt(delta))^2.

The product cancels, so its absolute error is that of the Gram form: about 1e-7 / (g(x) g(y)).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class Link(NamedTuple):
    """An increasing elementwise function of an inner product, with its derivative.

    Attributes:
      value: p -> f(p).
      value_and_slope: p -> (f(p), f'(p)), sharing their work; a slope of None is 1 everywhere.
      precision: of the inner product; distances cancel and need "highest".
    """

    value: Callable[[jax.Array], jax.Array]
    value_and_slope: Callable[[jax.Array], tuple[jax.Array, jax.Array | None]]
    precision: str


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
    distances = form.squared.value(products)
    return jnp.asarray(form.scale(c), products.dtype) * jnp.maximum(distances, 0)


def _root_of(link: Link) -> Link:
    """The link of sqrt(f); its slope is cut at f = 1e-12, where a distance has a cusp."""

    def value(p):
        return jnp.sqrt(jnp.maximum(link.value(p), 1e-12))

    def value_and_slope(p):
        f, slope = link.value_and_slope(p)
        root = jnp.sqrt(jnp.maximum(f, 1e-12))
        return root, jnp.where(f > 1e-12, (1 if slope is None else slope) / (2 * root), 0)

    return Link(value, value_and_slope, link.precision)


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


def _ball_queries(x, gap, c):
    inverse = 1 / gap
    return jnp.concatenate([-2 * c * inverse * x, c * inverse * _square(x), inverse], axis=-1)


def _ball_keys(y, gap, c):
    inverse = 1 / gap
    return jnp.concatenate([inverse * y, inverse, c * inverse * _square(y)], axis=-1)


def _acosh_and_root(p):
    """acosh(1 + 2p) and sqrt(p (1 + p)) for p >= 0, by one square root and one logarithm."""
    p = jnp.maximum(p, 1e-30)
    root = jnp.sqrt(p * (1 + p))
    return jnp.log1p(2 * (p + root)), root


def _acosh_squared(p):
    return jnp.square(_acosh_and_root(p)[0])


def _acosh_squared_and_slope(p):
    acosh, root = _acosh_and_root(p)
    return acosh * acosh, 2 * acosh / root


def _identity(p):
    return p


def _identity_and_slope(p):
    return p, None


DOT = Link(_identity, _identity_and_slope, "default")

_FLAT = DOT._replace(precision="highest")
_BALL = Link(_acosh_squared, _acosh_squared_and_slope, "highest")

FLAT = ProductForm(_flat_queries, _flat_keys, lambda c: jnp.ones(()), _FLAT, _root_of(_FLAT))
BALL = ProductForm(_ball_queries, _ball_keys, lambda c: 1 / c, _BALL, _root_of(_BALL))
