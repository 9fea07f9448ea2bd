"""The ball's operations: small inputs that have gone wrong elsewhere, and the laws they obey."""

import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rilm_jax.manifolds import euclidean, poincare

CURVATURES = [0.1, 1.0, 4.0]

OPERATIONS = {
    "expmap": "xv",
    "logmap": "xy",
    "expmap0": "v",
    "logmap0": "x",
    "ptransp": "xyv",
    "ptransp0": "xv",
    "dist": "xy",
    "sqdist": "xy",
    "project": "x",
    "gap": "x",
    "conformal_factor": "x",
    "mobius_add": "xy",
    "gyration": "xyv",
}


def compile_all(manifold):
    """Every function compiled as a whole, which is faster here than one operation at a time."""
    functions = {n: f for n, f in vars(manifold).items() if isinstance(f, types.FunctionType)}
    return types.SimpleNamespace(
        **{n: jax.jit(f) for n, f in functions.items() if not n.startswith("_")}
    )


compiled, compiled_flat = compile_all(poincare), compile_all(euclidean)


def ball(rng, shape, c=1.0, longest=1.5):
    """Points at |log_0| <= longest (in units of 1 / sqrt(c))."""
    v = rng.normal(size=shape)
    v *= rng.uniform(0, longest, (*shape[:-1], 1)) / np.linalg.norm(v, axis=-1, keepdims=True)
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    return jnp.asarray(np.tanh(length) / length * v / np.sqrt(c), jnp.float32)


def normal(rng, *shape):
    return jnp.asarray(rng.normal(size=shape), jnp.float32)


def close(got, expected, tol=1e-5):
    np.testing.assert_allclose(got, expected, rtol=tol, atol=tol)


def test_distance_of_a_point_to_itself_is_zero_with_zero_gradient():
    a = jnp.array([0.1, -0.2, 0.05, 0.0])
    for distance in (compiled.sqdist, compiled.dist, compiled_flat.sqdist, compiled_flat.dist):
        value, gradients = jax.value_and_grad(distance, (0, 1))(a, a, 1.0)
        assert value == 0
        assert all((g == 0).all() for g in gradients)


@pytest.mark.parametrize("function", [compiled.expmap0, compiled.logmap0])
@pytest.mark.parametrize("jacobian", [jax.jacfwd, jax.jacrev])
def test_jacobian_at_the_origin_is_the_identity(function, jacobian):
    first, second = jax.jit(jacobian(function)), jax.jit(jacobian(jacobian(function)))
    for c in (1e-12, 1.0, 1e2):
        np.testing.assert_array_equal(first(jnp.zeros(4), c), np.eye(4))
        assert (second(jnp.zeros(4), c) == 0).all()


@pytest.mark.parametrize(
    "f",
    [
        lambda v: compiled.expmap0(v, 0.9).sum(),
        lambda v: compiled.logmap0(0.9 * v, 0.9).sum(),
        lambda v: compiled.sqdist(0.9 * v, jnp.array([0.01, 0.02]), 0.9),
    ],
    ids=["expmap0", "logmap0", "sqdist"],
)
def test_derivatives_at_and_across_the_series_limit(f, x64):
    v = jnp.array([[0.0, 0.0], [0.2, 0.1], [0.2236, 0.0], [0.2357, 0.0], [0.23, 0.05], [0.9, -0.3]])
    value, gradient, hessian = (jax.jit(jax.vmap(g)) for g in (f, jax.grad(f), jax.hessian(f)))
    step = 1e-5
    for axis in np.eye(2):
        slope = (value(v + step * axis) - value(v - step * axis)) / (2 * step)
        np.testing.assert_allclose(gradient(v) @ axis, slope, rtol=1e-8, atol=1e-8)
        bend = (gradient(v + step * axis) - gradient(v - step * axis)) / (2 * step)
        np.testing.assert_allclose(hessian(v) @ axis, bend, rtol=1e-7, atol=1e-7)


def test_length_stays_ordered_up_to_the_cap():
    lengths = jnp.array([4, 5, 6, 7, 7.9])
    points = compiled.expmap0(lengths[:, None] * jnp.array([0.48, -0.6, 0.64]), 1.0)
    assert (jnp.diff(jnp.linalg.norm(compiled.logmap0(points, 1.0), axis=-1)) > 0).all()


@pytest.mark.parametrize("d", [1, 2, 128])
@pytest.mark.parametrize("c", [0.5, 1.0, 1.15, 2.0])
def test_length_never_falls_past_the_cap(rng, d, c):
    direction = normal(rng, d)
    direction /= jnp.linalg.norm(direction)
    lengths = jnp.concatenate([jnp.arange(0, 7, 0.25), jnp.geomspace(7.5, 1e10, 40)]) / c**0.5
    points = compiled.expmap0(lengths[:, None] * direction, c)
    back = np.linalg.norm(np.asarray(compiled.logmap0(points, c), np.float64), axis=-1)
    assert (np.diff(back) >= -1e-6 * back[1:]).all()
    np.testing.assert_allclose(back[-40:], 7.4 / c**0.5, rtol=1e-5)


def test_a_long_vector_lands_inside_the_ball():
    v = 1e3 * jnp.ones(6)
    point = compiled.expmap0(v, 1.0)
    assert jnp.linalg.norm(point) < 1
    assert jnp.isfinite(compiled.logmap0(point, 1.0)).all()
    back = jax.grad(lambda v: compiled.logmap0(compiled.expmap0(v, 1.0), 1.0).sum())(v)
    assert jnp.isfinite(back).all()


def test_a_vector_whose_square_overflows_keeps_its_direction():
    direction, origin = jnp.array([0.6, -0.8, 0.0]), jnp.zeros(3)
    for length in (1e9, 1e13, 1e19, 1e30):
        v = length * direction
        for far, near in (
            (compiled.expmap0(v, 1.0), compiled.expmap0(100 * direction, 1.0)),
            (compiled.expmap(origin, v, 1.0), compiled.expmap(origin, 100 * direction, 1.0)),
            (compiled.project(v, 1.0), compiled.project(100 * direction, 1.0)),
        ):
            np.testing.assert_allclose(far, near, rtol=1e-5)
        for c in (1e-12, 1.0, 100.0):  # turning it turns the point; more of it changes nothing
            slope = jax.jacobian(lambda v, c=c, length=length: length * compiled.expmap0(v, c))(v)
            point = compiled.expmap0(v, c)
            across = jnp.array([0.8, 0.6, 0.0])
            reach = jnp.linalg.norm(point)
            np.testing.assert_allclose(slope @ direction / reach, jnp.zeros(3), atol=1e-5)
            np.testing.assert_allclose(slope @ across / reach, across, atol=1e-5)


def test_what_is_no_number_stays_none():
    bad = jnp.array([0.1, jnp.nan])
    for function in (compiled.expmap0, compiled.logmap0, compiled.project):
        assert jnp.isnan(function(bad, 1.0)).any()
    assert jnp.isnan(compiled.dist(bad, jnp.zeros(2), 1.0))
    assert jnp.isnan(euclidean.dist(bad, jnp.zeros(2), 1.0))


@pytest.mark.parametrize("c", [0.01, 0.05, 1, 10, 100])
def test_distance_from_a_far_point_is_finite(c):
    v, e = jnp.array([6.0, -8.0, 0.0]), jnp.array([0.02, 0.01, -0.05])
    value, gradients = jax.value_and_grad(
        lambda v, e, c: compiled.sqdist(compiled.expmap0(v, c), e, c), (0, 1, 2)
    )(v, e, float(c))
    assert jnp.isfinite(value) and value > 0
    assert all(jnp.isfinite(g).all() for g in gradients)


def test_adding_and_transporting_nothing(rng):
    h, zero = ball(rng, (16,)), jnp.zeros(16)
    added = lambda h, v: compiled.mobius_add(h, compiled.expmap0(v, 1.0), 1.0)  # noqa: E731
    np.testing.assert_array_equal(added(h, zero), h)
    np.testing.assert_array_equal(compiled.ptransp0(h, zero, 1.0), zero)
    for f in (added, lambda h, v: compiled.ptransp0(h, v, 1.0)):
        assert all(jnp.isfinite(j).all() for j in jax.jacrev(f, (0, 1))(h, zero))


def test_a_tiny_distance_keeps_its_digits():
    # In one dimension, symmetric about 0: delta = 4 r^2 / (1 - r^2)^2 = 1e-9.
    r = (np.sqrt(1 + 1e-9) - 1) / np.sqrt(1e-9)
    x = jnp.array([r], jnp.float32)
    value, gradient = jax.value_and_grad(compiled.dist)(x, -x, 1.0)
    np.testing.assert_allclose(value, 6.3245553e-05, rtol=1e-6)
    assert jnp.isfinite(gradient).all()


def check_unit_speed(rng, dtype, tolerance):
    t = jnp.asarray([0.1, 0.2, 0.5, 1, 2, 3, 4, 5], dtype)[:, None, None]
    x = ball(rng, (64, 3)).astype(dtype)
    v = jnp.asarray(rng.normal(size=(64, 3)), dtype)
    v = v / (compiled.conformal_factor(x, 1.0) * jnp.linalg.norm(v, axis=-1, keepdims=True))
    y = compiled.expmap(x, t * v, 1.0)
    inside = jnp.linalg.norm(compiled.logmap0(y, 1.0), axis=-1) <= 4
    assert y.dtype == dtype
    assert inside.mean() > 0.9
    error = jnp.where(inside, jnp.abs(compiled.dist(x, y, 1.0) / t[..., 0] - 1), 0)
    assert error.max() <= tolerance


def test_geodesics_have_unit_speed(rng):
    check_unit_speed(rng, jnp.float32, 1e-3)


def test_geodesics_have_unit_speed_in_float64(rng, x64):
    check_unit_speed(rng, jnp.float64, 1e-8)


@pytest.mark.parametrize("c", [0.5, 1.15, 2.0])
@pytest.mark.parametrize("d", [1, 3, 128])
def test_results_stay_in_the_ball(rng, c, d):
    x, y = (ball(rng, (64, d), c, longest=9.0) for _ in range(2))
    y = y.at[:8].set(-x[:8]).at[8:16].set(x[8:16])
    v = normal(rng, 64, d) * 10 ** jnp.asarray(rng.uniform(-3, 6, (64, 1)), jnp.float32)
    results = {
        "expmap": compiled.expmap(x, v, c),
        "expmap0": compiled.expmap0(v, c),
        "mobius_add": compiled.mobius_add(x, y, c),
        "mobius_scalar_mul": compiled.mobius_scalar_mul(3.0, x, c),
        "geodesic": compiled.geodesic(0.3, x, y, c),
        "project": compiled.project(v, c),
        "translate0": compiled.translate0(x, compiled.gap(x, c), v, c)[0],
    }
    for name, point in results.items():
        radius = np.sqrt(c) * np.linalg.norm(np.asarray(point, np.float64), axis=-1)
        assert (radius < 1).all(), name


@pytest.mark.parametrize(
    "shapes", [((2, 3), (3,)), pytest.param(((2, 5, 1, 3), (4, 3)), marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("manifold", [compiled, compiled_flat])
def test_leading_axes_broadcast(rng, manifold, shapes):
    x, y = (ball(rng, shape) for shape in shapes)
    v = 0.3 * normal(rng, *shapes[1])
    lead = np.broadcast_shapes(shapes[0][:-1], shapes[1][:-1])
    xs, ys, vs = (jnp.broadcast_to(a, (*lead, 3)).reshape(-1, 3) for a in (x, y, v))
    for name, kinds in OPERATIONS.items():
        if len(kinds) == 1 or not hasattr(manifold, name):
            continue
        f = getattr(manifold, name)
        whole = f(*({"x": x, "y": y, "v": v}[k] for k in kinds), 0.7)
        rows = [
            f(*({"x": a, "y": b, "v": w}[k] for k in kinds), 0.7)
            for a, b, w in zip(xs, ys, vs, strict=True)
        ]
        close(whole, jnp.stack(rows).reshape(whole.shape), 1e-6)
        assert whole.shape[: len(lead)] == lead


def test_times_and_factors_broadcast(rng):
    x, y = ball(rng, (2, 4, 3))
    t = jnp.array([0.0, 0.3, 1.0])[:, None, None]
    for row, time in enumerate([0.0, 0.3, 1.0]):
        close(compiled.geodesic(t, x, y, 0.7)[row], compiled.geodesic(time, x, y, 0.7), 1e-6)
        scaled = compiled.mobius_scalar_mul(t, x, 0.7)[row]
        close(scaled, compiled.mobius_scalar_mul(time, x, 0.7), 1e-6)


def test_project_leaves_inner_rows_bitwise_alone():
    x = jnp.array([[-0.5, 0.2], [2.0, 0.0]])
    got = compiled.project(x, 1.0)
    np.testing.assert_array_equal(got[0], x[0])
    np.testing.assert_allclose(got[1], [1 - 4e-3, 0], rtol=1e-6)
    gradient = jax.grad(lambda x: (compiled.project(x, 1.0) @ jnp.array([1.0, 1.0])).sum())(x)
    np.testing.assert_allclose(gradient, [[1, 1], [0, 0.498]], atol=1e-6)


@pytest.mark.parametrize("c", [0.3, 1.0, 5.0])
def test_project_is_idempotent_bitwise(rng, c):
    once = compiled.project(normal(rng, 500, 64), c)
    np.testing.assert_array_equal(compiled.project(once, c), once)
    length = jnp.linalg.norm(compiled.logmap0(once, c), axis=-1) * c**0.5
    assert length.max() < 3.11


def test_only_the_zero_row_maps_to_zero(rng):
    v = normal(rng, 2665, 128).at[1234].set(0)
    point = jax.jit(compiled.expmap0)(v, 1.0)
    back = jax.jit(compiled.logmap0)(point, 1.0)
    for image in (point, back):
        np.testing.assert_array_equal(np.flatnonzero((image == 0).all(-1)), [1234])


def test_curvature_is_an_argument_not_a_constant(rng):
    x, y = ball(rng, (2, 4, 3))
    traces = 0

    @jax.jit
    def f(x, y, c):
        nonlocal traces
        traces += 1
        return compiled.sqdist(x, compiled.mobius_add(x, y, c), c)

    f(x, y, 1.0)
    half = f(x, y, 0.5)
    assert traces == 1
    close(half, compiled.sqdist(x, compiled.mobius_add(x, y, 0.5), 0.5), 1e-6)


@pytest.mark.parametrize("c", CURVATURES)
def test_curvature_is_a_change_of_unit(rng, c):
    x, y = ball(rng, (2, 32, 5), c)
    v = normal(rng, 32, 5)
    root = np.float32(np.sqrt(c))
    close(compiled.dist(x, y, c), compiled.dist(root * x, root * y, 1.0) / root)
    for name in ("expmap", "logmap", "mobius_add", "geodesic"):
        f, second = getattr(compiled, name), v if name == "expmap" else y
        t = (0.3,) if name == "geodesic" else ()
        close(f(*t, x, second, c), f(*t, root * x, root * second, 1.0) / root)


def test_a_bad_row_does_not_touch_its_neighbours(rng):
    x, y = (ball(rng, (5, 8), longest=2.0) for _ in range(2))
    x = x.at[3].multiply(0.9999 / jnp.linalg.norm(x[3]))
    y = y.at[1].set(x[1])
    gradient = jax.grad(compiled.sqdist, (0, 1))
    together = jax.vmap(gradient, (0, 0, None))(x, y, 1.0)
    for row in range(5):
        alone = gradient(x[row], y[row], 1.0)
        for g, h in zip(together, alone, strict=True):
            assert jnp.isfinite(g[row]).all()
            np.testing.assert_array_equal(g[row], h)


@pytest.mark.parametrize("c", CURVATURES)
def test_gyrogroup_laws(rng, c):
    a, b, p = ball(rng, (3, 64, 6), c)
    v = normal(rng, 64, 6)

    def add(x, y):
        return compiled.mobius_add(x, y, c)

    close(add(-a, add(a, b)), b, 2e-5)
    np.testing.assert_array_equal(add(a, -a), jnp.zeros_like(a))
    close(add(a, add(b, p)), add(add(a, b), compiled.gyration(a, b, p, c)), 5e-5)
    close(compiled.gyration(a, b, p, c), add(-add(a, b), add(a, add(b, p))), 5e-5)
    turned = compiled.gyration(a, b, v, c)
    close(jnp.linalg.norm(turned, axis=-1), jnp.linalg.norm(v, axis=-1))
    close(compiled.gyration(b, a, turned, c), v)
    close(compiled.mobius_scalar_mul(3, a, c), add(a, add(a, a)), 2e-5)
    p, q, denominator = _mobius_parts(a, b, c)
    close(add(a, b), (p * a + q * b) / denominator)


def _mobius_parts(a, b, c):
    ab, aa, bb = ((u * v).sum(-1, keepdims=True) for u, v in ((a, b), (a, a), (b, b)))
    return 1 + 2 * c * ab + c * bb, 1 - c * aa, 1 + 2 * c * ab + c**2 * aa * bb


@pytest.mark.parametrize("c", CURVATURES)
def test_exp_log_geodesic_and_transport_agree(rng, c):
    x, y = ball(rng, (2, 64, 6), c)
    v, w = normal(rng, 2, 64, 6) / np.sqrt(c)
    step = 0.5 * compiled.gap(x, c) * v
    close(compiled.logmap(x, compiled.expmap(x, step, c), c), step, 5e-5)
    close(compiled.expmap(x, compiled.logmap(x, y, c), c), y, 2e-5)
    close(compiled.logmap0(compiled.expmap0(v, c), c), v, 1e-4)
    close(compiled.expmap(jnp.zeros(6), v, c), compiled.expmap0(v, c), 1e-6)
    close(compiled.logmap(jnp.zeros(6), y, c), compiled.logmap0(y, c), 1e-6)
    length = jnp.linalg.norm(compiled.logmap(x, y, c), axis=-1)
    close(compiled.conformal_factor(x, c)[..., 0] * length, compiled.dist(x, y, c), 2e-5)

    np.testing.assert_array_equal(compiled.geodesic(0, x, y, c), x)
    np.testing.assert_array_equal(compiled.geodesic(1, x, y, c), y)
    for t in (0.25, 0.5, 0.75):
        point = compiled.geodesic(t, x, y, c)
        close(compiled.dist(x, point, c), t * compiled.dist(x, y, c), 5e-5)

    moved, moved_w = (compiled.ptransp(x, y, u, c) for u in (v, w))
    inner = compiled.conformal_factor(x, c)[..., 0] ** 2 * (v * w).sum(-1)
    close(compiled.conformal_factor(y, c)[..., 0] ** 2 * (moved * moved_w).sum(-1), inner, 1e-4)
    close(compiled.ptransp(y, x, moved, c), v)
    close(compiled.ptransp(jnp.zeros(6), y, v, c), compiled.ptransp0(y, v, c), 1e-6)
    # A geodesic's velocity is parallel along it.
    velocity = compiled.ptransp(x, y, compiled.logmap(x, y, c), c)
    close(velocity, -compiled.logmap(y, x, c), 5e-5)


@pytest.mark.parametrize("c", [1e-12, 1e-6])
def test_the_flat_limit(rng, c):
    x, y, v = normal(rng, 3, 16, 4)
    tolerance = 1e-6 if c == 1e-12 else 1e-4
    close(compiled.dist(x, y, c), 2 * compiled_flat.dist(x, y, c), tolerance)
    close(compiled.sqdist(x, y, c), 4 * compiled_flat.sqdist(x, y, c), tolerance)
    close(compiled.pairwise_sqdist(x, y, c), 4 * compiled_flat.pairwise_sqdist(x, y, c), tolerance)
    for name in ("expmap", "logmap", "expmap0", "logmap0", "ptransp", "ptransp0", "project"):
        points = ({"x": x, "y": y, "v": v}[k] for k in OPERATIONS[name])
        arguments = (*points, c)
        close(
            getattr(compiled, name)(*arguments), getattr(compiled_flat, name)(*arguments), tolerance
        )
    close(compiled.mobius_add(x, y, c), x + y, tolerance)
    slope = jax.grad(lambda c: compiled.sqdist(x[0], y[0], c))(c)  # d/dc = 4 s (|x|^2+|y|^2 - s/3)
    s, squares = ((x[0] - y[0]) ** 2).sum(), (x[0] ** 2 + y[0] ** 2).sum()
    np.testing.assert_allclose(slope, 4 * s * (squares - s / 3), rtol=1e-3)


@pytest.mark.parametrize(
    "name",
    [
        n if n in ("expmap0", "logmap", "sqdist") else pytest.param(n, marks=pytest.mark.slow)
        for n in OPERATIONS
    ],
)
def test_jit_and_vmap_change_nothing(rng, name):
    x, y = ball(rng, (2, 6, 5), 0.8)
    v = normal(rng, 6, 5)
    points = [{"x": x, "y": y, "v": v}[k] for k in OPERATIONS[name]]
    f = getattr(poincare, name)
    eager = f(*points, 0.8)
    close(jax.jit(f)(*points, 0.8), eager, 1e-6)
    close(jax.vmap(f, (0,) * len(points) + (None,))(*points, 0.8), eager, 1e-6)


def test_one_curvature_a_row_under_vmap(rng):
    x, y = ball(rng, (2, 3, 5), 4.0)
    c = jnp.array([0.1, 1.0, 4.0])
    rows = [compiled.sqdist(x[i], y[i], float(c[i])) for i in range(3)]
    close(jax.vmap(compiled.sqdist)(x, y, c), jnp.stack(rows), 1e-6)


def test_translate0_is_addition_with_its_gap(rng):
    def carried(h, v, c):
        return poincare.logmap0_with_gap(*poincare.translate0(h, poincare.gap(h, c), v, c), c).sum()

    def direct(h, v, c):
        total = poincare.mobius_add(h, poincare.expmap0(v, c), c)
        return poincare.logmap0(total, c).sum()

    slopes = [jax.jit(jax.grad(f, (0, 1, 2))) for f in (carried, direct)]
    for c in CURVATURES:
        h = ball(rng, (64, 8), c, longest=3.0)
        v = 0.5 * normal(rng, 64, 8) / np.sqrt(c)
        moved, gap = compiled.translate0(h, compiled.gap(h, c), v, c)
        expected = compiled.mobius_add(h, compiled.expmap0(v, c), c)
        close(moved, expected, 1e-6)
        np.testing.assert_allclose(gap, compiled.gap(expected, c), rtol=1e-3)
        close(compiled.logmap0_with_gap(moved, gap, c), compiled.logmap0(moved, c), 2e-3)
        h = ball(rng, (64, 8), c)
        for got, wanted in zip(*(slope(h, v, c) for slope in slopes), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-3 * jnp.abs(wanted).max())
