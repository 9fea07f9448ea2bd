"""The table of results, a row a run; nothing in it is typed by hand, save the paper's values."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rilm_jax import markdown as md
from rilm_jax import recipes
from rilm_jax.config import ModelConfig
from rilm_jax.results import record
from rilm_jax.results.record import by_seed, command, number, options, spread

WHOLE = 5  # seeds behind a claim in words

# Validation perplexity, all targets, of Li, "RiLM: Parameter-Efficient Language Modeling via
# Geodesic Decoding", by corpus, V, model and head. Of the other baselines on WikiText-2 only the
# range is known here.
_OTHERS = "113 to 147"
PAPER: dict[tuple[str, int, str, str], str] = {
    ("wikitext2", 2000, "hyprilm", "geodesic"): "54.2 ± 0.2",
    ("wikitext2", 2000, "flatrilm", "geodesic"): "87.6 ± 0.6",
    ("wikitext2", 2000, "ssm", "tied"): "113.0 ± 3.8",
    ("wikitext2", 2000, "ssm", "linear"): _OTHERS,
    ("wikitext2", 2000, "lstm", "tied"): _OTHERS,
    ("wikitext2", 2000, "lstm", "linear"): _OTHERS,
    ("wikitext2", 2000, "transformer", "tied"): _OTHERS,
    ("wikitext2", 2000, "transformer", "linear"): _OTHERS,
    ("wikitext2", 10000, "hyprilm", "geodesic"): "345.8 ± 16.0",
    ("wikitext2", 10000, "flatrilm", "geodesic"): "341.8 ± 0.5",
    ("wikitext2", 10000, "ssm", "tied"): "708.3 ± 9.0",
    ("ptb", 2000, "hyprilm", "geodesic"): "69.8 ± 0.5",
    ("ptb", 2000, "flatrilm", "geodesic"): "40.9 ± 0.6",
}
# Fields of a model that name it in `PAPER`, or that a recipe is free to choose; the paper's models
# have the default of every other.
_NAMED = {"backbone", "head", "manifold", "vocab_size"}
_FREE = {"k", "tau", "init", "init_scale", "embed_std", "dtype"} | {
    f"{where}dropout" for where in ("", "word_", "input_", "output_")
}
_FREE_IN_BASELINES = {"bias", "learn_tau"}

HEADER = (
    "dataset",
    "V",
    "model",
    "head",
    "preset",
    "options",
    "parameters",
    "steps",
    "seeds",
    "valid",
    "valid, non-`<unk>`",
    "test",
    "test, non-`<unk>`",
    "paper, valid",
    "5-gram, valid",
    "5-gram, valid, non-`<unk>`",
    "5-gram, test",
    "tokens/s",
    "command",
    "commit",
)
_SHOWN = ("preset=", "data=", "seeds=", "vocab_size=")  # options that have a column of their own
_NUMBERS = {"V", "parameters", "steps", "tokens/s"}

# What a README has no room for.
_BRIEF = tuple(
    column
    for column in HEADER
    if "non-`<unk>`" not in column and column not in ("steps", "tokens/s", "command", "commit")
)
_BRIEF_NOTES = """\
Each model's best run and, where that has fewer than five seeds (†, preliminary), its best with
five. *gated* is a form of RiLM with a second matrix ([models](docs/model.md)). Perplexity over the
whole split, every target once; mean ± standard deviation over the seeds, each at its best
validation epoch. *5-gram* is modified Kneser-Ney on the same text and vocabulary; *paper* is what
the RiLM paper reports. [RESULTS.md](experiments/results/RESULTS.md) has every run with its command,
commit and speed, and perplexity without `<unk>`; the Tying paper's recipes stand in
[docs/tying.md](docs/tying.md)."""
_NOTES = """\
Perplexity: exp of the mean negative log-likelihood over the whole split, every target once; mean ±
standard deviation (n - 1) over the seeds, each at its best validation epoch. *non-`<unk>`* counts
only the targets that are words of the vocabulary. *5-gram* is modified Kneser-Ney on the same split
and vocabulary, the floor. *paper* is what the RiLM paper reports for that model on validation; how
it counted is not known. *tokens/s* is training, all seeds together, in the fastest epoch, on the
device and cores named, and not to be compared across rows that name others; where no cores are
named, it is the mean of a run that shared two. A row marked † has fewer than five finished seeds
and is preliminary."""


def rows(runs: Mapping[Path, Mapping[str, Any]]) -> list[list[str]]:
    """A row for every summary, by corpus, V and mean validation perplexity.

    Args:
      runs: summaries by their file, CORPUS/NAME.json.
    """
    corpora = list(recipes.CORPORA)
    found = []
    for path, summary in runs.items():
        mean = summary["best_valid_ppl"]["mean"]
        order = corpora.index(path.parent.name), summary["config"]["vocab_size"]
        found.append((*order, mean is None, mean or 0.0, path.stem, row(summary, path.stem)))
    return [cells for *_, cells in sorted(found)]


def row(summary: Mapping[str, Any], name: str) -> list[str]:
    """A summary as the cells of the table."""
    config, floor = summary["config"], summary["floor"]
    corpus, model = config["corpus"], recipes.model_name(config)
    given = command(summary, name)
    seeds = by_seed(summary)
    python, rate = summary["corpus"].get("python"), summary["tokens_per_second"]
    dataset = corpus if corpus in recipes.CORPORA else Path(corpus).name
    cells = {
        "dataset": f"{dataset} (Python {python})" if python else dataset,
        "V": str(config["vocab_size"]),
        "model": model,
        "head": config["head"],
        "preset": config["preset"],
        "options": ", ".join(shown_options(summary, name)),
        "parameters": f"{summary['params']['total']:,}",
        "steps": f"{summary['steps']:,}",
        "seeds": f"{len(seeds)} of {len(summary['seeds'])}"
        if len(seeds) < len(summary["seeds"])
        else str(len(seeds)),
        "valid": spread(summary["best_valid_ppl"], "±"),
        "valid, non-`<unk>`": spread(summary["best_valid_ppl_non_unk"], "±"),
        "test": spread(summary["test_ppl"], "±"),
        "test, non-`<unk>`": spread(summary["test_ppl_non_unk"], "±"),
        "paper, valid": paper_value(config, model),
        "5-gram, valid": number(floor["kn5"]),
        "5-gram, valid, non-`<unk>`": number(floor["kn5_non_unk"]),
        "5-gram, test": number((summary.get("test_floor") or {}).get("kn5")),
        "tokens/s": f"{rate:,.0f} ({summary['device'].split(': ')[-1]})" if rate else "-",
        "command": f"`{given}`" if given else "-",
        "commit": summary["commit"] or "-",
    }
    if len(seeds) < WHOLE:
        cells["seeds"] += " †"
    return [cells[column] for column in HEADER]


def shown_options(summary: Mapping[str, Any], name: str) -> list[str]:
    """The options of a run that no other column tells."""
    return [o for o in options(summary, name) if not o.startswith(_SHOWN)]


def markdown(runs: Mapping[Path, Mapping[str, Any]]) -> str:
    """The table of all `runs`, by their file, with the notes that it needs."""
    return _table(HEADER, rows(runs), _NOTES, runs)


def brief(runs: Mapping[Path, Mapping[str, Any]]) -> str:
    """Every model's best run, and its best of five seeds, by the columns that fit a README."""
    kept = [HEADER.index(column) for column in _BRIEF]
    cells = [[row[i] for i in kept] for row in rows(_best(runs))]
    return _table(_BRIEF, cells, _BRIEF_NOTES, runs)


def _table(
    header: Sequence[str],
    cells: Sequence[Sequence[str]],
    notes: str,
    runs: Mapping[Path, Mapping[str, Any]],
) -> str:
    if not cells:
        return "No run has been collected yet.\n"
    told = "\n".join(filter(None, [notes, _unk_shares(runs)]))
    return f"{md.table(header, cells, right=_NUMBERS)}\n\n{told}\n"


def _best(runs: Mapping[Path, Mapping[str, Any]]) -> dict[Path, Mapping[str, Any]]:
    """Of the runs of one model on one text, the lowest in validation, and so of five seeds."""
    whole = {path: run for path, run in runs.items() if len(by_seed(run)) >= WHOLE}
    return dict(
        found
        for among in (runs, whole)
        for found in record.best_of_each(among, record.model_on_text).values()
    )


def _unk_shares(runs: Mapping[Path, Mapping[str, Any]]) -> str:
    """How much of each text's validation split is `<unk>`, where a run has told."""
    found = ((record.text(run), run["corpus"].get("unk_share")) for run in runs.values())
    shares = {text: share for text, share in found if share is not None}
    told = [f"{share:.1%} of {record.text_name(of)}" for of, share in sorted(shares.items())]
    return f"Of the validation targets `<unk>` is {'; '.join(told)}." if told else ""


def paper_value(config: Mapping[str, Any], model: str) -> str:
    """The paper's value where the run has the paper's model, not a variation on it; else "-"."""
    free = _NAMED | _FREE | (set() if config["backbone"] == "rilm" else _FREE_IN_BASELINES)
    varied = any(
        config.get(field.name, field.default) != field.default
        for field in dataclasses.fields(ModelConfig)
        if field.name not in free
    )
    if varied or config.get("augment") or config.get("part", "all") != "all":  # half of the text
        return "-"
    return PAPER.get((config["corpus"], config["vocab_size"], model, config["head"]), "-")
