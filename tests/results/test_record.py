"""Runs on record, put in order."""

from pathlib import Path

import pytest

from rilm_jax import config, recipes, results


def test_the_best_run_of_every_title_and_size():
    def run(string, ppl):
        flat = config.to_flat(config.from_flat(recipes.recipe("wikitext2", string)))
        return {"config": flat, "seeds": [1], "best_valid_ppl": {"mean": ppl, "per_seed": [ppl]}}

    runs = {
        Path(string): run(string, ppl)
        for string, ppl in (
            ("hyprilm,dim=64", 33.0),
            ("hyprilm", 31.0),
            ("hyprilm,k=1", 32.0),
            ("hyprilm,augment=0.2", 29.0),
            ("hyprilm,k=64", None),
            ("hyprilm,composition=gated", 30.0),
            ("lstm-linear", 31.5),
            ("hyprilm,vocab_size=500", 9.0),
        )
    }
    found = {
        title: [str(path) for path, _ in of_title]
        for title, of_title in results.best_by_title(runs, "wikitext2").items()
    }
    assert found == {
        "hyprilm-geodesic,composition=gated": ["hyprilm,composition=gated"],
        "hyprilm-geodesic": ["hyprilm", "hyprilm,dim=64"],
        "lstm-linear": ["lstm-linear"],
    }
    assert next(iter(found)) == "hyprilm-geodesic,composition=gated"
    assert results.best_by_title(runs, "ptb") == results.best_by_title({}, "wikitext2") == {}


def test_labels_leave_out_what_all_share():
    names = ["lstm-linear,preset=tying,seeds=42", "lstm-tied,preset=tying,augment=0.65,seeds=42"]
    assert results.labels(names) == ["lstm-linear", "lstm-tied,augment=0.65"]
    assert results.labels(["hyprilm,preset=tuned"]) == ["hyprilm"]
    assert results.labels(["hyprilm,k=1,c=0.1", "hyprilm,c=0.1,k=1"]) == [
        "hyprilm,k=1,c=0.1",
        "hyprilm,c=0.1,k=1",
    ]


@pytest.mark.parametrize(
    ("score", "text"),
    [
        ({"per_seed": [1.0, 3.0], "mean": 2.0, "std": 1.41421}, "2.00 +- 1.41"),
        ({"per_seed": [2.0], "mean": 2.0, "std": 0.0}, "2.00"),
        ({"per_seed": [2.0], "mean": 2.0, "std": None}, "2.00"),
        ({"per_seed": [None], "mean": None, "std": None}, "-"),
    ],
)
def test_a_score_is_printed_with_its_spread_where_it_has_one(score, text):
    assert results.spread(score) == text
