"""A matrix from states to the words' dimension, for heads that compare states with words."""

import jax
from flax import linen as nn

from rilm_jax.errors import InputError
from rilm_jax.heads.base import Context, Params


def check(context: Context) -> None:
    """That states can be compared with words.

    Raises:
      InputError: another dimension than the words' without a projection; a projection of states
        that are points of the manifold.
    """
    config = context.config
    if config.projection and context.on_manifold:
        raise InputError(
            f"projection=True is for states in R^n, and {config.backbone}'s are points of the "
            "manifold, as words are; leave it out."
        )
    if context.state_dim != config.dim and not config.projection:
        raise InputError(
            f"the {config.head} head compares states with words, but states have dimension "
            f"{context.state_dim} and words {config.dim}; make them equal or set projection=True."
        )


def init(key: jax.Array, context: Context) -> Params:
    """`{'P': [state_dim, dim]}` where the configuration has one."""
    config = context.config
    if not config.projection:
        return {}
    shape = (context.state_dim, config.dim)
    return {"P": nn.initializers.lecun_normal()(key, shape, config.dtype)}


def apply(params: Params, states: jax.Array) -> jax.Array:
    """P h: [..., state_dim] -> [..., dim]."""
    return states @ params["P"] if "P" in params else states
