"""The files of a run: config.json, metrics.jsonl and summary.json, and who may write them."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rilm_jax import checkpoint
from rilm_jax.config import RunConfig, to_flat
from rilm_jax.errors import InputError
from rilm_jax.files import append_line, write, write_json

try:
    import fcntl
except ImportError:  # Windows: nothing guards against a second process there
    fcntl = None

LEFT_BY_A_KILL = (".lock", "config.json.part")  # before there is a config.json
# Where a run can stop, and what its recipe is called, do not change what it computes.
FREE_TO_DIFFER = ("chunk_steps", "preset")


@contextlib.contextmanager
def claim(workdir: Path, config: RunConfig) -> Iterator[None]:
    """Hold `workdir` for `config` alone: new, or left by the same configuration.

    Raises:
      InputError: it belongs to another configuration (the differing fields are named), holds other
        files, is in use by another process, or cannot be written to.
    """
    try:
        workdir.mkdir(parents=True, exist_ok=True)
        check_owner(workdir, config)  # before a folder that is not ours gets a lock file
        lock = open(workdir / ".lock", "a")  # noqa: SIM115 - held until the run ends
    except OSError as error:
        raise InputError(
            f"{workdir} cannot be written to ({error.strerror}); choose another --workdir."
        ) from error
    with lock:
        if fcntl:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InputError(
                    f"{workdir} is in use by another process; wait for it or choose another "
                    "--workdir."
                ) from None
        check_owner(workdir, config)
        write_json(workdir / "config.json", to_flat(config))
        yield


def check_owner(workdir: Path, config: RunConfig, advice: str = "choose another --workdir") -> None:
    """That `workdir` is free for `config`: absent, empty, or left by it; else, what to do.

    Raises:
      InputError: it is another configuration's, or holds other files.
    """
    if not workdir.exists():
        return
    if not (workdir / "config.json").exists():
        others = sorted(p.name for p in workdir.iterdir() if p.name not in LEFT_BY_A_KILL)
        if others:
            raise InputError(
                f"{workdir} holds other files ({', '.join(others[:3])}) and no config.json; "
                f"{advice}."
            )
        return
    owner, mine = to_flat(checkpoint.read_config(workdir)), to_flat(config)
    differing = [n for n in mine if owner[n] != mine[n] and n not in FREE_TO_DIFFER]
    if differing:
        listed = ", ".join(f"{n} ({owner[n]!r} there, {mine[n]!r} here)" for n in differing[:5])
        more = f" and {len(differing) - 5} more" if len(differing) > 5 else ""
        raise InputError(
            f"{workdir} belongs to another configuration, which differs in {listed}{more}; "
            f"{advice}."
        )


def read_summary(workdir: Path) -> dict[str, Any] | None:
    """The summary of a finished run."""
    path = workdir / "summary.json"
    return json.loads(path.read_text()) if path.exists() else None


def append_metrics(workdir: Path, record: dict[str, Any]) -> None:
    """One line more in metrics.jsonl, on the disk before this returns."""
    append_line(workdir / "metrics.jsonl", json.dumps(record, allow_nan=False))


def forget_metrics_after(workdir: Path, step: int) -> None:
    """Drop the lines that a resumed run will write again, and a line that was cut off.

    The test split is among them whatever its step: it is evaluated just before the summary.
    """
    path = workdir / "metrics.jsonl"
    if not path.exists():
        return
    kept = []
    for line in path.read_text().splitlines():
        try:
            record = json.loads(line)
            if record["step"] <= step and record["split"] != "test":
                kept.append(line + "\n")
        except (ValueError, KeyError):
            break
    write(path, "".join(kept).encode())
