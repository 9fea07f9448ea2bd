"""What a backbone reads of a word: a function of its vector, for as few rows as suffice."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from rilm_jax.backbones.dropout import Masks
from rilm_jax.embedding import Table


def read(
    function: Callable[[jax.Array], jax.Array],
    table: Table,
    prep: jax.Array | None,
    tokens: jax.Array,
    masks: Masks,
    kept: float = 1.0,
) -> jax.Array:
    """function(v_e) of every token: [B, T, K].

    Args:
      function: [..., d] -> [..., K], what is computed outside the recurrence.
      table: the words; their vectors are log_0 of them.
      prep: [V, K], the function of the whole vocabulary, or None; not read under input dropout.
      tokens: [B, T] ids.
      masks: a dropped word is read as the zero vector.
      kept: where words are dropped, the others' vectors times this.
    """
    words = table.tangents
    if masks.words is not None and kept != 1:
        words, prep = kept * words, None
    if prep is not None and masks.inputs is None:
        rows = prep[tokens]
    elif masks.inputs is None and len(words) <= tokens.size:
        rows = function(words)[tokens]
    else:
        vectors = words[tokens]
        rows = function(vectors if masks.inputs is None else masks.inputs[:, None] * vectors)
    if masks.words is None:
        return rows
    return jnp.where(masks.words[..., None], rows, function(jnp.zeros_like(table.tangents[0])))
