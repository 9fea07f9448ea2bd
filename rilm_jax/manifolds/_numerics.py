"""Arithmetic shared by the geometries: checked inputs, compensated sums, safe functions.

Two things make hyperbolic geometry hard in floating point, and both are settled here.
`1 - c |x|^2` cancels near the boundary, so it is summed in double-word arithmetic
(Dekker, "A floating-point technique for extending the available precision", 1971).
`tanh(sqrt u) / sqrt u` and its relatives are analytic at u = 0 while their formulas are not,
so they are evaluated as series there.
"""

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.core import Tracer

from rilm_jax.errors import InputError

# Below this argument the analytic functions are evaluated as series. It is large enough for the
# closed forms to keep their accuracy, second derivatives included, and small enough for few terms.
_SERIES_BELOW = 0.05


def as_points(**points: Any) -> list[Array]:
    """Arrays of one floating dtype whose last axes agree; `InputError` for anything else.

    Integers become the default float. Half precision is refused: `1 - c |x|^2` has no correct
    digit left there beyond |log_0 x| of about 3.
    """
    arrays = {name: jnp.asarray(value) for name, value in points.items()}
    for name, array in arrays.items():
        if array.ndim == 0:
            raise InputError(
                f"{name} is a scalar; give an array [..., d] whose last axis is the vector."
            )
        if not jnp.issubdtype(array.dtype, jnp.integer) and array.dtype not in (
            jnp.float32,
            jnp.float64,
        ):
            raise InputError(
                f"{name} has dtype {array.dtype}; geometry works in float32 or float64, so convert "
                f"it first, e.g. {name}.astype('float32')."
            )
    sizes = {name: array.shape[-1] for name, array in arrays.items()}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} has {size}" for name, size in sizes.items())
        raise InputError(f"The vectors differ in dimension ({listed}); make the last axes equal.")
    dtype = jnp.result_type(*arrays.values())
    if not jnp.issubdtype(dtype, jnp.floating):
        dtype = jnp.result_type(float)
    return [array.astype(dtype) for array in arrays.values()]


def as_scalar(value: Any, dtype: Any) -> Array:
    """A number or array in the dtype of the points, so that it never promotes them."""
    return jnp.asarray(value).astype(dtype)


def as_curvature(c: Any, dtype: Any) -> Array:
    """The curvature's magnitude as a scalar of `dtype`; its value is checked where it is known."""
    if not isinstance(c, Tracer):
        try:
            value = float(c)
        except (TypeError, ValueError):
            raise InputError(f"c is {c!r}; give the curvature as one positive number.") from None
        if not (math.isfinite(value) and value > 0):
            raise InputError(
                f"c is {value}; the ball needs a finite c > 0 (for flat space use 'euclidean')."
            )
    elif c.ndim != 0:
        raise InputError(f"c has shape {c.shape}; give one number, and jax.vmap over several.")
    return as_scalar(c, dtype)


def dot(x: Array, y: Array) -> Array:
    """x . y over the last axis, kept as an axis of size 1."""
    return jnp.sum(x * y, axis=-1, keepdims=True)


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b as a rounded sum and its exact error (Knuth)."""
    total = a + b
    b_seen = total - a
    return total, (a - (total - b_seen)) + (b - b_seen)


def _split(x: Array) -> tuple[Array, Array]:
    """x as two halves of its mantissa, so short that products of halves are exact.

    The bits are masked. Veltkamp's split multiplies instead, and a compiler that contracts
    a * b - c into one fused operation breaks it; exact products cannot be broken that way.
    """
    wide = x.dtype == jnp.float64
    uint, low_bits = (np.uint64, 27) if wide else (np.uint32, 12)
    mask = ~uint((1 << low_bits) - 1)
    high = lax.bitcast_convert_type(lax.bitcast_convert_type(x, uint) & mask, x.dtype)
    return high, x - high


def _two_prod(a: Array, b: Array) -> tuple[Array, Array]:
    """a * b as an unevaluated sum of two numbers."""
    (ah, al), (bh, bl) = _split(a), _split(b)
    partial_sum, error = _two_sum(ah * bh, ah * bl)
    total, error_2 = _two_sum(partial_sum, al * bh)
    return total, error + error_2 + al * bl


def _two_square(x: Array) -> tuple[Array, Array]:
    high, low = _split(x)
    total, error = _two_sum(high * high, 2 * (high * low))
    return total, error + low * low


def _sum_squares(x: Array) -> tuple[Array, Array]:
    """|x|^2 over the last axis (kept) in double-word arithmetic, in whatever order XLA adds."""

    def add(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
        total, error = _two_sum(a[0], b[0])
        return total, a[1] + b[1] + error

    zero = jnp.zeros((), x.dtype)
    high, low = lax.reduce(_two_square(x), (zero, zero), add, (x.ndim - 1,))
    return high[..., None], low[..., None]


@jax.custom_jvp
@jax.jit
def sqnorm_and_gap(x: Array, c: Array) -> tuple[Array, Array]:
    """`c |x|^2` and `1 - c |x|^2`, both correct to about one rounding, of shape [..., 1].

    The second keeps its digits as x nears the boundary: its absolute error is about 1e-14 in
    float32, where the plain formula's is 1e-7. The derivative is the plain one.
    """
    high, low = _sum_squares(x)
    product, error = _two_prod(c, high)
    error = error + c * low
    return product + error, (1 - product) - error


@sqnorm_and_gap.defjvp
def _sqnorm_and_gap_jvp(primals, tangents):
    (x, c), (dx, dc) = primals, tangents
    d = 2 * c * dot(x, dx) + dot(x, x) * dc
    return sqnorm_and_gap(x, c), (d, -d)


def sqnorm(x: Array) -> Array:
    """|x|^2 of shape [..., 1], compensated, so that it does not depend on the order of the sum."""
    return sqnorm_and_gap(x, jnp.ones((), x.dtype))[0]


def safe_sqrt(x: Array) -> Array:
    """sqrt with value and derivative 0 at 0 (and below); NaN stays NaN."""
    zero = x <= 0
    return jnp.where(zero, 0, jnp.sqrt(jnp.where(zero, 1, x)))


def shortened(v: Array) -> Array:
    """Vectors with a coordinate beyond 1e8 shortened to that, before their square overflows.

    For functions of which only the direction is left there, which is so at any curvature.
    """
    largest = jnp.max(jnp.abs(v), axis=-1, keepdims=True, initial=0)
    return v / lax.stop_gradient(jnp.maximum(largest / 1e8, 1))


def _series(coefficients: list[float], u: Array) -> Array:
    """sum_n a_n u^n by Horner's rule, as many terms as the dtype can see below the threshold."""
    terms = 14 if u.dtype == jnp.float64 else 7
    total = jnp.full_like(u, coefficients[terms - 1])
    for a in reversed(coefficients[: terms - 1]):
        total = total * u + a
    return total


def _series_slope(coefficients: list[float], u: Array) -> Array:
    return _series([n * a for n, a in enumerate(coefficients)][1:], u)


def _tanhc_coefficients(count: int) -> list[float]:
    """tanh(s) = s f(s^2) solves tanh' = 1 - tanh^2, which gives f's coefficients in turn."""
    a = [1.0]
    for n in range(1, count):
        a.append(-sum(a[i] * a[n - 1 - i] for i in range(n)) / (2 * n + 1))
    return a


_TANHC = _tanhc_coefficients(15)
_ARTANHC = [1 / (2 * n + 1) for n in range(15)]
_ASINHC2 = [(-4) ** n * 2 / ((n + 1) ** 2 * math.comb(2 * n + 2, n + 1)) for n in range(15)]


def _branch(u: Array) -> tuple[Array, Array, Array]:
    """Where the series holds, and arguments harmless to the branch that is not used."""
    small = u < _SERIES_BELOW
    return small, jnp.where(small, u, 0), jnp.where(small, 1, u)


# The derivatives below are written out, not traced: a scan then keeps one number a row and
# function instead of every intermediate. Each slope is plain code and differentiates again.


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def tanh_terms(u: Array, cap: float) -> tuple[Array, Array]:
    """`tanh(s) / sqrt(u)` and `sech(s)^2` with s = min(sqrt(u), cap)."""
    small, near, far = _branch(u)
    ratio_near = _series(_TANHC, near)
    root = jnp.sqrt(far)
    s = jnp.minimum(root, cap)
    decay = jnp.exp(-2 * s)
    ratio = jnp.where(small, ratio_near, jnp.tanh(s) / root)
    sech2 = jnp.where(small, 1 - near * ratio_near**2, 4 * decay / (1 + decay) ** 2)
    return ratio, sech2


@tanh_terms.defjvp
def _tanh_terms_jvp(cap, primals, tangents):
    (u,), (du,) = primals, tangents
    ratio, sech2 = tanh_terms(u, cap)
    small, near, far = _branch(u)
    falling = jnp.where(u < cap**2, sech2, 0)  # sech2 where it still varies
    ratio_slope = jnp.where(small, _series_slope(_TANHC, near), (falling - ratio) / (2 * far))
    return (ratio, sech2), (ratio_slope * du, -ratio * falling * du)


@jax.custom_jvp
def artanhc(w: Array, gap: Array) -> Array:
    """`artanh(r) / r` for w = r^2 and gap = 1 - w > 0, given apart: the gap carries the digits."""
    small, near, far = _branch(w)
    r = jnp.sqrt(far)
    closed = (jnp.log1p(r) - 0.5 * jnp.log(jnp.where(small, 1, gap))) / r
    return jnp.where(small, _series(_ARTANHC, near), closed)


@artanhc.defjvp
def _artanhc_jvp(primals, tangents):
    (w, gap), (dw, dgap) = primals, tangents
    value = artanhc(w, gap)
    small, near, far = _branch(w)
    r = jnp.sqrt(far)
    w_slope = jnp.where(small, _series_slope(_ARTANHC, near), (1 / (1 + r) - value) / (2 * far))
    gap_slope = jnp.where(small, 0, -0.5 / (r * jnp.where(small, 1, gap)))
    return value, w_slope * dw + gap_slope * dgap


@jax.custom_jvp
def asinhc2(delta: Array) -> Array:
    """`asinh(sqrt(delta))^2 / delta = 1 - delta/3 + 8 delta^2/45 - ...`"""
    small, near, far = _branch(delta)
    return jnp.where(small, _series(_ASINHC2, near), _asinh_of_root(far) ** 2 / far)


def _asinh_of_root(delta: Array) -> Array:
    return jnp.log1p(jnp.sqrt(delta) + delta / (1 + jnp.sqrt(1 + delta)))


@asinhc2.defjvp
def _asinhc2_jvp(primals, tangents):
    (delta,), (ddelta,) = primals, tangents
    value = asinhc2(delta)
    small, near, far = _branch(delta)
    closed = (_asinh_of_root(far) / jnp.sqrt(far * (1 + far)) - value) / far
    return value, jnp.where(small, _series_slope(_ASINHC2, near), closed) * ddelta


def pairwise_sqnorm(xs: Array, ys: Array, block: int = 8) -> Array:
    """`|x_n - y_v|^2` for xs of shape (..., N, d) and ys of shape (V, d): (..., N, V).

    Differences, accumulated a few coordinates at a time: there is no (N, V, d) array, in the
    forward or the backward pass.
    """
    pad = -xs.shape[-1] % block

    def blocks(a: Array) -> Array:  # (..., d) -> (d / block, block, ...)
        a = jnp.moveaxis(jnp.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, pad)]), -1, 0)
        return a.reshape(-1, block, *a.shape[1:])

    # Recomputing the differences in the backward pass keeps them from being stored: all of them
    # together would be the (N, V, d) array.
    @jax.checkpoint
    def add_block(total: Array, x: Array, y: Array) -> Array:
        for i in range(block):
            total = total + jnp.square(x[i][..., None] - y[i])
        return total

    def step(total: Array, xy: tuple[Array, Array]) -> tuple[Array, None]:
        return add_block(total, *xy), None

    start = jnp.zeros((*xs.shape[:-1], ys.shape[0]), xs.dtype)
    return lax.scan(step, start, (blocks(xs), blocks(ys)))[0]


def as_pairwise(xs: Any, ys: Any) -> list[Array]:
    """`as_points` for the two tables of a pairwise distance, with their ranks checked."""
    xs, ys = as_points(xs=xs, ys=ys)
    if xs.ndim < 2 or ys.ndim != 2:
        raise InputError(
            f"Pairwise distances need xs of shape (..., N, d) and ys of shape (V, d), "
            f"not {xs.shape} and {ys.shape}."
        )
    return [xs, ys]
