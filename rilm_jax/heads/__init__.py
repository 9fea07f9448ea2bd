"""Heads: from states to a distribution over words, by name."""

from collections.abc import Callable

from rilm_jax.errors import InputError, unknown_name
from rilm_jax.heads import geodesic, linear, tied
from rilm_jax.heads.augmented import Augmentation
from rilm_jax.heads.base import Context, Head
from rilm_jax.heads.blocked import Keys

_BUILDERS: dict[str, Callable[[Context], Head]] = {
    "geodesic": geodesic.build,
    "linear": linear.build,
    "tied": tied.build,
}


def register(name: str, build: Callable[[Context], Head]) -> None:
    """Make `head=name` available to every configuration."""
    _BUILDERS[name] = build


def names() -> list[str]:
    """The registered heads."""
    return sorted(_BUILDERS)


def get(name: str) -> Callable[[Context], Head]:
    """The builder of a head.

    Raises:
      InputError: nobody registered that name.
    """
    if name not in _BUILDERS:
        raise InputError(unknown_name("head", name, _BUILDERS))
    return _BUILDERS[name]


__all__ = ["Augmentation", "Context", "Head", "Keys", "get", "names", "register"]
