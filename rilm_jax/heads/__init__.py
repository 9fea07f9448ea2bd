"""Heads: from states to a distribution over words, by name.

`get("tied")` returns a builder, a function of a `Context` that returns a `Head`; `names()` tells
which there are, and `register("cosine", builder)` adds one of your own.
"""

from collections.abc import Callable

from rilm_jax.heads import geodesic, linear, tied
from rilm_jax.heads.augmented import Augmentation
from rilm_jax.heads.base import Context, Head
from rilm_jax.heads.blocked import Keys
from rilm_jax.registry import Registry

_REGISTRY: Registry[Callable[[Context], Head]] = Registry(
    "head",
    {
        "geodesic": geodesic.build,
        "linear": linear.build,
        "tied": tied.build,
    },
)
get, names, register = _REGISTRY.get, _REGISTRY.names, _REGISTRY.register

__all__ = ["Augmentation", "Context", "Head", "Keys", "get", "names", "register"]
