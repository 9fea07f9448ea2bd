"""A causal Transformer that sees a sliding window, the same whole or word by word.

    x = x + attention(norm(x));   x = x + W_2 gelu(W_1 norm(x))

Blocks are pre-norm; queries and keys are rotated by their distance (RoPE), and a word sees itself
and the `span - 1` words before it. The carry is a ring buffer of the last `span` keys and values of
every block, keys not yet rotated, so that angles stay small however long a stream becomes. Sources:
Vaswani et al., "Attention Is All You Need" (1706.03762); Su et al., "RoFormer" (2104.09864).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn

from rilm_jax.config import ModelConfig
from rilm_jax.errors import InputError

ROTARY_BASE = 10_000.0
NOTHING = -1e30  # in place of -inf, which makes a row that sees nothing NaN


class Cache(NamedTuple):
    """Keys and values of the last words; word n stands in slot n % span.

    Attributes:
      keys: [B, span, H, d / H] for each block.
      values: the same.
      read: [B] int32, words so far.
    """

    keys: tuple[jax.Array, ...]
    values: tuple[jax.Array, ...]
    read: jax.Array


class Window(NamedTuple):
    """Where the words of a call stand, counted from the first of them.

    Attributes:
      positions: [B, T] of the new words.
      kept: [B, T], False where masked.
      cached: [B, span], positions of the cache's slots, all below 0.
      any_cached: [], whether any of them holds a word.
      visible: [B, T, span + T], whether a new word sees a cached or a new one.
      slots: [B, T], where a new word is stored; `span`, which is nowhere, if it is not.
    """

    positions: jax.Array
    kept: jax.Array
    cached: jax.Array
    any_cached: jax.Array
    visible: jax.Array
    slots: jax.Array


def make(config: ModelConfig) -> nn.Module:
    """`num_layers` blocks of width `dim` with feed-forward width `hidden_dim` (None: 4 dim).

    Raises:
      InputError: a width that does not divide into heads of even dimension; k.
    """
    if config.dim % (2 * config.num_heads):
        raise InputError(
            f"dim={config.dim} does not divide into num_heads={config.num_heads} heads of even "
            "dimension, which rotary positions need; change either."
        )
    if config.k is not None:
        raise InputError(
            f"k={config.k} cuts a recurrence, and a transformer has none; leave k out."
        )
    return Transformer(
        dim=config.dim,
        hidden_dim=config.hidden_dim or 4 * config.dim,
        num_layers=config.num_layers,
        num_heads=config.num_heads,
        span=config.span,
        dropout=config.dropout,
        dtype=jnp.dtype(config.dtype),
    )


def rotate(x: jax.Array, positions: jax.Array) -> jax.Array:
    """Pairs (x_i, x_{i + n/2}) turned by position * base^(-2i/n): [..., T, H, n], [..., T].

    rotate(q, s) . rotate(k, t) depends on s - t alone.
    """
    half = x.shape[-1] // 2
    frequencies = ROTARY_BASE ** -(jnp.arange(half, dtype=x.dtype) / half)
    angles = positions[..., None, None].astype(x.dtype) * frequencies
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


def window(read: jax.Array, mask: jax.Array | None, length: int, span: int) -> Window:
    """Positions and visibility of `length` new words after `read` [B] others."""
    batch = read.shape[0]
    kept = jnp.ones((batch, length), bool) if mask is None else mask
    positions = jnp.cumsum(kept, axis=1) - 1
    slots = jnp.arange(span)
    cached = -1 - (read[:, None] - 1 - slots) % span
    empty = cached + read[:, None] < 0
    behind = positions[:, :, None] - jnp.concatenate([cached, positions], axis=1)[:, None]
    any_cached = jnp.any(read > 0)
    seen = jnp.concatenate([~empty, kept], axis=1)[:, None]
    visible = seen & (behind >= 0) & (behind < span)
    stays = kept & (positions > positions[:, -1:] - span)
    slots = jnp.where(stays, (read[:, None] + positions) % span, span)
    return Window(positions, kept, cached, any_cached, visible, slots)


class Block(nn.Module):
    """Attention and a feed-forward layer, each added to what it reads."""

    dim: int
    hidden_dim: int
    num_heads: int
    dropout: float
    residual_scale: float
    dtype: jnp.dtype

    @nn.compact
    def __call__(self, x, keys, values, where: Window, deterministic):
        def linear(name, width, scale=1.0):
            init = nn.initializers.variance_scaling(scale**2, "fan_in", "normal")
            return nn.Dense(
                width,
                use_bias=False,
                dtype=self.dtype,
                param_dtype=self.dtype,
                kernel_init=init,
                name=name,
            )

        def norm(name):
            return nn.RMSNorm(dtype=self.dtype, param_dtype=self.dtype, name=name)

        drop = nn.Dropout(self.dropout, deterministic=deterministic)
        heads = (*x.shape[:2], self.num_heads, self.dim // self.num_heads)
        read = norm("norm_attention")(x)
        q, k, v = (t.reshape(heads) for t in jnp.split(linear("qkv", 3 * self.dim)(read), 3, -1))
        attended = attend(q, k, v, keys, values, where).reshape(x.shape)
        x = x + drop(linear("attention_out", self.dim, self.residual_scale)(attended))
        inner = nn.gelu(linear("feed_forward_in", self.hidden_dim)(norm("norm_feed_forward")(x)))
        x = x + drop(linear("feed_forward_out", self.dim, self.residual_scale)(inner))
        return x, _store(keys, k, where.slots), _store(values, v, where.slots)


def attend(q, k, v, cached_keys, cached_values, where: Window) -> jax.Array:
    """softmax(rotated q . rotated k / sqrt(n)) v over cached and new words: [B, T, H, n]."""
    queries = rotate(q, where.positions) * q.shape[-1] ** -0.5
    rotated = rotate(k, where.positions)

    def among(keys, values, visible):
        scores = jnp.einsum("bthn,bshn->bhts", queries, keys)
        share = nn.softmax(jnp.where(visible[:, None], scores, NOTHING), axis=-1)
        return jnp.einsum("bhts,bshn->bthn", share, values)

    def all_words():
        keys = jnp.concatenate([rotate(cached_keys, where.cached), rotated], axis=1)
        return among(keys, jnp.concatenate([cached_values, v], axis=1), where.visible)

    def new_words():
        return among(rotated, v, where.visible[..., cached_keys.shape[1] :])

    # XLA sees that a window of its own starts with an empty cache, and keeps one branch.
    return jax.lax.cond(where.any_cached, all_words, new_words)


def _store(cache: jax.Array, new: jax.Array, slots: jax.Array) -> jax.Array:
    rows = jnp.arange(cache.shape[0])[:, None]
    return cache.at[rows, slots].set(new, mode="drop")


class Transformer(nn.Module):
    """A sequence module (see `linen`)."""

    dim: int
    hidden_dim: int
    num_layers: int
    num_heads: int
    span: int
    dropout: float
    dtype: jnp.dtype

    def initial_carry(self, batch_size: int) -> Cache:
        """An empty cache."""
        shape = (batch_size, self.span, self.num_heads, self.dim // self.num_heads)
        empty = (jnp.zeros(shape, self.dtype),) * self.num_layers
        return Cache(empty, empty, jnp.zeros(batch_size, jnp.int32))

    @nn.compact
    def __call__(self, inputs, carry, mask, deterministic):
        # Words are short vectors at the start; what blocks add has entries of order 1.
        x = inputs * self.dim**0.5
        x = nn.Dropout(self.dropout, deterministic=deterministic)(x)
        where = window(carry.read, mask, inputs.shape[1], self.span)
        keys, values = [], []
        for i in range(self.num_layers):
            block = Block(
                self.dim,
                self.hidden_dim,
                self.num_heads,
                self.dropout,
                (2 * self.num_layers) ** -0.5,
                self.dtype,
                name=f"block_{i}",
            )
            x, k, v = block(x, carry.keys[i], carry.values[i], where, deterministic)
            keys.append(k)
            values.append(v)
        x = nn.RMSNorm(dtype=self.dtype, param_dtype=self.dtype, name="norm")(x)
        read = carry.read + jnp.sum(where.kept, axis=1, dtype=jnp.int32)
        return x, Cache(tuple(keys), tuple(values), read)
