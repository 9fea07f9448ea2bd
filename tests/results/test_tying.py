"""The page of the Tying paper's variants."""

import json

import pytest

from experiments.sweeps import suites
from rilm_jax import config, recipes
from rilm_jax.results import tying
from rilm_jax.training.summary import statistics

TYING = "preset=tying,num_epochs=3"


@pytest.fixture
def page(tmp_path):
    """Makes the page of runs given as (corpus, string, curve of every seed)."""

    def made(*runs):
        record = {}
        for corpus, string, *curves in runs:
            string += ",seeds=" + "+".join(str(42 + i) for i in range(len(curves)))
            path = tmp_path / corpus / f"{string}.json"
            path.parent.mkdir(exist_ok=True)
            best = statistics([min(curve) for curve in curves])
            seeds = [42 + i for i in range(len(curves))]
            record[path] = {
                "command": f"python experiments/train.py --config=c/{corpus}.py:{string}",
                "config": config.to_flat(config.from_flat(recipes.recipe(corpus, string))),
                "seeds": seeds,
                "best_valid_ppl": best,
                "test_ppl": statistics([min(curve) - 5 for curve in curves]),
                "corpus": {},
            }
            lines = [
                json.dumps({"split": "valid", "epoch": i + 1, "seeds": seeds, "ppl": ppl})
                for i, ppl in enumerate(zip(*curves, strict=True))
            ]
            path.with_suffix(".jsonl").write_text("\n".join(lines))
        return tying.markdown(record)

    return made


def cells(made, heading):
    """The tables below a heading, as lists of their rows' cells."""
    below = made.split(f"## {heading}\n")[1].split("\n## ")[0]
    tables = [[]]
    for line in below.splitlines():
        if line.startswith("|"):
            tables[-1].append([cell.strip() for cell in line.split("|")[1:-1]])
        elif tables[-1]:
            tables.append([])
    return [[header, *rows] for header, _, *rows in filter(None, tables)]


def test_variants_stand_in_the_papers_order_beside_vd_and_the_paper(page):
    made = page(
        ("ptb", f"lstm-tied,{TYING},augment=0.65", [110.0, 104.0, 101.0]),
        ("ptb", f"lstm-tied,{TYING}", [111.0, 105.0, 103.0]),
        ("ptb", f"lstm-linear,{TYING}", [120.0, 109.0, 110.0]),
    )
    scores, curve = cells(made, "ptb: 200 units")
    assert scores[1:] == [
        ["VD", "-", "3 of 39", "109.00", "104.00", "-", "92.6", "87.3"],
        ["RE", "-", "3 of 39", "103.00", "98.00", "-6.00", "89.9", "85.1"],
        ["REAL", "0.65", "3 of 39", "101.00", "96.00", "-8.00", "86.3", "82.7"],
    ]
    assert curve[0] == ["epoch", "VD", "RE", "REAL"]
    assert curve[2] == ["2", "109.00", "105.00", "104.00"]


def test_of_equal_variants_the_longer_is_what_others_are_compared_with(page):
    made = page(
        ("ptb", "lstm-linear,preset=tying,num_epochs=2", [120.0, 109.0]),
        ("ptb", f"lstm-linear,{TYING}", [120.0, 109.0, 100.0]),
        ("ptb", f"lstm-tied,{TYING}", [111.0, 105.0, 99.0]),
    )
    assert [row[5] for row in cells(made, "ptb: 200 units")[0][1:]] == [
        "-",
        "+0.00 (epoch 2)",
        "-1.00",
    ]


def test_a_shorter_run_is_compared_where_both_have_been(page):
    made = page(
        ("ptb", f"lstm-linear,{TYING}", [120.0, 109.0, 90.0]),
        ("ptb", "lstm-linear,preset=tying,num_epochs=2,dropout=0.7", [140.0, 130.0]),
    )
    scores, curve = cells(made, "ptb: 200 units")
    reading = ["VD, dropout=0.7", "-", "2 of 39", "130.00", "125.00", "+21.00 (epoch 2)", "-", "-"]
    assert scores[2] == reading
    assert curve[3] == ["3", "90.00", "-"]


def test_every_text_part_and_size_has_a_section(page):
    made = page(
        ("wikitext2", f"lstm-tied,{TYING},part=first", [150.0, 149.0, 148.0]),
        ("wikitext2", f"lstm-tied,{TYING},dim=650", [95.0, 94.0, 93.0]),
        ("ptb", f"rhn-tied,{TYING}", [70.0, 69.0, 68.5]),
        ("ptb", f"rhn-linear,{TYING}", [71.0, 70.0, 69.5]),
    )
    assert cells(made, "wikitext2, first half: 200 units")[0][1][-2:] == ["152.4", "141.9"]
    assert cells(made, "wikitext2: 650 units")[0][1][-2:] == ["92.3", "87.7"]
    rhn = ["RHN, RE", "-", "3 of 500", "68.50", "63.50", "-1.00", "68.1", "66.0"]
    assert cells(made, "ptb: 830 units")[0][2] == rhn


def test_the_suite_for_a_gpu_has_a_row_for_every_value_of_the_paper(page):
    runs = [(row.corpus, row.string.removesuffix(",seeds=42")) for row in suites.tying_gpu()]
    made = page(*((corpus, string, [100.0]) for corpus, string in runs))
    parts = {"all": "", "first": ", first half"}
    for (corpus, part, units, variant), scores in tying.PAPER.items():
        rows = cells(made, f"{corpus}{parts[part]}: {units} units")[0][1:]
        assert [tuple(row[-2:]) for row in rows if row[0] == variant] == [scores]


def test_the_loss_on_another_model_stands_beside_that_model_without_it(page):
    made = page(
        ("wikitext2", "hyprilm", [30.0], [31.0], [32.0]),
        ("wikitext2", "hyprilm,dim=16", [40.0]),
        ("wikitext2", "hyprilm,augment=0.2", [29.5], [31.5]),
        ("wikitext2", "lstm-tied,augment=0.2", [25.0]),
    )
    (rows,) = cells(made, "The augmented loss on other models")
    alone, both = "31.00 ± 1.00", "30.50 ± 1.41"
    shown = ["wikitext2, 2,000 words", "hyprilm-geodesic", "0.2", alone, both, "-0.50, +0.50"]
    assert rows[1:] == [shown]


def test_a_run_of_another_version_is_passed_over(page, monkeypatch):
    kept = config.to_flat
    monkeypatch.setattr(config, "to_flat", lambda run: kept(run) | {"a field of another": 1})
    assert (
        page(("wikitext2", "hyprilm", [30.0]), ("wikitext2", "hyprilm,augment=0.2", [29.0])) == ""
    )


def test_without_such_a_run_there_is_no_page(page):
    assert page(("wikitext2", "hyprilm", [30.0])) == ""
