"""Points of many dimensions in a plane: the principal one of R^d, and a disk for the ball."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rilm_jax.analysis import figures
from rilm_jax.errors import InputError


class Plane(NamedTuple):
    """Two orthonormal directions `axes` [d, 2], and the `origin` [d] that they start from."""

    origin: np.ndarray
    axes: np.ndarray


def principal_plane(points: ArrayLike, *, centred: bool = True) -> Plane:
    """The plane that holds most of the points' variance (PCA); through 0 unless `centred`.

    Raises:
      InputError: fewer than two points or dimensions.
    """
    points = np.asarray(points, np.float64)
    if points.ndim != 2 or min(points.shape) < 2:
        raise InputError(f"a plane needs two points of two dimensions, not shape {points.shape}.")
    origin = points.mean(axis=0) if centred else np.zeros(points.shape[1])
    _, _, directions = np.linalg.svd(points - origin, full_matrices=False)
    axes = directions[:2].T
    return Plane(origin, axes * np.where(axes.sum(axis=0) < 0, -1, 1))  # one sign for all machines


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


def draw_path(axis: Any, points: np.ndarray, words: list[str], *, disk: bool) -> None:
    """Places in order, from light to dark, joined by geodesics and named by what was read."""
    shades = np.linspace(0.25, 1, len(points))
    colours = [(0, 0.447, 0.698, shade) for shade in shades]
    for i in range(len(points) - 1):
        leg = arc(points[i], points[i + 1]) if disk else points[i : i + 2]
        axis.plot(*leg.T, color=colours[i + 1], linewidth=1.2)
    axis.scatter(*points.T, s=14, color=colours, zorder=3)
    for i, word in enumerate(words):
        around = points[max(0, i - 1) : i + 2]  # a word stands away from the legs that meet here
        away = points[i] - around.mean(axis=0)
        away /= np.linalg.norm(away) or 1
        axis.annotate(
            word,
            points[i],
            xytext=4 * away,
            textcoords="offset points",
            fontsize=6,
            color=figures.BLACK,
            ha="left" if away[0] >= 0 else "right",
            va="bottom" if away[1] >= 0 else "top",
        )
    axis.margins(0.12)  # room for the words
    axis.set_aspect("equal")
    axis.set(xlabel="first principal direction", ylabel="second principal direction")


def draw_boundary(axis: Any) -> None:
    """The circle at infinity of the unit disk."""
    from matplotlib.patches import Circle

    axis.add_patch(Circle((0, 0), 1, fill=False, color=figures.GREY, linewidth=0.8))
    ticks = (-1, -0.5, 0, 0.5, 1)
    axis.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), xticks=ticks, yticks=ticks)
