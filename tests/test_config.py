"""Configurations refuse mistakes in one sentence, before anything is built."""

import dataclasses
import json

import pytest

from rilm_jax import ModelConfig, RunConfig, config
from rilm_jax.errors import InputError


@pytest.mark.parametrize(
    ("record", "fields", "said"),
    [
        (ModelConfig, {"vocab_size": 1}, "vocab_size=1 is too small; it must be at least 2"),
        (ModelConfig, {"vocab_size": 2.5}, "vocab_size=2.5 is of type float; int is wanted"),
        (ModelConfig, {"vocab_size": True}, "vocab_size=True is of type bool; int is wanted"),
        (ModelConfig, {"bias": 1}, "bias=1 is of type int; bool is wanted"),
        (ModelConfig, {"bias": "False"}, "bias='False' is of type str; bool is wanted"),
        (ModelConfig, {"dim": 0}, "dim=0 is too small"),
        (ModelConfig, {"k": -1}, "k=-1 is too small"),
        (ModelConfig, {"tau": 0.0}, "tau=0.0 is too small; it must be above 0"),
        (ModelConfig, {"c": float("nan")}, "c=nan is not a finite number"),
        (ModelConfig, {"c": float("inf")}, "c=inf is not a finite number"),
        (ModelConfig, {"c": 0.0}, "c=0.0 is too small"),
        (ModelConfig, {"c": 1e3}, "c=1000.0 is too large"),
        (ModelConfig, {"c_min": 2.0, "c_max": 1.0}, "c_min=2 is not below c_max=1"),
        (ModelConfig, {"c": 20.0, "learn_c": True}, "starts outside its bounds"),
        (ModelConfig, {"dropout": 1.0}, "dropout=1.0 is too large"),
        (ModelConfig, {"composition": "splin"}, "did you mean 'spline'"),
        (ModelConfig, {"recurrence": "möbius"}, "did you mean 'mobius'"),
        (ModelConfig, {"dtype": "bfloat16"}, "must be one of float32, float64"),
        (ModelConfig, {"chart": None}, "chart=None is of type NoneType; str is wanted"),
        (RunConfig, {"seeds": ()}, "seeds is empty"),
        (RunConfig, {"seeds": (1, 1)}, "repeats a seed"),
        (RunConfig, {"seeds": (2**40,)}, "outside 0"),
        (RunConfig, {"seeds": (-1,)}, "outside 0"),
        (RunConfig, {"optimizer": "adam", "weight_decay": 0.1}, "does nothing with optimizer"),
        (RunConfig, {"mode": "stream", "model": ModelConfig(learn_c=True)}, "carried state"),
        (RunConfig, {"seeds": (1, 2.0)}, "seeds=2.0 is of type float; int is wanted"),
        (RunConfig, {"learning_rate": "abc"}, "learning_rate='abc' is of type str; float"),
        (RunConfig, {"learning_rate": 0.0}, "learning_rate=0.0 is too small"),
        (RunConfig, {"num_epochs": 0}, "num_epochs=0 is too small"),
        (RunConfig, {"batch_size": 0}, "batch_size=0 is too small"),
        (RunConfig, {"clip_norm": -1.0}, "clip_norm=-1.0 is too small"),
        (RunConfig, {"b2": 1.0}, "b2=1.0 is too large; it must be at most 0.9999999"),
        (RunConfig, {"seeds": {1: 2}}, "seeds={1: 2} is of type dict; int is wanted"),
        (RunConfig, {"window": 10**14}, "must be at most 1000000"),
        (RunConfig, {"seed_map": "pmap"}, "did you mean 'map'|did you mean 'vmap'"),
        (RunConfig, {"model": {}}, "model={} is of type dict; ModelConfig is wanted"),
    ],
)
def test_a_wrong_value_is_refused(record, fields, said):
    with pytest.raises(InputError, match=said) as error:
        record(**fields)
    assert "\n" not in str(error.value)


def test_an_unknown_field_is_refused_with_the_nearest_name():
    with pytest.raises(InputError, match="'num_epohcs' is unknown; did you mean 'num_epochs'"):
        config.from_flat({"num_epohcs": 3})


def test_numbers_and_sequences_take_their_fields_type():
    run = RunConfig(seeds=[3, 4], learning_rate=1, model=ModelConfig(c=2))
    assert run.seeds == (3, 4) and isinstance(run.seeds, tuple)
    assert isinstance(run.learning_rate, float) and isinstance(run.model.c, float)
    assert RunConfig(seeds=7).seeds == (7,)


def test_records_are_frozen_and_hashable():
    assert hash(RunConfig()) == hash(RunConfig())
    assert ModelConfig(dim=8) != ModelConfig(dim=9)
    with pytest.raises(dataclasses.FrozenInstanceError):
        ModelConfig().dim = 3  # type: ignore[misc]


def test_the_flat_view_survives_json():
    run = RunConfig(
        seeds=(1, 2), window=7, model=ModelConfig(tau=0.25, k=3, learn_c=True, bias=True)
    )
    assert config.from_flat(json.loads(json.dumps(config.to_flat(run)))) == run
    assert config.from_flat({}) == RunConfig()


def test_every_field_says_what_it_is_and_no_two_share_a_name():
    fields = config.flat_fields()
    assert (
        len(fields) == len(dataclasses.fields(ModelConfig)) + len(dataclasses.fields(RunConfig)) - 1
    )
    assert all(field.metadata["help"] for field in fields.values())
