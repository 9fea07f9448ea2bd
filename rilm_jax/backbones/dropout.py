"""Dropout masks that hold for a whole window (Gal & Ghahramani, 1512.05287)."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from rilm_jax.config import ModelConfig


class Masks(NamedTuple):
    """Masks of one batch of windows; None where nothing is dropped.

    Attributes:
      state: [B, d], inverted (0 or 1 / keep), on rilm's tangent state at every step.
      inputs: [B, d], inverted, on the word vectors.
      output: [B, D], inverted, on the (tangent) state on its way to the head.
      words: [B, T], False where the word is dropped; a word is dropped everywhere in a window.
    """

    state: jax.Array | None
    inputs: jax.Array | None
    output: jax.Array | None
    words: jax.Array | None


def masks(rng: jax.Array | None, tokens: jax.Array, config: ModelConfig, state_dim: int) -> Masks:
    """The masks of `config` for tokens [B, T]; all None without a key."""
    if rng is None:
        return Masks(None, None, None, None)
    keys = jax.random.split(rng, 4)

    def of_width(key, rate, width):
        return inverted(key, rate, (tokens.shape[0], width), config.dtype) if rate else None

    words = None
    if config.word_dropout:
        rows = jax.random.split(keys[2], tokens.shape[0])
        words = jax.vmap(lambda key, ids: _keep_words(key, ids, config.word_dropout))(rows, tokens)
    return Masks(
        of_width(keys[0], config.dropout, config.dim),
        of_width(keys[3], config.input_dropout, config.dim),
        of_width(keys[1], config.output_dropout, state_dim),
        words,
    )


def inverted(key: jax.Array, rate: float, shape: tuple[int, ...], dtype: Any) -> jax.Array:
    """0 with probability `rate`, else 1 / (1 - rate)."""
    return jax.random.bernoulli(key, 1 - rate, shape).astype(dtype) / (1 - rate)


def _keep_words(key: jax.Array, ids: jax.Array, rate: float) -> jax.Array:
    """Whether each id [T] is kept: a function of key and id, so equal words share their fate."""
    of_word = jax.vmap(lambda word: jax.random.uniform(jax.random.fold_in(key, word)))
    return of_word(ids) >= rate


def apply(mask: jax.Array | None, x: jax.Array) -> jax.Array:
    """x times its mask, or x."""
    return x if mask is None else jnp.multiply(mask, x)
