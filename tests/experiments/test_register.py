"""A backbone of one's own, from a file that the launchers run first."""

import pytest

from rilm_jax import backbones, recipes
from rilm_jax.errors import InputError

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
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    yield path
    recipes.MODELS.pop("mine", None)
    backbones._REGISTRY._added.pop("mine", None)


def test_every_launcher_takes_a_backbone_of_ones_own(launch, file, tmp_path):
    register, workdir = f"--register={file}", f"--workdir={tmp_path / 'run'}"
    config = f"--config=experiments/configs/pydoc.py:mine-geodesic,{TINY}"
    trained = launch("train", register, config, workdir)
    assert trained.status == 0 and trained.out.startswith("pydoc, 200 words")
    assert launch("evaluate", register, workdir).out.startswith("pydoc test: ")
    generated = launch("generate", "--register", str(file), workdir, "--prompt=the")
    assert generated.status == 0 and generated.out.startswith("the ")
    assert "a GRU of four units" in launch("train", register, "--list").out


def test_without_its_file_it_is_unknown(launch):
    finished = launch("train", "--config=experiments/configs/pydoc.py:mine-geodesic")
    assert finished.status == 2 and "model 'mine' is unknown" in finished.err
    finished = launch("train", "--register=nowhere.py")
    assert (finished.status, finished.err) == (
        2,
        "--register=nowhere.py is no file; give a Python file.\n",
    )


def test_names_of_the_packages_own_models_are_taken():
    with pytest.raises(InputError, match="'lstm' is taken"):
        recipes.register("lstm", "another")
