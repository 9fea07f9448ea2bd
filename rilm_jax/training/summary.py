"""summary.json: what a run has come to, and under which circumstances."""

import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from rilm_jax.config import RunConfig, to_flat

ROOT = Path(__file__).resolve().parents[2]
CODE = ("rilm_jax", "experiments", ":(exclude)experiments/results")


def statistics(per_seed: Sequence[float | None]) -> dict[str, Any]:
    """`{per_seed, mean, std}`; seeds without a finite value are left out of the last two.

    The standard deviation is that of a sample (n - 1), None for fewer than two seeds.
    """
    values = [None if v is None or not np.isfinite(v) else float(v) for v in per_seed]
    there = np.array([v for v in values if v is not None])
    return {
        "per_seed": values,
        "mean": float(there.mean()) if len(there) else None,
        "std": float(there.std(ddof=1)) if len(there) > 1 else None,
    }


def circumstances() -> dict[str, Any]:
    """Device, versions and commit; of a CPU also how many cores the process may use."""
    packages = ("rilm_jax", "jax", "jaxlib", "flax", "optax", "orbax-checkpoint", "numpy")
    versions = {name: importlib.metadata.version(name) for name in packages}
    versions["python"] = platform.python_version()
    return {
        "device": _device(),
        "versions": versions,
        "commit": _commit(),
    }


def _device() -> str:
    device = jax.devices()[0]
    name = f"{device.platform}: {device.device_kind}"
    if device.platform != "cpu":
        return name
    # A rate on one pinned core is not to be read beside one that had the whole machine.
    affinity = getattr(os, "sched_getaffinity", None)  # Linux
    cores = len(affinity(0)) if affinity else os.cpu_count()
    return f"{name}, {cores} core{'' if cores == 1 else 's'}"


def _commit(root: Path = ROOT) -> str | None:
    """The commit of a checkout at `root`, "+" behind it where code that is run differs from it.

    None where `root` is no checkout of its own, as when the package lies in another one's folder.
    """

    def git(*args):
        done = subprocess.run(["git", *args], cwd=root, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")).resolve() != root.resolve():
            return None
        changed = git("status", "--porcelain", "--untracked-files=no", "--", *CODE)
        return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def build(config: RunConfig, results: dict[str, Any]) -> dict[str, Any]:
    """The summary of a configuration and its results, JSON-ready.

    Lanes (`rate_factors`) are runs of different recipes: their scores have no mean and no spread.
    """
    if config.rate_factors:
        results = {name: _without_mean(value) for name, value in results.items()}
    return {"config": to_flat(config), "seeds": list(config.seeds), **results, **circumstances()}


def _without_mean(value: Any) -> Any:
    of_seeds = isinstance(value, dict) and value.keys() == {"per_seed", "mean", "std"}
    return value | {"mean": None, "std": None} if of_seeds else value
