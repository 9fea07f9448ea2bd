"""Our own rows: the product's programs, compiled as it runs them, on made-up text.

Ids are drawn from Zipf's law. Time does not depend on what a model has learned.
"""

import functools
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from experiments.benchmarks.measure import Row
from rilm_jax import build, config, generation, recipes, training
from rilm_jax.config import RunConfig
from rilm_jax.manifolds import poincare
from rilm_jax.training import optimizer, step
from rilm_jax.training import state as states

MIB = 1 << 20
STEPS_OF_A_RUN = 2550  # ten epochs of WikiText-2; the schedule needs some number


def run_config(model: str, **changed: Any) -> RunConfig:
    """The tuned recipe of a configuration string on WikiText-2 with fields changed; one seed."""
    return config.from_flat(recipes.recipe("wikitext2", model) | {"seeds": (42,)} | changed)


def zipf(shape: tuple[int, ...], vocab_size: int, seed: int = 0) -> np.ndarray:
    """int32 ids, id v drawn with probability proportional to 1 / (v + 1)."""
    share = 1 / np.arange(1, vocab_size + 1)
    draw = np.random.default_rng(seed)
    return draw.choice(vocab_size, shape, p=share / share.sum()).astype(np.int32)


def batches(run: RunConfig, n: int) -> step.Batch:
    """n steps' worth of windows, [n B, T]."""
    shape = (n * run.batch_size, run.window)
    ids = zipf((shape[0], run.window + 1), run.model.vocab_size)
    ones = jnp.ones(shape, run.model.dtype)
    return step.Batch(jnp.asarray(ids[:, :-1]), jnp.asarray(ids[:, 1:]), ones)


def compiled(function: Any, *args: Any) -> tuple[Any, dict[str, float]]:
    """A jitted function compiled for `args`, with its compile time and temporary memory."""
    start = time.perf_counter()
    program = function.lower(*args).compile()
    facts = {"compile_seconds": time.perf_counter() - start}
    memory = program.memory_analysis()
    if memory is not None:
        facts["temporary_mib"] = memory.temp_size_in_bytes / MIB
    return program, facts


def steps(name: str, run: RunConfig) -> Row:
    """Whole optimiser steps of all seeds, `run.chunk_steps` a call: `training.make_chunk`."""
    model = build(run.model)
    tx = optimizer.build(run, STEPS_OF_A_RUN)
    seeds, k = jnp.asarray(run.seeds), run.chunk_steps
    order = jnp.arange(k * run.batch_size).reshape(1, k, run.batch_size)
    rest = (
        batches(run, k),
        jnp.broadcast_to(order, (len(run.seeds), *order.shape[1:])),
        jnp.ones((k, run.batch_size)),
        jnp.asarray(0),
        jnp.asarray(k),
    )
    held = [states.init(model, tx, run)]
    program, facts = compiled(step.make_chunk(model, tx, run), seeds, held[0], *rest)

    def call():
        held[0], info = program(seeds, held[0], *rest)  # which donates the state before
        jax.block_until_ready((held[0], info))

    tokens = len(run.seeds) * run.batch_size * run.window
    return Row(name, call, "step", k, tokens, facts)


def evaluating(name: str, run: RunConfig, n: int = 1) -> Row:
    """NLL of every target of n batches: `training.Evaluator`."""
    model, tx = build(run.model), optimizer.build(run, STEPS_OF_A_RUN)
    params = states.init(model, tx, run).params
    tokens = run.eval_batch_size * run.window
    evaluator = training.Evaluator(model, zipf((n * tokens + 1,), run.model.vocab_size), run)
    start = time.perf_counter()
    evaluator.nll(params)
    facts = {"compile_seconds": time.perf_counter() - start}
    return Row(name, lambda: evaluator.nll(params), "batch", n, len(run.seeds) * tokens, facts)


def generating(name: str, run: RunConfig, num_tokens: int) -> Row:
    """One stream of words drawn in one compiled call, what depends on parameters computed once."""
    model = build(run.model)
    params = model.init(jax.random.key(0))
    call = functools.partial(
        generation.generate, model, params, np.array([1]), num_tokens, jax.random.key(1)
    )
    start = time.perf_counter()
    jax.block_until_ready(call())
    facts = {"compile_seconds": time.perf_counter() - start}
    return Row(name, lambda: jax.block_until_ready(call()), "token", num_tokens, 1, facts)


def streaming(name: str, run: RunConfig, num_tokens: int) -> Row:
    """The same words, each handed to Python before the next is drawn."""
    model = build(run.model)
    params = model.init(jax.random.key(0))
    prep = jax.jit(model.prepare)(params)
    words = generation.stream(model, params, np.array([1]), jax.random.key(1), prep=prep)

    def call():
        for _ in range(num_tokens):
            next(words)

    return Row(name, call, "token", num_tokens, 1)


def _hidden(model: Any, run: RunConfig, batch: step.Batch) -> Any:
    """params -> the states of a batch, as a training step computes them."""

    def hidden(params):
        prep = model.prepare(params)._replace(backbone=None)
        carry = model.initial_carry(params, run.batch_size, prep=prep)
        return model.hidden(params, batch.inputs, carry, prep=prep)[0]

    return hidden


def recurrence(name: str, run: RunConfig) -> Row:
    """States of a batch, and the gradient of them in all parameters."""
    model = build(run.model)
    hidden = _hidden(model, run, batches(run, 1))

    def both(params, cotangents):
        visited, pull = jax.vjp(hidden, params)
        return visited, pull(cotangents)

    params = model.init(jax.random.key(0))
    shapes = jax.eval_shape(hidden, params)
    cotangents = jax.tree.map(lambda x: jnp.ones(x.shape, x.dtype), shapes)
    return _row(name, jax.jit(both), params, cotangents)


def parts(name: str, run: RunConfig) -> list[Row]:
    """Where a step's time goes: its recurrence, its head and its update, each compiled alone.

    head: the loss of given states, and its gradient in states and parameters. update: clipping,
    Adam and projection.
    """
    model, tx = build(run.model), optimizer.build(run, STEPS_OF_A_RUN)
    params = model.init(jax.random.key(0))
    batch = batches(run, 1)

    def loss(params, visited):
        return model.loss(params, visited, batch.targets, batch.weights)[0]

    def update(params, opt_state, grads):
        updates, opt_state = tx.update(grads, opt_state, params)
        moved = jax.tree.map(jnp.add, params, updates)
        return model.project(moved), opt_state

    visited = jax.jit(_hidden(model, run, batch))(params)
    head = jax.jit(jax.value_and_grad(loss, argnums=(0, 1)))
    return [
        recurrence(f"{name}, recurrence", run),
        _row(f"{name}, head", head, params, visited),
        _row(f"{name}, update", jax.jit(update), params, tx.init(params), params),
    ]


def _row(name: str, function: Any, *args: Any) -> Row:
    program, facts = compiled(function, *args)
    return Row(name, lambda: jax.block_until_ready(program(*args)), "step", facts=facts)


def decoder_precision(vocab_size: int, dim: int, radius: float) -> dict[str, float]:
    """Largest error of d^2 on the ball, by the precision of its product.

    Contexts and words at |log_0| = `radius`, half of the pairs close together. On NVIDIA "default"
    is TF32, and on a CPU it is float32 like "highest".

    Returns:
      `{"highest": error, "default": error}`, against float64 on the host.
    """
    draw = np.random.default_rng(0)
    directions = draw.normal(size=(vocab_size, dim))
    directions[1::2] = directions[::2][: vocab_size // 2] + 0.05 * directions[1::2]
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    points = (np.tanh(radius) * directions).astype(np.float32)
    x, y = points[: min(256, vocab_size)], points

    form, c = poincare.product_form, 1.0
    q, k = form.queries(x, poincare.gap(x, c), c), form.keys(y, poincare.gap(y, c), c)
    x64, y64 = x.astype(np.float64), y.astype(np.float64)
    gaps = np.outer(1 - np.sum(x64**2, -1), 1 - np.sum(y64**2, -1))
    square = np.sum(x64**2, -1)[:, None] + np.sum(y64**2, -1) - 2 * x64 @ y64.T
    exact = 4 * np.arcsinh(np.sqrt(np.maximum(square, 0) / gaps)) ** 2

    @functools.partial(jax.jit, static_argnums=0)
    def squared(precision):
        return form.squared(jnp.matmul(q, k.T, precision=precision))

    return {
        precision: float(np.max(np.abs(np.asarray(squared(precision), np.float64) - exact)))
        for precision in ("highest", "default")
    }
