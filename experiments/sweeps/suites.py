"""The suites: which rows belong together. A row is a corpus and a configuration string.

Where a run is on record under another name, or with more seeds, its row is done; see `runner`.
"""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from experiments.sweeps import tuning
from rilm_jax import config, recipes, results
from rilm_jax.config import RunConfig
from rilm_jax.results import trials

RILMS = ("hyprilm", "flatrilm")
BASELINES = ("lstm", "transformer", "ssm")
TWO_SEEDS = "seeds=42+43"
ONE_SEED = "seeds=42"
_TARGET_GRAD = "lstm-tied,preset=tying,augment=0.65,target_grad=True"


class Row(NamedTuple):
    """One run.

    Attributes:
      corpus: one of `recipes.CORPORA`.
      string: its configuration.
    """

    corpus: str
    string: str

    def config(self) -> RunConfig:
        """The checked configuration."""
        return _config(self)

    def path(self) -> Path:
        """Of its work directory below the runs' and, with .json, of its summary on record."""
        below = trials.FOLDER if trials.is_trial(config.to_flat(self.config())) else ""
        return Path(below, self.corpus, recipes.name(self.string))

    def command(self) -> str:
        """The launcher's command that gives the same run."""
        return results.train_command(self.corpus, self.string)


@functools.cache
def _config(row: Row) -> RunConfig:
    return config.from_flat(recipes.recipe(row.corpus, row.string))


def table3() -> list[Row]:
    """The RiLM paper's main table: both RiLMs, each baseline untied, tied and matched; WikiText-2.

    The tuned recipes, then the paper's own under both initialisations.
    """
    return _rows("wikitext2", [*_main_models(), *_gated(), *_paper()])


def ptb() -> list[Row]:
    """The same rows on Penn Treebank."""
    return _rows("ptb", [*_main_models(), *_gated(), *_paper()])


def vocab10k() -> list[Row]:
    """Ten thousand words."""
    models = [*RILMS, *(f"{m}-tied" for m in BASELINES)]
    return [
        row
        for corpus in ("wikitext2", "ptb")
        for row in _rows(corpus, [f"{m},vocab_size=10000" for m in models])
    ]


def ablations() -> list[Row]:
    """HypRiLM on WikiText-2 with one thing changed, beside itself.

    c = 0.1 brings a temperature of its own, the gated map a second matrix.
    """
    changes = (
        "c=0.1",
        "composition=spline",
        "composition=gated",
        "k=1",
        "k=8",  # itself has k=0, never cut, which at a window of 64 is k=64
        "recurrence=naive",
        "recurrence=projected",
        "learn_tau=False",
        "bias=True",
        "init=plain",
        "chart=tangent",
    )
    return _rows("wikitext2", ["hyprilm", *(f"hyprilm,{change}" for change in changes)])


def controls(seeds: str = TWO_SEEDS) -> list[Row]:
    """Backbone times head: what the distance does, apart from the recurrence. Two seeds here."""
    rilms = [f"{m}{head}" for m in RILMS for head in ("", "-tied", "-linear")]
    heads = ("geodesic", "tied", "linear")
    baselines = [f"{m}-{head}" for m in (*BASELINES, "rhn") for head in heads]
    return _rows("wikitext2", [*rilms, *baselines], seeds)


def dims(seeds: str = ONE_SEED) -> list[Row]:
    """Perplexity against dimension for three heads. One seed here.

    A product of width d has rank d, and so have flat scores, to two more; the ball's link is not
    affine, so its scores have full rank however small d is. Its gain should grow as d shrinks.
    """
    models = ("hyprilm", "flatrilm", "flatrilm-tied")
    sizes = ("dim=8", "dim=16", "dim=32", "dim=64", "")  # and 128, which is usual
    strings = [",".join(filter(None, (m, size))) for size in sizes for m in models]
    return _rows("wikitext2", strings, seeds)


def tune() -> list[Row]:
    """The trials of equal tuning; see `tuning`."""
    return _rows("wikitext2", [*tuning.strings("wikitext2"), *tuning.DECIDING])


def tying() -> list[Row]:
    """The Tying paper's four variants at 200 units on PTB, and the readings it leaves open.

    Eight epochs of its recipe for the variants and fewer for the readings, which stand beside the
    first epochs of their variant: what two cores do in some hours. Then the augmented loss where
    the paper has none, on HypRiLM.
    """
    variants = _tying_variants(200, "augment=0.65")
    readings = [
        f"{_TARGET_GRAD},num_epochs=6",
        "lstm-linear,preset=tying,dropout=0.7,num_epochs=4",  # the appendix's number, dropped
    ]
    lstms = _rows("ptb", variants, f"num_epochs=8,{ONE_SEED}")
    lstms += _rows("ptb", readings, ONE_SEED)
    augmented = [f"hyprilm,augment={gamma}" for gamma in (0.2, 0.05)]
    return [*lstms, *_rows("wikitext2", augmented, ONE_SEED)]


def tying_gpu() -> list[Row]:
    """All of the Tying paper's tables, and REAL's other reading; whole runs, for one GPU."""
    rows = []
    for units in (200, 650, 1500):
        rows += _rows("ptb", _tying_variants(units, "augment=0.65"), ONE_SEED)
    rows += _rows("ptb", [_TARGET_GRAD], ONE_SEED)  # which trains better so far
    for units in (200, 650):
        rows += _rows("wikitext2", _tying_variants(units, "augment=1.25"), ONE_SEED)
        ordinary = f"lstm-tied,preset=tying,dim={units},variational=False"
        rows += _rows("wikitext2", [ordinary], ONE_SEED)
    for part in ("first", "second"):
        halves = [f"{v},part={part}" for v in _tying_variants(200, "augment=1.25")]
        rows += _rows("wikitext2", halves, ONE_SEED)
    rows += _rows("ptb", [f"rhn-{head},preset=tying" for head in ("linear", "tied")], ONE_SEED)
    return rows


def gpu_all() -> list[Row]:
    """Everything but the Tying paper's, with five seeds, for one data-centre GPU."""
    rows = [*table3(), *ptb(), *vocab10k(), *ablations(), *controls(""), *dims(""), *tune()]
    return list(dict.fromkeys(rows))


SUITES: dict[str, Callable[[], list[Row]]] = {
    "table3": table3,
    "ptb": ptb,
    "vocab10k": vocab10k,
    "ablations": ablations,
    "controls": controls,
    "dims": dims,
    "tune": tune,
    "tying": tying,
    "gpu-all": gpu_all,
    "tying-gpu": tying_gpu,
}

#: Suites for a GPU: no row is too long, and short ones come first.
FOR_GPU = ("gpu-all", "tying-gpu")


def _main_models() -> list[str]:
    baselines = [
        f"{m}-{regime}" for m in BASELINES for regime in ("linear", "tied", "tied,matched=1")
    ]
    return [*RILMS, *baselines]


def _paper() -> list[str]:
    """The RiLM paper's own recipe: RiLMs from both starts, baselines tied and untied."""
    rilms = [f"{m},preset=paper,init={i}" for m in RILMS for i in ("plain", "contractive")]
    return rilms + [f"{m}-{h},preset=paper" for m in BASELINES for h in ("tied", "linear")]


def _tying_variants(units: int, augment: str) -> list[str]:
    """VD, AL, RE and REAL."""
    width = "" if units == 200 else f",dim={units}"
    plain = [f"lstm-{head},preset=tying{width}" for head in ("linear", "tied")]
    return [f"{model}{change}" for model in plain for change in ("", f",{augment}")]


def _gated() -> list[str]:
    """At the width that keeps them, with their second matrix, within 300,000 parameters."""
    return [f"{m},composition=gated,dim=120" for m in RILMS]


def _rows(corpus: str, strings: list[str], seeds: str = "") -> list[Row]:
    return [Row(corpus, ",".join(filter(None, (string, seeds)))) for string in strings]
