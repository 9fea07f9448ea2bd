"""Contexts and their radii along a text."""

import importlib

import numpy as np
import pytest

from rilm_jax import manifolds
from rilm_jax.analysis import place, radius, trajectory
from rilm_jax.errors import InputError

# The package's `trajectory` is the function of that name.
trajectory_module = importlib.import_module("rilm_jax.analysis.trajectory")

IDS = [1, 4, 2, 2, 6]


@pytest.mark.parametrize("manifold", ["poincare", "euclidean"])
def test_the_states_are_those_of_reading_word_by_word(spread_out, manifold):
    model, params = spread_out(manifold=manifold, k=2)
    states, radii = trajectory(model, params, IDS)
    carry = model.initial_carry(params, 1)
    for t, token in enumerate(IDS):
        _, carry = model.hidden(params, np.array([[token]]), carry)
        np.testing.assert_allclose(states.coords[t], carry.coords[0], atol=1e-6)
    geometry = manifolds.get(manifold)
    from_root = geometry.dist(np.zeros(5, np.float32), states.coords, 1.0)
    np.testing.assert_allclose(from_root, radii * (2 if manifold == "poincare" else 1), rtol=1e-5)
    assert np.ptp(radii) > 0.01


def test_a_vector_has_a_place_only_under_a_geodesic_head(spread_out, vector_backbone):
    model, params = spread_out(backbone=vector_backbone, tau=0.5, learn_tau=False)
    states, radii = trajectory(model, params, IDS)
    assert states.shape == (5, 5)
    table = model.prepare(params).table
    points = place(model, params, table, states)
    # It is where the head has it: the logits are -d^2/tau from there.
    square = manifolds.poincare.pairwise_sqdist(points.coords, table.points.coords, 1.0)
    np.testing.assert_allclose(model.scores(params, states), -square / 0.5, atol=1e-4)
    # exp_0(s v): the radius is s |v|, s = d^-1/2.
    np.testing.assert_allclose(radii, np.linalg.norm(states, axis=-1) / np.sqrt(5), rtol=1e-5)
    headless = params | {"head": {}}
    assert place(model, headless, table, states) is None
    norm = radius(model, headless, table, states)
    np.testing.assert_allclose(norm, np.linalg.norm(states, axis=-1), rtol=1e-6)


@pytest.mark.parametrize(
    ("ids", "sentence"),
    [([], "at least one word"), ([[1, 2]], r"shape \(1, 2\)"), ([1, 7], "id 7 at position 1")],
)
def test_what_is_no_sequence_of_words_is_refused(spread_out, ids, sentence):
    model, params = spread_out()
    with pytest.raises(InputError, match=sentence):
        trajectory(model, params, ids)


def test_a_second_text_of_the_same_length_compiles_nothing(spread_out):
    model, params = spread_out()
    trajectory(model, params, IDS)
    before = trajectory_module._trajectory._cache_size()
    trajectory(model, params, IDS[::-1])
    assert trajectory_module._trajectory._cache_size() == before
