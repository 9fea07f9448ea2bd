"""Any backbone with any head on either manifold: builds, trains, streams, leaves Python."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from rilm_jax import ModelConfig, RunConfig, build
from rilm_jax.training import make_step, optimizer
from rilm_jax.training.step import Batch

pytestmark = pytest.mark.usefixtures("quick_compilation")
V, B, T = 20, 2, 9
COMBINATIONS = list(
    itertools.product(
        ("rilm", "lstm", "transformer", "ssm", "rhn"),
        ("linear", "tied", "geodesic"),
        ("euclidean", "poincare"),
    )
)
FAST = COMBINATIONS[::7]


@pytest.fixture(
    params=[
        pytest.param(c, id="-".join(c), marks=() if c in FAST else pytest.mark.slow)
        for c in COMBINATIONS
    ]
)
def config(request) -> ModelConfig:
    backbone, head, manifold = request.param
    return ModelConfig(backbone=backbone, head=head, manifold=manifold, vocab_size=V, dim=8, span=5)


def test_it_trains_a_step_streams_and_lowers_for_every_platform(config):
    run = RunConfig(model=config, batch_size=B, window=T, schedule="constant", learning_rate=1e-2)
    model, tx = build(config), optimizer.build(run, 10)
    params = model.init(jax.random.key(0))
    ids = jax.random.randint(jax.random.key(1), (B, T + 1), 0, V)
    batch = Batch(ids[:, :-1], ids[:, 1:], jnp.ones((B, T)))

    step = jax.jit(make_step(model, tx, run))
    arguments = (jnp.asarray(1), jnp.asarray(0), (params, tx.init(params), None, True), batch)
    state, info = step(*arguments)
    after, alive = state[0], state[3]
    assert alive and jnp.isfinite(info.grad_norm)
    for (path, a), b in zip(
        jax.tree_util.tree_leaves_with_path(after), jax.tree.leaves(params), strict=True
    ):
        assert jnp.any(a != b), f"{jax.tree_util.keystr(path)} did not move"
    assert step(*arguments[:2], state, batch)[1].nll < info.nll

    prep = model.prepare(after)
    states, _ = jax.jit(model.hidden)(after, batch.inputs, model.initial_carry(after, B))
    whole = model.nll(after, states, batch.targets)

    @jax.jit
    def read(carry, token, target):
        states, carry = model.hidden(after, token[:, None], carry, prep=prep)
        return carry, model.nll(after, states, target[:, None], prep=prep)[:, 0]

    carry, columns = model.initial_carry(after, B), []
    for token, target in zip(batch.inputs.T, batch.targets.T, strict=True):
        carry, column = read(carry, token, target)
        columns.append(column)
    np.testing.assert_allclose(jnp.stack(columns, 1), whole, rtol=1e-5, atol=2e-5)

    platforms = ("cpu", "cuda", "tpu")
    for function, args in ((step, arguments), (read, (carry, ids[:, 0], ids[:, 1]))):
        assert export.export(function, platforms=platforms)(*args).platforms == platforms
