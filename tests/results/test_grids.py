"""Tables in which only the head, or only the dimension, varies."""

from pathlib import Path

import pytest

from rilm_jax import config, recipes
from rilm_jax.results import grids


def run(string, *scores, corpus="wikitext2"):
    seeds = "+".join(str(42 + i) for i in range(len(scores)))
    run = config.from_flat(recipes.recipe(corpus, f"{string},seeds={seeds}"))
    mean = sum(scores) / len(scores)
    score = {"per_seed": list(scores), "mean": mean, "std": 0.1 if len(scores) > 1 else None}
    return {
        "command": f"python experiments/train.py --config=c/{corpus}.py:{string},seeds={seeds}",
        "config": config.to_flat(run),
        "seeds": list(run.seeds),
        "best_valid_ppl": score,
        "corpus": {},
    }


def table(*runs):
    """The cells of every line of the tables made from these runs."""
    record = {Path(run["config"]["corpus"], f"{i}.json"): run for i, run in enumerate(runs)}
    lines = grids.markdown(record).splitlines()
    return [[c.strip() for c in line.split("|")[1:-1]] for line in lines if line.startswith("|")]


def test_heads_stand_beside_each_other_with_the_difference_of_each_seed():
    cells = table(
        run("flatrilm", 29.0, 29.5),
        run("flatrilm-tied", 31.0, 31.0),
        run("lstm-tied", 25.0, 25.1),
        run("hyprilm", 28.0),
        run("hyprilm,k=8", 20.0),
        run("hyprilm-tied,preset=paper", 20.0),
    )
    assert cells[0] == ["model", "geodesic", "tied", "linear", "geodesic - tied, seed by seed"]
    tied, geodesic = "31.00 ± 0.10 (2 seeds)", "29.25 ± 0.10 (2 seeds)"
    assert cells[2:] == [["flatrilm", geodesic, tied, "-", "-2.00, -1.50"]]


def test_of_two_rows_of_one_model_the_one_of_more_seeds_stands():
    few, many = run("lstm-geodesic", 24.0), run("lstm-geodesic", 26.0, 26.2)
    tied = run("lstm-tied", 25.0)
    for runs in ([few, many, tied], [many, few, tied]):
        shown = ["26.10 ± 0.10 (2 seeds)", "25.00 (1 seed)"]
        assert table(*runs)[2] == ["lstm", *shown, "-", "+1.00"]


def test_dimensions_stand_below_each_other_with_the_ratio_to_the_ball():
    cells = table(
        run("hyprilm,dim=16", 40.0),
        run("flatrilm,dim=16", 44.0),
        run("flatrilm-tied,dim=16", 50.0),
        run("hyprilm", 30.0, 33.0),
        run("flatrilm", 30.3),
        run("hyprilm,dim=8", 60.0),
        run("hyprilm,dim=16,k=1", 10.0),
    )
    assert [row[0] for row in cells] == ["d", "---:", "16", "128"]
    sixteen = [f"{score} (1 seed)" for score in ("40.00", "44.00", "50.00")]
    assert cells[2] == ["16", *sixteen, "1.100", "1.250"]
    largest = ["31.50 ± 0.10 (2 seeds)", "30.30 (1 seed)"]
    assert cells[3] == ["128", *largest, "-", "1.010", "-"]  # of the seed that they share


@pytest.mark.parametrize("others", [[], [run("flatrilm-tied", 29.0, corpus="ptb")]])
def test_what_has_nothing_to_be_compared_with_is_left_out(others):
    assert table(run("flatrilm", 29.0), *others) == []
