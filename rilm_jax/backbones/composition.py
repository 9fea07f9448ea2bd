"""The learned map phi(v_h, v_e) that says how a word moves a context, on tangent vectors at 0.

    mlp     tanh(W [v_h; v_e] + b)
    spline  s(W [v_h; v_e] + b), s a learned cubic B-spline for every output unit
    gated   z * (tanh(W [v_h; v_e] + b) - v_h),  z = sigmoid(W_z [v_h; v_e] + b_z)

`W = [W_h, W_e]` has shape (d, 2d). The halves are kept apart and transposed, and the gate's columns
stand beside the map's, so that a step costs one product `v_h @ W_h` and the words' half `v_e @ W_e`
is computed outside the recurrence.
"""

import jax
import jax.numpy as jnp
import numpy as np

from rilm_jax.backbones import dropout
from rilm_jax.config import ModelConfig

Params = dict[str, jax.Array]

CONTRACTION = 0.5
NOISE = 0.02
SPLINE_EDGE = 3.0
SPLINE_CELLS = 12


def init(key: jax.Array, config: ModelConfig) -> Params:
    """`W_h`, `W_e` [d, m d], `b` [m d] (m = 2 when gated, else 1), and `spline` [d, 15].

    plain: Glorot uniform over the (d, 2d) matrices, b = 0. contractive: `W_h = -I/2`, `W_e = I/2`,
    each with noise 0.02, so that the first step already computes h/2 + e/2; a gate does the
    contracting itself (b_z = 1), so that W_h starts from noise alone.
    """
    d, gated = config.dim, config.composition == "gated"
    key_h, key_e, key_gate_h, key_gate_e = jax.random.split(key, 4)
    if config.init == "plain":
        limit = (6 / (d + 2 * d)) ** 0.5

        def draw(key):
            return jax.random.uniform(key, (d, d), config.dtype, -limit, limit)

        w_h, w_e, gate_bias = draw(key_h), draw(key_e), 0.0
    else:

        def draw(key):
            return NOISE * jax.random.normal(key, (d, d), config.dtype)

        eye = jnp.eye(d, dtype=config.dtype)
        w_h = draw(key_h) - (0 if gated else CONTRACTION) * eye
        w_e = draw(key_e) + CONTRACTION * eye
        gate_bias = 1.0
    params = {"W_h": w_h, "W_e": w_e, "b": jnp.zeros(d, config.dtype)}
    if gated:
        gate = {
            "W_h": draw(key_gate_h),
            "W_e": draw(key_gate_e),
            "b": jnp.full(d, gate_bias, config.dtype),
        }
        params = {name: jnp.concatenate([params[name], gate[name]], axis=-1) for name in params}
    if config.composition == "spline":
        params["spline"] = jnp.tile(jnp.asarray(_tanh_spline(), config.dtype), (d, 1))
    return params


def word_inputs(params: Params, tangents: jax.Array) -> jax.Array:
    """The words' half of the map: v_e @ W_e + b, [..., d] -> [..., m d]."""
    return jnp.matmul(tangents, params["W_e"], precision="highest") + params["b"]


def apply(
    params: Params,
    kind: str,
    v_h: jax.Array,
    inputs: jax.Array,
    dropped: jax.Array | None = None,
) -> jax.Array:
    """phi(v_h, v_e) [..., d] from v_h [..., d] and the words' half [..., m d].

    `dropped` is the mask of what the matrices read of v_h; a gate keeps the whole of it.
    """
    d = v_h.shape[-1]
    mapped = jnp.matmul(dropout.apply(dropped, v_h), params["W_h"], precision="highest") + inputs
    if kind == "gated":
        return jax.nn.sigmoid(mapped[..., d:]) * (jnp.tanh(mapped[..., :d]) - v_h)
    return _spline(params["spline"], mapped) if kind == "spline" else jnp.tanh(mapped)


def _spline(coefficients: jax.Array, x: jax.Array) -> jax.Array:
    """A cubic B-spline a unit on uniform knots over [-3, 3], continued along its end tangents.

    `coefficients` [d, 15], x [..., d]. Summing all basis functions costs less here than a gather.
    """
    width = 2 * SPLINE_EDGE / SPLINE_CELLS
    inside = jnp.clip(x, -SPLINE_EDGE, SPLINE_EDGE)
    position = (inside + SPLINE_EDGE) / width + 1
    basis = _cubic(position[..., None] - jnp.arange(SPLINE_CELLS + 3, dtype=x.dtype))
    slope_low = (coefficients[:, 2] - coefficients[:, 0]) / (2 * width)
    slope_high = (coefficients[:, -1] - coefficients[:, -3]) / (2 * width)
    slope = jnp.where(x < 0, slope_low, slope_high)
    return jnp.sum(coefficients * basis, axis=-1) + slope * (x - inside)


def _cubic(t):
    """The cubic B-spline of unit knots centred at 0."""
    t = abs(t)
    near = 2 / 3 - t**2 + t**3 / 2
    far = jnp.maximum(2 - t, 0) ** 3 / 6
    return jnp.where(t < 1, near, far)


def _tanh_spline() -> np.ndarray:
    """Coefficients of the spline that equals tanh at the knots and has its slope at both ends."""
    knots = np.linspace(-SPLINE_EDGE, SPLINE_EDGE, SPLINE_CELLS + 1)
    width = knots[1] - knots[0]
    n = SPLINE_CELLS + 3
    system, right = np.zeros((n, n)), np.zeros(n)
    for row, knot in enumerate(knots):
        system[row, row : row + 3] = 1 / 6, 2 / 3, 1 / 6
        right[row] = np.tanh(knot)
    for row, (at, knot) in enumerate([(0, knots[0]), (SPLINE_CELLS, knots[-1])], SPLINE_CELLS + 1):
        system[row, at], system[row, at + 2] = -1 / (2 * width), 1 / (2 * width)
        right[row] = 1 / np.cosh(knot) ** 2
    return np.linalg.solve(system, right)
