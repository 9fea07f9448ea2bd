"""Language models whose output layer is geometry."""

import importlib
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from rilm_jax.config import ModelConfig, RunConfig
from rilm_jax.errors import InputError

if TYPE_CHECKING:
    from rilm_jax.model import LanguageModel, build

__version__ = version("rilm_jax")

_MODULES = ("analysis", "checkpoint", "data", "generation", "ngram", "scoring", "training")
_OF_MODEL = ("LanguageModel", "build")


def __getattr__(name: str) -> Any:
    """What needs JAX is imported when it is first asked for: a launcher's --help does not."""
    if name in _MODULES:
        return importlib.import_module(f"rilm_jax.{name}")
    if name in _OF_MODEL:
        return getattr(importlib.import_module("rilm_jax.model"), name)
    raise AttributeError(f"module 'rilm_jax' has no attribute {name!r}")


__all__ = ["InputError", "LanguageModel", "ModelConfig", "RunConfig", "__version__", "build"]
