"""Configurations from flags; the flags themselves are exercised in tests/experiments."""

import pytest

from rilm_jax import commandline, config, recipes
from rilm_jax.errors import InputError


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
