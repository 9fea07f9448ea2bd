"""Checkpoints: what comes back is what was kept, and what is wrong is named."""

import json
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rilm_jax import ModelConfig, RunConfig, checkpoint
from rilm_jax.checkpoint import Checkpoints
from rilm_jax.config import to_flat
from rilm_jax.errors import InputError


class Inner(NamedTuple):
    params: dict
    carry: jax.Array | None


class Best(NamedTuple):
    params: dict
    epoch: np.ndarray


class Outer(NamedTuple):
    state: Inner
    best: Best
    total: np.ndarray


def content(scale=1.0, d=3, layers=2, epochs=(3, 4)) -> Outer:
    def params(offset):
        return {
            f"layer{i}": scale * jnp.arange(2 * d, dtype=jnp.float32).reshape(2, d) + offset
            for i in range(layers)
        }

    return Outer(Inner(params(0), None), Best(params(100), np.array(epochs)), np.array(1 / 3))


@pytest.fixture
def workdir(tmp_path):
    """A work directory of two seeds with a checkpoint at step 4."""
    config = RunConfig(seeds=(7, 8), model=ModelConfig(dim=5))
    (tmp_path / "config.json").write_text(json.dumps(to_flat(config)))
    with Checkpoints(tmp_path) as checkpoints:
        checkpoints.save(4, content())
    return tmp_path


def test_what_is_restored_is_what_was_saved(tmp_path):
    """Bitwise, float64 on the host included, in the structure that was given."""
    with Checkpoints(tmp_path) as checkpoints:
        assert checkpoints.latest() is None
        checkpoints.save(3, content(0.1))
        checkpoints.save(12, content(0.2))
        assert checkpoints.latest() == 12
        for step, scale in ((3, 0.1), (12, 0.2)):
            back = checkpoints.restore(step, content(9.0))
            assert isinstance(back, Outer) and back.state.carry is None
            assert np.asarray(back.total).dtype == np.float64 and back.total == 1 / 3
            for a, b in zip(jax.tree.leaves(back), jax.tree.leaves(content(scale)), strict=True):
                np.testing.assert_array_equal(a, b)


def test_only_the_last_two_are_kept_and_none_is_overwritten(tmp_path):
    with Checkpoints(tmp_path) as checkpoints:
        for step in (1, 2, 3):
            checkpoints.save(step, content(step))
        checkpoints.save(3, content(99.0))
        back = checkpoints.restore(3, content())
        np.testing.assert_array_equal(
            back.state.params["layer0"], content(3).state.params["layer0"]
        )
    kept = {p.name for p in (tmp_path / checkpoint.FOLDER).iterdir()}
    assert kept == {"2", "3"}


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"d": 4}, r"best/params/layer0 is \(2, 3\) there and \(2, 4\) here \(4 arrays"),
        ({"layers": 3}, r"best/params/layer2 is absent there and \(2, 3\) here \(2 arrays"),
        ({"layers": 1}, r"best/params/layer1 is \(2, 3\) there and absent here \(2 arrays"),
    ],
)
def test_another_model_is_refused_by_what_differs(tmp_path, other, said):
    """S4: another width, more layers, fewer."""
    with Checkpoints(tmp_path) as checkpoints:
        checkpoints.save(1, content())
        with pytest.raises(InputError, match=said) as error:
            checkpoints.restore(1, content(**other))
    assert "\n" not in str(error.value)


def test_a_file_where_checkpoints_belong_is_named(tmp_path):
    (tmp_path / checkpoint.FOLDER).touch()
    with pytest.raises(InputError, match="is a file where checkpoints belong"):
        checkpoint.Checkpoints(tmp_path)


def test_a_checkpoint_that_cannot_be_written_is_an_input_error(tmp_path):
    with Checkpoints(tmp_path) as checkpoints:
        checkpoints.save(1, content())
        folder = tmp_path / checkpoint.FOLDER
        folder.rename(tmp_path / "moved")
        folder.write_text("a file in its place")
        with pytest.raises(InputError, match="step 2 cannot be written"):
            checkpoints.save(2, content())
        folder.unlink()
        (tmp_path / "moved").rename(folder)
        assert checkpoints.restore(1, content()).total == 1 / 3


@pytest.mark.parametrize(("which", "offset"), [("best", 100), ("last", 0)])
def test_load_gives_the_configuration_and_the_parameters(workdir, which, offset):
    config, params = checkpoint.load(workdir, which)
    assert config == ModelConfig(dim=5)
    np.testing.assert_array_equal(params["layer1"], offset + np.arange(6.0).reshape(2, 3))
    _, second = checkpoint.load(str(workdir), which, seed=8)
    np.testing.assert_array_equal(second["layer1"], offset + np.arange(3.0, 6.0))


def test_a_seed_that_never_was_finite_has_no_best(tmp_path):
    config = RunConfig(seeds=(7, 8), model=ModelConfig(dim=5))
    (tmp_path / "config.json").write_text(json.dumps(to_flat(config)))
    with Checkpoints(tmp_path) as checkpoints:
        checkpoints.save(4, content(epochs=(0, 4)))
    for seed in (None, 7):
        with pytest.raises(InputError, match=r"Seed 7 of .* has no finite validation result"):
            checkpoint.load(tmp_path, "best", seed)
    checkpoint.load(tmp_path, "best", seed=8)
    checkpoint.load(tmp_path, "last")


def test_lanes_are_no_seeds(tmp_path):
    config = RunConfig(seeds=(7, 7), rate_factors=(0.5, 1.0), model=ModelConfig(dim=5))
    (tmp_path / "config.json").write_text(json.dumps(to_flat(config)))
    with Checkpoints(tmp_path) as checkpoints:
        checkpoints.save(4, content())
    with pytest.raises(InputError, match=r"several learning rates .* seed 7 names no one model"):
        checkpoint.load(tmp_path, seed=7)
    _, params = checkpoint.load(tmp_path)
    assert params["layer0"].shape == (2, 3)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"which": "first"}, "which 'first' is unknown"),
        ({"seed": 9}, "Seed 9 is not in .*; its seeds are 7, 8"),
    ],
)
def test_load_refuses_what_is_not_there(workdir, arguments, said):
    with pytest.raises(InputError, match=said):
        checkpoint.load(workdir, **arguments)


def test_load_refuses_folders_without_a_run(workdir, tmp_path_factory):
    empty = tmp_path_factory.mktemp("empty")
    with pytest.raises(InputError, match=r"is no work directory: it has no config\.json\.$"):
        checkpoint.load(empty)
    parent = tmp_path_factory.mktemp("parent")
    (parent / "mine").mkdir()
    (parent / "mine" / "config.json").touch()
    with pytest.raises(InputError, match="those in it are mine"):
        checkpoint.load(parent)
    (empty / "config.json").write_text((workdir / "config.json").read_text())
    with pytest.raises(InputError, match="holds no checkpoints"):
        checkpoint.load(empty)
    (empty / checkpoint.FOLDER).mkdir()
    with pytest.raises(InputError, match="no complete checkpoint"):
        checkpoint.load(empty)
    for text, said in (("{", "cannot be read"), ("[1]", "does not hold a configuration")):
        (empty / "config.json").write_text(text)
        with pytest.raises(InputError, match=said):
            checkpoint.load(empty)


def test_a_truncated_checkpoint_is_named_and_left_alone(workdir):
    folder = workdir / checkpoint.FOLDER / "4"
    for path in folder.rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    with pytest.raises(InputError, match="checkpoints/4 cannot be read"):
        checkpoint.load(workdir)
    with Checkpoints(workdir) as checkpoints, pytest.raises(InputError, match="cannot be read"):
        checkpoints.restore(4, content())
    assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == before
