"""The linear and the tied head on RiLM's states, flat and on the ball."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rilm_jax import ModelConfig, build
from rilm_jax.manifolds import poincare


def made(head, manifold, **options):
    model = build(ModelConfig(head=head, manifold=manifold, vocab_size=30, dim=8, **options))
    params = jax.jit(model.init)(jax.random.key(0))
    params["head"] = {  # away from zero, so that a forgotten bias shows
        name: value + 0.1 * jax.random.normal(jax.random.key(1), value.shape)
        for name, value in params["head"].items()
    }
    tokens = jax.random.randint(jax.random.key(2), (3, 10), 0, 30)
    states, _ = jax.jit(model.hidden)(params, tokens, model.initial_carry(params, 3))
    return model, params, tokens, states


@pytest.mark.parametrize("manifold", ["euclidean", "poincare"])
@pytest.mark.parametrize(("head", "bias"), [("tied", False), ("tied", True), ("linear", False)])
def test_scores_are_inner_products_of_tangent_vectors(head, bias, manifold):
    model, params, tokens, states = made(head, manifold, bias=bias)
    log = (lambda x: poincare.logmap0(x, 1.0)) if manifold == "poincare" else (lambda x: x)
    words = log(params["embed"]["table"])
    h = log(states.coords)
    wanted = h @ (params["head"]["W"] if head == "linear" else words).T
    if bias or head == "linear":
        wanted += params["head"]["bias"]
    scores = model.scores(params, states)
    np.testing.assert_allclose(scores, wanted, rtol=1e-4, atol=1e-5)
    near = model.word_scores(params, tokens)
    np.testing.assert_allclose(near, words[tokens] @ words.T, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("learned", [True, False])
def test_a_temperature_divides_the_products_and_not_the_bias(learned):
    model, params, tokens, states = made("tied", "poincare", bias=True, tau=0.25, learn_tau=learned)
    tau = float(jnp.exp(params["head"]["log_tau"])) if learned else 0.25
    assert ("log_tau" in params["head"]) == learned
    words = poincare.logmap0(params["embed"]["table"], 1.0)
    wanted = poincare.logmap0(states.coords, 1.0) @ words.T / tau + params["head"]["bias"]
    scores = model.scores(params, states)
    np.testing.assert_allclose(scores, wanted, rtol=1e-4, atol=1e-5)
    near = model.word_scores(params, tokens)
    np.testing.assert_allclose(near, words[tokens] @ words.T / tau, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("options", [{"head": "linear"}, {"head": "tied"}, {"tau": 0.3}])
def test_the_blocked_loss_is_the_plain_one(options):
    options = {"head": "tied", "manifold": "poincare", "bias": True} | options
    model, params, tokens, _ = made(**options)

    def plain(params):
        states, _ = model.hidden(params, tokens, model.initial_carry(params, 3))
        logits = jax.nn.log_softmax(model.scores(params, states))
        return -jnp.mean(jnp.take_along_axis(logits, tokens[..., None], -1))

    def blocked(params):
        states, _ = model.hidden(params, tokens, model.initial_carry(params, 3))
        return model.loss(params, states, tokens, jnp.ones(tokens.shape))[0]

    (value, grads), (wanted, wanted_grads) = (
        jax.jit(jax.value_and_grad(f))(params) for f in (blocked, plain)
    )
    np.testing.assert_allclose(value, wanted, rtol=1e-6)
    for g, w in zip(jax.tree.leaves(grads), jax.tree.leaves(wanted_grads), strict=True):
        assert jnp.any(w != 0)
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-5 * float(jnp.max(jnp.abs(w))))


def test_parameters_are_counted_by_formula():
    def count(params):
        return sum(x.size for x in jax.tree.leaves(params["head"]))

    assert count(made("linear", "euclidean")[1]) == 30 * 8 + 30
    assert count(made("tied", "euclidean")[1]) == 0
    assert count(made("tied", "euclidean", bias=True)[1]) == 30
