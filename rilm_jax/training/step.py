"""One optimiser step of one seed, and a chunk of them in one compiled call for all seeds."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from rilm_jax import rng
from rilm_jax.config import RunConfig
from rilm_jax.data import Windows
from rilm_jax.heads import Augmentation
from rilm_jax.model import LanguageModel
from rilm_jax.training.state import TrainState


class Batch(NamedTuple):
    """Windows of a step: inputs and targets [B, T] ids, weights [B, T] (0 = padding)."""

    inputs: jax.Array
    targets: jax.Array
    weights: jax.Array


class StepInfo(NamedTuple):
    """What a step reports, [S, K] from a chunk.

    Attributes:
      nll: summed over the targets that count, in nats.
      weight: how many those are; 0 for a step that was not taken.
      grad_norm: global norm before clipping.
      finite: whether loss and gradient were.
    """

    nll: jax.Array
    weight: jax.Array
    grad_norm: jax.Array
    finite: jax.Array


def seed_map(how: str) -> str:
    """`map` or `vmap`: "auto" is map on CPU (its caches hold one seed's step), else vmap."""
    if how != "auto":
        return how
    return "map" if jax.default_backend() == "cpu" else "vmap"


def over_seeds(function: Callable, how: str, in_axes: tuple[int | None, ...]) -> Callable:
    """`function` of one seed for all seeds, by `vmap` or one after the other by `lax.map`."""
    if how == "vmap":
        return jax.vmap(function, in_axes=in_axes)

    def mapped(*args):
        batched = tuple(arg for arg, axis in zip(args, in_axes, strict=True) if axis == 0)

        def one(batched):
            rest = iter(batched)
            return function(
                *(next(rest) if axis == 0 else arg for arg, axis in zip(args, in_axes, strict=True))
            )

        return jax.lax.map(one, batched)

    return mapped


def objective(
    model: LanguageModel,
    params: Any,
    batch: Batch,
    carry: Any,
    config: RunConfig,
    key: Any,
    fresh: jax.Array | bool = True,
) -> tuple[jax.Array, tuple[Any, dict[str, jax.Array]]]:
    """Loss of a batch with the carry and the sums it leaves: (scalar, (carry, sums)).

    Independent windows start from the root, streams only where `fresh`; the root gets its gradient
    there, while a state carried in is a constant.
    """
    prep = model.prepare(params)._replace(backbone=None)
    root = model.initial_carry(params, batch.inputs.shape[0], prep=prep)
    if config.mode == "windows":
        carry = root
    else:
        carry = jax.tree.map(lambda new, old: jnp.where(fresh, new, old), root, carry)
    mask = batch.weights if config.mode == "stream" else None
    states, carry = model.hidden(params, batch.inputs, carry, mask=mask, rng=key, prep=prep)
    scalar, sums = model.loss(
        params,
        states,
        batch.targets,
        batch.weights,
        reduction=config.reduction,
        augmentation=augmentation(config),
        prep=prep,
    )
    return scalar, (carry, sums)


def augmentation(config: RunConfig) -> Augmentation | None:
    """What a run adds to its cross-entropy."""
    if not config.augment:
        return None
    return Augmentation(
        alpha=config.augment * config.augment_temperature,
        temperature=config.augment_temperature,
        target_grad=config.target_grad,
        cross_entropy=config.cross_entropy,
    )


def make_step(
    model: LanguageModel, tx: optax.GradientTransformation, config: RunConfig
) -> Callable[..., tuple[tuple, StepInfo]]:
    """(seed, step, (params, opt_state, carry, alive), batch, fresh) -> (the next, `StepInfo`).

    `fresh` says that streams begin here, from the root.

    A step whose loss or gradient is not finite is not taken, and none after it.
    """

    def step(seed, step, before, batch, fresh=True):
        params, opt_state, carry, alive = before
        key = jax.random.fold_in(rng.key(seed, rng.DROPOUT), step) if config.model.drops else None

        def loss(params):
            return objective(model, params, batch, carry, config, key, fresh)

        (value, (new_carry, sums)), grads = jax.value_and_grad(loss, has_aux=True)(params)
        norm = optax.tree.norm(grads)
        finite = jnp.isfinite(value) & jnp.isfinite(norm)
        updates, new_opt_state = tx.update(grads, opt_state, params)
        new_params: Any = optax.apply_updates(params, updates)
        new_params = model.project(new_params)
        if config.mode == "windows":
            new_carry = None
        after = (new_params, new_opt_state, new_carry)
        alive = alive & finite
        kept = jax.tree.map(lambda a, b: jnp.where(alive, a, b), after, (params, opt_state, carry))
        return (*kept, alive), StepInfo(sums["nll"], sums["weight"], norm, finite)

    return step


def make_chunk(
    model: LanguageModel, tx: optax.GradientTransformation, config: RunConfig
) -> Callable[..., tuple[TrainState, StepInfo]]:
    """`chunk_steps` steps of all seeds as one compiled, donating call.

    (seeds [S], state, data, order [S, steps, B] or None, row weight, first, last) ->
    (state, `StepInfo` [S, K]). Steps `first`, `first + 1`, ... of the epoch are taken up to `last`;
    the rest of the chunk does nothing, so that every chunk of a run has one shape.
    """
    take = make_step(model, tx, config)

    def one_seed(seed, per_seed, order, data, row_weight, start, first, last):
        def body(before, j):
            at = first + j

            def taken(before):
                batch = _batch(data, order, row_weight, at)
                return take(seed, start + j, before, batch, at == 0)

            def skipped(before):
                zero = jnp.zeros((), config.model.dtype)
                none = jnp.zeros((), data.weights.dtype)
                return before, StepInfo(zero, none, zero, jnp.array(True))

            return jax.lax.cond(at < last, taken, skipped, before)

        return jax.lax.scan(body, per_seed, jnp.arange(config.chunk_steps))

    in_axes = (0, 0, None if config.mode == "stream" else 0, None, None, None, None, None)
    all_seeds = over_seeds(one_seed, seed_map(config.seed_map), in_axes)

    def chunk(seeds, state, data, order, row_weight, first, last):
        per_seed = (state.params, state.opt_state, state.carry, state.alive)
        per_seed, info = all_seeds(
            seeds, per_seed, order, data, row_weight, state.step, first, last
        )
        taken = jnp.minimum(config.chunk_steps, last - first)
        return TrainState(state.step + taken, *per_seed), info

    return jax.jit(chunk, donate_argnums=1)


def on_device(cut: Windows) -> Batch:
    """Windows or streams as arrays of the default device."""
    return Batch(*(jnp.asarray(x) for x in cut))


def _batch(data: Batch, order: Any, row_weight: Any, at: jax.Array) -> Batch:
    """Step `at` of the epoch: row `at` of a stream, or the windows that the order names."""
    if order is None:
        return jax.tree.map(lambda x: x[at], data)
    rows, weight = order[at], row_weight[at]
    inputs, targets, weights = (x[rows] for x in data)
    return Batch(inputs, targets, weights * weight[:, None])
