"""Dropout (S7): off in evaluation, one mask over a window, another for every seed and sequence."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rilm_jax import ModelConfig, build
from rilm_jax.backbones import dropout
from rilm_jax.manifolds import poincare

V, D, T = 12, 64, 8


def masks(key, tokens, **rates):
    return dropout.masks(key, tokens, ModelConfig(vocab_size=V, dim=D, **rates), D)


TOKENS = jax.random.randint(jax.random.key(1), (4, T), 0, V, jnp.int32)


def test_without_a_key_nothing_is_dropped():
    assert masks(None, TOKENS, dropout=0.5, output_dropout=0.5, word_dropout=0.5) == (None,) * 4
    options = {"vocab_size": V, "dim": D, "manifold": "euclidean"}
    plain = build(ModelConfig(**options))
    dropped = build(ModelConfig(**options, dropout=0.5, output_dropout=0.5, word_dropout=0.5))
    params = plain.init(jax.random.key(0))
    carry = plain.initial_carry(params, 4)
    np.testing.assert_array_equal(
        dropped.hidden(params, TOKENS, carry)[0].coords,
        plain.hidden(params, TOKENS, carry)[0].coords,
    )


@pytest.mark.parametrize("name", ["dropout", "input_dropout", "output_dropout"])
def test_masks_keep_the_mean_and_differ_by_key_sequence_and_step(name):
    tokens = jnp.zeros((400, T), jnp.int32)
    which = {"dropout": "state", "input_dropout": "inputs", "output_dropout": "output"}[name]
    one, other = (getattr(masks(jax.random.key(s), tokens, **{name: 0.25}), which) for s in (0, 1))
    np.testing.assert_allclose(np.unique(one), [0, 1 / 0.75], rtol=1e-6)
    assert abs(float(jnp.mean(one)) - 1) < 0.02
    assert jnp.any(one != other)
    assert len(np.unique(one, axis=0)) == 400
    both = masks(jax.random.key(0), tokens, dropout=0.25, output_dropout=0.25)
    assert jnp.any(both.state != both.output)


def test_a_dropped_word_is_dropped_everywhere_in_its_window_and_only_there():
    tokens = jnp.tile(jnp.arange(V, dtype=jnp.int32), (300, 3))
    kept = np.asarray(masks(jax.random.key(0), tokens, word_dropout=0.3).words)
    thirds = kept.reshape(300, 3, V)
    np.testing.assert_array_equal(thirds, thirds[:, :1].repeat(3, 1))
    assert abs(kept.mean() - 0.7) < 0.03
    assert len(np.unique(kept[:, :V], axis=0)) > 150  # other words in other windows


def flat(**rates):
    model = build(ModelConfig(vocab_size=V, dim=D, manifold="euclidean", k=0, **rates))
    params = model.init(jax.random.key(0))
    return model, params


def test_one_mask_holds_for_all_steps():
    """phi is blind to the masked coordinates of h at every step of the window."""
    model, params = flat(dropout=0.5)
    key = jax.random.key(7)
    mask = masks(key, TOKENS, dropout=0.5).state
    phi, table = params["backbone"]["phi"], params["embed"]["table"]
    states, _ = model.hidden(params, TOKENS, model.initial_carry(params, 4), rng=key)
    h = jnp.tile(params["backbone"]["root"], (4, 1))
    for t in range(T):
        h = h + jnp.tanh((mask * h) @ phi["W_h"] + table[TOKENS[:, t]] @ phi["W_e"] + phi["b"])
        np.testing.assert_allclose(states.coords[:, t], h, rtol=1e-4, atol=1e-5)


def test_output_dropout_changes_what_the_head_sees_but_not_the_recurrence():
    model = build(ModelConfig(vocab_size=V, dim=D, output_dropout=0.5))
    params = model.init(jax.random.key(0))
    hidden = jax.jit(lambda key: model.hidden(params, TOKENS, root, rng=key))
    root = model.initial_carry(params, 4)
    key = jax.random.key(7)
    (plain, carry), (seen, dropped_carry) = hidden(None), hidden(key)
    np.testing.assert_array_equal(carry.coords, dropped_carry.coords)
    mask = masks(key, TOKENS, output_dropout=0.5).output
    wanted = poincare.expmap0(mask[:, None] * poincare.logmap0(plain.coords, 1.0), 1.0)
    np.testing.assert_allclose(seen.coords, wanted, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(seen.gap, poincare.gap(seen.coords, 1.0), rtol=1e-5)


def test_a_dropped_word_is_read_as_the_origin():
    model, params = flat(word_dropout=0.5)
    key = jax.random.key(3)
    kept = masks(key, TOKENS, word_dropout=0.5).words
    assert 0 < int(jnp.sum(kept)) < kept.size
    states, _ = model.hidden(params, TOKENS, model.initial_carry(params, 4), rng=key)
    phi, table = params["backbone"]["phi"], params["embed"]["table"]
    h = jnp.tile(params["backbone"]["root"], (4, 1))
    for t in range(T):
        word = kept[:, t, None] * table[TOKENS[:, t]]
        h = h + jnp.tanh(h @ phi["W_h"] + word @ phi["W_e"] + phi["b"])
        np.testing.assert_allclose(states.coords[:, t], h, rtol=1e-4, atol=1e-5)


def test_a_module_reads_the_words_that_are_kept_larger():
    """So that what it reads has the same mean with and without dropout."""
    options = {"backbone": "lstm", "head": "tied", "manifold": "euclidean"}
    options |= {"vocab_size": V, "dim": D, "word_dropout": 0.75}
    model = build(ModelConfig(**options))
    params = model.init(jax.random.key(0))
    tokens = jnp.full((40, 1), 7, jnp.int32)
    carry = model.initial_carry(params, 40)
    states, _ = model.hidden(params, tokens, carry, rng=jax.random.key(2))

    def alone(factor):
        embed = jax.tree.map(lambda x: factor * x, params["embed"])
        one = model.initial_carry(params, 1)
        states, _ = model.hidden(params | {"embed": embed}, tokens[:1], one)
        return states

    kept, dropped = (jnp.isclose(states, alone(f), rtol=1e-5).all((1, 2)) for f in (4.0, 0.0))
    assert (kept | dropped).all() and 3 < kept.sum() < 20


@pytest.mark.parametrize("variational", [True, False])
def test_an_lstms_mask_holds_for_a_window_or_is_fresh_at_every_step(variational):
    """A variational zero stays zero and is read back, but not by the next window, whose mask is
    another; an ordinary one leaves the recurrence alone."""
    options = {"backbone": "lstm", "head": "tied", "manifold": "euclidean", "num_layers": 1}
    options |= {"vocab_size": V, "dim": D, "variational": variational}
    model = build(ModelConfig(**options, dropout=0.5))
    params = model.init(jax.random.key(0))
    carry = model.initial_carry(params, 4)
    states, after = model.hidden(params, TOKENS, carry, rng=jax.random.key(2))
    plain, plain_after = model.hidden(params, TOKENS, carry)
    dropped = np.asarray(states == 0)
    assert 0.3 < dropped.mean() < 0.7
    same_at_all_steps = (dropped == dropped[:, :1]).all()
    assert same_at_all_steps == variational
    assert (dropped[0] != dropped[1]).any()
    if variational:
        assert np.all(after[0][0] != 0) and np.any(after[0][0] != plain_after[0][0])
        step = model.hidden(params, TOKENS[:, :1], after, rng=jax.random.key(3))[0]
        forgotten = [(jnp.zeros_like(h), c) for h, c in after]
        without = model.hidden(params, TOKENS[:, :1], forgotten, rng=jax.random.key(3))[0]
        assert np.any(np.asarray(step != without))
    else:
        np.testing.assert_allclose(after[0][0], plain_after[0][0], rtol=1e-6)
        np.testing.assert_allclose(states[~dropped], 2 * plain[~dropped], rtol=1e-6)
