"""The command that a run's summary records: it asks for the same run, on any machine."""

import shlex
import types
from pathlib import Path

import pytest

import rilm_jax
from rilm_jax import config, results

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "experiments" / "configs"
RECORD = ROOT / "experiments" / "results"


@pytest.fixture
def runs(monkeypatch):
    """(configuration, command) of every call of `rilm_jax.training.run`, which ends there."""
    calls = []

    def run(run, workdir, *, data_dir, download, record, listener):
        calls.append((run, record["command"]))
        raise KeyboardInterrupt

    monkeypatch.setattr(rilm_jax, "training", types.SimpleNamespace(run=run), raising=False)
    return calls


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ([], "python experiments/train.py"),
        (
            ["--config=experiments/configs/ptb.py:hyprilm,k=0", "--workdir=w", "--data_dir=d"],
            "python experiments/train.py --config=experiments/configs/ptb.py:hyprilm,k=0",
        ),
        (
            [f"--config={CONFIGS / 'ptb.py'}", "--download"],
            "python experiments/train.py --config=experiments/configs/ptb.py",
        ),
        (
            ["--config", "experiments/configs/ptb.py:lstm", "--config.seeds=(1, 2)"],
            "python experiments/train.py --config=experiments/configs/ptb.py:lstm "
            "--config.seeds=1+2",
        ),
        (
            ["--config.learning_rate=0.004", "--config.bias=True", "--config.k=0"],
            "python experiments/train.py --config.learning_rate=0.004 --config.bias=True "
            "--config.k=0",
        ),
        (
            ["--config=experiments/configs/text.py:flatrilm,data=my texts"],
            "python experiments/train.py "
            "'--config=experiments/configs/text.py:flatrilm,data=my texts'",
        ),
    ],
)
def test_the_command_is_recorded_and_asks_for_the_same_run(launch, runs, arguments, command):
    launch("train", *arguments)
    assert runs[0][1] == command
    python, launcher, *again = shlex.split(command)
    assert (python, launcher) == ("python", "experiments/train.py")
    launch("train", *again)
    assert runs[1] == runs[0]


def test_one_seed_is_recorded_so_that_it_can_be_read_back(launch, runs):
    launch("train", "--config=experiments/configs/ptb.py:lstm", "--config.seeds=7")
    launch("train", *shlex.split(runs[0][1])[2:])
    assert runs[0] == runs[1]
    assert runs[0][0].seeds == (7,)


@pytest.mark.parametrize("path", sorted(results.read_all(RECORD)), ids=lambda path: path.stem)
def test_every_row_on_record_is_what_its_command_gives(launch, runs, path):
    summary = results.read(path)
    launch("train", *shlex.split(summary["command"])[2:])
    recorded = config.to_flat(config.from_flat(summary["config"]))  # of any version
    assert config.to_flat(runs[0][0]) == recorded
