"""summary.json: what a run has come to, and under which circumstances."""

import importlib.metadata
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from rilm_jax.config import RunConfig, to_flat


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
    """Device, versions and commit."""
    packages = ("rilm_jax", "jax", "jaxlib", "flax", "optax", "orbax-checkpoint", "numpy")
    versions = {name: importlib.metadata.version(name) for name in packages}
    versions["python"] = platform.python_version()
    device = jax.devices()[0]
    return {
        "device": f"{device.platform}: {device.device_kind}",
        "versions": versions,
        "commit": _commit(),
    }


def _commit() -> str | None:
    """The checkout's commit, "+" behind it where tracked files differ; None outside of git."""
    root = Path(__file__).resolve().parents[2]

    def git(*args):
        done = subprocess.run(["git", *args], cwd=root, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "rilm_jax")
        return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def build(config: RunConfig, results: dict[str, Any]) -> dict[str, Any]:
    """The summary of a configuration and its results, JSON-ready."""
    return {"config": to_flat(config), "seeds": list(config.seeds), **results, **circumstances()}
