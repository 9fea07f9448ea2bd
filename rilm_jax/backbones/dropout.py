"""Dropout masks that hold for a whole window (Gal & Ghahramani, 1512.05287)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from rilm_jax.config import ModelConfig


class Masks(NamedTuple):
    """Masks of one batch of windows; None where nothing is dropped.

    Attributes:
      state: [B, d], inverted (0 or 1 / keep), on the tangent state at every step.
      output: [B, d], inverted, on the tangent state on its way to the head.
      words: [B, T], False where the word is dropped; a word is dropped everywhere in a window.
    """

    state: jax.Array | None
    output: jax.Array | None
    words: jax.Array | None


def masks(rng: jax.Array | None, tokens: jax.Array, config: ModelConfig) -> Masks:
    """The masks of `config` for tokens [B, T]; all None without a key."""
    if rng is None:
        return Masks(None, None, None)
    keys = jax.random.split(rng, 3)
    shape = (tokens.shape[0], config.dim)

    def inverted(key, rate):
        if not rate:
            return None
        return jax.random.bernoulli(key, 1 - rate, shape).astype(config.dtype) / (1 - rate)

    words = None
    if config.word_dropout:
        rows = jax.random.split(keys[2], tokens.shape[0])
        words = jax.vmap(lambda key, ids: _keep_words(key, ids, config.word_dropout))(rows, tokens)
    return Masks(inverted(keys[0], config.dropout), inverted(keys[1], config.output_dropout), words)


def _keep_words(key: jax.Array, ids: jax.Array, rate: float) -> jax.Array:
    """Whether each id [T] is kept: a function of key and id, so equal words share their fate."""
    of_word = jax.vmap(lambda word: jax.random.uniform(jax.random.fold_in(key, word)))
    return of_word(ids) >= rate


def apply(mask: jax.Array | None, x: jax.Array) -> jax.Array:
    """x times its mask, or x."""
    return x if mask is None else jnp.multiply(mask, x)
