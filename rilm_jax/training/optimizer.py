"""The update rule of a run, from Optax."""

import jax
import optax

from rilm_jax.config import RunConfig


def build(config: RunConfig, total_steps: int) -> optax.GradientTransformation:
    """Clipping by global norm, then Adam or AdamW at the scheduled rate.

    Decoupled weight decay acts on matrices alone, the words' table among them: temperatures,
    curvature and biases are free. With `rate_factors` the state holds a factor of the whole update,
    `step_size`, which `state.init` sets for each seed.
    """
    clip = [optax.clip_by_global_norm(config.clip_norm)] if config.clip_norm else []
    if config.optimizer == "adam":
        rule = optax.adam(schedule(config, total_steps), b2=config.b2)
    else:
        rule = optax.adamw(
            schedule(config, total_steps),
            b2=config.b2,
            weight_decay=config.weight_decay,
            mask=lambda params: jax.tree.map(lambda x: x.ndim >= 2, params),
        )
    scaled = [optax.inject_hyperparams(optax.scale)(step_size=1.0)] if config.rate_factors else []
    return optax.chain(*clip, rule, *scaled)


def schedule(config: RunConfig, total_steps: int) -> optax.Schedule:
    """Constant, or a linear warm-up (a tenth of the run at most) and a cosine to zero."""
    if config.schedule == "constant":
        return optax.constant_schedule(config.learning_rate)
    warmup = min(config.warmup_steps, total_steps // 10)
    return optax.warmup_cosine_decay_schedule(
        0.0 if warmup else config.learning_rate, config.learning_rate, warmup, total_steps
    )
