import pytest


@pytest.fixture(autouse=True, scope="module")
def _quick(quick_compilation) -> None:
    """For every module of this folder."""
