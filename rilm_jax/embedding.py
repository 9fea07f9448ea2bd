"""The words: one point of the manifold each, and the curvature they live under."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from rilm_jax.config import ModelConfig
from rilm_jax.manifolds import Manifold


class Points(NamedTuple):
    """Points of a manifold with what is costly to recover from their coordinates.

    Attributes:
      coords: [..., d].
      gap: [..., 1], the ball's 1 - c |x|^2; None where the manifold has no such thing.
    """

    coords: jax.Array
    gap: jax.Array | None


class Table(NamedTuple):
    """Every word as a point and as the tangent vector at 0 that reaches it.

    Attributes:
      points: [V, d] coordinates with gaps [V, 1].
      tangents: [V, d], log_0 of the points.
      c: [], the curvature's magnitude.
    """

    points: Points
    tangents: jax.Array
    c: jax.Array


def with_gap(manifold: Manifold, coords: jax.Array, c: jax.Array) -> Points:
    """The points with their gap where the manifold has one."""
    gap = getattr(manifold, "gap", None)
    return Points(coords, gap and gap(coords, c))


def init(key: jax.Array, config: ModelConfig, manifold: Manifold) -> dict[str, jax.Array]:
    """`{'table': [V, d]}` from N(0, embed_std^2), and `'c'` (unconstrained) where c is learned.

    On a ball smaller than the unit ball, c > 1, the spread shrinks with its radius.
    """
    shape = (config.vocab_size, config.dim)
    scale = config.embed_std * (min(1.0, config.c**-0.5) if hasattr(manifold, "gap") else 1.0)
    coords = scale * jax.random.normal(key, shape, config.dtype)
    params = {"table": coords}
    if config.learn_c:
        share = (config.c - config.c_min) / (config.c_max - config.c_min)
        params["c"] = jnp.asarray(jax.scipy.special.logit(share), config.dtype)
    c = curvature(params, config)
    params["table"] = manifold.project(params["table"], c)
    if config.chart == "tangent":
        params["table"] = manifold.logmap0(params["table"], c)
    return params


def curvature(params: dict[str, jax.Array], config: ModelConfig) -> jax.Array:
    """c: fixed, or c_min + (c_max - c_min) sigmoid(params['c'])."""
    if not config.learn_c:
        return jnp.asarray(config.c, config.dtype)
    return config.c_min + (config.c_max - config.c_min) * jax.nn.sigmoid(params["c"])


def project(
    params: dict[str, jax.Array], config: ModelConfig, manifold: Manifold
) -> dict[str, jax.Array]:
    """Points that an update has carried out of the manifold's safe part are brought back."""
    stored, c = params["table"], curvature(params, config)
    if config.chart == "ball":
        return params | {"table": manifold.project(stored, c)}
    coords = manifold.expmap0(stored, c)
    safe = manifold.project(coords, c)
    moved = jnp.any(safe != coords, axis=-1, keepdims=True)
    return params | {"table": jnp.where(moved, manifold.logmap0(safe, c), stored)}


def table(params: dict[str, jax.Array], config: ModelConfig, manifold: Manifold) -> Table:
    """What backbones and heads read of the embedding."""
    c = curvature(params, config)
    stored = params["table"]
    if config.unit_words:
        stored = stored / jnp.linalg.norm(stored, axis=-1, keepdims=True)
    if config.chart == "tangent":
        coords = manifold.expmap0(stored, c)
        return Table(with_gap(manifold, coords, c), stored, c)
    return Table(with_gap(manifold, stored, c), manifold.logmap0(stored, c), c)
