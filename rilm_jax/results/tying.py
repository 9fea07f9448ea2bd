"""The Tying paper's variants beside each other and beside the paper, and its loss elsewhere.

VD is an LSTM or RHN with a linear head, AL adds the augmented loss, RE ties the words, REAL does
both. The schedule does not know how many epochs there will be, so shorter runs are the beginnings
of longer ones and stand beside them epoch by epoch.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rilm_jax import markdown as md
from rilm_jax import presets, recipes
from rilm_jax.config import RunConfig, flat_fields, from_flat
from rilm_jax.errors import InputError
from rilm_jax.results import record
from rilm_jax.results.record import differences, number, spread

Run = Mapping[str, Any]

# Validation and test perplexity of Inan, Khosravi and Socher, "Tying Word Vectors and Word
# Classifiers" (1611.01462), by text, part of it, units and variant.
PAPER: dict[tuple[str, str, int, str], tuple[str, str]] = {
    ("ptb", "all", 200, "VD"): ("92.6", "87.3"),
    ("ptb", "all", 200, "AL"): ("86.3", "82.9"),
    ("ptb", "all", 200, "RE"): ("89.9", "85.1"),
    ("ptb", "all", 200, "REAL"): ("86.3", "82.7"),
    ("ptb", "all", 650, "VD"): ("82.0", "77.7"),
    ("ptb", "all", 650, "AL"): ("77.4", "74.7"),
    ("ptb", "all", 650, "RE"): ("77.1", "73.9"),
    ("ptb", "all", 650, "REAL"): ("75.7", "73.2"),
    ("ptb", "all", 1500, "VD"): ("76.8", "72.6"),
    ("ptb", "all", 1500, "AL"): ("74.5", "71.2"),
    ("ptb", "all", 1500, "RE"): ("72.5", "69.0"),
    ("ptb", "all", 1500, "REAL"): ("71.1", "68.5"),
    ("ptb", "all", 830, "RHN"): ("71.2", "68.5"),
    ("ptb", "all", 830, "RHN, RE"): ("68.1", "66.0"),
    ("wikitext2", "all", 200, "AL"): ("110.3", "103.8"),
    ("wikitext2", "all", 200, "RE"): ("106.1", "100.5"),
    ("wikitext2", "all", 200, "REAL"): ("105.6", "98.9"),
    ("wikitext2", "all", 200, "RE, variational=False"): ("105.97", "100.33"),
    ("wikitext2", "all", 650, "AL"): ("98.8", "93.1"),
    ("wikitext2", "all", 650, "RE"): ("92.3", "87.7"),
    ("wikitext2", "all", 650, "REAL"): ("91.5", "87.0"),
    ("wikitext2", "all", 650, "RE, variational=False"): ("91.70", "86.68"),
    ("wikitext2", "first", 200, "VD"): ("159.1", "148.0"),
    ("wikitext2", "first", 200, "AL"): ("153.0", "142.5"),
    ("wikitext2", "first", 200, "RE"): ("152.4", "141.9"),
    ("wikitext2", "first", 200, "REAL"): ("149.3", "140.6"),
}
_NOTES = """\
VD has an output matrix of its own, AL adds the augmented loss, RE ties the words, REAL does both.
*epochs* is how many were trained of the paper's at most; *valid* is the best of them, and *test*
belongs to it. *valid - VD*, seed by seed, is of the best among the epochs that both have."""
_PARTS = {"all": "", "first": ", first half", "second": ", second half"}
_VARIANTS = {
    ("linear", False): "VD",
    ("linear", True): "AL",
    ("tied", False): "RE",
    ("tied", True): "REAL",
}
_READ_BY_AUGMENT = ("augment", "augment_temperature", "target_grad", "cross_entropy")
_OF_LOSS = (*(f"{name}=" for name in _READ_BY_AUGMENT), "seeds=")
_UNTOLD = ("preset=", "augment=", "dim=", "num_epochs=", "seeds=", "part=")  # of a variant


class _Row(NamedTuple):
    """A run under the paper's name of it, with its evaluations."""

    variant: str
    run: Run
    curve: list[dict[str, Any]]


def markdown(runs: Mapping[Path, Run]) -> str:
    """A section for each text and size of net, then one for the loss on other models; "" for none.

    Args:
      runs: summaries by their file, CORPUS/NAME.json, beside which lie their metrics.
    """
    groups: dict[tuple[str, str, int], list[_Row]] = {}
    for path, run in runs.items():
        config = run["config"]
        if config["preset"] == "tying" and record.by_seed(run):
            row = _Row(_variant(run, path.stem), run, record.curve(path))
            groups.setdefault((config["corpus"], config["part"], config["dim"]), []).append(row)
    sections = [_section(of, groups[of]) for of in sorted(groups)]
    made = [f"{_NOTES}\n", *sections] if sections else []
    return "\n".join(filter(None, [*made, _elsewhere(runs)]))


def _section(of: tuple[str, str, int], rows: list[_Row]) -> str:
    corpus, part, units = of
    rows = sorted(rows, key=lambda row: (_place(row.variant), row.variant, -len(row.curve)))
    plain = next((row for row in rows if row.variant in ("VD", "RHN")), None)
    cells = []
    for row in rows:
        epochs = str(len(row.curve) or row.run["config"]["num_epochs"])
        scores = (spread(row.run[score], "±") for score in ("best_valid_ppl", "test_ppl"))
        paper = PAPER.get((*of, row.variant), ("-", "-"))
        gain = "-" if plain is None or row is plain else _gain(row, plain)
        trained = f"{epochs} of {_planned(row.run)}"
        cells.append([row.variant, _gamma(row.run), trained, *scores, gain, *paper])
    header = ["variant", "gamma", "epochs", "valid", "test", "valid - VD"]
    header += ["paper, valid", "paper, test"]
    title = f"## {corpus}{_PARTS[part]}: {units} units"
    made = [title, md.table(header, cells, right=header[1:]), _by_epoch(rows)]
    return "\n\n".join(filter(None, made)) + "\n"


def _by_epoch(rows: list[_Row]) -> str:
    """Validation perplexity after every epoch, a column a run."""
    told = [row for row in rows if row.curve]
    cells = []
    for i in range(max((len(row.curve) for row in told), default=0)):
        scores = (row.curve[i]["ppl"] if i < len(row.curve) else [None] for row in told)
        cells.append([str(i + 1), *(" / ".join(map(number, of)) for of in scores)])
    header = ["epoch", *(row.variant for row in told)]
    return f"Validation by epoch:\n\n{md.table(header, cells, right=header)}" if cells else ""


def _gain(row: _Row, plain: _Row) -> str:
    """Validation perplexity less that of VD, each at its best of the epochs that both have."""
    lengths = {len(row.curve), len(plain.curve)}
    said = differences(_best(row, min(lengths)), _best(plain, min(lengths)))
    return said if len(lengths) == 1 else f"{said} (epoch {min(lengths)})"


def _best(row: _Row, epochs: int) -> dict[int, float]:
    """The lowest validation perplexity of every seed within so many epochs."""
    best: dict[int, float] = {}
    for point in row.curve[:epochs]:
        for seed, ppl in zip(point["seeds"], point["ppl"], strict=True):
            if ppl is not None:
                best[seed] = min(ppl, best.get(seed, ppl))
    return best


def _elsewhere(runs: Mapping[Path, Run]) -> str:
    """Runs with the augmented loss beside the same without it, on models the paper has not."""
    others = {path: run for path, run in runs.items() if run["config"]["preset"] != "tying"}
    alike: dict[RunConfig | None, Run] = {}
    for run in sorted(others.values(), key=lambda run: len(record.by_seed(run))):
        if not run["config"].get("augment"):
            alike[_without_augment(run)] = run
    rows = []
    for path, run in others.items():
        of = _without_augment(run)
        if not run["config"].get("augment") or of is None or of not in alike:
            continue
        plain = alike[of]
        model = [f"{recipes.model_name(run['config'])}-{run['config']['head']}"]
        model += (o for o in record.options(run, path.stem) if not o.startswith(_OF_LOSS))
        scores = [spread(each["best_valid_ppl"], "±") for each in (plain, run)]
        gain = differences(record.by_seed(run), record.by_seed(plain))
        text = record.text_name(record.text(run))
        rows.append([text, ", ".join(model), _gamma(run), *scores, gain])
    if not rows:
        return ""
    header = ["text", "model", "gamma", "valid at gamma = 0", "valid", "difference, seed by seed"]
    made = md.table(header, sorted(rows), right=header[2:])
    return f"## The augmented loss on other models\n\n{made}\n"


def _without_augment(run: Run) -> RunConfig | None:
    """The configuration without what only the augmented loss reads, and without seeds.

    None for a run of a version that had other fields.
    """
    fields = flat_fields()
    unread = {name: fields[name].default for name in _READ_BY_AUGMENT}
    try:
        return from_flat({**run["config"], **unread, "seeds": [0]})
    except InputError:
        return None


def _gamma(run: Run) -> str:
    gamma = run["config"].get("augment")
    return f"{gamma:g}" if gamma else "-"


def _variant(run: Run, name: str) -> str:
    """VD, AL, RE or REAL, and what else the run's string says."""
    config = run["config"]
    head: str = config["head"]
    of_paper = _VARIANTS.get((head, bool(config["augment"])), head)
    if config["backbone"] == "rhn":
        of_paper = "RHN" if of_paper == "VD" else f"RHN, {of_paper}"
    return ", ".join([of_paper, *_others(run, name)])


def _others(run: Run, name: str) -> tuple[str, ...]:
    return tuple(o for o in record.options(run, name) if not o.startswith(_UNTOLD))


def _place(variant: str) -> int:
    """The paper's order; what it has not comes last."""
    order = list(_VARIANTS.values())
    return order.index(variant) if variant in order else len(order)


def _planned(run: Run) -> int:
    """As many as the paper has at most."""
    config = run["config"]
    facts = {**config, "model": recipes.model_name(config)}
    return presets.values("tying", facts)["num_epochs"]
