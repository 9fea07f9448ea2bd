"""What equal tuning found, and what became of it."""

from pathlib import Path

import pytest

from experiments.sweeps import tuning
from rilm_jax import config, presets, recipes, results
from rilm_jax.results import trials

RECORD = Path(__file__).resolve().parents[2] / "experiments" / "results" / trials.FOLDER
# What makes a trial of a run.
SHORT = ("num_epochs", "test", "seeds", "rate_factors", "preset")


def fields(corpus, string):
    return config.to_flat(config.from_flat(recipes.recipe(corpus, string)))


def tried(model):
    """(perplexity, configuration) of every trial on record of a model."""
    like = fields("wikitext2", f"{model},preset=start")
    for run in results.read_all(RECORD).values():
        there = config.to_flat(config.from_flat(run["config"]))  # of any version
        alike = all(there[name] == like[name] for name in ("corpus", "preset", "dim"))
        if alike and results.title(there) == results.title(like):
            scores = run["best_valid_ppl"]["per_seed"]
            factors = there["rate_factors"] or [1.0] * len(scores)
            for factor, ppl in zip(factors, scores, strict=True):
                yield ppl, there | {"learning_rate": there["learning_rate"] * factor}


@pytest.mark.parametrize("model", tuning.GROUPS)
def test_the_tuned_recipe_is_the_best_of_the_trials_on_record(model):
    ppl, best = min((trial for trial in tried(model) if trial[0] is not None), key=lambda t: t[0])
    assert recipe_of(best) == pytest.approx(recipe_of(fields("wikitext2", model)))
    assert presets.FOUND[model].valid == pytest.approx(ppl, abs=0.005)


def recipe_of(flat):
    return {name: value for name, value in flat.items() if name not in SHORT}
