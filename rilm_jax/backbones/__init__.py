"""Backbones: from tokens to states, by name."""

from collections.abc import Callable

from rilm_jax.backbones import linen, lstm, rhn, rilm, ssm, transformer
from rilm_jax.backbones.base import Backbone
from rilm_jax.config import ModelConfig
from rilm_jax.errors import InputError, unknown_name
from rilm_jax.manifolds import Manifold

Builder = Callable[[ModelConfig, Manifold], Backbone]

_BUILDERS: dict[str, Builder] = {
    "rilm": rilm.build,
    "lstm": linen.adapt(lstm.make),
    "transformer": linen.adapt(transformer.make),
    "ssm": linen.adapt(ssm.make),
    "rhn": linen.adapt(rhn.make),
}


def register(name: str, build: Builder) -> None:
    """Make `backbone=name` available to every configuration."""
    _BUILDERS[name] = build


def names() -> list[str]:
    """The registered backbones."""
    return sorted(_BUILDERS)


def get(name: str) -> Builder:
    """The builder of a backbone.

    Raises:
      InputError: nobody registered that name.
    """
    if name not in _BUILDERS:
        raise InputError(unknown_name("backbone", name, _BUILDERS))
    return _BUILDERS[name]


__all__ = ["Backbone", "Builder", "get", "names", "register"]
