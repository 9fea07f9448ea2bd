"""Projections against constructed points, and geodesics against the metric."""

import numpy as np
import pytest

from rilm_jax.analysis import figures, planes
from rilm_jax.errors import InputError
from rilm_jax.manifolds import poincare


def test_the_principal_plane_of_points_in_a_plane_keeps_their_distances():
    draw = np.random.default_rng(0)
    basis, _ = np.linalg.qr(draw.normal(size=(7, 2)))
    flat = draw.normal(size=(20, 2)) * [3, 1]
    points = flat @ basis.T + 5
    plane = planes.principal_plane(points)
    spread = np.linalg.svd(flat - flat.mean(axis=0), compute_uv=False) ** 2
    np.testing.assert_allclose(plane.shares, spread / spread.sum())
    found = planes.in_plane(points, plane)
    np.testing.assert_allclose(
        np.linalg.norm(found[:, None] - found, axis=-1),
        np.linalg.norm(flat[:, None] - flat, axis=-1),
        atol=1e-12,
    )


def disk_plane():
    return planes.Plane(np.zeros(3), np.eye(3)[:, :2], np.ones(2) / 2)


def test_points_of_the_disk_stay_where_they_are():
    points = np.array([[0.3, -0.4, 0], [0, 0, 0], [0.9, 0.1, 0]])
    np.testing.assert_allclose(planes.in_disk(points, disk_plane()), points[:, :2], atol=1e-15)
    smaller = points / 2  # the ball of c = 4
    np.testing.assert_allclose(planes.in_disk(smaller, disk_plane(), 4.0), points[:, :2])


def test_the_projection_is_the_nearest_point_of_the_disk():
    """By the library's own distance, against a grid around it."""
    point = np.array([0.5, 0.2, 0.6], np.float32)
    found = planes.in_disk(point, disk_plane())
    assert np.linalg.norm(found) < 1

    def distance(place):
        return float(poincare.dist(point, np.array([*place, 0], np.float32), 1.0))

    least = distance(found)
    for angle in np.linspace(0, 2 * np.pi, 9):
        assert distance(found + 0.02 * np.array([np.cos(angle), np.sin(angle)])) > least


def test_an_arc_is_a_geodesic():
    """Distances along it add up, its ends are the points, and it bends towards the middle."""
    x, y = np.array([0.6, 0.1]), np.array([-0.1, 0.7])
    places = planes.arc(x, y, 30).astype(np.float32)
    np.testing.assert_allclose(places[[0, -1]], [x, y], atol=1e-6)
    legs = poincare.dist(places[:-1], places[1:], 1.0)
    whole = poincare.dist(places[0], places[-1], 1.0)
    np.testing.assert_allclose(np.sum(legs), whole, rtol=1e-4)
    assert np.linalg.norm(places, axis=1).min() < np.linalg.norm((x + y) / 2)


def test_a_plane_of_one_point_is_refused():
    with pytest.raises(InputError, match="needs two points of two dimensions"):
        planes.principal_plane(np.zeros((1, 4)))


def test_names_hide_neither_places_nor_each_other():
    figure = figures.new()
    (axis,) = figures.axes(figure)
    places = np.array([[0, 0], [1, 0], [0.01, 0.01], [1, 0.02], [0.02, 0]])
    axis.plot(*places.T)
    figure.draw_without_rendering()
    planes.name_places(axis, places, ["one word", "another", "third", "fourth", "fifth"])
    boxes = [text.get_window_extent() for text in axis.texts]
    dots = axis.transData.transform(places)
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
        assert not any(box.contains(*dot) for dot in dots)
