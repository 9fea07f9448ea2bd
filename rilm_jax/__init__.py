"""Language models whose output layer is geometry."""

from importlib.metadata import version

from rilm_jax.config import ModelConfig, RunConfig
from rilm_jax.errors import InputError
from rilm_jax.model import LanguageModel, build

__version__ = version("rilm_jax")

__all__ = ["InputError", "LanguageModel", "ModelConfig", "RunConfig", "__version__", "build"]
