"""Language models whose output layer is geometry."""

import importlib
from importlib.metadata import version
from types import ModuleType

from rilm_jax.config import ModelConfig, RunConfig
from rilm_jax.errors import InputError
from rilm_jax.model import LanguageModel, build

__version__ = version("rilm_jax")

_ON_DEMAND = ("analysis", "checkpoint", "data", "generation", "ngram", "scoring", "training")


def __getattr__(name: str) -> ModuleType:
    """`rilm_jax.data` and its like, imported when they are first asked for."""
    if name in _ON_DEMAND:
        return importlib.import_module(f"rilm_jax.{name}")
    raise AttributeError(f"module 'rilm_jax' has no attribute {name!r}")


__all__ = ["InputError", "LanguageModel", "ModelConfig", "RunConfig", "__version__", "build"]
