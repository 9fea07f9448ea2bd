"""The temperature tau > 0 that scores are divided by: fixed, or learned as `log_tau`."""

from typing import Any

import jax
import jax.numpy as jnp

from rilm_jax.heads.base import Context, Params


def init(context: Context, start: float | None) -> Params:
    """`{'log_tau': []}` where there is a temperature and it is learned."""
    if start is None or not context.config.learn_tau:
        return {}
    return {"log_tau": jnp.log(jnp.asarray(start, context.config.dtype))}


def inverse(params: Params, start: float | None, dtype: Any) -> jax.Array:
    """1 / tau, []: 1 where there is none."""
    if "log_tau" in params:
        return jnp.exp(-params["log_tau"])
    return jnp.asarray(1.0 if start is None else 1 / start, dtype)
