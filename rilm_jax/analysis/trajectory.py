"""Where a context goes while words are read."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from rilm_jax import manifolds
from rilm_jax.data import check_ids
from rilm_jax.embedding import Points, Table
from rilm_jax.errors import InputError
from rilm_jax.heads import geodesic
from rilm_jax.model import LanguageModel, Params


class Trajectory(NamedTuple):
    """The contexts after each of N words.

    Attributes:
      states: a backbone's states, leaves [N, ...].
      radii: [N], `radius` of each.
    """

    states: Any
    radii: jax.Array


def trajectory(model: LanguageModel, params: Params, ids: ArrayLike) -> Trajectory:
    """The states after each word, read from the model's start in one go, and their radii.

    Args:
      model: any model.
      params: of one seed.
      ids: [N] word ids, N >= 1.

    Raises:
      InputError: no ids, ids of another shape, or outside the vocabulary.
    """
    ids = check_ids(ids, model.config.vocab_size, "ids")
    if ids.ndim != 1 or not ids.size:
        raise InputError(f"ids have shape {ids.shape}; give one sequence of at least one word.")
    return _trajectory(model, params, jnp.asarray(ids))


@functools.partial(jax.jit, static_argnames="model")
def _trajectory(model: LanguageModel, params: Params, ids: jax.Array) -> Trajectory:
    prep = model.prepare(params)
    carry = model.initial_carry(params, 1, prep=prep)
    states, _ = model.hidden(params, ids[None], carry, prep=prep)
    states = jax.tree.map(lambda x: x[0], states)
    return Trajectory(states, radius(model, params, prep.table, states))


def place(model: LanguageModel, params: Params, table: Table, states: Any) -> Points | None:
    """States as points among the words; None where the head compares no points.

    States on the manifold are such points. A vector of R^d is one under a geodesic head, which
    takes it to exp_0(s v), s learned. Under a linear or tied head a vector has no place.
    """
    if isinstance(states, Points):
        return states
    if "log_entry" not in params["head"]:
        return None
    manifold = manifolds.get(model.config.manifold)
    return geodesic.enter(params["head"], manifold, table.c, states)


def radius(model: LanguageModel, params: Params, table: Table, states: Any) -> jax.Array:
    """|log_0 h| of states [..., d]: on R^d the norm, on the ball half the distance from 0.

    States that have no `place` among the words have the norm of their vector.
    """
    points = place(model, params, table, states)
    if points is None:
        return jnp.linalg.norm(states, axis=-1)
    manifold = manifolds.get(model.config.manifold)
    return jnp.linalg.norm(manifold.logmap0(points.coords, table.c), axis=-1)
