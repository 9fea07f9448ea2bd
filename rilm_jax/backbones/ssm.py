"""A selective diagonal state-space model: blocks in the S6 form of Mamba.

For every channel of a block, with N = 16 numbers of state,

    h_t = exp(dt_t A) h_{t-1} + dt_t B_t x_t,    y_t = C_t . h_t + D x_t

where A < 0 is learned and the step size dt_t, B_t and C_t are computed from the word, so that what
is remembered depends on what is read. Around it: a causal convolution of 4, a gate, a residual. The
carry holds the state and the convolution's last inputs. Source: Gu and Dao, "Mamba: Linear-Time
Sequence Modeling with Selective State Spaces" (2312.00752).
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn

from rilm_jax.backbones import truncation
from rilm_jax.config import ModelConfig
from rilm_jax.errors import InputError

D_STATE = 16
D_CONV = 4
DT_MIN, DT_MAX = 1e-3, 1e-1


class BlockCarry(NamedTuple):
    """`state` [B, N, channels]; `inputs` [B, 3, channels], what the convolution reads back to."""

    state: jax.Array
    inputs: jax.Array


def make(config: ModelConfig) -> nn.Module:
    """`num_layers` blocks of width `dim` with `hidden_dim` channels (None: 2 dim).

    Raises:
      InputError: k.
    """
    if config.k is not None:
        raise InputError(
            f"k={config.k} is for rilm, lstm and rhn; an ssm is trained through whole windows, "
            "so leave k out."
        )
    return SSM(
        dim=config.dim,
        channels=config.hidden_dim or 2 * config.dim,
        num_layers=config.num_layers,
        dropout=config.dropout,
        dtype=jnp.dtype(config.dtype),
    )


def selective_scan(
    x: jax.Array, dt: jax.Array, a: jax.Array, b: jax.Array, c: jax.Array, state: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """y_t = C_t . h_t, h_t = exp(dt_t A) h_{t-1} + dt_t B_t x_t, one step after the other.

    An associative scan would hold [B, T, N, E] several times over;
    `experiments/benchmarks/alternatives.py` measures it. Channels come last, and the read-out is a
    product, because XLA's sums over a short last axis are not vectorised on CPU.

    Args:
      x: [B, T, E].
      dt: [B, T, E], the step sizes; 0 leaves the state as it is.
      a: [N, E], below 0.
      b: [B, T, N].
      c: [B, T, N].
      state: [B, N, E] before the first step.

    Returns:
      (y [B, T, E], the last state).
    """

    def step(state, at_t):
        dt, dt_x, b, _ = at_t
        return jnp.exp(dt[:, None] * a) * state + dt_x[:, None] * b[..., None]

    def read(state, at_t):
        return jnp.einsum("bne,bn->be", state, at_t[3])

    return truncation.scan(step, state, (dt, dt * x, b, c), emit=read)


class Block(nn.Module):
    """A gated selective layer, added to what it reads."""

    dim: int
    channels: int
    dropout: float
    residual_scale: float
    dtype: jnp.dtype

    @nn.compact
    def __call__(self, x, carry: BlockCarry, mask, deterministic):
        def linear(name, width, init=None):
            init = init or nn.initializers.lecun_normal()
            options = {"dtype": self.dtype, "param_dtype": self.dtype, "use_bias": False}
            return nn.Dense(width, kernel_init=init, name=name, **options)

        def vector(name, init, *shape):
            return self.param(name, init, shape, self.dtype)

        rank = math.ceil(self.dim / 16)
        read = nn.RMSNorm(dtype=self.dtype, param_dtype=self.dtype, name="norm")(x)
        u, gate = jnp.split(linear("in_proj", 2 * self.channels)(read), 2, axis=-1)

        kernel = vector("conv1d", _uniform(D_CONV**-0.5), D_CONV, self.channels)
        u, inputs = convolve(u, carry.inputs, kernel, mask)
        u = nn.silu(u + vector("conv1d_bias", nn.initializers.zeros, self.channels))

        selected = linear("x_proj", rank + 2 * D_STATE)(u)
        low, b, c = jnp.split(selected, [rank, rank + D_STATE], axis=-1)
        dt_bias = vector("dt_bias", _inverse_softplus_of_steps, self.channels)
        dt = nn.softplus(linear("dt_proj", self.channels, _uniform(rank**-0.5))(low) + dt_bias)
        if mask is not None:
            dt = jnp.where(mask[..., None], dt, 0)
        a = -jnp.exp(vector("A_log", _log_of_one_to_n, D_STATE, self.channels))
        y, state = selective_scan(u, dt, a, b, c, carry.state)
        y = y + vector("D", nn.initializers.ones, self.channels) * u

        scaled = nn.initializers.variance_scaling(self.residual_scale**2, "fan_in", "normal")
        added = linear("out_proj", self.dim, scaled)(y * nn.silu(gate))
        added = nn.Dropout(self.dropout, deterministic=deterministic)(added)
        return x + added, BlockCarry(state, inputs)


def convolve(
    x: jax.Array, before: jax.Array, kernel: jax.Array, mask: jax.Array | None
) -> tuple[jax.Array, jax.Array]:
    """sum_j kernel_j x_{t-3+j} for each channel, over the words that count.

    Args:
      x: [B, T, E].
      before: [B, 3, E], the inputs before x_0.
      kernel: [4, E].
      mask: [B, T]; a word that does not count is skipped, as if the others stood side by side.

    Returns:
      (outputs [B, T, E], what stands before the next call's inputs).
    """
    length = x.shape[1]
    if mask is None:
        rows = jnp.concatenate([before, x], axis=1)
        return _taps(rows, kernel), rows[:, length:]
    together = jnp.argsort(~mask, axis=1, stable=True)
    rows = jnp.take_along_axis(x, together[..., None], axis=1)
    rows = jnp.concatenate([before, rows], axis=1)
    apart = jnp.argsort(together, axis=1)
    last = jnp.sum(mask, axis=1)[:, None] + jnp.arange(D_CONV - 1)
    return (
        jnp.take_along_axis(_taps(rows, kernel), apart[..., None], axis=1),
        jnp.take_along_axis(rows, last[..., None], axis=1),
    )


def _taps(rows: jax.Array, kernel: jax.Array) -> jax.Array:
    """[B, 3 + T, E] -> [B, T, E]."""
    length = rows.shape[1] - D_CONV + 1
    taps = kernel[0] * rows[:, :length]
    for j in range(1, D_CONV):
        taps = taps + kernel[j] * rows[:, j : j + length]
    return taps


class SSM(nn.Module):
    """A sequence module (see `linen`)."""

    dim: int
    channels: int
    num_layers: int
    dropout: float
    dtype: jnp.dtype

    def initial_carry(self, batch_size: int) -> tuple[BlockCarry, ...]:
        """Zeros; the state in float32 at least."""
        state = jnp.zeros(
            (batch_size, D_STATE, self.channels), jnp.promote_types(self.dtype, jnp.float32)
        )
        inputs = jnp.zeros((batch_size, D_CONV - 1, self.channels), self.dtype)
        return (BlockCarry(state, inputs),) * self.num_layers

    @nn.compact
    def __call__(self, inputs, carry, mask, deterministic):
        # Words are short vectors at the start; what blocks add has entries of order 1.
        x = inputs * self.dim**0.5
        after = []
        for i, before in enumerate(carry):
            block = Block(
                self.dim,
                self.channels,
                self.dropout,
                self.num_layers**-0.5,
                self.dtype,
                name=f"block_{i}",
            )
            x, last = block(x, before, mask, deterministic)
            after.append(last)
        norm = nn.RMSNorm(dtype=self.dtype, param_dtype=self.dtype, name="norm")
        return norm(x), tuple(after)


def _uniform(limit: float):
    def init(key, shape, dtype):
        return jax.random.uniform(key, shape, dtype, -limit, limit)

    return init


def _inverse_softplus_of_steps(key, shape, dtype):
    """softplus of it is spread evenly in the logarithm over [DT_MIN, DT_MAX]."""
    low, high = math.log(DT_MIN), math.log(DT_MAX)
    dt = jnp.exp(jax.random.uniform(key, shape, dtype, low, high))
    return dt + jnp.log(-jnp.expm1(-dt))


def _log_of_one_to_n(key, shape, dtype):
    del key
    return jnp.broadcast_to(jnp.log(jnp.arange(1, shape[0] + 1, dtype=dtype))[:, None], shape)
