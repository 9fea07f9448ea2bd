"""A tiny corpus, tiny runs, and compilations that are quick and made once."""

import logging
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache

from rilm_jax import ModelConfig, RunConfig
from rilm_jax.data import Corpus, Vocabulary

V = 20
QUICK = {
    # Every run traces its own program; equal ones are compiled once in a session.
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
    # XLA's optimiser is not what is tested here, and takes half of the time.
    "jax_disable_most_optimizations": True,
}


@pytest.fixture(autouse=True, scope="session")
def compiled_programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compiled")


@pytest.fixture(autouse=True, scope="module")
def quick_compilation(compiled_programs: Path) -> Iterator[None]:
    wanted = QUICK | {"jax_compilation_cache_dir": str(compiled_programs)}
    before = {name: jax.config.values[name] for name in wanted}
    for name, value in wanted.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()
    yield
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()


def markov_text(n: int, seed: int) -> np.ndarray:
    """Ids in which each word is followed by one of three, so that there is something to learn."""
    draw = np.random.default_rng(seed)
    followers = np.random.default_rng(0).integers(0, V, (V, 3))
    ids = [1]
    for _ in range(n - 1):
        ids.append(int(followers[ids[-1], draw.integers(3)]))
    return np.array(ids, np.int32)


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    words = ("<unk>", "<eos>", *(f"w{i}" for i in range(V - 2)))
    splits = (markov_text(n, seed) for seed, n in enumerate((170, 61, 45)))
    return Corpus(Vocabulary(words), *splits, name="tiny", info={"made": "up"})


@pytest.fixture(scope="session")
def tiny():
    """`tiny(**changes)`: 22 windows of 8 in 6 steps an epoch (the last batch padded), 3 epochs."""

    def make(model: dict | None = None, **changes) -> RunConfig:
        fields = {
            "seeds": (11, 12, 13, 14, 15),
            "num_epochs": 3,
            "batch_size": 4,
            "window": 8,
            "chunk_steps": 2,
            "eval_batch_size": 4,
            "learning_rate": 1e-2,
        }
        sizes = {"vocab_size": V, "dim": 6, "tau": 0.5}
        return RunConfig(model=ModelConfig(**sizes | (model or {})), **fields | changes)

    return make


@pytest.fixture
def compilations() -> Iterator[list[str]]:
    """The messages of JAX about what it compiles while the test runs."""
    messages: list[str] = []

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(record.getMessage())

    logger, handler = logging.getLogger("jax"), Collect()
    logger.addHandler(handler)
    with jax.log_compiles():
        yield messages
    logger.removeHandler(handler)
