"""The recurrent highway network: several highway layers within every step.

    s_l = t_l h_l + (1 - t_l) s_{l-1},   l = 1 .. L
    h_l = tanh([l = 1] W_H x + R_Hl s_{l-1} + b_Hl)
    t_l = sigmoid([l = 1] W_T x + R_Tl s_{l-1} + b_Tl)

The carry gate is coupled (1 - t). Dropout is variational: one mask a sequence on the state that
every layer's R reads, the same at each step. Sources: Zilly et al., "Recurrent Highway Networks"
(1607.03474); Gal and Ghahramani (1512.05287).
"""

import jax
import jax.numpy as jnp
from flax import linen as nn

from rilm_jax.backbones import dropout, truncation
from rilm_jax.config import ModelConfig

TRANSFORM_BIAS = -2.0


def make(config: ModelConfig) -> nn.Module:
    """One recurrence of `hidden_dim` units (None: `dim`) and depth `num_layers`."""
    return RHN(
        input_dim=config.dim,
        hidden_dim=config.hidden_dim or config.dim,
        depth=config.num_layers,
        k=config.k or 0,
        dropout=config.dropout,
        dtype=jnp.dtype(config.dtype),
    )


class RHN(nn.Module):
    """A sequence module (see `linen`); columns of every matrix are those of h, then those of t."""

    input_dim: int
    hidden_dim: int
    depth: int
    k: int
    dropout: float
    dtype: jnp.dtype

    def setup(self):
        def closed(key, shape, dtype):
            del key
            return jnp.zeros(shape, dtype).at[..., self.hidden_dim :].set(TRANSFORM_BIAS)

        units, both, dtype = self.hidden_dim, 2 * self.hidden_dim, self.dtype
        scaled = nn.initializers.lecun_normal()
        stacked = nn.initializers.lecun_normal(batch_axis=(0,))
        self.W = self.param("W", scaled, (self.input_dim, both), dtype)
        self.R = self.param("R", stacked, (self.depth, units, both), dtype)
        self.b = self.param("b", closed, (self.depth, both), dtype)

    def initial_carry(self, batch_size: int) -> jax.Array:
        """s = 0, [B, H]."""
        return jnp.zeros((batch_size, self.hidden_dim), self.dtype)

    def word_inputs(self, vectors: jax.Array) -> jax.Array:
        """W x, [..., 2 H]."""
        return vectors @ self.W

    def __call__(self, inputs, carry, mask, deterministic):
        weights, bias, units = self.R, self.b, self.hidden_dim
        dropped = None
        if self.dropout and not deterministic:
            key = self.make_rng("dropout")
            dropped = dropout.inverted(key, self.dropout, carry.shape, self.dtype)

        def step(s, rows):
            for layer in range(self.depth):
                mapped = dropout.apply(dropped, s) @ weights[layer] + bias[layer]
                mapped = mapped + rows if layer == 0 else mapped
                transform = nn.sigmoid(mapped[..., units:])
                s = transform * nn.tanh(mapped[..., :units]) + (1 - transform) * s
            return s

        return truncation.scan(step, carry, inputs, mask, self.k, keep="products")
