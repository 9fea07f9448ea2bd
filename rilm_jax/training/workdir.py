"""The files of a run: config.json, corpus.json, metrics.jsonl and summary.json, and who may write.

corpus.json holds the vocabulary, so that a model speaks without its text, and the text's hashes.
"""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rilm_jax import checkpoint, summaries
from rilm_jax.config import RunConfig, to_flat
from rilm_jax.data import Corpus, Vocabulary
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


def keep_corpus(workdir: Path, corpus: Corpus) -> None:
    """Note what a run is trained on, or check that it still is.

    Raises:
      InputError: the work directory's run was begun on another text.
    """
    path = workdir / "corpus.json"
    check_corpus(workdir, corpus, "choose another --workdir, or bring that text back")
    if not path.exists():
        write_json(path, {"words": corpus.vocab.words, "info": dict(corpus.info)})


def read_vocabulary(workdir: Path) -> Vocabulary | None:
    """The words of a run; None in a work directory of a version that did not keep them.

    Raises:
      InputError: a file that holds no vocabulary.
    """
    kept = _read_corpus(workdir)
    return None if kept is None else Vocabulary(tuple(kept["words"]))


def check_corpus(workdir: Path, corpus: Corpus, advice: str) -> None:
    """That a run was trained on this very text.

    Raises:
      InputError: it was another; `advice` says what to do.
    """
    kept = _read_corpus(workdir)
    if kept is None:
        return
    there, here = kept["info"], corpus.info
    if there.get("sha256") == here.get("sha256") and kept["words"] == list(corpus.vocab.words):
        return
    versions = [info.get("python") for info in (there, here)]
    hint = f" (of Python {versions[0]}, and this is {versions[1]})" if all(versions) else ""
    raise InputError(
        f"{workdir} was trained on another text of {corpus.name} than the one found here{hint}; "
        f"{advice}."
    )


def _read_corpus(workdir: Path) -> dict[str, Any] | None:
    path = workdir / "corpus.json"
    if not path.exists():
        return None
    try:
        kept = json.loads(path.read_text("utf-8"))
        words = kept["words"]
        are_words = isinstance(words, list) and all(isinstance(word, str) for word in words)
        if are_words and isinstance(kept["info"], dict):
            return kept
        problem = "it holds no words"
    except (OSError, ValueError, KeyError, TypeError) as error:
        problem = str(error)
    raise InputError(f"{path} cannot be read ({problem}); restore it.")


def read_summary(workdir: Path) -> dict[str, Any] | None:
    """The summary of a finished run.

    Raises:
      InputError: a file that holds none.
    """
    path = workdir / "summary.json"
    if not path.exists():
        return None
    return summaries.read(
        path, "delete it, and the same command makes it anew from the last checkpoint"
    )


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
    for line in path.read_text("utf-8", errors="replace").splitlines():
        with contextlib.suppress(ValueError, KeyError, TypeError):  # damaged: so left out, too
            record = json.loads(line)
            if record["step"] <= step and record["split"] != "test":
                kept.append(line + "\n")
    write(path, "".join(kept).encode())
