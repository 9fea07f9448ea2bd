"""R^d with its usual metric, under the same names as the ball.

Every function takes the curvature `c` so that a model can be written once, and ignores it.
The last axis is the vector; leading axes broadcast. float32 and float64; half precision raises
`InputError`.
"""

from typing import Any

from jax import Array
from jax.typing import ArrayLike

from rilm_jax.manifolds import _numerics as num
from rilm_jax.manifolds.product import FLAT, pairwise

product_form = FLAT


def expmap(x: ArrayLike, v: ArrayLike, c: Any) -> Array:
    """`exp_x(v) = x + v`, of shape [..., d]."""
    del c
    x, v = num.as_points(x=x, v=v)
    return x + v


def logmap(x: ArrayLike, y: ArrayLike, c: Any) -> Array:
    """`log_x(y) = y - x`, of shape [..., d]."""
    del c
    x, y = num.as_points(x=x, y=y)
    return y - x


def expmap0(v: ArrayLike, c: Any) -> Array:
    """`exp_0(v) = v`."""
    del c
    return num.as_points(v=v)[0]


def logmap0(y: ArrayLike, c: Any) -> Array:
    """`log_0(y) = y`."""
    del c
    return num.as_points(y=y)[0]


def ptransp(x: ArrayLike, y: ArrayLike, v: ArrayLike, c: Any) -> Array:
    """Parallel transport of v from x to y: v itself, broadcast against both."""
    del c
    x, y, v = num.as_points(x=x, y=y, v=v)
    return v + 0 * (x + y)


def ptransp0(y: ArrayLike, v: ArrayLike, c: Any) -> Array:
    """Parallel transport of v from the origin to y: v itself, broadcast against y."""
    return ptransp(y, y, v, c)


def sqdist(x: ArrayLike, y: ArrayLike, c: Any) -> Array:
    """`|x - y|^2`, of shape [...] (the last axis is gone)."""
    del c
    x, y = num.as_points(x=x, y=y)
    return num.sqnorm(x - y)[..., 0]


def dist(x: ArrayLike, y: ArrayLike, c: Any) -> Array:
    """`|x - y|`, of shape [...] (the last axis is gone); gradient 0 at x = y."""
    return num.safe_sqrt(sqdist(x, y, c))


def pairwise_sqdist(xs: ArrayLike, ys: ArrayLike, c: Any, *, exact: bool = False) -> Array:
    """`|x_n - y_v|^2` of every pair.

    Args:
      xs: (..., N, d).
      ys: (V, d).
      c: ignored.
      exact: add up differences instead of `|x|^2 + |y|^2 - 2 <x, y>`. The latter is one GEMM, with
        an absolute error of about 1e-7 (|x|^2 + |y|^2) in float32.

    Returns:
      (..., N, V), never negative.
    """
    xs, ys = num.as_pairwise(xs, ys)
    return num.pairwise_sqnorm(xs, ys) if exact else pairwise(FLAT, xs, None, ys, None, c)


def project(x: ArrayLike, c: Any) -> Array:
    """x: every vector is a point."""
    return expmap0(x, c)
