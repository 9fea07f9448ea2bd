"""The geodesic head: logits are negative (squared) geodesic distances over a temperature.

    score_v = -d(h, e_v)^2 / tau + b_v

Source: Li, "RiLM: Parameter-Efficient Language Modeling via Geodesic Decoding".
"""

import jax
import jax.numpy as jnp

from rilm_jax.embedding import Points, Table, with_gap
from rilm_jax.errors import InputError
from rilm_jax.heads import projection, temperature
from rilm_jax.heads.base import Context, Head, Params
from rilm_jax.heads.blocked import Keys
from rilm_jax.manifolds import Manifold


def build(context: Context) -> Head:
    """A geodesic head for states on the manifold, or in R^d.

    A state v in R^n enters the manifold as exp_0(s P v) with a learned s that starts at d^-1/2; P
    is the identity unless `projection`.

    Raises:
      InputError: the manifold has no product form; what `projection.check` raises.
    """
    config, manifold = context.config, context.manifold
    form = getattr(manifold, "product_form", None)
    if form is None:
        raise InputError(
            f"manifold {config.manifold!r} has no product_form, which the geodesic head needs; "
            "give it one (see rilm_jax.manifolds.product)."
        )
    projection.check(context)
    increasing = form.squared if config.squared else form.plain

    def init(key: jax.Array) -> Params:
        params = temperature.init(context, initial_tau(context))
        if config.bias:
            params["bias"] = jnp.zeros(config.vocab_size, config.dtype)
        if not context.on_manifold:
            params["log_entry"] = jnp.asarray(-0.5 * jnp.log(config.dim), config.dtype)
            params |= projection.init(key, context)
        return params

    def queries(params: Params, table: Table, states) -> jax.Array:
        points = states if context.on_manifold else enter(params, manifold, table.c, states)
        return form.queries(points.coords, points.gap, table.c)

    def keys(params: Params, table: Table) -> Keys:
        features = form.keys(table.points.coords, table.points.gap, table.c)
        scale = form.scale(table.c)
        scale = -(scale if config.squared else jnp.sqrt(scale))
        scale *= temperature.inverse(params, initial_tau(context), features.dtype)
        return Keys(features, jnp.asarray(scale, features.dtype), params.get("bias"))

    def word_queries(params: Params, table: Table, ids: jax.Array) -> jax.Array:
        del params
        points = jax.tree.map(lambda x: x[ids], table.points)
        return form.queries(points.coords, points.gap, table.c)

    def word_keys(params: Params, table: Table) -> Keys:
        return keys(params, table)._replace(bias=None)

    return Head(increasing, init, queries, keys, word_queries, word_keys, increasing)


def enter(params: Params, manifold: Manifold, c: jax.Array, states: jax.Array) -> Points:
    """exp_0(s P v): where states [..., n] in R^n stand among the words."""
    v = jnp.exp(params["log_entry"]) * projection.apply(params, states)
    return with_gap(manifold, manifold.project(manifold.expmap0(v, c), c), c)


def initial_tau(context: Context) -> float:
    """The configured temperature, or the one that suits the initialisation.

    A distance on the ball is twice the flat one near 0 and words start close together, so the
    contractive recipe starts colder there (0.1) than on R^d (0.3). The plain one starts from 1, and
    so do states from R^n, which enter at a distance of order 1.
    """
    if context.config.tau is not None:
        return context.config.tau
    if context.config.init == "plain" or not context.on_manifold:
        return 1.0
    return 0.1 if context.config.manifold == "poincare" else 0.3
