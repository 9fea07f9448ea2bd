"""What every test may rely on: JAX on the CPU, its own cache folder, fresh keys, the corpora."""

import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# Read when JAX and Matplotlib are first imported, so before any test module is collected.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("MPLBACKEND", "agg")
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    # What one process has compiled the others read: they inherit the name from the first. Under
    # .ci/run, which names a folder itself, so do the runs that follow.
    _compiled = tempfile.TemporaryDirectory(prefix="rilm_compiled")
    os.environ["JAX_COMPILATION_CACHE_DIR"] = _compiled.name
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

import jax


@pytest.fixture(scope="session", autouse=True)
def _cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Prepared corpora go to a temporary folder, never to the user's cache."""
    path = tmp_path_factory.mktemp("rilm_cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RILM_CACHE_DIR", str(path))
        yield path


@pytest.fixture(scope="module")
def quick_compilation() -> Iterator[None]:
    """Without most of XLA's optimiser, which takes half of the time where speed is not tested."""
    before = jax.config.values["jax_disable_most_optimizations"]
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)


@pytest.fixture
def key() -> Callable[[], jax.Array]:
    """A function that returns another `jax.random.key` at each call, the same ones in every run."""
    seeds = itertools.count()
    return lambda: jax.random.key(next(seeds))


@pytest.fixture(scope="session")
def corpora_dir() -> Path:
    """The folder with `wikitext-2.zip` and `ptb.zip`; skips where `RILM_DATA_DIR` is unset."""
    value = os.environ.get("RILM_DATA_DIR")
    if not value:
        pytest.skip(
            "this test reads WikiText-2 and PTB, which no project may ship (PTB is licensed text); "
            "set RILM_DATA_DIR to a folder with wikitext-2.zip and ptb.zip to run it"
        )
    path = Path(value)
    if not path.is_dir():  # set but wrong: a mistake to report, not a reason to skip
        pytest.fail(f"RILM_DATA_DIR={value} is no folder; unset it or point it at the archives")
    return path
