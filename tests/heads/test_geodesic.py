"""The geodesic head: its scores are distances."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rilm_jax import ModelConfig, build
from rilm_jax.embedding import Points
from rilm_jax.manifolds import euclidean, poincare

pytestmark = pytest.mark.usefixtures("quick_compilation")

V, D, N = 40, 8, 25
GEOMETRY = {"poincare": poincare, "euclidean": euclidean}


def points(key, n, reach, c=1.0):
    """Points of the ball with 0 <= |log_0 x| <= reach."""
    key_direction, key_length = jax.random.split(key)
    v = jax.random.normal(key_direction, (n, D))
    v *= reach * jax.random.uniform(key_length, (n, 1)) / jnp.linalg.norm(v, axis=1, keepdims=True)
    return poincare.expmap0(v, c)


def model_with(words, **options):
    model = build(ModelConfig(vocab_size=V, dim=D, **options))
    params = model.init(jax.random.key(0))
    params["embed"]["table"] = words
    return model, params


def states_of(coords, manifold, c):
    return Points(coords, poincare.gap(coords, c) if manifold == "poincare" else None)


@pytest.mark.parametrize("manifold", ["poincare", "euclidean"])
@pytest.mark.parametrize(("reach", "error"), [(1.0, 2e-5), (2.0, 2e-4), (3.0, 2e-2)])
@pytest.mark.parametrize("c", [1.0, pytest.param(0.25, marks=pytest.mark.slow)])
def test_scores_are_negative_squared_distances_over_tau(manifold, reach, error, c):
    """Within the Gram form's documented error, which grows towards the boundary."""
    tau = 0.5
    scale = reach / np.sqrt(c)
    words, states = (points(jax.random.key(s), n, scale, c) for s, n in ((1, V), (2, N)))
    model, params = model_with(words, manifold=manifold, c=c, tau=tau)
    scores = model.scores(params, states_of(states, manifold, c))
    exact = GEOMETRY[manifold].pairwise_sqdist(states, words, c, exact=True)
    assert scores.shape == (N, V) and jnp.max(scores) <= 0
    np.testing.assert_allclose(scores, -exact / tau, atol=error / c / tau)


@pytest.mark.parametrize("manifold", ["poincare", "euclidean"])
def test_unsquared_scores_are_distances(manifold):
    words, states = (points(jax.random.key(s), n, 1.5, 2.0) for s, n in ((1, V), (2, N)))
    model, params = model_with(words, manifold=manifold, c=2.0, tau=0.5, squared=False)
    scores = model.scores(params, states_of(states, manifold, 2.0))
    exact = jnp.sqrt(GEOMETRY[manifold].pairwise_sqdist(states, words, 2.0, exact=True))
    np.testing.assert_allclose(scores, -exact / 0.5, atol=2e-3)


@pytest.mark.parametrize("c", [1e-12, 1e-8, 1.0])
def test_unsquared_scores_pull_on_words_however_flat_the_ball(c):
    words, states = points(jax.random.key(1), V, 1.0), points(jax.random.key(2), N, 1.0)
    model, params = model_with(words, c=c, tau=1.0, squared=False)
    at = states_of(states, "poincare", c)
    slope = jax.grad(lambda table: model.scores(params | {"embed": {"table": table}}, at).sum())
    exact = jax.grad(lambda table: -poincare.dist(states[:, None], table, c).sum())
    np.testing.assert_allclose(slope(words), exact(words), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("manifold", ["poincare", "euclidean"])
def test_words_score_by_their_distances_to_each_other_without_bias(manifold):
    words = points(jax.random.key(1), V, 1.5)
    model, params = model_with(words, manifold=manifold, tau=0.5, bias=True)
    params["head"]["bias"] = jnp.arange(V, dtype=jnp.float32)
    ids = jnp.array([[3, 0], [39, 3]])
    scores = model.word_scores(params, ids)
    exact = GEOMETRY[manifold].pairwise_sqdist(words[ids], words, 1.0, exact=True)
    assert scores.shape == (2, 2, V)
    np.testing.assert_allclose(scores, -exact / 0.5, atol=1e-4)
    np.testing.assert_array_equal(jnp.argmax(scores, -1), ids)  # nothing is nearer than itself
    np.testing.assert_allclose(scores[0, 0], scores[1, 1], rtol=1e-6)


def test_the_bias_is_added_to_the_scores():
    words, states = points(jax.random.key(1), V, 1.5), points(jax.random.key(2), N, 1.5)
    model, params = model_with(words, bias=True)
    at = states_of(states, "poincare", 1.0)
    without = model.scores(params, at)
    params["head"]["bias"] = jnp.linspace(-2, 3, V)
    np.testing.assert_allclose(
        model.scores(params, at), without + jnp.linspace(-2, 3, V), rtol=1e-5, atol=1e-4
    )


@pytest.mark.parametrize(
    ("options", "tau"),
    [
        ({}, 0.1),
        ({"manifold": "euclidean"}, 0.3),
        ({"init": "plain"}, 1.0),
        ({"init": "plain", "manifold": "euclidean"}, 1.0),
        ({"tau": 0.7}, 0.7),
        ({"tau": 0.7, "learn_tau": False}, 0.7),
    ],
)
def test_the_temperature_starts_where_the_recipe_says(options, tau):
    words, states = points(jax.random.key(1), V, 1.5), points(jax.random.key(2), N, 1.5)
    manifold = options.get("manifold", "poincare")
    model, params = model_with(words, **options)
    exact = GEOMETRY[manifold].pairwise_sqdist(states, words, 1.0, exact=True)
    scores = model.scores(params, states_of(states, manifold, 1.0))
    np.testing.assert_allclose(scores, -exact / tau, atol=1e-4 / tau)


def test_a_state_on_a_word_scores_it_highest_and_keeps_gradients_finite():
    words = points(jax.random.key(1), V, 2.0)
    for squared in (True, False):
        model, params = model_with(words, squared=squared)
        ids = jnp.arange(V)

        def loss(coords, model=model, params=params, ids=ids):
            states = states_of(coords, "poincare", 1.0)
            return jnp.mean(model.nll(params, states, ids)), model.scores(params, states)

        grads, scores = jax.jit(jax.grad(loss, has_aux=True))(words)
        np.testing.assert_array_equal(jnp.argmax(scores, -1), ids)
        assert jnp.all(jnp.isfinite(grads))
