"""Text from a model, one word at a time.

A state is read from the carry, never from the text before it: a word costs one d x d product in
the recurrence and one pass over the vocabulary, however long the text has become.
"""

import functools
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from rilm_jax.data import EOS, check_ids
from rilm_jax.errors import InputError
from rilm_jax.metrics import UNK_ID
from rilm_jax.model import LanguageModel, Params, Prepared

_HOTTEST = 1e6  # beyond it every word is as likely as the next, and float32 ends somewhere


class Step(NamedTuple):
    """One word more.

    Attributes:
      id: the word drawn.
      state: the context it was drawn for; the leading [B, T] of a backbone's states are gone.
      scores: [V], the logits there, before temperature and restrictions.
    """

    id: int
    state: Any
    scores: jax.Array


def generate(
    model: LanguageModel,
    params: Params,
    prompt_ids: ArrayLike,
    num_tokens: int,
    key: jax.Array,
    temperature: float = 1.0,
    top_k: int = 0,
    *,
    allow_unk: bool = False,
) -> jax.Array:
    """The words that follow a prompt, drawn in one compiled call.

    Word t is drawn from softmax(scores / temperature) with `fold_in(key, t)`, so that the same key
    gives the same text, and a longer one begins with the shorter.

    Args:
      model: any model.
      params: of one seed.
      prompt_ids: [P] word ids, P >= 1, read from the model's start.
      num_tokens: n >= 1.
      key: of `jax.random.key`.
      temperature: 0 takes the likeliest word at every step (the first of equals).
      top_k: draw among the k likeliest words; 0: among all.
      allow_unk: whether `<unk>` may be drawn. It stands for any rare word and so reads as none,
        while a small vocabulary makes it the likeliest word of all.

    Returns:
      [n] int32.

    Raises:
      InputError: an empty prompt or one with unknown ids, a num_tokens below 1, a temperature
        below 0 or above a million, more top_k than there are words.
    """
    prompt = _check(model, prompt_ids, temperature, top_k, allow_unk)
    if not (isinstance(num_tokens, int | np.integer) and num_tokens >= 1):
        raise InputError(f"num_tokens={num_tokens} is no number of words; ask for at least 1.")
    return _generate(
        model,
        params,
        jnp.asarray(prompt),
        jnp.asarray(temperature, model.config.dtype),
        key,
        num_tokens,
        top_k,
        allow_unk,
    )


def stream(
    model: LanguageModel,
    params: Params,
    prompt_ids: ArrayLike,
    key: jax.Array,
    temperature: float = 1.0,
    top_k: int = 0,
    *,
    allow_unk: bool = False,
    prep: Prepared | None = None,
) -> Iterator[Step]:
    """The words of `generate` one by one, without end, each with the state it was drawn for.

    Args and errors are those of `generate`, errors at the call; `prep` is `model.prepare(params)`.
    """
    prompt = _check(model, prompt_ids, temperature, top_k, allow_unk)
    prepared = model.prepare(params) if prep is None else prep

    def steps() -> Iterator[Step]:
        carry = model.initial_carry(params, 1, prep=prepared)
        state = scores = None
        for token in prompt:
            carry, state, scores = read(model, params, prepared, carry, token)
        t = 0
        while scores is not None:
            drawn = draw(scores, jax.random.fold_in(key, t), temperature, top_k, allow_unk)
            yield Step(int(drawn), state, scores)
            carry, state, scores = read(model, params, prepared, carry, drawn)
            t += 1

    return steps()


def text(prompt: str, words: Iterable[str]) -> str:
    """The words behind their prompt, `<eos>` as the end of a line."""
    joined = " ".join([prompt, *words])
    return re.sub(f" ?{re.escape(EOS)} ?", "\n", joined).removesuffix("\n")


@functools.partial(jax.jit, static_argnames="model")
def read(
    model: LanguageModel, params: Params, prep: Prepared, carry: Any, token: ArrayLike
) -> tuple[Any, Any, jax.Array]:
    """Read one word: (carry, id []) -> (carry, the state it leads to, its scores [V]).

    `carry` is that of one sequence, `model.initial_carry(params, 1)` at the start.
    """
    states, carry = model.hidden(params, jnp.asarray(token)[None, None], carry, prep=prep)
    state = jax.tree.map(lambda x: x[0, 0], states)
    return carry, state, model.scores(params, state, prep=prep)


@functools.partial(jax.jit, static_argnames=("top_k", "allow_unk"))
def draw(
    scores: jax.Array,
    key: jax.Array,
    temperature: ArrayLike,
    top_k: int = 0,
    allow_unk: bool = False,
) -> jax.Array:
    """An id from scores [V] by `generate`'s rules."""
    if not allow_unk:
        scores = scores.at[UNK_ID].set(-jnp.inf)
    if top_k:
        scores, ids = jax.lax.top_k(scores, top_k)
    else:
        ids = jnp.arange(scores.shape[-1])
    warm = jnp.asarray(temperature) > 0
    sampled = jax.random.categorical(key, scores / jnp.where(warm, temperature, 1))
    return ids[jnp.where(warm, sampled, jnp.argmax(scores))].astype(jnp.int32)


@functools.partial(jax.jit, static_argnames=("model", "num_tokens", "top_k", "allow_unk"))
def _generate(model, params, prompt, temperature, key, num_tokens, top_k, allow_unk):
    prep = model.prepare(params)

    def one_word(before, t):
        carry, drawn = before
        token = jnp.where(t < 0, prompt[t], drawn)
        carry, _, scores = read(model, params, prep, carry, token)
        drawn = draw(scores, jax.random.fold_in(key, t + 1), temperature, top_k, allow_unk)
        return (carry, drawn), drawn

    # From -P on the prompt is read, whose last word leads to draw 0.
    start = (model.initial_carry(params, 1, prep=prep), prompt[0])
    times = jnp.arange(-len(prompt), num_tokens - 1)
    _, drawn = jax.lax.scan(one_word, start, times)
    return drawn[len(prompt) - 1 :]


def _check(
    model: LanguageModel, prompt_ids: ArrayLike, temperature: float, top_k: int, allow_unk: bool
) -> np.ndarray:
    vocab_size = model.config.vocab_size
    prompt = check_ids(prompt_ids, vocab_size, "prompt")
    if prompt.ndim != 1 or not prompt.size:
        raise InputError(
            "the prompt is empty; give at least one word to go on from."
            if not prompt.size
            else f"the prompt has shape {prompt.shape}; give one sequence of ids, [P]."
        )
    if not 0 <= temperature <= _HOTTEST:
        raise InputError(
            f"temperature={temperature} is out of range; give 0 (the likeliest word) or more, at "
            f"most {_HOTTEST:g}."
        )
    drawable = vocab_size if allow_unk else vocab_size - 1
    if not (isinstance(top_k, int | np.integer) and 0 <= top_k <= drawable):
        raise InputError(
            f"top_k={top_k} is out of range; there are {drawable} words to draw from, "
            "and 0 means all of them."
        )
    return prompt
