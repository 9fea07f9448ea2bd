"""Launchers run inside the test's process, so that a test costs no start of Python."""

import dataclasses
import runpy
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from absl import app, flags

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"


@dataclasses.dataclass(frozen=True)
class Finished:
    """What a launcher left behind."""

    status: int
    out: str
    err: str


@pytest.fixture
def launch(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., Finished]]:
    """`launch("train", "--list")`: as from the shell, in an empty working directory."""
    app.define_help_flags()  # which absl does once a process, so they must outlive a launch
    before = set(flags.FLAGS)
    monkeypatch.chdir(tmp_path)

    def forget_flags() -> None:
        for name in set(flags.FLAGS) - before:  # libraries define theirs once a process
            defined_by = flags.FLAGS.find_module_defining_flag(name, "")
            if defined_by.startswith(str(EXPERIMENTS)) or name.startswith("config."):
                delattr(flags.FLAGS, name)
        flags.FLAGS.unparse_flags()

    def run(launcher: str, *arguments: str) -> Finished:
        path = str(EXPERIMENTS / f"{launcher}.py")
        monkeypatch.setattr(sys, "argv", [path, *arguments])
        with warnings.catch_warnings():
            # How ml_collections loads a configuration file, which is not ours to change.
            warnings.filterwarnings("ignore", r"the load_module\(\)", DeprecationWarning)
            with pytest.raises(SystemExit) as left:
                runpy.run_path(path, run_name="__main__")
        forget_flags()
        captured = capsys.readouterr()
        return Finished(int(left.value.code or 0), captured.out, captured.err)

    yield run
    forget_flags()
