"""How far two embeddings are from spanning the same space."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from rilm_jax import markdown
from rilm_jax.analysis import figures
from rilm_jax.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def subspace_distance(x: ArrayLike, y: ArrayLike) -> float:
    """|V - U U^T V|_F / sqrt(C), with U and V orthonormal bases of the column spaces.

    The root mean square of the sines of the principal angles: 0 for equal spaces, 1 for orthogonal
    ones; symmetric, and the same for any basis of either space. Computed in float64.

    >>> subspace_distance([[1.0], [0.0]], [[0.0], [2.0]])
    1.0

    Source: Inan, Khosravi and Socher, "Tying Word Vectors and Word Classifiers" (1611.01462).

    Args:
      x: [n, C], C <= n, of full rank; for embeddings a row a word.
      y: [n, C], likewise.

    Raises:
      InputError: other shapes, values that are not finite, or columns that depend on each other
        (they span less than C dimensions).
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if x.ndim != 2 or x.shape != y.shape or not 0 < x.shape[1] <= x.shape[0]:
        raise InputError(
            f"subspace_distance compares two [n, C] matrices with C <= n, not {x.shape} and "
            f"{y.shape}; give equal shapes."
        )
    u, v = _basis(x, "x"), _basis(y, "y")
    return float(np.linalg.norm(v - u @ (u.T @ v)) / np.sqrt(x.shape[1]))


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows of a subspace record as Markdown."""
    cells = [[f"{r['beta']:g}", f"{r['distance']:.3f}", f"{r['train_ppl']:.1f}"] for r in rows]
    return markdown.table(["beta", "distance of W and L", "training perplexity"], cells) + "\n"


def plot(rows: Sequence[Mapping[str, Any]]) -> "Figure":
    """Distance against beta, with the value that the paper gives at each end."""
    figure = figures.new()
    (axis,) = figures.axes(figure)
    betas, distances = [r["beta"] for r in rows], [r["distance"] for r in rows]
    axis.plot(betas, distances, "o-", color=figures.BLUE, label="measured")
    axis.plot([0, 1], [1, 0.06], "x", color=figures.RED, label="ends, as published")
    axis.set(xlabel="share β of the augmented loss", ylabel="distance of W and L", ylim=(0, 1.05))
    axis.legend(frameon=False)
    return figure


def _basis(x: np.ndarray, name: str) -> np.ndarray:
    if not np.isfinite(x).all():
        raise InputError(f"subspace_distance: {name} has values that are not finite; mend them.")
    basis, triangle = np.linalg.qr(x)
    rest = np.abs(np.diag(triangle))
    # What float32 columns leave of each other is rounding from here on.
    if (rest <= 1e-7 * np.linalg.norm(x, axis=0)).any():
        raise InputError(
            f"subspace_distance: the {x.shape[1]} columns of {name} depend on each other; "
            "leave out those that others span."
        )
    return basis
