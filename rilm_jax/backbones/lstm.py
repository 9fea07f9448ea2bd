"""Long short-term memory, any number of layers of any width.

    i, f, g, o = split(W_x x + W_h h + b)
    c' = sigmoid(f) c + sigmoid(i) tanh(g),   h' = sigmoid(o) tanh(c')

The forget gate's bias starts at 1. W_x x is one product for a whole window. Dropout is variational:
a layer's output has one mask a sequence, the same at every step, on its way up and on its way back
into the layer; or, without `variational`, ordinary: fresh masks, on the way up alone. Sources:
Hochreiter and Schmidhuber, "Long Short-Term Memory"; Gers et al., "Learning to Forget"; Gal and
Ghahramani, "A Theoretically Grounded Application of Dropout in Recurrent Neural Networks"
(1512.05287).
"""

import jax
import jax.numpy as jnp
from flax import linen as nn

from rilm_jax.backbones import dropout, truncation
from rilm_jax.config import ModelConfig

Carry = tuple[jax.Array, jax.Array]


@jax.custom_vjp
def cell(z: jax.Array, c: jax.Array) -> Carry:
    """(h', c') of the four gates' arguments [B, 4 H] and c [B, H], without a product of matrices.

    The derivative is written out, from the gates as they were: no exponential is taken twice, and
    there is less to store than what automatic differentiation keeps. It is in reverse mode only;
    `jax.jvp` refuses it.
    """
    return _cell(z, c)[0]


def _cell(z: jax.Array, c: jax.Array) -> tuple[Carry, tuple[jax.Array, ...]]:
    i, f, g, o = jnp.split(z, 4, axis=-1)
    i, f, g, o = nn.sigmoid(i), nn.sigmoid(f), nn.tanh(g), nn.sigmoid(o)
    after = f * c + i * g
    out = nn.tanh(after)
    return (o * out, after), (i, f, g, o, out, c)


def _cell_vjp(kept: tuple[jax.Array, ...], cotangents: Carry) -> Carry:
    i, f, g, o, out, c = kept
    d_h, d_c = cotangents
    d_c = d_c + d_h * o * (1 - out * out)
    d_z = (
        d_c * g * i * (1 - i),
        d_c * c * f * (1 - f),
        d_c * i * (1 - g * g),
        d_h * out * o * (1 - o),
    )
    return jnp.concatenate(d_z, axis=-1), d_c * f


cell.defvjp(_cell, _cell_vjp)


def make(config: ModelConfig) -> nn.Module:
    """`num_layers` layers of `hidden_dim` units (None: `dim`), gradients cut every k steps."""
    return LSTM(
        input_dim=config.dim,
        hidden_dim=config.hidden_dim or config.dim,
        num_layers=config.num_layers,
        k=config.k or 0,
        dropout=config.dropout,
        variational=config.variational,
        dtype=jnp.dtype(config.dtype),
    )


class Layer(nn.Module):
    """One layer; `__call__` takes W_x x + b [B, T, 4 H] in place of x."""

    input_dim: int
    hidden_dim: int
    k: int
    dtype: jnp.dtype

    def setup(self):
        def forget_one(key, shape, dtype):
            del key
            return jnp.zeros(shape, dtype).at[self.hidden_dim : 2 * self.hidden_dim].set(1)

        gates, dtype = 4 * self.hidden_dim, self.dtype
        scaled, orthogonal = nn.initializers.lecun_normal(), nn.initializers.orthogonal()
        self.W_x = self.param("W_x", scaled, (self.input_dim, gates), dtype)
        self.W_h = self.param("W_h", orthogonal, (self.hidden_dim, gates), dtype)
        self.b = self.param("b", forget_one, (gates,), dtype)

    def inputs(self, x: jax.Array) -> jax.Array:
        """W_x x + b."""
        return x @ self.W_x + self.b

    def __call__(
        self, inputs: jax.Array, carry: Carry, mask: jax.Array | None, dropped: jax.Array | None
    ) -> tuple[jax.Array, Carry]:
        w_h = self.W_h

        # The carry stays whole: the next window reads it through a mask of its own.
        def step(state: Carry, rows: jax.Array) -> Carry:
            h, c = state
            return cell(rows + dropout.apply(dropped, h) @ w_h, c)

        def emit(state: Carry, rows: jax.Array) -> jax.Array:
            del rows
            return dropout.apply(dropped, state[0])

        return truncation.scan(step, carry, inputs, mask, self.k, emit=emit, keep="all")


class LSTM(nn.Module):
    """A sequence module (see `linen`)."""

    input_dim: int
    hidden_dim: int
    num_layers: int
    k: int
    dropout: float
    variational: bool
    dtype: jnp.dtype

    def setup(self):
        widths = [self.input_dim] + [self.hidden_dim] * (self.num_layers - 1)
        self.layers = [Layer(width, self.hidden_dim, self.k, self.dtype) for width in widths]
        self.ordinary = nn.Dropout(self.dropout)

    def initial_carry(self, batch_size: int) -> tuple[Carry, ...]:
        """(h, c) = 0 for every layer, [B, H]."""
        zero = jnp.zeros((batch_size, self.hidden_dim), self.dtype)
        return ((zero, zero),) * self.num_layers

    def word_inputs(self, vectors: jax.Array) -> jax.Array:
        """The first layer's W_x x + b."""
        return self.layers[0].inputs(vectors)

    def __call__(self, inputs, carry, mask, deterministic):
        shape = (inputs.shape[0], self.hidden_dim)
        after = []
        outputs = inputs
        for i, (layer, before) in enumerate(zip(self.layers, carry, strict=True)):
            rows = outputs if i == 0 else layer.inputs(outputs)
            dropped = None
            if self.dropout and self.variational and not deterministic:
                dropped = dropout.inverted(
                    self.make_rng("dropout"), self.dropout, shape, self.dtype
                )
            outputs, last = layer(rows, before, mask, dropped)
            if not self.variational:
                outputs = self.ordinary(outputs, deterministic=deterministic)
            after.append(last)
        return outputs, tuple(after)
