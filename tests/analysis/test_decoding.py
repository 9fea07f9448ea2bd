"""The likeliest words, with where they lie."""

import numpy as np
import pytest

from rilm_jax import manifolds
from rilm_jax.analysis import candidates, top_k_words, trajectory
from rilm_jax.data import Vocabulary
from rilm_jax.errors import InputError

VOCAB = Vocabulary(("<unk>", "<eos>", "a", "b", "c", "d", "e"))
IDS = [3, 1, 5]


@pytest.mark.parametrize("manifold", ["poincare", "euclidean"])
def test_all_of_them_are_the_whole_distribution(spread_out, manifold):
    model, params = spread_out(manifold=manifold, bias=True, tau=1.0)
    params["head"]["bias"] = np.linspace(-1, 1, 7, dtype=np.float32)
    found = top_k_words(model, params, VOCAB, IDS, 7)
    order = VOCAB.encode(found.words)
    assert sorted(order) == list(range(7))

    states = trajectory(model, params, IDS).states
    scores = np.asarray(model.scores(params, states), np.float64)[-1]
    probability = np.exp(scores) / np.exp(scores).sum()
    np.testing.assert_allclose(found.probability, probability[order], rtol=1e-4)
    assert (np.diff(found.probability) <= 0).all()

    words = params["embed"]["table"]
    geometry = manifolds.get(manifold)
    distance = geometry.dist(states.coords[-1], words, 1.0)
    np.testing.assert_allclose(found.distance, np.asarray(distance)[order], rtol=1e-5)
    length = np.linalg.norm(geometry.logmap0(words, 1.0), axis=-1)
    np.testing.assert_allclose(found.radius, length[order], rtol=1e-5)


def test_without_a_bias_the_nearest_word_is_the_likeliest(spread_out):
    model, params = spread_out()
    found = top_k_words(model, params, VOCAB, IDS, 5)
    assert (np.diff(found.distance) >= 0).all()
    assert len(found.words) == len(found.radius) == 5


def test_unk_is_passed_over_and_keeps_its_probability(spread_out):
    model, params = spread_out(bias=True, tau=1.0)
    params["head"]["bias"] = np.array([30, 0, 0, 0, 0, 0, 0], np.float32)
    state = trajectory(model, params, IDS[:1]).states
    state = type(state)(*(x[0] for x in state))
    whole = candidates(model, params, VOCAB, state, 7)
    assert whole.words[0] == "<unk>"
    rest = candidates(model, params, VOCAB, state, 6, allow_unk=False)
    assert rest.words == whole.words[1:]
    np.testing.assert_array_equal(rest.probability, whole.probability[1:])


def test_words_stand_at_no_distance_from_a_vector_without_a_place(spread_out, vector_backbone):
    model, params = spread_out(backbone=vector_backbone, learn_tau=False)
    assert top_k_words(model, params, VOCAB, IDS, 2).distance is not None

    def products(params, states, prep=None):
        return states @ (prep or model.prepare(params)).table.tangents.T

    model, params = model._replace(scores=products), params | {"head": {}}
    found = top_k_words(model, params, VOCAB, IDS, 2)
    assert found.distance is None
    assert found.probability[0] > found.probability[1] > 0


@pytest.mark.parametrize(
    ("vocab", "k", "sentence"),
    [(VOCAB, 0, "from 1 to 7"), (VOCAB, 8, "from 1 to 7"), (Vocabulary(("<unk>",)), 1, "1 words")],
)
def test_what_does_not_fit_the_model_is_refused(spread_out, vocab, k, sentence):
    model, params = spread_out()
    with pytest.raises(InputError, match=sentence):
        top_k_words(model, params, vocab, IDS, k)
