"""The update rule of a run, from Optax."""

import jax
import jax.numpy as jnp
import optax

from rilm_jax.backbones.base import is_matrix
from rilm_jax.config import RunConfig


def build(config: RunConfig, total_steps: int) -> optax.GradientTransformation:
    """Clipping by global norm, then Adam, AdamW or SGD at the scheduled rate.

    AdamW's weight decay is decoupled and acts on the words' table and on the matrices that states
    and words are multiplied with: temperatures, curvature, biases and an SSM's time constants are
    free. SGD's is part of the gradient that is clipped, of every parameter. With `rate_factors` the
    state holds a factor of the whole update, `step_size`, which `state.init` sets for each seed.
    """
    rate = schedule(config, total_steps)
    clip = [optax.clip_by_global_norm(config.clip_norm)] if config.clip_norm else []
    if config.optimizer == "adam":
        rules = [*clip, optax.adam(rate, b2=config.b2)]
    elif config.optimizer == "adamw":
        rules = [
            *clip,
            optax.adamw(rate, b2=config.b2, weight_decay=config.weight_decay, mask=_weights),
        ]
    else:
        rules = [optax.add_decayed_weights(config.weight_decay), *clip, optax.sgd(rate)]
    scaled = [optax.inject_hyperparams(optax.scale)(step_size=1.0)] if config.rate_factors else []
    return optax.chain(*rules, *scaled)


def schedule(config: RunConfig, total_steps: int) -> optax.Schedule:
    """constant; cosine: a linear warm-up (a tenth of the run at most), then a cosine to zero;
    epochs: the rate times decay^n, n the epochs from `decay_from` on that have begun."""
    if config.schedule == "constant":
        return optax.constant_schedule(config.learning_rate)
    if config.schedule == "epochs":
        epoch = total_steps // config.num_epochs

        def by_epochs(step):
            n = jnp.maximum(step // epoch + 2 - config.decay_from, 0)
            return config.learning_rate * config.decay**n

        return by_epochs
    warmup = min(config.warmup_steps, total_steps // 10)
    return optax.warmup_cosine_decay_schedule(
        0.0 if warmup else config.learning_rate, config.learning_rate, warmup, total_steps
    )


def _weights(params):
    return jax.tree.map_with_path(is_matrix, params)
