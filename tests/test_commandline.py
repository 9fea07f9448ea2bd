"""What the launchers share, apart from flags (which tests/experiments exercises)."""

import pytest

from rilm_jax import commandline, config, recipes
from rilm_jax.errors import InputError


def test_a_table_aligns_numbers_to_the_right():
    assert commandline.table(["model", "ppl"], [["unigram", "110.60"], ["bigram", "43.30"]]) == (
        "model       ppl\n"
        "---------------\n"
        "unigram  110.60\n"
        "bigram    43.30"
    )  # fmt: skip


def test_a_table_cuts_its_first_column_to_stay_within_eighty_columns():
    lines = commandline.table(["model", "ppl"], [["x" * 100, "1.00"], ["y", "2.00"]]).splitlines()
    assert [len(line) for line in lines] == [80, 80, 80, 80]
    assert lines[2].endswith("x...  1.00")


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
    assert commandline.spread(score) == text


def test_a_config_dict_holds_every_field_and_comes_back_as_the_same_run():
    values = commandline.get_config("ptb", "hyprilm-tied,bias=True")
    assert set(values) == set(config.flat_fields())
    run = config.from_flat(recipes.recipe("ptb", "hyprilm-tied,bias=True"))
    assert commandline.run_config(values) == run


def test_a_config_dict_keeps_its_types():
    values = commandline.get_config("ptb", "ssm")
    for field, bad in (("learning_rate", "abc"), ("k", 2.5), ("tau", "abc"), ("bias", "False")):
        with pytest.raises(TypeError):
            values[field] = bad
    values.k, values.tau, values.seeds = 8, 0.3, (1, 2)
    values.k = None
    run = commandline.run_config(values)
    assert (run.model.k, run.model.tau, run.seeds) == (None, 0.3, (1, 2))


def test_a_config_dict_with_a_field_too_many_is_refused():
    values = commandline.get_config("ptb", "hyprilm")
    values.num_epohcs = 3
    with pytest.raises(InputError, match="num_epochs"):
        commandline.run_config(values)
