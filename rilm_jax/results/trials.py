"""The trials of tuning: what each changed, the rate it ran at, and its validation perplexity."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rilm_jax.results.record import model_name, number, options, read_all

FOLDER = "tune"
# What all trials share, or what a column of its own shows.
_UNTOLD = ("num_epochs=", "test=", "seeds=", "rate_factors=", "learning_rate=", "composition=")


class Trial(NamedTuple):
    """One seed at one learning rate.

    Attributes:
      corpus: trained and judged on.
      model: MODEL-HEAD, with the composition of a RiLM whose is not the usual one.
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


def read(folder: Path) -> list[Trial]:
    """All trials below the folder of results: by corpus, model and score, the best first.

    Raises:
      InputError: a file that is no summary.
    """
    found = [
        trial
        for path, summary in read_all(folder / FOLDER)
        for trial in of_summary(summary, path.stem)
    ]
    last = float("inf")
    return sorted(found, key=lambda t: (t.corpus, t.model, last if t.valid is None else t.valid))


def of_summary(summary: Mapping[str, Any], name: str) -> list[Trial]:
    """The trials of one run: one for each of its seeds or rates."""
    config = summary["config"]
    model = f"{model_name(config)}-{config['head']}"
    if config["composition"] != "mlp":
        model += f",composition={config['composition']}"
    told = tuple(o for o in options(summary, name) if not o.startswith(_UNTOLD))
    scores = summary["best_valid_ppl"]["per_seed"]
    factors = config.get("rate_factors") or [1.0] * len(scores)
    return [
        Trial(config["corpus"], model, config["learning_rate"] * f, told, config["num_epochs"], v)
        for f, v in zip(factors, scores, strict=True)
    ]


def markdown(trials: list[Trial]) -> str:
    """A table for each corpus and model; "" where there is no trial."""
    groups: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        groups.setdefault((trial.corpus, trial.model), []).append(trial)
    sections = []
    for (corpus, model), tried in groups.items():
        lines = [
            f"## {corpus}: {model}, {len(tried)} trials",
            "",
            "| learning rate | changed | epochs | valid |",
            "| ---: | --- | ---: | ---: |",
        ]
        lines += [
            f"| {t.learning_rate:g} | {', '.join(t.changes) or '-'} | {t.epochs} "
            f"| {number(t.valid)} |"
            for t in tried
        ]
        sections.append("\n".join(lines) + "\n")
    return "\n".join(sections)
