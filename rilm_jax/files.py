"""Files that are whole or not there: what a crash, a full disk or Ctrl-C must not leave in half."""

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rilm_jax.errors import InputError


def write(path: Path, content: bytes) -> None:
    """Write a whole file or nothing, and the folders above it.

    Raises:
      InputError: it cannot be written; what was there stays.
    """
    half = path.with_name(path.name + ".part")
    with _refused(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            half.write_bytes(content)
            os.replace(half, path)
        except BaseException:
            half.unlink(missing_ok=True)
            raise


def append_line(path: Path, line: str) -> None:
    """One line more at the end of a file, on the disk before this returns.

    Raises:
      InputError: it cannot be written.
    """
    with _refused(path), open(path, "a") as file:
        file.write(line + "\n")
        file.flush()
        os.fsync(file.fileno())


def write_json(path: Path, content: Any) -> None:
    """`write` of a JSON document.

    Raises:
      InputError: it cannot be written.
      ValueError: a number in it is not finite.
    """
    write(path, (json.dumps(content, indent=1, allow_nan=False) + "\n").encode())


def write_record(path: Path, record: Any, page: str) -> None:
    """A record as JSON, NAME.json, and beside it the page that shows it, NAME.md.

    Raises:
      InputError, ValueError: as `write_json`.
    """
    write_json(path, record)
    write(path.with_suffix(".md"), page.encode())


def read_json(path: Path, advice: str) -> Any:
    """The JSON document in a file.

    Raises:
      InputError: there is none; `advice` says what to do.
    """
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}); {advice}.") from error


def show_record(path: Path, show: Callable[[Any], Any], advice: str) -> Any:
    """show(record), for a record written by `write_record`.

    Raises:
      InputError: there is none, or it lacks what `show` reads; `advice` says what to do.
    """
    record = read_json(path, advice)
    try:
        return show(record)
    except (KeyError, TypeError) as error:
        raise InputError(f"{path} holds no record ({error}); {advice}.") from error


def check_writable(folder: Path, advice: str) -> None:
    """That a folder can be made and written to: asked before the work whose results it is for.

    Raises:
      InputError: it cannot; `advice` says what to do.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError(f"{folder} cannot be written to ({error.strerror}); {advice}.") from error


@contextlib.contextmanager
def _refused(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{path} cannot be written ({error.strerror}); make room or make it writable, and "
            "start the same command again."
        ) from error
