"""TensorBoard events of a run, for those who watch one."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rilm_jax.errors import InputError

FOLDER = "events"


def tensorboard(work_dir: str | Path) -> Callable[[Mapping[str, Any]], None]:
    """What `run(listener=)` can call: writes each evaluation's scores into WORKDIR/events.

    A scalar a split and seed, `valid/ppl/42`; those that are not finite are left out. A run that
    goes on writes the evaluations after its checkpoint once more, with the same values.

    Raises:
      InputError: tensorboardX is not installed.
    """
    try:
        from tensorboardX import SummaryWriter  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise InputError(
            "TensorBoard events need tensorboardX; install it with pip install -e '.[tensorboard]'."
        ) from error
    writers = []

    def listener(record: Mapping[str, Any]) -> None:
        if not writers:  # a work directory must be empty until the run has claimed it
            writers.append(SummaryWriter(str(Path(work_dir) / FOLDER)))
        for name in ("ppl", "ppl_non_unk"):
            for seed, value in zip(record["seeds"], record[name], strict=True):
                if value is not None:
                    tag = f"{record['split']}/{name}/{seed}"
                    writers[0].add_scalar(tag, value, record["step"])
        writers[0].flush()

    return listener
