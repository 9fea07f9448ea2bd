"""The augmented loss: against its plain form, finite differences, and its limits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rilm_jax import ModelConfig, build
from rilm_jax.heads import Augmentation, augmented, blocked

pytestmark = pytest.mark.usefixtures("quick_compilation")

V, D, B, T = 40, 6, 3, 11
TEMPERATURE = 4.0
CASES = [
    ("lstm", "linear", "euclidean"),
    ("lstm", "tied", "euclidean"),
    ("lstm", "geodesic", "poincare"),
    ("rilm", "geodesic", "euclidean"),
    ("rilm", "geodesic", "poincare"),
    ("rilm", "tied", "poincare"),
]


@pytest.fixture
def float64():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """8 states a block, so that 33 make five blocks, the last of them not full."""
    monkeypatch.setattr(blocked, "block_size", lambda vocab_size: 8)


def problem(backbone, head, manifold, **fields):
    """A model whose parameters are not at their start, states, targets, and weights with zeros."""
    config = ModelConfig(
        backbone=backbone, head=head, manifold=manifold, vocab_size=V, dim=D, **fields
    )
    model = build(config)
    keys = iter(jax.random.split(jax.random.key(0), 40))
    params = jax.tree.map(
        lambda x: x + 0.1 * jax.random.normal(next(keys), x.shape, x.dtype),
        model.init(jax.random.key(1)),
    )
    params = model.project(params)
    tokens = jax.random.randint(next(keys), (B, T), 0, V)
    targets = jax.random.randint(next(keys), (B, T), 0, V)
    weights = jnp.ones((B, T)).at[1, 4:].set(0)

    def states(params):
        return model.hidden(params, tokens, model.initial_carry(params, B))[0]

    return model, params, states, targets, weights


def plain(model, params, states, targets, weights, how):
    """The formula, written out, in tables of scores."""
    scores = model.scores(params, states(params))
    bias = params["head"].get("bias", 0)
    nll = -jnp.take_along_axis(jax.nn.log_softmax(scores), targets[..., None], -1)[..., 0]
    of_words = model.word_scores(params, targets)
    of_words = of_words if how.target_grad else jax.lax.stop_gradient(of_words)
    p = jax.nn.softmax(of_words / how.temperature)
    q = jax.nn.softmax((scores - bias) / how.temperature)
    kl = jnp.sum(p * (jnp.log(p) - jnp.log(q)), axis=-1)
    return jnp.sum(weights * (how.cross_entropy * nll + how.alpha * kl)) / jnp.sum(weights)


@pytest.mark.parametrize("bias", [False, True], ids=["", "bias"])
@pytest.mark.parametrize("target_grad", [False, True], ids=["constant", "target_grad"])
@pytest.mark.parametrize(("backbone", "head", "manifold"), CASES)
def test_value_and_gradients_are_those_of_the_formula(backbone, head, manifold, target_grad, bias):
    model, params, states, targets, weights = problem(backbone, head, manifold, bias=bias)
    how = Augmentation(3.0, TEMPERATURE, target_grad, 0.7)

    def blockwise(params):
        return model.loss(params, states(params), targets, weights, augmentation=how)[0]

    def formula(params):
        return plain(model, params, states, targets, weights, how)

    got, wanted = (jax.jit(jax.value_and_grad(f))(params) for f in (blockwise, formula))
    np.testing.assert_allclose(got[0], wanted[0], rtol=2e-6)
    for a, b in zip(jax.tree.leaves(got[1]), jax.tree.leaves(wanted[1]), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-5 * max(1e-3, np.abs(b).max()))


def test_gradients_are_those_of_finite_differences(float64):
    """In float64, along random directions."""
    for case in CASES[:2] + CASES[4:5]:
        model, params, states, targets, weights = problem(*case, dtype="float64", bias=True, k=0)
        how = Augmentation(3.0, TEMPERATURE, True, 0.7)

        @jax.jit
        def loss(params, model=model, states=states, targets=targets, weights=weights, how=how):
            return model.loss(params, states(params), targets, weights, augmentation=how)[0]

        gradient = jax.jit(jax.grad(loss))(params)
        for seed in range(3):
            keys = iter(jax.random.split(jax.random.key(seed), 40))
            along = jax.tree.map(lambda x: jax.random.normal(next(keys), x.shape), params)  # noqa: B023
            ahead, behind = (
                loss(jax.tree.map(lambda x, d, h=h: x + h * d, params, along))
                for h in (1e-6, -1e-6)
            )
            slope = sum(
                jnp.vdot(g, d)
                for g, d in zip(jax.tree.leaves(gradient), jax.tree.leaves(along), strict=True)
            )
            np.testing.assert_allclose((ahead - behind) / 2e-6, slope, rtol=2e-6)


def test_the_sums_are_those_of_the_plain_loss():
    """What a run reports is the cross-entropy, whatever is trained."""
    model, params, states, targets, weights = problem(*CASES[1])
    visited = states(params)
    how = Augmentation(3.0, TEMPERATURE, cross_entropy=0.0)
    for reduction in ("mean_tokens", "sum_time_mean_batch"):
        _, sums = model.loss(params, visited, targets, weights, reduction=reduction)
        _, found = model.loss(
            params, visited, targets, weights, reduction=reduction, augmentation=how
        )
        for name in sums:
            np.testing.assert_allclose(found[name], sums[name], rtol=1e-6)


def test_where_states_are_the_target_words_the_divergence_is_zero():
    """J_aug alone is least where a state scores words as its target does."""
    model, params, _, targets, weights = problem("lstm", "tied", "euclidean")
    states = params["embed"]["table"][targets]
    how = Augmentation(1.0, TEMPERATURE, cross_entropy=0.0)
    scalar, _ = model.loss(params, states, targets, weights, augmentation=how)
    assert abs(scalar) < 1e-6  # rounding
    away = states + 0.5
    further, _ = model.loss(params, away, targets, weights, augmentation=how)
    assert further > 1e-4


def test_a_hot_divergence_is_half_the_squared_difference_of_centred_scores(float64):
    """KL(softmax(a / T) || softmax(b / T)) T^2 V -> |a - b - mean|^2 / 2 for a large T."""
    a, b = np.random.default_rng(0).normal(size=(2, 7, V))
    temperature = 300.0
    found = np.asarray(augmented.divergence(jnp.asarray(a), jnp.asarray(b), temperature))
    centred = (a - b) - (a - b).mean(axis=-1, keepdims=True)
    wanted = 0.5 * np.sum(centred**2, axis=-1)
    np.testing.assert_allclose(found * temperature**2 * V, wanted, rtol=2e-2)


def test_a_constant_target_gives_the_embedding_no_gradient_of_its_own():
    """Linear head, J_aug alone: without target_grad the embedding moves by the states only."""
    model, params, states, targets, weights = problem("lstm", "linear", "euclidean")
    visited = jax.lax.stop_gradient(states(params))

    def gradient(target_grad):
        how = Augmentation(1.0, TEMPERATURE, target_grad, 0.0)
        return jax.grad(lambda p: model.loss(p, visited, targets, weights, augmentation=how)[0])(
            params
        )["embed"]["table"]

    assert not jnp.any(gradient(False))
    assert jnp.any(gradient(True))


def test_weights_of_nothing_are_nothing():
    model, params, states, targets, weights = problem(*CASES[4])
    how = Augmentation(3.0, TEMPERATURE)
    scalar, sums = model.loss(params, states(params), targets, 0 * weights, augmentation=how)
    assert scalar == 0 and sums["nll"] == 0


def test_it_works_under_vmap_and_map():
    model, params, states, targets, weights = problem(*CASES[4])
    how = Augmentation(3.0, TEMPERATURE, True)
    two = jax.tree.map(lambda x: jnp.stack([x, 0.9 * x]), params)

    def gradient(params):
        return jax.grad(lambda p: model.loss(p, states(p), targets, weights, augmentation=how)[0])(
            params
        )

    @jax.jit
    def every_way(two):
        one = jax.tree.map(lambda x: x[1], two)
        return gradient(one), jax.vmap(gradient)(two), jax.lax.map(gradient, two)

    single, *both = every_way(two)
    for mapped in both:
        for a, b in zip(jax.tree.leaves(mapped), jax.tree.leaves(single), strict=True):
            np.testing.assert_allclose(a[1], b, rtol=0, atol=1e-5 * max(1, np.abs(b).max()))
