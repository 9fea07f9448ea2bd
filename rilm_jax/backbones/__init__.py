"""Backbones: from tokens to states, by name.

`get("rilm")` returns a builder, a function of a `ModelConfig` and a manifold that returns a
`Backbone`; `names()` tells which there are, and `register("gru", builder)` adds one of your own.
`linen.adapt` makes a builder of a Flax module.
"""

from collections.abc import Callable

from rilm_jax.backbones import linen, lstm, rhn, rilm, ssm, transformer
from rilm_jax.backbones.base import Backbone
from rilm_jax.config import ModelConfig
from rilm_jax.manifolds import Manifold
from rilm_jax.registry import Registry

Builder = Callable[[ModelConfig, Manifold], Backbone]

_REGISTRY: Registry[Builder] = Registry(
    "backbone",
    {
        "rilm": rilm.build,
        "lstm": linen.adapt(lstm.make),
        "transformer": linen.adapt(transformer.make),
        "ssm": linen.adapt(ssm.make),
        "rhn": linen.adapt(rhn.make),
    },
)
get, names, register = _REGISTRY.get, _REGISTRY.names, _REGISTRY.register

__all__ = ["Backbone", "Builder", "get", "names", "register"]
