"""Files that are whole or not there: what a crash, a full disk or Ctrl-C must not leave in half."""

import json
import os
from pathlib import Path
from typing import Any

from rilm_jax.errors import InputError


def write(path: Path, content: bytes) -> None:
    """Write a whole file or nothing, and the folders above it.

    Raises:
      InputError: it cannot be written; what was there stays.
    """
    half = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            half.write_bytes(content)
            os.replace(half, path)
        except BaseException:
            half.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(
            f"{path} cannot be written ({error.strerror}); make room or make it writable, and "
            "start the same command again."
        ) from error


def write_json(path: Path, content: Any) -> None:
    """`write` of a JSON document.

    Raises:
      InputError: it cannot be written.
      ValueError: a number in it is not finite.
    """
    write(path, (json.dumps(content, indent=1, allow_nan=False) + "\n").encode())
