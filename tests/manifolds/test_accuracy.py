"""Values against 50-digit references taken on the very floats that the functions are given."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rilm_jax.manifolds import euclidean, poincare


def exact_gap(mp, x, c):
    return 1 - mp.mpf(float(c)) * mp.fsum(mp.mpf(float(a)) ** 2 for a in x)


def exact_sqdist(mp, x, y, c):
    square = mp.fsum((mp.mpf(float(a)) - mp.mpf(float(b))) ** 2 for a, b in zip(x, y, strict=True))
    delta = mp.mpf(float(c)) * square / (exact_gap(mp, x, c) * exact_gap(mp, y, c))
    return 4 / mp.mpf(float(c)) * mp.asinh(mp.sqrt(delta)) ** 2


def directions(rng, n, d):
    v = rng.normal(size=(n, d))
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def pairs(rng, c, d, longest, dtype, n=48):
    """Pairs at |log_0| <= longest, their separations spread from 1e-5 to the diameter."""
    u = rng.uniform(0, longest, (n, 1))
    x = np.tanh(u) * directions(rng, n, d)
    step = 10 ** rng.uniform(-5, 0.5, (n, 1))
    y = np.where(
        np.arange(n)[:, None] % 3, x + step * (1 - np.tanh(u) ** 2) * directions(rng, n, d), -x
    )
    length = np.linalg.norm(y, axis=-1, keepdims=True)
    y = y * np.minimum(1, np.tanh(longest) / length)
    return (x / np.sqrt(c)).astype(dtype), (y / np.sqrt(c)).astype(dtype)


@pytest.mark.parametrize("d", [2, 5, 128])
@pytest.mark.parametrize("jit", [False, True])
def test_sqdist_is_exact_to_2e_6_in_float32(rng, digits, d, jit):
    sqdist = jax.jit(poincare.sqdist) if jit else poincare.sqdist
    for c in np.float32([0.013, 0.5, 1, 1.15, 70]):
        x, y = pairs(rng, c, d, 6.95, np.float32)
        expected = np.array(
            [float(exact_sqdist(digits, a, b, c)) for a, b in zip(x, y, strict=True)]
        )
        got, moved = np.asarray(sqdist(x, y, c)), (x != y).any(-1)
        assert moved.sum() > 40
        np.testing.assert_allclose(got[moved], expected[moved], rtol=2e-6)
        assert (got[~moved] == 0).all()


def test_sqdist_in_float64(rng, digits, x64):
    for c in [0.1, 1.0, 7.0]:
        x, y = pairs(rng, c, 3, 16.0, np.float64, n=24)
        expected = [float(exact_sqdist(digits, a, b, c)) for a, b in zip(x, y, strict=True)]
        np.testing.assert_allclose(poincare.sqdist(x, y, c), expected, rtol=1e-13)


@pytest.mark.parametrize("d", [1, 7, 128])
def test_gap_keeps_its_digits_near_the_boundary(rng, digits, d):
    c = np.float32(0.3)
    x, _ = pairs(rng, c, d, 7.0, np.float32)
    expected = np.array([[float(exact_gap(digits, row, c))] for row in x])
    np.testing.assert_allclose(poincare.gap(x, c), expected, rtol=1e-6)
    np.testing.assert_allclose(poincare.conformal_factor(x, c), 2 / expected, rtol=1e-6)


def test_gradient_of_sqdist_near_the_boundary(rng, digits):
    x, y = pairs(rng, 1.0, 3, 5.0, np.float32, n=8)
    got = jax.jit(jax.vmap(jax.grad(poincare.sqdist), (0, 0, None)))(x, y, 1.0)
    for row, (a, b) in enumerate(zip(x, y, strict=True)):
        for i in range(3):

            def along(t, a=a, b=b, i=i):
                moved = [digits.mpf(float(v)) + (t if j == i else 0) for j, v in enumerate(a)]
                gap = 1 - digits.fsum(m**2 for m in moved)
                square = digits.fsum((m - float(v)) ** 2 for m, v in zip(moved, b, strict=True))
                return 4 * digits.asinh(digits.sqrt(square / (gap * exact_gap(digits, b, 1)))) ** 2

            expected = float(digits.diff(along, 0, h=digits.mpf("1e-20")))
            scale = np.abs(got[row]).max()
            np.testing.assert_allclose(got[row, i], expected, atol=5e-6 * scale)


def test_the_gram_form_is_as_accurate_as_documented(rng):
    errors = {}
    table_of = jax.jit(poincare.pairwise_sqdist, static_argnames="exact")
    for length in (1.0, 2.0, 3.0):
        x = (np.tanh(length) * directions(rng, 200, 128)).astype(np.float32)
        near = x + np.float32(0.01 * (1 - np.tanh(length) ** 2)) * directions(rng, 200, 128)
        table = np.concatenate([x, near]).astype(np.float32)
        exact = poincare.sqdist(x[:, None], table, 1.0)
        np.testing.assert_allclose(
            table_of(x, table, 1.0, exact=True), exact, rtol=2e-6, atol=1e-12
        )
        errors[length] = float(jnp.abs(table_of(x, table, 1.0) - exact).max())
    # How a GEMM adds differs by version and processor; these hold for one that adds one by one.
    for length, bound in zip((1.0, 2.0, 3.0), (2.5e-5, 1e-3, 8e-2), strict=True):
        assert errors[length] < bound, length


@pytest.mark.parametrize("manifold", [euclidean, poincare])
@pytest.mark.parametrize("exact", [False, True])
def test_pairwise_never_holds_all_differences(manifold, exact):
    n, v, d = 256, 320, 64
    xs, ys = jnp.full((n, d), 0.01), jnp.full((v, d), 0.02)

    def total(xs, ys):
        return manifold.pairwise_sqdist(xs, ys, 1.0, exact=exact).sum()

    for f in (total, jax.grad(total, (0, 1))):
        used = jax.jit(f).lower(xs, ys).compile().memory_analysis().temp_size_in_bytes
        assert used < n * v * d * 4 / 3


def test_pairwise_exact_has_the_gradient_of_sqdist(rng):
    xs, ys = (0.1 * rng.normal(size=(n, 11)).astype(np.float32) for n in (3, 5))
    weights = rng.normal(size=(3, 5)).astype(np.float32)

    def paired(xs, ys):
        return (weights * poincare.pairwise_sqdist(xs, ys, 0.7, exact=True)).sum()

    def looped(xs, ys):
        return (weights * poincare.sqdist(xs[:, None], ys, 0.7)).sum()

    for got, expected in zip(
        jax.jit(jax.grad(paired, (0, 1)))(xs, ys),
        jax.jit(jax.grad(looped, (0, 1)))(xs, ys),
        strict=True,
    ):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("c", [0.5, 1.0])
def test_the_carried_gap_is_right_after_64_steps_near_the_boundary(rng, digits, c):
    c = np.float32(c)
    start = np.tanh(4.5) * directions(rng, 4, 16) / np.sqrt(c)
    h = start.astype(np.float32)
    steps = (0.1 * directions(rng, 64 * 4, 16) / np.sqrt(c)).reshape(64, 4, 16).astype(np.float32)
    h_end, g_end = jax.lax.scan(
        lambda hg, v: (poincare.translate0(*hg, v, c), None), (h, poincare.gap(h, c)), steps
    )[0]
    for row in range(4):
        x, c_ = [digits.mpf(float(a)) for a in h[row]], digits.mpf(float(c))
        for v in steps[:, row]:
            v = [digits.mpf(float(a)) for a in v]
            s = digits.sqrt(c_ * digits.fsum(a * a for a in v))
            e = [digits.tanh(s) / s * a for a in v]
            xe = digits.fsum(a * b for a, b in zip(x, e, strict=True))
            xx, ee = digits.fsum(a * a for a in x), digits.fsum(a * a for a in e)
            denominator = 1 + 2 * c_ * xe + c_**2 * xx * ee
            p, q = 1 + 2 * c_ * xe + c_ * ee, 1 - c_ * xx
            x = [(p * a + q * b) / denominator for a, b in zip(x, e, strict=True)]
        gap = float(1 - c_ * digits.fsum(a * a for a in x))
        assert gap < 0.05
        np.testing.assert_allclose(g_end[row, 0], gap, rtol=1e-3)
        np.testing.assert_allclose(h_end[row], [float(a) for a in x], atol=1e-5)
