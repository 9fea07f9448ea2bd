"""The loss at the size of WikiText-2's full vocabulary, compiled but not run."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rilm_jax import ModelConfig, build
from rilm_jax.heads import Augmentation, blocked
from rilm_jax.heads.blocked import Keys
from rilm_jax.manifolds.product import BALL


def shapes_in(jaxpr):
    """The shape of every value in a jaxpr and in those inside it."""
    for equation in jaxpr.eqns:
        for variable in equation.outvars:
            yield tuple(variable.aval.shape)
        for inner in jax.tree.leaves(
            list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns")
        ):
            inner = getattr(inner, "jaxpr", inner)
            if hasattr(inner, "eqns"):
                yield from shapes_in(inner)


@pytest.mark.parametrize("bias", [False, True], ids=["", "bias"])
def test_memory_stays_under_a_sixteenth_of_one_table_of_scores(bias):
    """8192 states, 33,278 words, d = 128: loss and all gradients, by XLA's own account."""
    n, vocab, width = 8192, 33_278, 130
    shapes = (
        jax.ShapeDtypeStruct((n, width), jnp.float32),
        Keys(
            jax.ShapeDtypeStruct((vocab, width), jnp.float32),
            jax.ShapeDtypeStruct((), jnp.float32),
            jax.ShapeDtypeStruct((vocab,), jnp.float32) if bias else None,
        ),
        jax.ShapeDtypeStruct((n,), jnp.int32),
        jax.ShapeDtypeStruct((n,), jnp.float32),
    )

    def loss_and_gradients(queries, keys, targets, weights):
        def loss(queries, keys):
            return blocked.loss(BALL.squared, queries, keys, targets, weights)[0]

        return jax.value_and_grad(loss, argnums=(0, 1))(queries, keys)

    traced = jax.jit(loss_and_gradients).trace(*shapes)
    found = list(shapes_in(traced.jaxpr.jaxpr))
    assert len(found) > 20
    assert max(np.prod(s, dtype=np.int64) for s in found) < n * vocab / 16
    analysis = traced.lower().compile().memory_analysis()
    assert 0 < analysis.temp_size_in_bytes <= 4 * n * vocab / 16


def test_the_augmented_loss_never_holds_the_tables_of_scores():
    """700 states and 33,278 words, as WikiText-2's full vocabulary has: by XLA's own account."""
    config = ModelConfig(
        backbone="lstm", head="tied", manifold="euclidean", vocab_size=33_278, dim=200, bias=True
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocked, "block_size", lambda vocab_size: 32)
        model = build(config)
        shapes = jax.eval_shape(model.init, jax.random.key(0))
        states = jax.ShapeDtypeStruct((20, 35, 200), jnp.float32)
        targets = jax.ShapeDtypeStruct((20, 35), jnp.int32)
        weights = jax.ShapeDtypeStruct((20, 35), jnp.float32)

        def step(params, states, targets, weights):
            how = Augmentation(20.0)
            return jax.value_and_grad(
                lambda p: model.loss(p, states, targets, weights, augmentation=how)[0]
            )(params)

        compiled = jax.jit(step).lower(shapes, states, targets, weights).compile()
    temporary = compiled.memory_analysis().temp_size_in_bytes
    table = 700 * 33_278 * 4
    gradients = sum(x.size for x in jax.tree.leaves(shapes)) * 4
    assert temporary - gradients < table / 2


@pytest.mark.parametrize("target_grad", [False, True], ids=["constant", "target_grad"])
@pytest.mark.parametrize(
    ("head", "manifold"),
    [
        ("linear", "euclidean"),
        ("tied", "euclidean"),
        ("geodesic", "euclidean"),
        ("geodesic", "poincare"),
    ],
)
def test_the_augmented_loss_holds_one_block_of_states_by_words(head, manifold, target_grad):
    """As traced, for every head: 20 windows of 350 words, 33,278 words, d = 200."""
    vocab, width, batch = 33_278, 200, (20, 350)
    model = build(
        ModelConfig(
            backbone="lstm", head=head, manifold=manifold, vocab_size=vocab, dim=width, bias=True
        )
    )
    params = jax.eval_shape(model.init, jax.random.key(0))
    tokens = jax.ShapeDtypeStruct(batch, jnp.int32)
    weights = jax.ShapeDtypeStruct(batch, jnp.float32)
    how = Augmentation(20.0, target_grad=target_grad)

    def hidden(params, tokens):
        return model.hidden(params, tokens, model.initial_carry(params, batch[0]))[0]

    def step(params, states, targets, weights):
        def loss(params, states):
            return model.loss(params, states, targets, weights, augmentation=how)[0]

        return jax.value_and_grad(loss, argnums=(0, 1))(params, states)

    states = jax.eval_shape(hidden, params, tokens)
    traced = jax.jit(step).trace(params, states, tokens, weights)
    # [.., V]: scores, and the keys turned over. [V, ..] is what is made of every word.
    found = {int(np.prod(s[:-1])) for s in shapes_in(traced.jaxpr.jaxpr) if s[-1:] == (vocab,)}
    rows = blocked.block_size(vocab)
    assert rows in found and max(found - {width, width + 1, width + 2}) == rows
