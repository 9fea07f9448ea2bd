"""Checkpoints of a run (Orbax), and the way back from a work directory to a model.

A checkpoint holds the whole of a run at one step: `TrainState`, the best parameters so far, and the
running sums of the epoch. It is complete or absent: Orbax writes beside it and renames.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp

from rilm_jax import config as configuration
from rilm_jax.config import ModelConfig, RunConfig
from rilm_jax.errors import InputError, unknown_name

FOLDER = "checkpoints"
KEPT = 2  # the last one, and the one before should the last turn out to be damaged


class Checkpoints:
    """The checkpoints of one work directory; a context manager."""

    def __init__(self, workdir: Path):
        self._path = (workdir / FOLDER).absolute()
        if self._path.exists() and not self._path.is_dir():
            raise InputError(f"{self._path} is a file where checkpoints belong; move it away.")
        options = ocp.CheckpointManagerOptions(
            max_to_keep=KEPT, enable_async_checkpointing=False, create=True
        )
        # Named here, for a manager that has saved nothing yet has to read what another one wrote.
        handler = ocp.StandardCheckpointHandler()
        self._manager = ocp.CheckpointManager(self._path, options=options, item_handlers=handler)

    def __enter__(self) -> "Checkpoints":
        return self

    def __exit__(self, *exception: object) -> None:
        self._manager.close()

    def latest(self) -> int | None:
        """The step of the last complete checkpoint."""
        return self._manager.latest_step()

    def save(self, step: int, content: Any) -> None:
        """Write the run's content at `step`; nothing where that step is there already.

        Raises:
          InputError: the disk is full or cannot be written to; what was there stays.
        """
        if step in self._manager.all_steps():
            return
        try:
            self._manager.save(step, args=ocp.args.StandardSave(content))
        except (OSError, ValueError) as error:
            raise InputError(
                f"The checkpoint of step {step} cannot be written to {self._path} "
                f"({_first_line(error)}); make room and start the same command again."
            ) from error

    def restore(self, step: int, like: Any) -> Any:
        """The content of `step`, in the structure, shapes and types of `like`.

        Raises:
          InputError: it is damaged, or belongs to another model (what differs is named).
        """
        stored = self._metadata(step)
        _check_same(stored, like, self._path / str(step))
        abstract = jax.tree.map(ocp.utils.to_shape_dtype_struct, like)
        try:
            return self._manager.restore(step, args=ocp.args.StandardRestore(abstract))
        except Exception as error:  # Orbax raises whatever its storage layer does
            raise self._damaged(step, error) from error

    def restore_all(self, step: int) -> Any:
        """The content of `step` as plain NumPy arrays in dicts and lists."""
        shapes = self._metadata(step)
        numpy = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), shapes, is_leaf=_is_array)
        try:
            return self._manager.restore(step, args=ocp.args.StandardRestore(numpy))
        except Exception as error:  # as above
            raise self._damaged(step, error) from error

    def _metadata(self, step: int) -> Any:
        try:
            found = self._manager.item_metadata(step)
        except Exception as error:  # as above
            raise self._damaged(step, error) from error
        tree = getattr(found, "tree", found)
        if not tree:
            raise self._damaged(step, ValueError("it has no metadata"))
        return tree

    def _damaged(self, step: int, error: Exception) -> InputError:
        return InputError(
            f"The checkpoint {self._path / str(step)} cannot be read ({_first_line(error)}); "
            "move that folder away to go on from the one before, or from the start."
        )


def load(
    workdir: str | Path, which: str = "best", seed: int | None = None
) -> tuple[ModelConfig, Any]:
    """The model and the parameters that a run has left.

    Args:
      workdir: the run's work directory.
      which: "best" (each seed at its best validation epoch) or "last".
      seed: one of the run's seeds, or None for all of them.

    Returns:
      (config, params); the leaves of `params` have a leading axis over seeds where `seed` is None.

    Raises:
      InputError: no such directory, no checkpoint, an unknown `which`, a seed that was not run, or
        a seed of a run whose lanes (`rate_factors`) are none.
    """
    workdir = Path(workdir)
    config = read_config(workdir)
    if which not in ("best", "last"):
        raise InputError(unknown_name("which", which, ("best", "last")))
    if seed is not None and config.rate_factors:
        raise InputError(
            f"{workdir} ran its seeds at several learning rates (rate_factors), so that seed "
            f"{seed} names no one model; train the rate that you want as a run of its own."
        )
    if seed is not None and seed not in config.seeds:
        raise InputError(
            f"Seed {seed} is not in {workdir}; its seeds are {', '.join(map(str, config.seeds))}."
        )
    if not (workdir / FOLDER).is_dir():
        raise InputError(f"{workdir} holds no checkpoints; train there first.")
    with Checkpoints(workdir) as checkpoints:
        step = checkpoints.latest()
        if step is None:
            raise InputError(f"{workdir} holds no complete checkpoint yet; let it train longer.")
        content = checkpoints.restore_all(step)
    if which == "best":
        epochs = zip(config.seeds, np.asarray(content["best"]["epoch"]), strict=True)
        never = [s for s, epoch in epochs if epoch == 0 and seed in (None, s)]
        if never:
            raise InputError(
                f"Seed {never[0]} of {workdir} has no finite validation result yet; let it train "
                "longer, or load which='last'."
            )
    params = content["best"]["params"] if which == "best" else content["state"]["params"]
    if seed is not None:
        at = config.seeds.index(seed)
        params = jax.tree.map(lambda x: x[at], params)
    return config.model, params


def read_config(workdir: Path) -> RunConfig:
    """The configuration of a work directory.

    Raises:
      InputError: the directory or its config.json is missing or cannot be read.
    """
    path = workdir / "config.json"
    try:
        fields = json.loads(path.read_text())
    except FileNotFoundError:
        inside = sorted(p.parent.name for p in workdir.glob("*/config.json"))[:5]
        hint = f"; those in it are {', '.join(inside)}" if inside else ""
        raise InputError(f"{workdir} is no work directory: it has no config.json{hint}.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({_first_line(error)}); restore it.") from error
    if not isinstance(fields, Mapping):
        raise InputError(f"{path} does not hold a configuration; restore it.")
    try:
        return configuration.from_flat(fields)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _is_array(x: Any) -> bool:
    return hasattr(x, "shape") and hasattr(x, "dtype")


def _shapes(tree: Any) -> dict[str, tuple[int, ...]]:
    """Path -> shape of every array, the same for named tuples and for the dicts Orbax reads."""
    leaves = jax.tree_util.tree_leaves_with_path(tree, is_leaf=_is_array)
    return {
        "/".join(str(getattr(k, "name", getattr(k, "key", getattr(k, "idx", k)))) for k in path): (
            tuple(leaf.shape)
        )
        for path, leaf in leaves
        if _is_array(leaf)
    }


def _check_same(stored: Any, wanted: Any, path: Path) -> None:
    have, want = _shapes(stored), _shapes(wanted)
    if have == want:
        return
    differing = sorted(
        name for name in have.keys() | want.keys() if have.get(name) != want.get(name)
    )
    name = differing[0]
    there, here = have.get(name, "absent"), want.get(name, "absent")
    raise InputError(
        f"The checkpoint {path} is of another model: {name} is {there} there and {here} here "
        f"({len(differing)} arrays differ); use another workdir."
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
