"""`--help` of every launcher."""

from pathlib import Path

import pytest

LAUNCHERS = sorted(
    path.stem for path in (Path(__file__).resolve().parents[2] / "experiments").glob("*.py")
)


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_examples_come_first_and_prose_fits_eighty_columns(launch, launcher):
    finished = launch(launcher, "--help")
    assert (finished.status, finished.err) == (0, "")
    assert finished.out.index(f"python experiments/{launcher}.py") < finished.out.index("flags:")
    prose = [line for line in finished.out.splitlines() if not line.startswith("  python ")]
    assert max(map(len, prose)) <= 80
