"""What a summary says of its seeds and of its code."""

import os
import subprocess

import jax
import pytest

from rilm_jax import RunConfig
from rilm_jax.training import summary


def test_lanes_have_no_mean():
    score = summary.statistics([3.0, 1.0])
    results = {"best_valid_ppl": score, "params": {"total": 5}}
    lanes = RunConfig(seeds=(42, 42), rate_factors=(0.5, 1.0))
    built = summary.build(lanes, results)
    assert built["best_valid_ppl"] == {"per_seed": [3.0, 1.0], "mean": None, "std": None}
    assert built["params"] == {"total": 5}
    assert summary.build(RunConfig(seeds=(1, 2)), results)["best_valid_ppl"]["mean"] == 2.0


@pytest.fixture
def checkout(tmp_path):
    """A repository with code, a result, and a folder that is none of its own."""
    for name in ("rilm_jax/a.py", "experiments/b.py", "experiments/results/c.json", "other/d"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1")
    who = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def test_the_commit_is_that_of_the_code(checkout):
    clean = summary._commit(checkout)
    assert clean is not None and len(clean) == 12
    (checkout / "experiments/results/c.json").write_text("2")  # a result came, the code is the same
    assert summary._commit(checkout) == clean
    (checkout / "experiments/b.py").write_text("2")
    assert summary._commit(checkout) == clean + "+"


def test_a_package_inside_another_checkout_has_no_commit(checkout):
    assert summary._commit(checkout / "other") is None


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="other devices have no cores to name")
def test_a_rate_on_a_cpu_says_how_many_cores_it_had(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3}, raising=False)
    assert summary.circumstances()["device"] == "cpu: cpu, 1 core"
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    assert summary.circumstances()["device"] == "cpu: cpu, 2 cores"
