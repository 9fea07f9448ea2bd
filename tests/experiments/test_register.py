"""A backbone of one's own, from a file that the launchers run first."""

import json

import pytest

from rilm_jax import backbones, recipes
from rilm_jax.errors import InputError

pytestmark = pytest.mark.usefixtures("quick_compilation")
FILE = """
import jax.numpy as jnp
from flax import linen as nn
from rilm_jax import backbones, recipes


class GRU(nn.Module):
    @nn.compact
    def __call__(self, inputs, carry, mask, deterministic):
        lengths = None if mask is None else mask.sum(1)
        layer = nn.RNN(nn.GRUCell(4), return_carry=True)
        return layer(inputs, initial_carry=carry, seq_lengths=lengths)[::-1]

    def initial_carry(self, batch_size):
        return jnp.zeros((batch_size, 4))


backbones.register("mine", backbones.linen.adapt(lambda config: GRU()))
recipes.register("mine", "a GRU of four units")
"""
TINY = "dim=4,vocab_size=200,num_steps=3,batch_size=4,window=8,eval_batch_size=512,seeds=1"


@pytest.fixture
def alone(launch):
    """`launch` that forgets afterwards what a launcher has registered, as the end of a process."""

    def run(*arguments):
        finished = launch(*arguments)
        recipes.MODELS.pop("mine", None)
        backbones._REGISTRY._added.pop("mine", None)
        return finished

    return run


def test_every_launcher_takes_a_backbone_of_ones_own(alone, tmp_path):
    (tmp_path / "mine.py").write_text(FILE)
    workdir = f"--workdir={tmp_path / 'run'}"
    config = f"--config=experiments/configs/pydoc.py:mine-geodesic,hidden_dim=9,{TINY}"
    trained = alone("train", "--register=mine.py", config, workdir)
    assert trained.status == 0 and trained.out.startswith("pydoc, 200 words")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert " --register=mine.py --config=" in summary["command"]
    uses = {
        "evaluate": ["--split=valid"],
        "generate": ["--prompt=the"],
        "predictions": ["--contexts=1"],
        "plot": ["--length=3", "--out=out"],
    }
    for launcher, flags in uses.items():
        finished = alone(launcher, workdir, *flags)
        assert finished.status == 2 and "backbone 'mine' is unknown" in finished.err
        finished = alone(launcher, workdir, *flags, "--register", "mine.py")
        assert (finished.status, finished.err) == (0, "")
    assert "a GRU of four units" in alone("train", "--register=mine.py", "--list").out


def test_without_its_file_it_is_unknown(launch):
    finished = launch("train", "--config=experiments/configs/pydoc.py:mine-geodesic")
    assert finished.status == 2 and "model 'mine' is unknown" in finished.err
    finished = launch("train", "--register=nowhere.py")
    assert (finished.status, finished.err) == (
        2,
        "--register=nowhere.py is no file; give a Python file.\n",
    )


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("lstm", "'lstm' is taken"),
        ("rilm", "'rilm' is taken"),
        ("my-gru", "cannot stand in a string"),
        ("a,b", "cannot stand in a string"),
    ],
)
def test_a_name_that_strings_could_not_say_is_refused(name, sentence):
    with pytest.raises(InputError, match=sentence):
        recipes.register(name, "another")
