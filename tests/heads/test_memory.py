"""The loss at the size of WikiText-2's full vocabulary, compiled but not run."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rilm_jax.heads import blocked
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
