"""Summaries of finished runs: experiments/results/CORPUS/NAME.json, each as the run wrote it."""

import difflib
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rilm_jax import config as configuration
from rilm_jax import recipes
from rilm_jax.errors import InputError


def read(path: Path) -> dict[str, Any]:
    """The summary in a file.

    Raises:
      InputError: there is none.
    """
    try:
        summary = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}); restore it.") from error
    if not isinstance(summary, dict) or "config" not in summary:
        raise InputError(f"{path} is no summary of a run; collect it again.")
    return summary


def read_all(folder: Path) -> list[tuple[Path, dict[str, Any]]]:
    """Every summary in CORPUS/ below `folder`, those of the trials too, by corpus and name.

    Raises:
      InputError: a file that is no summary.
    """
    paths = (path for name in recipes.CORPORA for path in sorted(folder.rglob(f"{name}/*.json")))
    return [(path, read(path)) for path in paths]


def find_two(folder: Path, names: str) -> tuple[Path, Path]:
    """The two summaries of `A,B`, each CORPUS/NAME below `folder` or a file; names hold commas too.

    Raises:
      InputError: no comma parts the text into two that are there.
    """
    parts = names.split(",")
    for i in range(1, len(parts)):
        a, b = (_find(folder, ",".join(half)) for half in (parts[:i], parts[i:]))
        if a and b:
            return a, b
    known = [str(path.relative_to(folder).with_suffix("")) for path, _ in read_all(folder)]
    near = difflib.get_close_matches(names, [f"{a},{b}" for a in known for b in known], 1, 0)
    raise InputError(
        f"{names!r} does not name two runs on record in {folder}; give CORPUS/NAME of each with a "
        f"comma between them" + (f", e.g. {near[0]}." if near else ".")
    )


def _find(folder: Path, name: str) -> Path | None:
    return next((p for p in (folder / f"{name}.json", Path(name)) if p.is_file()), None)


def command(summary: Mapping[str, Any], name: str) -> str | None:
    """The command line behind a summary: the recorded one, or the one that its name stands for.

    The latter only where the name is a configuration string whose recipe is the summary's
    configuration still; None otherwise.
    """
    if summary.get("command"):
        return summary["command"]
    corpus = summary["config"]["corpus"]
    try:
        if recipes.name(name) != name or corpus not in recipes.CORPORA:
            return None
        run = configuration.from_flat(recipes.recipe(corpus, name))
    except InputError:
        return None
    if configuration.to_flat(run) != summary["config"]:
        return None
    return shlex.join(
        ["python", "experiments/train.py", f"--config=experiments/configs/{corpus}.py:{name}"]
    )


def options(summary: Mapping[str, Any], name: str) -> list[str]:
    """What a run's configuration string says beside its model, its overrides included."""
    given = command(summary, name)
    string = _string(given) if given else name
    return string.split(",")[1:]


def model_name(config: Mapping[str, Any]) -> str:
    """What a configuration string calls the model of a configuration."""
    if config["backbone"] != "rilm":
        return config["backbone"]
    return "hyprilm" if config["manifold"] == "poincare" else "flatrilm"


def spread(score: Mapping[str, Any], sign: str = "+-") -> str:
    """`{per_seed, mean, std}` as `mean +- std`, or the mean alone where there is one seed."""
    if score["mean"] is None:
        return "-"
    if len(score["per_seed"]) < 2 or score["std"] is None:
        return number(score["mean"])
    return f"{number(score['mean'])} {sign} {number(score['std'])}"


def number(value: float | None) -> str:
    """A perplexity as it is printed everywhere; "-" for none."""
    return "-" if value is None else f"{value:.2f}"


def write_file(path: Path, content: bytes) -> None:
    """Write a file and the folders above it.

    Raises:
      InputError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise InputError(
            f"{path} cannot be written ({error.strerror}); make it writable or make room."
        ) from error


def _string(given: str) -> str:
    """The options of a command as one string: those of its configuration, then its overrides."""
    words = shlex.split(given)
    strings = [w.partition(":")[2] for w in words if w.startswith("--config=")] or [""]
    overrides = [w.removeprefix("--config.") for w in words if w.startswith("--config.")]
    return ",".join([strings[0], *overrides])
