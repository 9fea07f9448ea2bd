"""What a trained model has learned: where contexts and words lie, and what follows from it."""

from rilm_jax.analysis.decoding import Candidates, candidates, side_by_side, top_k_words
from rilm_jax.analysis.shares import Shares, shares
from rilm_jax.analysis.subspace import subspace_distance
from rilm_jax.analysis.trajectory import Trajectory, place, radius, trajectory

__all__ = [
    "Candidates",
    "Shares",
    "Trajectory",
    "candidates",
    "place",
    "radius",
    "shares",
    "side_by_side",
    "subspace_distance",
    "top_k_words",
    "trajectory",
]
