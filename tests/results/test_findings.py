"""Findings in words: what is compared, and that five seeds stand behind it."""

from pathlib import Path

from rilm_jax import config, recipes
from rilm_jax.results import findings


def run(string, *scores, corpus="wikitext2", floor=36.0):
    flat = config.to_flat(config.from_flat(recipes.recipe(corpus, string)))
    command = f"python experiments/train.py --config=experiments/configs/{corpus}.py:{string}"
    score = {"per_seed": list(scores), "mean": sum(scores) / len(scores), "std": 0.1}
    scored = dict.fromkeys(
        ("best_valid_ppl", "best_valid_ppl_non_unk", "test_ppl", "test_ppl_non_unk"), score
    )
    seeds = list(range(42, 42 + len(scores)))
    return {
        "config": flat,
        "seeds": seeds,
        "command": command,
        "corpus": {"sha256": "0"},
        "floor": {"kn5": floor},
    } | scored


def told(**runs):
    return findings.sentences(
        {Path(r["config"]["corpus"], f"{name}.json"): r for name, r in runs.items()}
    )


FIVE = (30.0, 30.1, 30.2, 30.3, 30.4)


def test_the_ball_and_flat_space_are_compared_seed_by_seed():
    flat = [v + d for v, d in zip(FIVE, (1.0, 1.1, 0.9, 1.0, 1.0), strict=True)]
    found = told(a=run("hyprilm", *FIVE), b=run("flatrilm", *flat))
    assert found == [
        "wikitext2, 2,000 words: hyprilm-geodesic has the lowest validation perplexity, 30.20, of "
        "the 2 models with five seeds; 5.80 below the 5-gram's 36.00.",
        # Differences of mean -1 and standard deviation 0.0707; t_{0.975, 4} = 2.776.
        "wikitext2, 2,000 words: hyprilm-geodesic is lower than flatrilm-geodesic: "
        "validation -1.00 (-1.09 to -0.91), test -1.00 (-1.09 to -0.91).",
    ]


def test_an_interval_around_zero_shows_no_difference():
    flat = [v + d for v, d in zip(FIVE, (1.0, -0.9, 1.0, -1.0, 0.2), strict=True)]
    sentence = told(a=run("hyprilm", *FIVE), b=run("flatrilm", *flat))[1]
    assert "no difference is shown between hyprilm-geodesic and flatrilm-geodesic" in sentence


def test_what_validation_shows_and_test_does_not_is_no_finding():
    ball, flat = run("hyprilm", *FIVE), run("flatrilm", *(v + 1 for v in FIVE))
    flat["test_ppl"] = ball["test_ppl"]
    sentence = told(a=ball, b=flat)[1]
    assert sentence == (
        "wikitext2, 2,000 words: hyprilm-geodesic and flatrilm-geodesic differ on validation "
        "alone (inconclusive): validation -1.00 (-1.00 to -1.00), test +0.00 (+0.00 to "
        "+0.00)."
    )


def test_texts_of_one_name_and_seeds_of_few_in_common_are_not_compared():
    ball, flat = run("hyprilm", *FIVE), run("flatrilm", *(v + 1 for v in FIVE))
    other_text = flat | {"corpus": {"sha256": "1"}}
    found = told(a=ball, b=other_text)
    assert len(found) == 2 and all("lowest" in sentence for sentence in found)
    later = flat | {"seeds": [seed + 2 for seed in flat["seeds"]]}
    assert len(told(a=ball, b=later)) == 1


def test_heads_are_compared_and_runs_that_differ_in_more_are_not():
    runs = {
        "a": run("hyprilm", *FIVE),
        "b": run("hyprilm-tied", *(v + 2 for v in FIVE)),
        "c": run("flatrilm,composition=gated", *(v + 3 for v in FIVE)),
        "d": run("lstm-tied", *(v + 4 for v in FIVE)),
    }
    found = told(**runs)
    assert len(found) == 2 and "hyprilm-geodesic is lower than hyprilm-tied" in found[1]


def test_each_model_stands_with_its_best_recipe_of_five_seeds():
    found = told(
        a=run("hyprilm", *FIVE),
        b=run("flatrilm,batch_size=32,learning_rate=4e-3", *(v + 1 for v in FIVE)),
        c=run("flatrilm,batch_size=128", *(v + 2 for v in FIVE)),
        d=run("lstm-tied", 20.0, 21.0),
        e=run("flatrilm", 25.0),
    )
    assert len(found) == 2
    assert found[0].endswith("Lower, with fewer seeds: lstm-tied 20.50, flatrilm-geodesic 25.00.")
    assert "hyprilm-geodesic is lower than flatrilm-geodesic (batch_size=32" in found[1]


def test_fewer_than_five_seeds_show_nothing():
    few = run("flatrilm", 20.0, 20.0)
    assert told(a=few) == []
    assert findings.five_seeds({Path("wikitext2/a.json"): few}) == ""
    assert len(told(a=few, b=run("hyprilm", *FIVE))) == 1


def test_a_run_above_its_floor_is_said_to_be():
    assert "2.20 above the 5-gram's 28.00" in told(a=run("hyprilm", *FIVE, floor=28.0))[0]
