"""The learned spline: tanh to begin with, smooth, and straight beyond its knots."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rilm_jax import ModelConfig
from rilm_jax.backbones import composition

KNOTS = np.linspace(-3, 3, 13)


def spline(x, coefficients=None):
    """The composition's spline as a function of one number, through its public map."""
    config = ModelConfig(vocab_size=4, dim=1, composition="spline")
    params = composition.init(jax.random.key(0), config)
    if coefficients is not None:
        params["spline"] = jnp.asarray(coefficients)[None]
    params |= {"W_h": jnp.zeros((1, 1), jnp.float32)}
    flat = jnp.asarray(x, jnp.float32).reshape(-1, 1)
    result = composition.apply(params, "spline", jnp.zeros_like(flat), flat)
    return result.reshape(jnp.shape(x))


def test_it_starts_as_tanh():
    """Equal at the knots; between them the interpolation's error, 5/384 h^4 max|tanh''''|."""
    np.testing.assert_allclose(spline(KNOTS), np.tanh(KNOTS), atol=2e-6)
    x = np.linspace(-3, 3, 2001)
    bound = 5 / 384 * 0.5**4 * 4.1
    error = np.abs(spline(x) - np.tanh(x)).max()
    assert 1e-5 < error < bound
    slope = np.asarray(jax.jit(jax.vmap(jax.grad(spline)))(jnp.array([-3.0, 0.0, 3.0])))
    np.testing.assert_allclose(slope, 1 / np.cosh([-3, 0, 3]) ** 2, atol=1e-2)
    np.testing.assert_allclose(slope[[0, 2]], 1 / np.cosh(3) ** 2, atol=1e-5)


@pytest.mark.parametrize("random", [False, True])
def test_it_is_linear_beyond_its_last_knots(random):
    coefficients = np.random.default_rng(0).normal(size=15) if random else None
    slope = jax.jit(jax.grad(lambda v: spline(v, coefficients)))
    for edge in (-3.0, 3.0):
        away = np.sign(edge) * np.array([0.0, 1.0, 2.0, 50.0])
        values, at_edge = spline(edge + away, coefficients), slope(jnp.float32(edge * 1.0001))
        np.testing.assert_allclose(values, values[0] + at_edge * away, rtol=1e-4, atol=1e-4)
        inner = slope(jnp.float32(edge * 0.9999))
        np.testing.assert_allclose(inner, at_edge, rtol=2e-3, atol=2e-3)


def test_value_slope_and_curvature_are_continuous_and_the_third_derivative_jumps():
    coefficients = np.random.default_rng(1).normal(size=15)
    derivatives = [lambda v: spline(v, coefficients)]
    for _ in range(3):
        derivatives.append(jax.grad(derivatives[-1]))
    inner = jnp.asarray(KNOTS[1:-1], jnp.float32)

    @jax.jit
    def largest_jumps(before, after):
        return [jnp.max(jnp.abs(jax.vmap(f)(after) - jax.vmap(f)(before))) for f in derivatives]

    jumps = largest_jumps(inner - 1e-4, inner + 1e-4)
    assert jumps[0] < 5e-3 and jumps[1] < 2e-2 and jumps[2] < 0.2
    assert jumps[3] > 1.0  # a cubic: the test would notice a smoother or a rougher curve


def test_each_unit_has_a_spline_of_its_own():
    config = ModelConfig(vocab_size=4, dim=3, composition="spline")
    params = composition.init(jax.random.key(0), config)
    assert params["spline"].shape == (3, 15)
    params["spline"] = params["spline"].at[1].multiply(2)
    params |= {"W_h": jnp.zeros((3, 3))}
    x = jnp.full((1, 3), 0.7)
    value = composition.apply(params, "spline", jnp.zeros_like(x), x)[0]
    np.testing.assert_allclose(value, [value[0], 2 * value[0], value[0]], rtol=1e-6)


def test_dropout_masks_what_matrices_read_and_not_what_a_gate_keeps():
    """With W = 0 the state moves by -sigmoid(b_z) v_h, whatever is dropped."""
    config = ModelConfig(dim=4, composition="gated")
    params = jax.tree.map(jnp.zeros_like, composition.init(jax.random.key(0), config))
    v_h, inputs = jnp.arange(1.0, 5.0), jnp.zeros(8)
    dropped = jnp.array([0.0, 2.0, 0.0, 2.0])
    np.testing.assert_allclose(
        composition.apply(params, "gated", v_h, inputs, dropped), -0.5 * v_h, rtol=1e-6
    )
    params["W_h"] = jnp.concatenate([jnp.eye(4), jnp.zeros((4, 4))], axis=1)
    np.testing.assert_allclose(
        composition.apply(params, "gated", v_h, inputs, dropped),
        0.5 * (jnp.tanh(dropped * v_h) - v_h),
        rtol=1e-6,
    )
