"""Update rules and schedules on numbers worked out by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from rilm_jax import RunConfig, build, recipes
from rilm_jax import config as configuration
from rilm_jax.errors import InputError
from rilm_jax.training import optimizer


def rates(config, total, at):
    schedule = optimizer.schedule(config, total)
    return [float(schedule(jnp.asarray(step))) for step in at]


def test_a_rate_by_epochs_falls_at_the_start_of_each_from_the_named_one_on():
    """Epochs of 10 steps: whole up to the fourth, times 0.9 in the fifth, 0.81 in the sixth."""
    config = RunConfig(
        schedule="epochs", num_epochs=8, decay=0.9, decay_from=5, learning_rate=2.0, optimizer="sgd"
    )
    found = rates(config, 80, [0, 39, 40, 49, 50, 79])
    np.testing.assert_allclose(found, [2, 2, 1.8, 1.8, 1.62, 2 * 0.9**4], rtol=1e-6)
    from_the_first = RunConfig(schedule="epochs", decay=0.5, decay_from=1, learning_rate=1.0)
    np.testing.assert_allclose(rates(from_the_first, 100, [0, 10]), [0.5, 0.25])


def test_epochs_cut_short_are_refused():
    with pytest.raises(InputError, match="num_steps=5 cuts epochs short"):
        RunConfig(schedule="epochs", num_steps=5)


def updates(config, params, grads):
    tx = optimizer.build(config, 100)
    return tx.update(grads, tx.init(params), params)[0]


def test_sgd_decays_in_the_gradient_and_then_clips():
    """g + 0.5 w = (3, 4) of norm 5 is cut to norm 1, then times -rate."""
    config = RunConfig(
        optimizer="sgd",
        schedule="constant",
        learning_rate=0.1,
        weight_decay=0.5,
        clip_norm=1.0,
    )
    params, grads = {"w": jnp.array([2.0, 2.0])}, {"w": jnp.array([2.0, 3.0])}
    got = updates(config, params, grads)["w"]
    np.testing.assert_allclose(got, [-0.06, -0.08], rtol=1e-6)


@pytest.mark.parametrize(
    "model", ["hyprilm,composition=spline", "rhn-tied", "ssm-tied", "lstm-linear"]
)
def test_adamw_decays_the_weights_of_products_alone(model):
    """Where the gradient is zero, only decay moves a parameter."""
    flat = recipes.recipe("pydoc", f"{model},dim=8,vocab_size=30")
    run = configuration.from_flat(flat | {"schedule": "constant", "weight_decay": 0.1})
    params = build(run.model).init(jax.random.key(0))
    params = jax.tree.map(lambda x: x + 1.0, params)
    moved = updates(run, params, jax.tree.map(jnp.zeros_like, params))
    decayed = {
        path[-1].key for path, x in jax.tree_util.tree_leaves_with_path(moved) if jnp.any(x != 0)
    }
    free = {
        path[-1].key for path, x in jax.tree_util.tree_leaves_with_path(moved) if not jnp.any(x)
    }
    assert free.isdisjoint(decayed)
    assert free & {"b", "bias", "spline", "A_log", "D", "root"}
    assert decayed <= {"table", "W", "W_h", "W_e", "W_x", "R", "P", "kernel", "conv1d"}


def test_no_update_rule_is_given_a_decay_that_it_ignores():
    with pytest.raises(InputError, match="does nothing with optimizer='adam'"):
        RunConfig(optimizer="adam", weight_decay=0.1)
    assert isinstance(optimizer.build(RunConfig(), 10), optax.GradientTransformation)
