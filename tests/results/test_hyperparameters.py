"""The table of what each model's best run was trained with."""

from pathlib import Path

from rilm_jax import config, recipes
from rilm_jax.results import hyperparameters


def run(corpus, string, score):
    flat = config.to_flat(config.from_flat(recipes.recipe(corpus, f"{string},seeds=42")))
    best = {"per_seed": [score], "mean": score, "std": None}
    return {"config": flat, "seeds": [42], "best_valid_ppl": best, "corpus": {}}


def page(*runs):
    return hyperparameters.markdown(
        {Path(r["config"]["corpus"], f"{i}.json"): r for i, r in enumerate(runs)}
    )


def cells(made):
    lines = [line for line in made.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def test_columns_are_what_differs_and_the_rest_is_said_once():
    made = page(
        run("ptb", "hyprilm", 48.0),
        run("wikitext2", "hyprilm", 30.0),
        run("wikitext2", "hyprilm,learning_rate=5e-4", 29.0),
        run("wikitext2", "hyprilm,preset=paper", 20.0),
    )
    assert cells(made)[0] == ["dataset", "model", "output_dropout", "learning_rate"]
    assert cells(made)[2:] == [
        ["wikitext2", "hyprilm-geodesic", "0", "0.0005"],
        ["ptb", "hyprilm-geodesic", "0.1", "0.003"],
    ]
    assert "batch_size=64" in made and "clip_norm=1" in made


def test_a_field_younger_than_a_run_had_its_default_there():
    old = run("wikitext2", "hyprilm", 30.0)
    assert "embed_std=0.05" in page(old)
    del old["config"]["embed_std"]
    assert "embed_std=0.05" in page(old)


def test_without_a_tuned_run_there_is_no_table():
    assert page() == page(run("wikitext2", "hyprilm,preset=paper", 20.0)) == ""
