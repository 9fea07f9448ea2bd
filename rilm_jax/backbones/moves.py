"""How a state moves on its manifold: the recurrences, apart from what is learned.

    mobius     h' = exp_h(transport_{0 -> h} phi), on the ball h (+) exp_0(phi)
    naive      h' = exp_h(phi)
    projected  mobius, then a projection onto |h| <= (1 - eps)/sqrt(c)

Any manifold has these through its public functions; the ball has fused ones that carry the gap.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from rilm_jax.config import ModelConfig
from rilm_jax.embedding import Points, with_gap
from rilm_jax.manifolds import Manifold, poincare

TEXTBOOK_EPS = 1e-5


class Moves(NamedTuple):
    """`log`: (h, c) -> log_0 h, [..., d]. `step`: (h, phi [..., d], c) -> h'."""

    log: Callable[[Points, jax.Array], jax.Array]
    step: Callable[[Points, jax.Array, jax.Array], Points]


def build(config: ModelConfig, manifold: Manifold) -> Moves:
    """The moves of `config.recurrence` on `manifold`."""
    moves = _on_ball(config) if manifold is poincare else _anywhere(config, manifold)
    if config.recurrence != "projected" or manifold is not poincare:
        return moves
    return moves._replace(step=lambda h, phi, c: _project(moves.step(h, phi, c), c, config))


def _anywhere(config: ModelConfig, manifold: Manifold) -> Moves:
    def log(h, c):
        return manifold.logmap0(h.coords, c)

    def step(h, phi, c):
        moved = phi if config.recurrence == "naive" else manifold.ptransp0(h.coords, phi, c)
        moved = manifold.expmap(h.coords, moved, c)
        if config.recurrence == "projected":
            moved = manifold.project(moved, c)
        return with_gap(manifold, moved, c)

    return Moves(log, step)


def _on_ball(config: ModelConfig) -> Moves:
    def log(h, c):
        if config.guard == "gap":
            return poincare.logmap0_with_gap(h.coords, h.gap, c)
        length = jnp.sqrt(jnp.maximum(c * _square(h.coords), 1e-15))
        return jnp.arctanh(jnp.minimum(length, 1 - TEXTBOOK_EPS)) / length * h.coords

    def step(h, phi, c):
        # exp_h(phi) is h (+) exp_0(phi / g(h)); transport from 0 to h multiplies by g(h).
        v = phi / h.gap if config.recurrence == "naive" else phi
        return Points(*poincare.translate0(h.coords, h.gap, v, c))

    return Moves(log, step)


def _project(h: Points, c: jax.Array, config: ModelConfig) -> Points:
    assert h.gap is not None
    radius = 1 - config.projection_eps
    square = c * _square(h.coords)
    beyond = square > radius**2
    shrink = jnp.where(beyond, radius / jnp.sqrt(jnp.where(beyond, square, 1)), 1)
    return Points(shrink * h.coords, jnp.where(beyond, 1 - radius**2, h.gap))


def _square(x: jax.Array) -> jax.Array:
    return jnp.sum(x * x, axis=-1, keepdims=True)
