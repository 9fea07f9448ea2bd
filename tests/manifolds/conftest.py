import jax
import numpy as np
import pytest
from mpmath import mp


@pytest.fixture
def x64():
    """Run the test in 64-bit mode, under the name that this JAX has for it."""
    if hasattr(jax, "enable_x64"):
        context = jax.enable_x64(True)
    else:
        from jax.experimental import enable_x64

        context = enable_x64()
    with context:
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def digits():
    """mpmath at 50 digits."""
    with mp.workdps(50):
        yield mp
