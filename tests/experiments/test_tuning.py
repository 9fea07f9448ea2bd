"""What equal tuning found, and what became of it."""

from pathlib import Path

import pytest

from experiments.sweeps import tuning
from rilm_jax import config, presets, recipes, results

RECORD = Path(__file__).resolve().parents[2] / "experiments" / "results"
RUN_SO_FAR = {"transformer-tied": 8, "ssm-tied": 6}  # as docs/protocol.md says
# What makes a trial of a run.
SHORT = ("num_epochs", "test", "seeds", "rate_factors", "preset")


def fields(corpus, string):
    return config.to_flat(config.from_flat(recipes.recipe(corpus, string)))


def tried(model, epochs):
    """(perplexity, recipe) of all that a model did within so many epochs, one seed, best first."""
    like = fields("wikitext2", model)
    found = []
    for run in results.read_all(RECORD).values():
        there = config.to_flat(config.from_flat(run["config"]))  # of any version
        alike = all(there[name] == like[name] for name in ("corpus", "dim"))
        if alike and there["num_epochs"] == epochs and results.title(there) == results.title(like):
            scores = run["best_valid_ppl"]["per_seed"]
            factors = there["rate_factors"] or [1.0] * len(scores)
            for seed, factor, ppl in zip(run["seeds"], factors, scores, strict=True):
                if seed == tuning.SEED and ppl is not None:
                    rate = there["learning_rate"] * factor
                    found.append((ppl, recipe_of(there | {"learning_rate": rate})))
    return sorted(found, key=lambda trial: trial[0])


@pytest.mark.parametrize("model", tuning.GROUPS)
def test_the_tuned_recipe_is_the_best_of_the_trials_on_record(model):
    short = tried(model, tuning.NUM_EPOCHS)
    assert len(short) >= RUN_SO_FAR.get(model, tuning.NUM_TRIALS)
    least, best = short[0]
    of_trials = [recipe for _, recipe in short]
    whole = [run for _, run in tried(model, 10) if any(same(run, trial) for trial in of_trials)]
    near = [recipe for ppl, recipe in short if ppl <= (1 + tuning.TIE) * least]
    for slower in [r for r in near if r["learning_rate"] < best["learning_rate"]]:
        assert any(same(run, slower) for run in whole)
    if any(same(run, best) for run in whole):
        best = whole[0]
    assert same(best, recipe_of(fields("wikitext2", model)))
    (valid,) = [ppl for ppl, recipe in short if same(recipe, best)]
    assert presets.FOUND[model].valid == pytest.approx(valid, abs=0.005)


def recipe_of(flat):
    return {name: value for name, value in flat.items() if name not in SHORT}


def same(one, other):
    return one == pytest.approx(other)
