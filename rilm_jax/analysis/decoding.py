"""Which words come next, and where they lie as seen from the context."""

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from rilm_jax import manifolds, markdown
from rilm_jax.analysis.trajectory import place, trajectory
from rilm_jax.data import Vocabulary
from rilm_jax.errors import InputError
from rilm_jax.metrics import UNK_ID
from rilm_jax.model import LanguageModel, Params, Prepared


class Candidates(NamedTuple):
    """The k likeliest next words, likeliest first.

    Attributes:
      words: k words.
      probability: [k], of the whole distribution.
      distance: [k], geodesic, from the context to the word; None where the context has no place
        among the words (see `trajectory.place`).
      radius: [k], |log_0 e| of the word: on R^d its norm, on the ball half its distance from 0.
    """

    words: tuple[str, ...]
    probability: np.ndarray
    distance: np.ndarray | None
    radius: np.ndarray


def top_k_words(
    model: LanguageModel, params: Params, vocab: Vocabulary, ids: ArrayLike, k: int
) -> Candidates:
    """The k likeliest words after `ids`, read from the model's start.

    Args:
      model: any model.
      params: of one seed.
      vocab: the words of its V ids.
      ids: [N] word ids, N >= 1.
      k: 1 to V.

    Raises:
      InputError: k out of range, a vocabulary of another size, or ids that `trajectory` refuses.
    """
    states = trajectory(model, params, ids).states
    last = jax.tree.map(lambda x: x[-1], states)
    return candidates(model, params, vocab, last, k)


def candidates(
    model: LanguageModel,
    params: Params,
    vocab: Vocabulary,
    state: Any,
    k: int,
    *,
    allow_unk: bool = True,
    prep: Prepared | None = None,
) -> Candidates:
    """The k likeliest words in one state (leaves without leading axes), as the model has it.

    Without `allow_unk` that word is passed over; the probabilities stay those of all V words.

    Raises:
      InputError: k out of range, or a vocabulary of another size.
    """
    vocab_size = model.config.vocab_size
    if len(vocab) != vocab_size:
        raise InputError(
            f"the vocabulary has {len(vocab)} words and the model {vocab_size}; "
            "give the vocabulary that it was trained with."
        )
    most = vocab_size if allow_unk else vocab_size - 1
    if not 1 <= k <= most:
        raise InputError(f"k={k} is out of range; it must be from 1 to {most} words.")
    prep = model.prepare(params) if prep is None else prep
    ids, *numbers = jax.device_get(_candidates(model, params, prep, state, k, allow_unk))
    return Candidates(tuple(vocab.decode(ids)), *numbers)


def side_by_side(found: Mapping[str, Candidates]) -> str:
    """A Markdown table of several models' next words, each with p and, where it has one, d.

    Args:
      found: equally many of each model, by its label.
    """
    header: list[str] = []
    columns: list[list[str]] = []
    for label, best in found.items():
        header += [markdown.escaped(label), "p"]
        columns += [[markdown.escaped(word) for word in best.words]]
        columns += [[f"{p:.4f}" for p in best.probability]]
        if best.distance is not None:
            header.append("d")
            columns.append([f"{d:.4f}" for d in best.distance])
    rows = list(zip(*columns, strict=True))
    return markdown.table(header, rows, right=("p", "d"), padded=True) + "\n"


@functools.partial(jax.jit, static_argnames=("model", "k", "allow_unk"))
def _candidates(model, params, prep, state, k, allow_unk):
    table = prep.table
    log_p = jax.nn.log_softmax(model.scores(params, state, prep=prep))
    ranked = log_p if allow_unk else log_p.at[UNK_ID].set(-jnp.inf)
    best, ids = jax.lax.top_k(ranked, k)
    context, distance = place(model, params, table, state), None
    if context is not None:
        manifold = manifolds.get(model.config.manifold)
        distance = manifold.dist(context.coords, table.points.coords[ids], table.c)
    return ids, jnp.exp(best), distance, jnp.linalg.norm(table.tangents[ids], axis=-1)
