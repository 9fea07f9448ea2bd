"""Equal tuning: the same number of short trials for every model.

A trial trains one seed for two epochs and is judged on validation; the test split is not read.
Trials that differ in the learning rate alone share a program, a lane for each rate.

Equal is what is tried, not what a model may weigh: at 2000 words the RiLMs have 289,025 parameters
(gated: 297,961), the baselines, tuned at d = 128 with tied words, 521,168 (lstm), 651,856
(transformer) and 491,344 (ssm). Rows of matched size use what was found at d = 128.

What varies is the rate, and then one thing at a time beside the best of three rates: truncation,
dropout, clipping, batch size and temperature, where a model has them. A model without one of these
gets more rates in its place. All start from `preset=start`, which does not change with what is
found, and the winners are `preset=tuned`; `experiments/results/tune/TRIALS.md` shows what came out.

Short trials favour high rates and many small steps. So what comes within `TIE` of the best at a
lower rate is trained whole, too, as HypRiLM alone had to be; and where whole runs of several of a
model's trials are on record, the best of those is the winner, by the same seed.
"""

import itertools
from typing import NamedTuple

from rilm_jax import recipes

NUM_TRIALS = 12
SEED = 42
NUM_EPOCHS = 2
TIE = 0.01


class Group(NamedTuple):
    """Trials that share a program: what is changed, and the factors of the learning rate."""

    changes: str
    factors: tuple[float, ...]


# Groups come in the order of their use, so that a search that has to stop early has tried what
# matters most. The first is three rates; as every model was best at the highest of them, the later
# ones were set around that one, for all models alike.
_RILM = (
    Group("", (0.5, 1.0, 2.0)),
    Group("k=0", (1.0, 2.0, 4.0)),
    Group("k=0,batch_size=64", (1.0, 2.0)),
    Group("output_dropout=0.1", (2.0,)),
    Group("clip_norm=0.25", (2.0,)),
    Group("tau={tau_low}", (2.0,)),
    Group("tau={tau_high}", (2.0,)),
)
_LSTM = (
    Group("", (0.5, 1.0, 2.0)),
    Group("", (4.0,)),
    Group("batch_size=64", (1.0, 2.0)),
    Group("k=8", (1.0, 2.0)),
    Group("output_dropout=0.1", (2.0,)),
    Group("dropout=0.1", (2.0,)),
    Group("clip_norm=0.25", (1.0, 2.0)),
)
_BLOCKS = (
    Group("", (0.5, 1.0, 2.0)),
    Group("", (4.0,)),
    Group("batch_size=64", (1.0, 2.0)),
    Group("dropout=0.1", (2.0,)),
    Group("dropout=0.1,batch_size=64", (2.0,)),
    Group("clip_norm=0.25", (1.0, 2.0)),
    Group("batch_size=64", (4.0,)),
    Group("dropout=0.1", (1.0,)),
)

#: Whole runs of what short trials left within `TIE`; the other one is a row on record,
#: hyprilm,learning_rate=6e-3,seeds=42+43.
DECIDING = ("hyprilm,preset=start,k=0,batch_size=64,test=False,seeds=42",)

#: The trials of each model, by the configuration string that they vary.
GROUPS: dict[str, tuple[Group, ...]] = {
    "hyprilm": _RILM,
    "flatrilm": _RILM,
    "hyprilm,composition=gated,dim=120": _RILM,
    "flatrilm,composition=gated,dim=120": _RILM,
    "lstm-tied": _LSTM,
    "transformer-tied": _BLOCKS,
    "ssm-tied": _BLOCKS,
}


def strings(corpus: str) -> list[str]:
    """The configuration string of every group: all models' first, then all models' second, ...

    A search that stops early has then tried the same number of groups of every model.
    """
    rounds = itertools.zip_longest(*GROUPS.values())
    return [
        string(corpus, model, group)
        for groups in rounds
        for model, group in zip(GROUPS, groups, strict=True)
        if group
    ]


def string(corpus: str, model: str, group: Group) -> str:
    """A group as one configuration string, its rates as lanes."""
    start = f"{model},preset=start"
    tau = recipes.recipe(corpus, start).get("tau", 1.0)
    changes = group.changes.format(tau_low=f"{tau / 2:g}", tau_high=f"{tau * 2:g}")
    lanes = "+".join(str(SEED) for _ in group.factors)
    factors = "+".join(f"{factor:g}" for factor in group.factors)
    fixed = f"num_epochs={NUM_EPOCHS},test=False,seeds={lanes},rate_factors={factors}"
    return ",".join(filter(None, (start, changes, fixed)))
