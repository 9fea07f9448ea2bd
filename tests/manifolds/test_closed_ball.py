"""Nothing that a training run can reach gives a NaN: the boundary, the origin, huge steps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rilm_jax.manifolds import poincare

D = 5


def unit(*x):
    x = np.zeros(D) + np.array([*x, *[0] * (D - len(x))])
    return x / max(np.linalg.norm(x), 1)


POINTS = np.array(
    [
        np.zeros(D),
        unit(1e-20),
        unit(1e-6, -1e-7),
        0.3 * unit(1, 2, -2),
        0.9999 * unit(1, -1, 1, 1, 2),
        unit(1),
        unit(-1),
        unit(3, 4),
        unit(-3, -4),
        unit(1, 1, 1, 1, 1) * (1 - 6e-8),
        -unit(1, 1, 1, 1, 1),
    ]
)
DIRECTION = np.array([0.48, -0.6, 0.64, 0.1, 0.0])
TANGENTS = np.array([0, 1e-30, 1e-6, 0.1, 1, 8, 100, 1e10])[:, None] * DIRECTION
TANGENTS = np.concatenate([TANGENTS, -np.eye(D)[:1] * 1e10, np.eye(D)[:1]])

FUNCTIONS = {
    "expmap": "xv",
    "logmap": "xy",
    "expmap0": "v",
    "logmap0": "x",
    "dist": "xy",
    "sqdist": "xy",
    "project": "x",
    "gap": "x",
    "conformal_factor": "x",
    "mobius_add": "xy",
    "gyration": "xyv",
    "ptransp": "xyv",
    "ptransp0": "xv",
    "mobius_scalar_mul": "rx",
    "geodesic": "txy",
    "translate0": "xv",
}


def arguments(kinds, c, dtype):
    """All combinations of the kinds of argument, one row each."""
    pools = {
        "x": POINTS / np.sqrt(c),
        "y": POINTS / np.sqrt(c),
        "v": TANGENTS,
        "t": np.array([[0.0], [0.3], [0.5], [1.0]]),
        "r": np.array([[0.0], [0.5], [-3.0], [1e3]]),
    }
    index = np.indices([len(pools[k]) for k in kinds]).reshape(len(kinds), -1)
    return [jnp.asarray(pools[k][i], dtype) for k, i in zip(kinds, index, strict=True)]


def check(name, dtype, jacobian):
    kinds = FUNCTIONS[name]
    function = getattr(poincare, name)
    if name == "translate0":

        def function(h, v, c):
            h, g = poincare.translate0(h, poincare.gap(h, c), v, c)
            return jnp.concatenate([h, g, poincare.logmap0_with_gap(h, g, c)], axis=-1)

    outputs = range(len(kinds) + 1)  # the curvature too
    each_row = (0,) * len(kinds) + (None,)
    value = jax.jit(jax.vmap(function, each_row))
    jacobians = jax.jit(jax.vmap(jacobian(function, outputs), each_row))
    for c in (1e-12, 1e-3, 1.0, 1e2):
        rows = arguments(kinds, c, dtype)
        assert jnp.isfinite(value(*rows, c)).all(), c
        for argument, part in zip([*kinds, "c"], jacobians(*rows, c), strict=True):
            bad = ~jnp.isfinite(part).reshape(part.shape[0], -1).all(-1)
            assert not bad.any(), (c, argument, [np.asarray(r[bad][:2]) for r in rows])


MOST_USED = [
    "expmap",
    "logmap",
    "expmap0",
    "logmap0",
    "dist",
    "project",
    "mobius_add",
    "translate0",
]


@pytest.mark.parametrize("name", MOST_USED)
def test_values_and_jacobians_are_finite(name):
    check(name, jnp.float32, jax.jacrev)


@pytest.mark.slow
@pytest.mark.parametrize("jacobian", [jax.jacrev, jax.jacfwd])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_value_and_jacobian_is_finite(name, jacobian):
    check(name, jnp.float32, jacobian)


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_value_and_jacobian_is_finite_in_float64(name, x64):
    check(name, jnp.float64, jax.jacrev)


@pytest.mark.parametrize("exact", [False, True])
def test_pairwise_gradients_are_finite(exact):
    def total(xs, ys, c):
        return poincare.pairwise_sqdist(xs, ys, c, exact=exact).sum()

    gradient = jax.jit(jax.value_and_grad(total, (0, 1, 2)))
    for c in (1e-12, 1.0, 1e2):
        points = jnp.asarray(POINTS / np.sqrt(c), jnp.float32)
        assert all(jnp.isfinite(g).all() for g in jax.tree.leaves(gradient(points, points, c)))


def test_long_recurrences_stay_inside_with_finite_gradients():
    def run(h, vs):
        def step(carry, v):
            h, g = poincare.translate0(*carry, v, 1.0)
            return (h, g), poincare.logmap0_with_gap(h, g, 1.0)

        (h, g), logs = jax.lax.scan(step, (h, poincare.gap(h, 1.0)), vs)
        return logs.sum(), (h, g)

    h = jnp.asarray(POINTS, jnp.float32)
    gradient = jax.jit(jax.grad(run, (0, 1), has_aux=True))
    for scale in (0.0, 0.1, 3.0, 1e4):
        vs = scale * jax.random.normal(jax.random.key(0), (64, *h.shape))
        gradients, (end, gap) = gradient(h, vs)
        assert (np.linalg.norm(np.asarray(end, np.float64), axis=-1) < 1).all()
        assert (gap > 0).all()
        assert (gap <= 1).all()
        assert all(jnp.isfinite(g).all() for g in gradients)
