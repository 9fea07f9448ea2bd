"""The Poincare ball `{x in R^d : c |x|^2 < 1}` of curvature -c.

The last axis is the vector; leading axes broadcast. `c` may be a Python number, traced and
differentiated, from 1e-12 to 1e2; a concrete c that is not finite and positive raises `InputError`.
Results have the dtype of the points, float32 or float64 (half precision raises `InputError`); `c`
is rounded to it. The metric at the origin is four times the flat one: as c -> 0, `d -> 2 |x - y|`
and `d^2 -> 4 |x - y|^2`, while the maps meet those of `euclidean`.

Everything is written in the conformal gap `g(x) = 1 - c |x|^2`, which is computed with
compensation. Three lengths, measured by `sqrt(c) |log_0 x|`, bound what floating point can hold:

| | float32 | float64 |
| --- | ---: | ---: |
| `exp_0` shortens its argument to | 7.5 | 17.5 |
| gaps are kept above that of | 7.4 | 17.4 |
| `project` moves points to (radius 1 - margin) | 3.1 | 6.1 |

So results lie strictly inside the ball, and values and gradients are finite on the closed ball.

References: Ungar, "A Gyrovector Space Approach to Hyperbolic Geometry" (2008); Ganea, Becigneul,
Hofmann, "Hyperbolic Neural Networks" (1805.09112).
"""

import math
from typing import Any

import jax.numpy as jnp
from jax import Array, lax
from jax.typing import ArrayLike

from rilm_jax.manifolds import _numerics as num
from rilm_jax.manifolds.product import BALL, pairwise

product_form = BALL


def _sech2(u: float) -> float:
    return 1 / math.cosh(u) ** 2


def _is_wide(x: Array) -> bool:
    return x.dtype == jnp.float64


def _cap(x: Array) -> float:
    """Longest `sqrt(c) |v|` that exp_0 tells apart from the boundary."""
    return 17.5 if _is_wide(x) else 7.5


def _floor(g: Array) -> Array:
    """A gap kept away from 0, for use in a denominator or a logarithm.

    The bound is a little above the gap at the cap, so that everything exp_0 saturates has the
    same log_0, and a little below the gaps (|log_0| <= 7) that have to be exact.
    """
    return jnp.maximum(g, _sech2(_cap(g) - 0.1))


def _inside(x: Array, w: Array) -> Array:
    """x scaled back to the cap where rounding took it beyond; w = c |x|^2."""
    limit = 1 - _sech2(_cap(x))
    return x * jnp.sqrt(limit / jnp.maximum(w, limit))


def _args(c: Any, **points: Any) -> list[Array]:
    arrays = num.as_points(**points)
    return [*arrays, num.as_curvature(c, arrays[0].dtype)]


def _safe_gap(x: Array, c: Array) -> Array:
    return _floor(num.sqnorm_and_gap(x, c)[1])


def _exp0(v: Array, u: Array) -> tuple[Array, Array, Array]:
    """exp_0(v) with its `c |.|^2` and its gap, from u = c |v|^2."""
    ratio, gap_e = num.tanh_terms(u, _cap(v))
    return ratio * v, u * ratio**2, gap_e


def _add(x: Array, gx: Array, y: Array, wy: Array, gy: Array, c: Array) -> tuple[Array, Array]:
    """x (+) y and its gap, exact at y = 0, given g(x), c |y|^2 and g(y).

    `x (+) y = x + g(x) (y + c|y|^2 x) / D` with `D = c |x + y|^2 + g(x) g(y)`, a form of the usual
    denominator `1 + 2c<x,y> + c^2|x|^2|y|^2` that does not cancel and cannot vanish.
    """
    z = x + y
    denominator = c * num.dot(z, z) + gx * gy
    return x + (gx / denominator) * (y + wy * x), gx * gy / denominator


def _subtract(x: Array, gx: Array, y: Array, gy: Array, c: Array) -> tuple[Array, Array]:
    """(-x) (+) y and its gap, exact at y = x: `(g(x) z - c|z|^2 x) / D` with z = y - x."""
    z = y - x
    zeta = c * num.dot(z, z)
    denominator = zeta + gx * gy
    return (gx * z - zeta * x) / denominator, gx * gy / denominator


def gap(x: ArrayLike, c: Any) -> Array:
    """The conformal gap `g(x) = 1 - c |x|^2`, of shape [..., 1].

    Summed with compensation: the relative error is about 1e-7 in float32 up to |log_0 x| = 7.
    The raw value: 0 on the boundary and negative outside.
    """
    x, c = _args(c, x=x)
    return num.sqnorm_and_gap(x, c)[1]


def conformal_factor(x: ArrayLike, c: Any) -> Array:
    """`lambda_x = 2 / g(x)`, of shape [..., 1]; a tangent vector's length at x is lambda_x |v|."""
    x, c = _args(c, x=x)
    return 2 / _safe_gap(x, c)


def project(x: ArrayLike, c: Any) -> Array:
    """Rows beyond the radius `(1 - margin) / sqrt(c)` scaled back onto it, the others untouched.

    The margin is 4e-3 in float32 (|log_0| = 3.1, where the Gram form of `pairwise_sqdist` still
    works) and 1e-5 in float64. Rows at the radius, up to rounding, are left alone, so projecting
    twice changes nothing. The gradient is that of the scaling: its tangential part passes.
    """
    x, c = _args(c, x=x)
    radius = 1 - (1e-5 if _is_wide(x) else 4e-3)
    x = num.shortened(x)
    w, _ = num.sqnorm_and_gap(x, c)
    beyond = w > radius**2 * (1 + 8 * float(jnp.finfo(x.dtype).eps))
    return jnp.where(beyond, x * (radius / jnp.sqrt(jnp.where(beyond, w, 1))), x)


def mobius_add(x: ArrayLike, y: ArrayLike, c: Any) -> Array:
    """Mobius addition, of shape [..., d].

    `x (+) y = ((1 + 2c<x,y> + c|y|^2) x + (1 - c|x|^2) y) / (1 + 2c<x,y> + c^2|x|^2|y|^2)`,
    rearranged so that nothing cancels, and guarded where x and y are opposite boundary points.
    On a line through 0 it adds as velocities do:

    >>> mobius_add(jnp.array([0.5, 0.0]), jnp.array([0.5, 0.0]), 1.0).round(6)
    Array([0.8, 0. ], dtype=float32)
    """
    x, y, c = _args(c, x=x, y=y)
    wx, gx = num.sqnorm_and_gap(x, c)
    wy, gy = num.sqnorm_and_gap(y, c)
    gx, gy = _floor(gx), _floor(gy)
    added, _ = _add(x, gx, y, wy, gy, c)
    subtracted, _ = _subtract(-x, gx, y, gy, c)
    z = x + y
    total = jnp.where(4 * c * num.dot(z, z) < wx, subtracted, added)
    return _inside(total, num.sqnorm_and_gap(total, c)[0])


def mobius_scalar_mul(r: Any, x: ArrayLike, c: Any) -> Array:
    """`r (*) x = exp_0(r log_0 x)`; r broadcasts against [..., 1]."""
    x, c = _args(c, x=x)
    return expmap0(num.as_scalar(r, x.dtype) * logmap0(x, c), c)


def expmap0(v: ArrayLike, c: Any) -> Array:
    """`exp_0(v) = tanh(sqrt(c) |v|) v / (sqrt(c) |v|)`, of shape [..., d].

    Tangent vectors longer than 7.5 / sqrt(c) (float32; 17.5 in float64) are shortened to that.
    """
    v, c = _args(c, v=v)
    v = num.shortened(v)
    return _exp0(v, num.sqnorm_and_gap(v, c)[0])[0]


def logmap0(y: ArrayLike, c: Any) -> Array:
    """`log_0(y) = artanh(sqrt(c) |y|) y / (sqrt(c) |y|)`, of shape [..., d].

    artanh(r) is taken as `log(1 + r) - log(g) / 2` from the compensated gap; its value stops
    growing at 7.4 in float32 and 17.4 in float64, on the boundary too.
    """
    y, c = _args(c, y=y)
    w, g = num.sqnorm_and_gap(y, c)
    return num.artanhc(w, _floor(g)) * y


def expmap(x: ArrayLike, v: ArrayLike, c: Any) -> Array:
    """`exp_x(v) = x (+) exp_0(v / g(x))`, of shape [..., d].

    The step's Riemannian length 2|v|/g(x) is shortened to twice the cap of `expmap0`.
    """
    x, v, c = _args(c, x=x, v=v)
    gx = _safe_gap(x, c)
    # Far beyond the cap only the direction counts; a shorter vector keeps derivatives in range.
    far, v = 1e3 * gx, num.shortened(v)
    step = v * lax.stop_gradient(far / jnp.maximum(jnp.sqrt(c * num.dot(v, v)), far)) / gx
    y, _ = _add(x, gx, *_exp0(step, num.sqnorm_and_gap(step, c)[0]), c)
    return _inside(y, num.sqnorm_and_gap(y, c)[0])


def logmap(x: ArrayLike, y: ArrayLike, c: Any) -> Array:
    """`log_x(y) = g(x) log_0((-x) (+) y)`, of shape [..., d]."""
    x, y, c = _args(c, x=x, y=y)
    gx, gy = _safe_gap(x, c), _safe_gap(y, c)
    difference, g = _subtract(x, gx, y, gy, c)
    return gx * num.artanhc(num.sqnorm_and_gap(difference, c)[0], g) * difference


def geodesic(t: Any, x: ArrayLike, y: ArrayLike, c: Any) -> Array:
    """`exp_x(t log_x(y))`: x at t = 0, y at t = 1; t broadcasts against [..., 1].

    Followed from the nearer end, so that both ends are exact however far apart they are.
    """
    x, y, c = _args(c, x=x, y=y)
    t = num.as_scalar(t, x.dtype)
    back = t > 0.5
    start, end = jnp.where(back, y, x), jnp.where(back, x, y)
    return expmap(start, jnp.where(back, 1 - t, t) * logmap(start, end, c), c)


def gyration(a: ArrayLike, b: ArrayLike, v: ArrayLike, c: Any) -> Array:
    """`gyr[a, b] v = -(a (+) b) (+) (a (+) (b (+) v))`, of shape [..., d].

    A rotation in the plane of a and b, linear in v, so v may be any vector. In closed form
    `v + 2 (p W v + W W v) / (p^2 - W^2)` with `p = 1 + c<a,b>` and `W v = c (a <b,v> - b <a,v>)`.
    """
    a, b, v, c = _args(c, a=a, b=b, v=v)
    ga, gb = _safe_gap(a, c), _safe_gap(b, c)
    z = a + b  # in place of b: W stays the same, and p = g(a) + c<a,z> does not cancel

    def w(u: Array) -> Array:
        return c * (a * num.dot(z, u) - z * num.dot(a, u))

    wv = w(v)
    p = ga + c * num.dot(a, z)
    return v + (2 / (c * num.dot(z, z) + ga * gb)) * (p * wv + w(wv))


def ptransp(x: ArrayLike, y: ArrayLike, v: ArrayLike, c: Any) -> Array:
    """Parallel transport of v from x to y: `gyr[y, -x] v * g(y) / g(x)`, of shape [..., d]."""
    x, y, v, c = _args(c, x=x, y=y, v=v)
    return gyration(y, -x, v, c) * (_safe_gap(y, c) / _safe_gap(x, c))


def ptransp0(y: ArrayLike, v: ArrayLike, c: Any) -> Array:
    """Parallel transport of v from the origin to y: `v g(y)`, of shape [..., d]."""
    y, v, c = _args(c, y=y, v=v)
    return v * _safe_gap(y, c)


def _sqdist(sqnorm: Array, gx: Array, gy: Array, c: Array) -> Array:
    """d^2 from |x - y|^2 and the gaps, without a division by c."""
    q = sqnorm / (gx * gy)
    return 4 * q * num.asinhc2(c * q)


def sqdist(x: ArrayLike, y: ArrayLike, c: Any) -> Array:
    """The squared distance, of shape [...] (the last axis is gone).

    `d^2 = (4/c) asinh(sqrt(delta))^2` with `delta = c |x-y|^2 / (g(x) g(y))`. Relative error at
    most 2e-6 in float32 for |log_0| <= 7 at any separation; exactly 0 with gradient 0 at x = y.
    """
    x, y, c = _args(c, x=x, y=y)
    return _sqdist(num.sqnorm(x - y), _safe_gap(x, c), _safe_gap(y, c), c)[..., 0]


def dist(x: ArrayLike, y: ArrayLike, c: Any) -> Array:
    """The distance `(2/sqrt(c)) asinh(sqrt(delta))`, of shape [...]; gradient 0 at x = y."""
    return num.safe_sqrt(sqdist(x, y, c))


def pairwise_sqdist(xs: ArrayLike, ys: ArrayLike, c: Any, *, exact: bool = False) -> Array:
    """The squared distance of every pair.

    Args:
      xs: (..., N, d).
      ys: (V, d).
      c: the curvature's magnitude.
      exact: add up differences coordinate by coordinate, as accurate as `sqdist`. By default
        `|x - y|^2` is `|x|^2 + |y|^2 - 2 <x,y>`, one GEMM, which cancels: at c = 1 the worst
        absolute error found in float32 is 2e-5 at |log_0| = 1, 8e-4 at 2, 6e-2 at 3, and it is
        useless from 4 on (for neighbours at d = 128; pairs that are far apart fare better). A GEMM
        that adds in blocks, as some versions have on some processors, has 6e-6, 3e-4 and 2e-2.
        A point's distance to itself is not exactly 0.

    Returns:
      (..., N, V).
    """
    xs, ys = num.as_pairwise(xs, ys)
    xs, ys, c = _args(c, xs=xs, ys=ys)
    gx, gy = _safe_gap(xs, c), _safe_gap(ys, c)
    if exact:
        return _sqdist(num.pairwise_sqnorm(xs, ys), gx, gy[:, 0], c)
    return pairwise(BALL, xs, gx, ys, gy, c)


def translate0(h: ArrayLike, g: ArrayLike, v: ArrayLike, c: Any) -> tuple[Array, Array]:
    """`h' = h (+) exp_0(v)` with the gap carried along: one step of a recurrence on the ball.

    `g(h (+) e) = g(h) g(e) / (1 + 2c<h,e> + c^2|h|^2|e|^2)` and `g(exp_0 v) = sech^2(sqrt(c)|v|)`
    have no cancellation, so the gap stays right near the boundary without compensated sums; while
    c|h'|^2 < 1/2 it is read off h', which stops the drift.

    Args:
      h: points, [..., d].
      g: their gaps, [..., 1].
      v: tangent vectors at the origin, [..., d], whose square does not overflow.
      c: the curvature's magnitude.

    Returns:
      The points h' [..., d] and their gaps [..., 1].
    """
    h, v, c = _args(c, h=h, v=v)
    g = _floor(num.as_scalar(g, h.dtype))
    h, g_carried = _add(h, g, *_exp0(v, c * num.dot(v, v)), c)
    w = c * num.dot(h, h)
    return _inside(h, w), jnp.where(w < 0.5, 1 - w, _floor(g_carried))


def logmap0_with_gap(h: ArrayLike, g: ArrayLike, c: Any) -> Array:
    """`log_0(h)` for points whose gap g [..., 1] is known, as `translate0` carries it."""
    h, c = _args(c, h=h)
    g = num.as_scalar(g, h.dtype)
    return num.artanhc(1 - g, _floor(g)) * h
