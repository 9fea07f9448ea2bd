"""Where a model's probability goes: to the right word, to its neighbours, or to the usual ones."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from rilm_jax.data import windows
from rilm_jax.errors import InputError
from rilm_jax.metrics import UNK_ID
from rilm_jax.model import LanguageModel, Params

FREQUENT = 20
NEIGHBOURS = 10


class Shares(NamedTuple):
    """Mean probability over the targets of a text that are no `<unk>`.

    Attributes:
      target: of the target itself.
      neighbours: of the ten words closest to the target, together; closeness is `word_scores`, and
        `<unk>` and the frequent words are no neighbours.
      frequent: of the twenty most frequent words but `<unk>`, together.
      unk: of `<unk>`.
    """

    target: float
    neighbours: float
    frequent: float
    unk: float


def shares(
    model: LanguageModel, params: Params, ids: np.ndarray, *, window: int = 64, most: int = 200
) -> Shares:
    """`Shares` over the first `most` windows of a stream of ids [N], each read from the start.

    Ids are in the order of frequency, as `rilm_jax.data` gives them.

    Raises:
      InputError: a vocabulary so small that no word is left to be a neighbour; ids without a target
        that is a word.
    """
    vocab_size = model.config.vocab_size
    if vocab_size <= FREQUENT + 1 + NEIGHBOURS:
        raise InputError(
            f"the model has {vocab_size} words; shares are for {FREQUENT + NEIGHBOURS + 2} or more."
        )
    cut = windows(ids, window)
    inputs, targets, mask = cut.inputs[:most], cut.targets[:most], cut.mask[:most]
    counted = (mask > 0) & (targets != UNK_ID)
    if not counted.any():
        raise InputError("no target of the text is a word of the vocabulary; give another text.")
    found = _shares(model, params, jnp.asarray(inputs), jnp.asarray(targets))
    means = [float(np.asarray(x, np.float64)[counted].mean()) for x in jax.device_get(found)]
    return Shares(*means)


@functools.partial(jax.jit, static_argnames="model")
def _shares(model, params, inputs, targets) -> Any:
    prep = model.prepare(params)
    usual = jnp.arange(model.config.vocab_size) <= FREQUENT  # <unk>, id 0, among them

    def of_window(window):
        inputs, targets = window
        states, _ = model.hidden(params, inputs[None], model.initial_carry(params, 1), prep=prep)
        states = jax.tree.map(lambda x: x[0], states)
        p = jax.nn.softmax(model.scores(params, states, prep=prep))
        closeness = model.word_scores(params, targets, prep=prep)
        itself = jnp.arange(closeness.shape[-1]) == targets[:, None]
        closeness = jnp.where(usual | itself, -jnp.inf, closeness)
        _, near = jax.lax.top_k(closeness, NEIGHBOURS)
        return (
            jnp.take_along_axis(p, targets[:, None], axis=-1)[:, 0],
            jnp.sum(jnp.take_along_axis(p, near, axis=-1), axis=-1),
            jnp.sum(p[:, 1 : FREQUENT + 1], axis=-1),
            p[:, UNK_ID],
        )

    return jax.lax.map(of_window, (inputs, targets))
