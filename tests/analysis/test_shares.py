"""Where probability goes, against a loop over targets."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rilm_jax import ModelConfig, build
from rilm_jax.analysis import shares
from rilm_jax.errors import InputError

V = 50


def made(**options):
    model = build(ModelConfig(vocab_size=V, dim=4, **options))
    params = model.init(jax.random.key(0))
    return model, jax.tree.map(
        lambda x: x + 0.1 * jax.random.normal(jax.random.key(1), x.shape), params
    )


@pytest.mark.parametrize(
    "options",
    [{"manifold": "euclidean"}, {"backbone": "lstm", "head": "tied", "manifold": "euclidean"}],
)
def test_shares_are_those_of_a_loop(options):
    model, params = made(**options)
    ids = np.random.default_rng(0).integers(0, V, 23).astype(np.int32)
    found = shares(model, params, ids, window=7)
    rows = []
    for start in range(0, 22, 7):
        inputs = jnp.asarray(ids[start : start + 7][: 22 - start])[None]
        states, _ = model.hidden(params, inputs, model.initial_carry(params, 1))
        p = np.asarray(jax.nn.softmax(model.scores(params, states)))[0]
        for row, target in zip(p, ids[start + 1 : start + 8], strict=True):
            if target == 0:
                continue
            closeness = np.asarray(model.word_scores(params, jnp.asarray(target)))
            others = [v for v in range(21, V) if v != target]
            near = sorted(others, key=lambda v: -closeness[v])[:10]
            rows.append((row[target], row[near].sum(), row[1:21].sum(), row[0]))
    np.testing.assert_allclose(found, np.mean(rows, axis=0), rtol=1e-5)


def test_a_text_without_words_and_a_small_vocabulary_are_refused():
    model, params = made(manifold="euclidean")
    with pytest.raises(InputError, match="no target of the text is a word"):
        shares(model, params, np.zeros(9, np.int32))
    small = build(ModelConfig(vocab_size=20, dim=4))
    with pytest.raises(InputError, match="20 words; shares are for 32 or more"):
        shares(small, small.init(jax.random.key(0)), np.arange(9, dtype=np.int32))
