"""The memory-bounded loss equals the plain one, under every transformation, in bounded memory."""

import functools
import os
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rilm_jax.heads import blocked
from rilm_jax.heads.blocked import Keys
from rilm_jax.manifolds import poincare
from rilm_jax.manifolds.product import BALL, FLAT

pytestmark = pytest.mark.usefixtures("quick_compilation")

N, V, D = 83, 37, 6
LINKS = {
    "ball": (BALL, BALL.squared),
    "ball-unsquared": (BALL, BALL.plain),
    "flat": (FLAT, FLAT.squared),
    "flat-unsquared": (FLAT, FLAT.plain),
}
FAST = {("ball", False), ("flat", True), ("ball-unsquared", True)}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """16 states a block, so that 83 make six blocks, the last of them not full."""
    monkeypatch.setattr(blocked, "block_size", lambda vocab_size: 16)


def problem(name, bias, n=N, seed=0):
    """Queries and keys of points with |log_0| <= 2, targets, and weights with zeros."""
    form, link = LINKS[name]
    keys = jax.random.split(jax.random.key(seed), 6)

    def points(key, count):
        v = jax.random.normal(key, (count, D))
        length = 2 * jax.random.uniform(jax.random.fold_in(key, 1), (count, 1))
        return poincare.expmap0(length * v / jnp.linalg.norm(v, axis=1, keepdims=True), 1.0)

    def features(make, x):
        return make(x, poincare.gap(x, 1.0), 1.0)

    queries = features(form.queries, points(keys[0], n))
    side = Keys(
        features(form.keys, points(keys[1], V)),
        jnp.float32(-0.7),
        jax.random.normal(keys[2], (V,)) if bias else None,
    )
    targets = jax.random.randint(keys[3], (n,), 0, V)
    weights = jax.random.randint(keys[4], (n,), 0, 3) / 50.0
    return link, queries, side, targets, weights


def plain_nll(link, queries, keys, targets):
    logs = jax.nn.log_softmax(blocked.scores(link, queries, keys))
    return -jnp.take_along_axis(logs, targets[:, None], -1)[:, 0]


def plain_loss(link, queries, keys, targets, weights):
    return jnp.sum(weights * plain_nll(link, queries, keys, targets))


def assert_same(got, wanted, tolerance=1e-5):
    """Relative to each leaf's largest entry, or 0.01: sums here add terms of order 1."""
    for (path, a), b in zip(
        jax.tree_util.tree_leaves_with_path(got), jax.tree.leaves(wanted), strict=True
    ):
        scale = max(float(jnp.max(jnp.abs(b))), 0.01)
        np.testing.assert_allclose(
            a, b, rtol=0, atol=tolerance * scale, err_msg=jax.tree_util.keystr(path)
        )


def in_float64(function, *args):
    """What it gives without rounding, as in float32 the plain form rounds more than the blocks."""

    def widened(x):
        return x.astype(jnp.float64) if jnp.issubdtype(x.dtype, jnp.floating) else x

    jax.config.update("jax_enable_x64", True)
    try:
        return jax.device_get(jax.jit(function)(*jax.tree.map(widened, args)))
    finally:
        jax.config.update("jax_enable_x64", False)


def free(link, queries, keys):
    """Stops the gradient of features that are 1 by construction: they get none where dropped."""
    if link.softmax is None:
        return queries, keys
    queries = queries.at[:, -1].set(jax.lax.stop_gradient(queries[:, -1]))
    fixed = jax.lax.stop_gradient(keys.features[:, -2])
    return queries, keys._replace(features=keys.features.at[:, -2].set(fixed))


def loss_and_gradients(function, link, *args):
    """Value, and gradients of queries and keys, as a function of (queries, keys, t, w)."""
    return jax.value_and_grad(
        lambda q, k, t, w: function(link, *free(link, q, k), t, w), argnums=(0, 1), has_aux=False
    )(*args)


def blocked_loss(*args):
    return blocked.loss(*args)[0]


@pytest.mark.parametrize(
    ("name", "bias"),
    [
        pytest.param(name, bias, marks=() if (name, bias) in FAST else pytest.mark.slow)
        for name in LINKS
        for bias in (False, True)
    ],
)
def test_value_and_gradients_equal_the_plain_loss(name, bias):
    link, *args = problem(name, bias)
    got = jax.jit(functools.partial(loss_and_gradients, blocked_loss, link))(*args)
    wanted = in_float64(functools.partial(loss_and_gradients, plain_loss, link), *args)
    np.testing.assert_allclose(got[0], wanted[0], rtol=1e-5)
    assert_same(got[1], wanted[1])


def test_a_positive_scale_is_right_too():
    """`best` only guards against overflow."""
    link, queries, keys, targets, weights = problem("ball", False)
    keys = keys._replace(scale=jnp.float32(0.7))
    args = (queries, keys, targets, weights)
    got = jax.jit(functools.partial(loss_and_gradients, blocked_loss, link))(*args)
    wanted = jax.jit(functools.partial(loss_and_gradients, plain_loss, link))(*args)
    np.testing.assert_allclose(got[0], wanted[0], rtol=1e-5)
    assert_same(got[1], wanted[1])


@pytest.mark.parametrize("n", [1, pytest.param(16, marks=pytest.mark.slow), 17])
def test_any_number_of_states(n):
    link, *args = problem("flat", True, n=n)
    got = jax.jit(functools.partial(loss_and_gradients, blocked_loss, link))(*args)
    assert_same(got, loss_and_gradients(plain_loss, link, *args))


def test_scores_of_thousands_neither_overflow_nor_lose_the_gradient():
    link, queries, keys, targets, weights = problem("ball", False)
    keys = keys._replace(scale=jnp.float32(-3e3))
    args = (queries, keys, targets, weights)
    got = jax.jit(functools.partial(loss_and_gradients, blocked_loss, link))(*args)
    wanted = loss_and_gradients(plain_loss, link, *args)
    assert np.isfinite(got[0])
    np.testing.assert_allclose(got[0], wanted[0], rtol=1e-5)
    assert_same(got[1], wanted[1], 1e-4)


def test_the_cotangent_scales_gradients_and_the_second_output_has_none():
    link, *args = problem("ball", True)

    def both(q, k, factor):
        weighted, plain = blocked.loss(link, q, k, *args[2:])
        return factor * weighted + 100 * jax.lax.stop_gradient(plain), plain

    def pair(q, k):
        return blocked.loss(link, q, k, *args[2:])

    once, plain = jax.jit(jax.grad(both, argnums=(0, 1), has_aux=True))(*args[:2], 1.0)
    scaled, _ = jax.jit(jax.grad(both, argnums=(0, 1), has_aux=True))(*args[:2], -2.5)
    assert_same(scaled, jax.tree.map(lambda g: -2.5 * g, once), 1e-6)
    nll = plain_nll(link, *args[:3])
    np.testing.assert_allclose(plain, jnp.sum(nll[args[3] > 0]), rtol=1e-5)
    only_second = jax.vjp(pair, *args[:2])[1]((jnp.float32(0), jnp.float32(1)))
    assert all(jnp.all(g == 0) for g in jax.tree.leaves(only_second))


def test_states_of_weight_zero_count_nowhere():
    link, queries, keys, targets, weights = problem("ball", False)
    _, others, _, other_targets, _ = problem("ball", False, seed=5)
    dropped = weights == 0
    run = jax.jit(functools.partial(loss_and_gradients, blocked_loss, link))
    wanted = run(queries, keys, targets, weights)
    got = run(
        jnp.where(dropped[:, None], others, queries),
        keys,
        jnp.where(dropped, other_targets, targets),
        weights,
    )
    assert int(jnp.sum(dropped)) > 10
    np.testing.assert_allclose(got[0], wanted[0], rtol=1e-6)
    assert_same(got[1], wanted[1], 1e-6)
    assert jnp.all(got[1][0][dropped] == 0)


@pytest.mark.parametrize("name", ["ball", "flat"])
def test_nll_takes_any_cotangent(name):
    link, queries, keys, targets, _ = problem(name, True)
    cotangent = jax.random.normal(jax.random.key(9), (N,))

    def pulled(function):
        def run(q, k):
            value, pull = jax.vjp(lambda q, k: function(link, *free(link, q, k), targets), q, k)
            return value, pull(cotangent)

        return jax.jit(run)(queries, keys)

    got, wanted = pulled(blocked.nll), pulled(plain_nll)
    np.testing.assert_allclose(got[0], wanted[0], rtol=1e-5, atol=2e-5)
    assert_same(got[1], wanted[1], 2e-5)


@pytest.mark.parametrize("how", ["vmap", pytest.param("map", marks=pytest.mark.slow), "scan"])
def test_the_loss_under_batching_transformations(how):
    """Three problems at once give what each gives alone, gradients included."""
    link = LINKS["ball"][1]
    each = [problem("ball", True, seed=s)[1:] for s in range(3)]
    run = functools.partial(loss_and_gradients, blocked_loss, link)
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *each)
    if how == "vmap":
        got = jax.jit(jax.vmap(run))(*stacked)
    elif how == "map":
        got = jax.jit(lambda *a: jax.lax.map(lambda x: run(*x), a))(*stacked)
    else:
        got = jax.jit(lambda *a: jax.lax.scan(lambda n, x: (n + 1, run(*x)), 0, a)[1])(*stacked)
    alone = jax.jit(functools.partial(loss_and_gradients, plain_loss, link))
    for i, args in enumerate(each):
        assert_same(jax.tree.map(lambda x, i=i: x[i], got), alone(*args))


SHARDED = """
    import jax, jax.numpy as jnp, numpy as np
    from jax.sharding import PartitionSpec as P
    from rilm_jax import ModelConfig, build

    assert len(jax.devices()) == 2
    model = build(ModelConfig(vocab_size=30, dim=8, bias=True, tau=1.0))
    params = model.init(jax.random.key(0))
    tokens = jax.random.randint(jax.random.key(1), (4, 12), 0, 30)

    def loss(params, tokens):
        states, _ = model.hidden(params, tokens, model.initial_carry(params, tokens.shape[0]))
        return model.loss(params, states, jnp.roll(tokens, -1, 1), jnp.ones(tokens.shape))[0]

    mesh = jax.make_mesh((2,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))

    def sharded(params, tokens):
        value, grads = jax.value_and_grad(loss)(params, tokens)
        return jax.tree.map(lambda x: jax.lax.pmean(x, "data"), (value, grads))

    def checked(params, tokens):  # the gradients of unvarying parameters arrive summed
        mean = lambda params, tokens: jax.lax.pmean(loss(params, tokens), "data")
        return jax.value_and_grad(mean)(params, tokens)

    wanted = jax.jit(jax.value_and_grad(loss))(params, tokens)
    for function, check_vma in ((sharded, False), (checked, True)):
        run = jax.shard_map(
            function, mesh=mesh, in_specs=(P(), P("data")), out_specs=P(), check_vma=check_vma
        )
        got = jax.jit(run)(params, tokens)
        for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5 * float(jnp.max(jnp.abs(b))))
    print("equal")
"""


def run_python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        timeout=300,
    )


@pytest.mark.slow
def test_a_sharded_batch_gives_the_loss_and_gradients_of_the_whole_one():
    """Data parallel over two devices by jax.shard_map, in a process that has them."""
    done = run_python(SHARDED, XLA_FLAGS="--xla_force_host_platform_device_count=2")
    assert done.stdout.strip() == "equal", done.stderr[-2000:]
