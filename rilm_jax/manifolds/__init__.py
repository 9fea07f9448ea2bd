"""Geometries: one file each, pure functions on arrays.

`get("poincare")` returns the module `rilm_jax.manifolds.poincare`. A geometry of your own is any
object with the functions of `Manifold`, made known by `register("sphere", sphere)`.
"""

from typing import Any, Protocol

import jax
from jax.typing import ArrayLike

from rilm_jax.errors import InputError
from rilm_jax.manifolds import euclidean, poincare
from rilm_jax.registry import Registry

__all__ = ["Manifold", "euclidean", "get", "names", "poincare", "register"]


class Manifold(Protocol):
    """What a geometry provides; a module whose functions have these names will do.

    The last axis is the vector and leading axes broadcast. `c` is the curvature's magnitude, a
    number or a traced scalar; a geometry without one ignores it. Distances drop the last axis.
    """

    def expmap(self, x: ArrayLike, v: ArrayLike, c: Any) -> jax.Array: ...
    def logmap(self, x: ArrayLike, y: ArrayLike, c: Any) -> jax.Array: ...
    def expmap0(self, v: ArrayLike, c: Any) -> jax.Array: ...
    def logmap0(self, y: ArrayLike, c: Any) -> jax.Array: ...
    def ptransp(self, x: ArrayLike, y: ArrayLike, v: ArrayLike, c: Any) -> jax.Array: ...
    def ptransp0(self, y: ArrayLike, v: ArrayLike, c: Any) -> jax.Array: ...
    def dist(self, x: ArrayLike, y: ArrayLike, c: Any) -> jax.Array: ...
    def sqdist(self, x: ArrayLike, y: ArrayLike, c: Any) -> jax.Array: ...
    def project(self, x: ArrayLike, c: Any) -> jax.Array: ...
    def pairwise_sqdist(
        self, xs: ArrayLike, ys: ArrayLike, c: Any, *, exact: bool = False
    ) -> jax.Array: ...


_REQUIRED = tuple(name for name in vars(Manifold) if not name.startswith("_"))
_REGISTRY: Registry[Manifold] = Registry("manifold", {"euclidean": euclidean, "poincare": poincare})
get, names = _REGISTRY.get, _REGISTRY.names


def register(name: str, manifold: Manifold) -> None:
    """Make `manifold` available as `get(name)`.

    Raises:
      InputError: the name is the package's own, or a function of `Manifold` is missing.
    """
    missing = [f for f in _REQUIRED if not callable(getattr(manifold, f, None))]
    if missing:
        raise InputError(f"The manifold {name!r} lacks {', '.join(missing)}; add what is missing.")
    _REGISTRY.register(name, manifold)
