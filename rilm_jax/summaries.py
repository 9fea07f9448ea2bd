"""What everybody may rely on in a run's summary.json and metrics.jsonl."""

import json
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rilm_jax import files
from rilm_jax.errors import InputError

SCORES = ("best_valid_ppl", "best_valid_ppl_non_unk", "test_ppl", "test_ppl_non_unk")

_NUMBER, _MAYBE = (int, float), (int, float, types.NoneType)
_WORDS = ("backbone", "head", "manifold", "composition", "corpus", "preset")
_FLOORS = ("unigram", "unigram_non_unk", "kn5", "kn5_non_unk")
_FIELDS: dict[str, Any] = {
    **{f"config.{name}": str for name in _WORDS},
    **{f"config.{name}": int for name in ("vocab_size", "window", "num_epochs")},
    "config.learning_rate": _NUMBER,
    "seeds": list,
    "params.total": int,
    "steps": int,
    **{f"floor.{name}": _MAYBE for name in _FLOORS},
    **{f"{score}.per_seed": list for score in SCORES},
    **{f"{score}.{name}": _MAYBE for score in SCORES for name in ("mean", "std")},
    "corpus": Mapping,
    "tokens_per_second": _MAYBE,
    "wall_seconds": _NUMBER,
    "device": str,
    "commit": (str, types.NoneType),
}


def read(path: Path, advice: str) -> dict[str, Any]:
    """The summary in a file, which has all that is read of one anywhere.

    Raises:
      InputError: there is none, or it lacks something; `advice` says what to do.
    """
    summary = files.read_json(path, advice)
    if wrong := _wrong(summary):
        raise InputError(f"{path} is no summary of a run ({wrong} is missing or wrong); {advice}.")
    return summary


def evaluations(path: Path, advice: str, split: str = "valid") -> list[dict[str, Any]]:
    """The evaluations of a split in a file of metrics, in order; none where there is no file.

    Each has `step`, `epoch` and, a list over seeds, `nll`, `ppl` and `ppl_non_unk`.

    Raises:
      InputError: a file that holds no metrics; `advice` says what to do.
    """
    if not path.is_file():
        return []
    try:
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        return [line for line in lines if line["split"] == split]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} holds no metrics ({error}); {advice}.") from error


def _wrong(summary: Any) -> str | None:
    """The first field that a summary lacks, or that is of another type; None where all is there."""
    for name, kind in _FIELDS.items():
        if not isinstance(_at(summary, name), kind):
            return name
    uneven = (score for score in SCORES if not _is_by_seed(summary[score]["per_seed"], summary))
    return next(uneven, None)


def _is_by_seed(scores: list[Any], summary: Mapping[str, Any]) -> bool:
    return len(scores) == len(summary["seeds"]) and all(isinstance(v, _MAYBE) for v in scores)


def _at(content: Any, field: str) -> Any:
    """What stands at "a.b" in nested mappings; `...`, of no type that is asked for, if nothing."""
    for name in field.split("."):
        if not isinstance(content, Mapping) or name not in content:
            return ...
        content = content[name]
    return content
