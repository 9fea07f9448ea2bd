"""What a backbone is: pure functions from tokens to states, with an explicit carry."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax

Params = dict[str, Any]

# Of two axes, and yet no matrices: biases of several layers, time constants, spline coefficients.
_NO_MATRICES = ("b", "A_log", "spline")


class Backbone(NamedTuple):
    """Pure functions over `params` and the embedding's `Table`.

    Attributes:
      state_dim: dimension of the states.
      on_manifold: whether states are `Points` of the manifold; otherwise arrays in R^state_dim.
      init: key -> params.
      project: (params, c) -> params, what lies on the manifold brought back into it.
      prepare: (params, table) -> what depends on parameters alone and is read at every step.
      initial_carry: (params, table, batch_size) -> carry, a pytree of fixed shapes.
      states: (params, table, prep or None, tokens [B, T], carry, mask [B, T] or None, rng or None)
        -> (states [B, T, ...], carry). Without `prep` only what these tokens need is computed. A
        masked position leaves the carry unchanged; `rng=None` means no dropout.
    """

    state_dim: int
    on_manifold: bool
    init: Callable[[jax.Array], Params]
    project: Callable[[Params, jax.Array], Params]
    prepare: Callable[..., Any]
    initial_carry: Callable[..., Any]
    states: Callable[..., tuple[Any, Any]]


def is_matrix(path: tuple[Any, ...], x: jax.Array) -> bool:
    """Whether a parameter, by its path in the pytree, is one that words or states multiply."""
    return x.ndim >= 2 and getattr(path[-1], "key", None) not in _NO_MATRICES
