"""What a run carries from step to step."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from rilm_jax import rng
from rilm_jax.config import RunConfig
from rilm_jax.model import LanguageModel


class TrainState(NamedTuple):
    """All seeds of a run; leaves but `step` have a leading axis S.

    Attributes:
      step: [], optimiser steps done, shared by all seeds so that conditions on it stay scalar.
      params: [S, ...].
      opt_state: [S, ...].
      carry: [S, B, ...], where a contiguous stream goes on; None with independent windows.
      alive: [S] bool, False from the step at which a seed's loss or gradient was not finite.
    """

    step: jax.Array
    params: Any
    opt_state: Any
    carry: Any
    alive: jax.Array


def init(model: LanguageModel, tx: optax.GradientTransformation, config: RunConfig) -> TrainState:
    """The state before the first step; every seed draws its own parameters."""

    def one_seed(seed, factor):
        params = model.init(rng.key(seed, rng.INIT))
        opt_state = tx.init(params)
        if config.rate_factors:
            opt_state = optax.tree.set(opt_state, step_size=factor)
        return params, opt_state, _carry(model, params, config)

    factors = jnp.asarray(config.rate_factors or (1.0,) * len(config.seeds), config.model.dtype)
    params, opt_state, carry = jax.jit(jax.vmap(one_seed))(jnp.asarray(config.seeds), factors)
    alive = jnp.ones(len(config.seeds), bool)
    return TrainState(jnp.zeros((), jnp.int32), params, opt_state, carry, alive)


def _carry(model, params, config):
    if config.mode == "windows":
        return None
    return model.initial_carry(params, config.batch_size)
