"""A run survives SIGKILL at any moment: dozens of kills, then bitwise the undisturbed result.

`python tests/training/test_kill.py WORKDIR` is the run that gets killed.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

KILLS = 32
EPOCHS = 90
LONGEST = 300  # seconds a single life may take before something has to be wrong


def train(workdir: str) -> None:
    """A run of 90 short epochs on a generated corpus; the command that is started again."""
    from rilm_jax import ModelConfig, RunConfig
    from rilm_jax.data import Corpus, Vocabulary
    from rilm_jax.training import run

    draw = np.random.default_rng(0)
    splits = (draw.integers(0, 12, n).astype(np.int32) for n in (200, 60, 60))
    corpus = Corpus(Vocabulary(("<unk>", *(f"w{i}" for i in range(11)))), *splits, name="killed")
    model = ModelConfig(vocab_size=12, dim=4, tau=0.5, dropout=0.1)
    config = RunConfig(
        model=model,
        seeds=(1, 2),
        num_epochs=EPOCHS,
        batch_size=8,
        window=8,
        chunk_steps=2,
        eval_batch_size=8,
    )
    run(config, workdir, corpus=corpus)


def start(workdir: Path, compiled: Path) -> subprocess.Popen:
    cache = {
        "JAX_COMPILATION_CACHE_DIR": str(compiled),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    return subprocess.Popen(
        [sys.executable, __file__, str(workdir)],
        env=os.environ | cache,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def half_written(workdir: Path) -> set[tuple[str, int]]:
    """Checkpoints that are being written, or were when a process was killed."""
    found = set()
    for path in (workdir / "checkpoints").glob("*tmp*"):
        try:
            found.add((path.name, path.stat().st_ino))
        except FileNotFoundError:  # finished in the meantime
            continue
    return found


def size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def wait_for(event, process: subprocess.Popen) -> bool:
    """Whether the event came before the process ended."""
    began = time.monotonic()
    while process.poll() is None and not event():
        assert time.monotonic() - began < LONGEST
        time.sleep(0.0005)
    return process.poll() is None


def one_life(workdir: Path, compiled: Path, how: str, draw: np.random.Generator) -> str:
    """Start the run and kill it; returns "saving", "elsewhere" or "finished"."""
    metrics = workdir / "metrics.jsonl"
    process = start(workdir, compiled)
    if how == "starting":
        deadline = time.monotonic() + draw.uniform(0, 5)
        running = wait_for(lambda: time.monotonic() > deadline, process)
    else:
        before = size_of(metrics)
        # The first line means that training has begun; a resumed run may first drop some.
        running = wait_for(lambda: size_of(metrics) > before, process)
        if how == "saving":
            old = half_written(workdir)
            running = wait_for(lambda: half_written(workdir) - old, process)
            time.sleep(draw.uniform(0, 0.02))
        else:
            time.sleep(draw.uniform(0, 0.4))
    if running and process.poll() is None:
        process.send_signal(signal.SIGKILL)
    _, errors = process.communicate()
    if process.returncode == 0:
        return "finished"
    assert process.returncode == -signal.SIGKILL, errors.decode()[-2000:]
    if how != "saving":
        return "elsewhere"
    return "saving" if half_written(workdir) - old else "elsewhere"


@pytest.mark.slow
def test_killed_at_random_moments_it_ends_as_if_nothing_had_happened(tmp_path):
    from rilm_jax import checkpoint

    compiled, whole, killed = (tmp_path / name for name in ("compiled", "whole", "killed"))
    undisturbed = start(whole, compiled)
    _, errors = undisturbed.communicate(timeout=LONGEST)
    assert undisturbed.returncode == 0, errors.decode()[-2000:]

    draw = np.random.default_rng(1)
    ways = [("starting", "saving", "saving", "training")[i % 4] for i in range(KILLS)]
    outcomes = [one_life(killed, compiled, how, draw) for how in draw.permutation(ways)]
    assert "finished" not in outcomes, "the run is too short for so many kills"
    assert outcomes.count("saving") >= 3, outcomes

    last = start(killed, compiled)
    _, errors = last.communicate(timeout=LONGEST)
    assert last.returncode == 0, errors.decode()[-2000:]
    assert (killed / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()
    for which in ("best", "last"):
        (_, got), (_, wanted) = (checkpoint.load(w, which) for w in (killed, whole))
        for part, values in wanted.items():
            flat, wanted_flat = _flatten(got[part]), _flatten(values)
            assert flat.keys() == wanted_flat.keys()
            for name, value in wanted_flat.items():
                np.testing.assert_array_equal(flat[name], value, err_msg=f"{which}: {part}{name}")


def _flatten(tree, at="") -> dict[str, np.ndarray]:
    if not isinstance(tree, dict):
        return {at: np.asarray(tree)}
    return {k: v for name in tree for k, v in _flatten(tree[name], f"{at}/{name}").items()}


if __name__ == "__main__":
    train(sys.argv[1])
