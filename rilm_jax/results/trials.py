"""The trials of tuning: what each changed, the rate it ran at, and its validation perplexity."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rilm_jax import markdown as md
from rilm_jax.results.record import number, options, title

FOLDER = "tune"
_NUMBERS = {"learning rate", "epochs", "valid"}
_HEADER = ("learning rate", "changed", "epochs", "valid")
# What all trials share, or what a column of its own shows.
_UNTOLD = (
    "preset=start",
    "num_epochs=",
    "test=",
    "seeds=",
    "rate_factors=",
    "learning_rate=",
    "composition=",
)


class Trial(NamedTuple):
    """One seed at one learning rate.

    Attributes:
      corpus: trained and judged on.
      model: its title; see `record.title`.
      learning_rate: the peak.
      changes: the other options of its configuration string.
      epochs: how long it was trained.
      valid: best validation perplexity; None where it was not finite.
    """

    corpus: str
    model: str
    learning_rate: float
    changes: tuple[str, ...]
    epochs: int
    valid: float | None


def is_trial(config: Mapping[str, Any]) -> bool:
    """Whether a run of this configuration only chooses a recipe: it has lanes, or no test score."""
    return bool(config.get("rate_factors")) or not config.get("test", True)


def ordered(runs: Mapping[Path, Mapping[str, Any]]) -> list[Trial]:
    """The trials of all runs: by corpus, model, length and score, the best first."""
    found = [trial for path, run in runs.items() for trial in of_summary(run, path.stem)]
    last = float("inf")
    return sorted(
        found, key=lambda t: (*t[:2], t.epochs, last if t.valid is None else t.valid, *t[2:5])
    )


def of_summary(summary: Mapping[str, Any], name: str) -> list[Trial]:
    """The trials of one run: one for each of its seeds or rates."""
    config = summary["config"]
    told = tuple(o for o in options(summary, name) if not o.startswith(_UNTOLD))
    scores = summary["best_valid_ppl"]["per_seed"]
    factors = config.get("rate_factors") or [1.0] * len(scores)
    corpus, model, rate = config["corpus"], title(config), config["learning_rate"]
    return [
        Trial(corpus, model, rate * factor, told, config["num_epochs"], valid)
        for factor, valid in zip(factors, scores, strict=True)
    ]


def markdown(trials: list[Trial]) -> str:
    """A table for each corpus and model; "" where there is no trial."""
    groups: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        groups.setdefault((trial.corpus, trial.model), []).append(trial)
    sections = []
    for (corpus, model), tried in groups.items():
        heading = f"## {corpus}: {model}, {len(tried)} trials"
        cells = [
            [f"{t.learning_rate:g}", ", ".join(t.changes) or "-", str(t.epochs), number(t.valid)]
            for t in tried
        ]
        sections.append(f"{heading}\n\n{md.table(_HEADER, cells, right=_NUMBERS)}\n")
    return "\n".join(sections)
