"""Points of many dimensions in a plane: the principal one of R^d, and a disk for the ball."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rilm_jax.analysis import figures
from rilm_jax.errors import InputError

_TURNS = (0, 40, -40, 80, -80, 120, -120, 180)  # degrees off the way away from the path


class Plane(NamedTuple):
    """A plane of R^d, and how much of the points that it was made for lies in it.

    Attributes:
      origin: [d], where the axes start.
      axes: [d, 2], two orthonormal directions.
      shares: [2], the share of the points' squared distance from the origin along each.
    """

    origin: np.ndarray
    axes: np.ndarray
    shares: np.ndarray


def principal_plane(points: ArrayLike, *, centred: bool = True) -> Plane:
    """The plane that holds most of the points' variance (PCA); through 0 unless `centred`.

    Raises:
      InputError: fewer than two points or dimensions.
    """
    points = np.asarray(points, np.float64)
    if points.ndim != 2 or min(points.shape) < 2:
        raise InputError(f"a plane needs two points of two dimensions, not shape {points.shape}.")
    origin = points.mean(axis=0) if centred else np.zeros(points.shape[1])
    _, lengths, directions = np.linalg.svd(points - origin, full_matrices=False)
    axes = directions[:2].T
    axes = axes * np.where(axes.sum(axis=0) < 0, -1, 1)  # one sign for all machines
    return Plane(origin, axes, lengths[:2] ** 2 / np.sum(lengths**2))


def in_plane(points: ArrayLike, plane: Plane) -> np.ndarray:
    """Orthogonal projection on a plane of R^d: [..., d] -> [..., 2]."""
    return (np.asarray(points, np.float64) - plane.origin) @ plane.axes


def in_disk(points: ArrayLike, plane: Plane, c: float = 1.0) -> np.ndarray:
    """The nearest points of a totally geodesic disk of the ball: [..., d] -> [..., 2], |.| < 1.

    The disk is the section of the ball with a plane through 0, drawn with radius 1. On the
    hyperboloid, x = (x_0, x_s) with x_0 = (1 + r^2) / (1 - r^2) and x_s = 2 x / (1 - r^2), the
    nearest point keeps x_0 and the part a of x_s in the plane, scaled back by sqrt(x_0^2 - |a|^2).
    A projection of coordinates would not keep the ball's geometry.
    """
    x = np.sqrt(c) * np.asarray(points, np.float64)
    gap = 1 - np.sum(x**2, axis=-1, keepdims=True)
    time, a = (2 - gap) / gap, (2 * x / gap) @ plane.axes
    length = np.sqrt(time**2 - np.sum(a**2, axis=-1, keepdims=True))
    return a / (time + length)


def arc(x: ArrayLike, y: ArrayLike, n: int = 24) -> np.ndarray:
    """n points of the geodesic of the unit disk from x to y: [n, 2]."""
    from rilm_jax.manifolds import poincare

    t = np.linspace(0, 1, n, dtype=np.float32)[:, None]
    start, end = (np.asarray(p, np.float32)[None] for p in (x, y))
    return np.asarray(poincare.geodesic(t, start, end, 1.0))


def draw_path(axis: Any, points: np.ndarray, plane: Plane, *, disk: bool) -> None:
    """Places in order, from light to dark, joined by geodesics."""
    shades = np.linspace(0.25, 1, len(points))
    colours = [(0, 0.447, 0.698, shade) for shade in shades]
    for i in range(len(points) - 1):
        leg = arc(points[i], points[i + 1]) if disk else points[i : i + 2]
        axis.plot(*leg.T, color=colours[i + 1], linewidth=1.2)
    axis.scatter(*points.T, s=14, color=colours, zorder=3)
    axis.margins(0.12)  # room for the words
    axis.set_aspect("equal")
    first, second = (f"principal direction ({share:.0%} of variance)" for share in plane.shares)
    axis.set(xlabel=f"first {first}", ylabel=f"second {second}")


def name_places(axis: Any, places: np.ndarray, names: Sequence[str]) -> None:
    """Each name beside its place, away from the path and where it hides no place or earlier name.

    To be called when the figure's layout is settled, as room is measured on the page.
    """
    from matplotlib.transforms import Bbox

    dot = np.array([[-1.0, -1.0], [1.0, 1.0]]) * axis.figure.dpi / 30
    taken = [Bbox(place + dot) for place in axis.transData.transform(places)]
    for i, name in enumerate(names):
        away = places[i] - places[max(0, i - 1) : i + 2].mean(axis=0)
        angles = np.arctan2(away[1], away[0]) + np.deg2rad(_TURNS)
        label = _beside(axis, name, places[i], angles[0])
        for angle in angles[1:]:
            if not any(label.get_window_extent().overlaps(other) for other in taken):
                break
            label.remove()
            label = _beside(axis, name, places[i], angle)
        taken.append(label.get_window_extent())


def _beside(axis: Any, name: str, place: np.ndarray, angle: float) -> Any:
    """A name at a short way from its place in a direction."""
    x, y = np.cos(angle), np.sin(angle)
    return axis.annotate(
        name,
        place,
        xytext=(5 * x, 5 * y),
        textcoords="offset points",
        fontsize=6,
        color=figures.BLACK,
        ha="center" if abs(x) < 0.4 else "left" if x > 0 else "right",
        va="center" if abs(y) < 0.4 else "bottom" if y > 0 else "top",
    )


def draw_boundary(axis: Any) -> None:
    """The circle at infinity of the unit disk."""
    from matplotlib.patches import Circle

    axis.add_patch(Circle((0, 0), 1, fill=False, color=figures.GREY, linewidth=0.8))
    ticks = (-1, -0.5, 0, 0.5, 1)
    axis.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), xticks=ticks, yticks=ticks)
