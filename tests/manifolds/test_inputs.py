"""Dtypes, curvatures and shapes that are taken, refused, and named in the message; the registry."""

import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rilm_jax import manifolds
from rilm_jax.errors import InputError
from rilm_jax.manifolds import euclidean, poincare

X = [[0.1, 0.2, -0.3], [0.0, 0.5, 0.1]]

CALLS = {
    "expmap": lambda m, x, c: m.expmap(x, x, c),
    "logmap": lambda m, x, c: m.logmap(x, x, c),
    "expmap0": lambda m, x, c: m.expmap0(x, c),
    "logmap0": lambda m, x, c: m.logmap0(x, c),
    "dist": lambda m, x, c: m.dist(x, x, c),
    "sqdist": lambda m, x, c: m.sqdist(x, x, c),
    "pairwise_sqdist": lambda m, x, c: m.pairwise_sqdist(x, x, c),
    "exact": lambda m, x, c: m.pairwise_sqdist(x, x, c, exact=True),
    "project": lambda m, x, c: m.project(x, c),
    "ptransp": lambda m, x, c: m.ptransp(x, x, x, c),
    "ptransp0": lambda m, x, c: m.ptransp0(x, x, c),
}
BALL_CALLS = {
    "gap": lambda m, x, c: m.gap(x, c),
    "conformal_factor": lambda m, x, c: m.conformal_factor(x, c),
    "mobius_add": lambda m, x, c: m.mobius_add(x, x, c),
    "mobius_scalar_mul": lambda m, x, c: m.mobius_scalar_mul(np.float64(2), x, c),
    "geodesic": lambda m, x, c: m.geodesic(np.float64(0.5), x, x, c),
    "gyration": lambda m, x, c: m.gyration(x, x, x, c),
    "translate0": lambda m, x, c: m.translate0(x, m.gap(x, c), x, c)[0],
    "gap_of_translate0": lambda m, x, c: m.translate0(x, m.gap(x, c), x, c)[1],
    "logmap0_with_gap": lambda m, x, c: m.logmap0_with_gap(x, m.gap(x, c), c),
}


def all_calls():
    yield from ((euclidean, call) for call in CALLS.values())
    yield from ((poincare, call) for call in {**CALLS, **BALL_CALLS}.values())


def dtype_of(call, manifold, x, c):
    """Of the result, without computing it; c keeps its Python or NumPy type."""
    return jax.eval_shape(lambda: call(manifold, x, c)).dtype


def curvatures():
    return [1, 1.0, np.float32(1), np.float64(1), np.int64(1), np.array(1.0), jnp.array(1.0)]


def test_results_have_the_dtype_of_the_points():
    for manifold, call in all_calls():
        for x in (np.array(X), np.array(X, np.float32), np.zeros((2, 3), int), X):
            assert dtype_of(call, manifold, x, 1.0) == jnp.float32
    for c in curvatures():
        assert dtype_of(CALLS["sqdist"], poincare, np.array(X), c) == jnp.float32
    assert poincare.sqdist(np.array(X), np.array(X), np.float64(1)).dtype == jnp.float32


def test_curvature_never_promotes_in_64_bit_mode(x64):
    for manifold, call in all_calls():
        for dtype in (np.float32, np.float64):
            x = np.array(X, dtype)
            for c in (1, np.float64(1), jnp.array(1.0)):
                assert dtype_of(call, manifold, x, c) == dtype
            traced = jax.eval_shape(lambda x, c, f=call, m=manifold: f(m, x, c), x, 1.0)
            assert traced.dtype == dtype
        assert dtype_of(call, manifold, np.zeros((2, 3), int), 1.0) == np.float64
    x = np.array(X, np.float32)
    assert poincare.sqdist(x, x, np.float64(1)).dtype == np.float32
    assert poincare.sqdist(x, x.astype(np.float64), 1.0).dtype == np.float64


BAD = [0, -1.0, float("nan"), float("inf"), np.float32(-1), np.array(0.0), "one", None, [1.0, 2.0]]


@pytest.mark.parametrize("c", BAD, ids=repr)
def test_the_ball_refuses_a_bad_curvature(c):
    for call in {**CALLS, **BALL_CALLS}.values():
        with pytest.raises(InputError, match=r"^c is .*; "):
            call(poincare, jnp.array(X), c)
        with pytest.raises(InputError, match=r"^c is .*; "):
            jax.jit(lambda x, f=call: f(poincare, x, c))(jnp.array(X))


def test_a_device_array_is_checked_and_a_traced_vector_refused():
    with pytest.raises(InputError, match="finite c > 0"):
        poincare.expmap0(X, jnp.array(-1.0))
    with pytest.raises(InputError, match=r"shape \(2,\)"):
        jax.jit(poincare.expmap0)(jnp.array(X), jnp.ones(2))


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16, jnp.complex64, bool])
def test_other_dtypes_are_refused(dtype):
    for manifold, call in all_calls():
        with pytest.raises(InputError, match="float32 or float64"):
            call(manifold, jnp.zeros((2, 3), dtype), 1.0)


def test_shapes_are_checked():
    for manifold in (euclidean, poincare):
        with pytest.raises(InputError, match="x has 3, y has 1"):
            manifold.sqdist(jnp.zeros(3), jnp.zeros(1), 1.0)
        with pytest.raises(InputError, match="is a scalar"):
            manifold.project(0.5, 1.0)
        with pytest.raises(InputError, match=r"shape \(V, d\)"):
            manifold.pairwise_sqdist(jnp.zeros((2, 3)), jnp.zeros((2, 2, 3)), 1.0)


def test_no_rows_and_leading_axes_of_pairs():
    for manifold in (euclidean, poincare):
        assert manifold.sqdist(jnp.zeros((0, 3)), jnp.zeros((0, 3)), 1.0).shape == (0,)
        for exact in (False, True):
            xs, ys = jnp.full((2, 4, 3), 0.1), jnp.full((5, 3), -0.1)
            table = jax.jit(manifold.pairwise_sqdist, static_argnames="exact")
            assert table(xs, ys, 1.0, exact=exact).shape == (2, 4, 5)


def test_flat_space_ignores_the_curvature():
    for c in (-1.0, 0.0, None):
        np.testing.assert_array_equal(euclidean.expmap([1.0, 2.0], [3, 4], c), [4, 6])
        assert euclidean.sqdist([1.0, 2.0], [4.0, 6.0], c) == 25
        assert euclidean.dist([1.0, 2.0], [4.0, 6.0], c) == 5


def test_the_registry_knows_and_suggests():
    assert manifolds.get("poincare") is poincare
    assert manifolds.get("euclidean") is euclidean
    assert manifolds.names() == ("euclidean", "poincare")
    with pytest.raises(InputError, match="did you mean 'poincare'"):
        manifolds.get("pointcare")


def test_a_geometry_from_outside(monkeypatch):
    monkeypatch.setattr(manifolds._REGISTRY, "_added", {})
    flat = types.SimpleNamespace(**{n: getattr(euclidean, n) for n in manifolds._REQUIRED})
    manifolds.register("torus", flat)
    manifolds.register("torus", flat)
    assert manifolds.get("torus") is flat
    assert "torus" in manifolds.names()
    with pytest.raises(InputError, match="taken"):
        manifolds.register("poincare", flat)
    del flat.sqdist, flat.expmap0
    with pytest.raises(InputError, match="lacks expmap0, sqdist"):
        manifolds.register("other", flat)
