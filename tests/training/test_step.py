"""One chunk for all seeds: each lane is a run of its own."""

import dataclasses
import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rilm_jax import build, data, rng
from rilm_jax.heads import Augmentation
from rilm_jax.training import make_chunk, optimizer
from rilm_jax.training import state as states
from rilm_jax.training import step as training_step
from rilm_jax.training.step import Batch, augmentation, objective, on_device

SEEDS = (11, 12, 13, 14, 15)


def assert_close(got, wanted, tolerance):
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(1, np.abs(b).max()))


@functools.cache
def program(config):
    """Model, update rule and chunk, traced once for runs that differ in their seeds alone."""
    model = build(config.model)
    tx = optimizer.build(config, 18)
    return model, tx, make_chunk(model, tx, config)


def take(config, corpus, steps, *, first=0, before=None):
    """The state and the infos after the steps `first` to `steps` of the first epoch."""
    anonymous = dataclasses.replace(config, seeds=tuple(range(len(config.seeds))))
    model, tx, chunk = program(anonymous)
    state = states.init(model, tx, config) if before is None else before
    cut = data.training_windows(corpus.train, config.window)
    orders = [data.epoch_order(s, 0, len(cut.inputs), config.batch_size) for s in config.seeds]
    return chunk(
        jnp.asarray(config.seeds),
        state,
        on_device(cut),
        jnp.stack([o.order for o in orders]),
        orders[0].weight,
        jnp.asarray(first),
        jnp.asarray(steps),
    )


@pytest.fixture(scope="module")
def steady(tiny):
    """`tiny` at a constant rate: a warm-up's first step would not move."""
    return functools.partial(tiny, schedule="constant")


@pytest.fixture(scope="module")
def alone(corpus, steady):
    """Every seed after one step and after two, run by itself."""
    return {s: [take(steady(seeds=(s,)), corpus, n) for n in (1, 2)] for s in SEEDS}


@pytest.mark.parametrize("seed_map", ["map", "vmap"])
def test_seeds_differ_and_each_lane_is_a_single_run(corpus, steady, alone, seed_map):
    """S1: after one step and after two."""
    config = steady(seed_map=seed_map)
    for n in (1, 2):
        state, info = take(config, corpus, n)
        assert state.step == n
        for lane, seed in enumerate(SEEDS):
            single, single_info = alone[seed][n - 1]
            own = jax.tree.map(lambda x, lane=lane: x[lane : lane + 1], state._replace(step=None))
            assert_close(own, single._replace(step=None), 1e-5)
            own_info = jax.tree.map(lambda x, lane=lane: x[lane : lane + 1], info)
            assert_close(own_info, single_info, 1e-5)
        for leaf in jax.tree.leaves(state.params):
            if leaf.size > len(SEEDS):
                assert len(np.unique(leaf.reshape(len(SEEDS), -1), axis=0)) == len(SEEDS)


def test_steps_beyond_the_last_do_nothing(corpus, steady, alone):
    state, info = alone[11][0]
    np.testing.assert_array_equal(np.asarray(info.weight) > 0, [[True, False]])
    again, info = take(
        steady(seeds=(11,)), corpus, 1, first=1, before=jax.tree.map(jnp.copy, state)
    )
    for a, b in zip(jax.tree.leaves(again), jax.tree.leaves(state), strict=True):
        np.testing.assert_array_equal(a, b)
    assert jnp.all(info.weight == 0) and jnp.all(info.finite)


def test_the_first_step_is_adam_on_the_clipped_gradient(corpus, steady, alone):
    """Against Optax applied by hand to the objective's gradient of the seed's first batch."""
    config = steady(seeds=(11,))
    model = build(config.model)
    params = model.init(rng.key(11, rng.INIT))
    cut = data.training_windows(corpus.train, config.window)
    rows = data.epoch_order(11, 0, len(cut.inputs), 4).order[0]
    batch = jax.tree.map(lambda x: x[rows], on_device(cut))
    grads = jax.jit(jax.grad(lambda p: objective(model, p, batch, None, config, None)[0]))(params)
    norm = np.sqrt(sum(np.sum(np.square(g)) for g in jax.tree.leaves(grads)))
    state, info = alone[11][0]
    np.testing.assert_allclose(info.grad_norm[0, 0], norm, rtol=1e-5)
    clip = min(1.0, 1.0 / norm)
    rate = config.learning_rate
    for new, old, g in zip(
        jax.tree.leaves(state.params), *map(jax.tree.leaves, (params, grads)), strict=True
    ):
        g = clip * np.asarray(g)
        # Adam's first update is the sign of the gradient, but for its epsilon.
        np.testing.assert_allclose(new[0], old - rate * g / (np.abs(g) + 1e-8), atol=2e-5)


@pytest.mark.parametrize(
    "kind",
    ["input_dropout"]
    + [
        pytest.param(kind, marks=pytest.mark.slow)
        for kind in ("dropout", "word_dropout", "output_dropout")
    ],
)
def test_dropout_differs_between_seeds_and_steps(corpus, steady, kind):
    """Two steps on the same batch with the same parameters see other masks."""
    config = steady({kind: 0.5}, seeds=(11, 12), chunk_steps=1, batch_size=32)
    model = build(config.model)
    tx = optimizer.build(config, 18)
    params = jax.tree.map(lambda x: jnp.stack([x, x]), model.init(jax.random.key(0)))
    losses = []
    for step in (0, 1, 1):
        state = states.init(model, tx, config)._replace(
            params=jax.tree.map(jnp.copy, params), step=jnp.asarray(step, jnp.int32)
        )
        losses.append(np.asarray(take(config, corpus, 1, before=state)[1].nll[:, 0]))
    assert losses[0][0] != losses[0][1]  # all windows are in the batch: only the masks differ
    assert np.all(losses[0] != losses[1])
    np.testing.assert_array_equal(losses[1], losses[2])


@pytest.mark.slow
def test_float64_trains(corpus, steady):
    jax.config.update("jax_enable_x64", True)
    try:
        state, info = take(steady({"dtype": "float64"}, seeds=(11,)), corpus, 2)
        assert all(x.dtype == jnp.float64 for x in jax.tree.leaves(state.params))
        assert info.nll.dtype == jnp.float64 and jnp.all(info.finite)
    finally:
        jax.config.update("jax_enable_x64", False)


def test_the_objective_adds_gamma_t_of_the_augmented_loss(corpus, tiny):
    """alpha = gamma T, with the target's gradient and the share of J that the run asks for."""
    plain = {"backbone": "lstm", "head": "linear", "manifold": "euclidean", "bias": True}
    told = {"augment": 0.65, "augment_temperature": 4.0, "cross_entropy": 0.3}
    batch = jax.tree.map(
        lambda x: x[:4], on_device(data.training_windows(corpus.train, tiny().window))
    )

    def both(config):
        model = build(config.model)
        params = model.init(jax.random.key(0))
        return objective(model, params, batch, None, config, None)[0], model, params

    found, model, params = both(tiny(plain, **told, target_grad=True))
    states, _ = model.hidden(params, batch.inputs, model.initial_carry(params, 4))
    how = Augmentation(0.65 * 4, 4.0, True, 0.3)
    wanted, _ = model.loss(params, states, batch.targets, batch.weights, augmentation=how)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert augmentation(tiny(plain, **told, target_grad=True)) == how
    assert augmentation(tiny(plain, **told)) == how._replace(target_grad=False)
    assert augmentation(tiny(plain)) is None


def test_streams_train_the_root_where_they_begin(corpus, tiny):
    """From the root at the epoch's first step, from a constant carry at the second."""
    config = tiny(mode="stream", seeds=(11,))
    model = build(config.model)
    params = jax.jit(model.init)(jax.random.key(0))
    cut = data.streams(corpus.train, config.batch_size, config.window)
    batch = Batch(*(jnp.asarray(x[0]) for x in cut))
    carry = jax.tree.map(lambda x: 0.9 * x, model.initial_carry(params, config.batch_size))

    @jax.jit
    def of_root(fresh):
        def loss(params):
            return objective(model, params, batch, carry, config, None, fresh)[0]

        return jax.grad(loss)(params)["backbone"]["root"]

    assert jnp.all(of_root(True) != 0)
    assert jnp.all(of_root(False) == 0)


@pytest.mark.parametrize("seed_map", ["map", "vmap"])
def test_a_step_is_traced_once(corpus, tiny, monkeypatch, seed_map):
    """Whatever the number of seeds, steps and chunks: five seeds cost one compilation."""
    chex.clear_trace_counter()
    once = chex.assert_max_traces(training_step.objective, n=1)
    monkeypatch.setattr(training_step, "objective", once)
    program.cache_clear()
    config = tiny(seed_map=seed_map)
    state, _ = take(config, corpus, 2)
    state, _ = take(config, corpus, 3, first=2, before=state)
    assert state.step == 3
    program.cache_clear()
