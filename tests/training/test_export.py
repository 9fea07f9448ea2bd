"""Programs leave Python: loss, training step and generation step lower for every platform."""

import jax
import jax.numpy as jnp
import pytest
from jax import export

from rilm_jax import ModelConfig, RunConfig, build, data
from rilm_jax.training import make_chunk, optimizer
from rilm_jax.training import state as states
from rilm_jax.training.step import on_device

PLATFORMS = ("cpu", "cuda", "tpu")
OPTIONS = [{}, {"manifold": "euclidean"}, {"composition": "spline", "bias": True}]

pytestmark = pytest.mark.slow


def lowered(function, *args) -> export.Exported:
    return export.export(jax.jit(function), platforms=PLATFORMS)(*args)


@pytest.fixture(params=OPTIONS, ids=["ball", "flat", "spline"])
def config(request) -> ModelConfig:
    return ModelConfig(vocab_size=50, dim=8, **request.param)


def test_the_loss_with_its_gradient(config):
    model = build(config)
    params = model.init(jax.random.key(0))
    tokens = jnp.ones((2, 9), jnp.int32)

    def loss(params, tokens):
        states, _ = model.hidden(params, tokens, model.initial_carry(params, 2))
        return model.loss(params, states, tokens, jnp.ones((2, 9)))[0]

    exported = lowered(jax.value_and_grad(loss), params, tokens)
    assert exported.platforms == PLATFORMS
    got = jax.jit(exported.call)(params, tokens)
    wanted = jax.jit(jax.value_and_grad(loss))(params, tokens)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        assert jnp.allclose(a, b, rtol=1e-4, atol=1e-5)


def test_a_generation_step(config):
    model = build(config)
    params = model.init(jax.random.key(0))

    def generate(params, prep, carry, token, key):
        states, carry = model.hidden(params, token[:, None], carry, prep=prep)
        scores = model.scores(params, states, prep=prep)[:, 0]
        return jax.random.categorical(key, scores), carry

    carry = model.initial_carry(params, 2)
    args = (params, model.prepare(params), carry, jnp.zeros(2, jnp.int32), jax.random.key(1))
    assert lowered(generate, *args).platforms == PLATFORMS


@pytest.mark.parametrize("seed_map", ["map", "vmap"])
@pytest.mark.parametrize("mode", ["windows", "stream"])
def test_a_chunk_of_training_steps(config, seed_map, mode):
    run = RunConfig(
        model=config, seeds=(1, 2), seed_map=seed_map, mode=mode, batch_size=4, window=8
    )
    model = build(config)
    tx = optimizer.build(run, 10)
    state = jax.eval_shape(lambda: states.init(model, tx, run))
    ids = jnp.arange(200) % 50
    order = weight = None
    if mode == "stream":
        cut = data.streams(ids, 4, 8)
    else:
        cut = data.windows(ids, 8)
        order, weight = jnp.zeros((2, 7, 4), jnp.int32), jnp.ones((7, 4))
    args = (jnp.array([1, 2]), state, on_device(cut), order, weight)
    chunk = make_chunk(model, tx, run)
    exported = export.export(chunk, platforms=PLATFORMS)(*args, jnp.asarray(0), jnp.asarray(5))
    assert exported.platforms == PLATFORMS
