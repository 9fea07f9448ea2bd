"""The subspace distance, on spaces whose principal angles are known."""

import numpy as np
import pytest

from rilm_jax.analysis import subspace_distance
from rilm_jax.errors import InputError


def columns(seed, n=30, c=4):
    return np.random.default_rng(seed).normal(size=(n, c))


def test_the_same_space_in_another_basis_is_at_distance_0():
    x = columns(0)
    assert subspace_distance(x, x @ columns(1, 4)) < 1e-12


def test_orthogonal_spaces_are_at_distance_1():
    eye = np.eye(30)
    mixed = eye[:, 4:8] @ columns(2, 4)
    assert subspace_distance(eye[:, :4], mixed) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("angle", [0.0, 0.1, np.pi / 4, 1.5])
def test_planes_at_one_angle_are_at_the_root_mean_square_of_the_sines(angle):
    # Of the two principal angles one is 0 and the other is given.
    x = np.eye(3)[:, :2]
    y = np.stack([[1, 0, 0], [0, np.cos(angle), np.sin(angle)]], axis=1)
    assert subspace_distance(x, y) == pytest.approx(np.sin(angle) / np.sqrt(2), abs=1e-12)


def test_it_is_symmetric_and_does_not_see_rotations_of_the_whole():
    x, y = columns(0), columns(1)
    rotation = np.linalg.qr(columns(2, 30, 30))[0]
    distance = subspace_distance(x, y)
    assert 0.5 < distance < 1
    assert subspace_distance(y, x) == pytest.approx(distance, abs=1e-12)
    assert subspace_distance(rotation @ x, rotation @ y) == pytest.approx(distance, abs=1e-12)


def test_it_agrees_with_the_projectors_difference():
    # |P_x - P_y|_F^2 = 2 sum of sin^2.
    x, y = columns(0), columns(1)
    projectors = [a @ np.linalg.pinv(a) for a in (x, y)]
    expected = np.linalg.norm(projectors[0] - projectors[1]) / np.sqrt(2 * 4)
    assert subspace_distance(x, y) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("x", "y", "sentence"),
    [
        (np.ones((5, 2)), np.ones((4, 2)), "give equal shapes"),
        (np.ones(5), np.ones(5), "give equal shapes"),
        (np.ones((2, 5)), np.ones((2, 5)), "C <= n"),
        (np.ones((5, 2)), np.eye(5, 2), "columns of x depend"),
        (np.eye(5, 2), np.full((5, 2), np.nan), "y has values that are not finite"),
    ],
)
def test_what_spans_no_space_of_that_dimension_is_refused(x, y, sentence):
    with pytest.raises(InputError, match=sentence):
        subspace_distance(x, y)
