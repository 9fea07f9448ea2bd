"""The hyper-parameters behind the best run of every model: what a recipe decided, side by side."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rilm_jax import config as configuration
from rilm_jax import markdown as md
from rilm_jax import presets, recipes
from rilm_jax.results import record

# Decided by a recipe, too, but what is learned and not how.
_NOT_HOW = {"num_layers", "seeds", "vocab_size"}


def markdown(runs: Mapping[Path, Mapping[str, Any]]) -> str:
    """A row for each model's best tuned run, a column for each field in which they differ.

    The fields are those that the tuned recipes set; below the table stands what all rows share.

    Args:
      runs: summaries by their file, CORPUS/NAME.json.
    """
    tuned = {path: run for path, run in runs.items() if run["config"]["preset"] == "tuned"}
    found = list(record.best_of_each(tuned, record.model_on_text).values())
    if not found:
        return ""
    found.sort(key=lambda item: list(recipes.CORPORA).index(item[0].parent.name))
    values = {
        name: [_said(run["config"].get(name, field.default)) for _, run in found]
        for name, field in configuration.flat_fields().items()
        if name in _decided()
    }
    varied = [name for name, of in values.items() if len(set(of)) > 1]
    shared = ", ".join(f"{name}={of[0]}" for name, of in values.items() if name not in varied)
    rows = [
        [path.parent.name, record.title(run["config"]), *(values[name][i] for name in varied)]
        for i, (path, run) in enumerate(found)
    ]
    made = md.table(["dataset", "model", *varied], rows, right=varied)
    return f"What each model's best tuned run was trained with:\n\n{made}\n\nAll have {shared}.\n"


def _decided() -> set[str]:
    return {"dim", *(name for _, then in presets.RULES["tuned"] for name in then)} - _NOT_HOW


def _said(value: Any) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
